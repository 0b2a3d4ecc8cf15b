"""Changes that a user has accepted: who, why, and until when; and the YAML files that hold them."""

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from maxpool_check.comparing.defects import version_bound
from maxpool_check.comparing.transitions import UNOBSERVABLE, Change
from maxpool_check.corpus.document import Document, read
from maxpool_check.corpus.editing import EditedFile, on_one_line
from maxpool_check.corpus.problems import CorpusError, Problem, Structure
from maxpool_check.corpus.schema import read_schema
from maxpool_check.judging.kinds import DivergenceKind
from maxpool_check.judging.target_selector import TargetSelector
from maxpool_check.results.record import TargetDescription
from maxpool_check.specifications.specification import nearest
from maxpool_check.targets.runtimes import RUNTIMES, TOOLS

SCHEMA: dict[str, Any] = read_schema(
    Path(__file__).with_name("accepted.schema.json"),
    changes=[change.value for change in Change if change not in UNOBSERVABLE],
    kinds=[kind.value for kind in DivergenceKind],
)
"""The published schema of a file of accepted changes."""

_STRUCTURE = Structure(SCHEMA)


@dataclass(frozen=True, eq=False)
class AcceptedChange:
    """A change of some cases on some targets that a user accepts.

    ``when`` selects the new target, ``cases`` are ids and globs. ``kinds`` are exactly those of the new result; None: any.
    ``variants`` are names; None: any. It accepts nothing after ``expires``.
    """

    change: Change
    when: TargetSelector
    cases: tuple[str, ...]
    kinds: frozenset[str] | None
    variants: frozenset[str] | None
    author: str
    reason: str
    expires: date

    def __str__(self) -> str:
        return f"{self.reason} ({self.author}, until {self.expires})"

    def is_about(self, head: TargetDescription) -> bool:
        """Whether it concerns a new target."""
        return self.when.covers(head.selected_as, head.version, head.provider, head.name)

    def has_case(self, case: str) -> bool:
        """Whether it names a case."""
        return any(case == pattern or fnmatchcase(case, pattern) for pattern in self.cases)

    def accepts(self, change: Change, case: str, variant: str, kinds: Collection[str]) -> bool:
        """Whether it is about this change of an execution to these kinds, whatever the target and the date."""
        return (
            change is self.change
            and self.has_case(case)
            and (self.kinds is None or self.kinds == frozenset(kinds))
            and (self.variants is None or variant in self.variants)
        )


def narrowest(
    changes: Iterable[tuple[Change, str, str, Collection[str]]],
    head: TargetDescription,
    author: str,
    reason: str,
    expires: date,
) -> list[AcceptedChange]:
    """The entries that accept these changes on a target of this version, and nothing else.

    A change is what :meth:`AcceptedChange.accepts` takes: with the id of the case, the variant, and the kinds of the new result.
    """
    variants: dict[tuple[Change, frozenset[str], str], set[str]] = {}
    for change, case, variant, kinds in changes:
        variants.setdefault((change, frozenset(kinds), case), set()).add(variant)
    cases: dict[tuple[Change, frozenset[str], frozenset[str]], list[str]] = {}
    for (change, kinds, case), of_case in variants.items():
        cases.setdefault((change, kinds, frozenset(of_case)), []).append(case)
    is_program = head.name.startswith(("python:", "command:", "transform:"))
    runtime = head.name if is_program else re.sub(r"==[^@?]+", "", head.name, count=1)
    when = TargetSelector.of(runtime, version_bound(head))
    return [
        AcceptedChange(change, when, tuple(names), kinds, of_cases, author, reason, expires)
        for (change, kinds, of_cases), names in cases.items()
    ]


def read_accepted(path: Path) -> list[AcceptedChange]:
    """The accepted changes of a file. Raises :class:`CorpusError` with the problems of every entry."""
    document = read(path)
    problems = [
        document.problem(tuple(at), message, key=key) for at, key, message in _STRUCTURE.mistakes(document.data)
    ]
    accepted = []
    for number in range(len(document.data["accepted"]) if not problems else 0):
        try:
            accepted.append(_entry(document, number))
        except CorpusError as error:
            problems += error.problems
    if problems:
        raise CorpusError(problems)
    return accepted


def add_accepted(path: Path, entries: Sequence[AcceptedChange]) -> None:
    """Add entries to a file, which is created if it does not exist; its comments stay.

    Raises :class:`CorpusError` if they cannot be added to the file.
    """
    expected = [_fields(each) for each in [*(read_accepted(path) if path.exists() else []), *entries]]
    file = EditedFile(path, "accepted: []\n")
    for entry in entries:
        file.append("accepted", _fields(entry))
    if not file.replace(lambda new: [_fields(each) for each in read_accepted(new)] == expected):
        message = "nothing can be added safely to this file; end it with a block list under 'accepted:'"
        raise CorpusError([Problem(str(path), 1, 1, message)])


def _entry(document: Document, number: int) -> AcceptedChange:
    """The entry of this number, of which the structure is right. Raises :class:`CorpusError`."""
    fields = document.data["accepted"][number]
    key = "runtime"
    try:
        when = TargetSelector.of(fields["runtime"])
        names = {*RUNTIMES, *TOOLS, *(runtime.distribution for runtime in RUNTIMES.values())}
        if when.exact is None and when.name not in {*names, "python", "command"}:
            raise ValueError(f"unknown runtime '{fields['runtime']}'{nearest(fields['runtime'], names)}")
        key = "versions"
        when = TargetSelector.of(fields["runtime"], fields.get("versions", ""))
        key = "expires"
        expires = date.fromisoformat(fields["expires"])
    except ValueError as error:
        message = f"not a date: {error}" if key == "expires" else str(error)
        raise CorpusError([document.problem(("accepted", number, key), message)]) from error
    kinds, variants = (frozenset(fields[name]) if name in fields else None for name in ("kinds", "variants"))
    change, cases, author, reason = Change(fields["change"]), tuple(fields["cases"]), fields["author"], fields["reason"]
    return AcceptedChange(change, when, cases, kinds, variants, author, reason, expires)


def _fields(entry: AcceptedChange) -> dict[str, Any]:
    sets = {"kinds": entry.kinds, "variants": entry.variants}
    return {
        "change": entry.change.value,
        "runtime": entry.when.runtime,
        **({"versions": entry.when.bounds} if entry.when.bounds else {}),
        **{name: on_one_line(sorted(values)) for name, values in sets.items() if values is not None},
        "cases": list(entry.cases),
        "author": entry.author,
        "reason": entry.reason,
        "expires": entry.expires.isoformat(),
    }
