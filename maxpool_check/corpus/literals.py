"""Numbers in a case file, converted to a dtype."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from typing import Any

import ml_dtypes
import numpy as np

from maxpool_check.corpus.structure import describe
from maxpool_check.reference.dtypes import highest, is_float, lowest, rounded

SYMBOLS = ("lowest", "highest", "tiny", "smallest_subnormal")
"""Names of a value of the dtype, allowed wherever a number is."""

_BITS = re.compile(r"(0[xX])?[0-9a-fA-F]+")
_HEXADECIMAL_INTEGER = re.compile(r"[-+]?0[xX][0-9a-fA-F]+")
_HEXADECIMAL = re.compile(r"[-+]?0[xX]([0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)([pP][-+]?[0-9]+)?")


class BadLiteral(ValueError):
    """A value that the dtype does not have; ``at`` is its place in the nested list, ``all`` every error of that list."""

    def __init__(self, message: str, at: Sequence[int] = ()) -> None:
        super().__init__(message)
        self.at = tuple(at)
        self.all: list[BadLiteral] = [self]


def number(value: Any, dtype: np.dtype) -> float | int:
    """One literal as an exact Python number: an integer in the dtype's range, or a float before rounding to the dtype."""
    if isinstance(value, str):
        value = _text_number(value, dtype)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise BadLiteral(f"expected a number, found {describe(value)}")
    if is_float(dtype):
        try:
            return float(value)
        except OverflowError:
            return math.inf if value > 0 else -math.inf
    if isinstance(value, float) and not value.is_integer():
        raise BadLiteral(f"{dtype.name} cannot hold {value} exactly")
    if not int(lowest(dtype)) <= value <= int(highest(dtype)):
        raise BadLiteral(f"{dtype.name} holds {lowest(dtype)} to {highest(dtype)}, not {value}")
    return int(value)


def array(values: Any, dtype: np.dtype) -> np.ndarray:
    """Nested lists of literals as a tensor; the shape is the nesting. Raises :class:`BadLiteral`."""
    shape, leaves = _flatten(values, lambda value: number(value, dtype))
    if is_float(dtype):
        return rounded(np.array(leaves, np.float64), dtype).reshape(shape)
    return np.array(leaves, dtype).reshape(shape)


def array_of_bits(values: Any, dtype: np.dtype) -> np.ndarray:
    """Nested lists of hexadecimal bit patterns as a tensor. Raises :class:`BadLiteral`."""
    shape, leaves = _flatten(values, lambda value: _pattern(value, dtype))
    return np.array(leaves, f"u{dtype.itemsize}").view(dtype).reshape(shape)


def _text_number(value: str, dtype: np.dtype) -> float | int:
    if value in ("lowest", "highest"):
        limit = lowest(dtype) if value == "lowest" else highest(dtype)
        return float(limit) if is_float(dtype) else int(limit)
    if value in SYMBOLS:
        if not is_float(dtype):
            raise BadLiteral(f"{dtype.name} has no '{value}'; only floats have")
        limits = ml_dtypes.finfo(dtype)
        return float(limits.tiny if value == "tiny" else limits.smallest_subnormal)
    if _HEXADECIMAL.fullmatch(value):
        # For a float dtype, -0x0 is a negative zero.
        if not is_float(dtype) and _HEXADECIMAL_INTEGER.fullmatch(value):
            return int(value, 16)
        try:
            return float.fromhex(value)
        except OverflowError:
            return -math.inf if value.startswith("-") else math.inf
    hint = {"inf": ".inf", "-inf": "-.inf", "nan": ".nan", "+inf": ".inf"}.get(value.lower())
    more = f"; write {hint}" if hint else f"; allowed besides numbers: {', '.join(SYMBOLS)} and hexadecimal floats"
    raise BadLiteral(f"expected a number, found the text '{value}'{more}")


def _pattern(value: Any, dtype: np.dtype) -> int:
    digits = dtype.itemsize * 2
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= 9:
        return value
    if isinstance(value, str) and _BITS.fullmatch(value) and int(value, 16) < 16**digits:
        return int(value, 16)
    raise BadLiteral(
        f"expected up to {digits} hexadecimal digits in quotes, the bits of a {dtype.name}; found {describe(value)}"
    )


def _flatten(values: Any, leaf: Callable[[Any], Any]) -> tuple[tuple[int, ...], list[Any]]:
    shape = _nesting(values)
    leaves: list[Any] = []
    problems: list[BadLiteral] = []
    _walk(values, shape, (), leaf, leaves, problems)
    if problems:
        problems[0].all = problems
        raise problems[0]
    return shape, leaves


def _nesting(values: Any) -> tuple[int, ...]:
    shape = []
    while isinstance(values, list):
        shape.append(len(values))
        if not values:
            break
        values = values[0]
    return tuple(shape)


def _walk(
    values: Any,
    shape: tuple[int, ...],
    at: tuple[int, ...],
    leaf: Callable[[Any], Any],
    leaves: list[Any],
    problems: list[BadLiteral],
) -> None:
    if len(at) == len(shape):
        if isinstance(values, list):
            problems.append(BadLiteral(f"ragged: a list where {list(at)} should be one value", at))
            return
        try:
            leaves.append(leaf(values))
        except BadLiteral as error:
            problems.append(BadLiteral(str(error), at))
        return
    if not isinstance(values, list) or len(values) != shape[len(at)]:
        found = f"{len(values)} values" if isinstance(values, list) else describe(values)
        message = f"ragged: expected a list of {shape[len(at)]} as in its neighbours, found {found}"
        problems.append(BadLiteral(message, at))
        return
    for position, value in enumerate(values):
        _walk(value, shape, (*at, position), leaf, leaves, problems)
