"""The bins of values: what is particular about the cells of X."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import ml_dtypes
import numpy as np

from maxpool_check.reference import dtypes
from maxpool_check.reference.dtypes import highest, is_float, lowest


def values(X: np.ndarray) -> str:
    """The bin of the values of X, N x C x D1 x ... x Dn; the first that applies, the special values before the rest."""
    planes = X.reshape(X.shape[0] * X.shape[1], -1)
    return next(name for name, applies in _VALUES.items() if applies(planes))


def _among_floats(applies: Callable[[np.ndarray], bool]) -> Callable[[np.ndarray], bool]:
    return lambda planes: is_float(planes.dtype) and applies(planes)


def _magnitudes(planes: np.ndarray) -> np.ndarray:
    """The values without their sign, as float64; exact for every float type."""
    return np.abs(planes.astype(np.float64))


def _subnormal(planes: np.ndarray) -> bool:
    size = _magnitudes(planes)
    return bool(((size > 0) & (size < float(ml_dtypes.finfo(planes.dtype).tiny))).any())


def _zeros(planes: np.ndarray) -> bool:
    negative = np.signbit(planes.astype(np.float64))
    return bool((negative & (planes == 0)).any() and (~negative & (planes == 0)).any())


def _fraction(planes: np.ndarray) -> bool:
    size = _magnitudes(planes)
    return bool((size != np.floor(size)).any())


def _wide(planes: np.ndarray) -> bool:
    return planes.dtype.name in _WIDE and bool((planes > int(highest(planes.dtype)) // 2).any())


def _distinct(planes: np.ndarray) -> bool:
    return all(
        len(np.unique(plane.astype(np.float64) if is_float(plane.dtype) else plane)) == plane.size for plane in planes
    )


_VALUES: Mapping[str, Callable[[np.ndarray], bool]] = {
    "nan-planes": _among_floats(lambda planes: bool(np.isnan(planes).all(axis=1).any())),
    "nan": _among_floats(lambda planes: bool(np.isnan(planes).any())),
    "all-neg-inf": _among_floats(lambda planes: bool((planes == -math.inf).all())),
    "neg-inf": _among_floats(lambda planes: bool((planes == -math.inf).any())),
    "inf": _among_floats(lambda planes: bool((planes == math.inf).any())),
    "lowest": lambda planes: bool((planes == lowest(planes.dtype)).all()),
    "extremes": lambda planes: bool((planes == lowest(planes.dtype)).any() and (planes == highest(planes.dtype)).any()),
    "zeros": _among_floats(_zeros),
    "subnormal": _among_floats(_subnormal),
    "constant": lambda planes: bool((planes == planes[0, 0]).all()),
    "negative": lambda planes: bool((planes < 0).all()),
    "fraction": _among_floats(_fraction),
    "wide": _wide,
    "distinct": _distinct,
    "ties": lambda planes: not _distinct(planes),
}
"""Whether a bin of ``values`` applies to the planes of X, one a row; the first that does is the bin."""

_WIDE = ("int16", "uint16", "int32", "uint32", "int64", "uint64")
_FLOATS_ALONE = frozenset({"nan-planes", "nan", "all-neg-inf", "neg-inf", "inf", "zeros", "subnormal", "fraction"})


def has(dtype: str, name: str) -> bool:
    """Whether a tensor of the dtype can be in this bin of ``values``."""
    if name == "wide":
        return dtype in _WIDE
    if name == "negative":
        return not dtype.startswith("uint")
    return name not in _FLOATS_ALONE or dtype in dtypes.FLOATS
