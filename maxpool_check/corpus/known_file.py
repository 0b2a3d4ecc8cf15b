"""Reads files of known divergences."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import yaml

from maxpool_check.corpus.document import read
from maxpool_check.corpus.problems import CorpusError, Problem
from maxpool_check.corpus.schema import KNOWN_FILE
from maxpool_check.corpus.structure import Structure
from maxpool_check.judging.kinds import DivergenceKind
from maxpool_check.judging.known import KnownDivergence
from maxpool_check.judging.target_selector import TargetSelector
from maxpool_check.results.variants import ALL_VARIANTS, Variant, variant_named
from maxpool_check.specifications.attributes import nearest

_STRUCTURE = Structure(KNOWN_FILE)


def read_known(path: Path) -> list[KnownDivergence]:
    """The entries of one file. Raises :class:`CorpusError` with every problem."""
    document = read(path, str(path))
    found = list(_STRUCTURE.differences(document.data))
    problems = [document.problem(at, message, key=key) for at, key, message in found]
    entries: list[KnownDivergence] = []
    lines: dict[str, int] = {}
    known = document.data.get("known") if isinstance(document.data, dict) else None
    for number, fields in enumerate(known if isinstance(known, list) else []):
        at = ("known", number)
        if not isinstance(fields, dict):
            continue
        name = fields.get("id")
        if name in lines:
            problems.append(document.problem((*at, "id"), f"duplicate id '{name}', first on line {lines[name]}"))
        lines.setdefault(str(name), document.mark_of((*at, "id")).line)
        made: dict[str, Any] = {}
        for key, make in _MAKERS.items():
            if key in fields and not any(list(path[:3]) == [*at, key] for path, _, _ in found):
                try:
                    made[key] = make(fields[key])
                except ValueError as error:
                    problems.append(document.problem((*at, key), str(error)))
        if not problems:
            entries.append(KnownDivergence(**{**fields, **made}))
    if problems:
        raise CorpusError(problems)
    return entries


def read_all_known(paths: Sequence[Path]) -> list[KnownDivergence]:
    """The entries of several files; an id must be unique among them. Raises :class:`CorpusError`."""
    entries: list[KnownDivergence] = []
    problems: list[Problem] = []
    homes: dict[str, Path] = {}
    for path in paths:
        try:
            found = read_known(path)
        except CorpusError as error:
            problems.extend(error.problems)
            continue
        problems += [
            Problem(str(path), 1, 1, f"the id '{entry.id}' is also in {homes[entry.id]}")
            for entry in found
            if entry.id in homes
        ]
        homes.update((entry.id, path) for entry in found)
        entries += found
    if problems:
        raise CorpusError(problems)
    return entries


def _kinds(words: list[str]) -> frozenset[DivergenceKind]:
    known = [kind.value for kind in DivergenceKind]
    unknown = [f"unknown kind '{word}'{nearest(word, known)}" for word in words if word not in known]
    if unknown:
        raise ValueError("; ".join(unknown))
    return frozenset(map(DivergenceKind, words))


def _date(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError as error:
        raise ValueError(f"not a date: {error}") from error


_MAKERS: dict[str, Callable[[Any], Any]] = {
    "when": TargetSelector.parse,
    "cases": tuple,
    "kinds": _kinds,
    "variants": lambda words: frozenset(map(variant_named, words)),
    "expires": _date,
}
"""What becomes of the text of a field."""


def unmatched(entries: list[KnownDivergence], cases: list[str], path: Path) -> list[Problem]:
    """The patterns that name no case of a whole corpus: misspelt, or left behind."""
    document = read(path, str(path))
    return [
        document.problem(("known", number, "cases", i), f"'{pattern}' names no case")
        for number, entry in enumerate(entries)
        for i, pattern in enumerate(entry.cases)
        if not any(fnmatchcase(case, pattern) for case in cases)
    ]


@dataclass(frozen=True)
class Shown:
    """What a search found on one side of a release: the kinds of a case, asked one way, in ``releases``, all of ``within``.

    ``within`` is the bound of that side, ``<1.29.0`` or ``>=1.29.0``; ``others`` are the releases on the other side.
    """

    case: str
    variant: Variant
    kinds: tuple[DivergenceKind, ...]
    distribution: str
    provider: str
    releases: tuple[str, ...]
    others: tuple[str, ...]
    within: str

    def is_known_as(self, entry: KnownDivergence) -> bool:
        """Whether an entry expects it of the release next to the change."""
        nearest = self.releases[-1] if self.within.startswith("<") else self.releases[0]
        covered = entry.when.covers(self.distribution, nearest, self.provider)
        return covered and bool(self.kinds) and entry.expects(self.case, self.variant, self.kinds)


def narrow(path: Path, shown: Shown) -> list[str]:
    """Narrow the entries of a file that expect what was shown to the releases that show it.

    Nothing but their ``when`` is written anew, and nothing at all where that cannot be done safely. What was done, in
    words, for each of them.
    """
    with path.open(encoding="utf-8", newline="") as file:
        text = file.read()
    entries, nodes = read_known(path), _whens(text)
    said: list[str] = []
    changes: dict[int, TargetSelector] = {}
    for number, entry in enumerate(entries):
        if not shown.is_known_as(entry):
            continue
        if not any(entry.when.covers(shown.distribution, release, shown.provider) for release in shown.others):
            said.append(f"{entry.id} says so already: {entry.when}")
            continue
        when = entry.when.narrowed(shown.within, [*shown.releases, *shown.others])
        if nodes[number].style in ("|", ">") or sum(node is nodes[number] for node in nodes) > 1:
            said.append(f"{entry.id}: its 'when' is not a plain word of its own; make it '{when}' by hand")
            continue
        changes[number] = when
        others = " (it binds other cases too: run it on them)" if entry.cases != (shown.case,) else ""
        said.append(f"{entry.id}: when: {entry.when} is now {when} in {path}{others}")
    if changes and not _rewritten(path, text, entries, nodes, changes):
        return [f"{path} is written in a way that cannot be changed safely; narrow by hand: {'; '.join(said)}"]
    return said


def _rewritten(
    path: Path,
    text: str,
    entries: Sequence[KnownDivergence],
    nodes: Sequence[Any],
    changes: Mapping[int, TargetSelector],
) -> bool:
    """Write the new ``when`` of some entries in place of the old; False if anything else would change by it."""
    for number in sorted(changes, reverse=True):
        node = nodes[number]
        text = text[: node.start_mark.index] + json.dumps(str(changes[number])) + text[node.end_mark.index :]
    descriptor, name = tempfile.mkstemp(prefix=f"{path.name}.", dir=path.parent)
    new = Path(name)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8", newline="") as file:
            file.write(text)
        wanted = [replace(entry, when=changes.get(number, entry.when)) for number, entry in enumerate(entries)]
        if read_known(new) != wanted:
            return False
        new.chmod(path.stat().st_mode)
        new.replace(path)
    except CorpusError:
        return False
    finally:
        new.unlink(missing_ok=True)
    return True


def _whens(text: str) -> list[Any]:
    """The node of each entry's ``when``, with where it stands in the text."""
    file: Any = yaml.compose(text, yaml.SafeLoader)
    (known,) = [value for key, value in file.value if key.value == "known"]
    return [value for entry in known.value for key, value in entry.value if key.value == "when"]


def append(path: Path, entries: Sequence[KnownDivergence]) -> None:
    """Add entries at the end of a file, made if it is not there; what stands in it is left as it is.

    Raises :class:`CorpusError` where the file cannot be added to.
    """
    before = path.read_text(encoding="utf-8") if path.exists() else "known:\n"
    there = read_known(path) if path.exists() else []
    text = before.rstrip() + "\n" + "".join(f"\n{_written(entry)}" for entry in entries)
    descriptor, name = tempfile.mkstemp(prefix=f"{path.name}.", suffix=".yaml", dir=path.parent)
    new = Path(name)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        if read_known(new) != [*there, *entries]:
            message = (
                "entries cannot be added safely to the way this is written; end it with a plain list under 'known:'"
            )
            raise CorpusError([Problem(str(path), 1, 1, message)])
        new.chmod(path.stat().st_mode if path.exists() else 0o644)
        new.replace(path)
    finally:
        new.unlink(missing_ok=True)


def _written(entry: KnownDivergence) -> str:
    quoted = {"id": entry.id, "when": str(entry.when)}
    lines = [f"  {'-' if key == 'id' else ' '} {key}: {json.dumps(value)}" for key, value in quoted.items()]
    lines += ["    cases:", *(f"      - {json.dumps(case)}" for case in entry.cases)]
    lines.append(f"    kinds: [{', '.join(sorted(kind.value for kind in entry.kinds))}]")
    if entry.variants is not None:
        asked = [variant.name for variant in ALL_VARIANTS if variant in entry.variants]
        lines.append(f"    variants: [{', '.join(asked)}]")
    return "\n".join([*lines, f"    reason: {json.dumps(entry.reason, ensure_ascii=False)}"]) + "\n"
