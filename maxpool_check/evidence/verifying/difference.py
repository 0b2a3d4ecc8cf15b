"""What has changed from one bundle to another."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec
import yaml

from maxpool_check.comparing.transitions import UNOBSERVABLE, Change, change
from maxpool_check.evidence.bundling.archive import decompressed
from maxpool_check.evidence.bundling.bundle import CLAUSES, KILLS
from maxpool_check.evidence.bundling.contents import Contents
from maxpool_check.results.record import Execution, Record, TargetDescription

Differences = dict[str, list[str]]
"""By part of a bundle, what has changed in it, in words."""


@dataclass(frozen=True)
class BundleSide:
    """One of two bundles: its members and what is in the primary ones."""

    members: Mapping[str, bytes]
    contents: Contents


def differences(old: BundleSide, new: BundleSide) -> Differences:
    """What has changed, by part; a part without a change is left out."""
    before, after = old.contents, new.contents
    parts = {
        "tool": _fields(msgspec.to_builtins(before.description.tool), msgspec.to_builtins(after.description.tool)),
        "editions": _fields(_editions(before), _editions(after)),
        "clauses": _named(_clauses(old.members), _clauses(new.members)),
        "cases": _named(
            {case.id: case.sha256 for case in before.cases.values()},
            {case.id: case.sha256 for case in after.cases.values()},
        ),
        "known defects": _named(_defects(before), _defects(after)),
        "kills": _kills(_document(old.members, KILLS), _document(new.members, KILLS)),
        "environments": _environments(before, after),
        "results": _results(before, after),
    }
    return {part: found for part, each in parts.items() if (found := list(each))}


def _fields(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[str]:
    for name in dict.fromkeys([*old, *new]):
        if old.get(name) != new.get(name):
            yield f"{name}: {_text(old.get(name))} -> {_text(new.get(name))}"


def _named(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[str]:
    """What is added, removed or changed of things with names."""
    yield from (f"removed: {name}" for name in old if name not in new)
    yield from (f"added: {name}" for name in new if name not in old)
    yield from (f"changed: {name}" for name in old if name in new and old[name] != new[name])


def _text(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {each}" for name, each in value.items())
    return "none" if value is None else str(value)


def _editions(contents: Contents) -> dict[str, str]:
    headers = [record.header for record in contents.records.values()]
    return {name: str(edition) for header in headers for name, edition in header.editions.items()}


def _clauses(members: Mapping[str, bytes]) -> dict[str, Any]:
    """The clauses by id, as they are written."""
    files = [yaml.safe_load(content) for name, content in members.items() if name.startswith(CLAUSES)]
    return {
        str(clause["id"]): clause
        for file in files
        if isinstance(file, dict) and isinstance(file.get("clauses"), list)
        for clause in file["clauses"]
        if isinstance(clause, dict) and "id" in clause
    }


def _defects(contents: Contents) -> dict[str, Any]:
    return {defect.id: defect for defect in contents.defects}


def _document(members: Mapping[str, bytes], name: str) -> Any:
    content = members.get(name) or (decompressed(name, members[f"{name}.gz"]) if f"{name}.gz" in members else b"{}")
    return msgspec.json.decode(content)


def _kills(old: Any, new: Any) -> Iterator[str]:
    """The clauses whose cases notice other wrong kernels."""
    before, after = (
        each.get("clauses", {}) if isinstance(each, dict) and isinstance(each.get("clauses"), dict) else {}
        for each in (old, new)
    )
    for clause in dict.fromkeys([*before, *after]):
        noticed = [{kernel for kernel, cases in side.get(clause, {}).items() if cases} for side in (before, after)]
        yield from (f"lost: {clause} no longer notices {kernel}" for kernel in sorted(noticed[0] - noticed[1]))
        yield from (f"won: {clause} notices {kernel}" for kernel in sorted(noticed[1] - noticed[0]))


def _targets(contents: Contents) -> dict[str, tuple[Record, TargetDescription]]:
    return {target.name: (record, target) for record in contents.records.values() for target in record.header.targets}


def _pairs(old: Contents, new: Contents) -> list[tuple[str | None, str | None]]:
    """The targets to compare: those of one name, and those that are the only other ones of their runtime."""
    before, after = _targets(old), _targets(new)
    pairs: list[tuple[str | None, str | None]] = [(name, name) for name in before if name in after]
    removed, added = (
        {name: side[name] for name in side if name not in other} for side, other in ((before, after), (after, before))
    )
    for name, (_, target) in list(removed.items()):
        alike = [other for other, (_, each) in added.items() if each.distribution == target.distribution]
        others = [other for other, (_, each) in removed.items() if each.distribution == target.distribution]
        if len(alike) == len(others) == 1:
            pairs.append((name, alike[0]))
            del removed[name], added[alike[0]]
    return [*pairs, *((name, None) for name in removed), *((None, name) for name in added)]


def _environments(old: Contents, new: Contents) -> Iterator[str]:
    before, after = _targets(old), _targets(new)
    for name, other in _pairs(old, new):
        if name is None or other is None:
            yield f"removed: {name}" if name is not None else f"added: {other}"
            continue
        title = name if name == other else f"{name} -> {other}"
        descriptions = [msgspec.to_builtins(each) for each in (before[name][1], after[other][1])]
        for description in descriptions:
            for environment in description.get("environments", ()):
                for each in environment.get("distributions", ()):
                    description[f"{each.get('name')}"] = {key: value for key, value in each.items() if key != "name"}
            description.pop("environments", None)
            description.pop("name", None)
        yield from (f"{title}: {line}" for line in _fields(*descriptions))


def _results(old: Contents, new: Contents) -> Iterator[str]:
    before, after = _targets(old), _targets(new)
    for name, other in _pairs(old, new):
        if name is None or other is None:
            continue
        title = name if name == other else f"{name} -> {other}"
        sides = [_executions(record, target) for (record, target) in (before[name], after[other])]
        keys = dict.fromkeys([*sides[0], *sides[1]])
        changes = {key: change(sides[0].get(key), sides[1].get(key)) for key in keys}
        counts = Counter(changes.values())
        observable = [each for each in Change if each not in UNOBSERVABLE and counts[each]]
        if observable:
            yield f"{title}: {', '.join(f'{counts[each]} {each.value}' for each in observable)}"
        for kind in observable:
            for (case, variant), each in changes.items():
                if each is kind:
                    yield f"{title}: {kind.value}: {case} ({variant}){_verdicts(*(side.get((case, variant)) for side in sides))}"


def _executions(record: Record, target: TargetDescription) -> dict[tuple[str, str], Execution]:
    return {(each.case, each.variant): each for each in record.executions if each.target == target.name}


def _verdicts(old: Execution | None, new: Execution | None) -> str:
    names = [each.verdict.value if each is not None else "none" for each in (old, new)]
    return f": {' -> '.join(names)}" if names[0] != names[1] else ""
