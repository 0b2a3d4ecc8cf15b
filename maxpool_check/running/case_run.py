"""One case on one target: executes its requests, judges their outcomes, and makes the lines of the record."""

import contextlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from maxpool_check.corpus.case import Case
from maxpool_check.judging.defects import severity_of
from maxpool_check.judging.graph_oracle import GraphOracle
from maxpool_check.judging.judge import judge
from maxpool_check.judging.verdicts import Judgement
from maxpool_check.reference.dtypes import identical, name_of
from maxpool_check.reference.geometry import Placement
from maxpool_check.reference.policies import Nan, Tie
from maxpool_check.results.details import Entering, Input
from maxpool_check.results.outcomes import Crashed, Failed, Inferred, NotExecuted, RefusedByTarget, Returned
from maxpool_check.results.outputs import StoredOutput
from maxpool_check.results.record import GIVEN_UP, REPORTED, Execution, TargetDescription, Verdict
from maxpool_check.results.variants import DEFAULT_VARIANTS, OPTIMIZATION_OFF, Variant
from maxpool_check.running.outputs import OutputsSession
from maxpool_check.specifications.specification import Refused
from maxpool_check.targets.jobs import NOT_YET, Job
from maxpool_check.targets.languages import LANGUAGES
from maxpool_check.targets.requests import jobs_of
from maxpool_check.targets.session import TargetSession
from maxpool_check.targets.worker.messages import ORIGINAL

MOST_VALUES = 100
"""The record of a fault holds X if it has up to so many cells."""


@dataclass(frozen=True, eq=False)
class CaseRun:
    """A case that was executed on a target."""

    case: Case
    target: str
    """The name of the target."""
    executions: tuple[Execution, ...] = ()
    """The lines of the record, one for each variant, before known defects are applied."""
    outputs: Mapping[str, StoredOutput | None] = field(default_factory=dict)
    """The outputs that are not the reference's bit for bit, by digest; None for one that is too large to be recorded."""
    lost: str | None = None
    """Why the target cannot go on, if so."""


@dataclass(frozen=True, eq=False)
class JudgedRun(CaseRun):
    """A case that was executed and judged in this process."""

    oracle: GraphOracle | Refused = field(kw_only=True)
    """What judged the outputs, or the refusal of the document."""
    jobs: Mapping[Variant, Job] = field(kw_only=True)
    judgements: Mapping[Variant, Judgement] = field(kw_only=True)

    @property
    def diverging(self) -> list[Variant]:
        """The variants that show a kind of divergence, in order."""
        return [variant for variant, judgement in self.judgements.items() if judgement.kinds]

    def signature(self, variant: Variant) -> tuple[object, ...]:
        """What a smaller case must have in common with this case to show the same fault."""
        judgement = self.judgements.get(variant)
        outcome = self.jobs[variant].outcome if variant in self.jobs else None
        oracle = self.oracle
        return (
            judgement.verdict if judgement is not None else None,
            judgement.kinds if judgement is not None else (),
            (oracle.reason, oracle.attribute) if isinstance(oracle, Refused) else oracle.has_undefined,
            outcome.status if isinstance(outcome, RefusedByTarget) else None,
            outcome.how if isinstance(outcome, Crashed) else None,
        )


def run_case(session: TargetSession, case: Case, variants: Collection[Variant] = DEFAULT_VARIANTS) -> JudgedRun:
    """Execute a case on a target in those of the variants that apply to it, and judge it.

    Raises ``CannotStart`` if the worker cannot be started again.
    """
    run = finish_case(session, case, start_case(session, case, variants))
    if session.failure is not None:
        raise session.failure
    return run


def start_case(session: TargetSession, case: Case, variants: Collection[Variant]) -> list[Job]:
    """Submit the jobs of a case in those of the variants that apply to it."""
    if isinstance(session, OutputsSession):
        return session.jobs_of(case, variants)
    return _submit(session, jobs_of(case, variants, session.profile))


def _submit(session: TargetSession, jobs: Sequence[Job]) -> list[Job]:
    """Submit the requests of jobs together, so that they are written to the worker at once."""
    numbers = iter(session.submit(job.request for job in jobs if job.request is not None))
    return [job if job.request is None else replace(job, number=next(numbers)) for job in jobs]


def oracle_for(case: Case, target: TargetDescription) -> GraphOracle | Refused:
    """What judges the outputs of a case on a target: nothing is open where the language of a user's kernel decides it."""
    oracle, language = case.oracle(), LANGUAGES.get(target.speaks)
    if target.specs is None or language is None or not language.decides or isinstance(oracle, Refused):
        return oracle
    policies = oracle.pooling.policies
    if policies.tie is Tie.ANY:
        policies = replace(policies, tie=Tie.FIRST)
    # The attributes say which of several readings the kernel was asked for.
    pooling = replace(oracle.pooling, policies=policies, alternatives=())
    if oracle.nan_is_open:
        first, last = (replace(policies, nan=nan) for nan in (Nan.PROPAGATES, Nan.PROPAGATES_LAST))
        pooling = replace(pooling, policies=first, alternatives=(replace(pooling, policies=last),))
    return replace(oracle, pooling=pooling)


def finish_case(session: TargetSession, case: Case, jobs: Sequence[Job]) -> JudgedRun:
    """Wait for the outcomes of the jobs of a case, execute their controls, and judge the case."""
    target, oracle = session.profile.description.name, oracle_for(case, session.profile.description)
    run = judge_case(case, target, oracle, _finish(session, jobs))
    if session.profile.name.tool is None or not run.diverging:
        return run
    # The tool is wrong only where the runtime is right about the model that the tool was given.
    originals = _submit(session, [job.with_request(setting=ORIGINAL) for job in jobs])
    by_runtime = judge_case(case, target, oracle, _finish(session, originals))
    attributable = _attributable(run, by_runtime, session.profile.name.runtime)
    return judge_case(case, target, oracle, attributable, unoptimized=by_runtime.jobs.values())


def _attributable(run: JudgedRun, by_runtime: JudgedRun, runtime: str) -> list[Job]:
    """The jobs of a tool that rewrites models, but not where the runtime itself does not conform."""
    jobs = dict(run.jobs)
    for variant in run.diverging:
        judgement = by_runtime.judgements[variant]
        if judgement.kinds:
            kinds = ", ".join(kind.value for kind in judgement.kinds)
            why = f"{runtime} itself does not conform on the original model: {kinds}"
            jobs[variant] = Job(variant, outcome=NotExecuted(why), seconds=jobs[variant].seconds)
        elif judgement.verdict not in (Verdict.CONFORMS, Verdict.UNDEFINED):
            jobs[variant] = by_runtime.jobs[variant]
    return list(jobs.values())


def _finish(session: TargetSession, jobs: Sequence[Job]) -> list[Job]:
    """The jobs with their outcomes, after those controls that the outcomes call for."""
    timed = [(NOT_YET, 0.0) if job.number is None else session.timed_outcome(job.number) for job in jobs]
    controls = [
        job.control if job.control is not None and isinstance(outcome, job.control.after) else None
        for job, (outcome, _) in zip(jobs, timed, strict=True)
    ]
    numbers = iter(session.submit(control.request for control in controls if control is not None))
    finished = []
    for job, (outcome, seconds), control in zip(jobs, timed, controls, strict=True):
        if job.number is None:
            finished.append(job)
            continue
        of_control, more = (None, 0.0) if control is None else session.timed_outcome(next(numbers))
        finished.append(job.finished(outcome, seconds + more, session.profile, of_control))
    return finished


def case_not_run(case: Case, target: str, variants: Collection[Variant], why: str) -> JudgedRun:
    """A case that was not executed because its target was given up: an error in every variant."""
    failed = Failed(f"{GIVEN_UP} ({why})")
    return judge_case(case, target, case.oracle(), [Job(variant, outcome=failed) for variant in variants])


def judge_case(
    case: Case, target: str, oracle: GraphOracle | Refused, jobs: Iterable[Job], unoptimized: Iterable[Job] = ()
) -> JudgedRun:
    """The case, judged by the outcomes of its jobs on a target.

    ``unoptimized`` are jobs of the model that was not rewritten, which are not judged themselves.
    """
    by_variant = {job.variant: job for job in jobs}
    outcomes = {
        Variant(job.variant.outputs, OPTIMIZATION_OFF): job.outcome
        for job in unoptimized
        if job.variant.variation is None and not job.variant.in_domain
    }
    outcomes |= {variant: job.outcome for variant, job in by_variant.items()}
    oracle = _with_the_pads_given(oracle, by_variant.values())
    judged = judge(oracle, outcomes)
    judgements = {variant: judged[variant] for variant in by_variant}
    lost = [outcome.why for outcome in outcomes.values() if isinstance(outcome, Failed) and outcome.final]
    return JudgedRun(
        case,
        target,
        tuple([_line(case, target, by_variant[variant], each) for variant, each in judgements.items()]),
        _outputs_that_differ(oracle, by_variant.values()),
        lost[0] if lost else None,
        oracle=oracle,
        jobs=by_variant,
        judgements=judgements,
    )


def _with_the_pads_given(oracle: GraphOracle | Refused, jobs: Iterable[Job]) -> GraphOracle | Refused:
    """The oracle, which has explicit pads if that is what a target was given for ``SAME_*``: it made no mistake in that."""
    requests = [job.request for job in jobs if job.request is not None]
    if (
        isinstance(oracle, Refused)
        or oracle.pooling.placement is None
        or not oracle.pooling.placement.is_same
        or any(str(request.attributes.get("auto_pad", "")).upper().startswith("SAME") for request in requests)
    ):
        return oracle
    return replace(oracle, pooling=replace(oracle.pooling, placement=Placement()))


def _outputs_that_differ(oracle: GraphOracle | Refused, jobs: Iterable[Job]) -> dict[str, StoredOutput | None]:
    """The outputs that are not the reference's bit for bit, by digest; None for one that is too large to be recorded."""
    returned = [job.outcome for job in jobs if isinstance(job.outcome, Returned)]
    expected: Mapping[str, np.ndarray] = {}
    if returned and isinstance(oracle, GraphOracle):
        # Where the reference fails, so does the judge: of such an execution, too, all outputs are recorded.
        with contextlib.suppress(Exception):
            expected = oracle.expected
    return {
        outcome.digests[name]: StoredOutput.of(tensor, outcome.digests[name])
        for outcome in returned
        for name, tensor in outcome.outputs.items()
        if name not in expected or not identical(tensor, expected[name])
    }


def _line(case: Case, target: str, job: Job, judgement: Judgement) -> Execution:
    """The line of an execution; an exception in making its evidence is an ``error`` of that execution alone."""
    try:
        return _execution(case, target, job, judgement)
    except Exception as error:
        return _execution(case, target, job, Judgement.of_failure(Failed.internal(error)))


def _execution(case: Case, target: str, job: Job, judgement: Judgement) -> Execution:
    outcome, wrong, severity = job.outcome, judgement.wrong, None
    if judgement.kinds:
        is_special = wrong is not None and wrong.special
        severity = severity_of(judgement.kinds, is_limit=judgement.limit, is_special=is_special)
    is_explained = judgement.verdict in REPORTED or judgement.verdict in (Verdict.UNDEFINED, Verdict.ERROR)
    # Of a generator without values, Python 3.10 makes another tuple than (), which a record would not leave out as a default.
    return Execution(
        target=target,
        case=case.id,
        variant=job.variant.name,
        verdict=judgement.verdict,
        title=case.title,
        spec=case.spec,
        case_sha256=case.sha256,
        origin=f"{case.origin.path}:{case.origin.line}",
        kinds=tuple([kind.value for kind in judgement.kinds]),
        message=judgement.message,
        information=tuple([kind.value for kind in judgement.information]),
        limit=judgement.limit,
        opset=job.opset,
        translation=job.steps,
        layout=case.specification.layout,
        interpretations=dict(judgement.interpretations),
        causes=judgement.causes,
        digests=dict(outcome.digests) if isinstance(outcome, Returned) else {},
        inferred=dict(outcome.outputs) if isinstance(outcome, Inferred) else {},
        counts=judgement.counts,
        severity=severity.value if severity is not None else "",
        windows=wrong.windows if wrong is not None else {},
        wrong=wrong.marked if wrong is not None else {},
        cells=judgement.cells,
        differences=judgement.differences,
        shapes=dict(judgement.shapes),
        size=case.X.size,
        input=_input(case) if is_explained else None,
        clauses=case.covers,
        erratum=case.erratum if is_explained else None,
        traceback=judgement.traceback,
        seconds=round(job.seconds, 3),
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
