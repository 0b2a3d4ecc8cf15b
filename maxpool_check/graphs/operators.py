"""The operators around MaxPool: what each makes of a tensor, of which of its cells, and how its node is written in an operator set.

onnx is imported on first use: most runs have no graphs of several nodes.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from maxpool_check.graphs.movements import (
    MOVEMENTS,
    conv,
    conv_positions,
    conv_weights,
    global_max_positions,
    split_sizes,
    unpool,
)
from maxpool_check.graphs.node import COMBINING, COUNTS, ELEMENTWISE, Inexact, Node, tensor
from maxpool_check.reference.dtypes import NUMPY, name_of, same
from maxpool_check.specifications.specification import nearest
from maxpool_check.words import plural

if TYPE_CHECKING:
    from onnx.defs import OpSchema

Tensors = Mapping[str, np.ndarray]

OLDEST = 7
"""The oldest operator set that nodes are written in: before, some operators train or broadcast unless told otherwise."""

NEWEST = 28
"""The newest operator set that nodes and models are written in."""

_INTEGER_INPUTS = frozenset({"pads", "axes", "shape", "starts", "ends", "steps", "split", "output_shape"})
_FIXED_DTYPES = {"ratio": "float32", "x_scale": "float32", "y_zero_point": "uint8"}
_ONNX_NAMES = {"float32": "float", "float64": "double"}
OF_SEVERAL = ("Concat", *COMBINING)
"""The operators whose further inputs may be other tensors of the graph."""

_NOT_OF_ONNX = {"Split": ("output",), "Conv": ("weights",), **dict.fromkeys(OF_SEVERAL, ("inputs",))}
_UNSUPPORTED = {
    "Conv": ("auto_pad", "group", "W", "B"),
    "QuantizeLinear": ("block_size", "output_dtype", "precision"),
    "DequantizeLinear": ("block_size", "output_dtype"),
    "Dropout": ("training_mode",),
    "MaxUnpool": ("I",),
    **dict.fromkeys(COMBINING, ("A", "B", "X", "Y", "data_0")),
}
_DISPENSABLE: dict[str, Callable[[Node], bool]] = {
    "allowzero": lambda node: node.integer("allowzero") == 0,
    "steps": lambda node: set(node.integers("steps")) <= {1},
    "num_outputs": lambda _node: True,
}
"""Fields that an operator set without them does not need, and for which values."""


OPERATORS = (*ELEMENTWISE, *MOVEMENTS, *COMBINING, "Conv", "GlobalMaxPool", "MaxUnpool")
"""The names of the operators. MaxPool is none of them: its meaning is that of a document."""


def is_elementwise(node: Node) -> bool:
    """Whether each cell of the output is a function of the cell in its place."""
    return node.op in ELEMENTWISE


def output_count(node: Node, shape: tuple[int, ...], opset: int) -> int:
    """How many outputs a model gives the node, for an input of this shape: those of Split, otherwise 1."""
    return len(split_sizes(node, shape, opset)) if node.op == "Split" else 1


def apply(
    node: Node, X: np.ndarray, opset: int, indices: np.ndarray | None = None, named: Tensors = MappingProxyType({})
) -> np.ndarray:
    """The output of the node, every bit but the payload and sign of NaN; it may share memory with X.

    ``indices`` (int64, of the shape of X) is the input I of MaxUnpool; ``named`` are the tensors that the node may take
    besides. Raises :class:`Inexact` where the ONNX text of this operator set gives no exact, unique result for X, or the
    node is invalid there.
    """
    if node.op not in OPERATORS:
        raise Inexact(f"{node.op} is not an operator with an exact result here")
    dtype = name_of(X.dtype)
    attributes_of(node, opset, X.shape)
    inputs = inputs_of(node, dtype, opset, X.shape, named)
    if node.op in ELEMENTWISE:
        return ELEMENTWISE[node.op](node, X, opset)
    if node.op in COMBINING:
        others = [each for each in inputs.values() if each is not None]
        shapes = [X.shape, *(each.shape for each in others)]
        try:
            np.broadcast_shapes(*shapes)
        except ValueError:
            listed = " and ".join(str([*shape]) for shape in shapes)
            raise Inexact(f"{node.op}: tensors of the shapes {listed} do not broadcast") from None
        return COMBINING[node.op](X, *others)

    def further(value: Any) -> np.ndarray:
        is_name = isinstance(value, str) and node.op == "Concat"
        return named[value] if is_name else tensor(value, dtype, f"a constant of {node.op}")

    Y = _moved(node, X, X, opset, indices, further)
    if node.op == "MaxUnpool" and indices is not None and not same(Y.reshape(-1)[indices], X).all():
        raise Inexact("MaxUnpool of different values with the same index")
    return Y


def positions(
    node: Node,
    cells: np.ndarray,
    X: np.ndarray,
    opset: int,
    indices: np.ndarray | None = None,
    named: Tensors = MappingProxyType({}),
) -> np.ndarray:
    """The numbers of the cells that the output cells are functions of; int64, of the shape of the output.

    ``cells`` (int64, of the shape of X) are numbers of the cells of X; -1 is a constant, of Pad, Concat or MaxUnpool;
    ``named`` are those of the tensors that Concat may take besides. Of several cells with the same index, MaxUnpool is the
    first; GlobalMaxPool is its first maximum. Raises :class:`Inexact` as :func:`apply`, and for a Conv with several taps,
    whose output cells are functions of several. No node is one of :data:`COMBINING`.
    """
    if node.op in ELEMENTWISE:
        return cells

    def constant(value: Any) -> np.ndarray:
        if isinstance(value, str) and node.op == "Concat":
            return named[value]
        return np.full(np.shape(value["data"] if isinstance(value, dict) else value), -1, np.int64)

    return _moved(node, cells, X, opset, indices, constant)


def _moved(
    node: Node, cells: np.ndarray, X: np.ndarray, opset: int, indices: np.ndarray | None,
    constant: Callable[[Any], np.ndarray],
) -> np.ndarray:  # fmt: skip
    """The output of a node that moves cells of X: X itself, or the numbers of its cells."""
    try:
        if node.op == "Conv":
            return conv(node, X) if cells is X else conv_positions(node, cells)
        if node.op == "GlobalMaxPool":
            return cells.reshape(-1)[global_max_positions(node, X)]
        if node.op == "MaxUnpool":
            return unpool(node, cells, indices, constant(0))
        return MOVEMENTS[node.op](node, cells, opset, constant)
    except Inexact:
        raise
    except (ValueError, IndexError) as mistake:
        # numpy checks shapes and axes.
        raise Inexact(f"{node.op}: {mistake}") from mistake


def attributes_of(node: Node, opset: int, shape: tuple[int, ...] = ()) -> dict[str, Any]:
    """The attributes of the node in an operator set, by its names: integers, floats, text and lists.

    ``to`` of Cast is a number of ``TensorProto.DataType``. ``shape`` is that of the node's input, which Conv needs.
    Raises :class:`Inexact` where the node cannot be written there with its meaning.
    """
    from onnx import helper

    known = _schema(node.op, opset).attributes
    attributes = {
        name: _attribute(node, name, value, known[name].type)
        for name, value in _written(node, opset)[0].items()
        if name != "to"
    }
    if node.op == "Cast":
        attributes["to"] = helper.np_dtype_to_tensor_dtype(NUMPY[node.choice("to", tuple(NUMPY))])
    if node.op == "Conv":
        attributes["group"] = conv_weights(node, NUMPY["float32"], shape)[1]
    missing = [name for name, attribute in known.items() if attribute.required and name not in attributes]
    if missing:
        raise Inexact(f"{node.op} of operator set {opset} needs {missing[0]}")
    return attributes


def inputs_of(
    node: Node, dtype: str, opset: int, shape: tuple[int, ...] = (), named: Tensors = MappingProxyType({})
) -> dict[str, np.ndarray | None]:
    """The inputs after the first, by the names and in the order of an operator set.

    None is an input that is left out before another, whose name in the node is empty; and ``I`` of MaxUnpool, which is no
    constant. The names of those of Concat and :data:`COMBINING` are ``inputs_1`` and so on; of these, text is a tensor of
    ``named``. ``dtype`` and ``shape`` are those of the first input; Conv needs the shape. Raises :class:`Inexact` where the
    node cannot be written there with its meaning, or has no such dtype.
    """
    from onnx.defs import OpSchema

    schema, (attributes, fields) = _schema(node.op, opset), _written(node, opset)
    inputs: dict[str, np.ndarray | None] = {}
    for parameter in schema.inputs[1:]:
        name, is_single = parameter.name, parameter.option == OpSchema.FormalParameterOption.Single
        if is_single and name not in fields and node.op not in ("Conv", "MaxUnpool", *OF_SEVERAL):
            raise Inexact(f"{node.op} of operator set {opset} needs {name}")
        inputs[name] = None
        if name in fields:
            is_list = name in _INTEGER_INPUTS
            scalar_dtype = _FIXED_DTYPES.get(name, dtype)
            inputs[name] = np.array(node.integers(name), np.int64) if is_list else node.scalar(name, scalar_dtype)
    if node.op == "Conv":
        inputs["W"] = conv_weights(node, NUMPY[dtype], shape)[0]
    if node.op in OF_SEVERAL:
        inputs = {f"inputs_{n}": each for n, each in enumerate(_further(node, dtype, named), 1)}
    while inputs and list(inputs.values())[-1] is None and list(inputs)[-1] != "I":
        inputs.popitem()
    dtypes = [None if value is None else name_of(value.dtype) for value in inputs.values()]
    _check_types(node, schema, [dtype, *dtypes], opset)
    for name in [name for name in ("value", "min", "max") if name in attributes]:
        # An attribute is float32: it must hold the number of the chain's dtype, or its conversion would count.
        exact = tensor(attributes[name], dtype, name).astype(np.float64)
        if not np.array_equal(exact, np.float64(np.float32(attributes[name])), equal_nan=True):
            kept = f"keeps {name} in float32, which is not the {dtype} of {attributes[name]}"
            raise Inexact(f"{node.op} of operator set {opset} {kept}")
    return inputs


def check_names(node: Node, known: Collection[str]) -> None:
    """Check that the node takes tensors that are known. Raises :class:`Inexact`."""
    names = [name for name in known if name.isidentifier() or "-" in name]
    for name in node.taken:
        if name not in known:
            hint = nearest(name, names) or f"; known are {', '.join(names)}"
            raise Inexact(f"{node.op} takes {name}, which no node before it makes{hint}")


def _further(node: Node, dtype: str, named: Tensors) -> list[np.ndarray]:
    """The tensors of the field ``inputs``. Numbers have the dtype of a named tensor, of Where, or that of the first input."""
    listed, (least, most) = node.fields.get("inputs"), COUNTS.get(node.op, (1, 1))
    if not isinstance(listed, list | tuple):
        raise Inexact(f"{node.op} needs inputs, a list of numbers and names, such as [X]")
    if node.op in COMBINING and not least <= len(listed) <= most:
        count = plural(least, "input") if least == most else f"{least} to {most} inputs"
        raise Inexact(f"{node.op} takes {count} besides its first, got {len(listed)}")
    check_names(node, {**named, node.source: ()})
    names = [each for each in listed if isinstance(each, str)]
    if (node.op == "Where") != (dtype == "bool") and node.op in COMBINING:
        needed = "a condition first, of Equal or Greater" if node.op == "Where" else "numbers; put a Cast before it"
        raise Inexact(f"{node.op} takes {needed}, got {'truth values' if dtype == 'bool' else dtype}")
    if node.op == "Where":
        sources = [
            *(named[name].dtype.name for name in names),
            *(each["dtype"] for each in listed if isinstance(each, dict)),
        ]
        if not sources:
            raise Inexact("Where of numbers alone has no dtype; name it, as in {dtype: float32, data: 1}")
        dtype = sources[0]
    what = f"inputs of {node.op}"
    return [named[each] if isinstance(each, str) else tensor(each, dtype, what) for each in listed]


@cache
def field_names(op: str) -> frozenset[str]:
    """The names of all fields that a node of an operator may have."""
    return frozenset().union(*_names(op, NEWEST), _NOT_OF_ONNX.get(op, ())) - frozenset(_UNSUPPORTED.get(op, ()))


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
    """The names of the attributes, and of the inputs but the first."""
    schema = _schema(op, opset)
    return frozenset(schema.attributes), frozenset(parameter.name for parameter in schema.inputs[1:])


def _written(node: Node, opset: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """The fields of ONNX as attributes and as inputs of an operator set, by its names."""
    attribute_names, input_names = _names(node.op, opset)
    attributes, inputs = {}, {}
    for field, value in node.fields.items():
        if field in _NOT_OF_ONNX.get(node.op, ()) or value is None:
            continue
        if field not in field_names(node.op):
            raise Inexact(f"{node.op} with {field} is not supported")
        axes = [node.integer(field)] if field == "axis" else node.integers(field) if field == "axes" else []
        if opset < 11 and min(axes, default=0) < 0:
            raise Inexact(f"{node.op} of operator set {opset} has no negative axes")
        name = "value" if node.op == "Pad" and field == "constant_value" and opset < 11 else field
        if name in attribute_names:
            attributes[name] = value
        elif name in input_names:
            inputs[name] = value
        elif not (name in _DISPENSABLE and _DISPENSABLE[name](node)):
            raise Inexact(f"{node.op} of operator set {opset} has no {field}")
    return attributes, inputs


def _attribute(node: Node, name: str, value: Any, kind: "OpSchema.AttrType") -> Any:
    """A value of the attribute's type."""
    types = type(kind)
    if kind == types.INTS:
        return node.integers(name)
    if kind == types.INT:
        return node.integer(name)
    if kind == types.FLOAT and isinstance(value, int | float):
        return float(value)
    if kind == types.STRING and isinstance(value, str):
        return value
    raise Inexact(f"{name} of {node.op} cannot be {value}")


def _check_types(node: Node, schema: "OpSchema", dtypes: Sequence[str | None], opset: int) -> None:
    """Check the dtypes of the inputs, and of the output of Cast, against the schema; None is an input without one."""
    parameters = list(schema.inputs)
    if node.op == "Cast":
        dtypes, parameters = [*dtypes, node.choice("to", tuple(NUMPY))], [*parameters, schema.outputs[0]]
    parameters += [parameters[-1]] * (len(dtypes) - len(parameters))
    bound: dict[str, str] = {}
    for dtype, parameter in zip(dtypes, parameters, strict=False):
        if dtype is None:
            continue
        if f"tensor({_ONNX_NAMES.get(dtype, dtype)})" not in parameter.types:
            raise Inexact(f"{node.op} of operator set {opset} has no {dtype}")
        if bound.setdefault(parameter.type_str, dtype) != dtype:
            raise Inexact(f"{node.op} of {bound[parameter.type_str]} in operator set {opset} has no input of {dtype}")
