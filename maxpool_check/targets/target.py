"""A target: where its runtime comes from, and how its workers are started."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

from maxpool_check.results.outcomes import RefusedByTarget, Returned
from maxpool_check.results.record import TargetDescription
from maxpool_check.targets import environments, onnx_model
from maxpool_check.targets.description import TargetProfile
from maxpool_check.targets.languages import LANGUAGES
from maxpool_check.targets.name import TargetName
from maxpool_check.targets.process import START_SECONDS, CannotStart, Worker, adapter
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
        self._python = name.options.get("python", sys.executable)
        if name.version is not None:
            try:
                self._python = str(environments.interpreter(RUNTIMES[name.runtime].distribution, name.version))
            except environments.CannotMake as error:
                raise CannotStart(f"{name} cannot be started: {error}") from error

    def worker(self) -> Worker:
        """A new process, which need not be ready yet. Raises :class:`CannotStart`."""
        name, isolated = self.name, False
        options: dict[str, Any] = {"provider": name.provider}
        options["provider_options"] = {key: value for key, value in name.options.items() if key != "python"}
        if name.program is not None:
            program = list(name.program)
        elif name.function is not None:
            options["function"] = [str(Path(name.function[0]).resolve()), name.function[1]]
            program = adapter(self._python, "python")
        else:
            runtime = RUNTIMES[name.runtime]
            options["distribution"] = runtime.distribution
            program, isolated = adapter(self._python, runtime.adapter), self._python != sys.executable
        try:
            return Worker(program, options, isolated=isolated, memory=self._memory)
        except CannotStart as error:
            raise self.cannot_start(error) from error

    def cannot_start(self, error: CannotStart) -> CannotStart:
        """The error of a worker that could not be started, with the target's name and what may help."""
        hint = ""
        if self.name.version is not None:
            hint = f"\nIf its environment is damaged, remove {Path(self._python).parents[1]}; it is made again."
        return CannotStart(f"{self.name} cannot be started: {error}{hint}")

    def profile_of(self, worker: Worker) -> TargetProfile:
        """The profile of the target, as a worker describes it. Raises :class:`CannotStart`."""
        try:
            message = worker.description
        except CannotStart as error:
            raise self.cannot_start(error) from error
        try:
            dtypes, spatial = _list_of(message.get("dtypes"), str), _list_of(message.get("spatial"), int)
            settings = _list_of(message.get("settings"), str) or ()
            return TargetProfile(self.name, self._description(worker, message), dtypes, spatial, settings)
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
        for opset in range(onnx_model.NEWEST_OPSET, 7, -1):
            worker.write(onnx_model.smallest_request(opset).line(opset), START_SECONDS)
            outcome = worker.read(opset, START_SECONDS)
            if isinstance(outcome, Returned):
                return opset
            if not isinstance(outcome, RefusedByTarget):
                raise CannotStart(f"{self.name} cannot execute the smallest MaxPool: {outcome}")
        raise CannotStart(f"{self.name} executes no MaxPool in any operator set; its last message was: {outcome}")


def _list_of(values: Any, kind: type[_T]) -> tuple[_T, ...] | None:
    return tuple(kind(value) for value in values) if isinstance(values, list) else None  # type: ignore[call-arg]
