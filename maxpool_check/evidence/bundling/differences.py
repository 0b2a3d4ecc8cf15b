"""What has changed: from one bundle to another, and from a bundle to its runtimes, when its cases are run again."""

import contextlib
import os
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import msgspec
import yaml

from maxpool_check.comparing.transitions import UNOBSERVABLE, Change, Transitions
from maxpool_check.corpus.collection import Corpus
from maxpool_check.evidence.bundling.contents import Contents, names_with
from maxpool_check.evidence.bundling.record_check import Verification
from maxpool_check.results.record import Line, Record, TargetDescription
from maxpool_check.results.storage import record_of
from maxpool_check.results.variants import variant_named
from maxpool_check.running.decisions import RunPlan
from maxpool_check.running.run import run
from maxpool_check.targets.name import BadTarget, parse
from maxpool_check.words import plural

Differences = dict[str, list[str]]
"""By part of a bundle, what has changed in it, in words."""


_SHOWN = ("tool", "editions", "environments")
"""The parts of which both values are shown; of the others, what has changed is in the bundles."""


def differences(old: Contents, new: Contents) -> Differences:
    """What has changed, by part; a part without a change is left out.

    Targets of one name are compared, and those that are the only ones of their runtime in each bundle.
    """
    before, after = _facts(old, new), _facts(new, old)
    parts = {part: list(_changes(before[part], after[part], shows=part in _SHOWN)) for part in before}
    return {part: changes for part, changes in {**parts, "results": list(_results(old, new))}.items() if changes}


def _facts(contents: Contents, other: Contents) -> dict[str, dict[str, Any]]:
    """What a bundle says besides results, by part and name; of a target that the ``other`` has not, its name alone."""
    members, environments = contents.members, dict[str, Any]()
    editions = [record.header.editions for record in contents.records.values()]
    files = [yaml.safe_load(members[name]) for name in names_with(members, "clauses/")]
    clauses = [file["clauses"] for file in files if isinstance(file, dict) and isinstance(file.get("clauses"), list)]
    for label, (_, target) in _targets(contents, other).items():
        environments[label] = "there"
        if label not in _targets(other, contents):
            continue
        described = msgspec.to_builtins(target)
        parts = [each for environment in described.pop("environments") for each in environment["distributions"]]
        facts = {**described, **{each.pop("name"): each for each in parts}}
        environments |= {f"{label}: {name}": fact for name, fact in facts.items()}
    return {
        "tool": msgspec.to_builtins(contents.description.tool),
        "editions": {name: str(edition) for each in editions for name, edition in each.items()},
        "clauses": {
            str(each["id"]): each for file in clauses for each in file if isinstance(each, dict) and "id" in each
        },
        "cases": {case.id: case.sha256 for case in contents.cases.values()},
        "known defects": {defect.id: defect for defect in contents.defects},
        "kills": dict.fromkeys(_noticed(members.get("kills.json", b"{}")), True),
        "environments": environments,
    }


def _noticed(kills: bytes) -> Iterator[str]:
    """The wrong kernels that cases of each clause notice; none if the member is not what a build writes."""
    with contextlib.suppress(msgspec.MsgspecError, RecursionError, UnicodeDecodeError, AttributeError, TypeError):
        for clause, kernels in msgspec.json.decode(kills).get("clauses", {}).items():
            yield from (f"{clause} notices {kernel}" for kernel, cases in kernels.items() if cases)


def _changes(old: Mapping[str, Any], new: Mapping[str, Any], *, shows: bool) -> Iterator[str]:
    """What is added, removed or changed of things with names; or what each of them was and is."""
    for name in dict.fromkeys([*old, *new]):
        if old.get(name) != new.get(name):
            what = "removed" if name not in new else "added" if name not in old else "changed"
            yield f"{name}: {_text(old.get(name))} -> {_text(new.get(name))}" if shows else f"{what}: {name}"


def _text(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {each}" for name, each in value.items())
    return "none" if value is None else str(value)


def _targets(contents: Contents, other: Contents) -> dict[str, tuple[Record, TargetDescription]]:
    """The targets with their records, by their names; the only other one of a runtime as ``another RUNTIME``."""
    named, others = (
        {target.name: (record, target) for record in each.records.values() for target in record.header.targets}
        for each in (contents, other)
    )
    counts = Counter(target.distribution for name, (_, target) in named.items() if name not in others)
    is_alone = {name for name, (_, target) in named.items() if name not in others and counts[target.distribution] == 1}
    return {f"another {pair[1].distribution}" if name in is_alone else name: pair for name, pair in named.items()}


def _results(old: Contents, new: Contents) -> Iterator[str]:
    before, after = _targets(old, new), _targets(new, old)
    for label in (each for each in before if each in after):
        (was, old_target), (now, new_target) = before[label], after[label]
        title = " -> ".join(dict.fromkeys((old_target.name, new_target.name)))
        # Cases that have changed are among the cases.
        found = list(Transitions(was, now, (old_target.name, new_target.name), intersection=True))
        counts = Counter(each.change for each in found)
        observable = [each for each in Change if each not in UNOBSERVABLE and counts[each]]
        if observable:
            yield f"{title}: {', '.join(f'{counts[each]} {each.value}' for each in observable)}"
        for each in sorted(found, key=lambda each: [*Change].index(each.change)):
            if each.change not in UNOBSERVABLE:
                verdicts = dict.fromkeys(side.verdict.value if side else "none" for side in (each.old, each.new))
                place = f"{each.execution.case} ({each.execution.variant})"
                changed = f": {' -> '.join(verdicts)}" if len(verdicts) > 1 else ""
                yield f"{title}: {each.change.value}: {place}{changed}"


def cases_to_run(contents: Contents) -> int:
    """The number of cases that :func:`rerun` runs, each counted for every target."""
    return sum(record.header.cases * len(record.header.targets) for record in contents.records.values())


def rerun(
    contents: Contents, verification: Verification, seconds: float, progress: Callable[[int], None] = lambda _: None
) -> None:
    """Run all cases of the records again, and add what differs; ``progress`` gets the number of cases that are done.

    The environments of the runtimes are made anew, in a temporary folder.
    """
    done, before = 0, os.environ.get("MAXPOOL_CHECK_CACHE")
    with tempfile.TemporaryDirectory(prefix="maxpool-check-") as folder:
        # A variable of the environment: processes that execute cases have the same cache.
        os.environ["MAXPOOL_CHECK_CACHE"] = folder
        try:
            for member, record in contents.records.items():
                for target in record.header.targets:
                    if (why := _why_not(target)) is not None:
                        verification.unchecked.append(f"{target.name} was not run again: {why}")
                        continue
                    again = _again(contents, record, target, seconds, partial(lambda a, b: progress(a + b), done))
                    _compare(member, record, again, target, verification)
                    done += record.header.cases
        finally:
            del os.environ["MAXPOOL_CHECK_CACHE"]
            if before is not None:
                os.environ["MAXPOOL_CHECK_CACHE"] = before


def _why_not(target: TargetDescription) -> str | None:
    """Why a target is not run because of a file that somebody has sent: only releases of runtimes are, and no programs."""
    try:
        name = parse(target.name)
    except BadTarget as error:
        return str(error)
    options = {**name.options, **(name.tool.options if name.tool is not None else {})}
    is_release = name.is_released and "python" not in options
    return None if is_release else "it is a program of the machine that made the record, and no release"


def _again(
    contents: Contents, record: Record, target: TargetDescription, seconds: float, progress: Callable[[int], None]
) -> Record:
    """The record of another run of the cases of a record on one of its targets."""
    executed = dict.fromkeys(execution.case for execution in record.executions)
    cases = [contents.cases[case] for case in executed if case in contents.cases]
    variants = frozenset(map(variant_named, record.header.effective_settings.variants))
    lines: list[Line] = []
    run(
        RunPlan(Corpus(cases, (), whole=False), cases, [parse(target.name)], seconds=seconds, variants=variants),
        lines.append,
        progress,
    )
    return record_of(lines)


def _compare(member: str, record: Record, again: Record, target: TargetDescription, verification: Verification) -> None:
    """Add what is not the same in another run of a target."""
    for error in again.footer.errors if again.footer is not None else ():
        verification.unchecked.append(f"{target.name} was not run again: {error}")
    for actual in again.header.targets:
        if (target.distribution, target.version, target.provider) != (
            actual.distribution,
            actual.version,
            actual.provider,
        ):
            verification.add(f"{member}: {target.name}", f"is {target.about} in the record, and {actual.about} here")
        here = _wheels(actual)
        for wheel, digest in _wheels(target).items():
            # Where the machine is another one, the wheels are others.
            if here.get(wheel, digest) != digest:
                text = f"has the SHA-256 {digest} in the record, and {here[wheel]} where it was installed again"
                verification.add(f"{member}: {target.name}: {wheel}", text)
        own = sum(execution.target == target.name for execution in record.executions)
        sentence = f"returned the same in {plural(own, 'execution')} by verdict and digest."
        with verification.check(f"{target.name}, run again, {sentence}", member):
            for each in Transitions(record, again, (target.name, actual.name)):
                if each.change in UNOBSERVABLE:
                    continue
                verdicts = [str(side.verdict) if side is not None else "none" for side in (each.old, each.new)]
                text = f"verdict: {verdicts[1]}; the record has {verdicts[0]}"
                if verdicts[0] == verdicts[1]:
                    text = f"it is {each.change.value}: the same verdict, {verdicts[0]}, with other outputs or kinds"
                place = f"{member}: {each.execution.case} ({each.execution.variant}) on {target.name}"
                verification.add(place, f"run again, {text}")


def _wheels(target: TargetDescription) -> dict[str, str]:
    """The digests of the wheels that the environments of a target were made of, as far as they are known, by file name."""
    return {
        each.wheel: each.wheel_sha256
        for environment in target.environments
        for each in environment.distributions
        if each.wheel is not None and each.wheel_sha256 is not None
    }
