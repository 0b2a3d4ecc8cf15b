"""Reads the nodes around the MaxPool of an ONNX model: the inverse of :mod:`~maxpool_check.graphs.model`."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Any

import numpy as np
import onnx
from onnx import ModelProto, NodeProto, helper, numpy_helper

from maxpool_check.graphs.context import BEHIND, MAX_POOL, Context, name_before
from maxpool_check.graphs.node import Node
from maxpool_check.graphs.operators import OF_SEVERAL, OPERATORS
from maxpool_check.reference.dtypes import NUMPY, name_of

OWN_DOMAINS = ("", "ai.onnx")
"""The names of ONNX's own operator domain."""


class NotAChain(ValueError):
    """A model whose nodes are not one MaxPool among known operators that take one tensor and constants; the message says why."""


@dataclass(frozen=True, eq=False)
class Chain:
    """X, the nodes around the MaxPool, and its attributes; ``outputs`` says what each output of the graph is, in order.

    That is ``Y``, ``Indices``, or the name of a side output of the context.
    """

    X: np.ndarray
    context: Context
    attributes: Mapping[str, Any]
    outputs: tuple[str, ...]


def read_chain(model: ModelProto, inputs: Mapping[str, np.ndarray], judged: str | None = None) -> Chain:
    """The chain of a model with these values of its inputs. Raises :class:`NotAChain`.

    ``judged`` is an output of the MaxPool that it is about, where there are others; None: there is one.
    """
    return _ChainReader(model, inputs).chain(judged)


def attribute_values(node: NodeProto) -> dict[str, Any]:
    """The attributes of a node: numbers, text and lists. Raises ``ValueError`` for one that cannot be read."""
    attributes: dict[str, Any] = {}
    for entry in node.attribute:
        value = helper.get_attribute_value(entry)
        if isinstance(value, bytes):
            value = value.decode(errors="replace")
        elif not isinstance(value, (int, float)):
            value = list(value) if hasattr(value, "__iter__") else type(value).__name__
        attributes[entry.name] = value
    return attributes


class _ChainReader:
    def __init__(self, model: ModelProto, inputs: Mapping[str, np.ndarray]) -> None:
        self._graph = model.graph
        self._opset = next((entry.version for entry in model.opset_import if entry.domain in OWN_DOMAINS), 1)
        self._constants = {tensor.name: (_array(tensor), "initializer") for tensor in model.graph.initializer}
        self._nodes = []
        for node in model.graph.node:
            if node.domain not in OWN_DOMAINS:
                raise NotAChain(f"its node {node.op_type} is of the domain {node.domain}")
            if node.op_type == "Constant":
                value = next((attribute.t for attribute in node.attribute if attribute.name == "value"), None)
                if value is None:
                    raise NotAChain("a Constant node without a tensor")
                self._constants[node.output[0]] = (_array(value), "constant")
            else:
                self._nodes.append(node)
        self._inputs = {name: value for name, value in inputs.items() if name not in self._constants}
        self._outputs = [value.name for value in model.graph.output]

    def chain(self, judged: str | None) -> Chain:
        """The chain around the MaxPool that makes ``judged``, or the only one. Raises :class:`NotAChain`."""
        pools = [node for node in self._nodes if node.op_type == MAX_POOL and judged in (None, *node.output)]
        if len(pools) != 1:
            raise NotAChain(f"its graph has {len(pools)} MaxPool nodes; expected one")
        start = next(iter(self._nodes[0].input), "")
        is_initializer = start not in self._inputs
        if is_initializer and start not in self._constants:
            raise NotAChain("its first node does not take an input of the graph")
        self._constants |= {name: (value, "input") for name, value in self._inputs.items()}
        X = self._constants.pop(start)[0]
        pool, value = pools[0], start
        taken = {*pool.input}
        first = [node for node in reversed(self._nodes) if node is not pool and makes(node, taken)][::-1]
        uses = Counter(name for node in self._nodes for name in node.input)
        known = {start: "X"}
        read: dict[str, Node] = {}
        for node in (*first, pool, *(each for each in self._nodes if each is not pool and each not in first)):
            if not node.input or node.input[0] not in known:
                raise NotAChain("its nodes are not those through which one tensor flows")
            source = "" if node.input[0] == value else known[node.input[0]]
            if node is pool:
                if source:
                    raise NotAChain("its nodes before MaxPool are in another order")
                value = node.output[0]
                known[value] = "Y"
                continue
            made, value = self._node(node, uses, pool, known)
            known[value] = f"node_{len(read)}"
            read[known[value]] = replace(made, source=source)
        used = {name for node in read.values() for name in (node.source, *node.named_inputs)}
        nodes = [replace(node, name=name if name in used else "") for name, node in read.items()]
        outputs_of = {name: tensor for tensor, name in known.items()}
        ahead = [outputs_of[name] for name in [*read][: len(first)]]
        before = [
            replace(node, consumers=2 if tensor in self._outputs else 1)
            for node, tensor in zip(nodes, ahead, strict=False)
        ]
        after = nodes[len(first) :]
        names = {tensor: name_before(number) for number, tensor in enumerate(ahead)}
        names |= {pool.output[0]: BEHIND, **{name: "Indices" for name in pool.output[1:] if name}, value: "Y"}
        unknown = [name for name in self._outputs if name not in names]
        if unknown or not self._outputs:
            raise NotAChain(f"its graph has outputs that are not a case's: {', '.join(unknown) or 'none'}")
        outputs = tuple(names[name] for name in self._outputs)
        context = Context(
            self._opset, tuple(before), tuple(after), 2 if BEHIND in outputs else 1, is_initializer,
            None if is_initializer else self._dimensions(start, X.shape),
        )  # fmt: skip
        return Chain(X, context, attribute_values(pool), outputs)

    def _node(
        self, node: NodeProto, uses: Mapping[str, int], pool: NodeProto, known: Mapping[str, str]
    ) -> tuple[Node, str]:
        """A node besides MaxPool, and the name of its output that the others take; ``known`` are the tensors so far."""
        if node.op_type not in (*OPERATORS, MAX_POOL):
            raise NotAChain(f"its node {node.op_type} is none of the operators that are known")
        try:
            names = [parameter.name for parameter in onnx.defs.get_schema(node.op_type, self._opset, "").inputs[1:]]
        except onnx.defs.SchemaError as missing:
            raise NotAChain(f"operator set {self._opset} has no {node.op_type}") from missing
        fields, forms = attribute_values(node), dict[str, None]()
        if node.op_type in OF_SEVERAL:
            names = []
        for name, source in zip_longest(names[: len(node.input) - 1], node.input[1:], fillvalue="inputs"):
            if not source or (name == "I" and known.get(pool.output[0]) and source in pool.output[1:]):
                continue
            if name == "inputs" and source in known:
                fields.setdefault(name, []).append(known[source])
                continue
            if source not in self._constants:
                raise NotAChain(f"{name} of its node {node.op_type} is not a constant")
            constant, form = self._constants[source]
            forms[form] = None
            data = {"dtype": name_of(constant.dtype), "data": constant.tolist()}
            if name == "inputs":
                fields.setdefault(name, []).append(data)
            else:
                fields[name] = constant.tolist() if constant.dtype == np.int64 and constant.ndim == 1 else data
        if len(forms) > 1:
            raise NotAChain(f"the constants of its node {node.op_type} are of different kinds: {', '.join(forms)}")
        _rename(node, fields)
        output = self._followed(node, uses, fields) if node.op_type == "Split" else node.output[0]
        return Node(node.op_type, fields, next(iter(forms), "initializer")), output

    def _followed(self, node: NodeProto, uses: Mapping[str, int], fields: dict[str, Any]) -> str:
        """The one output of a Split that is used; adds what its fields say of the outputs."""
        followed = [number for number, name in enumerate(node.output) if uses.get(name) or name in self._outputs]
        if len(followed) != 1:
            raise NotAChain("several outputs of its Split are used, or none")
        fields |= {"output": followed[0]} if followed[0] else {}
        if "split" not in fields:
            fields["num_outputs"] = len(node.output)
        return str(node.output[followed[0]])

    def _dimensions(self, name: str, shape: Sequence[int]) -> tuple[str | int, ...] | None:
        declared = next(value for value in self._graph.input if value.name == name).type.tensor_type.shape.dim
        named = tuple(size.dim_param or size.dim_value for size in declared)
        if len(named) != len(shape) or not any(isinstance(size, str) for size in named):
            return None
        return named


def makes(node: NodeProto, needed: set[str]) -> bool:
    """Whether a node makes one of the tensors that are needed; if so, adds those that it takes."""
    is_needed = bool(needed & {*filter(None, node.output)})
    needed |= {*node.input} if is_needed else set()
    return is_needed


def _rename(node: NodeProto, fields: dict[str, Any]) -> None:
    """Change the fields of an operator set into those of the newest, and of a case file."""
    if node.op_type == "Pad" and "value" in fields:
        fields["constant_value"] = fields.pop("value")
    if node.op_type == "Cast":
        names = {helper.np_dtype_to_tensor_dtype(dtype): name for name, dtype in NUMPY.items()}
        if fields.get("to") not in names:
            raise NotAChain("its node Cast is to a type that is not supported")
        fields["to"] = names[fields["to"]]
    if node.op_type == "Conv":
        W, group = fields.pop("W", None), fields.pop("group", 1)
        if not isinstance(W, Mapping) or np.ndim(W["data"]) < 3:
            raise NotAChain("its node Conv has no weights")
        weights = np.array(W["data"])
        channels = weights.shape[0]
        if group == 1 and weights.size == channels**2 and (weights.reshape(channels, -1) == np.eye(channels)).all():
            fields["weights"] = "identity"
        elif group == channels and weights.shape[1] == 1 and (weights == 1).all():
            fields["weights"] = "depthwise"
            fields.setdefault("kernel_shape", list(weights.shape[2:]))
        else:
            raise NotAChain("the weights of its node Conv are neither ones for each channel nor the identity")


def _array(tensor: onnx.TensorProto) -> np.ndarray:
    if tensor.data_location == onnx.TensorProto.EXTERNAL:
        raise NotAChain("the values of its constants are in another file")
    try:
        return np.asarray(numpy_helper.to_array(tensor))
    except (ValueError, TypeError) as error:
        raise NotAChain(f"a constant that cannot be read: {error}") from error
