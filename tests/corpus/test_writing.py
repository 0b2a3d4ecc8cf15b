"""Written case files read back bit for bit."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from maxpool_check.corpus.case_file import read_cases
from maxpool_check.corpus.tensors import Recipe
from maxpool_check.corpus.writing import case_file
from maxpool_check.graphs.context import MAX_POOL_ALONE
from maxpool_check.reference.dtypes import NAMES, NUMPY, is_float
from tests.conftest import shipped

FEW = 3
"""The cases of each feature that are written in any case."""


def features(case):
    """What of a case is written in a way of its own."""
    yield from (case.spec, case.X.dtype, case.outputs, type(case.expect), case.policies, case.X.ndim, case.tags == ())
    yield "NaN", bool((case.X.tensor() != case.X.tensor()).any()), case.X.dtype
    yield from ((case.spec, name, type(value)) for name, value in case.attributes.items())
    yield from () if case.context.is_alone else map(str, case.context.operators)


def small_cases(most):
    """The small cases of the corpus, at most so many of each feature and of each file."""
    seen = Counter()
    for case in (each for each in shipped().cases if each.X.size <= 200):
        own = {case.id.partition(":")[0], *features(case)}
        if any(seen[feature] < most for feature in own):
            yield case
        seen.update(own)


def write_and_read(case, folder):
    path = folder / "written.yaml"
    path.write_text(case_file(case, 'Words with: a colon, "quotes" and ümlauts.'), encoding="utf-8")
    (read,) = read_cases(path, folder)
    return read


@pytest.mark.parametrize("most", [FEW, pytest.param(10**6, marks=pytest.mark.long)])
def test_cases_of_the_corpus(tmp_path, most):
    for case in small_cases(most):
        read = write_and_read(case, tmp_path)
        assert read.sha256 == case.sha256, case.id
        assert (read.title, read.tags, read.covers) == (case.title, case.tags, case.covers)


@pytest.mark.parametrize("name", NAMES)
def test_every_bit_pattern(name, tmp_path):
    dtype = NUMPY[name]
    patterns = np.random.default_rng(7).integers(0, 2 ** (8 * dtype.itemsize) - 1, 400, f"u{dtype.itemsize}")
    X = patterns.view(dtype)
    if is_float(dtype):
        # Tensors without NaN are written as numbers.
        numbers = X[~np.isnan(X)][:300]
        case = replace(
            next(small_cases(FEW)),
            spec="openvino-14",
            covers=(),
            X=Recipe.of(numbers.reshape(1, 1, -1)),
            attributes={},
            outputs=("Y",),
            expect=None,
            context=MAX_POOL_ALONE,
        )
        assert write_and_read(case, tmp_path).X.tensor().tobytes() == numbers.tobytes()
    case = replace(
        next(small_cases(FEW)),
        spec="openvino-14",
        covers=(),
        X=Recipe.of(X.reshape(1, 4, 100)),
        attributes={},
        outputs=("Y",),
        expect=None,
        context=MAX_POOL_ALONE,
    )
    assert write_and_read(case, tmp_path).X.tensor().tobytes() == X.tobytes()
