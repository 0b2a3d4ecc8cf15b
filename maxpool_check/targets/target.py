"""A target that can be asked: workers of one runtime, and what they speak."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from maxpool_check.results.outcomes import RefusedByTarget, Returned
from maxpool_check.results.record import TargetDescription
from maxpool_check.targets import environments, onnx_model
from maxpool_check.targets.description import TargetLimits
from maxpool_check.targets.languages import LANGUAGES
from maxpool_check.targets.name import TargetName
from maxpool_check.targets.process import START_SECONDS, CannotStart, Worker, adapter
from maxpool_check.targets.protocol import Request
from maxpool_check.targets.runtimes import RUNTIMES

_T = TypeVar("_T")


class Target:
    """One runtime in one environment. It makes workers; each worker is one process."""

    def __init__(
        self,
        name: TargetName,
        seconds: float = 10.0,
        memory: int | None = None,
        *,
        keep: bool = False,
        begun: Callable[[Worker], None] = lambda _: None,
    ) -> None:
        """Start a worker to see what it is; it is ended again, or ``kept``. Raises :class:`CannotStart`.

        ``begun`` is told of it before it is ready: it may hang.
        """
        self.name = name
        self.seconds = seconds
        self._memory = memory
        self._python = self._interpreter()
        with contextlib.ExitStack() as stack:
            worker = stack.enter_context(contextlib.closing(self.worker()))
            begun(worker)
            self.description = self._described(worker)
            if keep:
                stack.pop_all()
        self.kept = worker if keep else None
        """The first worker, if it was to be kept; closing it is left to who wanted it."""

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

    def _described(self, worker: Worker) -> TargetDescription:
        """What it says of itself, and can be asked. Raises :class:`CannotStart`."""
        try:
            said = worker.description
        except CannotStart as error:
            raise self.cannot_start(error) from error
        try:
            self.limits = TargetLimits(_maybe(said.get("dtypes"), str), _maybe(said.get("spatial"), int))
            self.settings = _maybe(said.get("settings"), str) or ()
            return self._description(worker, said)
        except (TypeError, ValueError) as error:
            raise CannotStart(f"{self.name} says of itself what nobody understands: {error}") from error

    def _description(self, worker: Worker, said: Mapping[str, Any]) -> TargetDescription:
        wants = str(said.get("wants", "attributes"))
        if wants not in ("model", "attributes", *LANGUAGES):
            raise CannotStart(
                f"{self.name} wants '{wants}'; it can be asked with: model, attributes, {', '.join(LANGUAGES)}"
            )
        indices = said.get("indices", "whole")
        if indices not in ("whole", "plane", None):
            raise CannotStart(f"{self.name} counts Indices by '{indices}'; that is 'whole', 'plane' or null")
        return TargetDescription(
            name=str(self.name),
            distribution=str(said.get("distribution", self.name.runtime)),
            version=str(said.get("version", "0")),
            provider=str(said.get("provider") or "CPUExecutionProvider"),
            providers=tuple(map(str, said.get("providers", ()))),
            session_options=dict(said.get("session_options", {})),
            python=str(said.get("python", "-")),
            numpy=str(said.get("numpy", "-")),
            newest_opset=self._newest_opset(worker) if wants == "model" else None,
            speaks="onnx" if wants == "model" else wants,
            indices=indices,
        )

    def _newest_opset(self, worker: Worker) -> int:
        """Found by asking: the newest operator set in which the smallest MaxPool is answered."""
        X = np.zeros((1, 1, 1), np.float32)
        for opset in range(onnx_model.NEWEST_OPSET, 7, -1):
            model = onnx_model.build(opset, onnx_model.SMALLEST, "float32", X.shape, ("Y",))
            outcome = worker.ask(Request(X, ("Y",), model, onnx_model.SMALLEST), START_SECONDS)
            if isinstance(outcome, Returned):
                return opset
            if not isinstance(outcome, RefusedByTarget):
                raise CannotStart(f"{self.name} cannot answer the smallest MaxPool: {outcome}")
        raise CannotStart(f"{self.name} answers no MaxPool in any operator set; the last it said was: {outcome}")


def _maybe(values: Any, kind: type[_T]) -> tuple[_T, ...] | None:
    return tuple(kind(value) for value in values) if isinstance(values, list) else None  # type: ignore[call-arg]
