"""The result of each case by the definition and by the evaluator, as digests.

Both are computed anew; the digests are those that records have of outputs. Of a graph of several nodes, the definition
computes the MaxPool; the other nodes are exact, and are computed in one way only.
"""

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import replace

import msgspec
import numpy as np

from maxpool_check.corpus.case import Case
from maxpool_check.graphs.context import BEHIND
from maxpool_check.judging.graph_oracle import GraphOracle
from maxpool_check.judging.oracle import ALL_INTERPRETATIONS
from maxpool_check.reference import definition, evaluator
from maxpool_check.reference.dtypes import digest, identical
from maxpool_check.reference.pooling import Pooled, Pooling
from maxpool_check.results.details import ReferenceAgreement
from maxpool_check.specifications.specification import Refused

Reference = Callable[[np.ndarray, Pooling], Pooled]
"""A program that pools X, of shape N x C x D1 x ... x Dn."""


class ReferenceResult(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a case under one interpretation of its document, by both references.

    ``interpretation`` has the points that the document leaves open and that make a difference here. ``definition`` and
    ``evaluator`` are the SHA-256 of the outputs by name. ``without_value`` cells of Y are open (0 in the digest), and
    ``without_index`` cells have no index (-1 in the digest). They ``agree`` in every bit, and in which cells are open.
    """

    interpretation: dict[str, str]
    definition: dict[str, str]
    evaluator: dict[str, str]
    without_value: int
    without_index: int
    agree: bool


class CaseReferences(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The results of a case by both references, the one that reports print first, or the refusal of its document.

    ``refused`` has its reason, clause and message; neither reference computes such a case.
    """

    case: str
    case_sha256: str
    spec: str
    results: tuple[ReferenceResult, ...] = ()
    refused: dict[str, str] | None = None


class ReferenceLog(msgspec.Struct, frozen=True, kw_only=True):
    """The results of cases by both references.

    ``counts``: how many cases were computed and refused, and in how many of those that were computed both references agree.
    """

    schema: str = "maxpool-check/references/1"
    counts: dict[str, int]
    cases: tuple[CaseReferences, ...]

    @property
    def differing(self) -> list[str]:
        """The ids of the cases in which the references differ."""
        return [case.case for case in self.cases if not all(result.agree for result in case.results)]

    @property
    def agreement(self) -> ReferenceAgreement:
        """The log in short, with its digest."""
        digest = hashlib.sha256(self.encode()).hexdigest()
        return ReferenceAgreement(compared=self.counts["computed"], agreed=self.counts["agree"], log_sha256=digest)

    def encode(self) -> bytes:
        """The log as JSON; equal logs have equal bytes."""
        return msgspec.json.format(msgspec.json.encode(self), indent=1) + b"\n"


def references(cases: Iterable[Case], evaluate: Reference = evaluator.evaluate) -> ReferenceLog:
    """Compute the results of cases by the definition and by the evaluator, in order, and compare them."""
    logged = tuple(_references_of(case, evaluate) for case in cases)
    computed = [each.results for each in logged if each.refused is None]
    agree = sum(all(result.agree for result in results) for results in computed)
    counts = {"cases": len(logged), "refused": len(logged) - len(computed), "computed": len(computed)}
    counts |= {"results": sum(map(len, computed)), "agree": agree, "differ": len(computed) - agree}
    return ReferenceLog(counts=counts, cases=logged)


def _references_of(case: Case, evaluate: Reference) -> CaseReferences:
    """The results of one case, under each interpretation that its document allows."""
    oracle = case.oracle()
    if isinstance(oracle, Refused):
        refused = {"reason": oracle.reason.value, "clause": oracle.clause, "message": oracle.message}
        return CaseReferences(case=case.id, case_sha256=case.sha256, spec=case.spec, refused=refused)
    results = []
    for alternative in oracle.alternatives:
        policies = alternative.pooling.policies
        every = [replace(policies, nan=nan) for nan in ALL_INTERPRETATIONS] if alternative.nan_is_open else [policies]
        poolings = [replace(alternative.pooling, indices=True, alternatives=(), policies=each) for each in every]
        results += [_result(oracle, pooling, evaluate) for pooling in poolings]
    return CaseReferences(case=case.id, case_sha256=case.sha256, spec=case.spec, results=tuple(results))


def _result(oracle: GraphOracle, pooling: Pooling, evaluate: Reference) -> ReferenceResult:
    slow, fast = definition.evaluate(oracle.core, pooling), evaluate(oracle.core, pooling)
    by_definition, by_evaluator = _outputs(oracle, slow), _outputs(oracle, fast)
    stated = oracle.pooling.policies.names()
    return ReferenceResult(
        interpretation={point: name for point, name in pooling.policies.names().items() if stated.get(point) != name},
        definition={name: digest(output) for name, output in by_definition.items()},
        evaluator={name: digest(output) for name, output in by_evaluator.items()},
        without_value=int(slow.undefined.sum()),
        without_index=int(slow.empty.sum()),
        agree=identical(slow.undefined, fast.undefined)
        and identical(slow.empty, fast.empty)
        and all(identical(output, by_evaluator[name]) for name, output in by_definition.items()),
    )


def _outputs(oracle: GraphOracle, pooled: Pooled) -> dict[str, np.ndarray]:
    """The outputs by name, in the document's layout; of a graph, those of the graph."""
    arranged, graph = pooled.arranged(oracle.pooling.layout), oracle.graph
    assert arranged.Indices is not None
    outputs = {"Y": arranged.Y, "Indices": arranged.Indices}
    if not graph.context.is_alone:
        *_, outputs["Y"] = graph.steps(pooled.maxima, pooled.Indices)
        for name, number in graph.context.side_outputs.items():
            outputs[name] = pooled.maxima if name == BEHIND or number is None else graph.flow[number]
    return outputs
