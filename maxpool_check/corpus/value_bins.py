"""The bins of values: what is particular about the cells of X."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import ml_dtypes
import numpy as np

from maxpool_check.reference import dtypes
from maxpool_check.reference.dtypes import highest, is_float, lowest

VALUE_BINS = (
    "distinct",  # in every plane
    "ties",  # some are equal
    "constant",
    "fraction",  # some are no integers
    "wide",  # some need all bits of an integer of 16 or more
    "negative",  # all are below zero
    "extremes",  # both the lowest and the highest finite value occur
    "lowest",  # all are the lowest finite value
    "neg-inf",  # some are -inf
    "all-neg-inf",
    "inf",
    "zeros",  # both -0 and +0 occur
    "subnormal",
    "nan",  # some are NaN, in no plane all
    "nan-planes",  # all of some plane are NaN
)
"""In the order of reports."""

_WIDE = ("int16", "uint16", "int32", "uint32", "int64", "uint64")
_FLOATS_ONLY = frozenset({"nan-planes", "nan", "all-neg-inf", "neg-inf", "inf", "zeros", "subnormal", "fraction"})


def values(X: np.ndarray) -> str:
    """The bin of the values of X, N x C x D1 x ... x Dn; the first that applies, special values before the others."""
    planes = X.reshape(X.shape[0] * X.shape[1], -1)
    with np.errstate(invalid="ignore"):  # of signalling NaN
        numbers = planes.astype(np.float64) if is_float(X.dtype) else planes
    return next((name for name, applies in _APPLIES.items() if applies(numbers, X.dtype)), "ties")


def _zeros(planes: np.ndarray, _: np.dtype) -> bool | np.bool_:
    negative = np.signbit(planes[planes == 0])
    return negative.any() and not negative.all()


def _subnormal(planes: np.ndarray, dtype: np.dtype) -> bool | np.bool_:
    return is_float(dtype) and ((planes != 0) & (np.abs(planes) < float(ml_dtypes.finfo(dtype).tiny))).any()


_APPLIES: Mapping[str, Callable[[np.ndarray, np.dtype], bool | np.bool_]] = {
    "nan-planes": lambda planes, _: np.isnan(planes).all(axis=1).any(),
    "nan": lambda planes, _: np.isnan(planes).any(),
    "all-neg-inf": lambda planes, _: (planes == -math.inf).all(),
    "neg-inf": lambda planes, _: (planes == -math.inf).any(),
    "inf": lambda planes, _: (planes == math.inf).any(),
    "lowest": lambda planes, dtype: (planes == lowest(dtype)).all(),
    "extremes": lambda planes, dtype: (planes == lowest(dtype)).any() and (planes == highest(dtype)).any(),
    "zeros": _zeros,
    "subnormal": _subnormal,
    "constant": lambda planes, _: (planes == planes[0, 0]).all(),
    "negative": lambda planes, _: (planes < 0).all(),
    "fraction": lambda planes, _: (planes != np.floor(planes)).any(),
    "wide": lambda planes, dtype: dtype.name in _WIDE and (planes > int(highest(dtype)) // 2).any(),
    "distinct": lambda planes, _: all(len(np.unique(plane)) == plane.size for plane in planes),
}
"""Whether a bin applies to the planes of X, a row each, in float64 if X is of floats."""


def has(dtype: str, name: str) -> bool:
    """Whether a tensor of the dtype can be in this bin of ``values``."""
    if name == "wide":
        return dtype in _WIDE
    if name == "negative":
        return not dtype.startswith("uint")
    return name not in _FLOATS_ONLY or dtype in dtypes.FLOATS
