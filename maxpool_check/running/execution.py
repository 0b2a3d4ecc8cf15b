"""From one variant, its outcome and its judgement to a line of the record."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

from maxpool_check.corpus.case import Case
from maxpool_check.judging.verdicts import Judgement, Judged
from maxpool_check.reference.dtypes import name_of
from maxpool_check.results import record
from maxpool_check.results.outcomes import Outcome, Returned
from maxpool_check.results.record import FAULTS, Verdict
from maxpool_check.results.variants import Variant
from maxpool_check.targets.dialogue import Reply

MOST_VALUES = 100
"""Inputs of up to so many cells are kept in the record of a fault."""


@dataclass(frozen=True)
class Asked:
    """One case asked of one target, in every way it is asked."""

    case: Case
    target: str
    oracle: Judged
    replies: Mapping[Variant, Reply]


def execution(asked: Asked, variant: Variant, judgement: Judgement) -> record.Execution:
    """The line, not yet held to what is known."""
    case, reply = asked.case, asked.replies[variant]
    explained = judgement.verdict in FAULTS or judgement.verdict in (Verdict.UNDEFINED, Verdict.ERROR)
    return record.Execution(
        target=asked.target,
        case=case.id,
        variant=variant.name,
        verdict=judgement.verdict,
        title=case.title,
        spec=case.spec,
        case_sha256=case.sha256,
        origin=f"{case.origin.path}:{case.origin.line}",
        kinds=tuple(kind.value for kind in judgement.kinds),
        message=judgement.message,
        information=tuple(kind.value for kind in judgement.information),
        limit=judgement.limit,
        opset=reply.opset,
        translation=reply.steps,
        layout=case.specification.layout,
        interpretations=dict(judgement.interpretations),
        causes=judgement.causes,
        digests=_digests(reply.outcome),
        counts={kind.value: count for kind, count in (judgement.counts or {}).items()},
        cells=judgement.cells,
        differences=judgement.differences,
        size=case.X.size,
        input=_input(case) if explained else None,
        clauses=case.covers,
        erratum=case.erratum if explained else None,
    )


def _input(case: Case) -> record.Input:
    values = tuple(str(value) for value in case.X.reshape(-1)) if case.X.size <= MOST_VALUES else None
    usual = case.specification.policies.names()
    changed = {
        point: interpretation
        for point, interpretation in case.policies.names().items()
        if interpretation != usual[point]
    }
    return record.Input(
        dtype=name_of(case.X.dtype),
        shape=case.X.shape,
        attributes=dict(case.attributes),
        values=values,
        policies=changed,
    )


def _digests(outcome: Outcome) -> dict[str, str]:
    if not isinstance(outcome, Returned):
        return {}
    return {
        name: hashlib.sha256(
            f"{name_of(value.dtype)}{value.shape}".encode() + (b"" if value.dtype.hasobject else value.tobytes())
        ).hexdigest()
        for name, value in outcome.outputs.items()
    }
