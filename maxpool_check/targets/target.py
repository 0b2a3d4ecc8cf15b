"""A target that can be asked: workers of one runtime, and what they speak."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from maxpool_check.corpus.case import Case
from maxpool_check.outcome import Answered, Failed, NotAsked, Outcome, RefusedByTarget
from maxpool_check.question import Question
from maxpool_check.specifications.attributes import Kind
from maxpool_check.specifications.opsets import Graph, opset_for
from maxpool_check.specifications.refused import Refused
from maxpool_check.specifications.specification import Specification
from maxpool_check.specifications.translation import NotExpressible, Translation, to_onnx
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


@dataclass(frozen=True)
class Reply:
    """What came of one question: the outcome, the operator set it was asked in, and how it was translated, in words."""

    outcome: Outcome
    opset: int | None = None
    steps: tuple[str, ...] = ()


_SMALLEST = {"kernel_shape": [1]}


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

    def ask(self, worker: Worker, case: Case, question: Question) -> Reply:
        """Ask one question."""
        document = case.specification
        if question.in_domain:
            return self._ask_in_domain(worker, case, question)
        try:
            indices = "Indices" in question.outputs
            graph = to_onnx(document, case.attributes, case.X.dtype.name, case.X.shape, case.meaning, indices=indices)
        except NotExpressible as error:
            return Reply(NotAsked(str(error)))
        newest, dtype = self.description.newest_opset, case.X.dtype.name
        if newest is None and graph.activation is None:
            outcome = worker.ask(graph.input(case.X), question.outputs, b"", _all_attributes(graph), self.seconds)
            return Reply(_back(graph, outcome), steps=graph.steps)
        if newest is None:
            return Reply(NotAsked("it is asked for MaxPool alone, without an activation"))
        asked = Graph(graph.attributes, dtype, graph.shape, case.policies, question is Question.INDICES)
        opset = opset_for(asked, graph.onnx, newest)
        if opset is None:
            return Reply(NotAsked(f"no operator set up to {newest}, the newest it loads, means the same"))
        model = onnx_model.build(opset, graph.attributes, dtype, graph.shape, question.outputs, graph.activation)
        outcome = worker.ask(graph.input(case.X), question.outputs, model, graph.attributes, self.seconds)
        if isinstance(outcome, RefusedByTarget) and graph.activation is not None:
            alone = onnx_model.build(opset, graph.attributes, dtype, graph.shape, question.outputs)
            again = worker.ask(graph.input(case.X), question.outputs, alone, graph.attributes, self.seconds)
            if isinstance(again, Answered):
                return Reply(NotAsked(f"it refuses the activation, not MaxPool: {outcome.status}: {outcome.message}"))
        return Reply(_back(graph, self._by_provider(outcome)), opset, graph.steps)

    def _ask_in_domain(self, worker: Worker, case: Case, question: Question) -> Reply:
        """Ask a case in its document's own operator domain, as it stands."""
        document, dtype = case.specification, case.X.dtype.name
        assert document.domain is not None
        assert document.onnx is not None
        if self.description.newest_opset is None:
            return Reply(NotAsked("it is asked with attributes, which have no operator domain"))
        if isinstance(case.meaning, Refused):
            # A runtime without the operator refuses everything; that is no evidence that it refuses this.
            smallest = onnx_model.build(
                document.onnx.since, _SMALLEST, "float32", (1, 1, 1), ("Y",), domain=document.domain
            )
            outcome = worker.ask(np.zeros((1, 1, 1), np.float32), ("Y",), smallest, _SMALLEST, self.seconds)
            if isinstance(outcome, RefusedByTarget):
                return Reply(NotAsked(f"it has no MaxPool in {document.domain}: {outcome.status}: {outcome.message}"))
        attributes = {
            name: [float(entry) for entry in value] if _is_list_of_numbers(document, name, value) else value
            for name, value in case.attributes.items()
        }
        model = onnx_model.build(
            document.onnx.since, attributes, dtype, case.X.shape, question.outputs, domain=document.domain
        )
        outcome = worker.ask(case.X, question.outputs, model, attributes, self.seconds)
        return Reply(self._by_provider(outcome), document.onnx.since, (f"in the operator domain {document.domain}",))

    def _by_provider(self, outcome: Outcome) -> Outcome:
        """An answer, if the provider that was asked gave it."""
        if isinstance(outcome, Answered) and outcome.provider != self.description.provider:
            return Failed(f"wrong provider: {outcome.provider} ran the node, not {self.description.provider}")
        return outcome

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
        for opset in range(onnx_model.NEWEST_OPSET, 7, -1):
            model = onnx_model.build(opset, _SMALLEST, "float32", X.shape, ("Y",))
            outcome = worker.ask(X, ("Y",), model, _SMALLEST, START_SECONDS)
            if isinstance(outcome, Answered):
                return opset
            if not isinstance(outcome, RefusedByTarget):
                raise CannotStart(f"{self.name} cannot answer the smallest MaxPool: {outcome}")
        raise CannotStart(f"{self.name} answers no MaxPool in any operator set; the last it said was: {outcome}")


def _back(graph: Translation, outcome: Outcome) -> Outcome:
    """The outcome, an answer's outputs as the case has them."""
    if not isinstance(outcome, Answered):
        return outcome
    return replace(outcome, outputs={name: graph.output(name, value) for name, value in outcome.outputs.items()})


def _is_list_of_numbers(document: Specification, name: str, value: Any) -> bool:
    wanted = document.attributes.get(name) is Kind.NUMBERS
    return wanted and isinstance(value, list) and all(isinstance(entry, (int, float)) for entry in value)


def _all_attributes(graph: Translation) -> dict[str, Any]:
    """ONNX's seven attributes, those that are not given at their defaults."""
    rank = max(len(graph.shape) - 2, 0)
    defaults = {
        "kernel_shape": [],
        "strides": [1] * rank,
        "dilations": [1] * rank,
        "pads": [0] * 2 * rank,
        "auto_pad": "NOTSET",
        "ceil_mode": 0,
        "storage_order": 0,
    }
    return {**defaults, **graph.attributes}
