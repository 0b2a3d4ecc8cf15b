"""The ONNX model of a request: a graph of one MaxPool node, and an activation if the case has one.

Its bytes are those that onnx would write, without its import, and in a third of its time. The numbers are those of the fields
in onnx.proto.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from maxpool_check.graphs.form import NEWEST
from maxpool_check.reference.dtypes import NUMPY, rounded
from maxpool_check.reference.pooling import Activation, Function
from maxpool_check.targets.protocol import Request

if TYPE_CHECKING:
    from onnx import NodeProto, TensorProto

NEWEST_OPSET = NEWEST
"""The newest operator set that models are written in."""

SINCE = {Function.RELU: 1, Function.LEAKY_RELU: 1, Function.CLIP: 11}
"""The first operator set with each activation in its present form: the bounds of Clip were attributes before 11."""

_ELEMENTS = {
    "float32": 1, "uint8": 2, "int8": 3, "uint16": 4, "int16": 5, "int32": 6, "int64": 7, "bool": 9, "float16": 10,
    "float64": 11, "uint32": 12, "uint64": 13, "bfloat16": 16,
}  # fmt: skip
"""``TensorProto.DataType``, by the names of dtypes."""

_FORMATS = {28: 14, 25: 13, 24: 12, 23: 11, 21: 10, 19: 9, 15: 8, 12: 7, 11: 6, 10: 5, 9: 4}
"""The oldest version of the file format, by the first operator set that needs it; descending."""

_OLDEST_FORMAT = 3

_INT, _STRING, _INTS = 2, 3, 7
"""``AttributeProto.AttributeType``."""

_INT64 = range(-(2**63), 2**63)


def smallest_request(opset: int, domain: str = "") -> Request:
    """A request for the smallest MaxPool, over one spatial axis."""
    X, attributes = np.zeros((1, 1, 1), np.float32), {"kernel_shape": [1]}
    return Request(X, ("Y",), build(opset, attributes, "float32", X.shape, ("Y",), domain=domain), attributes)


def build(
    opset: int,
    attributes: Mapping[str, Any],
    dtype: str,
    shape: tuple[int, ...],
    outputs: tuple[str, ...],
    activation: Activation | None = None,
    domain: str = "",
    operator: str = "MaxPool",
) -> bytes:
    """The bytes of a model with input X and the requested outputs, in the oldest file format that has the opset.

    The attributes are written unchanged, valid or not: whether a runtime refuses them is tested.
    ``activation`` is a node after the MaxPool; ``domain`` is that of the ``operator``, and ``opset`` a version of that domain.
    """
    constants: list[TensorProto] = []
    following = b""
    names = outputs
    if activation is not None:
        names = ("maxima", *outputs[1:])
        node, constants = _activation(activation, dtype)
        following = _message(1, node.SerializeToString())
    begin, end = _around_attributes(names, operator, domain)
    written = b"".join([_message(5, _attribute(name, value)) for name, value in attributes.items()])
    initializers = b"".join([_message(5, constant.SerializeToString()) for constant in constants])
    pool = _message(1, begin + written + end)
    graph = pool + following + _GRAPH_NAME + initializers + _values(dtype, shape, outputs)
    version, imports = _versions(opset, domain)
    return version + _message(7, graph) + imports


_GRAPH_NAME = b"\x12\x07maxpool"


@lru_cache(64)
def _versions(opset: int, domain: str) -> tuple[bytes, bytes]:
    """The version of the file format, and the operator set."""
    version = next((version for first, version in _FORMATS.items() if opset >= first and not domain), _OLDEST_FORMAT)
    return _integer(1, version), _message(8, _message(1, domain.encode()) + _integer(2, opset))


@lru_cache(64)
def _around_attributes(outputs: tuple[str, ...], operator: str, domain: str) -> tuple[bytes, bytes]:
    """What stands in a node before its attributes, and behind them."""
    names = [_message(1, b"X"), *(_message(2, name.encode()) for name in outputs)]
    return b"".join([*names, _message(4, operator.encode())]), _message(7, domain.encode())


@lru_cache(1024)
def _values(dtype: str, shape: tuple[int, ...], outputs: tuple[str, ...]) -> bytes:
    """The input and the outputs of a graph, which models of the same shape share."""
    # The sizes of the outputs are symbolic: the runtime infers them.
    sizes = [_integer(1, size) for size in shape]
    symbols = [_message(2, f"D{axis}".encode()) for axis in range(len(shape))]
    types = {"Y": _ELEMENTS[dtype], "Indices": _ELEMENTS["int64"]}
    results = [_message(12, _value(name, types[name], symbols)) for name in outputs]
    return b"".join([_message(11, _value("X", _ELEMENTS[dtype], sizes)), *results])


def _value(name: str, element: int, dimensions: list[bytes]) -> bytes:
    """A ``ValueInfoProto`` of a tensor."""
    shape = b"".join(_message(1, dimension) for dimension in dimensions)
    return _message(1, name.encode()) + _message(2, _message(1, _integer(1, element) + _message(2, shape)))


def _attribute(name: str, value: Any) -> bytes:
    """An ``AttributeProto``."""
    if type(value) is list and set(map(type, value)) == {int}:
        return _integers(name, tuple(value))
    text = _message(1, name.encode())
    if type(value) is int and value in _INT64:
        return text + _integer(3, value) + _integer(20, _INT)
    if isinstance(value, str):
        return text + _message(4, value.encode()) + _integer(20, _STRING)
    return _unusual_attribute(name, value)


# Lists of a few values come again and again.
@lru_cache(4096)
def _integers(name: str, values: tuple[int, ...]) -> bytes:
    """An ``AttributeProto`` of a list of integers."""
    if not all(value in _INT64 for value in values):
        return _unusual_attribute(name, list(values))
    return _message(1, name.encode()) + b"".join(_integer(8, value) for value in values) + _integer(20, _INTS)


def _unusual_attribute(name: str, value: Any) -> bytes:
    """An attribute of another type, as onnx writes it."""
    import onnx

    from maxpool_check.graphs.model import add_attributes

    node = onnx.NodeProto()
    add_attributes(node, {name: value})
    return bytes(node.attribute[0].SerializeToString())


def _message(field: int, content: bytes) -> bytes:
    """A field that is a message or a text."""
    return _varint(field << 3 | 2) + _varint(len(content)) + content


def _integer(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _varint(value: int) -> bytes:
    """An integer as protobuf writes it: seven bits to a byte, the lowest first."""
    if 0 <= value < 128:
        return bytes((value,))
    value &= 2**64 - 1
    written = bytearray()
    while value > 127:
        written.append(value & 127 | 128)
        value >>= 7
    return bytes([*written, value])


def _activation(activation: Activation, dtype: str) -> "tuple[NodeProto, list[TensorProto]]":
    """A node from ``maxima`` to Y, and its constants, as in the operator sets from :data:`SINCE` on."""
    from onnx import helper, numpy_helper

    function = activation.function
    if function is Function.CLIP:
        values = rounded(activation.values, NUMPY[dtype])
        bounds = [numpy_helper.from_array(value, name) for value, name in zip(values, ("low", "high"), strict=True)]
        return helper.make_node("Clip", ["maxima", "low", "high"], ["Y"]), bounds
    node = helper.make_node(function.value, ["maxima"], ["Y"])
    if function is Function.LEAKY_RELU:
        node.attribute.append(helper.make_attribute("alpha", float(activation.values[0])))
    return node, []
