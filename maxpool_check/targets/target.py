"""A target that can be asked: workers of one runtime, and what they speak."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from maxpool_check.corpus.case import Case
from maxpool_check.outcome import Answered, Failed, NotAsked, Outcome, RefusedByTarget
from maxpool_check.question import Question
from maxpool_check.specifications.opsets import Graph, opset_for
from maxpool_check.targets import environments, onnx_model
from maxpool_check.targets.name import ADAPTERS, TargetName
from maxpool_check.targets.process import START_SECONDS, CannotStart, Worker


@dataclass(frozen=True)
class Description:
    """Who answered: what the record says of a target.

    ``newest_opset`` is the newest operator set it loads, None for one that is not asked with ONNX models.
    """

    name: str
    distribution: str
    version: str
    provider: str
    providers: tuple[str, ...]
    session_options: Mapping[str, Any]
    python: str
    numpy: str
    newest_opset: int | None


class Target:
    """One runtime in one environment. It makes workers; each worker is one process."""

    def __init__(self, name: TargetName, seconds: float = 10.0) -> None:
        self.name = name
        self.seconds = seconds
        self._python = self._interpreter()
        with contextlib.closing(self.worker()) as worker:
            self.description = self._describe(worker)

    def worker(self) -> Worker:
        """A new process. Raises :class:`CannotStart`."""
        options: dict[str, Any] = {"provider": self.name.provider}
        options["provider_options"] = {key: value for key, value in self.name.options.items() if key != "python"}
        if self.name.function is not None:
            options["function"] = [str(Path(self.name.function[0]).resolve()), self.name.function[1]]
        isolated = self._python != sys.executable
        try:
            return Worker(self._python, ADAPTERS[self.name.runtime], options, isolated=isolated)
        except CannotStart as error:
            hint = f"\nIf its environment is damaged, remove {self._folder}; it is made again." if self._folder else ""
            raise CannotStart(f"{self.name} cannot be started: {error}{hint}") from error

    def ask(self, worker: Worker, case: Case, question: Question) -> tuple[Outcome, int | None]:
        """Ask one question; the outcome, and the operator set it was asked in."""
        described = self.description
        if described.newest_opset is None:
            return worker.ask(case.X, question.outputs, b"", _all_attributes(case), self.seconds), None
        asked = Graph(case.attributes, case.X.dtype.name, case.X.shape, case.policies, question is Question.INDICES)
        opset = opset_for(asked, case.specification.onnx, described.newest_opset)
        if opset is None:
            why = f"no operator set up to {described.newest_opset}, the newest it loads, means the same"
            return NotAsked(why), None
        model = onnx_model.build(
            opset,
            case.attributes,
            case.X.dtype.name,
            case.X.shape,
            question.outputs,
        )
        outcome = worker.ask(case.X, question.outputs, model, case.attributes, self.seconds)
        if isinstance(outcome, Answered) and outcome.provider != described.provider:
            return Failed(f"wrong provider: {outcome.provider} ran the node, not {described.provider}"), opset
        return outcome, opset

    @property
    def _folder(self) -> Path | None:
        """The isolated environment, if it has one."""
        return Path(self._python).parents[1] if self.name.version is not None else None

    def _interpreter(self) -> str:
        if self.name.version is not None:
            try:
                return str(environments.interpreter(self.name.runtime, self.name.version))
            except environments.CannotMake as error:
                raise CannotStart(f"{self.name} cannot be started: {error}") from error
        return self.name.options.get("python", sys.executable)

    def _describe(self, worker: Worker) -> Description:
        said = worker.description
        return Description(
            name=str(self.name),
            distribution=said["distribution"],
            version=said["version"],
            provider=said["provider"],
            providers=tuple(said["providers"]),
            session_options=said["session_options"],
            python=said["python"],
            numpy=said["numpy"],
            newest_opset=self._newest_opset(worker) if said["wants"] == "model" else None,
        )

    def _newest_opset(self, worker: Worker) -> int:
        """Found by asking: the newest operator set in which the smallest MaxPool is answered."""
        X = np.zeros((1, 1, 1), np.float32)
        attributes = {"kernel_shape": [1]}
        for opset in range(onnx_model.NEWEST_OPSET, 7, -1):
            model = onnx_model.build(opset, attributes, "float32", X.shape, ("Y",))
            outcome = worker.ask(X, ("Y",), model, attributes, START_SECONDS)
            if isinstance(outcome, Answered):
                return opset
            if not isinstance(outcome, RefusedByTarget):
                raise CannotStart(f"{self.name} cannot answer the smallest MaxPool: {outcome}")
        raise CannotStart(f"{self.name} answers no MaxPool in any operator set; the last it said was: {outcome}")


def _all_attributes(case: Case) -> dict[str, Any]:
    """ONNX's seven attributes, those that are not given at their defaults."""
    rank = max(len(case.X.shape) - 2, 0)
    defaults = {
        "kernel_shape": [],
        "strides": [1] * rank,
        "dilations": [1] * rank,
        "pads": [0] * 2 * rank,
        "auto_pad": "NOTSET",
        "ceil_mode": 0,
        "storage_order": 0,
    }
    return {**defaults, **case.attributes}
