"""Reads files of defects."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import date
from fnmatch import fnmatchcase
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from packaging.specifiers import InvalidSpecifier, SpecifierSet

from maxpool_check.corpus.defect_schema import DEFECT_FILE
from maxpool_check.corpus.document import Document, parse, read, text_of
from maxpool_check.corpus.problems import CorpusError, Problem, Structure
from maxpool_check.judging.defects import Conditions, Defect, ExpectedDivergence, Severity, Upstream, severity_of
from maxpool_check.judging.kinds import DivergenceKind
from maxpool_check.judging.target_selector import TargetSelector
from maxpool_check.results.variants import variant_named
from maxpool_check.specifications import documents
from maxpool_check.specifications.specification import nearest

_STRUCTURE = Structure(DEFECT_FILE)
_KINDS = {kind.value: kind for kind in DivergenceKind}

_Place = tuple[str | int, ...]


def read_defects(path: Path) -> list[Defect]:
    """The defects of one file, known divergences included. Raises :class:`CorpusError` with every problem."""
    return list(_defects(text_of(path), str(path)))


# A process may read the defects that come with the tool many times.
@lru_cache(maxsize=64)
def _defects(text: str, name: str) -> tuple[Defect, ...]:
    reader = _Reader(parse(text, name))
    defects = reader.defects()
    if reader.problems:
        raise CorpusError(reader.problems)
    return tuple(defects)


def read_all_defects(paths: Sequence[Path]) -> list[Defect]:
    """The defects of several files, with unique ids. Raises :class:`CorpusError`."""
    defects: dict[str, Defect] = {}
    problems: list[Problem] = []
    files: dict[str, Path] = {}
    for path in paths:
        try:
            new = {defect.id: defect for defect in _defects(text_of(path), str(path))}
        except CorpusError as error:
            problems += error.problems
            continue
        twice = [name for name in new if name in files]
        problems += [Problem(str(path), 1, 1, f"the id '{name}' is also used in {files[name]}") for name in twice]
        files |= dict.fromkeys(new, path)
        defects |= new
    if problems:
        raise CorpusError(problems)
    return list(defects.values())


def unmatched(path: Path, cases: Sequence[str]) -> list[Problem]:
    """The ids and globs of a file that name no case of a whole corpus: misspelt, or outdated."""
    document = read(path)
    places = dict(_patterns(document.data))
    return [
        document.problem(place, f"'{pattern}' names no case")
        for place, pattern in places.items()
        if not any(fnmatchcase(case, pattern) for case in cases)
    ]


def _patterns(data: Mapping[str, Any]) -> list[tuple[_Place, str]]:
    """Each id or glob of a case in a file, with its place."""
    found: list[tuple[_Place, str]] = []
    for number, entry in enumerate(data.get("known", ())):
        found += [(("known", number, "cases", i), pattern) for i, pattern in enumerate(entry["cases"])]
    for number, defect in enumerate(data.get("defects", ())):
        if "example" in defect:
            found.append((("defects", number, "example"), defect["example"]))
        for at, expected in enumerate(defect["expect"]):
            place = ("defects", number, "expect", at, "cases")
            found += [((*place, i), pattern) for i, pattern in enumerate(expected.get("cases", ()))]
    return found


class _Reader:
    """Makes defects of a document, and collects what is wrong with it."""

    def __init__(self, document: Document) -> None:
        self._document = document
        mistakes = list(_STRUCTURE.mistakes(document.data))
        self.problems = [document.problem(tuple(at), message, key=key) for at, key, message in mistakes]
        self._wrong = {tuple(at) for at, _, _ in mistakes}
        self._lines: dict[str, int] = {}

    def defects(self) -> list[Defect]:
        """The defects of the file, as far as they can be read."""
        data = self._document.data if isinstance(self._document.data, dict) else {}
        if not data.keys() & {"defects", "known"} and not self.problems:
            self.problems.append(self._document.problem((), "missing 'defects'"))
        results: list[Defect] = []
        for key, read_entry in (("known", self._known), ("defects", self._defect)):
            entries = data.get(key)
            for number, fields in enumerate(entries if isinstance(entries, list) else []):
                if isinstance(fields, dict):
                    place = (key, number)
                    self._check_id(place, fields)
                    defect = read_entry(place, fields)
                    if defect is not None:
                        results.append(defect)
        return results

    def _check_id(self, place: _Place, fields: Mapping[str, Any]) -> None:
        name, at = str(fields.get("id")), (*place, "id")
        if name in self._lines:
            message = f"duplicate id '{name}', first on line {self._lines[name]}"
            self.problems.append(self._document.problem(at, message))
        self._lines.setdefault(name, self._document.mark_of(at).line)

    def _known(self, place: _Place, fields: Mapping[str, Any]) -> Defect | None:
        """A known divergence, which is a defect in short."""
        when = self._parsed(place, fields, "when", TargetSelector.parse)
        kinds, variants, expires = self._of_expected(place, fields)
        reviewed = self._reviewed(place, fields)
        issue = fields.get("issue")
        if self.problems or when is None or kinds is None:
            return None
        upstream = Upstream("open", date.min, issue) if issue else None
        expected = ExpectedDivergence(fields["id"], when, tuple(fields["cases"]), kinds, variants, expires)
        reason = fields["reason"]
        return Defect(
            fields["id"], when.runtime, reason, severity_of(kinds), reason, (expected,), upstream=upstream,
            reviewer=fields.get("reviewer", ""), reviewed=reviewed,
        )  # fmt: skip

    def _defect(self, place: _Place, fields: Mapping[str, Any]) -> Defect | None:
        runtimes = self._parsed(place, fields, "runtime", _runtimes)
        self._parsed(place, fields, "documents", lambda names: [documents(name) for name in names])
        conditions = self._parsed(place, fields, "conditions", _conditions)
        upstream = None
        if isinstance(fields.get("upstream"), dict):
            seen = self._parsed((*place, "upstream"), fields["upstream"], "seen", _date)
            if seen is not None and "state" in fields["upstream"]:
                upstream = Upstream(**{**fields["upstream"], "seen": seen})
        reviewed = self._reviewed(place, fields)
        expected: list[ExpectedDivergence] = []
        items = fields.get("expect")
        for number, item in enumerate(items if isinstance(items, list) else []):
            if isinstance(item, dict):
                at = (*place, "expect", number)
                when = None
                if runtimes is not None:
                    own_runtimes = self._parsed(at, item, "runtime", partial(_some_of, runtimes)) or runtimes
                    when = self._parsed(
                        at, {"versions": "", **item}, "versions", partial(TargetSelector.of_any, own_runtimes)
                    )
                kinds, variants, expires = self._of_expected(at, item)
                own = self._parsed(at, item, "conditions", _conditions) or Conditions()
                if conditions is not None and conditions.processor:
                    own = replace(own, processor=(*conditions.processor, *own.processor))
                if when is not None and kinds is not None:
                    cases = item.get("cases") or ()
                    each = ExpectedDivergence(
                        str(fields.get("id")), when, tuple(cases), kinds, variants, expires,
                        by_conditions=not cases, conditions=own,
                    )  # fmt: skip
                    expected.append(each)
        if self.problems or runtimes is None:
            return None
        if any(each.by_conditions and not each.conditions.said for each in expected) and not (
            conditions or fields.get("documents")
        ):
            self.problems.append(
                self._document.problem((*place, "expect"), "expected cases, or conditions that cases meet", key=None)
            )
            return None
        return Defect(
            fields["id"], runtimes[0], fields["title"], Severity(fields["severity"]), fields["mechanism"], tuple(expected),
            fields.get("established", ""), tuple(fields.get("documents", ())), conditions or Conditions(), upstream,
            fields.get("example"), fields.get("reviewer", ""), reviewed, tuple(runtimes[1:]),
        )  # fmt: skip

    def _reviewed(self, place: _Place, fields: Mapping[str, Any]) -> date | None:
        """The day of the review. Its person is named with it, or there is none."""
        for key, other in (("reviewer", "reviewed"), ("reviewed", "reviewer")):
            if key in fields and other not in fields:
                message = f"'{key}' without '{other}'; give the person who has reviewed it, and the day, YYYY-MM-DD"
                self.problems.append(self._document.problem((*place, key), message))
        reviewed: date | None = self._parsed(place, fields, "reviewed", _date)
        return reviewed

    def _of_expected(self, place: _Place, fields: Mapping[str, Any]) -> tuple[Any, Any, Any]:
        """The kinds, the variants and the date of an expectation; None for what is not there."""
        kinds = self._parsed(place, fields, "kinds", _kinds)
        variants = self._parsed(place, fields, "variants", lambda names: frozenset(map(variant_named, names)))
        return kinds, variants, self._parsed(place, fields, "expires", _date)

    def _parsed(self, place: _Place, fields: Mapping[str, Any], key: str, parse: Callable[[Any], Any]) -> Any:
        """The value of a field; None, and a problem, if it cannot be read; None if it is not there."""
        at = (*place, key)
        if key not in fields or any(wrong[: len(at)] == at for wrong in self._wrong):
            return None
        try:
            return parse(fields[key])
        except ValueError as error:
            self.problems.append(self._document.problem(at, str(error)))
            return None


def _within(runtime: str, text: str) -> str:
    """The runtime of an item of ``expect``, which is that of its defect with a provider or options added.

    Raises ``ValueError``.
    """
    whole, part = TargetSelector.of(runtime), TargetSelector.of(text)
    of_whole = (whole.name, whole.is_tool, whole.exact, whole.provider or part.provider)
    if (
        of_whole != (part.name, part.is_tool, part.exact, part.provider)
        or not whole.options.items() <= part.options.items()
    ):
        raise ValueError(f"expected {runtime} with a provider or options added, found '{text}'")
    return part.runtime


def _kinds(words: list[str]) -> frozenset[DivergenceKind]:
    unknown = [f"unknown kind '{word}'{nearest(word, _KINDS)}" for word in words if word not in _KINDS]
    if unknown:
        raise ValueError("; ".join(unknown))
    return frozenset(_KINDS[word] for word in words)


def _runtimes(value: str | list[str]) -> list[str]:
    """The runtimes of a defect: one, or several builds of the same source."""
    runtimes = [TargetSelector.of(name).runtime for name in ([value] if isinstance(value, str) else value)]
    TargetSelector.of_any(runtimes)
    return runtimes


def _some_of(runtimes: Sequence[str], value: str | list[str]) -> list[str]:
    """The runtimes of an item of ``expect``: some of those of its defect, or a part of one. Raises ``ValueError``."""
    if isinstance(value, str):
        return [_within(runtimes[0], value)]
    for name in value:
        if name not in runtimes:
            raise ValueError(f"expected some of {', '.join(runtimes)}, found '{name}'")
    return [runtime for runtime in runtimes if runtime in value]


def _conditions(fields: Mapping[str, Any]) -> Conditions:
    try:
        SpecifierSet(fields.get("opset", ""))
    except InvalidSpecifier as error:
        raise ValueError(f"expected operator sets, as '>=21', found '{fields['opset']}'") from error
    values: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in fields.items()
    }
    return Conditions(**values)


def _date(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError as error:
        raise ValueError(f"not a date: {error}") from error
