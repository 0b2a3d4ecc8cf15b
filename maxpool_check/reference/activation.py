"""An activation that is fused into a pooling: it applies to every maximum, and changes Y but not Indices."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import numpy as np

from maxpool_check.reference.dtypes import rounded


class Function(str, Enum):
    """The functions, by their names in ONNX."""

    RELU = "Relu"
    """max(y, 0)."""
    CLIP = "Clip"
    """min(max(y, low), high); parameters low and high."""
    LEAKY_RELU = "LeakyRelu"
    """y, or alpha * y below 0; parameter alpha. The product is rounded once."""


@dataclass(frozen=True)
class Activation:
    """A function and its parameters, which ONNX keeps in float32."""

    function: Function
    parameters: tuple[float, ...] = ()

    @property
    def values(self) -> np.ndarray:
        """The parameters rounded to float32, as float64; those too large for float32 are infinite."""
        with np.errstate(over="ignore"):
            return np.array(self.parameters, np.float32).astype(np.float64)

    def of(self, maxima: np.ndarray) -> np.ndarray:
        """The function of every maximum, in the dtype of the maxima. A NaN stays NaN."""
        # bfloat16 warns when it compares a NaN, and 0 * inf is NaN.
        with np.errstate(invalid="ignore"):
            if self.function is Function.LEAKY_RELU:
                scaled = rounded(maxima.astype(np.float64) * self.values[0], maxima.dtype)
                return np.where(maxima < 0, scaled, maxima)
            bounds = np.zeros(1) if self.function is Function.RELU else self.values
            low, *high = rounded(bounds, maxima.dtype)
            result = np.where(maxima < low, low, maxima)
            return np.where(result > high[0], high[0], result) if high else result
