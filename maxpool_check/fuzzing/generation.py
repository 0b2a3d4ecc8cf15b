"""Draws cases of a document: the same seed draws the same cases, on every machine and with every version of Python.

A geometry is drawn backwards, from the number of windows to the size of X, so that every draw is valid. Values come from a
small palette of special values, so that whole windows of them occur. The nodes of a graph around MaxPool are drawn one after
the other, each for the tensor that enters it; one that is not exact there is left out.
"""

import itertools
import math
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import ml_dtypes
import numpy as np

from maxpool_check.corpus.case import Case, Origin
from maxpool_check.corpus.tensors import Recipe
from maxpool_check.graphs.context import MAX_POOL, Context, max_pool
from maxpool_check.graphs.node import Inexact, Node
from maxpool_check.graphs.operators import apply
from maxpool_check.reference.dtypes import NUMPY, highest, is_float, lowest
from maxpool_check.reference.evaluator import evaluate
from maxpool_check.reference.geometry import AutoPad, Axis
from maxpool_check.reference.pooling import Function, Pooling
from maxpool_check.specifications import specification
from maxpool_check.specifications.onnx import VERSIONS
from maxpool_check.specifications.roles import Role, attributes_of_roles, roles_of
from maxpool_check.specifications.specification import Refused, Specification

OPERATOR_SETS = range(8, 27)
"""The operator sets that graphs are drawn in."""

_MOST_CELLS = 1000
"""The most cells of a tensor in a drawn graph."""

_COUNTS = (((1, 0), (0, 1), (1, 1), (2, 1), (1, 2)), ((0, 0), (1, 0), (0, 1)))
"""How many nodes are drawn before and behind MaxPool, alone and with a node that undoes another."""

_ACTIVATIONS: tuple[dict[Role, Any], ...] = (
    {}, {}, {Role.ACTIVATION: Function.RELU},
    {Role.ACTIVATION: Function.LEAKY_RELU, Role.ACTIVATION_PARAMETERS: [0.5]},
    {Role.ACTIVATION: Function.CLIP, Role.ACTIVATION_PARAMETERS: [-1.0, 2.0]},
)  # fmt: skip


class Stream(random.Random):
    """Random choices. They are made of ``random()``, the only method whose numbers Python never changes for a seed."""

    def choice(self, seq: Any) -> Any:
        """An entry of a sequence."""
        return seq[int(self.random() * len(seq))]


def generate(spec: str, start: int, *, invalid: bool = False, graphs: float = 0) -> Iterator[Case]:
    """Distinct cases without end. ``invalid``: only cases that the document excludes, otherwise none of them.

    ``graphs`` is the share of cases with other nodes around MaxPool, from 0 to 1. Those of a version of ONNX's operator are
    in any operator set, and judged by the version in that.
    """
    document = specification(spec)
    drawn: set[str] = set()
    for number in itertools.count(start << 40):
        case = draw(document, number, invalid=invalid, graphs=graphs)
        if case is not None and case.sha256 not in drawn:
            drawn.add(case.sha256)
            yield case


def draw(document: Specification, seed: int, *, invalid: bool = False, graphs: float = 0) -> Case | None:
    """The case of one seed; None if it is excluded and not ``invalid``, or the contrary, or a graph without exact result."""
    # Each case has a stream of its own: a seed draws the same of every version of ONNX's operator, as far as they agree.
    stream = Stream(seed)
    axes = _axes(stream, document)
    choices = _choices(stream, document, len(axes))
    # float32 and float64 come more often: most runtimes have special kernels for them.
    common = [name for name in document.dtypes if name in ("float32", "float64")]
    dtype = stream.choice([*document.dtypes, *common, *common] if len(document.dtypes) > 1 else document.dtypes)
    sizes, attributes = _sizes_and_attributes(document, axes, choices)
    # Some of the attributes at their default are left out.
    attributes = {
        name: value
        for name, value in attributes.items()
        if value != document.attributes[name].default_for(len(axes)) or stream.random() < 0.5
    }
    channels = stream.choice((1, 2, 3, 16)) if document.channel_multiple == 1 else document.channel_multiple
    shape = document.layout.arranged((stream.choice((1, 2)), channels, *sizes))
    if invalid:
        attributes, shape = _with_a_mistake(stream, attributes, shape)
    case = Case(
        id="fuzz:case", title="Drawn at random", spec=document.name, tags=("fuzz",), attributes=attributes,
        X=Recipe.of(_values(stream, shape, NUMPY[dtype])), outputs=("Y", "Indices") if document.indices else ("Y",),
        policies=document.policies, origin=Origin("fuzz", 0, 0),
    )  # fmt: skip
    if isinstance(case.resolved, Refused) != invalid:
        return None
    return in_a_graph(case, stream) if stream.random() < graphs else case


def _axes(stream: Stream, document: Specification) -> list[Axis]:
    has_starts = Role.START in document.roles
    # Four axes are rare: most runtimes have three at most.
    ranks = [rank for rank in document.ranks for _ in range(1 if rank > 3 else 4)]
    axes = []
    for _ in range(stream.choice(ranks)):
        output, kernel, stride = (stream.choice((1, 2, 3)) for _ in range(3))
        dilation = stream.choice((1, 2, 3)) if Role.DILATION in document.roles else 1
        # The cells that the windows cover, and those that the stride leaves over.
        covered = (kernel - 1) * dilation + 1 + (output - 1) * stride + stream.choice(range(stride))
        if has_starts:
            # The same windows after cells that none of them reaches.
            start = stream.choice((0, 1, 2))
            axes.append(Axis(covered + start, kernel, stride, dilation, -start, 0, output))
            continue
        # A padding as large as the kernel is rare: most runtimes refuse it.
        largest = kernel - 1 + (stream.random() < 0.05)
        begin = stream.choice(range(min(largest, covered - 1) + 1))
        end = stream.choice(range(min(largest, covered - 1 - begin) + 1))
        axes.append(Axis(covered - begin - end, kernel, stride, dilation, begin, end, output))
    return axes


def _choices(stream: Stream, document: Specification, rank: int) -> dict[Role, Any]:
    """What the attributes mean beside the geometry, drawn in the order of the document."""
    # What a version of ONNX's operator does not have is drawn nevertheless, and left out.
    newest = VERSIONS[-1].attributes if document.onnx else {}
    choices: dict[Role, Any] = {}
    for name, attribute in {**newest, **document.attributes}.items():
        role, meanings = attribute.role, [{attribute.role: meaning} for meaning in attribute.values.values()]
        if role is Role.AUTO_PAD:
            # Explicit pads come twice as often.
            meanings.append({role: AutoPad.EXPLICIT})
        elif role is Role.INDEX_AXIS:
            meanings = [{role: axis} for axis in range(rank + 2)]
        drawn = stream.choice(_ACTIVATIONS if role is Role.ACTIVATION else meanings or [{}])
        choices |= drawn if name in document.attributes else {}
    return choices


def _sizes_and_attributes(
    document: Specification, axes: list[Axis], choices: dict[Role, Any]
) -> tuple[list[int], dict[str, Any]]:
    """The spatial sizes of X, and all attributes."""
    auto_pad = choices.get(Role.AUTO_PAD, AutoPad.EXPLICIT)
    pads = (Role.PADS, Role.BEGIN)
    has_default = any(each.role in pads and each.default is not None for each in document.attributes.values())
    is_explicit = auto_pad is AutoPad.EXPLICIT
    # Pads that are ignored leave the windows on X alone.
    ignored = auto_pad is AutoPad.VALID or (not is_explicit and has_default)
    sizes = [axis.size + (axis.begin + axis.end) * ignored for axis in axes]
    if not is_explicit and has_default:
        axes = [replace(axis, begin=0, end=0) for axis in axes]
    return sizes, attributes_of_roles(document, {**roles_of(tuple(axes)), **choices})


def _values(stream: Stream, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """A few values, mostly the first of them, so that whole windows hold nothing else; or ascending numbers."""
    size = math.prod(shape)
    pool = [lowest(dtype), highest(dtype), 1, 2, 3, 0, *([-1, -2] if dtype.kind == "i" else [])]
    if is_float(dtype):
        subnormal = float(ml_dtypes.finfo(dtype).smallest_subnormal)
        # The values that scans start from come more often than others.
        pool += [-np.inf, -np.inf, -np.inf, np.inf, np.nan, np.nan, -0.0, subnormal, -subnormal, -1, 0.5]
    palette = [stream.choice(pool) for _ in range(stream.choice(range(5)))]
    if not palette:
        return (np.arange(size) % 100).astype(dtype).reshape(shape)
    palette = palette[:1] * len(palette) + palette
    return np.array([stream.choice(palette) for _ in range(size)], dtype).reshape(shape)


def _with_a_mistake(
    stream: Stream, attributes: dict[str, Any], shape: tuple[int, ...]
) -> tuple[dict[str, Any], tuple[int, ...]]:
    """The attributes and shape with one mistake; a case that the document allows nevertheless is not used."""
    name = stream.choice(sorted(attributes))
    value = attributes[name]
    wrong: list[Any] = ["WRONG", "NONE", ""] if isinstance(value, str) else [2, 0, -1, 2**31]
    if isinstance(value, list):
        place = stream.choice(range(len(value)))
        wrong = [[*value[:place], entry, *value[place + 1 :]] for entry in (0, -1, 1000)] + [value[:-1], [*value, 1]]
    kind = stream.choice(range(len(wrong) + 2))
    if kind == len(wrong):
        return attributes, shape[:-1]
    attributes = {key: kept for key, kept in attributes.items() if key != name}
    return attributes | ({name: wrong[kind]} if kind < len(wrong) else {}), shape


def in_a_graph(case: Case, stream: Stream) -> Case | None:
    """The case with a graph around its MaxPool, in an operator set; None where the graph has no exact result.

    The document is the version of the operator in the operator set, unless it is another than ONNX's. Attributes that a
    version does not have are left out; an X of a type that it does not have becomes float32.
    """
    opset, document = stream.choice(OPERATOR_SETS), case.specification
    if document.onnx is document:
        document = specification(f"onnx-{opset}")
    elif document.onnx is not None:
        opset = max(opset, document.onnx.since)
    if case.X.size > _MOST_CELLS:
        return None
    X = case.X.tensor() if case.X.dtype.name in document.dtypes else case.X.tensor().astype(np.float32)
    number = stream.random()
    if number < 0.6:
        # Small integers, of which cells that are near each other have different ones.
        first, step = stream.choice(range(100)), stream.choice((1, 7, 13, 37))
        lowest_value = 1 if X.dtype.kind == "u" else stream.choice((1, -50, -100))
        X = (lowest_value + (first + step * np.arange(X.size)) % 100).astype(X.dtype).reshape(X.shape)
    elif number < 0.9 and is_float(X.dtype):
        # Many nodes have no exact result for NaN and -0.
        X = np.where((X != X) | (X == 0), NUMPY[X.dtype.name].type(stream.choice((-2, -1, 3))), X)
    first_nodes, second_nodes, X = _pair(stream, X)
    ahead, behind = stream.choice(_COUNTS[bool(first_nodes)])
    before = _chain(stream, [*(stream.choice(_BEFORE) for _ in range(ahead)), *first_nodes], X, opset)
    drawn = replace(
        case, X=Recipe.of(X), spec=document.name, policies=document.policies, context=Context(opset, before),
        attributes={name: value for name, value in case.attributes.items() if name in document.attributes},
        outputs=stream.choice((("Y", "Indices"), ("Y", "Indices"), ("Indices",))) if document.indices else ("Y",),
    )  # fmt: skip
    if not isinstance(drawn.resolved, Pooling):
        return None
    pooled = evaluate(drawn.entering, replace(drawn.resolved, indices=True))
    unpool = {name: drawn.attributes[name] for name in ("kernel_shape", "strides", "pads") if name in drawn.attributes}
    entries = [*second_nodes, *(stream.choice([*_AFTER, Node("MaxUnpool", unpool)]) for _ in range(behind))]
    beside = Node(MAX_POOL, drawn.attributes, name="beside", source="X")
    joined = stream.choice([*_JOINED, *((beside, join) for join in _BESIDE)]) if stream.random() < 0.5 else ()
    if joined and joined[0].source:
        # Nothing would take what is behind MaxPool so far.
        entries = []
    named = {"X": X, "Y": pooled.Y}
    after = _chain(stream, [*entries, *joined], pooled.Y, opset, pooled.Indices, named)
    drawn = replace(drawn, context=Context(
        opset, before, after, consumers=_rarely(stream, 2, 1), initializer=_rarely(stream, True, False),
        dimensions=_rarely(stream, tuple(f"X{axis}" for axis in range(X.ndim)), None),
        inside=_rarely(stream, stream.choice(("If", "Loop", "function")), None),
    ))  # fmt: skip
    return drawn if drawn.context.has_nodes and drawn.is_exact else None


def _rarely(stream: Stream, rare: Any, usual: Any) -> Any:
    return rare if stream.random() < 0.1 else usual


def _pair(stream: Stream, X: np.ndarray) -> tuple[list[Node], list[Node], np.ndarray]:
    """A node right before MaxPool and one right behind it that undoes it, and their X, or no nodes and the same X."""
    number = stream.random()
    if number < 0.12:
        permutation = sorted(range(X.ndim), key=lambda _: stream.random())
        inverse = np.argsort(permutation).tolist()
        # The tensor that enters MaxPool is the drawn one, which the windows fit.
        flowing_in = np.ascontiguousarray(X.transpose(inverse))
        return [Node("Transpose", {"perm": permutation})], [Node("Transpose", {"perm": inverse})], flowing_in
    if number < 0.22:
        scale = stream.choice((0.5, 1, 0.1))
        point = {"dtype": stream.choice(("int8", "uint8")), "data": stream.choice((0, 3, 100))}
        quantize = [Node("QuantizeLinear", {"y_scale": scale, "y_zero_point": point})]
        dequantize = [Node("DequantizeLinear", {"x_scale": scale, "x_zero_point": point})]
        return (quantize, dequantize, X) if is_float(X.dtype) else (dequantize, quantize, X)
    return [], [], X


def _chain(
    stream: Stream,
    drawn: Sequence[str | Node],
    X: np.ndarray,
    opset: int,
    indices: np.ndarray | None = None,
    named: Mapping[str, np.ndarray] | None = None,
) -> tuple[Node, ...]:
    """The nodes of these operators, and these nodes, that have exact results one behind the other.

    ``indices`` are those of the MaxPool before them, if they are behind it; ``named`` are other tensors that they may take.
    """
    nodes, tensors = [], dict(named or {})
    for entry in drawn:
        if X.ndim < 2:
            break
        node = entry if isinstance(entry, Node) else Node(entry, _FIELDS[entry](stream, X) if entry in _FIELDS else {})
        try:
            first = tensors[node.source] if node.source else X
            Y = max_pool(node, first, opset).Y if node.op == MAX_POOL else apply(node, first, opset, indices, tensors)
        except (Inexact, KeyError):
            continue
        # What GlobalMaxPool gives for a plane of -inf would be taken for the result of MaxPool.
        is_of_nothing = node.op == "GlobalMaxPool" and is_float(Y.dtype) and (Y == -np.inf).any()
        if not 0 < Y.size <= _MOST_CELLS or is_of_nothing:
            continue
        X = Y
        tensors |= {node.name: Y} if node.name else {}
        constants = stream.choice(("initializer", "initializer", "initializer", "constant", "input"))
        consumers = _rarely(stream, 2, 1) if indices is None else 1
        nodes.append(replace(node, constants=constants, consumers=consumers))
    return tuple(nodes)


def _pad(stream: Stream, X: np.ndarray) -> dict[str, Any]:
    pads = 2 * [0, 0, *[stream.choice((0, 1, 1, 2)) for _ in X.shape[2:]]]
    if stream.random() < 0.1:
        pads[stream.choice(range(2 * X.ndim))] = stream.choice((-1, 1))
    smallest = -np.inf if is_float(X.dtype) else int(lowest(X.dtype))
    constants = [{}, *({"constant_value": value} for value in (0, 1, smallest))]
    mode = stream.choice(("constant", "constant", "constant", "edge", "reflect", "wrap"))
    return {"pads": pads, "mode": mode, **(stream.choice(constants) if mode == "constant" else {})}


_WITH_X = {"inputs": ["X"]}
_OF_THREE = {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}
_JOINED: Sequence[tuple[Node, ...]] = (
    *((Node(op, _WITH_X),) for op in ("Add", "Sub", "Mul", "Max", "Min")),
    (Node("Sub", {"inputs": ["Y"]}, source="X"),),
    (Node("Equal", _WITH_X), Node("Where", {"inputs": ["X", 0]})),
    (Node("Equal", _WITH_X), Node("Cast", {"to": "float32"}), Node("Mul", _WITH_X)),
    (Node("Greater", _WITH_X), Node("Cast", {"to": "uint8"})),
    *((Node("Concat", {"axis": axis, **_WITH_X}),) for axis in (0, 1)),
    (Node(MAX_POOL, _OF_THREE, name="next"), Node("Concat", {"axis": 1, "inputs": ["Y", "next"]}, source="X")),
    (Node(MAX_POOL, _OF_THREE, source="X"), Node("Concat", {"axis": 1, "inputs": ["Y"]})),
    (Node(MAX_POOL, _OF_THREE), Node("Sub", {"inputs": ["Y"]})),
)
"""Nodes in which a second branch, from X or from the Y of MaxPool, meets what is behind MaxPool."""

_BESIDE = (
    Node("Concat", {"axis": 1, "inputs": ["Y"]}), Node("Sub", {"inputs": ["Y"]}), Node("Max", {"inputs": ["Y"]}),
    Node("Mul", {"inputs": ["Y"]}), Node("Concat", {"axis": 0, "inputs": ["beside"]}, source="Y"),
)  # fmt: skip
"""Nodes in which another MaxPool meets the judged one."""

_FIELDS: Mapping[str, Callable[[Stream, np.ndarray], dict[str, Any]]] = {
    "Cast": lambda stream, _: {"to": stream.choice(("float32", "float32", "float64", "float16", "int8", "uint8"))},
    "Clip": lambda stream, _: stream.choice(({"min": 0}, {"min": 0, "max": 6}, {"min": -1, "max": 2}, {"max": 2})),
    "Concat": lambda stream, X: {
        "axis": (axis := stream.choice(range(1, X.ndim))),
        # X may have no cells.
        "inputs": [np.zeros([min(1, n) if i == axis else n for i, n in enumerate(X.shape)], int).tolist()],
    },
    "Conv": lambda stream, X: stream.choice(
        ({"weights": "identity"}, {"weights": "depthwise", "kernel_shape": [stream.choice((1, 2)) for _ in X.shape[2:]]})
    ),
    "Flatten": lambda stream, X: {"axis": stream.choice(range(X.ndim + 1))},
    "LeakyRelu": lambda stream, _: {"alpha": stream.choice((0.5, 0.25))},
    MAX_POOL: lambda stream, X: {
        "kernel_shape": [stream.choice((1, 2)) for _ in X.shape[2:]],
        "strides": [stream.choice((1, 1, 2)) for _ in X.shape[2:]],
    },
    "Pad": _pad,
    "Reshape": lambda stream, X: {"shape": stream.choice(([1, -1, *X.shape[2:]], [-1, 1, *X.shape[2:]]))},
    "Slice": lambda stream, X: {
        "axes": [(axis := stream.choice(range(1, X.ndim)))], "starts": [stream.choice((0, 0, 1))],
        "ends": [X.shape[axis] - stream.choice((0, 1))], **stream.choice(({}, {}, {"steps": [2]})),
    },
    "Split": lambda stream, X: {
        "axis": (axis := stream.choice(range(1, X.ndim))), "split": [1, X.shape[axis] - 1],
        "output": stream.choice((0, 1)),
    },
    "Transpose": lambda stream, X: {"perm": [0, 1, *sorted(range(2, X.ndim), key=lambda _: stream.random())]},
    "Unsqueeze": lambda stream, X: {"axes": [stream.choice(range(X.ndim + 1))]},
}  # fmt: skip
"""The fields of a node for the tensor that enters it, by its operator; those of others have none."""

_EITHER = (
    "Pad", "Relu", "LeakyRelu", "Clip", "Neg", "Abs", "Identity", "Dropout", "Cast", "Cast", "Conv", MAX_POOL, "Concat",
    "Slice", "Split", "Transpose", "Reshape",
)  # fmt: skip
_BEFORE = (*_EITHER, "Pad", "Pad")
_AFTER = (*_EITHER, "Relu", "Clip", "Flatten", "Squeeze", "Unsqueeze", "GlobalMaxPool")
