"""An ONNX model as Python source that builds it with ``onnx.helper``."""

from collections.abc import Iterator, Sequence

import numpy as np
import onnx
from onnx import AttributeProto, GraphProto, ModelProto, NodeProto, TensorProto, helper, numpy_helper

from maxpool_check.reproducing.literals import WIDTH, array_text, number_text

_MOST_NODES = 6
"""The most nodes that a script builds; a larger model is loaded from its file."""

FROM_FILE = ['model = onnx.load(Path(__file__).with_name("model.onnx"))']
"""The line that loads a model which is not built."""


_HELPERS = ("make_graph", "make_model", "make_node", "make_opsetid", "make_tensor_value_info")


def model_source(
    data: bytes, *, outputs: str | None = None, opset: str | None = None, shape: str | None = None
) -> list[str]:
    """The lines that assign ``model``. They build it, or load ``model.onnx`` where that would be long or not the same.

    ``outputs``, ``opset`` and ``shape`` are expressions that take the place of the names of its outputs, its operator set, and
    the shape of its inputs.
    """
    model = onnx.load_from_string(data)
    try:
        lines = list(_lines(model))
        is_same = _meaning(_executed(lines)) == _meaning(model)
    except (ValueError, TypeError, AttributeError):
        is_same = False
    if not is_same:
        return list(FROM_FILE)
    return list(_lines(model, outputs, opset, shape)) if outputs or opset or shape else lines


def needed_imports(lines: Sequence[str]) -> list[str]:
    """The lines that import what such lines use of onnx."""
    text = "\n".join(lines)
    made = [name for name in _HELPERS if f"{name}(" in text]
    names = [name for name in ("TensorProto", "numpy_helper") if f"{name}." in text]
    return [
        *(["import onnx"] if "onnx." in text.replace("model.onnx", "") else []),
        *([f"from onnx import {', '.join(names)}"] if names else []),
        *([f"from onnx.helper import {', '.join(made)}"] if made else []),
    ]


def _lines(
    model: ModelProto, outputs: str | None = None, opset: str | None = None, shape: str | None = None
) -> Iterator[str]:
    graph = model.graph
    attributes = [attribute for node in graph.node for attribute in node.attribute]
    if model.functions or len(graph.node) > _MOST_NODES or any(attribute.HasField("g") for attribute in attributes):
        raise ValueError("it is long, or has nodes inside of others")
    arguments = ["nodes", '"maxpool"', "inputs", "outputs"]
    if len(graph.node) == 1:
        yield f"node = {_node(graph.node[0], outputs)}"
        arguments[0] = "[node]"
    else:
        yield from _listed("nodes", [_node(node) for node in graph.node])
    yield from _listed("inputs", [_value(value, is_output=False, shape=shape) for value in graph.input])
    infos = [_value(value) for value in graph.output]
    if outputs is None:
        yield from _listed("outputs", infos)
    else:
        arguments[3] = f"infos[:len({outputs})]"
        yield from _listed("infos", infos)
    if graph.initializer:
        yield from _listed("initializers", [_tensor(tensor, tensor.name) for tensor in graph.initializer])
        arguments.append("initializers")
    imports = [f'make_opsetid("{each.domain}", {opset or each.version})' for each in model.opset_import]
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


def _node(node: NodeProto, outputs: str | None = None) -> str:
    texts = [f'"{node.op_type}"', _names(node.input), outputs or _names(node.output)]
    if node.domain:
        texts.append(f'domain="{node.domain}"')
    return f"make_node({', '.join([*texts, *map(_attribute, node.attribute)])})"


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
    text = (
        f'"{value}"' if isinstance(value, str) and value.isprintable() and not set('"\\') & set(value) else repr(value)
    )
    return f"{attribute.name}={text}"


def _tensor(tensor: TensorProto, name: str) -> str:
    named = f', "{name}"' if name else ""
    return f"numpy_helper.from_array({array_text(numpy_helper.to_array(tensor))}{named})"


def _value(value: onnx.ValueInfoProto, *, is_output: bool = True, shape: str | None = None) -> str:
    """An input with its shape, or an output without it: the runtime infers it, where all its sizes are names."""
    tensor = value.type.tensor_type
    sizes = [size.dim_param or size.dim_value for size in tensor.shape.dim]
    known = None if is_output and all(isinstance(size, str) for size in sizes) else sizes
    names = shape or str(known).replace("'", '"')
    kind = TensorProto.DataType.Name(tensor.elem_type)
    return f'make_tensor_value_info("{value.name}", TensorProto.{kind}, {names})'


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
