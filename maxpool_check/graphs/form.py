"""How a node is written in an operator set: what is an attribute there and what an input, and which types it has.

onnx is imported on first use: most runs have no graphs of several nodes.
"""

from collections.abc import Callable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from maxpool_check.graphs.node import Inexact, Node, tensor
from maxpool_check.graphs.windows import conv_weights
from maxpool_check.reference.dtypes import NUMPY

if TYPE_CHECKING:
    from onnx.defs import OpSchema

OLDEST = 7
"""The oldest operator set that nodes are written in: before, some operators train or broadcast unless told otherwise."""

NEWEST = 28
"""The newest operator set that nodes and models are written in."""

_INTEGER_INPUTS = frozenset({"pads", "axes", "shape", "starts", "ends", "steps", "split", "output_shape"})
_FIXED_DTYPES = {"ratio": "float32", "x_scale": "float32", "y_zero_point": "uint8"}
_NOT_OF_ONNX = {"Split": ("output",), "Concat": ("inputs",), "Conv": ("weights",)}
_UNSUPPORTED = {
    "Conv": ("auto_pad", "group", "W", "B"),
    "QuantizeLinear": ("block_size", "output_dtype", "precision"),
    "DequantizeLinear": ("block_size", "output_dtype"),
    "Dropout": ("training_mode",),
    "MaxUnpool": ("I",),
}
_DISPENSABLE: dict[str, Callable[[Node], bool]] = {
    "allowzero": lambda node: node.integer("allowzero") == 0,
    "steps": lambda node: set(node.integers("steps")) <= {1},
    "num_outputs": lambda _node: True,
}
"""Fields that an operator set without them does not need, and for which values."""


def attributes_of(node: Node, opset: int, shape: tuple[int, ...] = ()) -> dict[str, Any]:
    """The attributes of the node in an operator set, by its names: integers, floats, text and lists.

    ``to`` of Cast is a number of ``TensorProto.DataType``. ``shape`` is that of the node's input, which Conv needs.
    Raises :class:`Inexact` where the node cannot be written there with its meaning.
    """
    from onnx import helper

    schema = _schema(node.op, opset)
    values = _written(node, opset)[0]
    attributes = {name: _attribute(node, schema, name, value) for name, value in values.items() if name != "to"}
    if node.op == "Cast":
        attributes["to"] = helper.np_dtype_to_tensor_dtype(NUMPY[node.name("to", tuple(NUMPY))])
    if node.op == "Conv":
        attributes["group"] = conv_weights(node, NUMPY["float32"], shape)[1]
    missing = [name for name, attribute in schema.attributes.items() if attribute.required and name not in attributes]
    if missing:
        raise Inexact(f"{node.op} of operator set {opset} needs {missing[0]}")
    return attributes


def inputs_of(node: Node, dtype: str, opset: int, shape: tuple[int, ...] = ()) -> dict[str, np.ndarray | None]:
    """The inputs after the chain's tensor, by the names and in the order of an operator set.

    None is an input that is left out before another, whose name in the node is empty; and ``I`` of MaxUnpool, which is no
    constant. The names of Concat's are ``inputs_1`` and so on. ``dtype`` and ``shape`` are those of the chain's tensor; Conv needs the shape. Raises :class:`Inexact` where
    the node cannot be written there with its meaning, or has no such dtype.
    """
    from onnx.defs import OpSchema

    schema = _schema(node.op, opset)
    attributes, fields = _written(node, opset)
    inputs: dict[str, np.ndarray | None] = {}
    for parameter in schema.inputs[1:]:
        value = fields.get(parameter.name)
        if (
            value is None
            and parameter.option == OpSchema.FormalParameterOption.Single
            and node.op not in ("Conv", "MaxUnpool")
        ):
            raise Inexact(f"{node.op} of operator set {opset} needs {parameter.name}")
        inputs[parameter.name] = None if value is None else _input(node, parameter.name, dtype)
    if node.op == "Conv":
        inputs["W"] = conv_weights(node, NUMPY[dtype], shape)[0]
    if node.op == "Concat":
        constants = node.fields.get("inputs")
        if not isinstance(constants, list | tuple):
            raise Inexact("Concat needs inputs, a list of tensors")
        inputs = {f"inputs_{n}": tensor(value, dtype, "inputs of Concat") for n, value in enumerate(constants, 1)}
    while inputs and list(inputs.values())[-1] is None and list(inputs)[-1] != "I":
        inputs.popitem()
    _check_types(node, schema, dtype, inputs, opset)
    for name, value in attributes.items():
        if schema.attributes[name].type == OpSchema.AttrType.FLOAT and name in ("value", "min", "max"):
            _check_exact_in_float32(node, name, value, dtype, opset)
    return inputs


@cache
def field_names(op: str) -> frozenset[str]:
    """The names of all fields that a node of an operator may have."""
    names = frozenset().union(*_names(op, NEWEST), _NOT_OF_ONNX.get(op, ()))
    return names - frozenset(_UNSUPPORTED.get(op, ()))


@cache
def _schema(op: str, opset: int) -> "OpSchema":
    import onnx

    if not OLDEST <= opset <= NEWEST:
        raise Inexact(f"operator set {opset} is none of {OLDEST} to {NEWEST}")
    try:
        return onnx.defs.get_schema(op, opset, "")
    except onnx.defs.SchemaError as missing:
        raise Inexact(f"operator set {opset} has no {op}") from missing


@cache
def _names(op: str, opset: int) -> tuple[frozenset[str], frozenset[str]]:
    schema = _schema(op, opset)
    return frozenset(schema.attributes), frozenset(parameter.name for parameter in schema.inputs[1:])


def _written(node: Node, opset: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """The fields of ONNX as attributes and as inputs of an operator set, by its names."""
    attribute_names, input_names = _names(node.op, opset)
    attributes, inputs = {}, {}
    for field, value in node.fields.items():
        if field in _NOT_OF_ONNX.get(node.op, ()) or value is None:
            continue
        if field not in frozenset().union(*_names(node.op, NEWEST)) or field in _UNSUPPORTED.get(node.op, ()):
            raise Inexact(f"{node.op} with {field} is not supported")
        if opset < 11 and (
            (field == "axis" and node.integer(field) < 0)
            or (field == "axes" and min(node.integers(field), default=0) < 0)
        ):
            raise Inexact(f"{node.op} of operator set {opset} has no negative axes")
        name = "value" if node.op == "Pad" and field == "constant_value" and opset < 11 else field
        if name in attribute_names:
            attributes[name] = value
        elif name in input_names:
            inputs[name] = value
        elif not (name in _DISPENSABLE and _DISPENSABLE[name](node)):
            raise Inexact(f"{node.op} of operator set {opset} has no {field}")
    return attributes, inputs


def _attribute(node: Node, schema: "OpSchema", name: str, value: Any) -> Any:
    """A value of the attribute's type."""
    from onnx.defs import OpSchema

    kind = schema.attributes[name].type
    if kind == OpSchema.AttrType.INTS:
        return node.integers(name)
    if kind == OpSchema.AttrType.INT:
        return node.integer(name)
    if kind == OpSchema.AttrType.FLOAT and isinstance(value, int | float):
        return float(value)
    if kind == OpSchema.AttrType.STRING and isinstance(value, str):
        return value
    raise Inexact(f"{name} of {schema.name} cannot be {value}")


def _input(node: Node, name: str, dtype: str) -> np.ndarray:
    if name in _INTEGER_INPUTS:
        return np.array(node.integers(name), np.int64)
    return node.scalar(name, _FIXED_DTYPES.get(name, dtype))


def _check_types(
    node: Node, schema: "OpSchema", dtype: str, inputs: Mapping[str, np.ndarray | None], opset: int
) -> None:
    """Check the dtypes of the inputs, and of the output of Cast, against the type constraints."""
    constraints = _constraints(node.op, opset)
    dtypes = [dtype, *(None if value is None else value.dtype.name for value in inputs.values())]
    types = [parameter.type_str for parameter in schema.inputs]
    types += [types[-1]] * (len(dtypes) - len(types))
    if node.op == "Cast":
        dtypes, types = [dtype, node.name("to", tuple(NUMPY))], [*types, schema.outputs[0].type_str]
    bound: dict[str, str] = {}
    for name, type_name in zip(dtypes, types, strict=False):
        if name is None:
            continue
        if name not in constraints.get(type_name, {type_name}):
            raise Inexact(f"{node.op} of operator set {opset} has no {name}")
        if bound.setdefault(type_name, name) != name:
            raise Inexact(f"{node.op} of {bound[type_name]} in operator set {opset} has no input of {name}")


@cache
def _constraints(op: str, opset: int) -> dict[str, frozenset[str]]:
    """The dtypes that each type of the schema may be, by its name there."""
    from onnx import TensorProto, helper

    names = {
        f"tensor({TensorProto.DataType.Name(helper.np_dtype_to_tensor_dtype(dtype)).lower()})": name
        for name, dtype in NUMPY.items()
    }
    schema = _schema(op, opset)
    constraints = {
        constraint.type_param_str: frozenset(
            names[allowed] for allowed in constraint.allowed_type_strs if allowed in names
        )
        for constraint in schema.type_constraints
    }
    return {**{written: frozenset({name}) for written, name in names.items()}, **constraints}


def _check_exact_in_float32(node: Node, name: str, value: Any, dtype: str, opset: int) -> None:
    """An attribute is float32: it must hold the number of the chain's dtype, or its conversion would count."""
    exact = tensor(value, dtype, name).astype(np.float64)
    if not np.array_equal(exact, np.float64(np.float32(value)), equal_nan=True):
        raise Inexact(f"{node.op} of operator set {opset} keeps {name} in float32, which is not the {dtype} of {value}")
