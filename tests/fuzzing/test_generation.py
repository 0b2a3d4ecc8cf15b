"""Drawn cases: of their document, without rejection, the same for the same seed."""

import hashlib
import itertools

import numpy as np
import pytest

from maxpool_check.fuzzing.generation import draw, generate
from maxpool_check.judging.oracle import Oracle
from maxpool_check.reference.dtypes import is_float
from maxpool_check.reference.pooling import Pooling
from maxpool_check.specifications import SPECIFICATIONS
from maxpool_check.specifications.specification import Refused


def first_cases(count, *arguments, **options):
    return list(itertools.islice(generate(*arguments, **options), count))


@pytest.mark.parametrize("spec", list(SPECIFICATIONS))
def test_every_document_allows_what_is_drawn_of_it_and_excludes_what_is_drawn_as_invalid(spec):
    allowed = first_cases(60, spec, 0)
    assert all(isinstance(case.resolved, Pooling) for case in allowed)
    assert {case.spec for case in allowed} == {spec}
    assert len({case.sha256 for case in allowed}) == 60
    names = {name for case in allowed for name in case.attributes}
    # The sizes of X are said by X.
    assert names == {name for name in SPECIFICATIONS[spec].attributes if not name.startswith("X_")}
    assert all(isinstance(case.resolved, Refused) for case in first_cases(20, spec, 0, invalid=True))


def test_nearly_nothing_is_rejected():
    assert all(draw(SPECIFICATIONS["onnx-22"], number) is not None for number in range(300))


def test_the_same_seed_draws_the_same_and_another_others():
    once, again, other = ([case.sha256 for case in first_cases(150, "onnx-22", seed)] for seed in (3, 3, 4))
    assert once == again
    assert len(set(once) & set(other)) < 15


@pytest.mark.parametrize(
    ("options", "specs", "sha256"),
    [
        ({}, SPECIFICATIONS, "382b40e49dddf08d54889fccc2d0dbe1c373193bceb745d91d878ce2fbe85ed8"),
        ({"invalid": True}, SPECIFICATIONS, "ea307130afe1dfb7e18a6541a68bd4df7d7abd3d3083281f2aa3df6e9e8ef9a5"),
        (
            {"graphs": 1},
            ("onnx-8", "onnx-22", "sonnx"),
            "6aa470474a4e2faf585ce76012fac63e8a1ba897a1c5496406ae56ead893900f",
        ),
    ],
    ids=["valid", "invalid", "graphs"],
)
def test_a_seed_draws_the_same_on_every_machine_and_with_every_version_of_python(options, specs, sha256):
    drawn = "".join(case.sha256 for spec in specs for case in first_cases(20, spec, 7, **options))
    assert hashlib.sha256(drawn.encode()).hexdigest() == sha256


def test_what_defects_are_made_of_is_drawn():
    cases = first_cases(600, "onnx-22", 0)
    floats = [case for case in cases if is_float(case.X.dtype)]
    assert any((Oracle(case.X.tensor(), case.resolved).pooled.Y == -np.inf).any() for case in floats)
    assert any(np.isnan(case.X.tensor()).any() for case in floats)
    assert any(((case.X.tensor() == 0) & np.signbit(case.X.tensor())).any() for case in floats)
    assert {case.X.dtype.name for case in cases} == set(SPECIFICATIONS["onnx-22"].dtypes)
    assert {case.X.ndim for case in cases} == {3, 4, 5, 6}
    assert {case.X.shape[1] for case in cases} == {1, 2, 3, 16}
    assert {case.X.shape[0] for case in cases} == {1, 2}
    for name, values in {
        "auto_pad": {"NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"}, "ceil_mode": {0, 1}, "storage_order": {0, 1},
    }.items():  # fmt: skip
        assert {case.attributes.get(name) for case in cases} >= values
