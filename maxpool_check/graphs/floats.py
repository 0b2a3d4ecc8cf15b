"""What the arithmetic of all operators needs to know of floats."""

import ml_dtypes
import numpy as np


def wide(X: np.ndarray) -> np.ndarray:
    """The values as float64, which holds those of every float type exactly."""
    # bfloat16 warns of NaN.
    with np.errstate(invalid="ignore"):
        return X.astype(np.float64)


def significand_bits(dtype: np.dtype) -> int:
    """The bits of the significand: integers up to 2 to this power are exact, and so is each sum of them that is not larger."""
    return int(ml_dtypes.finfo(dtype).nmant) + 1
