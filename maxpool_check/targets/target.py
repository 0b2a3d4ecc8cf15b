"""A target that can be asked: workers of one runtime, and what they speak."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from maxpool_check.corpus.case import Case
from maxpool_check.judging.expected import Expected
from maxpool_check.outcome import Answered, Failed, NotAsked, Outcome, RefusedByTarget
from maxpool_check.question import Question, Variation
from maxpool_check.reference.pooling import Pooling
from maxpool_check.specifications.attributes import Kind
from maxpool_check.specifications.languages import LANGUAGES, NotExpressible
from maxpool_check.specifications.opsets import Graph, oldest_opset_for, opset_for
from maxpool_check.specifications.refused import Refused
from maxpool_check.specifications.specification import Specification
from maxpool_check.specifications.translation import Translation, translate
from maxpool_check.targets import environments, onnx_model, variations
from maxpool_check.targets.description import Description, Limits
from maxpool_check.targets.name import TargetName
from maxpool_check.targets.process import START_SECONDS, CannotStart, Worker, adapter
from maxpool_check.targets.runtimes import RUNTIMES

_T = TypeVar("_T")


@dataclass(frozen=True)
class Reply:
    """What came of one question: the outcome, the operator set it was asked in, and how it was translated, in words."""

    outcome: Outcome
    opset: int | None = None
    steps: tuple[str, ...] = ()


_SMALLEST = {"kernel_shape": [1]}

_SETTINGS = (Variation.OPTIMIZATION_OFF, Variation.DEFAULT_THREADS)
"""The variations that only a program can make that knows them."""


class Target:
    """One runtime in one environment. It makes workers; each worker is one process."""

    def __init__(
        self, name: TargetName, seconds: float = 10.0, memory: int | None = None, *, keep: bool = False
    ) -> None:
        """Start a worker to see what it is; it is ended again, or ``kept``. Raises :class:`CannotStart`."""
        self.name = name
        self.seconds = seconds
        self._memory = memory
        self._python = self._interpreter()
        with contextlib.ExitStack() as stack:
            worker = stack.enter_context(contextlib.closing(self.worker()))
            self.description = self._describe(worker)
            said = worker.description
            self.limits = Limits(_maybe(said.get("dtypes"), str), _maybe(said.get("spatial"), int))
            self._settings = _maybe(said.get("settings"), str) or ()
            if keep:
                stack.pop_all()
        self.kept = worker if keep else None
        """The first worker, if it was to be kept; closing it is left to who wanted it."""

    def worker(self) -> Worker:
        """A new process. Raises :class:`CannotStart`."""
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

    def _started(self, program: list[str], options: Mapping[str, Any], *, isolated: bool) -> Worker:
        try:
            return Worker(program, options, isolated=isolated, memory=self._memory)
        except CannotStart as error:
            hint = f"\nIf its environment is damaged, remove {self._folder}; it is made again." if self._folder else ""
            raise CannotStart(f"{self.name} cannot be started: {error}{hint}") from error

    def ask(self, worker: Worker, case: Case, question: Question) -> Reply:
        """Ask one question."""
        if question.variation in (Variation.BATCH_SPLIT, Variation.CHANNELS_PERMUTED):
            return self._ask_in_parts(worker, case, question, question.variation)
        if question.variation in _SETTINGS and question.variation.value not in self._settings:
            return Reply(NotAsked(f"it has no setting for {question.variation.value}"))
        if question.in_domain:
            return self._ask_in_domain(worker, case, question)
        return self._ask(worker, case, question)

    def _ask_in_parts(self, worker: Worker, case: Case, question: Question, variation: Variation) -> Reply:
        """Ask several cases that together say the same; the first that is not answered is the outcome."""
        try:
            parts = variations.parts(case, variation)
        except NotExpressible as error:
            return Reply(NotAsked(str(error)))
        answers: list[Answered] = []
        for part in parts:
            reply = self._ask(worker, part, question.base)
            if not isinstance(reply.outcome, Answered):
                return reply
            answers.append(reply.outcome)
        outputs = variations.whole(case, variation, [answer.outputs for answer in answers])
        return replace(reply, outcome=replace(answers[0], outputs=outputs))

    def _ask(self, worker: Worker, case: Case, question: Question) -> Reply:
        """Ask a case as it is, in what the target speaks."""
        described, dtype = self.description, case.X.dtype.name
        indices = "Indices" in question.outputs
        if indices and described.indices is None:
            return Reply(NotAsked("it gives no Indices"))
        try:
            graph = translate(
                case.specification, case.attributes, dtype, case.X.shape, case.meaning,
                indices=indices, language="onnx" if described.speaks == "attributes" else described.speaks,
            )  # fmt: skip
        except NotExpressible as error:
            return Reply(NotAsked(str(error)))
        excluded = self.limits.exclude(dtype, len(graph.target.sizes(graph.shape)) - 2)
        if excluded is not None and isinstance(case.meaning, Pooling):
            return Reply(NotAsked(excluded))
        if described.newest_opset is not None:
            return self._ask_onnx(worker, case, question, graph, described.newest_opset)
        if question.variation is Variation.OLDEST_OPSET:
            return Reply(NotAsked("it is not asked with ONNX models"))
        if graph.activation is not None:
            return Reply(NotAsked("it is asked for MaxPool alone, without an activation"))
        attributes = graph.attributes
        if described.speaks == "attributes":
            attributes = _all_attributes(graph)
            if isinstance(case.meaning, Refused) and isinstance(_filled(case, attributes), Pooling):
                return Reply(
                    NotAsked("every attribute is handed over, those that the case leaves out by their defaults")
                )
        setting = self._setting(question)
        outcome = worker.ask(graph.input(case.X), question.outputs, b"", attributes, self.seconds, setting)
        if isinstance(case.meaning, Refused) and isinstance(outcome, Answered) and self.name.is_released:
            # A runtime may have broken its own memory over it; the next question is not to suffer for that.
            worker.end()
        return Reply(self._back(graph, outcome), steps=self._steps(graph, indices))

    def _ask_onnx(self, worker: Worker, case: Case, question: Question, graph: Translation, newest: int) -> Reply:
        """Ask with the bytes of an ONNX model."""
        dtype, X = case.X.dtype.name, graph.input(case.X)
        indices, setting = "Indices" in question.outputs, self._setting(question)
        asked = Graph(graph.attributes, dtype, graph.shape, case.policies, indices)
        opset = opset_for(asked, graph.onnx, newest)
        if opset is None:
            return Reply(NotAsked(f"no operator set up to {newest}, the newest it loads, means the same"))
        if question.variation is Variation.OLDEST_OPSET:
            usual, opset = opset, oldest_opset_for(asked, graph.onnx, opset)
            if opset is None:
                return Reply(
                    NotAsked(f"no older version of the operator than that of operator set {usual} means the same")
                )
        model = onnx_model.build(opset, graph.attributes, dtype, graph.shape, question.outputs, graph.activation)
        outcome = worker.ask(X, question.outputs, model, graph.attributes, self.seconds, setting)
        if isinstance(outcome, RefusedByTarget) and graph.activation is not None:
            alone = onnx_model.build(opset, graph.attributes, dtype, graph.shape, question.outputs)
            again = worker.ask(X, question.outputs, alone, graph.attributes, self.seconds, setting)
            if isinstance(again, Answered):
                return Reply(NotAsked(f"it refuses the activation, not MaxPool: {outcome.status}: {outcome.message}"))
        return Reply(self._back(graph, self._by_provider(outcome)), opset, self._steps(graph, indices))

    def _setting(self, question: Question) -> str | None:
        """What the program is told to do otherwise, if it knows how."""
        return question.variation.value if question.variation and question.variation.value in self._settings else None

    def _steps(self, graph: Translation, indices: bool) -> tuple[str, ...]:
        counted = indices and self.description.indices == "plane"
        return (
            (*graph.steps, "Indices counted in each plane, converted to the whole tensor") if counted else graph.steps
        )

    def _back(self, graph: Translation, outcome: Outcome) -> Outcome:
        """The outcome, an answer's outputs as the case has them."""
        if not isinstance(outcome, Answered):
            return outcome
        by_plane = self.description.indices == "plane"
        outputs = {name: graph.output(name, value, by_plane=by_plane) for name, value in outcome.outputs.items()}
        return replace(outcome, outputs=outputs)

    def _ask_in_domain(self, worker: Worker, case: Case, question: Question) -> Reply:
        """Ask a case in its document's own operator domain, as it stands."""
        document, dtype = case.specification, case.X.dtype.name
        assert document.domain is not None
        assert document.onnx is not None
        if not self.name.is_released or RUNTIMES[self.name.runtime].adapter != "onnxruntime":
            # Others load such a model as well, and take the node for ONNX's.
            return Reply(NotAsked(f"{document.domain} is a domain of ONNX Runtime's own"))
        if _may_be_refused(case):
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
                return str(environments.interpreter(RUNTIMES[self.name.runtime].distribution, self.name.version))
            except environments.CannotMake as error:
                raise CannotStart(f"{self.name} cannot be started: {error}") from error
        return self.name.options.get("python", sys.executable)

    def _describe(self, worker: Worker) -> Description:
        said = worker.description
        wants = str(said.get("wants", "attributes"))
        if wants not in ("model", "attributes", *LANGUAGES):
            raise CannotStart(
                f"{self.name} wants '{wants}'; it can be asked with: model, attributes, {', '.join(LANGUAGES)}"
            )
        indices = said.get("indices", "whole")
        if indices not in ("whole", "plane", None):
            raise CannotStart(f"{self.name} counts Indices by '{indices}'; that is 'whole', 'plane' or null")
        return Description(
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
            model = onnx_model.build(opset, _SMALLEST, "float32", X.shape, ("Y",))
            outcome = worker.ask(X, ("Y",), model, _SMALLEST, START_SECONDS)
            if isinstance(outcome, Answered):
                return opset
            if not isinstance(outcome, RefusedByTarget):
                raise CannotStart(f"{self.name} cannot answer the smallest MaxPool: {outcome}")
        raise CannotStart(f"{self.name} answers no MaxPool in any operator set; the last it said was: {outcome}")


def _filled(case: Case, attributes: Mapping[str, Any]) -> Pooling | Refused:
    """What the document makes of a case to which no attribute is left out."""
    try:
        return case.specification.pooling(attributes, case.X.dtype.name, case.X.shape, case.policies)
    except Refused as refused:
        return refused


def _may_be_refused(case: Case) -> bool:
    """Whether a refusal would be right, or say nothing."""
    meaning = case.meaning
    if isinstance(meaning, Refused) or meaning.refusable is not None:
        return True
    return bool(Expected(case.X, meaning).pooled.empty.any())


def _maybe(values: Any, kind: type[_T]) -> tuple[_T, ...] | None:
    return tuple(kind(value) for value in values) if isinstance(values, list) else None  # type: ignore[call-arg]


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
