"""An ONNX model as Python source that builds it with ``onnx.helper``."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import onnx
from onnx import AttributeProto, GraphProto, ModelProto, NodeProto, TensorProto, helper, numpy_helper

from maxpool_check.reproducing.literals import WIDTH, array_text, number_text, value_text

_MOST_NODES = 6
"""The most nodes that a script builds; a larger model is loaded from its file."""

FROM_FILE = [
    "try:",
    '    model = onnx.load(Path(__file__).with_name("model.onnx"))',
    "except OSError as error:",
    '    print("cannot tell:", error)',
    "    sys.exit(125)",
]
"""The lines that load a model which is not built."""


_HELPERS = (
    "make_graph",
    "make_model",
    "make_node",
    "make_opsetid",
    "make_tensor_value_info",
    "np_dtype_to_tensor_dtype",
)


@dataclass(frozen=True)
class Parameters:
    """Expressions that take the place of what a model has.

    They are the names of its ``outputs``, its ``opset``, the ``attributes`` of its only node, and the ``shape`` and ``dtype``
    of its input.
    """

    outputs: str | None = None
    opset: str | None = None
    attributes: str | None = None
    shape: str | None = None
    dtype: str | None = None
    has_ranks_only: bool = True
    """Whether the sizes of outputs are left out, where they are names; in graphs of several nodes, they may matter."""


OF_ANY_X = Parameters(attributes="**attributes", shape="X.shape", dtype="np_dtype_to_tensor_dtype(X.dtype)")
"""The body of a function of X and the attributes."""


def model_source(data: bytes, parameters: Parameters | None = None) -> list[str]:
    """The lines that assign ``model``. They build it, or load ``model.onnx`` where that would be long or not the same."""
    model = onnx.load_from_string(data)
    try:
        lines = list(_lines(model, Parameters()))
        is_same = _meaning(_executed(lines)) == _meaning(model)
    except (ValueError, TypeError, AttributeError):
        is_same = False
    if not is_same:
        return list(FROM_FILE)
    return lines if parameters is None else list(_lines(model, parameters))


def attributes_source(data: bytes) -> str | None:
    """The attributes of the only node of a model as keyword arguments; None if it has others, or cannot be built."""
    model = onnx.load_from_string(data)
    if len(model.graph.node) != 1 or model_source(data) == FROM_FILE:
        return None
    return ", ".join(map(_attribute, model.graph.node[0].attribute))


def smallest_source(data: bytes) -> list[str]:
    """The lines that assign ``smallest``: a MaxPool of one cell, in the operator set of a model."""
    model = onnx.load_from_string(data)
    opset = next(each.version for each in model.opset_import if not each.domain)
    return [
        "smallest = onnx.parser.parse_model(",
        f"""    '<ir_version: {model.ir_version}, opset_import: ["" : {opset}]> smallest (float[1, 1, 1] X)'""",
        "    ' => (float[1, 1, 1] Y) {Y = MaxPool <kernel_shape = [1]> (X)}'",
        ")",
    ]


def needed_imports(lines: Sequence[str]) -> list[str]:
    """The lines that import what such lines use of onnx."""
    text = "\n".join(lines)
    made = [name for name in _HELPERS if f"{name}(" in text]
    names = [name for name in ("TensorProto", "numpy_helper") if f"{name}." in text]
    return [
        *(["import onnx"] if "onnx." in text.replace("model.onnx", "") else []),
        *([f"from onnx import {', '.join(names)}"] if names else []),
        *(_imported("from onnx.helper import", made) if made else []),
    ]


def _imported(start: str, names: Sequence[str]) -> list[str]:
    line = f"{start} {', '.join(names)}"
    return [line] if len(line) <= WIDTH - 4 else ["\n".join([f"{start} (", *(f"    {name}," for name in names), ")"])]


def _lines(model: ModelProto, parameters: Parameters) -> Iterator[str]:
    graph = model.graph
    attributes = [attribute for node in graph.node for attribute in node.attribute]
    if model.functions or len(graph.node) > _MOST_NODES or any(attribute.HasField("g") for attribute in attributes):
        raise ValueError("it is long, or has nodes inside of others")
    arguments = ["nodes", '"maxpool"', "inputs", "outputs"]
    if len(graph.node) == 1:
        yield f"node = {_node(graph.node[0], parameters)}"
        arguments[0] = "[node]"
    else:
        parameters = replace(parameters, has_ranks_only=False)
        yield from _listed("nodes", [_node(node, Parameters()) for node in graph.node])
    yield from _listed("inputs", [_value(value, parameters, is_output=False) for value in graph.input])
    infos = [_value(value, parameters) for value in graph.output]
    if parameters.outputs is None:
        yield from _listed("outputs", infos)
    else:
        arguments[3] = f"infos[:len({parameters.outputs})]"
        yield from _listed("infos", infos)
    if graph.initializer:
        yield from _listed("initializers", [_tensor(tensor, tensor.name) for tensor in graph.initializer])
        arguments.append("initializers")
    imports = [f'make_opsetid("{each.domain}", {parameters.opset or each.version})' for each in model.opset_import]
    graph_text = f"make_graph({', '.join(arguments)})"
    line = f"model = make_model({graph_text}, opset_imports=[{', '.join(imports)}], ir_version={model.ir_version})"
    if len(line) > WIDTH:
        yield f"graph = {graph_text}"
        line = line.replace(graph_text, "graph")
    yield line


def _listed(name: str, entries: Sequence[str]) -> Iterator[str]:
    line = f"{name} = [{', '.join(entries)}]"
    if len(line) <= WIDTH and "\n" not in line:
        yield line
        return
    yield f"{name} = ["
    yield from (f"    {entry}," for entry in entries)
    yield "]"


def _node(node: NodeProto, parameters: Parameters) -> str:
    texts = [f'"{node.op_type}"', _names(node.input), parameters.outputs or _names(node.output)]
    if node.domain:
        texts.append(f'domain="{node.domain}"')
    attributes = [parameters.attributes] if parameters.attributes else map(_attribute, node.attribute)
    return f"make_node({', '.join([*texts, *attributes])})"


def _names(names: Sequence[str]) -> str:
    return "[" + ", ".join(f'"{name}"' for name in names) + "]"


def _attribute(attribute: AttributeProto) -> str:
    if attribute.HasField("t"):
        return f"{attribute.name}={_tensor(attribute.t, attribute.t.name)}"
    value = helper.get_attribute_value(attribute)
    if isinstance(value, bytes):
        value = value.decode()
    elif isinstance(value, float):
        text = number_text(np.float32(value))
        return f"{attribute.name}={text}{'.0' if text.lstrip('-').isdecimal() else ''}"
    else:
        value = value if isinstance(value, int) else list(value)
    return f"{attribute.name}={value_text(value)}"


def _tensor(tensor: TensorProto, name: str) -> str:
    named = f', "{name}"' if name else ""
    return f"numpy_helper.from_array({array_text(numpy_helper.to_array(tensor))}{named})"


def _value(value: onnx.ValueInfoProto, parameters: Parameters, *, is_output: bool = True) -> str:
    """An input with its shape, or an output with its rank alone: the runtime infers it, where all its sizes are names."""
    tensor = value.type.tensor_type
    sizes = [size.dim_param or size.dim_value for size in tensor.shape.dim]
    shape = str(sizes).replace("'", '"')
    if not is_output:
        shape = parameters.shape or shape
    elif parameters.has_ranks_only and sizes and all(isinstance(size, str) for size in sizes):
        shape = "[None] * X.ndim" if parameters.attributes else f"[None] * {len(sizes)}"
    kind = f"TensorProto.{TensorProto.DataType.Name(tensor.elem_type)}"
    if value.name != "Indices":
        kind = parameters.dtype or kind
    return f'make_tensor_value_info("{value.name}", {kind}, {shape})'


def _executed(lines: Sequence[str]) -> ModelProto:
    import ml_dtypes

    names: dict[str, object] = {name: getattr(helper, name) for name in _HELPERS}
    names |= {"np": np, "ml_dtypes": ml_dtypes, "numpy_helper": numpy_helper, "TensorProto": TensorProto}
    # The source was written above, of a model that this package has made.
    exec("\n".join(lines), names)
    model = names["model"]
    assert isinstance(model, ModelProto)
    return model


def _meaning(model: ModelProto) -> tuple[object, ...]:
    """What models have in common that compute the same."""
    graph: GraphProto = model.graph
    values = [numpy_helper.to_array(tensor) for tensor in graph.initializer]
    return (
        [_parts(node) for node in graph.node],
        [(tensor.name, value.dtype, value.shape, value.tobytes()) for tensor, value in zip(graph.initializer, values, strict=True)],
        [(each.name, each.type.tensor_type.elem_type) for each in (*graph.input, *graph.output)],
        [(each.domain, each.version) for each in model.opset_import],
        model.ir_version,
    )  # fmt: skip


def _parts(node: NodeProto) -> tuple[object, ...]:
    """A node, its attributes in the order of their names."""
    attributes = sorted((each.name, each.SerializeToString(deterministic=True)) for each in node.attribute)
    return node.op_type, node.domain, list(node.input), list(node.output), attributes
