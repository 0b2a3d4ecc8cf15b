"""What is said of a defect besides its reproduction: its entry in a catalogue, and what other runtimes return."""

from collections.abc import Sequence
from contextlib import suppress
from importlib import metadata
from typing import NamedTuple

from maxpool_check.corpus.case import Case
from maxpool_check.reproducing.runtimes import title_of
from maxpool_check.results.outcomes import Accepted, Crashed, Inferred, Outcome, RefusedByTarget, Returned, TimedOut
from maxpool_check.results.record import TargetDescription, Verdict
from maxpool_check.results.variants import Variant
from maxpool_check.running.case_run import run_case
from maxpool_check.targets import machines
from maxpool_check.targets.name import TargetName, parse
from maxpool_check.targets.process import CannotStart
from maxpool_check.targets.runtimes import RUNTIMES
from maxpool_check.targets.session import TargetSession
from maxpool_check.targets.target import Target
from maxpool_check.words import shortened


class DefectNote(NamedTuple):
    """What is known of a defect.

    ``title`` is one sentence: operator, condition, effect; ``short`` a title for an issue, if there is another. ``mechanism``
    says what happens and why, ``established`` how that was found out, ``fix`` what repairs it. ``id`` is its id, if it comes
    with the tool. ``versions`` are those that have it, in words. ``upstream_issue`` is the address of an issue about it, and
    ``upstream_state`` its state. ``fixed`` is a newer release without it, so that nobody need be told.
    """

    title: str = ""
    mechanism: str = ""
    established: str = ""
    versions: str = ""
    upstream_issue: str | None = None
    upstream_state: str | None = None
    fixed: str | None = None
    short: str = ""
    fix: str = ""
    id: str = ""

    @property
    def is_read(self) -> bool:
        """Whether the mechanism was read in the source."""
        return self.established.startswith(("Source:", "Read in "))


class OtherAnswer(NamedTuple):
    """What another runtime makes of the same case: its name and version, and its outputs, refusal or death in words.

    ``is_right`` is None where the document does not decide.
    """

    runtime: str
    answer: str
    is_right: bool | None


def installed(besides: TargetDescription) -> list[TargetName]:
    """The installed runtimes that compute outputs, but the one that the reproduction is of."""
    names = []
    for name, runtime in RUNTIMES.items():
        with suppress(metadata.PackageNotFoundError):
            own = runtime.distribution, metadata.version(runtime.distribution), machines.HOST
            of_target = besides.distribution, besides.version, besides.architecture or machines.HOST
            names += [parse(name)] if runtime.computes and own != of_target else []
    return names


def answers(
    case: Case, variant: Variant, targets: Sequence[TargetName], seconds: float, *, required: bool
) -> list[OtherAnswer]:
    """What targets make of a case; those that cannot express it are left out.

    Raises :class:`CannotStart` where one cannot be started, unless they are not ``required``.
    """
    plain, found = Variant(variant.outputs), []
    for target in targets:
        try:
            with TargetSession(Target(target, seconds)) as session:
                case_run = run_case(session, case, (plain,))
                name, version = session.profile.name, session.profile.description.version
        except CannotStart:
            if required:
                raise
            continue
        verdict = case_run.judgements[plain].verdict if plain in case_run.judgements else Verdict.ERROR
        if verdict not in (Verdict.NOT_EXPRESSIBLE, Verdict.NOT_CLAIMED, Verdict.ERROR):
            is_right = None if verdict is Verdict.UNDEFINED else verdict is Verdict.CONFORMS
            label = title_of(name.runtime) if name.is_released and name.tool is None else name.text.partition("==")[0]
            found.append(OtherAnswer(f"{label} {version}", words(case_run.jobs[plain].outcome, plain), is_right))
    return found


def words(outcome: Outcome, variant: Variant) -> str:
    """An outcome on one line."""
    match outcome:
        case Returned(outputs):
            texts = {name: str(outputs[name].tolist()) for name in variant.outputs if name in outputs}
            return "; ".join(f"{name} = {shortened(text, 120, end=False)}" for name, text in texts.items())
        case Inferred(inferred):
            return "; ".join(f"{name} = {output}" for name, output in inferred.items())
        case RefusedByTarget(status, message):
            return f"refused: {status}: {shortened(message.strip().partition(chr(10))[0], 120, end=False)}"
        case Crashed(how, _):
            return how
        case TimedOut(seconds):
            return f"no result within {seconds:g} s"
    return "accepted" if isinstance(outcome, Accepted) else "not executed"
