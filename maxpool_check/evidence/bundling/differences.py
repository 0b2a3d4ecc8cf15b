"""What has changed since a bundle was made: its cases are run again, on the same releases."""

import contextlib
import os
import tempfile
from collections.abc import Callable, Iterator
from functools import partial

from maxpool_check.comparing.transitions import Transition, Transitions
from maxpool_check.corpus.collection import Corpus
from maxpool_check.evidence.bundling.contents import Contents
from maxpool_check.evidence.bundling.record_check import Verification
from maxpool_check.results.changes import UNOBSERVABLE
from maxpool_check.results.record import Line, Record, TargetDescription
from maxpool_check.results.storage import record_of
from maxpool_check.results.variants import variant_named
from maxpool_check.running.run import RunPlan, run
from maxpool_check.targets.name import BadTarget, parse
from maxpool_check.words import plural


def _observed(old: Record, new: Record, names: tuple[str, str]) -> Iterator[Transition]:
    changes = Transitions(old, new, names)
    return (each for each in changes if each.change not in UNOBSERVABLE)


def _verdicts(transition: Transition) -> list[str]:
    return [str(side.verdict) if side is not None else "none" for side in (transition.old, transition.new)]


def rerun(
    contents: Contents, verification: Verification, seconds: float, progress: Callable[[int], None] = lambda _: None
) -> None:
    """Run all cases of the records again, and add what differs; ``progress`` gets the number of cases that are done.

    The environments of the runtimes are made anew, in a temporary folder.
    """
    done = 0
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="maxpool-check-"))
        # A variable of the environment: processes that execute cases have the same cache.
        stack.callback(os.environ.update, dict(os.environ))
        stack.callback(os.environ.pop, "MAXPOOL_CHECK_CACHE")
        os.environ["MAXPOOL_CHECK_CACHE"] = folder
        for member, record in contents.records.items():
            names = dict.fromkeys(execution.case for execution in record.executions)
            cases = [contents.cases[case] for case in names if case in contents.cases]
            variants = frozenset(map(variant_named, record.header.effective_settings.variants))
            for target in record.header.targets:
                if (why := _why_not(target)) is not None:
                    verification.unchecked.append(f"{target.name} was not run again: {why}")
                    continue
                corpus, lines = Corpus(cases, (), whole=False), list[Line]()
                plan = RunPlan(corpus, cases, [parse(target.name)], seconds=seconds, variants=variants)
                run(plan, lines.append, partial(lambda before, number: progress(before + number), done))
                _compare(member, record, record_of(lines), target, verification)
                done += record.header.cases


def _why_not(target: TargetDescription) -> str | None:
    """Why a target is not run because of a file that somebody has sent: only releases of runtimes are, and no programs."""
    try:
        name = parse(target.name)
    except BadTarget as error:
        return str(error)
    if not name.is_released:
        return "it is a program of the machine that made the record, and no release"
    return (
        None if name.starts_releases_alone else "its options may name a file of this machine, which would be executed"
    )


def _compare(member: str, record: Record, again: Record, target: TargetDescription, verification: Verification) -> None:
    """Add what is not the same in another run of a target."""
    place = f"{member}: {target.name}"
    for error in again.footer.errors if again.footer is not None else ():
        verification.unchecked.append(f"{target.name} was not run again: {error}")
    for actual in again.header.targets:
        if target.about != actual.about:
            verification.add(place, f"is {target.about} in the record, and {actual.about} here")
        here, recorded = _wheels(actual), _wheels(target)
        if not here.keys() & recorded.keys():
            text = f"{target.name}: the record names no wheel that was installed again"
            verification.unchecked.append(f"{text}, so that none was compared")
        for wheel, digest in recorded.items():
            # Where the machine is another one, the wheels are others.
            if here.get(wheel, digest) != digest:
                text = f"has the SHA-256 {digest} in the record, and {here[wheel]} where it was installed again"
                verification.add(f"{place}: {wheel}", text)
        own = sum(execution.target == target.name for execution in record.executions)
        sentence = f"returned the same in {plural(own, 'execution')} by verdict and digest."
        with verification.check(f"{target.name}, run again, {sentence}", member):
            for each in _observed(record, again, (target.name, actual.name)):
                was, now = _verdicts(each)
                text = f"verdict: {now}; the record has {was} ({each.change.value})"
                execution = f"{each.execution.case} ({each.execution.variant}) on {target.name}"
                verification.add(f"{member}: {execution}", f"run again, {text}")


def _wheels(target: TargetDescription) -> dict[str, str]:
    """The digests of the wheels that the environments of a target were made of, as far as they are known, by file name."""
    return {
        each.wheel: each.wheel_sha256
        for environment in target.environments
        for each in environment.distributions
        if each.wheel is not None and each.wheel_sha256 is not None
    }
