"""The ONNX model of one question: a graph of one MaxPool node."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import onnx
from onnx import TensorProto, helper

NEWEST_OPSET = onnx.defs.onnx_opset_version()
"""The newest operator set that models can be built for."""


def build(
    opset: int,
    attributes: Mapping[str, Any],
    dtype: str,
    shape: tuple[int, ...],
    outputs: tuple[str, ...],
) -> bytes:
    """The bytes of a model with input X and the outputs asked for, in the oldest file format that has the opset.

    The attributes are written as they are, right or wrong: whether a runtime refuses them is one of the questions.
    """
    element = getattr(TensorProto, dtype.upper().replace("FLOAT64", "DOUBLE") if dtype != "float32" else "FLOAT")
    node = helper.make_node("MaxPool", ["X"], outputs)
    for name, value in attributes.items():
        # An empty list could be one of anything; a truth value is written as the integer it is to ONNX.
        empty = isinstance(value, list) and not value
        written = [int(v) if isinstance(v, bool) else v for v in value] if isinstance(value, list) else value
        node.attribute.append(
            helper.make_attribute(name, written, attr_type=onnx.AttributeProto.INTS if empty else None)
        )
    # The sizes of the outputs are left open: what they are is the runtime's to say.
    rank = [f"D{axis}" for axis in range(len(shape))]
    types = {"Y": element, "Indices": TensorProto.INT64}
    graph = helper.make_graph(
        [node],
        "maxpool",
        [helper.make_tensor_value_info("X", element, shape)],
        [helper.make_tensor_value_info(name, types[name], rank) for name in outputs],
    )
    imports = [helper.make_opsetid("", opset)]
    version = helper.find_min_ir_version_for(imports)
    return bytes(helper.make_model(graph, opset_imports=imports, ir_version=version).SerializeToString())
