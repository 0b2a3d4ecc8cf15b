"""The ONNX model of a request: a graph of one MaxPool node, and an activation if the case has one."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np
import onnx
from onnx import NodeProto, TensorProto, helper, numpy_helper

from maxpool_check.graphs.model import add_attributes
from maxpool_check.reference.dtypes import NUMPY, rounded
from maxpool_check.reference.pooling import Activation, Function
from maxpool_check.targets.protocol import Request

NEWEST_OPSET = onnx.defs.onnx_opset_version()
"""The newest operator set that the installed onnx supports."""

SINCE = {Function.RELU: 1, Function.LEAKY_RELU: 1, Function.CLIP: 11}
"""The first operator set with each activation in its present form: the bounds of Clip were attributes before 11."""


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
    model = onnx.ModelProto()
    model.CopyFrom(_without_attributes(opset, dtype, shape, outputs, domain, operator))
    node = model.graph.node[0]
    add_attributes(node, attributes)
    if activation is not None:
        node.output[0] = "maxima"
        following, constants = _activation(activation, dtype)
        model.graph.node.append(following)
        model.graph.initializer.extend(constants)
    return bytes(model.SerializeToString())


@lru_cache(1024)
def _without_attributes(
    opset: int, dtype: str, shape: tuple[int, ...], outputs: tuple[str, ...], domain: str, operator: str
) -> onnx.ModelProto:
    """The model of a MaxPool without attributes, which models of the same shape share."""
    element = helper.np_dtype_to_tensor_dtype(NUMPY[dtype])
    # The sizes of the outputs are symbolic: the runtime infers them.
    rank = [f"D{axis}" for axis in range(len(shape))]
    types = {"Y": element, "Indices": TensorProto.INT64}
    graph = helper.make_graph(
        [helper.make_node(operator, ["X"], outputs, domain=domain)],
        "maxpool",
        [helper.make_tensor_value_info("X", element, shape)],
        [helper.make_tensor_value_info(name, types[name], rank) for name in outputs],
    )
    imports = [helper.make_opsetid(domain, opset)]
    version = helper.find_min_ir_version_for(imports, ignore_unknown=True)
    return helper.make_model(graph, opset_imports=imports, ir_version=version)


def _activation(activation: Activation, dtype: str) -> tuple[NodeProto, list[TensorProto]]:
    """A node from ``maxima`` to Y, and its constants, as in the operator sets from :data:`SINCE` on."""
    function = activation.function
    if function is Function.CLIP:
        values = rounded(activation.values, NUMPY[dtype])
        bounds = [numpy_helper.from_array(value, name) for value, name in zip(values, ("low", "high"), strict=True)]
        return helper.make_node("Clip", ["maxima", "low", "high"], ["Y"]), bounds
    node = helper.make_node(function.value, ["maxima"], ["Y"])
    if function is Function.LEAKY_RELU:
        node.attribute.append(helper.make_attribute("alpha", float(activation.values[0])))
    return node, []
