"""Which cases kill a kernel, by the judge itself in this process: quick, and only for kernels that survive and return.

A kernel gets what the adapter of ``python:`` targets gives it, and the judge gets what the adapter returns. The command
line measures the same with a process for each kernel: ``kill_matrix.measure``.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from maxpool_check.corpus.case import Case
from maxpool_check.corpus.collection import collect
from maxpool_check.judging.oracle import Oracle
from maxpool_check.judging.verdicts import Judged, judge
from maxpool_check.reference.dtypes import name_of
from maxpool_check.reference.pooling import Pooling
from maxpool_check.results.outcomes import NotExecuted, Outcome, RefusedByTarget, Returned
from maxpool_check.results.record import FAULTS
from maxpool_check.results.variants import WITH_INDICES, Y_ONLY, Variant
from maxpool_check.specifications.languages import NotExpressible
from maxpool_check.specifications.refused import Refused
from maxpool_check.specifications.translation import Translation, translate
from maxpool_check.targets.worker.python_adapter import PythonFunction
from tests.mutants.kill_matrix import CASES, CORRECT, FOLDER, Kernel, kernels


@dataclass(frozen=True)
class Task:
    """A case, ready to be executed and judged: its oracle, and the graph of each variant that can be expressed."""

    case: Case
    oracle: Judged
    graphs: Mapping[Variant, Translation]


@lru_cache(1)
def tasks() -> tuple[Task, ...]:
    """All cases of the corpus that a function of ONNX's attributes can execute."""
    prepared = (_task(case) for case in collect([CASES]).cases)
    return tuple(task for task in prepared if task.graphs)


def _task(case: Case) -> Task:
    variants = (WITH_INDICES, Y_ONLY) if "Indices" in case.outputs else (Y_ONLY,)
    graphs = {variant: graph for variant in variants if (graph := _graph(case, variant)) is not None}
    return Task(case, Oracle(case.X, case.resolved) if isinstance(case.resolved, Pooling) else case.resolved, graphs)


def _graph(case: Case, variant: Variant) -> Translation | None:
    indices = variant.has_indices
    try:
        graph = translate(
            case.specification, case.attributes, name_of(case.X.dtype), case.X.shape, case.resolved, indices=indices
        )
    except NotExpressible:
        return None
    if graph.activation is not None:
        return None
    if isinstance(case.resolved, Refused) and isinstance(_resolved(case, seven_attributes(graph)), Pooling):
        # The case lacks an attribute, and the function gets its default.
        return None
    return graph


def _resolved(case: Case, attributes: Mapping[str, Any]) -> Pooling | Refused:
    try:
        return case.specification.pooling(attributes, name_of(case.X.dtype), case.X.shape, case.policies)
    except Refused as refused:
        return refused


def seven_attributes(graph: Translation) -> dict[str, Any]:
    """ONNX's seven attributes, with their defaults."""
    rank = max(len(graph.shape) - 2, 0)
    return {
        "kernel_shape": [], "strides": [1] * rank, "dilations": [1] * rank, "pads": [0] * 2 * rank,
        "auto_pad": "NOTSET", "ceil_mode": 0, "storage_order": 0, **copy.deepcopy(dict(graph.attributes)),
    }  # fmt: skip


Kill = tuple[str, str]
"""The id of a case and the name of a variant."""


def faults(kernel: Kernel) -> Iterator[Kill]:
    """The cases and variants with which the judge finds fault, in the order of the corpus."""
    adapter = PythonFunction({"function": [str(FOLDER / f"{kernel.module}.py"), kernel.name]})
    for task in tasks():
        outcomes = {variant: _outcome(adapter, task.case, variant, graph) for variant, graph in task.graphs.items()}
        for variant, judgement in judge(task.oracle, outcomes).items():
            if judgement.verdict in FAULTS:
                yield task.case.id, variant.name


def _outcome(adapter: PythonFunction, case: Case, variant: Variant, graph: Translation) -> Outcome:
    request = {"attributes": seven_attributes(graph), "outputs": list(variant.outputs)}
    with warnings.catch_warnings():
        # In a process of its own a kernel's warnings go to stderr.
        warnings.simplefilter("ignore")
        reply = adapter.ask(request, {"X": np.array(graph.input(case.X), order="C")})
    if reply["type"] == "refusal":
        return RefusedByTarget(reply["status"], reply["message"])
    if reply["type"] == "unable":
        return NotExecuted(reply["message"])
    return Returned({name: graph.output(name, np.asarray(value)) for name, value in reply["outputs"].items()})


def first_kills(kernel: Kernel, count: int) -> list[str]:
    """The first cases that kill a kernel, and no more than ``count``."""
    killing: dict[str, None] = {}
    for case, variant in faults(kernel):
        if case not in killing and (case, variant) not in excused():
            killing[case] = None
            if len(killing) == count:
                break
    return list(killing)


@lru_cache(1)
def excused() -> frozenset[Kill]:
    """Where the judge finds fault with the first correct kernel: no kill of any other."""
    return frozenset(faults(next(kernel for kernel in kernels() if kernel.module == CORRECT)))
