"""A target: where its runtime comes from, and how its workers are started."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from maxpool_check.results.outcomes import RefusedByTarget, Returned
from maxpool_check.results.record import TargetDescription
from maxpool_check.targets import environments, onnx_model
from maxpool_check.targets.description import TargetLimits, TargetProfile
from maxpool_check.targets.languages import LANGUAGES
from maxpool_check.targets.name import TargetName
from maxpool_check.targets.process import START_SECONDS, CannotStart, Worker, adapter
from maxpool_check.targets.protocol import Request
from maxpool_check.targets.runtimes import RUNTIMES

_T = TypeVar("_T")


class Target:
    """One runtime in one environment. It starts workers; each worker is one process.

    ``seconds`` is the time limit of one execution, ``memory`` limits what a worker may allocate, in bytes.
    """

    def __init__(self, name: TargetName, seconds: float = 10.0, memory: int | None = None) -> None:
        """Prepare the environment, which may be installed now. Raises :class:`CannotStart`."""
        self.name = name
        self.seconds = seconds
        self._memory = memory
        self._python = self._interpreter()

    def worker(self) -> Worker:
        """A new process, which need not be ready yet. Raises :class:`CannotStart`."""
        options: dict[str, Any] = {"provider": self.name.provider}
        options["provider_options"] = {key: value for key, value in self.name.options.items() if key != "python"}
        if self.name.program is not None:
            return self._started(list(self.name.program), options, isolated=False)
        if self.name.function is not None:
            options["function"] = [str(Path(self.name.function[0]).resolve()), self.name.function[1]]
            return self._started(adapter(self._python, "python"), options, isolated=False)
        runtime = RUNTIMES[self.name.runtime]
        options["distribution"] = runtime.distribution
        return self._started(adapter(self._python, runtime.adapter), options, isolated=self._python != sys.executable)

    def cannot_start(self, error: CannotStart) -> CannotStart:
        """Why a worker could not be started, said of the target."""
        hint = f"\nIf its environment is damaged, remove {self._folder}; it is made again." if self._folder else ""
        return CannotStart(f"{self.name} cannot be started: {error}{hint}")

    def _started(self, program: list[str], options: Mapping[str, Any], *, isolated: bool) -> Worker:
        try:
            return Worker(program, options, isolated=isolated, memory=self._memory)
        except CannotStart as error:
            raise self.cannot_start(error) from error

    @property
    def _folder(self) -> Path | None:
        """The isolated environment, if it has one."""
        return Path(self._python).parents[1] if self.name.version is not None else None

    def _interpreter(self) -> str:
        if self.name.version is not None:
            try:
                return str(environments.interpreter(RUNTIMES[self.name.runtime].distribution, self.name.version))
            except environments.CannotMake as error:
                raise CannotStart(f"{self.name} cannot be started: {error}") from error
        return self.name.options.get("python", sys.executable)

    def profile_of(self, worker: Worker) -> TargetProfile:
        """What a worker of this target says of itself. Raises :class:`CannotStart`."""
        try:
            message = worker.description
        except CannotStart as error:
            raise self.cannot_start(error) from error
        try:
            limits = TargetLimits(_list_of(message.get("dtypes"), str), _list_of(message.get("spatial"), int))
            settings = _list_of(message.get("settings"), str) or ()
            return TargetProfile(self.name, self._description(worker, message), limits, settings)
        except (TypeError, ValueError) as error:
            raise CannotStart(f"{self.name} describes itself in a way that cannot be read: {error}") from error

    def _description(self, worker: Worker, message: Mapping[str, Any]) -> TargetDescription:
        wants = str(message.get("wants", "attributes"))
        if wants not in ("model", "attributes", *LANGUAGES):
            raise CannotStart(f"{self.name} wants '{wants}'; known are model, attributes, {', '.join(LANGUAGES)}")
        indices = message.get("indices", "whole")
        if indices not in ("whole", "plane", None):
            raise CannotStart(f"{self.name} counts Indices by '{indices}'; known are 'whole', 'plane' and null")
        return TargetDescription(
            name=str(self.name),
            distribution=str(message.get("distribution", self.name.runtime)),
            version=str(message.get("version", "0")),
            provider=str(message.get("provider") or "CPUExecutionProvider"),
            providers=tuple(map(str, message.get("providers", ()))),
            session_options=dict(message.get("session_options", {})),
            python=str(message.get("python", "-")),
            numpy=str(message.get("numpy", "-")),
            newest_opset=self._newest_opset(worker) if wants == "model" else None,
            speaks="onnx" if wants == "model" else wants,
            indices=indices,
        )

    def _newest_opset(self, worker: Worker) -> int:
        """The newest operator set in which the smallest MaxPool runs, found by trying."""
        X = np.zeros((1, 1, 1), np.float32)
        for opset in range(onnx_model.NEWEST_OPSET, 7, -1):
            model = onnx_model.build(opset, onnx_model.SMALLEST, "float32", X.shape, ("Y",))
            request = Request(X, ("Y",), model, onnx_model.SMALLEST)
            worker.write(-opset, request.line(-opset), START_SECONDS)
            outcome = worker.read(START_SECONDS)
            if isinstance(outcome, Returned):
                return opset
            if not isinstance(outcome, RefusedByTarget):
                raise CannotStart(f"{self.name} cannot execute the smallest MaxPool: {outcome}")
        raise CannotStart(f"{self.name} executes no MaxPool in any operator set; its last message was: {outcome}")


def _list_of(values: Any, kind: type[_T]) -> tuple[_T, ...] | None:
    return tuple(kind(value) for value in values) if isinstance(values, list) else None  # type: ignore[call-arg]
