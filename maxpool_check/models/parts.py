"""Models made of a user's model: with further outputs, with the results of MaxPool as inputs, with constants moved by one ulp."""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace

import numpy as np
from onnx import ModelProto, TensorProto, ValueInfoProto, helper, numpy_helper

from maxpool_check.graphs.operators import OPERATORS
from maxpool_check.models.model_file import BadModel, UserModel, graphs, size_of, subgraphs, taken, tensors
from maxpool_check.models.shapes import Types
from maxpool_check.reference.dtypes import NUMPY, is_float
from maxpool_check.targets.protocol import Request

MOST_BYTES = 512 * 2**20
"""The largest model that is sent to a worker."""

_RANDOM = ("RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike", "Multinomial", "Bernoulli")
"""Operators whose outputs are others in each run."""

_EXACT = (
    *(*OPERATORS, "MaxPool", "Constant", "ConstantOfShape", "Shape", "Size", "Gather", "GatherND", "GatherElements"),
    *("ScatterND", "ScatterElements", "ArgMax", "ArgMin", "TopK", "Where", "Equal", "Greater", "Less", "Not", "And"),
    *("Or", "Max", "Min", "Expand", "Tile", "Range", "NonZero", "Compress", "OneHot", "GreaterOrEqual", "LessOrEqual"),
)
"""Operators whose outputs have one right value, so that nothing may be rounded otherwise. Of ``OPERATORS``, Conv is not."""


def inlined(model: UserModel) -> ModelProto:
    """The model with all its constants inside, missing ones as inputs, and no name of two nodes: some runtimes refuse these.

    Raises :class:`BadModel` and ``OSError``.
    """
    if sum(map(size_of, tensors(model.proto.graph))) > MOST_BYTES:
        raise BadModel(f"its constants have more than {MOST_BYTES >> 20} MB")
    copy = ModelProto()
    copy.CopyFrom(model.proto)
    graph = copy.graph
    absent = [tensor for tensor in graph.initializer if tensor.name in model.missing]
    if absent:
        kept = [tensor for tensor in graph.initializer if tensor.name not in model.missing]
        del graph.initializer[:]
        graph.initializer.extend(kept)
        declared = {value.name for value in graph.input}
        inputs = (helper.make_tensor_value_info(each.name, each.data_type, each.dims) for each in absent)
        graph.input.extend(value for value in inputs if value.name not in declared)
    for tensor in tensors(graph):
        if tensor.data_location == TensorProto.EXTERNAL and tensor.name not in model.missing:
            tensor.CopyFrom(model.inline(tensor))
    named: set[str] = set()
    for node in graph.node:
        if node.name in named:
            node.name = ""
        named.add(node.name)
    return copy


def with_outputs(model: ModelProto, names: Iterable[str], types: Types) -> ModelProto:
    """A copy of a model with tensors as further outputs; ``types`` are those that it declares: not every runtime infers them."""
    copy = ModelProto()
    copy.CopyFrom(model)
    declared = {value.name for value in copy.graph.output}
    copy.graph.output.extend(_output(name, types) for name in dict.fromkeys(names) if name not in declared)
    return copy


def with_fixed_sizes(request: Request) -> Request:
    """A request whose model declares the sizes of the inputs that it is given, and leaves those of its outputs to be inferred."""
    model, inputs = ModelProto.FromString(request.model), request.inputs
    for value in (each for each in model.graph.input if each.name in inputs):
        value.CopyFrom(
            helper.make_tensor_value_info(value.name, value.type.tensor_type.elem_type, inputs[value.name].shape)
        )
    for value in model.graph.output:
        for axis in value.type.tensor_type.shape.dim:
            axis.ClearField("dim_param")
    del model.graph.value_info[:]
    return replace(request, model=model.SerializeToString())


def without_pools(model: ModelProto, results: Mapping[str, np.ndarray]) -> ModelProto:
    """A copy of a model that takes ``results``, tensors that nodes of its main graph make, as inputs; the nodes are removed.

    It may have no outputs: those that are results themselves.
    """
    copy = ModelProto()
    copy.CopyFrom(model)
    graph = copy.graph
    nodes = [node for node in model.graph.node if not results.keys() & {*node.output}]
    outputs = [value for value in model.graph.output if value.name not in results]
    for field in (graph.node, graph.output, graph.value_info):
        del field[:]
    graph.node.extend(nodes)
    graph.output.extend(outputs)
    needed = {name for node in nodes for name in taken(node)}
    graph.input.extend(
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape)
        for name, value in results.items()
        if name in needed
    )
    return copy


def moved(model: ModelProto, seed: int) -> ModelProto:
    """A copy of a model whose constants of floating point are moved by one ulp each, up or down."""
    random, copy = np.random.default_rng(seed), ModelProto()
    copy.CopyFrom(model)
    for graph in graphs(copy.graph):
        for tensor in graph.initializer:
            values = numpy_helper.to_array(tensor)
            if is_float(values.dtype):
                tensor.CopyFrom(numpy_helper.from_array(next_to(values, random), tensor.name))
    return copy


def next_to(values: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """The numbers next to those of a tensor of floating point, up or down at random; zeros and other types stay as they are."""
    if not is_float(values.dtype):
        return values
    direction = np.where(random.random(values.shape) < 0.5, -np.inf, np.inf).astype(values.dtype)
    return np.where(values == 0, values, np.nextafter(values, direction)).astype(values.dtype)


def rounding(model: ModelProto, results: Collection[str] = ()) -> set[str]:
    """The tensors of the main graph that depend on a node that rounds, other than through ``results``."""
    return _behind(model, lambda op: op == "Conv" or op not in _EXACT, results)


def random_outputs(model: ModelProto) -> set[str]:
    """The outputs of a model that depend on random numbers."""
    return _behind(model, _RANDOM.__contains__) & {value.name for value in model.graph.output}


def _behind(model: ModelProto, is_source: Callable[[str], bool], results: Collection[str] = ()) -> set[str]:
    """The tensors of the main graph that depend on some operators, also of graphs inside its nodes, other than through ``results``."""
    found: set[str] = set()
    for node in model.graph.node:
        inner = (each.op_type for _, graph in subgraphs(node) for part in graphs(graph) for each in part.node)
        if any(map(is_source, (node.op_type, *inner))) or found.intersection(taken(node)):
            found |= {*node.output} - {*results}
    return found


def _output(name: str, types: Types) -> ValueInfoProto:
    """An output with what is known of its type. A name of a size says nothing of an output."""
    known = types.get(name)
    if known is None or known.dtype not in NUMPY:
        return ValueInfoProto(name=name)
    shape = known.sizes and [size if isinstance(size, int) else None for size in known.sizes]
    return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(NUMPY[known.dtype]), shape)
