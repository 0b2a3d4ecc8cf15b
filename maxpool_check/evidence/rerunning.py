"""Runs the cases of a bundle again on the same runtimes, and compares what they return by its digests."""

from collections.abc import Callable, Mapping
from contextlib import closing

from maxpool_check.corpus.case import Case
from maxpool_check.evidence.contents import Contents
from maxpool_check.evidence.findings import Verification
from maxpool_check.results.record import Execution, Record, TargetDescription
from maxpool_check.results.variants import ALL_VARIANTS, variant_named
from maxpool_check.running.executors import ExecutionConfig, LocalExecutor
from maxpool_check.targets.name import BadTarget, TargetName, parse
from maxpool_check.words import plural

_COMPARED = ("verdict", "kinds", "digests", "counts")


def rerun(
    contents: Contents, verification: Verification, seconds: float, progress: Callable[[int], None] = lambda _: None
) -> None:
    """Run all cases of the records again, and add what differs; ``progress`` gets the number of cases that are done."""
    done = 0
    for each in contents.bundled:
        record = contents.records[each.name]
        for target in record.header.targets:
            done = _rerun(each.member, record, target, contents.cases, verification, seconds, progress, done)


def cases_to_run(contents: Contents) -> int:
    """The number of cases that :func:`rerun` runs, each counted for every target."""
    return sum(record.header.cases * len(record.header.targets) for record in contents.records.values())


def _rerun(
    member: str, record: Record, described: TargetDescription, by_id: Mapping[str, Case], verification: Verification,
    seconds: float, progress: Callable[[int], None], done: int,
) -> int:  # fmt: skip
    stored = [each for each in record.executions if each.target == described.name]
    cases = [by_id[name] for name in dict.fromkeys(each.case for each in stored) if name in by_id]
    name = _released(described, verification)
    if name is None:
        return done
    known = {each.name for each in ALL_VARIANTS}
    variants = frozenset(variant_named(each.variant) for each in stored if each.variant in known)
    expected = {(each.case, each.variant): each for each in stored}
    with closing(LocalExecutor(ExecutionConfig((name,), seconds, None, variants))) as executor:
        for error in executor.errors:
            verification.unchecked.append(f"{described.name} was not run again: {error}")
        for actual in executor.descriptions:
            _compare_targets(member, described, actual, verification)
        if not executor.descriptions:
            return done
        with verification.check(
            f"{described.name}, run again, returned the same in {plural(len(stored), 'execution')} by verdict and digest."
        ):
            for results in executor.results(cases, ()):
                done += 1
                progress(done)
                for execution in results[described.name].executions:
                    other = expected.pop((execution.case, execution.variant), None)
                    if other is not None:
                        _compare(member, other, execution, verification)
            for case, variant in expected:
                verification.add(f"{member}: {case} ({variant}) on {described.name}", "run again, has no result")
    return done


def _released(described: TargetDescription, verification: Verification) -> TargetName | None:
    """The name of a target that may be run because of a file that somebody has sent: a release of a runtime, and no program."""
    try:
        name = parse(described.name)
    except BadTarget as error:
        verification.unchecked.append(f"{described.name} was not run again: {error}")
        return None
    tool = {} if name.tool is None else name.tool.options
    if not name.is_released or "python" in {**name.options, **tool}:
        verification.unchecked.append(
            f"{described.name} was not run again: it is a program of the machine that made the record, and no release"
        )
        return None
    return name


def _compare_targets(
    member: str, stored: TargetDescription, actual: TargetDescription, verification: Verification
) -> None:
    if (stored.distribution, stored.version, stored.provider) != (actual.distribution, actual.version, actual.provider):
        place = f"{member}: {stored.name}"
        verification.add(place, f"is {stored.about} in the record, and {actual.about} here")


def _compare(member: str, stored: Execution, actual: Execution, verification: Verification) -> None:
    place = f"{member}: {stored.case} ({stored.variant}) on {stored.target}"
    for name in _COMPARED:
        before, now = getattr(stored, name), getattr(actual, name)
        if before != now:
            verification.add(place, f"run again, {name}: {_text(now)}; the record has {_text(before)}")
            return


def _text(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {str(each)[:16]}" for name, each in value.items()) or "none"
    return ", ".join(map(str, value)) or "none" if isinstance(value, tuple) else str(value)
