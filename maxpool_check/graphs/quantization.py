"""Quantization per tensor, to uint8 and int8 and back."""

import numpy as np

from maxpool_check.graphs.floats import wide
from maxpool_check.graphs.node import Inexact, Node
from maxpool_check.reference.dtypes import NUMPY, name_of, rounded


def quantize(node: Node, X: np.ndarray, _opset: int) -> np.ndarray:
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


def dequantize(node: Node, X: np.ndarray, _opset: int) -> np.ndarray:
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
