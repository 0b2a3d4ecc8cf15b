"""Rewrites MaxPool nodes of a model, so that a defect of a runtime does not show; what the nodes compute stays the same."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper

from maxpool_check.graphs.model import add_attributes
from maxpool_check.graphs.reading import OWN_DOMAINS, attribute_values
from maxpool_check.models.model_file import Place, graphs, subgraphs
from maxpool_check.models.shapes import NOT_DECLARED, Scope, TensorType, inferred, scopes
from maxpool_check.reference.dtypes import NUMPY, is_float, lowest
from maxpool_check.reference.policies import Policies
from maxpool_check.reference.pooling import Pooling
from maxpool_check.specifications import specification
from maxpool_check.specifications.specification import Specification


class CannotRewrite(ValueError):
    """A node that a rewrite does not apply to; the message completes "the node ..."."""


@dataclass(frozen=True, eq=False)
class _Site:
    """A MaxPool to rewrite: its node, the type of its input, its operator set, what it means, and the tensors of the model.

    ``document`` says what it means, by its own ``policies`` or others.
    """

    node: NodeProto
    input: TensorType
    opset: int
    document: Specification
    policies: Policies | None
    taken: set[str]

    @property
    def attributes(self) -> dict[str, Any]:
        """The attributes by name."""
        return attribute_values(self.node)

    @property
    def indices(self) -> str:
        """The tensor of Indices; empty if the node has none."""
        return [*self.node.output, ""][1]

    def new(self, suffix: str) -> str:
        """A name for a new tensor, that of Y or of Indices with a suffix, which no other tensor has."""
        first = next(filter(None, self.node.output))
        names = (f"{first}_{suffix}{number}" for number in ("", *range(2, len(self.taken) + 3)))
        name = next(name for name in names if name not in self.taken)
        self.taken.add(name)
        return name

    def constant(self, value: np.ndarray, suffix: str) -> tuple[NodeProto, str]:
        """A Constant, and its tensor."""
        name = self.new(suffix)
        return helper.make_node("Constant", [], [name], value=numpy_helper.from_array(value)), name

    def pool(self, X: str, outputs: Sequence[str], **attributes: Any) -> NodeProto:
        """A copy of the node with another input, other outputs and some other attributes; None removes one."""
        node = NodeProto()
        node.CopyFrom(self.node)
        node.input[:], node.output[:] = [X], outputs
        if "name" in attributes:
            node.name = attributes.pop("name")
        del node.attribute[:]
        changed = {**self.attributes, **attributes}
        add_attributes(node, {name: value for name, value in changed.items() if value is not None})
        return node


Choice = Callable[[Place, NodeProto], Sequence[str]]
"""The names of the rewrites of a MaxPool, by the place of its graph and its node; empty: it stays as it is."""


def rewritten(
    model: ModelProto, choice: Choice, document: Specification | None = None, policies: Policies | None = None
) -> ModelProto:
    """A copy of a model with rewrites of its MaxPool nodes, in the main graph and in those inside of nodes.

    ``document`` says what the nodes mean, with its own ``policies`` or others; None: ONNX does. Every other node stays as
    it is. Raises :class:`CannotRewrite` where a rewrite does not apply to its node.
    """
    copy = ModelProto()
    copy.CopyFrom(model)
    taken = names_in(copy)
    opset = max((each.version for each in copy.opset_import if each.domain in OWN_DOMAINS), default=1)
    document, types = document or specification(f"onnx-{opset}"), inferred(copy, {})
    # Inner graphs first: a graph whose nodes are replaced has copies of the nodes around them.
    for scope in reversed([*scopes(Scope(copy.graph))]):
        choices = [choice(scope.place, node) if is_pool(node) else () for node in scope.graph.node]
        if any(choices):
            nodes: list[NodeProto] = []
            for node, rewrites in zip(scope.graph.node, choices, strict=True):
                known = types.of(scope.place).get(node.input[0], NOT_DECLARED) if rewrites else NOT_DECLARED
                nodes += _applied(_Site(node, known, opset, document, policies, taken), rewrites)
            copies = [NodeProto.FromString(each.SerializeToString()) for each in nodes]
            del scope.graph.node[:]
            scope.graph.node.extend(copies)
    return copy


def names_in(model: ModelProto) -> set[str]:
    """Every name of a tensor, or of a node, in the graphs of a model and in its functions."""
    names: set[str] = set()
    for graph in graphs(model.graph):
        declared = (*graph.input, *graph.output, *graph.value_info, *graph.initializer)
        names |= {each.name for each in declared} | {each.values.name for each in graph.sparse_initializer}
        names |= {each.tensor_name for each in graph.quantization_annotation}
    functions = [each.node for each in model.functions]
    bodies = [
        graph.node
        for function in functions
        for node in function
        for _, inner in subgraphs(node)
        for graph in graphs(inner)
    ]
    for nodes in (*(graph.node for graph in graphs(model.graph)), *functions, *bodies):
        names |= {name for node in nodes for name in (node.name, *node.input, *node.output)}
    return names


def _applied(site: _Site, rewrites: Sequence[str]) -> list[NodeProto]:
    """What one rewrite after the other makes of a node, each of every MaxPool that the one before has made."""
    nodes = [site.node]
    for name in rewrites:
        made = ([each] if not is_pool(each) else REWRITES[name](replace(site, node=each)) for each in nodes)
        nodes = [node for each in made for node in each]
        if name == "wider-type":
            site = replace(site, input=replace(site.input, dtype="float32"))
    return nodes


def is_pool(node: NodeProto) -> bool:
    """Whether a node is a MaxPool of ONNX's own operator set."""
    return node.op_type == "MaxPool" and node.domain in OWN_DOMAINS and bool(node.input and node.output)


def _explicit_pads(site: _Site) -> list[NodeProto]:
    """The same windows without ``auto_pad`` and ``ceil_mode``, where the sizes are known or do not matter."""
    attributes = site.attributes
    if attributes.get("auto_pad", "NOTSET") == "NOTSET" and not attributes.get("ceil_mode"):
        raise CannotRewrite("has neither auto_pad nor ceil_mode")
    pads = _known_pads(site)
    return [
        site.pool(site.node.input[0], site.node.output, auto_pad=None, ceil_mode=None, pads=list(pads) if any(pads) else None)
    ]  # fmt: skip


def _known_pads(site: _Site, *, crops: bool = False) -> list[int]:
    """The pads that give the same windows, at the beginning of each axis and then at the end; ``crops``: they may be negative."""
    attributes, kernel, sizes = site.attributes, site.attributes["kernel_shape"], site.input.sizes
    spatial = [None] * len(kernel) if sizes is None else [each if isinstance(each, int) else None for each in sizes[2:]]
    strides, dilations = (attributes.get(name, [1] * len(spatial)) for name in ("strides", "dilations"))
    reach = [(k - 1) * d + s for k, d, s in zip(kernel, dilations, strides, strict=True)]
    fixed = set()
    # Where some sizes are open, enough of them to tell whether they matter.
    for more in range(max(strides) + 1) if None in spatial else range(1):
        shape = (r + more if size is None else size for size, r in zip(spatial, reach, strict=True))
        X = site.document.layout.arranged((1, 1, *shape))
        resolved = site.document.resolve(attributes, "float32", X, site.policies)
        if not isinstance(resolved, Pooling):
            raise CannotRewrite(f"is excluded by its document: {resolved.message}")
        ends = [max(0, axis.reach - axis.size) for axis in resolved.geometry]
        fixed.add((*(axis.begin for axis in resolved.geometry), *ends))
    if len(fixed) != 1:
        raise CannotRewrite("has pads that depend on sizes which the model leaves open")
    (pads,) = fixed
    if min(pads) < 0 and not crops:
        raise CannotRewrite("has windows that leave out the first cells, which no pads do")
    return [*pads]


def _request_indices(site: _Site) -> list[NodeProto]:
    """The same node with Indices as a further output."""
    if site.indices:
        raise CannotRewrite("has Indices already")
    if site.opset < 8:
        raise CannotRewrite(f"is in operator set {site.opset}, whose MaxPool has no Indices")
    return [site.pool(site.node.input[0], [site.node.output[0], site.new("indices")])]


def _pad_node(site: _Site) -> list[NodeProto]:
    """A Pad with -inf, or the lowest integer, and MaxPool without padding; Y alone, since Indices would count the padding."""
    if site.indices:
        raise CannotRewrite("has Indices, which would count the padding")
    dtype = NUMPY.get(site.input.dtype)
    if dtype is None or site.opset < 11:
        raise CannotRewrite("has an input of an unknown type, or is in an operator set whose Pad takes no such value")
    pads = _known_pads(site, crops=True)
    half = len(pads) // 2
    sizes, sizes_name = site.constant(np.array([0, 0, *pads[:half], 0, 0, *pads[half:]], np.int64), "pads")
    fill, fill_name = site.constant(np.array(-math.inf if is_float(dtype) else lowest(dtype), dtype), "lowest")
    padded = site.new("padded")
    return [
        sizes,
        fill,
        helper.make_node("Pad", [site.node.input[0], sizes_name, fill_name], [padded]),
        site.pool(padded, site.node.output, auto_pad=None, ceil_mode=None, pads=None),
    ]


def _separate_indices(site: _Site) -> list[NodeProto]:
    """A node for Y, and one for Indices."""
    if not site.indices:
        raise CannotRewrite("has no Indices")
    X, name = site.node.input[0], site.node.name or site.node.output[0]
    own = site.pool(X, [site.new("unused"), site.indices], name=f"{name}_indices")
    return [site.pool(X, site.node.output[:1]), own]


def _wider_type(site: _Site) -> list[NodeProto]:
    """MaxPool of float32 between two Casts: every value of the type is one of float32."""
    dtype = site.input.dtype
    if dtype not in ("float16", "bfloat16", "int8", "uint8"):
        raise CannotRewrite(f"has an input of {dtype}, which float32 does not hold exactly or which it is already")
    X, Y = site.new("input_float32"), site.new("float32")
    back = helper.np_dtype_to_tensor_dtype(NUMPY[dtype])
    return [
        helper.make_node("Cast", [site.node.input[0]], [X], to=TensorProto.FLOAT),
        site.pool(X, [Y, *site.node.output[1:]]),
        helper.make_node("Cast", [Y], [site.node.output[0]], to=back),
    ]


def _row_major_indices(site: _Site) -> list[NodeProto]:
    """Indices down the columns, computed from those along the rows: plane, then each coordinate, then its new place."""
    sizes = (site.input.shape or ())[2:]
    if not site.indices or not site.attributes.get("storage_order"):
        raise CannotRewrite("has no column-major Indices")
    if not sizes or site.opset < 10:
        raise CannotRewrite("has an input of open sizes, or is in an operator set without Mod")
    by_row = site.new("row_major")
    nodes = [site.pool(site.node.input[0], [site.node.output[0], by_row], storage_order=None)]

    def with_number(op: str, tensor: str, number: int, suffix: str) -> str:
        constant, name = site.constant(np.array(number, np.int64), f"{suffix}_size")
        result = site.new(suffix)
        nodes.extend([constant, helper.make_node(op, [tensor, name], [result])])
        return result

    plane = with_number("Mul", with_number("Div", by_row, math.prod(sizes), "plane"), math.prod(sizes), "start")
    terms = []
    for axis, size in enumerate(sizes):
        cell = with_number("Div", by_row, math.prod(sizes[axis + 1 :]), f"cell{axis}")
        coordinate = with_number("Mod", cell, size, f"axis{axis}_")
        terms.append(with_number("Mul", coordinate, math.prod(sizes[:axis]), f"term{axis}"))
    # The last of the sums is Indices.
    total, sums = plane, [*(site.new(f"sum{axis}") for axis in range(len(sizes) - 1)), site.indices]
    for term, result in zip(terms, sums, strict=True):
        nodes.append(helper.make_node("Add", [total, term], [result]))
        total = result
    return nodes


def _negative_infinity_guard(site: _Site) -> list[NodeProto]:
    """-inf wherever a MaxPool over "is above -inf" finds nothing."""
    if site.input.dtype not in ("float16", "float32", "float64") or site.opset < 9:
        raise CannotRewrite("has an input without -inf, or is in an operator set without Where")
    dtype = NUMPY[site.input.dtype]
    fill, low = site.constant(np.array(-math.inf, dtype), "neg_inf")
    zero, none = site.constant(np.array(0, np.float32), "zero")
    names = [site.new(suffix) for suffix in ("above", "above_float32", "any_above", "is_above", "unguarded")]
    above, as_float, most, is_above, Y = names
    X, name = site.node.input[0], site.node.name or site.node.output[0]
    return [
        fill,
        zero,
        site.pool(X, [Y, *site.node.output[1:]]),
        helper.make_node("Greater", [X, low], [above]),
        helper.make_node("Cast", [above], [as_float], to=TensorProto.FLOAT),
        site.pool(as_float, [most], name=f"{name}_above"),
        helper.make_node("Greater", [most, none], [is_above]),
        helper.make_node("Where", [is_above, Y, low], [site.node.output[0]]),
    ]


REWRITES: Mapping[str, Callable[[_Site], list[NodeProto]]] = {
    "explicit-pads": _explicit_pads,
    "request-indices": _request_indices,
    "pad-node": _pad_node,
    "separate-indices": _separate_indices,
    "wider-type": _wider_type,
    "row-major-indices": _row_major_indices,
    "negative-infinity-guard": _negative_infinity_guard,
}
"""What makes the nodes that take the place of a MaxPool, by the names of ``remedies.yaml``."""
