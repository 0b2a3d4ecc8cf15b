"""One case on one target: executes its requests, judges their outcomes, and makes the lines of the record."""

import contextlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import numpy as np

from maxpool_check.corpus.case import Case
from maxpool_check.judging.defects import severity_of
from maxpool_check.judging.graph_oracle import GraphOracle
from maxpool_check.judging.judge import judge
from maxpool_check.judging.verdicts import Judgement
from maxpool_check.reference.dtypes import identical, name_of
from maxpool_check.reference.geometry import Placement
from maxpool_check.results.details import Entering, Input
from maxpool_check.results.outcomes import Crashed, Failed, Inferred, NotExecuted, RefusedByTarget, Returned
from maxpool_check.results.outputs import StoredOutput
from maxpool_check.results.record import REPORTED, Execution, Verdict
from maxpool_check.results.variants import DEFAULT_VARIANTS, OPTIMIZATION_OFF, Variant
from maxpool_check.running.outputs import OutputsSession
from maxpool_check.specifications.specification import Refused
from maxpool_check.targets.plans import VariantPlan, VariantResult
from maxpool_check.targets.requests import plan
from maxpool_check.targets.session import TargetSession
from maxpool_check.targets.worker.messages import ORIGINAL

MOST_VALUES = 100
"""The record of a fault holds X if it has up to so many cells."""


@dataclass(frozen=True, eq=False)
class CaseRun:
    """A case that was executed on a target in some variants and judged; ``lost`` is why the target cannot go on, if so."""

    case: Case
    target: str
    oracle: GraphOracle | Refused
    results: Mapping[Variant, VariantResult]
    judgements: Mapping[Variant, Judgement]
    lost: str | None = None

    @property
    def diverging(self) -> list[Variant]:
        """The variants that show a kind of divergence, in order."""
        return [variant for variant, judgement in self.judgements.items() if judgement.kinds]

    def signature(self, variant: Variant) -> tuple[object, ...]:
        """What a smaller case must have in common with this case to show the same fault."""
        judgement = self.judgements.get(variant)
        outcome = self.results[variant].outcome if variant in self.results else None
        oracle = self.oracle
        return (
            judgement.verdict if judgement is not None else None,
            judgement.kinds if judgement is not None else (),
            (oracle.reason, oracle.attribute) if isinstance(oracle, Refused) else oracle.has_undefined,
            outcome.status if isinstance(outcome, RefusedByTarget) else None,
            outcome.how if isinstance(outcome, Crashed) else None,
        )


StartedCase = Sequence[tuple[VariantPlan, list[int]]]
"""How a case is executed in each variant, and the numbers of the requests that were submitted."""


def run_case(session: TargetSession, case: Case, variants: Collection[Variant] = DEFAULT_VARIANTS) -> CaseRun:
    """Execute a case on a target in those of the variants that apply to it, and judge it.

    Raises ``CannotStart`` if the worker cannot be started again.
    """
    oracle = case.oracle()
    run = finish_case(session, case, start_case(session, case, variants), oracle)
    if session.failure is not None:
        raise session.failure
    return run


def start_case(session: TargetSession, case: Case, variants: Collection[Variant]) -> StartedCase:
    """Submit the requests of a case in those of the variants that apply to it."""
    if isinstance(session, OutputsSession):
        plans = session.plans(case, variants)
    else:
        plans = plan(case, variants, session.profile)
    return _submitted(session, plans)


def _submitted(session: TargetSession, plans: Iterable[VariantPlan]) -> StartedCase:
    """Submit the requests of all plans together, so that they are written to the worker at once."""
    plans = list(plans)
    numbers = iter(session.submit(request for each in plans for request in each.requests))
    return [(each, list(islice(numbers, len(each.parts)))) for each in plans]


def finish_case(session: TargetSession, case: Case, started: StartedCase, oracle: GraphOracle | Refused) -> CaseRun:
    """Wait for the outcomes of a case, execute the second looks that they require, and judge it."""
    target = session.profile.description.name
    run = judged_case(case, target, oracle, _results(session, started))
    if session.profile.name.tool is None or not run.diverging:
        return run
    # The tool is wrong only where the runtime is right about the model that the tool was given.
    submitted = _submitted(session, (each.with_requests(setting=ORIGINAL) for each, _ in started))
    by_runtime = judged_case(case, target, oracle, _results(session, submitted))
    attributable = _attributable(run, by_runtime, session.profile.name.runtime)
    return judged_case(case, target, oracle, attributable, unoptimized=by_runtime.results)


def _attributable(run: CaseRun, by_runtime: CaseRun, runtime: str) -> dict[Variant, VariantResult]:
    """The results of a tool that rewrites models, but not where the runtime itself does not conform."""
    results = dict(run.results)
    for variant in run.diverging:
        judgement = by_runtime.judgements[variant]
        if judgement.kinds:
            kinds = ", ".join(kind.value for kind in judgement.kinds)
            why = f"{runtime} itself does not conform on the original model: {kinds}"
            results[variant] = VariantResult(NotExecuted(why), seconds=run.results[variant].seconds)
        elif judgement.verdict not in (Verdict.CONFORMS, Verdict.UNDEFINED):
            results[variant] = by_runtime.results[variant]
    return results


def _results(session: TargetSession, started: StartedCase) -> dict[Variant, VariantResult]:
    """The result of each variant, from the outcomes of its requests and of its second look."""
    executed = [(each, [session.timed_outcome(number) for number in numbers]) for each, numbers in started]
    looks = [each.second_look([outcome for outcome, _ in timed]) for each, timed in executed]
    numbers = iter(session.submit(look.request for look in looks if look is not None))
    looked = [(None, 0.0) if look is None else session.timed_outcome(next(numbers)) for look in looks]
    results = {}
    for (each, timed), (second, seconds) in zip(executed, looked, strict=True):
        seconds += sum(had for _, had in timed)
        try:
            results[each.variant] = each.result([outcome for outcome, _ in timed], session.profile, second, seconds)
        except Exception as error:
            results[each.variant] = VariantResult(Failed.internal(error), seconds=seconds)
    return results


def not_run(case: Case, target: str, variants: Collection[Variant], why: str) -> CaseRun:
    """A case that was not executed because its target was given up: an error in every variant."""
    failed = VariantResult(Failed(f"not executed: the target was given up ({why})"))
    return judged_case(case, target, case.oracle(), dict.fromkeys(variants, failed))


def judged_case(
    case: Case, target: str, oracle: GraphOracle | Refused, results: Mapping[Variant, VariantResult],
    unoptimized: Mapping[Variant, VariantResult] | None = None,
) -> CaseRun:  # fmt: skip
    """The case, judged by the results of its variants on a target.

    ``unoptimized`` are results of the model that was not rewritten, which are not judged themselves.
    """
    outcomes = {
        Variant(variant.outputs, OPTIMIZATION_OFF): each.outcome
        for variant, each in (unoptimized or {}).items()
        if variant.variation is None and not variant.in_domain
    }
    outcomes |= {variant: each.outcome for variant, each in results.items()}
    oracle = _with_the_pads_given(oracle, results)
    lost = [outcome.why for outcome in outcomes.values() if isinstance(outcome, Failed) and outcome.final]
    judged = judge(oracle, outcomes)
    return CaseRun(
        case, target, oracle, results, {variant: judged[variant] for variant in results}, lost[0] if lost else None
    )


def _with_the_pads_given(
    oracle: GraphOracle | Refused, results: Mapping[Variant, VariantResult]
) -> GraphOracle | Refused:
    """The oracle, which has explicit pads if that is what a target was given for ``SAME_*``: it made no mistake in that."""
    requests = [each.request for each in results.values() if each.request is not None]
    if (
        isinstance(oracle, Refused)
        or oracle.pooling.placement is None
        or not oracle.pooling.placement.is_same
        or any(str(request.attributes.get("auto_pad", "")).upper().startswith("SAME") for request in requests)
    ):
        return oracle
    return replace(oracle, pooling=replace(oracle.pooling, placement=Placement()))


def executions(run: CaseRun) -> list[Execution]:
    """The lines of the record, one for each variant, before known defects are applied."""
    return [_execution(run, variant, judgement) for variant, judgement in run.judgements.items()]


def outputs_that_differ(run: CaseRun) -> dict[str, StoredOutput | None]:
    """The outputs that are not the reference's bit for bit, by digest; None for one that is too large to be recorded."""
    expected: Mapping[str, np.ndarray] = {}
    if isinstance(run.oracle, GraphOracle):
        # Where the reference fails, so does the judge: of such an execution, too, all outputs are recorded.
        with contextlib.suppress(Exception):
            expected = run.oracle.expected
    return {
        each.outcome.digests[name]: StoredOutput.of(tensor, each.outcome.digests[name])
        for each in run.results.values()
        if isinstance(each.outcome, Returned)
        for name, tensor in each.outcome.outputs.items()
        if name not in expected or not identical(tensor, expected[name])
    }


def _execution(run: CaseRun, variant: Variant, judgement: Judgement) -> Execution:
    case, variant_result = run.case, run.results[variant]
    outcome = variant_result.outcome
    severity = None
    if judgement.kinds:
        severity = severity_of(judgement.kinds, is_limit=judgement.limit, is_special=judgement.windows.special)
    is_explained = judgement.verdict in REPORTED or judgement.verdict in (Verdict.UNDEFINED, Verdict.ERROR)
    # Of a generator without values, Python 3.10 makes another tuple than (), which a record would not leave out as a default.
    return Execution(
        target=run.target,
        case=case.id,
        variant=variant.name,
        verdict=judgement.verdict,
        title=case.title,
        spec=case.spec,
        case_sha256=case.sha256,
        origin=f"{case.origin.path}:{case.origin.line}",
        kinds=tuple([kind.value for kind in judgement.kinds]),
        message=judgement.message,
        information=tuple([kind.value for kind in judgement.information]),
        limit=judgement.limit,
        opset=variant_result.opset,
        translation=variant_result.steps,
        layout=case.specification.layout,
        interpretations=dict(judgement.interpretations),
        causes=judgement.causes,
        digests=dict(outcome.digests) if isinstance(outcome, Returned) else {},
        inferred=dict(outcome.outputs) if isinstance(outcome, Inferred) else {},
        counts={kind.value: count for kind, count in (judgement.counts or {}).items()},
        severity=severity.value if severity is not None else "",
        windows={kind: dict(counts) for kind, counts in judgement.windows.counts.items()},
        wrong={output: dict(cells) for output, cells in judgement.windows.cells.items()},
        cells=judgement.cells or (),
        differences=judgement.differences,
        shapes=dict(judgement.shapes),
        size=case.X.size,
        input=_input(case) if is_explained else None,
        clauses=case.covers,
        erratum=case.erratum if is_explained else None,
        traceback=judgement.traceback,
        seconds=round(variant_result.seconds, 3),
    )


def _input(case: Case) -> Input:
    defaults = case.specification.policies.names()
    graph: dict[str, Any] = {}
    if not case.context.is_alone:
        M = case.entering
        graph["graph"] = tuple(case.context.lines())
        graph["entering"] = Entering(dtype=name_of(M.dtype), shape=M.shape, values=_values(M))
    return Input(
        dtype=name_of(case.X.dtype),
        shape=case.X.shape,
        attributes=dict(case.attributes),
        values=_values(case.X.tensor()),
        policies={point: name for point, name in case.policies.names().items() if name != defaults[point]},
        **graph,
    )


def _values(tensor: np.ndarray) -> tuple[str, ...] | None:
    return tuple(str(value) for value in tensor.reshape(-1)) if tensor.size <= MOST_VALUES else None
