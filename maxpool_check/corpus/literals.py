"""Numbers in a case file, converted to a dtype."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

from maxpool_check.corpus.problems import BadValue, first_of
from maxpool_check.corpus.structure import describe
from maxpool_check.reference.dtypes import highest, is_float, lowest, rounded

_SYMBOLS = ("lowest", "highest", "tiny", "smallest_subnormal")
_BITS = re.compile(r"(0[xX])?[0-9a-fA-F]+")
_HEXADECIMAL_INTEGER = re.compile(r"[-+]?0[xX][0-9a-fA-F]+")
_HEXADECIMAL = re.compile(r"[-+]?0[xX]([0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)([pP][-+]?[0-9]+)?")


def number(value: Any, dtype: np.dtype) -> float | int:
    """One literal as an exact Python number: an integer in the dtype's range, or a float before rounding to the dtype."""
    if isinstance(value, str):
        value = _text_number(value, dtype)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise BadValue(f"expected a number, found {describe(value)}")
    if is_float(dtype):
        try:
            return float(value)
        except OverflowError:
            return math.inf if value > 0 else -math.inf
    if isinstance(value, float) and not value.is_integer():
        raise BadValue(f"{dtype.name} cannot hold {value} exactly")
    if not int(lowest(dtype)) <= value <= int(highest(dtype)):
        raise BadValue(f"{dtype.name} holds {lowest(dtype)} to {highest(dtype)}, not {value}")
    return int(value)


def array(values: Any, dtype: np.dtype) -> np.ndarray:
    """Nested lists of literals as a tensor; the shape is the nesting. Raises :class:`BadValue`."""
    shape, leaves = _flatten(values, lambda value: number(value, dtype))
    tensor = rounded(np.array(leaves, np.float64), dtype) if is_float(dtype) else np.array(leaves, dtype)
    return tensor.reshape(shape)


def array_of_bits(values: Any, dtype: np.dtype) -> np.ndarray:
    """Nested lists of hexadecimal bit patterns as a tensor. Raises :class:`BadValue`."""
    shape, leaves = _flatten(values, lambda value: _pattern(value, dtype))
    return np.array(leaves, f"u{dtype.itemsize}").view(dtype).reshape(shape)


def _text_number(value: str, dtype: np.dtype) -> float | int:
    if value in ("lowest", "highest"):
        limit = lowest(dtype) if value == "lowest" else highest(dtype)
        return float(limit) if is_float(dtype) else int(limit)
    if value in _SYMBOLS:
        if not is_float(dtype):
            raise BadValue(f"{dtype.name} has no '{value}'; only floats have")
        return float(getattr(ml_dtypes.finfo(dtype), value))
    if _HEXADECIMAL.fullmatch(value):
        # For a float dtype, -0x0 is a negative zero.
        if not is_float(dtype) and _HEXADECIMAL_INTEGER.fullmatch(value):
            return int(value, 16)
        try:
            return float.fromhex(value)
        except OverflowError:
            return -math.inf if value.startswith("-") else math.inf
    hint = {"inf": ".inf", "-inf": "-.inf", "nan": ".nan", "+inf": ".inf"}.get(value.lower())
    more = f"; write {hint}" if hint else f"; allowed besides numbers: {', '.join(_SYMBOLS)} and hexadecimal floats"
    raise BadValue(f"expected a number, found the text '{value}'{more}")


def _pattern(value: Any, dtype: np.dtype) -> int:
    digits = dtype.itemsize * 2
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= 9:
        return value
    if isinstance(value, str) and _BITS.fullmatch(value) and int(value, 16) < 16**digits:
        return int(value, 16)
    expected = f"up to {digits} hexadecimal digits in quotes, the bits of a {dtype.name}"
    raise BadValue(f"expected {expected}; found {describe(value)}")


def _flatten(values: Any, leaf: Callable[[Any], Any]) -> tuple[tuple[int, ...], list[Any]]:
    """The shape of nested lists, and their converted values in row-major order."""
    shape: list[int] = []
    inner = values
    while isinstance(inner, list):
        shape.append(len(inner))
        inner = inner[0] if inner else None
    leaves: list[Any] = []
    mistakes: list[BadValue] = []

    def walk(value: Any, at: tuple[int, ...]) -> None:
        is_list = isinstance(value, list)
        if len(at) == len(shape):
            if is_list:
                mistakes.append(BadValue(f"ragged: a list where {list(at)} should be one value", *at))
                return
            try:
                leaves.append(leaf(value))
            except BadValue as error:
                mistakes.append(BadValue(str(error), *at))
        elif is_list and len(value) == shape[len(at)]:
            for position, entry in enumerate(value):
                walk(entry, (*at, position))
        else:
            actual = f"{len(value)} values" if is_list else describe(value)
            message = f"ragged: expected a list of {shape[len(at)]} as in its neighbours, found {actual}"
            mistakes.append(BadValue(message, *at))

    walk(values, ())
    if mistakes:
        raise first_of(mistakes)
    return tuple(shape), leaves
