"""One case on one target: its requests, their outcomes, the judgement, and the executions of the record."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from maxpool_check.corpus.case import Case
from maxpool_check.judging.oracle import Oracle
from maxpool_check.judging.verdicts import Judgement, judge
from maxpool_check.reference.dtypes import name_of
from maxpool_check.reference.pooling import Pooling
from maxpool_check.results.outcomes import Crashed, Failed, Outcome, RefusedByTarget, Returned
from maxpool_check.results.record import FAULTS, Execution, Input, Verdict
from maxpool_check.results.variants import DEFAULT_VARIANTS, Variant
from maxpool_check.specifications.refused import Refused
from maxpool_check.targets.requests import VariantPlan, VariantResult, plan, result, second_looks
from maxpool_check.targets.session import TargetSession

MOST_VALUES = 100
"""Inputs of up to so many cells are kept in the record of a fault."""


@dataclass(frozen=True, eq=False)
class CaseRun:
    """A case, executed on a target in some variants, and judged.

    ``lost`` is why nothing more can be executed on the target, if that is so.
    """

    case: Case
    target: str
    oracle: Oracle | Refused
    results: Mapping[Variant, VariantResult]
    judgements: Mapping[Variant, Judgement]
    lost: str | None = None

    @property
    def diverging(self) -> list[Variant]:
        """The variants that show a kind of divergence, in order."""
        return [variant for variant, judgement in self.judgements.items() if judgement.kinds]

    def signature(self, variant: Variant) -> tuple[object, ...]:
        """What a smaller case must have in common with this one to show the same fault.

        Beside verdict and kinds: why the document excludes the graph, whether it leaves windows without a result, how the
        target refused it, or what its process died of.
        """
        judgement = self.judgements.get(variant)
        outcome = self.results[variant].outcome if variant in self.results else None
        oracle = self.oracle
        return (
            judgement.verdict if judgement else None,
            judgement.kinds if judgement else (),
            (oracle.reason, oracle.attribute) if isinstance(oracle, Refused) else bool(oracle.pooled.empty.any()),
            outcome.status if isinstance(outcome, RefusedByTarget) else None,
            outcome.how if isinstance(outcome, Crashed) else None,
        )


@dataclass(frozen=True, eq=False)
class StartedCase:
    """A case whose requests are on their way to the worker of a target, by their numbers."""

    case: Case
    plans: list[VariantPlan]
    numbers: list[list[int]]


def oracle_of(case: Case) -> Oracle | Refused:
    """What outputs of a case are judged by: the oracle, or the refusal where the document excludes the graph."""
    return Oracle(case.X, case.resolved) if isinstance(case.resolved, Pooling) else case.resolved


def run_case(session: TargetSession, case: Case, variants: Collection[Variant] = DEFAULT_VARIANTS) -> CaseRun:
    """Execute a case on a target in those of the variants that apply to it, and judge it.

    Raises ``CannotStart`` if the worker cannot be started again.
    """
    run = finish_case(session, start_case(session, case, variants), oracle_of(case))
    if session.failure is not None:
        raise session.failure
    return run


def start_case(session: TargetSession, case: Case, variants: Collection[Variant]) -> StartedCase:
    """Submit the requests of a case. Raises ``CannotStart`` if the target was never started."""
    plans = plan(case, variants, session.profile)
    return StartedCase(case, plans, [session.submit(each.requests) for each in plans])


def finish_case(session: TargetSession, started: StartedCase, oracle: Oracle | Refused) -> CaseRun:
    """Wait for the outcomes of a case, take the second looks that they call for, and judge."""
    outcomes = [[session.outcome(number) for number in numbers] for numbers in started.numbers]
    looks = second_looks(started.plans, outcomes)
    numbers = iter(session.submit(look.request for look in looks if look is not None))
    seconds = [None if look is None else session.outcome(next(numbers)) for look in looks]
    results = {
        each.variant: result(each, of_plan, session.profile, second)
        for each, of_plan, second in zip(started.plans, outcomes, seconds, strict=True)
    }
    lost = [each.outcome.why for each in results.values() if isinstance(each.outcome, Failed) and each.outcome.final]
    return judged(started.case, session.profile.description.name, oracle, results, lost[0] if lost else None)


def not_run(case: Case, target: str, variants: Collection[Variant], why: str) -> CaseRun:
    """A case that was not executed because its target was given up: an error in every variant."""
    failed = VariantResult(Failed(f"not executed: the target was given up ({why})"))
    return judged(case, target, oracle_of(case), dict.fromkeys(variants, failed))


def judged(
    case: Case, target: str, oracle: Oracle | Refused, results: Mapping[Variant, VariantResult], lost: str | None = None
) -> CaseRun:
    """The run of a case from its results."""
    judgements = judge(oracle, {variant: each.outcome for variant, each in results.items()})
    return CaseRun(case, target, oracle, results, judgements, lost)


def executions(run: CaseRun) -> list[Execution]:
    """The lines of the record, one for each variant, before known divergences are applied."""
    return [_execution(run, variant, judgement) for variant, judgement in run.judgements.items()]


def _execution(run: CaseRun, variant: Variant, judgement: Judgement) -> Execution:
    case, variant_result = run.case, run.results[variant]
    is_explained = judgement.verdict in FAULTS or judgement.verdict in (Verdict.UNDEFINED, Verdict.ERROR)
    return Execution(
        target=run.target,
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
        opset=variant_result.opset,
        translation=variant_result.steps,
        layout=case.specification.layout,
        interpretations=dict(judgement.interpretations),
        causes=judgement.causes,
        digests=_digests(variant_result.outcome),
        counts={kind.value: count for kind, count in (judgement.counts or {}).items()},
        cells=judgement.cells,
        differences=judgement.differences,
        size=case.X.size,
        input=_input(case) if is_explained else None,
        clauses=case.covers,
        erratum=case.erratum if is_explained else None,
    )


def _input(case: Case) -> Input:
    values = tuple(str(value) for value in case.X.reshape(-1)) if case.X.size <= MOST_VALUES else None
    defaults = case.specification.policies.names()
    return Input(
        dtype=name_of(case.X.dtype),
        shape=case.X.shape,
        attributes=dict(case.attributes),
        values=values,
        policies={point: name for point, name in case.policies.names().items() if name != defaults[point]},
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
