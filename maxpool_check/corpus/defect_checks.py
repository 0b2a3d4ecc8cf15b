"""Checks what a file says of its defects against the cases that it expects to show them."""

from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from maxpool_check.corpus.case import Case
from maxpool_check.corpus.conditions import concerns, meets, meets_as_variant, meets_both
from maxpool_check.corpus.document import read
from maxpool_check.corpus.problems import Problem
from maxpool_check.corpus.quantities import Features
from maxpool_check.judging.defects import Defect, ExpectedDivergence, is_glob

_Place = tuple[str | int, ...]


def unmatched(path: Path, cases: Sequence[str]) -> list[Problem]:
    """The ids and globs of a file that name no case of a whole corpus: misspelt, or outdated."""
    document = read(path)
    patterns: list[tuple[_Place, str]] = []
    for number, known in enumerate(document.data.get("known", ())):
        patterns += [(("known", number, "cases", i), pattern) for i, pattern in enumerate(known["cases"])]
    for number, defect in enumerate(document.data.get("defects", ())):
        if "example" in defect:
            patterns.append((("defects", number, "example"), defect["example"]))
        for at, expected in enumerate(defect["expect"]):
            place = ("defects", number, "expect", at, "cases")
            patterns += [((*place, i), pattern) for i, pattern in enumerate(expected.get("cases", ()))]
    return [
        document.problem(place, f"'{pattern}' names no case")
        for place, pattern in patterns
        if not any(fnmatchcase(case, pattern) for case in cases)
    ]


def unmet(path: Path, defects: Sequence[Defect], cases: Sequence[Case]) -> list[Problem]:
    """What contradicts the conditions and documents of the defects of a file, and examples that nothing expects."""
    document, by_id = read(path), {case.id: Features(case) for case in cases}
    places = {fields["id"]: number for number, fields in enumerate(document.data.get("defects", ()))}
    return [
        document.problem(("defects", places[defect.id], *place), message)
        for defect in defects
        if defect.id in places
        for place, message in _mistakes(defect, by_id)
    ]


def _mistakes(defect: Defect, cases: Mapping[str, Features]) -> Iterator[tuple[_Place, str]]:
    shown = False
    for number, expected in enumerate(defect.expected):
        both = {"of the defect": defect.conditions, "beside it": expected.conditions}
        for variant in sorted(expected.variants or ()):
            if unmet := next((which for which, each in both.items() if not meets_as_variant(each, variant)), ""):
                yield ("expect", number, "variants"), f"{variant.name} does not meet the conditions {unmet}"
        for features in _cases(expected, cases):
            case, mistake = features.case, ""
            shown |= case.id == defect.example
            if not concerns(defect, case):
                mistake = f"is a case of {case.spec}, which is none of the defect's documents"
            elif unmet := next((which for which, each in both.items() if not meets(each, features)), ""):
                mistake = f"does not meet the conditions {unmet}"
            if mistake:
                yield ("expect", number, "cases"), f"{case.id} {mistake}"
        example = cases.get(defect.example or "")
        shown |= expected.by_conditions and example is not None and meets_both(defect, expected, example)
    if defect.example is not None and not shown:
        yield ("example",), f"{defect.example} is not expected to show the defect"


def _cases(expected: ExpectedDivergence, cases: Mapping[str, Features]) -> Iterator[Features]:
    for pattern in expected.cases:
        if is_glob(pattern):
            yield from (features for case, features in cases.items() if fnmatchcase(case, pattern))
        elif pattern in cases:
            yield cases[pattern]
