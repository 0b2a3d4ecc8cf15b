"""What other runtimes return for the same case."""

from collections.abc import Iterable, Sequence
from importlib import metadata

from maxpool_check.corpus.case import Case
from maxpool_check.judging.verdicts import Judgement
from maxpool_check.reproducing.notes import OtherAnswer
from maxpool_check.reproducing.runtimes import TITLES
from maxpool_check.reproducing.tables import flat_text
from maxpool_check.results.outcomes import Accepted, Crashed, Inferred, Outcome, RefusedByTarget, Returned, TimedOut
from maxpool_check.results.record import TargetDescription, Verdict
from maxpool_check.results.variants import Variant
from maxpool_check.running.case_run import run_case
from maxpool_check.targets.name import TargetName, parse
from maxpool_check.targets.process import CannotStart
from maxpool_check.targets.runtimes import RUNTIMES
from maxpool_check.targets.session import TargetSession
from maxpool_check.targets.target import Target

_MOST_CHARACTERS = 120
"""The most characters of a message that are shown."""


def installed(besides: TargetDescription) -> list[TargetName]:
    """The installed runtimes that compute outputs, but the one that the reproduction is of."""
    names = []
    for name, runtime in RUNTIMES.items():
        try:
            version = metadata.version(runtime.distribution)
        except metadata.PackageNotFoundError:
            continue
        if runtime.computes and (runtime.distribution, version) != (besides.distribution, besides.version):
            names.append(parse(name))
    return names


def answers(
    case: Case, variant: Variant, targets: Sequence[TargetName], seconds: float, *, required: bool
) -> list[OtherAnswer]:
    """What targets make of a case; those that cannot express it are left out.

    Raises :class:`CannotStart` where one cannot be started, unless they are not ``required``.
    """
    found: list[OtherAnswer] = []
    for target in targets:
        try:
            found += _answer(case, variant, target, seconds)
        except CannotStart:
            if required:
                raise
    return found


def _answer(case: Case, variant: Variant, target: TargetName, seconds: float) -> Iterable[OtherAnswer]:
    plain = Variant(variant.outputs)
    with TargetSession(Target(target, seconds)) as session:
        case_run = run_case(session, case, (plain,))
        name = session.profile.name.text.partition("==")[0]
        named = f"{TITLES.get(name, name)} {session.profile.description.version}"
    judgement, outcome = case_run.judgements.get(plain), case_run.results[plain].outcome
    if judgement is None or judgement.verdict in (Verdict.NOT_EXPRESSIBLE, Verdict.NOT_CLAIMED, Verdict.ERROR):
        return []
    return [OtherAnswer(named, words(outcome, plain), _is_right(judgement))]


def words(outcome: Outcome, variant: Variant) -> str:
    """An outcome on one line."""
    match outcome:
        case Returned(outputs):
            return "; ".join(f"{name} = {flat_text(outputs[name])}" for name in variant.outputs if name in outputs)
        case Inferred(inferred):
            return "; ".join(f"{name} = {output}" for name, output in inferred.items())
        case Accepted():
            return "accepted"
        case RefusedByTarget(status, message):
            first = message.strip().partition("\n")[0]
            return (
                f"refused: {status}: {first if len(first) <= _MOST_CHARACTERS else first[:_MOST_CHARACTERS] + ' ...'}"
            )
        case Crashed(how, _):
            return how
        case TimedOut(seconds):
            return f"no result within {seconds:g} s"
        case _:
            return "not executed"


def _is_right(judgement: Judgement) -> bool | None:
    return None if judgement.verdict is Verdict.UNDEFINED else judgement.verdict is Verdict.CONFORMS
