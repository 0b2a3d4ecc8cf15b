"""Files of changes that a user has accepted, in YAML: reads them, and adds to them."""

from collections.abc import Callable, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

from maxpool_check.comparing.acceptance import AcceptedChange
from maxpool_check.comparing.changes import UNOBSERVABLE, Change
from maxpool_check.corpus.document import Document, read
from maxpool_check.corpus.editing import EditedFile, on_one_line
from maxpool_check.corpus.problems import CorpusError, Problem, Structure
from maxpool_check.corpus.schema import read_schema
from maxpool_check.judging.kinds import DivergenceKind
from maxpool_check.judging.target_selector import TargetSelector
from maxpool_check.specifications.specification import nearest
from maxpool_check.targets.runtimes import RUNTIMES, TOOLS

SCHEMA: dict[str, Any] = read_schema(
    Path(__file__).with_name("accepted.schema.json"),
    changes=[change.value for change in Change if change not in UNOBSERVABLE],
)
"""The published schema of a file of accepted changes."""

_STRUCTURE = Structure(SCHEMA)
_EMPTY = "accepted: []\n"


def read_accepted(path: Path) -> list[AcceptedChange]:
    """The accepted changes of a file. Raises :class:`CorpusError` with every problem."""
    document = read(path)
    mistakes = list(_STRUCTURE.mistakes(document.data))
    problems = [document.problem(tuple(at), message, key=key) for at, key, message in mistakes]
    if problems:
        raise CorpusError(problems)
    accepted = [_entry(document, number, fields, problems) for number, fields in enumerate(document.data["accepted"])]
    if problems:
        raise CorpusError(problems)
    return [each for each in accepted if each is not None]


def add_accepted(path: Path, entries: Sequence[AcceptedChange]) -> None:
    """Add entries to a file, which is created if it does not exist; its comments stay.

    Raises :class:`CorpusError` if they cannot be added to the file.
    """
    expected = [*(_fields(each) for each in (read_accepted(path) if path.exists() else [])), *map(_fields, entries)]
    file = EditedFile(path, _EMPTY)
    for entry in entries:
        file.append("accepted", _fields(entry))
    if not file.replace(lambda new: [_fields(each) for each in read_accepted(new)] == expected):
        message = "nothing can be added safely to this file; end it with a block list under 'accepted:'"
        raise CorpusError([Problem(str(path), 1, 1, message)])


def _entry(
    document: Document, number: int, fields: Mapping[str, Any], problems: list[Problem]
) -> AcceptedChange | None:
    def parsed(key: str, parse: Callable[[Any], Any], default: Any = None) -> Any:
        try:
            return parse(fields.get(key, default))
        except ValueError as error:
            problems.append(document.problem(("accepted", number, key), str(error)))
            return None

    when = parsed("runtime", _runtime)
    if when is not None:
        when = parsed("versions", lambda versions: TargetSelector.of(fields["runtime"], versions), "")
    kinds, expires = parsed("kinds", _kinds), parsed("expires", _date)
    if when is None or expires is None:
        return None
    variants = fields.get("variants")
    return AcceptedChange(
        Change(fields["change"]), when, tuple(fields["cases"]), kinds, None if variants is None else frozenset(variants),
        fields["author"], fields["reason"], expires,
    )  # fmt: skip


def _runtime(words: str) -> TargetSelector:
    when = TargetSelector.of(words)
    names = {*RUNTIMES, *TOOLS, *(runtime.distribution for runtime in RUNTIMES.values())}
    if when.exact is None and when.name not in {*names, "python", "command"}:
        raise ValueError(f"unknown runtime '{words}'{nearest(words, names)}")
    return when


def _kinds(words: list[str] | None) -> frozenset[str] | None:
    if words is None:
        return None
    known = [kind.value for kind in DivergenceKind]
    if unknown := [f"unknown kind '{word}'{nearest(word, known)}" for word in words if word not in known]:
        raise ValueError("; ".join(unknown))
    return frozenset(words)


def _date(words: str) -> date:
    try:
        return date.fromisoformat(words)
    except ValueError as error:
        raise ValueError(f"not a date: {error}") from error


def _fields(entry: AcceptedChange) -> dict[str, Any]:
    versions = {"versions": entry.when.bounds} if entry.when.bounds else {}
    kinds = {"kinds": on_one_line(sorted(entry.kinds))} if entry.kinds is not None else {}
    variants = {"variants": on_one_line(sorted(entry.variants))} if entry.variants is not None else {}
    return {
        "change": entry.change.value, "runtime": entry.when.runtime, **versions, **kinds, **variants,
        "cases": list(entry.cases), "author": entry.author, "reason": entry.reason,
        "expires": entry.expires.isoformat(),
    }  # fmt: skip
