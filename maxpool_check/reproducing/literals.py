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
    return ", ".join(f"{name}={value_text(value)}" for name, value in attributes.items())


def value_text(value: Any) -> str:
    """The value of an attribute."""
    if isinstance(value, str) and value.isprintable() and not set('"\\') & set(value):
        return f'"{value}"'
    return repr(value)


def call_lines(line: str, arguments: str) -> list[str]:
    """A line with ``{arguments}`` in its place, in several lines if it is long."""
    whole = line.replace("{arguments}", arguments)
    if len(whole) <= WIDTH - 4 or "{arguments}" not in line:
        return [whole]
    before, after = line.split("{arguments}")
    start = before.rindex("(") + 1
    lines = [""]
    for argument in _arguments(before[start:] + arguments):
        if len(lines[-1]) + len(argument) > WIDTH - 12:
            lines.append("")
        lines[-1] += f"{' ' if lines[-1] else ''}{argument},"
    return [before[:start], *indented(lines), after]


def _arguments(text: str) -> list[str]:
    """The arguments of a call: what commas separate that are not inside of brackets."""
    depth, parts = 0, [""]
    for character in text:
        depth += (character in "([{") - (character in ")]}")
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts]


def assignment(names: Sequence[str], call: str) -> str:
    """The outputs of a call, which is a sequence, as variables."""
    if len(names) == 1 and call.startswith("[") and call.endswith("]") and " for " not in call:
        return f"{names[0]} = {call[1:-1]}"
    return f"{names_text(names)} = {call}"


def names_text(names: Sequence[str]) -> str:
    """The target of an assignment from a sequence: ``Y, Indices`` or ``(Y,)``."""
    return f"({names[0]},)" if len(names) == 1 else ", ".join(names)


def indented(lines: Sequence[str]) -> list[str]:
    """Lines, one level deeper."""
    return [f"    {line}" if line else "" for text in lines for line in text.split("\n")]
