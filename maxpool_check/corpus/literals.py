"""Numbers as people write them in a case file, as cells of a dtype."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import ml_dtypes
import numpy as np

from maxpool_check.corpus.structure import shown
from maxpool_check.reference.dtypes import highest, is_float, lowest, rounded

SYMBOLS = ("lowest", "highest", "tiny", "smallest_subnormal")
"""Names that stand for a value of the dtype wherever a number may stand."""


class BadLiteral(ValueError):
    """A value that is not one of the dtype, with its place in the nested list."""

    def __init__(self, message: str, at: Sequence[int] = ()) -> None:
        super().__init__(message)
        self.at = tuple(at)


def number(value: Any, dtype: np.dtype) -> float | int:
    """One literal as an exact Python number: integers in the dtype's range, floats not yet rounded to it."""
    if isinstance(value, str):
        value = _text(value, dtype)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise BadLiteral(f"expected a number, found {shown(value)}")
    if is_float(dtype):
        try:
            return float(value)
        except OverflowError:
            return math.inf if value > 0 else -math.inf
    if not math.isfinite(value) or value != int(value):
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


def _text(value: str, dtype: np.dtype) -> float | int:
    if value in ("lowest", "highest"):
        limit = lowest(dtype) if value == "lowest" else highest(dtype)
        return float(limit) if is_float(dtype) else int(limit)
    if value in SYMBOLS:
        if not is_float(dtype):
            raise BadLiteral(f"{dtype.name} has no '{value}', only floats do")
        limits = ml_dtypes.finfo(dtype)
        return float(limits.tiny if value == "tiny" else limits.smallest_subnormal)
    if value.lower().lstrip("+-").startswith("0x"):
        for convert in (lambda text: int(text, 16), float.fromhex):
            try:
                return convert(value)
            except (ValueError, OverflowError):
                continue
    hint = {"inf": ".inf", "-inf": "-.inf", "nan": ".nan", "+inf": ".inf"}.get(value.lower())
    more = f"; write {hint}" if hint else f"; besides numbers there are {', '.join(SYMBOLS)} and hexadecimal floats"
    raise BadLiteral(f"expected a number, found the text '{value}'{more}")


def _pattern(value: Any, dtype: np.dtype) -> int:
    digits = dtype.itemsize * 2
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= 9:
        return value
    if isinstance(value, str):
        try:
            pattern = int(value, 16)
        except ValueError:
            pattern = -1
        if 0 <= pattern < 16**digits:
            return pattern
    raise BadLiteral(
        f"expected up to {digits} hexadecimal digits in quotes, the bits of a {dtype.name}; found {shown(value)}"
    )


def _flatten(values: Any, leaf: Callable[[Any], Any]) -> tuple[tuple[int, ...], list[Any]]:
    shape = _nesting(values)
    leaves: list[Any] = []
    _walk(values, shape, (), leaf, leaves)
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
    values: Any, shape: tuple[int, ...], at: tuple[int, ...], leaf: Callable[[Any], Any], leaves: list[Any]
) -> None:
    if len(at) == len(shape):
        if isinstance(values, list):
            raise BadLiteral(f"ragged: a list where {list(at)} should be one value", at)
        try:
            leaves.append(leaf(values))
        except BadLiteral as error:
            raise BadLiteral(str(error), at) from None
        return
    if not isinstance(values, list) or len(values) != shape[len(at)]:
        found = f"{len(values)} values" if isinstance(values, list) else shown(values)
        raise BadLiteral(f"ragged: expected a list of {shape[len(at)]} as in its neighbours, found {found}", at)
    for position, value in enumerate(values):
        _walk(value, shape, (*at, position), leaf, leaves)
