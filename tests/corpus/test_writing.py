"""Written case files read back bit for bit."""

from dataclasses import replace

import numpy as np
import pytest

from maxpool_check.corpus.case_file import read_cases
from maxpool_check.corpus.writing import case_file
from maxpool_check.reference.dtypes import NAMES, NUMPY, is_float
from tests.conftest import shipped

SMALL_CASES = [case for case in shipped().cases if case.X.size <= 200]


def write_and_read(case, folder):
    path = folder / "written.yaml"
    path.write_text(case_file(case, 'Words with: a colon, "quotes" and ümlauts.'), encoding="utf-8")
    (read,) = read_cases(path, folder)
    return read


def test_every_case_of_the_corpus(tmp_path):
    for case in SMALL_CASES:
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
            SMALL_CASES[0],
            spec="openvino-14",
            covers=(),
            X=numbers.reshape(1, 1, -1),
            attributes={},
            outputs=("Y",),
            expect=None,
            context=None,
        )
        assert write_and_read(case, tmp_path).X.tobytes() == numbers.tobytes()
    case = replace(
        SMALL_CASES[0],
        spec="openvino-14",
        covers=(),
        X=X.reshape(1, 4, 100),
        attributes={},
        outputs=("Y",),
        expect=None,
        context=None,
    )
    assert write_and_read(case, tmp_path).X.tobytes() == X.tobytes()
