"""The ranges of the tensors of a model: which values can be there, whatever its inputs are in theirs.

Each tensor has one interval for all of its cells, computed node by node from those of the tensors that the node takes. It holds
for sums in any order, of products that are rounded: a bound is moved outward by a multiple of what rounding can move a sum of such
absolute values. What could overflow is unbounded, and so is what an operator makes that has no rule here.
"""

import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import Any

import numpy as np
from ml_dtypes import finfo
from onnx import NodeProto, numpy_helper

from maxpool_check.graphs.context import MAX_POOL
from maxpool_check.graphs.reading import OWN_DOMAINS, attribute_values
from maxpool_check.models.model_file import UserModel
from maxpool_check.models.shapes import NOT_DECLARED, Scope, Types
from maxpool_check.reference.dtypes import NUMPY, highest, is_float, lowest

_MOST_SQUARES = 2**16
"""More channels than LRN adds the squares of."""

_ROUNDING = 2.0**-10
"""How much of the largest absolute value a result may be rounded by: that of products in TensorFloat-32."""


@dataclass(frozen=True)
class Range:
    """The values from ``low`` to ``high``, and NaN if ``nan``."""

    low: float = -math.inf
    high: float = math.inf
    nan: bool = False

    @property
    def is_finite(self) -> bool:
        """Whether it has neither infinities nor NaN."""
        return math.isfinite(self.low) and math.isfinite(self.high) and not self.nan

    @property
    def largest(self) -> float:
        """The largest absolute value."""
        return max(abs(self.low), abs(self.high))

    def __or__(self, other: "Range") -> "Range":
        return Range(min(self.low, other.low), max(self.high, other.high), self.nan or other.nan)

    def holds(self, values: np.ndarray) -> bool:
        """Whether all values are in it."""
        if not is_float(values.dtype):
            return values.size == 0 or bool(self.low <= values.min() and values.max() <= self.high)
        wide = values.astype(np.float64)
        are_nan = np.isnan(wide)
        inside = (wide >= self.low) & (wide <= self.high)
        return bool((inside | are_nan).all()) and (self.nan or not are_nan.any())

    def clipped(self, values: np.ndarray) -> np.ndarray:
        """The values, of which those outside of it are moved to its bounds; NaN stays NaN."""
        for bound, limit in ((self.low, np.maximum), (self.high, np.minimum)):
            values = limit(values, np.asarray(bound).astype(values.dtype)) if math.isfinite(bound) else values
        return values

    def __str__(self) -> str:
        interval = "any value" if self == ANY else f"[{self.low:.4g}, {self.high:.4g}]"
        return f"{interval} or NaN" if self.nan and self != ANY else interval


ANY = Range(nan=True)
"""Every value of a type of floating point."""


def input_range(text: str) -> tuple[str, Range]:
    """A name and a range without NaN, as ``images=0:1``. Raises ``ValueError``."""
    name, _, bounds = text.rpartition("=")
    low, _, high = bounds.partition(":")
    try:
        found = Range(float(low), float(high))
    except ValueError:
        found = Range(math.nan)
    if not name or not found.low <= found.high:
        raise ValueError(f"'{text}' is not NAME=LOW:HIGH, such as images=0:1")
    return name, found


def range_of_type(dtype: str) -> Range:
    """Every value of an element type."""
    if dtype not in NUMPY or is_float(NUMPY[dtype]):
        return Range(0, 1) if dtype == "bool" else ANY
    return Range(float(lowest(NUMPY[dtype])), float(highest(NUMPY[dtype])))


def ranges(model: UserModel, types: Types, given: Mapping[str, Range], filled: Collection[str]) -> Mapping[str, Range]:
    """The range of each tensor of the main graph that is no constant, at the sizes of ``types``; an initializer has its values.

    ``given`` are those of inputs; ``filled`` are the outputs of MaxPool nodes whose windows all have a cell.
    """
    scope, found = Scope(model.proto.graph), dict[str, Range]()
    for value in model.inputs:
        dtype = types.get(value.name, NOT_DECLARED).dtype
        of, whole = given.get(value.name, range_of_type(dtype)), range_of_type(dtype)
        low, high = ends = np.clip([of.low, of.high], whole.low, whole.high)
        if whole == ANY and dtype in NUMPY:
            with np.errstate(over="ignore"):
                # A bound may have no number of its own in the type.
                low, high = ends.astype(NUMPY[dtype]).astype(np.float64)
        found[value.name] = Range(float(min(low, ends[0])), float(max(high, ends[1])), of.nan)
    for proto in scope.graph.node:
        node = _Node(proto, model, scope, found, types)
        rule = _RULES.get(proto.op_type) if proto.domain in OWN_DOMAINS else None
        if proto.op_type == MAX_POOL and proto.output[0] in filled:
            rule = _pooled
        try:
            result = rule(node) if rule is not None else ANY
        except Exception:  # a node that its operator does not allow, or a constant that cannot be read
            result = ANY
        for name in filter(None, proto.output):
            is_meant = name == proto.output[0] or proto.op_type == "Split"
            found[name] = _fitted(result if is_meant else ANY, types.get(name, NOT_DECLARED).dtype)
    return found


@dataclass(frozen=True)
class _Node:
    """A node of a model, with the ranges and types of the tensors that it takes."""

    proto: NodeProto
    model: UserModel
    scope: Scope
    found: Mapping[str, Range]
    types: Types

    @cached_property
    def attributes(self) -> Mapping[str, Any]:
        return attribute_values(self.proto)

    def has(self, number: int) -> bool:
        return number < len(self.proto.input) and bool(self.proto.input[number])

    def values(self, number: int) -> np.ndarray | None:
        """The values of an input, if it is a constant of numbers."""
        return self.constant(self.proto.input[number]) if self.has(number) else None

    def constant(self, name: str) -> np.ndarray | None:
        """The values of a constant of numbers; None if it is none. Raises :class:`BadModel` and ``OSError``."""
        tensor = self.scope.constant(name) if name not in self.model.missing else None
        values = None if tensor is None else numpy_helper.to_array(self.model.inline(tensor))
        if values is None or values.dtype.kind in "fiub":
            return values
        # Narrow floating point.
        return values.astype(np.float32) if values.dtype.kind == "V" else None

    def range(self, number: int = 0) -> Range:
        """The range of an input; that of a constant is exact."""
        if not self.has(number):
            return ANY
        values = None if self.proto.input[number] in self.found else self.values(number)
        return _range_of(values) if values is not None else self.found.get(self.proto.input[number], ANY)

    @property
    def all_ranges(self) -> list[Range]:
        return [self.range(number) for number in range(len(self.proto.input))]

    def shape(self, number: int) -> tuple[int, ...] | None:
        """The shape of an input; None if it is not known."""
        known = self.types.get(self.proto.input[number]) if self.has(number) else None
        return None if known is None else known.shape

    @property
    def dtype(self) -> str:
        """The element type of its output."""
        return self.types.get(self.proto.output[0], NOT_DECLARED).dtype

    @property
    def most(self) -> float:
        """The largest number of its element type."""
        dtype = NUMPY.get(self.dtype, np.dtype(np.float32))
        return float(finfo(dtype).max) if is_float(dtype) else math.inf

    def rounded(self, low: float, high: float, largest: float, terms: int = 1, *, has_signs: bool = True) -> Range:
        """What a sum of terms can be after rounding, of which ``largest`` bounds the sum of the absolute values.

        Without ``has_signs``, no term is negative, and then no sum is.
        """
        dtype = NUMPY.get(self.dtype, np.dtype(np.float32))
        if not is_float(dtype):
            return Range(low, high)
        margin = largest * (_ROUNDING + 8 * float(finfo(dtype).eps) * terms)
        # A sum that overflows on the way may become NaN.
        if not largest + margin <= self.most:
            return ANY
        return Range(low - margin if has_signs else max(low - margin, 0.0), high + margin)


def _range_of(values: np.ndarray) -> Range:
    are_nan = np.isnan(values)
    known = values[~are_nan] if are_nan.any() else values
    if not known.size:
        return ANY if values.size else Range(0, 0)
    return Range(float(known.min()), float(known.max()), known.size < values.size)


def _fitted(result: Range, dtype: str) -> Range:
    """A range in an element type: beyond its largest value a number of floating point is infinite, and an integer wraps around."""
    of_type = range_of_type(dtype)
    if of_type != ANY:
        is_inside = of_type.low <= result.low and result.high <= of_type.high and not result.nan
        return result if is_inside else of_type
    largest = float(finfo(NUMPY[dtype]).max) if dtype in NUMPY else 0.0
    low = result.low if result.low >= -largest else -math.inf
    return Range(low, result.high if result.high <= largest else math.inf, result.nan)


def _same(node: _Node) -> Range:
    return node.range()


def _pooled(node: _Node) -> Range:
    """The maximum of cells, of which there must be some."""
    return ANY if 0 in (node.shape(0) or (0,)) else node.range()


def _between(low: float, high: float) -> Callable[[_Node], Range]:
    """The rule of a function with values in an interval; NaN stays NaN."""
    return lambda node: Range(low, high, node.range().nan)


def _union(node: _Node) -> Range:
    return reduce(Range.__or__, node.all_ranges)


def _chosen(node: _Node) -> Range:
    """Where chooses between two tensors."""
    return node.range(1) | node.range(2)


def _rectified(node: _Node) -> Range:
    """Relu; of NaN, some runtimes make 0."""
    x = node.range()
    return Range(0.0 if x.nan else max(x.low, 0.0), max(x.high, 0.0), x.nan)


def _clip(node: _Node) -> Range:
    x, limits = node.range(), {"min": -math.inf, "max": math.inf}
    for number, name in enumerate(limits, 1):
        bound = float(node.attributes.get(name, limits[name]))
        of = node.range(number) if node.has(number) else Range(bound, bound)
        limits[name] = limits[name] if of.nan else of.low if name == "min" else of.high
    if x.nan:
        # Some runtimes make a bound of it.
        return Range(limits["min"], limits["max"], x.nan)
    low, high = (min(max(bound, limits["min"]), limits["max"]) for bound in (x.low, x.high))
    return Range(low, high)


def _extremum(choose: Callable[..., float]) -> Callable[[_Node], Range]:
    def rule(node: _Node) -> Range:
        of = node.all_ranges
        if any(each.nan for each in of):
            return ANY
        return Range(choose(each.low for each in of), choose(each.high for each in of))

    return rule


def _negated(node: _Node) -> Range:
    x = node.range()
    return Range(-x.high, -x.low, x.nan)


def _absolute(node: _Node) -> Range:
    x = node.range()
    return Range(max(x.low, -x.high, 0.0), x.largest, x.nan)


def _add(node: _Node) -> Range:
    of = node.all_ranges
    if not all(each.is_finite for each in of):
        return ANY
    low, high, has_signs = sum(each.low for each in of), sum(each.high for each in of), any(each.low < 0 for each in of)
    return node.rounded(low, high, sum(each.largest for each in of), len(of), has_signs=has_signs)


def _subtract(node: _Node) -> Range:
    a, b = node.range(0), node.range(1)
    finite = a.is_finite and b.is_finite
    return node.rounded(a.low - b.high, a.high - b.low, a.largest + b.largest) if finite else ANY


def _product(a: Range, b: Range) -> Range:
    found = [x * y for x in (a.low, a.high) for y in (b.low, b.high)]
    return Range(min(found), max(found))


def _multiply(node: _Node) -> Range:
    a, b = node.range(0), node.range(1)
    if not (a.is_finite and b.is_finite):
        return ANY
    result = _product(a, b)
    return node.rounded(result.low, result.high, result.largest, has_signs=min(a.low, b.low) < 0)


def _divide(node: _Node) -> Range:
    a, b = node.range(0), node.range(1)
    if not (a.is_finite and b.is_finite) or b.low <= 0 <= b.high or not is_float(NUMPY.get(node.dtype, np.dtype(int))):
        return ANY
    result = _product(a, Range(1 / b.high, 1 / b.low))
    return node.rounded(result.low, result.high, result.largest)


def _leaky(node: _Node) -> Range:
    """LeakyRelu and PRelu, which multiply values below zero."""
    x, slope = node.range(), float(node.attributes.get("alpha", 0.01))
    factor = node.range(1) if node.proto.op_type == "PRelu" else Range(slope, slope)
    if not (x.is_finite and factor.is_finite):
        return ANY
    below = _product(Range(min(x.low, 0.0), 0.0), factor)
    return node.rounded(min(below.low, max(x.low, 0.0)), max(below.high, x.high), max(below.largest, x.largest))


def _sums(node: _Node, x: Range, weights: np.ndarray | None, of_weights: Range, terms: int, added: np.ndarray) -> Range:
    """Sums of ``terms`` products with weights, a row of them for each sum where they are known.

    ``added`` are the lowest and the highest numbers that are added to the sums: to each one of its own, or the same to all.
    """
    if not (x.is_finite and of_weights.is_finite and np.isfinite(added).all()):
        return ANY
    if weights is not None:
        above, below = (limit(weights, 0).sum(1, dtype=np.float64) for limit in (np.maximum, np.minimum))
        low, high = above * x.low + below * x.high, above * x.high + below * x.low
        largest = (above - below) * x.largest
    else:
        each = _product(x, of_weights)
        low, high, largest = (np.array([terms * bound]) for bound in (each.low, each.high, each.largest))
    if len(low) > 1 and added.shape[1] not in (1, len(low)):
        return ANY
    low, high, largest = low + added[0], high + added[1], largest + np.abs(added).max(0)
    return node.rounded(float(low.min()), float(high.max()), float(largest.max()), terms + 1)


def _conv(node: _Node) -> Range:
    x, shape = node.range(), node.shape(1)
    if shape is None or len(shape) < 3:
        return ANY
    if node.attributes.get("auto_pad", "NOTSET") not in ("NOTSET", "VALID") or any(node.attributes.get("pads", ())):
        x |= Range(0, 0)
    weights, terms = node.values(1), math.prod(shape[1:])
    rows = None if weights is None else weights.reshape(shape[0], -1)
    return _sums(node, x, rows, node.range(1), terms, _added(node, 2))


def _added(node: _Node, number: int) -> np.ndarray:
    """What an input adds to each sum, twice, or the lowest and the highest of what it may add to any; zeros if there is none."""
    if not node.has(number):
        return np.zeros((2, 1))
    values, of = node.values(number), node.range(number)
    if values is not None and values.ndim == 1:
        return np.array([values, values], np.float64)
    return np.array([[math.nan if of.nan else of.low], [of.high]])


def _matmul(node: _Node) -> Range:
    shape = node.shape(0)
    if not shape:
        return ANY
    weights = node.values(1)
    rows = weights.T if weights is not None and weights.ndim == 2 else None
    return _sums(node, node.range(0), rows, node.range(1), shape[-1], np.zeros((2, 1)))


def _gemm(node: _Node) -> Range:
    get, shape = node.attributes.get, node.shape(0)
    if shape is None or len(shape) != 2:
        return ANY
    alpha, beta, weights = float(get("alpha", 1.0)), float(get("beta", 1.0)), node.values(1)
    rows = None if weights is None else alpha * (weights if get("transB", 0) else weights.T)
    scaled = _product(node.range(1), Range(alpha, alpha)) if node.range(1).is_finite else ANY
    added = np.sort(beta * _added(node, 2), axis=0)
    return _sums(node, node.range(0), rows, scaled, shape[0 if get("transA", 0) else 1], added)


def _normalized(node: _Node) -> Range:
    """BatchNormalization with its stored mean and variance: a factor and a summand for each channel."""
    x, of = node.range(), [node.range(number) for number in range(1, 5)]
    has_own = node.attributes.get("training_mode", 0) or not (
        node.model.opset >= 7 or node.attributes.get("is_test", 0)
    )
    if has_own or any(node.proto.output[1:]):
        # It computes mean and variance itself.
        return ANY
    if not all(each.is_finite for each in (x, *of)):
        return ANY
    known = [node.values(number) for number in range(1, 5)]
    # The lowest and the highest of each parameter, by channel where they are known.
    scale, bias, mean, variance = (
        np.array([[each.low], [each.high]]) if values is None else np.array([values, values], np.float64)
        for each, values in zip(of, known, strict=True)
    )
    with np.errstate(all="ignore"):
        deviation = np.sqrt(variance + float(node.attributes.get("epsilon", 1e-5)))
        moved = np.array([x.low - mean[1], x.high - mean[0]])
        found = np.array([a * b / c for a in moved for b in scale for c in deviation])
        largest = np.abs(found).max(0) + np.abs(bias).max(0) + np.abs(scale).max(0) * np.abs(mean).max(0) / deviation[0]
    if not np.isfinite(largest).all():
        return ANY
    low, high = (found.min(0) + bias[0]).min(), (found.max(0) + bias[1]).max()
    return node.rounded(float(low), float(high), float(largest.max()), 4)


def _averaged(node: _Node) -> Range:
    x, get = node.range(), node.attributes.get
    if any(get("pads", ())) or get("ceil_mode", 0) or get("auto_pad", "NOTSET") != "NOTSET":
        x |= Range(0, 0)
    terms = math.prod(node.shape(0) or (2**24,))
    if not x.is_finite or not x.largest * terms < node.most:
        # The sum may overflow though the average does not.
        return ANY
    return node.rounded(x.low, x.high, x.largest, terms, has_signs=x.low < 0)


def _resized(node: _Node) -> Range:
    mode, x = node.attributes.get("mode", "nearest"), node.range()
    if node.attributes.get("coordinate_transformation_mode") == "tf_crop_and_resize":
        value = float(node.attributes.get("extrapolation_value", 0.0))
        x |= Range(value, value)
    if mode == "nearest":
        return x
    # Weights of a linear interpolation are not negative, and their sum is one.
    return node.rounded(x.low, x.high, x.largest, 16, has_signs=x.low < 0) if mode == "linear" and x.is_finite else ANY


def _padded(node: _Node) -> Range:
    if node.attributes.get("mode", "constant") != "constant":
        return node.range()
    value = float(node.attributes.get("value", 0.0))
    return node.range() | (node.range(2) if node.has(2) else Range(value, value))


def _softmax(node: _Node) -> Range:
    return Range(0.0, 1 + _ROUNDING, not node.range().is_finite)


def _local_response(node: _Node) -> Range:
    """LRN divides by at least ``bias ** beta``."""
    get, x = node.attributes.get, node.range()
    alpha, beta, bias = float(get("alpha", 1e-4)), float(get("beta", 0.75)), float(get("bias", 1.0))
    # Runtimes subtract squares from their sum, which must not overflow.
    if min(alpha, beta) < 0 or bias <= 0 or not x.is_finite or not x.largest**2 * _MOST_SQUARES < node.most:
        return ANY
    part = _product(x, Range(0.0, bias**-beta))
    return node.rounded(part.low, part.high, part.largest, has_signs=x.low < 0)


def _quantized(node: _Node) -> Range:
    """QuantizeLinear: divided by the scale, rounded to an integer, moved by the zero point, and clipped to the type."""
    x, scale, zero = node.range(), node.range(1), node.range(2) if node.has(2) else Range(0, 0)
    of_type = range_of_type(node.dtype)
    if x.nan or of_type == ANY or not (scale.is_finite and zero.is_finite) or scale.low <= 0:
        return of_type
    found = [bound / by for bound in (x.low, x.high) for by in (scale.low, scale.high)]
    low, high = min(found), max(found)
    # A quotient is rounded to the nearest integer; before, by the arithmetic of the runtime.
    low = low - abs(low) * _ROUNDING - 0.5 if low else low
    high = high + abs(high) * _ROUNDING + 0.5
    clipped = [min(max(each, of_type.low), of_type.high) for each in (low + zero.low, high + zero.high)]
    return Range(math.ceil(clipped[0]), math.floor(clipped[1]))


def _dequantized(node: _Node) -> Range:
    x, scale, zero = node.range(), node.range(1), node.range(2) if node.has(2) else Range(0, 0)
    if not (x.is_finite and scale.is_finite and zero.is_finite):
        return ANY
    moved = Range(x.low - zero.high, x.high - zero.low)
    result = _product(moved, scale)
    return node.rounded(result.low, result.high, result.largest, has_signs=min(moved.low, scale.low) < 0)


def _constant(node: _Node) -> Range:
    values = node.constant(node.proto.output[0])
    return ANY if values is None else _range_of(values)


def _filled(node: _Node) -> Range:
    return reduce(
        Range.__or__, [_range_of(numpy_helper.to_array(each.t)) for each in node.proto.attribute] or [Range(0, 0)]
    )


def _dropped(node: _Node) -> Range:
    """Dropout, which changes nothing but in training."""
    return ANY if node.has(2) else node.range()


def _cast(node: _Node) -> Range:
    x = node.range()
    if node.dtype == "bool":
        return Range(0, 1)
    if range_of_type(node.dtype) == ANY:
        return node.rounded(x.low, x.high, x.largest, has_signs=x.low < 0) if x.is_finite else x
    return Range(math.trunc(x.low), math.trunc(x.high)) if x.is_finite else ANY


_MOVING = (
    *("DepthToSpace", "Expand", "Flatten", "Gather", "GatherElements", "GatherND", "Identity"),
    *(
        "ReduceMax",
        "ReduceMin",
        "Reshape",
        "Slice",
        "SpaceToDepth",
        "Split",
        "Squeeze",
        "Tile",
        "Transpose",
        "Unsqueeze",
    ),
)
"""Operators whose outputs have the values of their first input and no others."""

_RULES: Mapping[str, Callable[[_Node], Range]] = {
    **dict.fromkeys(_MOVING, _same),
    **dict.fromkeys(("GlobalMaxPool", "ReduceMax", "ReduceMin"), _pooled),
    **dict.fromkeys(("Exp", "Softplus"), _between(0, math.inf)),
    **dict.fromkeys(("HardSigmoid", "Sigmoid"), _between(0, 1 + _ROUNDING)),
    "Abs": _absolute,
    "Add": _add,
    "Sum": _add,
    "AveragePool": _averaged,
    "BatchNormalization": _normalized,
    "Cast": _cast,
    "Clip": _clip,
    "Concat": _union,
    "Constant": _constant,
    "ConstantOfShape": _filled,
    "Conv": _conv,
    "DequantizeLinear": _dequantized,
    "Div": _divide,
    "Dropout": _dropped,
    "Gemm": _gemm,
    "GlobalAveragePool": _averaged,
    "LRN": _local_response,
    "LeakyRelu": _leaky,
    "MatMul": _matmul,
    "Max": _extremum(max),
    "Min": _extremum(min),
    "Mul": _multiply,
    "Neg": _negated,
    "PRelu": _leaky,
    "Pad": _padded,
    "QuantizeLinear": _quantized,
    "ReduceMean": _averaged,
    "Relu": _rectified,
    "Resize": _resized,
    "Softmax": _softmax,
    "Sub": _subtract,
    "Tanh": _between(-1 - _ROUNDING, 1 + _ROUNDING),
    "Upsample": _resized,
    "Where": _chosen,
}
"""The rules of operators; of any other, nothing is known."""
