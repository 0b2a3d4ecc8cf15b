"""Runs the cases of a bundle again on the same runtimes, in environments that are made anew, and compares the outputs by their digests."""

import contextlib
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping

from maxpool_check.corpus.case import Case
from maxpool_check.evidence.bundling.contents import Contents
from maxpool_check.evidence.verifying.findings import Verification
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
    with _fresh_cache():
        for each in contents.bundled:
            record = contents.records[each.name]
            for target in record.header.targets:
                done = _rerun(each.member, record, target, contents.cases, verification, seconds, progress, done)


@contextlib.contextmanager
def _fresh_cache() -> Iterator[None]:
    """Make all environments anew, in a temporary folder that is removed at the end."""
    with tempfile.TemporaryDirectory(prefix="maxpool-check-") as folder:
        before = os.environ.get("MAXPOOL_CHECK_CACHE")
        # A variable of the environment: processes that execute cases have the same cache.
        os.environ["MAXPOOL_CHECK_CACHE"] = folder
        try:
            yield
        finally:
            del os.environ["MAXPOOL_CHECK_CACHE"]
            if before is not None:
                os.environ["MAXPOOL_CHECK_CACHE"] = before


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
    with contextlib.closing(LocalExecutor(ExecutionConfig((name,), seconds, None, variants))) as executor:
        for error in executor.errors:
            verification.unchecked.append(f"{described.name} was not run again: {error}")
        for actual in executor.descriptions:
            _compare_targets(member, described, actual, verification)
        if not executor.descriptions:
            return done
        with verification.check(
            f"{described.name}, run again, returned the same in {plural(len(stored), 'execution')} by verdict and digest.",
            member,
        ):
            for results in executor.results(cases):
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
    here = _wheels(actual)
    for wheel, digest in _wheels(stored).items():
        # Where the machine is another one, the wheels are others.
        if here.get(wheel, digest) != digest:
            place = f"{member}: {stored.name}: {wheel}"
            verification.add(
                place, f"has the SHA-256 {digest} in the record, and {here[wheel]} where it was installed again"
            )


def _wheels(target: TargetDescription) -> dict[str, str]:
    """The digests of the wheels that the environments of a target were made of, as far as they are known, by file name."""
    return {
        each.wheel: each.wheel_sha256
        for environment in target.environments
        for each in environment.distributions
        if each.wheel is not None and each.wheel_sha256 is not None
    }


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
