"""Checks what a file says of its defects against the cases that it expects to show them."""

from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from maxpool_check.corpus.case import Case
from maxpool_check.corpus.conditions import Features, concerns, meets, meets_as_variant, meets_both
from maxpool_check.corpus.document import read
from maxpool_check.corpus.problems import Problem
from maxpool_check.judging.defects import Defect, ExpectedDivergence, is_glob


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


def _mistakes(defect: Defect, cases: Mapping[str, Features]) -> Iterator[tuple[tuple[str | int, ...], str]]:
    for number, expected in enumerate(defect.expected):
        place = ("expect", number)
        for variant in sorted(expected.variants or ()):
            if not meets_as_variant(defect.conditions, variant):
                yield (*place, "variants"), f"{variant.name} does not meet the conditions of the defect"
            elif not meets_as_variant(expected.conditions, variant):
                yield (*place, "variants"), f"{variant.name} does not meet the conditions beside it"
        for features in _cases(expected, cases):
            if not concerns(defect, features.case):
                message = (
                    f"{features.case.id} is a case of {features.case.spec}, which is none of the defect's documents"
                )
                yield (*place, "cases"), message
            elif not meets(defect.conditions, features):
                yield (*place, "cases"), f"{features.case.id} does not meet the conditions of the defect"
            elif not meets(expected.conditions, features):
                yield (*place, "cases"), f"{features.case.id} does not meet the conditions beside it"
    if defect.example is not None and not any(
        defect.example in {features.case.id for features in _cases(expected, cases)}
        or (expected.by_conditions and defect.example in cases and meets_both(defect, expected, cases[defect.example]))
        for expected in defect.expected
    ):
        yield ("example",), f"{defect.example} is not expected to show the defect"


def _cases(expected: ExpectedDivergence, cases: Mapping[str, Features]) -> Iterator[Features]:
    for pattern in expected.cases:
        if is_glob(pattern):
            yield from (features for case, features in cases.items() if fnmatchcase(case, pattern))
        elif pattern in cases:
            yield cases[pattern]
