"""ONNX models: of a MaxPool alone, with an activation behind it, and of one in a graph of several nodes."""

import math
from collections.abc import Mapping
from functools import lru_cache
from itertools import zip_longest
from typing import Any

import numpy as np
from onnx import AttributeProto, GraphProto, ModelProto, NodeProto, TensorProto, ValueInfoProto, helper, numpy_helper

from maxpool_check.graphs.context import BEHIND, MAX_POOL, GraphModel, MaxPoolGraph, name_before, wired
from maxpool_check.graphs.node import Node
from maxpool_check.graphs.operators import Tensors, attributes_of, inputs_of, output_count
from maxpool_check.reference.dtypes import NUMPY, name_of, rounded
from maxpool_check.reference.pooling import Activation, Function

ACTIVATIONS_SINCE = {Function.RELU: 1, Function.LEAKY_RELU: 1, Function.CLIP: 11}
"""The first operator set with each activation in its present form: the bounds of Clip were attributes before 11."""

_LOCAL = "maxpool_check.local"
"""The domain of the model-local function that holds the nodes of a context inside a function."""


_FLOATS = frozenset({"activation_params"})
"""The attributes whose lists hold floats, also where they are empty."""


def add_attributes(node: NodeProto, attributes: Mapping[str, Any]) -> None:
    """Add attributes to a node, unchanged, valid or not."""
    for name, value in attributes.items():
        # onnx cannot derive the type of an empty list, and has no truth values.
        is_of_integers = isinstance(value, list) and all(isinstance(each, int) for each in value)
        if is_of_integers and (value or name not in _FLOATS):
            node.attribute.add(name=name, type=AttributeProto.INTS, ints=map(int, value))
        else:
            kind = AttributeProto.FLOATS if value == [] else None
            node.attribute.append(helper.make_attribute(name, value, attr_type=kind))


def maxpool_model(
    opset: int,
    attributes: Mapping[str, Any],
    dtype: str,
    shape: tuple[int, ...],
    outputs: tuple[str, ...],
    activation: Activation | None = None,
    domain: str = "",
    operator: str = MAX_POOL,
) -> bytes:
    """The bytes of a model of one node with input X and the requested outputs, in the oldest file format that has the opset.

    The attributes are written unchanged, valid or not: whether a runtime refuses them is tested.
    ``activation`` is a node after the MaxPool; ``domain`` is that of the ``operator``, and ``opset`` a version of that domain.
    """
    # In place: a run makes so many models that the copies of onnx.helper would count.
    model = ModelProto(opset_import=[helper.make_opsetid(domain, opset)])
    model.ir_version = helper.find_min_ir_version_for(model.opset_import, ignore_unknown=True)
    graph = model.graph
    graph.name = "maxpool"
    names = outputs if activation is None else ("maxima", *outputs[1:])
    add_attributes(graph.node.add(op_type=operator, input=["X"], output=names, domain=domain), attributes)
    if activation is not None:
        if activation.function is Function.CLIP:
            bounds = zip(("low", "high"), rounded(activation.values, NUMPY[dtype]), strict=True)
            graph.initializer.extend(numpy_helper.from_array(value, name) for name, value in bounds)
        inputs = ["maxima", *(constant.name for constant in graph.initializer)]
        behind = graph.node.add(op_type=activation.function.value, input=inputs, output=["Y"])
        if activation.function is Function.LEAKY_RELU:
            add_attributes(behind, {"alpha": float(activation.values[0])})
    graph.input.append(_value("X", dtype, shape))
    # The sizes of the outputs are symbolic: the runtime infers them.
    symbols, dtypes = tuple(f"D{axis}" for axis in range(len(shape))), {"Y": dtype, "Indices": "int64"}
    graph.output.extend(_value(name, dtypes[name], symbols) for name in outputs)
    return bytes(model.SerializeToString())


def build(graph: MaxPoolGraph, outputs: tuple[str, ...]) -> GraphModel:
    """The model of a graph with these outputs of ``Y`` and ``Indices``, and its side outputs.

    It has the input X, unless that is an initializer, and is in the oldest file format that has the operator set. Raises
    ``Inexact`` for a node that its operator set does not have.
    """
    return _ModelBuilder(graph, outputs).built()


class _ModelBuilder:
    def __init__(self, graph: MaxPoolGraph, outputs: tuple[str, ...]) -> None:
        self._graph, self._context = graph, graph.context
        self._outputs = outputs
        self._nodes: list[NodeProto] = []
        self._initializers: list[TensorProto] = []
        self._inputs: dict[str, np.ndarray] = {}
        self._names = {"X": "X"}

    def built(self) -> GraphModel:
        context, X, entering = self._context, self._graph.X, self._graph.entering
        tensors = {"Y": self._chain(), BEHIND: entering}
        tensors |= {name: self._graph.flow[n] for name, n in context.side_outputs.items() if n is not None}
        types = {name: (name_of(tensor.dtype), tensor.ndim) for name, tensor in tensors.items()}
        types["Indices"] = ("int64", entering.ndim)
        names = (*self._outputs, *context.side_outputs)
        results = [_open_value(name, *types[name]) for name in names]
        inputs = [_value(name, tensor.dtype.name, tensor.shape) for name, tensor in self._inputs.items()]
        if context.initializer:
            self._initializers.insert(0, numpy_helper.from_array(X, "X"))
        else:
            inputs.insert(0, _value("X", X.dtype.name, context.dimensions or X.shape))
        imports = [helper.make_opsetid("", context.opset)]
        functions = []
        if context.inside == "If":
            self._inputs["condition"] = np.array(True)
            inputs.append(_value("condition", "bool", ()))
            branches = {branch: self._subgraph(branch, results) for branch in ("then_branch", "else_branch")}
            self._nodes = [helper.make_node("If", ["condition"], list(names), **branches)]
        elif context.inside == "Loop":
            self._nodes = [self._loop({name: types[name] for name in names}, results)]
        elif context.inside == "function":
            taken = ["X", *self._inputs]
            functions = [helper.make_function(_LOCAL, "Pooling", taken, list(names), self._nodes, imports[:])]
            imports.append(helper.make_opsetid(_LOCAL, 1))
            self._nodes = [helper.make_node("Pooling", taken, names, domain=_LOCAL)]
        body = helper.make_graph(self._nodes, "maxpool", inputs, results, self._initializers)
        version = helper.find_min_ir_version_for(imports[:1], ignore_unknown=True)
        # Initializers that are no inputs are new in version 4 of the file format, model-local functions in version 8.
        version = max(version, 4 if self._initializers else 0, 8 if functions else 0)
        model = helper.make_model(body, opset_imports=imports, ir_version=version, functions=functions)
        return GraphModel(bytes(model.SerializeToString()), self._inputs)

    def _chain(self) -> np.ndarray:
        """Add all nodes; the reference's Y of the graph."""
        context, graph = self._context, self._graph
        value, tensors = "X", graph.named
        last = "Y" if "Y" in self._outputs else "unused"
        for number, node in enumerate(wired(context.before, "X")):
            value = self._add(node, name_before(number), tensors)
        maxima = last if not context.after and context.consumers == 1 else BEHIND
        needs_indices = "Indices" in self._outputs or context.uses_indices
        subtracts = bool(context.indices) and needs_indices
        if subtracts:
            # PyTorch's exporter subtracts the index of the first cell of each plane from Indices.
            entering = graph.entering
            axes = [*range(2, entering.ndim)]
            ones = [1] * len(axes)
            self._append(MAX_POOL, [value], ["cells", "cell_numbers"], {"kernel_shape": ones, "strides": ones})
            first = Node("Slice", {"axes": axes, "starts": [0] * len(axes), "ends": ones}, source="cell_numbers")
            self._add(first, "first", {"cell_numbers": entering})
        pooled = [maxima, "numbers" if subtracts else "Indices"] if needs_indices else [maxima]
        value = self._append(MAX_POOL, [value], pooled, graph.attributes)
        if subtracts:
            is_last = context.indices == "plane"
            self._append("Sub", ["numbers", "first"], ["Indices" if is_last else "in_plane"], {})
            if not is_last:
                planes, size = entering.shape[:2], math.prod(entering.shape[2:])
                offsets = np.arange(math.prod(planes)).reshape(*planes, *ones) * size
                self._append("Add", ["in_plane", self._constant("offsets", offsets, "initializer")], ["Indices"], {})
        self._names["Y"], tensors["Y"] = value, graph.following[0]
        for number, (node, result) in enumerate(zip(wired(context.after, "Y"), graph.following[1:], strict=True)):
            is_last = number == len(context.after) - 1
            value = self._add(node, last if is_last else f"after_{number}", tensors)
            tensors[node.name] = result
        if not context.after and context.consumers > 1 and last == "Y":
            self._nodes.append(helper.make_node("Identity", [value], ["Y"]))
        return graph.following[-1]

    def _add(self, node: Node, output: str, tensors: Tensors) -> str:
        """Add a node that takes some of the tensors, with its constants; the name of its output."""
        opset, tensor, names = self._context.opset, tensors[node.source], [self._names.get(node.source, node.source)]
        prefix = f"{output}_{node.op.lower()}"
        self._names[node.name] = output
        if node.op == MAX_POOL:
            return self._append(MAX_POOL, names, [output], node.fields)
        inputs = inputs_of(node, name_of(tensor.dtype), opset, tensor.shape, tensors)
        # The field of those that may be tensors of the graph has each of them.
        for (name, value), given in zip_longest(inputs.items(), node.fields.get("inputs") or ()):
            if name == "I":
                names.append("Indices")
            elif isinstance(given, str):
                names.append(self._names[given])
            else:
                names.append("" if value is None else self._constant(f"{prefix}_{name}", value, node.constants))
        outputs = [output]
        if node.op == "Split":
            outputs = [f"{prefix}_{number}" for number in range(output_count(node, tensor.shape, opset))]
            outputs[int(node.fields.get("output", 0))] = output
        self._append(node.op, names, outputs, attributes_of(node, opset, tensor.shape))
        return output

    def _append(self, op: str, inputs: list[str], outputs: list[str], attributes: Mapping[str, Any]) -> str:
        self._nodes.append(helper.make_node(op, inputs, outputs))
        add_attributes(self._nodes[-1], attributes)
        return outputs[0]

    def _constant(self, name: str, value: np.ndarray, form: str) -> str:
        if form == "input":
            self._inputs[name] = value
        elif form == "constant" or self._context.inside == "function":
            # A function has no initializers.
            self._nodes.append(helper.make_node("Constant", [], [name], value=numpy_helper.from_array(value)))
        else:
            self._initializers.append(numpy_helper.from_array(value, name))
        return name

    def _loop(self, types: Mapping[str, tuple[str, int]], results: list[ValueInfoProto]) -> NodeProto:
        """A Loop of one iteration, whose body holds the nodes and carries their outputs."""
        self._initializers.append(numpy_helper.from_array(np.array(1, np.int64), "trips"))
        for name, (dtype, rank) in types.items():
            start = np.zeros((1,) * rank, NUMPY[dtype])
            self._initializers.append(numpy_helper.from_array(start, f"start_{name}"))
        body = self._subgraph("body", results)
        body.input.extend([_value("iteration", "int64", ()), _value("go", "bool", ())])
        body.input.extend(_open_value(f"carried_{name}", *types[name], f"c_{name}") for name in types)
        body.node.insert(0, helper.make_node("Identity", ["go"], ["go_on"]))
        body.output.insert(0, _value("go_on", "bool", ()))
        return helper.make_node("Loop", ["trips", "", *(f"start_{name}" for name in types)], list(types), body=body)

    def _subgraph(self, name: str, results: list[ValueInfoProto]) -> GraphProto:
        """The nodes as a graph inside of another, whose names must be its own."""
        graph = helper.make_graph(self._nodes, name, [], results)
        names = {output: f"{name}_{output}" for node in self._nodes for output in node.output if output}
        for node in graph.node:
            node.input[:] = [names.get(each, each) for each in node.input]
            node.output[:] = [names.get(each, each) for each in node.output]
        for output in graph.output:
            output.name = names[output.name]
        return graph


def _open_value(name: str, dtype: str, rank: int, sizes: str = "") -> ValueInfoProto:
    """A tensor whose sizes have names, which begin with ``sizes``, by default its own name."""
    return _value(name, dtype, tuple(f"{sizes or name}_{axis}" for axis in range(rank)))


@lru_cache(256)  # most models have the same
def _value(name: str, dtype: str, shape: tuple[int | str, ...]) -> ValueInfoProto:
    """A tensor; whoever changes it copies it."""
    value = ValueInfoProto(name=name)
    tensor = value.type.tensor_type
    tensor.elem_type = TensorProto.BOOL if dtype == "bool" else helper.np_dtype_to_tensor_dtype(NUMPY[dtype])
    # A shape of no axes is one, too.
    tensor.shape.SetInParent()
    for size in shape:
        axis = tensor.shape.dim.add()
        setattr(axis, "dim_param" if isinstance(size, str) else "dim_value", size)
    return value
