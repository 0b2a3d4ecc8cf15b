"""Reads and edits files of known divergences."""

import json
import os
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import date
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import yaml

from maxpool_check import inert
from maxpool_check.corpus.document import read
from maxpool_check.corpus.problems import CorpusError, Problem, Structure
from maxpool_check.corpus.schema import KNOWN_FILE
from maxpool_check.files import named
from maxpool_check.judging.kinds import DivergenceKind
from maxpool_check.judging.known import KnownDivergence, TargetSelector
from maxpool_check.results.variants import ALL_VARIANTS, Variant, variant_named
from maxpool_check.specifications.specification import nearest

_STRUCTURE = Structure(KNOWN_FILE)


def read_known(path: Path) -> list[KnownDivergence]:
    """The entries of one file. Raises :class:`CorpusError` with every problem."""
    document = read(path)
    mistakes = list(_STRUCTURE.mistakes(document.data))
    problems = [document.problem(at, message, key=key) for at, key, message in mistakes]
    wrong = {tuple(at[:3]) for at, _, _ in mistakes}
    entries: list[KnownDivergence] = []
    lines: dict[str, int] = {}
    known = document.data.get("known") if isinstance(document.data, dict) else None
    for number, fields in enumerate(known if isinstance(known, list) else []):
        if not isinstance(fields, dict):
            continue
        name, at_id = str(fields.get("id")), ("known", number, "id")
        if name in lines:
            problems.append(document.problem(at_id, f"duplicate id '{name}', first on line {lines[name]}"))
        lines.setdefault(name, document.mark_of(at_id).line)
        parsed: dict[str, Any] = {}
        for key, parse in _PARSERS.items():
            if key in fields and ("known", number, key) not in wrong:
                try:
                    parsed[key] = parse(fields[key])
                except ValueError as error:
                    problems.append(document.problem(("known", number, key), str(error)))
        if not problems:
            entries.append(KnownDivergence(**{**fields, **parsed}))
    if problems:
        raise CorpusError(problems)
    return entries


def read_all_known(paths: Sequence[Path]) -> list[KnownDivergence]:
    """The entries of several files, with unique ids. Raises :class:`CorpusError`."""
    entries: dict[str, KnownDivergence] = {}
    problems: list[Problem] = []
    files: dict[str, Path] = {}
    for path in paths:
        try:
            new = {entry.id: entry for entry in read_known(path)}
        except CorpusError as error:
            problems += error.problems
            continue
        twice = [name for name in new if name in files]
        problems += [Problem(str(path), 1, 1, f"the id '{name}' is also used in {files[name]}") for name in twice]
        files |= dict.fromkeys(new, path)
        entries |= new
    if problems:
        raise CorpusError(problems)
    return list(entries.values())


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


_PARSERS: dict[str, Callable[[Any], Any]] = {
    "when": TargetSelector.parse,
    "cases": tuple,
    "kinds": _kinds,
    "variants": lambda words: frozenset(map(variant_named, words)),
    "expires": _date,
}
"""How the text of a field becomes its value."""


def unmatched(entries: list[KnownDivergence], cases: list[str], path: Path) -> list[Problem]:
    """The patterns that match no case of a whole corpus: misspelt, or outdated."""
    document = read(path)
    return [
        document.problem(("known", number, "cases", i), f"'{pattern}' names no case")
        for number, entry in enumerate(entries)
        for i, pattern in enumerate(entry.cases)
        if not any(fnmatchcase(case, pattern) for case in cases)
    ]


@dataclass(frozen=True)
class KnownRange:
    """The kinds that one variant of a case shows in all ``releases`` on one side of a change.

    ``bound`` is the bound of that side, ``<1.29.0`` or ``>=1.29.0``; ``other_releases`` are those on the other side.
    """

    case: str
    variant: Variant
    kinds: tuple[DivergenceKind, ...]
    distribution: str
    provider: str
    releases: tuple[str, ...]
    other_releases: tuple[str, ...]
    bound: str

    def matches(self, entry: KnownDivergence) -> bool:
        """Whether an entry expects these kinds of the release next to the change."""
        nearest = self.releases[-1] if self.bound.startswith("<") else self.releases[0]
        covered = entry.when.covers(self.distribution, nearest, self.provider)
        return covered and bool(self.kinds) and entry.expects(self.case, self.variant, self.kinds)


def narrow(path: Path, known: KnownRange) -> list[str]:
    """Restrict the matching entries of a file to the releases of a range; a message for each of them.

    Only their ``when`` is rewritten. The file is not changed if that cannot be done safely.
    """
    entries = read_known(path)
    with path.open(encoding="utf-8", newline="") as file:
        text = file.read()
    nodes = _whens(text)
    messages: list[str] = []
    changes: dict[int, TargetSelector] = {}
    for number, entry in enumerate(entries):
        if not known.matches(entry):
            continue
        if not any(entry.when.covers(known.distribution, release, known.provider) for release in known.other_releases):
            messages.append(f"{entry.id} needs no change: {entry.when}")
            continue
        when = entry.when.narrowed(known.bound, [*known.releases, *known.other_releases])
        if nodes[number].style in ("|", ">") or sum(node is nodes[number] for node in nodes) > 1:
            messages.append(f"{entry.id}: its 'when' cannot be rewritten safely; change it to '{when}' by hand")
            continue
        changes[number] = when
        warning = " (the entry covers other cases too: run them)" if entry.cases != (known.case,) else ""
        messages.append(f"{entry.id}: when: {entry.when} is now {when} in {path}{warning}")
    for number in sorted(changes, reverse=True):
        node = nodes[number]
        text = text[: node.start_mark.index] + json.dumps(str(changes[number])) + text[node.end_mark.index :]
    expected = [replace(entry, when=changes.get(number, entry.when)) for number, entry in enumerate(entries)]
    if changes and not _replace(path, text, expected):
        return [f"{path} cannot be changed safely; narrow by hand: {'; '.join(messages)}"]
    return messages


def _replace(path: Path, text: str, expected: Sequence[KnownDivergence]) -> bool:
    """Replace a file by a text that is read as these entries; False, and no change, if it is not."""
    descriptor, name = tempfile.mkstemp(prefix=f"{path.name}.", dir=path.parent)
    new = Path(name)
    try:
        with named(path), os.fdopen(descriptor, "w", encoding="utf-8", newline="") as file:
            file.write(text)
        if read_known(new) != expected:
            return False
        new.chmod(path.stat().st_mode if path.exists() else 0o644)
        new.replace(path)
    except CorpusError:
        return False
    finally:
        new.unlink(missing_ok=True)
    return True


def _whens(text: str) -> list[Any]:
    """The YAML node of each entry's ``when``, with its place in the text."""
    file: Any = yaml.compose(text, yaml.SafeLoader)
    (known,) = [value for key, value in file.value if key.value == "known"]
    return [value for entry in known.value for key, value in entry.value if key.value == "when"]


def append(path: Path, entries: Sequence[KnownDivergence]) -> None:
    """Add entries at the end of a file, which is created if it does not exist. Existing text is not changed.

    Raises :class:`CorpusError` if entries cannot be added to the file.
    """
    existing = read_known(path) if path.exists() else []
    before = path.read_text(encoding="utf-8") if path.exists() else "known:\n"
    text = before.rstrip() + "\n" + "".join(f"\n{_entry_text(entry)}" for entry in entries)
    if not _replace(path, text, [*existing, *entries]):
        message = "entries cannot be added safely to this file; end it with a block list under 'known:'"
        raise CorpusError([Problem(str(path), 1, 1, message)])


def _entry_text(entry: KnownDivergence) -> str:
    lines = [f"  - id: {json.dumps(entry.id)}", f"    when: {json.dumps(str(entry.when))}", "    cases:"]
    lines += [f"      - {json.dumps(case)}" for case in entry.cases]
    lines.append(f"    kinds: [{', '.join(sorted(kind.value for kind in entry.kinds))}]")
    if entry.variants is not None:
        names = [variant.name for variant in ALL_VARIANTS if variant in entry.variants]
        lines.append(f"    variants: [{', '.join(names)}]")
    return "\n".join([*lines, f"    reason: {inert.line(json.dumps(entry.reason, ensure_ascii=False))}"]) + "\n"
