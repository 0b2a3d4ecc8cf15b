"""What has changed: from one bundle to another, and from a bundle to its runtimes, when its cases are run again."""

import contextlib
import os
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

import msgspec
import yaml

from maxpool_check.comparing.transitions import UNOBSERVABLE, Change, Transition, Transitions
from maxpool_check.corpus.collection import Corpus
from maxpool_check.evidence.bundling.contents import Contents, names_with
from maxpool_check.evidence.bundling.record_check import Verification
from maxpool_check.results.record import Line, Record, TargetDescription
from maxpool_check.results.storage import record_of
from maxpool_check.results.variants import variant_named
from maxpool_check.running.run import RunPlan, run
from maxpool_check.targets.name import BadTarget, parse
from maxpool_check.words import plural

_SHOWN = ("tool", "editions", "environments")
"""The parts of which both values are shown; of the others, what has changed is in the bundles."""


def differences(old: Contents, new: Contents) -> dict[str, list[str]]:
    """What has changed in words, by part of a bundle; a part without a change is left out.

    Targets of one name are compared, and those that are the only ones of their runtime in each bundle.
    """
    before, after, parts = _facts(old, new), _facts(new, old), dict[str, list[str]]()
    for part in before:
        lines = []
        for name in dict.fromkeys([*before[part], *after[part]]):
            was, now = before[part].get(name), after[part].get(name)
            if was != now:
                what = "added" if was is None else "removed" if now is None else "changed"
                lines.append(f"{name}: {was} -> {now}" if part in _SHOWN else f"{what}: {name}")
        parts[part] = lines
    return {part: lines for part, lines in {**parts, "results": list(_results(old, new))}.items() if lines}


def _facts(contents: Contents, other: Contents) -> dict[str, dict[str, Any]]:
    """What a bundle says besides results, by part and name; of a target that the ``other`` has not, its name alone."""
    members, environments = contents.members, dict[str, Any]()
    editions = [record.header.editions for record in contents.records.values()]
    clauses, kills = dict[str, Any](), dict[str, Any]()
    # What is not what a build writes says nothing.
    with contextlib.suppress(ValueError, yaml.YAMLError, RecursionError, AttributeError, TypeError, KeyError):
        files = [part for name in names_with(members, "clauses/") for part in _yaml(members[name])]
        clauses = {str(each["id"]): each for file in files for each in file.get("clauses", ())}
        noticed = msgspec.json.decode(members["kills.json"])["clauses"].items()
        kills = {f"{clause} notices {each}": True for clause, kernels in noticed for each in kernels if kernels[each]}
    others = _targets(other, contents)
    for label, (_, target) in _targets(contents, other).items():
        environments[label] = "there"
        if label in others:
            facts = msgspec.to_builtins(target)
            for number, environment in enumerate(facts.pop("environments"), 1):
                facts |= {each.pop("name"): each for each in environment.pop("distributions")}
                facts[f"environment {number}"] = environment
            environments |= {f"{label}: {name}": fact for name, fact in facts.items()}
    return {
        "tool": msgspec.to_builtins(contents.description.tool),
        "editions": {name: str(edition) for each in editions for name, edition in each.items()},
        "clauses": clauses,
        "cases": {case.id: case.sha256 for case in contents.cases.values()},
        "known defects": {defect.id: defect for defect in contents.defects},
        "kills": kills,
        "environments": environments,
        "runs": {
            label: (record.footer.errors, record.footer.exit_code, record.header.settings)
            for label, (record, _) in _targets(contents, other).items()
            if record.footer is not None
        },
    }


def _yaml(text: bytes) -> Iterable[Any]:
    """The documents of a text without aliases, which a few lines could make endless. Raises ``ValueError``."""
    if any(isinstance(token, yaml.AliasToken) for token in yaml.scan(text)):
        raise ValueError("it has aliases")
    return yaml.safe_load_all(text)


def _targets(contents: Contents, other: Contents) -> dict[str, tuple[Record, TargetDescription]]:
    """The targets with their records, by their names; the only other one of a runtime as ``another RUNTIME``."""
    named, others = (
        {target.name: (record, target) for record in each.records.values() for target in record.header.targets}
        for each in (contents, other)
    )
    counts = Counter(target.distribution for name, (_, target) in named.items() if name not in others)
    alone = {name for name, (_, target) in named.items() if name not in others and counts[target.distribution] == 1}
    return {f"another {pair[1].distribution}" if name in alone else name: pair for name, pair in named.items()}


def _results(old: Contents, new: Contents) -> Iterator[str]:
    before, after = _targets(old, new), _targets(new, old)
    for label in (each for each in before if each in after):
        (was, old_target), (now, new_target) = before[label], after[label]
        title = " -> ".join(dict.fromkeys((old_target.name, new_target.name)))
        # Cases that have changed are among the cases.
        changed = list(_observed(was, now, (old_target.name, new_target.name), intersection=True))
        counts = Counter(each.change for each in changed)
        if counts:
            yield f"{title}: {', '.join(f'{counts[each]} {each.value}' for each in Change if counts[each])}"
        for each in sorted(changed, key=lambda each: [*Change].index(each.change)):
            verdicts = " -> ".join(dict.fromkeys(_verdicts(each)))
            place = f"{each.execution.case} ({each.execution.variant})"
            yield f"{title}: {each.change.value}: {place}: {verdicts}"


def _observed(old: Record, new: Record, names: tuple[str, str], *, intersection: bool = False) -> Iterator[Transition]:
    changes = Transitions(old, new, names, intersection=intersection)
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
