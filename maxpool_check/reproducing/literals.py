"""Arrays and attributes as a person writes them in Python."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from maxpool_check.reference.dtypes import bits, is_float

WIDTH = 120
"""The longest line of a script."""


def array_text(array: np.ndarray) -> str:
    """An array in its shape, as an expression with ``np`` (and ``ml_dtypes`` for bfloat16)."""
    dtype = dtype_text(array.dtype)
    if not array.size:
        return f"np.zeros({array.shape}, {dtype})"
    if is_float(array.dtype) and not _is_exact(array):
        # A NaN with a payload.
        return f"np.array({nested_text(bits(array))}, np.{bits(array).dtype.name}).view({dtype})"
    if array.size > 16 and len({number_text(value) for value in array.reshape(-1)}) == 1:
        return f"np.full({array.shape}, {number_text(array.reshape(-1)[0])}, {dtype})"
    return f"np.array({nested_text(array)}, {dtype})"


def nested_text(array: np.ndarray, indent: int = 4) -> str:
    """Nested lists; a row of the last axis each line if one line is too short for them."""
    text = _lists(array, "")
    return text if len(text) <= WIDTH - 40 else _lists(array, "\n" + " " * indent)


def _lists(array: np.ndarray, separator: str) -> str:
    if array.ndim == 0:
        return number_text(array[()])
    if array.ndim == 1:
        return f"[{', '.join(map(number_text, array))}]"
    return f"[{(',' + (separator or ' ')).join(_lists(row, separator and separator + ' ') for row in array)}]"


def number_text(value: Any) -> str:
    """A number, with ``np.inf`` and ``np.nan``."""
    if not is_float(np.asarray(value).dtype):
        return str(int(value))
    exact = float(value)
    if not np.isfinite(exact):
        return {"inf": "np.inf", "-inf": "-np.inf"}.get(str(exact), "np.nan")
    shortest = str(value)
    if exact != 0 and exact.is_integer() and abs(exact) < 2**24:
        return str(int(exact))
    same = np.array(float(shortest), np.float64).astype(value.dtype)
    return shortest if float(same) == exact else repr(exact)


def _is_exact(array: np.ndarray) -> bool:
    """Whether its values as numbers have its bits."""
    again = np.array([float(value) for value in array.reshape(-1)], np.float64).astype(array.dtype)
    return bool((bits(again) == bits(array.reshape(-1))).all())


def dtype_text(dtype: np.dtype) -> str:
    """A dtype as an expression."""
    return f"{'ml_dtypes' if dtype.name == 'bfloat16' else 'np'}.{dtype.name}"


def keywords_text(attributes: Mapping[str, Any]) -> str:
    """Attributes as keyword arguments."""
    return ", ".join(f"{name}={value!r}" for name, value in attributes.items())


def names_text(names: Sequence[str]) -> str:
    """The target of an assignment from a sequence: ``Y, Indices`` or ``(Y,)``."""
    return f"({names[0]},)" if len(names) == 1 else ", ".join(names)


def indented(lines: Sequence[str]) -> list[str]:
    """Lines, one level deeper."""
    return [f"    {line}" if line else "" for text in lines for line in text.split("\n")]
