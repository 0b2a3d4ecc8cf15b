"""A node of the graph around a MaxPool, the numbers in it, and the operators on each cell alone.

ONNX gives formulas, and no rounding: the exact value is rounded once, to nearest even. Where the formula does not decide
what becomes of a NaN, the sign of a zero or a rounding, there is no unique result (:class:`Inexact`).
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import ml_dtypes
import numpy as np

from maxpool_check.reference.dtypes import NUMPY, highest, is_float, lowest, name_of, rounded, same

MOST_CELLS = 2**26
"""The most cells of a tensor behind a node."""


class Inexact(ValueError):
    """The node has no exact and unique result for this tensor in its ONNX text, or is invalid; the message says why."""


@dataclass(frozen=True)
class Node:
    """A node of one operator, whose first input is the output of the node before it.

    ``fields`` are its attributes and constant inputs by the names of ONNX's newest operator set, as numbers, text and
    lists; a constant input whose dtype does not follow from the first input's is ``{"dtype": "uint8", "data": 3}``.
    ``constants`` says how a model holds the constant inputs: ``initializer``, ``constant`` (a Constant node) or ``input``
    (of the graph). ``consumers`` is 2 where the output of the node is an output of the graph, too. ``name`` is that of its
    output, for nodes behind it; ``source`` names its first input where that is another: ``X``, ``Y`` (of the judged
    MaxPool), or the name of a node.

    Three fields are not ONNX's: ``output`` of Split, the number of the output that the chain follows (0 if left out);
    ``inputs`` of Concat and of :data:`COMBINING`, the further inputs: constants and names of tensors; ``weights`` of Conv,
    ``depthwise`` or ``identity``.
    """

    op: str
    fields: Mapping[str, Any] = field(default_factory=dict)
    constants: str = "initializer"
    consumers: int = 1
    name: str = ""
    source: str = ""

    @property
    def named_inputs(self) -> tuple[str, ...]:
        """The names of the tensors that it takes besides its first input."""
        return tuple(each for each in self.fields.get("inputs") or () if isinstance(each, str))

    @property
    def taken(self) -> tuple[str, ...]:
        """The names of the tensors that it takes, its first input before the others."""
        return (self.source, *self.named_inputs)

    @property
    def constant_inputs(self) -> tuple[np.ndarray, ...]:
        """The numbers that it takes besides its first input, in place of tensors."""
        listed = self.fields.get("inputs") or ()
        numbers = (each["data"] if isinstance(each, Mapping) else each for each in listed if not isinstance(each, str))
        return tuple(np.asarray(each, object) for each in numbers)

    def taking(self, name: str) -> "Node":
        """The same with the tensor of that name, or its first input if it takes only one, as one without a name."""
        if not self.named_inputs:
            return replace(self, source="", name="")
        inputs = ["" if each == name else each for each in self.fields["inputs"]]
        source = "" if self.source == name else self.source
        return replace(self, source=source, name="", fields={**self.fields, "inputs": inputs})

    def integers(self, name: str, default: Sequence[int] | None = None) -> list[int]:
        """A list of integers. Raises :class:`Inexact` if the field is something else, or missing without a default."""
        values = self._value(name, default)
        if not isinstance(values, Sequence) or not all(_is_int64(value) for value in values):
            raise Inexact(f"{name} of {self.op} must be a list of integers, got {values}")
        return [int(value) for value in values]

    def integer(self, name: str, default: int | None = None) -> int:
        """An integer. Raises :class:`Inexact` if the field is something else, or missing without a default."""
        value = self._value(name, default)
        if not _is_int64(value):
            raise Inexact(f"{name} of {self.op} must be an integer, got {value}")
        return int(value)

    def choice(self, name: str, names: Sequence[str], default: str | None = None) -> str:
        """One of several names. Raises :class:`Inexact` if the field is something else, or missing without a default."""
        value = self._value(name, default)
        if value not in names:
            raise Inexact(f"{name} of {self.op} must be one of {', '.join(names)}, got {value}")
        return str(value)

    def scalar(self, name: str, dtype: str) -> np.ndarray:
        """A tensor of one number, without axes. Raises :class:`Inexact` if the field is something else, or missing."""
        value = tensor(self._value(name, None), dtype, f"{name} of {self.op}")
        if value.ndim:
            raise Inexact(f"{name} of {self.op} must be one number")
        return value

    def _value(self, name: str, default: Any) -> Any:
        value = self.fields.get(name)
        if value is None and default is None:
            raise Inexact(f"{self.op} needs {name}")
        return default if value is None else value


def check_size(op: str, *sizes: int) -> None:
    """Check that a tensor of these sizes has not more than :data:`MOST_CELLS`. Raises :class:`Inexact`."""
    # A size is too large also where another one is 0.
    if math.prod(filter(None, sizes)) > MOST_CELLS:
        raise Inexact(f"{op} makes a tensor of {[*sizes]}, of more than {MOST_CELLS} cells")


def _is_int64(value: Any) -> bool:
    return isinstance(value, int) and -(2**63) <= value < 2**63


def tensor(value: Any, dtype: str, name: str) -> np.ndarray:
    """Numbers of a case file as a tensor of ``dtype``, or of their own: ``{"dtype": "uint8", "data": 3}``.

    A number is a tensor without axes. Numbers for a float type are rounded once, to nearest even; for an integer type they
    must be integers in its range. Raises :class:`Inexact` with ``name`` in its message.
    """
    if isinstance(value, Mapping):
        value, dtype = value.get("data"), value.get("dtype", dtype)
    if dtype not in NUMPY:
        raise Inexact(f"{name} has the unknown dtype '{dtype}'")
    target = NUMPY[dtype]
    if any(each is None or isinstance(each, bool | list) for each in np.asarray(value, object).flat):
        raise Inexact(f"{name} must be numbers, in lists of equal length, got {value}")
    try:
        if is_float(target):
            return np.asarray(rounded(np.asarray(value, np.float64), target))
        numbers = np.asarray(value, object)
        limits = np.iinfo(target)
        # Of a case file, -0 is a float.
        if not all(
            number == 0 or (isinstance(number, int) and limits.min <= number <= limits.max) for number in numbers.flat
        ):
            raise Inexact(f"{name} must hold integers of {dtype}, got {value}")
        return np.asarray(numbers.astype(target))
    except (ValueError, TypeError) as mistake:
        raise Inexact(f"{name}: {mistake}") from mistake


def wide(X: np.ndarray) -> np.ndarray:
    """The values as float64, which holds those of every float type exactly."""
    # bfloat16 warns of NaN.
    with np.errstate(invalid="ignore"):
        return X.astype(np.float64)


def significand_bits(dtype: np.dtype) -> int:
    """The bits of the significand: integers up to 2 to this power are exact, and so is each sum of them that is not larger."""
    return int(ml_dtypes.finfo(dtype).nmant) + 1


Function = Callable[[Node, np.ndarray, int], np.ndarray]
"""An operator on each cell alone: of the node, the tensor and the operator set."""


Combination = Callable[..., np.ndarray]
"""An operator on cells in the same place of several tensors: of these, with the first apart from the others."""


def _copy(_node: Node, X: np.ndarray, _opset: int) -> np.ndarray:
    """ONNX Identity-25; Dropout-22, not in training: "nothing will be dropped from the input data"."""
    return X


def _relu(_node: Node, X: np.ndarray, _opset: int) -> np.ndarray:
    """ONNX Relu-14, max(0, x): neither max(0, NaN) nor the sign of max(0, -0) is defined."""
    _check_no_nan(X, "Relu")
    return _bounded(X, np.zeros((), X.dtype), np.less, "Relu")


def _clip(node: Node, X: np.ndarray, opset: int) -> np.ndarray:
    """ONNX Clip-13, Min(max, Max(input, min)); of NaN and of the sign of zeros as Relu.

    A bound that is left out is the largest finite number, which evaluators do not apply to infinities; before operator set
    11 it is that of float32 for any type. So a value beyond it has no unique result.
    """
    _check_no_nan(X, "Clip")
    dtype = name_of(X.dtype)
    limits = NUMPY["float32"] if opset < 11 and dtype == "float64" else X.dtype
    bounds = {name: node.scalar(name, dtype) for name in ("min", "max") if node.fields.get(name) is not None}
    if len(bounds) == 2 and bounds["min"] > bounds["max"] and opset < 13:
        raise Inexact(f"Clip of operator set {opset} does not define min > max")
    result = X
    for name, default, is_beyond in (("min", lowest, np.less), ("max", highest, np.greater)):
        if name in bounds:
            _check_no_nan(bounds[name], "Clip with a bound")
            result = _bounded(result, bounds[name], is_beyond, "Clip")
        elif is_beyond(X, default(limits).astype(X.dtype)).any():
            raise Inexact(f"Clip without {name} of a value beyond its default, the {default.__name__} finite number")
    return result


def _leaky_relu(node: Node, X: np.ndarray, _opset: int) -> np.ndarray:
    """ONNX LeakyRelu-16: "f(x) = alpha * x for x < 0, f(x) = x for x >= 0", so that -0 stays.

    NaN is neither; a product that is 0 or NaN depends on how it is computed.
    """
    _check_no_nan(X, "LeakyRelu")
    alpha = node.scalar("alpha", "float32") if "alpha" in node.fields else np.float32(0.01)
    if not np.isfinite(alpha):
        raise Inexact(f"LeakyRelu with alpha {alpha}")
    # The text does not say in which type alpha is multiplied.
    if rounded(np.asarray(alpha, np.float64), X.dtype).astype(np.float32) != alpha:
        raise Inexact(f"LeakyRelu of {X.dtype.name}: alpha {alpha} is not exact in this type")
    with np.errstate(invalid="ignore", over="ignore", under="ignore"):
        products = rounded(wide(X) * np.float64(alpha), X.dtype)
    negative = X < 0
    if (negative & ((products == 0) | np.isnan(products))).any():
        raise Inexact("LeakyRelu with a product of 0 or NaN")
    return np.where(negative, products, X)


def _signed(function: Callable[[np.ndarray], np.ndarray]) -> Function:
    """ONNX Neg-13, "each element flipped sign", that of zeros included, and Abs-13."""

    def apply(node: Node, X: np.ndarray, _opset: int) -> np.ndarray:
        if np.issubdtype(X.dtype, np.signedinteger) and (X == lowest(X.dtype)).any():
            raise Inexact(f"{node.op} of {lowest(X.dtype)}: {X.dtype.name} does not hold the result")
        return function(X)

    return apply


def _cast(node: Node, X: np.ndarray, opset: int) -> np.ndarray:
    """ONNX Cast-25, between numbers; before operator set 13 without the rules for what is out of range.

    Of floats, it must not matter whether float32 comes in between, and only integers in range become integers: the text
    defines neither a fraction nor a value out of range.
    """
    target = NUMPY[node.choice("to", tuple(NUMPY))]
    if is_float(X.dtype) and is_float(target):
        return _float_to_float(X, target)
    low, high = (X.min().item(), X.max().item()) if X.size and not is_float(X.dtype) else (0, 0)
    if is_float(target):
        limit = 2 ** significand_bits(target)
        if not -limit <= low <= high <= limit:
            raise Inexact(f"Cast to {target.name} of an integer beyond {limit}: ONNX does not define the rounding")
        return rounded(X.astype(np.float64), target)
    limits = np.iinfo(target)
    if is_float(X.dtype):
        values = wide(X)
        if not (np.isfinite(values) & (values == np.floor(values))).all():
            raise Inexact(f"Cast to {target.name} of a number that is no integer: ONNX does not define it")
        if ((values < float(limits.min)) | (values >= float(limits.max) + 1)).any():
            raise Inexact(f"Cast to {target.name} of a value out of range is undefined")
        return values.astype(target)
    if opset < 13 and not limits.min <= low <= high <= limits.max:
        raise Inexact(f"Cast of operator set {opset} does not define an integer out of the range of {target.name}")
    # "Discard higher bits and reinterpret."
    return X.astype(target)


def _float_to_float(X: np.ndarray, target: np.dtype) -> np.ndarray:
    """To nearest even, "+/- infinity if out of range"."""
    values = wide(X)
    result = rounded(values, target)
    if target.itemsize < 4 and not same(result, rounded(wide(rounded(values, NUMPY["float32"])), target)).all():
        raise Inexact(f"Cast of {X.dtype.name} to {target.name}: rounding once and by way of float32 differ")
    beyond = np.isfinite(values) & (np.abs(values) > highest(target).astype(np.float64))
    if (beyond & np.isfinite(wide(result))).any():
        raise Inexact(
            f"Cast to {target.name}: a value out of range is nearest to a finite number, the text says infinity"
        )
    return result


def _bounded(X: np.ndarray, bound: np.ndarray, is_beyond: np.ufunc, op: str) -> np.ndarray:
    """The bound where a cell is beyond it; of zeros with different signs, none is greater."""
    if is_float(X.dtype) and ((X == bound) & (np.signbit(X) != np.signbit(bound))).any():
        raise Inexact(f"{op} of a zero: ONNX does not define which of -0 and +0 is greater")
    return np.where(is_beyond(X, bound), bound, X)


def _check_no_nan(X: np.ndarray, what: str) -> None:
    if is_float(X.dtype) and np.isnan(X).any():
        raise Inexact(f"{what} of NaN: ONNX does not define it")


def _quantize(node: Node, X: np.ndarray, _opset: int) -> np.ndarray:
    """ONNX QuantizeLinear-25: saturate(round(x / y_scale) + y_zero_point), to nearest even.

    The precision of the division is that of ``y_scale``, but only the newer texts say so: its type, float32 and the exact
    quotient must give the same result. An infinite x saturates.
    """
    scale, zero_point = _scale(node, "y_scale", name_of(X.dtype)), _zero_point(node, "y_zero_point", "uint8")
    values = wide(X)
    if np.isnan(values).any():
        raise Inexact("QuantizeLinear of NaN: ONNX does not define it")
    if not np.array_equal(rounded(values, scale.dtype), values):
        raise Inexact(f"QuantizeLinear of {X.dtype.name} with a scale of {scale.dtype.name}, which does not hold x")
    limits = np.iinfo(zero_point.dtype)
    # float64 decides the exact quotient of two shorter numbers: one that is not halfway between integers is not near it.
    with np.errstate(over="ignore", under="ignore"):
        exact = values / scale.astype(np.float64)
    results = [
        np.clip(np.rint(quotient.astype(np.float64)) + int(zero_point), limits.min, limits.max)
        for quotient in (exact, rounded(exact, NUMPY["float32"]), rounded(exact, scale.dtype))
    ]
    if any((result != results[0]).any() for result in results):
        raise Inexact("QuantizeLinear of a quotient that its rounding moves to or from the middle of two integers")
    return results[0].astype(zero_point.dtype)


def _dequantize(node: Node, X: np.ndarray, _opset: int) -> np.ndarray:
    """ONNX DequantizeLinear-25: (x - x_zero_point) * x_scale; the difference is exact, the product is rounded once."""
    scale, zero_point = _scale(node, "x_scale", "float32"), _zero_point(node, "x_zero_point", name_of(X.dtype))
    if zero_point.dtype != X.dtype:
        raise Inexact("DequantizeLinear: x_zero_point and x must have the same type")
    difference = X.astype(np.float64) - int(zero_point)
    if scale < 0 and (difference == 0).any():
        raise Inexact("DequantizeLinear with a negative scale: ONNX does not define the sign of a zero product")
    return rounded(difference * scale.astype(np.float64) + 0.0, scale.dtype)


def _scale(node: Node, name: str, dtype: str) -> np.ndarray:
    """The scale, finite and not 0."""
    scale = node.scalar(name, dtype)
    if scale == 0 or not np.isfinite(scale):
        raise Inexact(f"{name} of {node.op} must be finite and not 0, got {scale}")
    return scale


def _zero_point(node: Node, name: str, dtype: str) -> np.ndarray:
    zero_point = node.scalar(name, dtype) if name in node.fields else np.zeros((), NUMPY[dtype])
    if name_of(zero_point.dtype) not in ("uint8", "int8"):
        raise Inexact(f"{node.op} of {zero_point.dtype.name}")
    return zero_point


ELEMENTWISE: dict[str, Function] = {
    "Identity": _copy,
    "Dropout": _copy,
    "Relu": _relu,
    "LeakyRelu": _leaky_relu,
    "Clip": _clip,
    "Neg": _signed(np.negative),
    "Abs": _signed(np.abs),
    "Cast": _cast,
    "QuantizeLinear": _quantize,
    "DequantizeLinear": _dequantize,
}
"""The operators on each cell alone."""


def _rounded_once(function: Callable[[np.ndarray, np.ndarray], np.ndarray], op: str) -> Combination:
    """ONNX Add-14, Sub-14 and Mul-14: the exact result, which IEEE rounds once; ONNX defines none beyond an integer type."""

    def combine(first: np.ndarray, *others: np.ndarray) -> np.ndarray:
        (second,) = others
        if is_float(first.dtype):
            # Of shorter types, float32 holds enough bits that the second rounding changes nothing; numpy rounds them like this.
            with np.errstate(all="ignore"):
                return function(first, second)
        result = function(first.astype(object), second.astype(object))
        limits = np.iinfo(first.dtype)
        if result.size and not limits.min <= result.min() <= result.max() <= limits.max:
            raise Inexact(f"{op} with a result beyond {first.dtype.name}: ONNX does not define it")
        return result.astype(first.dtype)

    return combine


def _compared(function: np.ufunc, op: str) -> Combination:
    """ONNX Equal-19 and Greater-13; zeros of both signs are equal."""

    def combine(first: np.ndarray, *others: np.ndarray) -> np.ndarray:
        (second,) = others
        for operand in (first, second):
            _check_no_nan(operand, op)
        return np.asarray(function(first, second))

    return combine


def _extreme(is_beyond: np.ufunc, op: str) -> Combination:
    """ONNX Max-13 and Min-13; of NaN and of zeros as Relu."""

    def combine(first: np.ndarray, *others: np.ndarray) -> np.ndarray:
        for other in others:
            a, b = np.broadcast_arrays(first, other)
            for operand in (a, b):
                _check_no_nan(operand, op)
            first = _bounded(a, b, is_beyond, op)
        return first

    return combine


def _where(first: np.ndarray, *others: np.ndarray) -> np.ndarray:
    """ONNX Where-16, whose first input is the condition."""
    yes, no = others
    return np.where(first, yes, no)


COMBINING: dict[str, Combination] = {
    "Add": _rounded_once(np.add, "Add"),
    "Sub": _rounded_once(np.subtract, "Sub"),
    "Mul": _rounded_once(np.multiply, "Mul"),
    "Equal": _compared(np.equal, "Equal"),
    "Greater": _compared(np.greater, "Greater"),
    "Max": _extreme(np.less, "Max"),
    "Min": _extreme(np.greater, "Min"),
    "Where": _where,
}
"""The operators on cells in the same place of several tensors. Their types are checked before."""

COUNTS = {"Where": (2, 2), "Max": (1, 16), "Min": (1, 16)}
"""How many inputs they have besides the first, at least and at most, where it is not one."""
