"""Tensors sent to a worker and back."""

import base64
import json

import numpy as np
import pytest

from maxpool_check.reference.dtypes import NAMES, NUMPY
from maxpool_check.targets.worker.messages import BFloat16, decode, encode


def round_trip(value):
    return decode(json.loads(json.dumps(encode(value))))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("shape", [(), (0, 3), (2, 3, 4)])
def test_a_tensor_comes_back_with_its_dtype_shape_and_bits(name, shape):
    patterns = np.random.default_rng(0).bytes(int(np.prod(shape)) * NUMPY[name].itemsize)
    X = np.frombuffer(patterns, NUMPY[name]).reshape(shape)
    received = round_trip(X)
    assert (received.dtype, received.shape, received.tobytes()) == (X.dtype, X.shape, patterns)
    # Kernels may change it.
    assert received.flags.writeable


@pytest.mark.parametrize("view", [lambda X: X.T, lambda X: X[:, ::-2], lambda X: X.astype(X.dtype.newbyteorder(">"))])
def test_the_memory_layout_does_not_matter(view):
    X = view(np.arange(12, dtype=np.float32).reshape(3, 4))
    received = round_trip(X)
    assert received.dtype == np.float32
    assert received.dtype.isnative
    assert received.tolist() == X.tolist()


def test_sent_tensors_are_row_major_and_little_endian():
    sent = encode(np.array([[1, 2], [3, 4]], ">u2").T)
    assert (sent["dtype"], sent["shape"]) == ("uint16", [2, 2])
    assert base64.b64decode(sent["data"]) == bytes([1, 0, 3, 0, 2, 0, 4, 0])


def test_bfloat16_may_be_sent_as_bits():
    received = round_trip(BFloat16(np.array([0x3F80, 0xFF80], np.uint16)))
    assert (received.dtype, received.tolist()) == (NUMPY["bfloat16"], [1.0, -np.inf])


@pytest.mark.parametrize(
    "value", [np.array(["a", "b"]), np.array([None, 1]), np.zeros(2, "i4,f4"), np.zeros(2, "M8[s]")]
)
def test_of_an_array_that_is_no_tensor_the_type_and_shape_are_sent(value):
    sent = encode(value)
    assert (sent["dtype"], sent["shape"], sent["data"]) == (value.dtype.name, [2], None)
    assert round_trip(value).shape == (2,)


def test_a_dtype_with_a_shape_has_the_shape_of_the_message():
    four = base64.b64encode(np.arange(4, dtype="<f4").tobytes()).decode()
    assert decode({"dtype": "(2,)f4", "shape": [4], "data": four}).tolist() == [0, 1, 2, 3]
