"""Reads files of known divergences."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from datetime import date
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import yaml
from packaging.utils import canonicalize_name

from maxpool_check.corpus.document import read
from maxpool_check.corpus.problems import CorpusError, Problem
from maxpool_check.corpus.schema import KNOWN_FILE
from maxpool_check.corpus.structure import differences
from maxpool_check.judging.kinds import Kind
from maxpool_check.judging.known import KnownDivergence, When
from maxpool_check.question import Question
from maxpool_check.specifications.attributes import nearest


def read_known(path: Path) -> list[KnownDivergence]:
    """The entries of one file. Raises :class:`CorpusError` with every problem."""
    document = read(path, str(path))
    found = list(differences(document.data, KNOWN_FILE))
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


def _kinds(words: list[str]) -> frozenset[Kind]:
    known = [kind.value for kind in Kind]
    unknown = [f"unknown kind '{word}'{nearest(word, known)}" for word in words if word not in known]
    if unknown:
        raise ValueError("; ".join(unknown))
    return frozenset(map(Kind, words))


def _date(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError as error:
        raise ValueError(f"not a date: {error}") from error


_MAKERS: dict[str, Callable[[Any], Any]] = {
    "when": When.parse,
    "cases": tuple,
    "kinds": _kinds,
    "questions": lambda words: frozenset(map(Question, words)),
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


def narrowed(
    path: Path, case: str, question: str, distribution: str, kinds: Sequence[str], specifier: str
) -> list[str]:
    """Narrow the entries of a file that expect these kinds of a case to the versions of a specifier, ``<1.29.0``.

    Nothing but their ``when`` is written anew. What was done, in words, for each of them.
    """
    text = path.read_text(encoding="utf-8")
    entries = read_known(path)
    said: list[str] = []
    places: list[tuple[int, int, str]] = []
    for entry, place in zip(entries, _places(text), strict=True):
        about = entry.when.distribution == canonicalize_name(distribution) and entry.expects(
            case, Question(question), [Kind(kind) for kind in kinds]
        )
        if not kinds or not about:
            continue
        when = entry.when.narrowed(specifier)
        if when == entry.when:
            said.append(f"{entry.id} says so already: {entry.when}")
            continue
        places.append((*place, str(when)))
        others = " (it binds other cases too: run it on them)" if entry.cases != (case,) else ""
        said.append(f"{entry.id}: when: {entry.when} is now {when} in {path}{others}")
    for start, end, new in reversed(places):
        text = text[:start] + json.dumps(new) + text[end:]
    if places:
        path.write_text(text, encoding="utf-8")
    return said


def _places(text: str) -> list[tuple[int, int]]:
    """Where the ``when`` of each entry stands: from its first character to behind its last."""
    file: Any = yaml.compose(text, yaml.SafeLoader)
    (known,) = [value for key, value in file.value if key.value == "known"]
    whens = [value for entry in known.value for key, value in entry.value if key.value == "when"]
    return [(when.start_mark.index, when.end_mark.index) for when in whens]
