"""Samples of SONNX's generated tests, against the reference."""

import json
from pathlib import Path

import numpy as np
import pytest

import maxpool_check

FILES = sorted((Path(__file__).parents[1] / "data/testgenonnx").glob("*.json"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_sample(file):
    test = json.loads(file.read_text())
    dtype = {"double": "float64", "float": "float32"}.get(test["dtype"], test["dtype"])

    def tensor(values, shape, element_type):
        flat = [float(value) if isinstance(value, str) else value for row in values for value in row]
        return np.array(flat, element_type).reshape(shape)

    X = tensor(test["input"]["values"], test["input"]["shape"], dtype)
    pooled = maxpool_check.maxpool(X, spec="sonnx", **test["attributes"])
    expected = test["expected"]
    np.testing.assert_array_equal(pooled.Y, tensor(expected["Y"], expected["shape"], dtype), strict=True)
    np.testing.assert_array_equal(pooled.Indices, tensor(expected["Indices"], expected["shape"], np.int64), strict=True)


def test_there_are_samples():
    assert len(FILES) == 3
