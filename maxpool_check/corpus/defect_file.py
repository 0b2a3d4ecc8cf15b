"""Files of defects and of accepted results: what they say, and whether the cases that they expect to show defects agree."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from fnmatch import fnmatchcase
from functools import lru_cache, partial
from itertools import count
from pathlib import Path
from typing import Any

from packaging.specifiers import InvalidSpecifier, SpecifierSet

from maxpool_check.corpus.case import Case
from maxpool_check.corpus.conditions import CaseFeatures, unmet
from maxpool_check.corpus.document import Document, parse, read, text_of
from maxpool_check.corpus.features import GEOMETRY, GRAPH, VALUES, stated_in
from maxpool_check.corpus.observed import is_observed_file, observed_file, read_observations, with_observations
from maxpool_check.corpus.problems import BadValue, CorpusError, Problem, Structure
from maxpool_check.corpus.schema import read_schema
from maxpool_check.judging.accepted import Acceptance
from maxpool_check.judging.defects import Conditions, Defect, Effect, Remedy, Severity, Upstream, is_glob
from maxpool_check.judging.explaining import LEVEL_NAMES, meets_as_variant
from maxpool_check.judging.kinds import DESCRIPTIONS, DivergenceKind, read_table
from maxpool_check.judging.target_selector import TargetSelector
from maxpool_check.judging.wrong_cells import CONTENTS
from maxpool_check.results.changes import UNOBSERVABLE, Change
from maxpool_check.results.details import ARCHITECTURES, INSTRUCTION_SETS
from maxpool_check.results.variants import variant_named
from maxpool_check.specifications import documents
from maxpool_check.specifications.specification import nearest

SCHEMA: dict[str, Any] = read_schema(
    Path(__file__).with_name("defects.schema.json"),
    changes=[change.value for change in Change if change not in UNOBSERVABLE],
    kinds=[kind.value for kind in DivergenceKind],
    severities=[severity.value for severity in Severity],
    geometry=list(GEOMETRY),
    values=list(VALUES),
    flags=list(GRAPH),
    levels=list(LEVEL_NAMES),
    rewrites=list(read_table("remedies.yaml")),
    windows=[*CONTENTS, *(kind.value for kind, about in DESCRIPTIONS.items() if about.hypothesis)],
    processors=[*ARCHITECTURES, *INSTRUCTION_SETS, *(f"no-{name}" for name in INSTRUCTION_SETS)],
)
"""The published schema of a file of defects and of accepted results."""

_STRUCTURE = Structure(SCHEMA)
_KINDS = {kind.value: kind for kind in DivergenceKind}

_Place = tuple[str | int, ...]

_OBSERVED = "observed"
"""What stands for the cases of an item of ``expect`` that are in a file of observations."""

_OLD_FORM = (
    "the short form 'known' is no longer read; write each of its entries under 'defects', with id, runtime, title, severity, "
    "mechanism and expect, as 'maxpool-check docs defects' shows"
)


@dataclass(frozen=True)
class _Entries:
    """The two kinds of entries of a file."""

    defects: tuple[Defect, ...]
    accepted: tuple[Acceptance, ...]


def read_defects(path: Path) -> list[Defect]:
    """The defects of one file, without observations. Raises :class:`CorpusError` with every problem."""
    return list(_entries(text_of(path), str(path)).defects)


def read_accepted(paths: Sequence[Path]) -> list[Acceptance]:
    """What a person has accepted in several files, in their order. Raises :class:`CorpusError` with every problem."""
    accepted, problems = list[Acceptance](), list[Problem]()
    for path in (each for each in paths if not is_observed_file(each)):
        try:
            accepted += _entries(text_of(path), str(path)).accepted
        except CorpusError as error:
            problems += error.problems
    if problems:
        raise CorpusError(problems)
    return accepted


# A process may read the defects that come with the tool many times.
@lru_cache(maxsize=64)
def _entries(text: str, name: str) -> _Entries:
    reader = _Reader(parse(text, name))
    entries = _Entries(tuple(reader.defects()), tuple(reader.accepted()))
    if reader.problems:
        raise CorpusError(reader.problems)
    return entries


def read_all_defects(paths: Sequence[Path]) -> list[Defect]:
    """What several files expect in a run: their defects, with the observations of others, and the accepted divergences.

    All ids are unique. Raises :class:`CorpusError`.
    """
    observed = {path for path in paths if is_observed_file(path)}
    defects: dict[str, Defect] = {}
    problems: list[Problem] = []
    files: dict[str, Path] = {}
    others = [path for path in paths if path not in observed]
    for path in observed - {*map(observed_file, others)}:
        message = f"there is no file of defects beside it, {path.parent.parent / path.stem}.yaml"
        problems.append(Problem(str(path), 1, 1, message))
    for path in others:
        try:
            new = {defect.id: defect for defect in read_defects(path)}
        except CorpusError as error:
            problems += error.problems
            continue
        twice = [name for name in new if name in files]
        problems += [Problem(str(path), 1, 1, f"the id '{name}' is also used in {files[name]}") for name in twice]
        if (beside := observed_file(path)) in observed:
            try:
                new = with_observations(new, beside)
            except CorpusError as error:
                problems += error.problems
        files |= dict.fromkeys(new, path)
        defects |= new
    if problems:
        raise CorpusError(problems)
    for entry in (each for each in read_accepted(others) if each.change is None):
        name = next(each for each in _numbered(entry.name) if each not in defects)
        defects[name] = entry.defect(name)
    return list(defects.values())


def _numbered(name: str) -> Iterator[str]:
    """A name, and then the name with the numbers from 2."""
    yield name
    yield from (f"{name}-{number}" for number in count(2))


class _Reader:
    """Makes the entries of a document, and collects what is wrong with it."""

    def __init__(self, document: Document) -> None:
        self._document = document
        mistakes = [
            (at, key, _OLD_FORM if key == "known" else text) for at, key, text in _STRUCTURE.mistakes(document.data)
        ]
        self.problems = [document.problem(tuple(at), message, key=key) for at, key, message in mistakes]
        self._wrong = {tuple(at) for at, _, _ in mistakes}
        self._lines: dict[str, int] = {}

    def defects(self) -> list[Defect]:
        """The defects of the file, as far as they can be read."""
        data = self._document.data if isinstance(self._document.data, dict) else {}
        if not {"defects", "accepted"} & data.keys() and not self.problems:
            self.problems.append(self._document.problem((), "missing 'defects' or 'accepted'"))
        results: list[Defect | None] = []
        entries = data.get("defects")
        for number, fields in enumerate(entries if isinstance(entries, list) else []):
            if isinstance(fields, dict):
                self._check_id_and_review(("defects", number), fields)
                results.append(self._defect(("defects", number), fields))
        return [defect for defect in results if defect is not None]

    def accepted(self) -> list[Acceptance]:
        """What the file accepts, as far as it can be read."""
        data = self._document.data if isinstance(self._document.data, dict) else {}
        entries = data.get("accepted")
        numbered = enumerate(entries if isinstance(entries, list) else [])
        results = [self._accepted(("accepted", number), fields) for number, fields in numbered]
        return [each for each in results if each is not None]

    def _accepted(self, place: _Place, fields: Any) -> Acceptance | None:
        values = self._values(
            place, fields if isinstance(fields, dict) else {}, runtime=TargetSelector.of, kinds=_kinds, change=Change,
            expires=_date, variants=frozenset, outputs=_OF_EXPECTED["outputs"], versions=_versions,
        )  # fmt: skip
        if not self.problems and not values["kinds"] and "change" not in values:
            message = "expected a kind of divergence: only the result of a 'change' may have none"
            self.problems.append(self._document.problem((*place, "kinds"), message))
        if self.problems:
            return None
        when = TargetSelector.of(values["runtime"].runtime, values.get("versions", ""))
        line = self._document.problem(place, "")
        return Acceptance(
            when, tuple(values["cases"]), values["variants"], values["kinds"], values["author"], values["reason"],
            values["expires"], values.get("change"), values.get("outputs", {}), f"{line.path}:{line.line}:{line.column}",
        )  # fmt: skip

    def _check_id_and_review(self, place: _Place, fields: Mapping[str, Any]) -> None:
        name, at = str(fields.get("id")), (*place, "id")
        if name in self._lines:
            message = f"duplicate id '{name}', first on line {self._lines[name]}"
            self.problems.append(self._document.problem(at, message))
        self._lines.setdefault(name, self._document.mark_of(at).line)
        for key, other in (("reviewer", "reviewed"), ("reviewed", "reviewer")):
            if key in fields and other not in fields:
                message = f"'{key}' without '{other}'; give the person who has reviewed it, and the day, YYYY-MM-DD"
                self.problems.append(self._document.problem((*place, key), message))

    def _defect(self, place: _Place, fields: Mapping[str, Any]) -> Defect | None:
        values = self._values(
            place, fields, runtime=_runtimes, documents=_documents, conditions=_conditions, reviewed=_date,
            remedies=_remedies, kinds=_kinds,
        )  # fmt: skip
        upstream, items = fields.get("upstream"), fields.get("expect")
        seen = self._values((*place, "upstream"), upstream, seen=_date) if isinstance(upstream, dict) else None
        expected = tuple(
            self._expected((*place, "expect", number), item, values)
            for number, item in enumerate(items if isinstance(items, list) else [])
            if isinstance(item, dict)
        )
        if self.problems:
            return None
        if any(not (each.cases or each.where_observed or each.conditions.said) for each in expected) and not (
            "conditions" in values or "documents" in values
        ):
            message = "expected cases, or conditions that cases meet"
            self.problems.append(self._document.problem((*place, "expect"), message))
            return None
        runtime, *other_builds = values["runtime"]
        outputs: dict[str, frozenset[str]] = {}
        for item in items or ():
            for version, each in item.get("outputs", {}).items():
                outputs[version] = outputs.get(version, frozenset()) | frozenset(each)
        return Defect(
            values["id"], runtime, values["title"], Severity(values["severity"]), values["mechanism"], expected,
            values.get("established", ""), values.get("documents", ()), values.get("conditions", Conditions()),
            None if seen is None else Upstream(**seen), values.get("example"), values.get("reviewer", ""),
            values.get("reviewed"), tuple(other_builds), values.get("remedies", ()), frozenset(values.get("kinds", ())),
            frozenset(values.get("windows", ())), outputs, values.get("short", ""), values.get("fix", ""),
        )  # fmt: skip

    def _expected(self, place: _Place, fields: Mapping[str, Any], defect: Mapping[str, Any]) -> Any:
        """What is expected of targets that have a defect, of which ``defect`` are the values; None if there are problems."""
        parsers, runtimes = {**_OF_EXPECTED, "conditions": _conditions}, defect.get("runtime")
        if runtimes is not None:
            own = self._values(
                place, {key: fields[key] for key in ("runtime",) if key in fields}, runtime=partial(_some_of, runtimes)
            )
            parsers["versions"] = partial(TargetSelector.of_any, own.get("runtime", runtimes))
        values = self._values(place, {"versions": "", **fields}, **parsers)
        if self.problems:
            return None
        conditions, cases = values.get("conditions", Conditions()), values.get("cases", ())
        where_observed = cases == _OBSERVED
        of_defect = defect.get("conditions", Conditions())
        conditions = replace(conditions, processor=(*of_defect.processor, *conditions.processor))
        return Effect(
            defect["id"], values["versions"], values.get("kinds", frozenset()), () if where_observed else tuple(cases),
            values.get("variants"), conditions, frozenset(values.get("windows", defect.get("windows", ()))), values.get("expires"),
            values.get("varies", False), where_observed,
        )  # fmt: skip

    def _values(self, place: _Place, fields: Mapping[str, Any], **parsers: Callable[[Any], Any]) -> dict[str, Any]:
        """The values of fields, those with a parser parsed; without those that are wrong, each of which is a problem."""
        values: dict[str, Any] = {}
        for key, value in fields.items():
            at = (*place, key)
            if any(wrong[: len(at)] == at for wrong in self._wrong):
                continue
            try:
                values[key] = parsers[key](value) if key in parsers else value
            except BadValue as error:
                self.problems += [self._document.problem((*at, *each.path), str(each)) for each in error.all]
            except ValueError as error:
                self.problems.append(self._document.problem(at, str(error)))
        return values


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
    """The runtimes of an item of ``expect``: some of those of its defect, or one with a provider or options added.

    Raises ``ValueError``.
    """
    if isinstance(value, str):
        whole, part = TargetSelector.of(runtimes[0]), TargetSelector.of(value)
        same = (whole.name, whole.is_tool, whole.exact) == (part.name, part.is_tool, part.exact)
        if not same or whole.provider not in (None, part.provider) or not whole.options.items() <= part.options.items():
            raise ValueError(f"expected {runtimes[0]} with a provider or options added, found '{value}'")
        return [part.runtime]
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
    return Conditions(**{**values, **stated_in(fields)})


def _remedies(items: list[dict[str, Any]]) -> tuple[Remedy, ...]:
    parsers: Mapping[str, Callable[[Any], Any]] = {
        "conditions": _conditions,
        "optimizers": tuple,
        "versions": _versions,
    }

    def remedy(number: int) -> Remedy:
        try:
            return Remedy(**{name: parsers.get(name, str)(value) for name, value in items[number].items()})
        except BadValue as error:
            raise error.inside(number, "conditions") from error

    return tuple(map(remedy, range(len(items))))


def _versions(text: str) -> str:
    """Bounds of versions, in the usual order. Raises ``ValueError``."""
    return TargetSelector.of("onnxruntime", text).bounds


def _documents(names: list[str]) -> tuple[str, ...]:
    for name in names:
        documents(name)
    return tuple(names)


def _date(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError as error:
        raise ValueError(f"not a date: {error}") from error


_OF_EXPECTED: Mapping[str, Callable[[Any], Any]] = {
    "kinds": _kinds,
    "variants": lambda names: frozenset(map(variant_named, names)),
    "expires": _date,
    "outputs": lambda by_version: {version: frozenset(each) for version, each in by_version.items()},
}
"""What reads the fields of an expectation."""


def unmatched(path: Path, cases: Collection[str]) -> list[Problem]:
    """The ids and globs of a file that name no case of a whole corpus: misspelt, or outdated."""
    if is_observed_file(path):
        return [
            Problem(str(path), number, 1, f"'{case}' names no case")
            for number, line in enumerate(read_observations(path), 1)
            for case in line.cases
            if case not in cases
        ]
    document = read(path)
    patterns: list[tuple[_Place, str]] = [
        (("accepted", number, "cases", at), case)
        for number, entry in enumerate(document.data.get("accepted", ()))
        for at, case in enumerate(entry["cases"])
    ]
    for number, defect in enumerate(document.data.get("defects", ())):
        if "example" in defect:
            patterns.append((("defects", number, "example"), defect["example"]))
        for at, expected in enumerate(defect.get("expect", ())):
            place = ("defects", number, "expect", at, "cases")
            listed = expected.get("cases", ())
            patterns += [((*place, i), pattern) for i, pattern in enumerate(() if listed == _OBSERVED else listed)]
    return [
        document.problem(place, f"'{pattern}' names no case")
        for place, pattern in patterns
        if not any(fnmatchcase(case, pattern) for case in cases)
    ]


def unmet_conditions(path: Path, defects: Sequence[Defect], cases: Collection[Case]) -> list[Problem]:
    """What contradicts the conditions and documents of the defects of a file, and examples that nothing expects."""
    by_id = {case.id: CaseFeatures(case) for case in cases}
    of_file = {defect.id: defect for defect in defects}
    if is_observed_file(path):
        return [
            Problem(str(path), number, 1, mistake)
            for number, line in enumerate(read_observations(path), 1)
            if line.cases and line.defect in of_file
            for _, mistake in _wrong_cases(of_file[line.defect], line.effect(of_file[line.defect]), by_id)
        ]
    document = read(path)
    places = {fields["id"]: number for number, fields in enumerate(document.data.get("defects", ()))}
    return [
        document.problem(("defects", places[name], *place), message)
        for name, defect in of_file.items()
        if name in places
        for place, message in _mistakes(defect, by_id)
    ]


def _mistakes(defect: Defect, cases: Mapping[str, CaseFeatures]) -> Iterator[tuple[_Place, str]]:
    reasons, example = list[str](), cases.get(defect.example or "")
    shown = any(effect.lists(defect.example or "") for effect in defect.effects)
    for number, effect in enumerate(each for each in defect.effects if not each.digests):
        yield from ((("expect", number, place), message) for place, message in _wrong_cases(defect, effect, cases))
        if not effect.cases and not effect.where_observed and example is not None:
            failing = [name for each in (defect.conditions, effect.conditions) for name in unmet(each, example)]
            shown |= not failing
            reasons.append(", ".join(failing))
    if defect.example is not None and not shown:
        why = f": it does not meet {' or '.join(dict.fromkeys(reasons))}" if reasons else ""
        yield ("example",), f"{defect.example} is not expected to show the defect{why}"


def _wrong_cases(defect: Defect, effect: Effect, cases: Mapping[str, CaseFeatures]) -> Iterator[tuple[str, str]]:
    """What contradicts the conditions of an effect and of its defect: its variants, and the cases that it lists."""
    both = {"of the defect": defect.conditions, "beside it": effect.conditions}
    for variant in sorted(effect.variants or ()):
        if failing := [which for which, each in both.items() if not meets_as_variant(each, variant)]:
            yield "variants", f"{variant.name} does not meet the conditions {failing[0]}"
    for features in _cases(effect, cases):
        case = features.case
        if not features.is_of(defect):
            yield "cases", f"{case.id} is a case of {case.spec}, which is none of the defect's documents"
        elif unmet_ones := [f"{name} {which}" for which, each in both.items() for name in unmet(each, features)]:
            yield "cases", f"{case.id} does not meet the conditions {', '.join(unmet_ones)}"


def _cases(effect: Effect, cases: Mapping[str, CaseFeatures]) -> Iterator[CaseFeatures]:
    for pattern in effect.cases:
        if is_glob(pattern):
            yield from (features for case, features in cases.items() if fnmatchcase(case, pattern))
        elif pattern in cases:
            yield cases[pattern]
