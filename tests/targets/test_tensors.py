"""Tensors on their way to a worker and back."""

import base64
import json

import numpy as np
import pytest

from maxpool_check.reference.dtypes import NAMES, NUMPY
from maxpool_check.targets.worker.tensors import BFloat16, decoded, encoded


def there_and_back(value):
    return decoded(json.loads(json.dumps(encoded(value))))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("shape", [(), (0, 3), (2, 3, 4)])
def test_a_tensor_comes_back_with_its_dtype_shape_and_bits(name, shape):
    patterns = np.random.default_rng(0).bytes(int(np.prod(shape)) * NUMPY[name].itemsize)
    X = np.frombuffer(patterns, NUMPY[name]).reshape(shape)
    got = there_and_back(X)
    assert (got.dtype, got.shape, got.tobytes()) == (X.dtype, X.shape, patterns)
    # It is a kernel's to use.
    assert got.flags.writeable


@pytest.mark.parametrize("view", [lambda X: X.T, lambda X: X[:, ::-2], lambda X: X.astype(X.dtype.newbyteorder(">"))])
def test_values_count_and_not_how_they_lie_in_memory(view):
    X = view(np.arange(12, dtype=np.float32).reshape(3, 4))
    got = there_and_back(X)
    assert got.dtype == np.float32
    assert got.dtype.isnative
    assert got.tolist() == X.tolist()


def test_what_is_sent_is_row_major_and_little_endian():
    sent = encoded(np.array([[1, 2], [3, 4]], ">u2").T)
    assert (sent["dtype"], sent["shape"]) == ("uint16", [2, 2])
    assert base64.b64decode(sent["data"]) == bytes([1, 0, 3, 0, 2, 0, 4, 0])


def test_bfloat16_may_be_sent_as_bits():
    got = there_and_back(BFloat16(np.array([0x3F80, 0xFF80], np.uint16)))
    assert (got.dtype, got.tolist()) == (NUMPY["bfloat16"], [1.0, -np.inf])


@pytest.mark.parametrize(
    "value", [np.array(["a", "b"]), np.array([None, 1]), np.zeros(2, "i4,f4"), np.zeros(2, "M8[s]")]
)
def test_what_is_no_tensor_shows_its_type_and_shape(value):
    sent = encoded(value)
    assert (sent["dtype"], sent["shape"], sent["data"]) == (value.dtype.name, [2], None)
    assert there_and_back(value).shape == (2,)


def test_a_dtype_of_several_cells_has_the_shape_that_was_said():
    four = base64.b64encode(np.arange(4, dtype="<f4").tobytes()).decode()
    assert decoded({"dtype": "(2,)f4", "shape": [4], "data": four}).tolist() == [0, 1, 2, 3]
