"""Reads files of known divergences."""

from __future__ import annotations

from datetime import date
from fnmatch import fnmatchcase
from pathlib import Path

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
    problems = [document.problem(at, message, key=key) for at, key, message in differences(document.data, KNOWN_FILE)]
    if problems:
        raise CorpusError(problems)
    entries: list[KnownDivergence] = []
    lines: dict[str, int] = {}
    for number, fields in enumerate(document.data["known"]):
        at = ("known", number)
        name = fields["id"]
        if name in lines:
            problems.append(document.problem((*at, "id"), f"duplicate id '{name}', first on line {lines[name]}"))
        lines.setdefault(name, document.mark_of((*at, "id")).line)
        kinds = set()
        for i, word in enumerate(fields["kinds"]):
            try:
                kinds.add(Kind(word))
            except ValueError:
                guess = nearest(word, [kind.value for kind in Kind])
                problems.append(document.problem((*at, "kinds", i), f"unknown kind '{word}'{guess}"))
        try:
            when = When.parse(fields["when"])
        except ValueError as error:
            problems.append(document.problem((*at, "when"), str(error)))
            continue
        try:
            expires = date.fromisoformat(fields["expires"]) if "expires" in fields else None
        except ValueError as error:
            problems.append(document.problem((*at, "expires"), f"not a date: {error}"))
            continue
        questions = frozenset(map(Question, fields["questions"])) if "questions" in fields else None
        entries.append(
            KnownDivergence(
                id=name,
                when=when,
                cases=tuple(fields["cases"]),
                kinds=frozenset(kinds),
                reason=fields["reason"],
                issue=fields.get("issue"),
                expires=expires,
                questions=questions,
            )
        )
    if problems:
        raise CorpusError(problems)
    return entries


def unmatched(entries: list[KnownDivergence], cases: list[str], path: Path) -> list[Problem]:
    """The patterns that name no case of a whole corpus: misspelt, or left behind."""
    document = read(path, str(path))
    return [
        document.problem(("known", number, "cases", i), f"'{pattern}' names no case")
        for number, entry in enumerate(entries)
        for i, pattern in enumerate(entry.cases)
        if not any(fnmatchcase(case, pattern) for case in cases)
    ]
