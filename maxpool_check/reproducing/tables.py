"""Tensors of an issue as small tables of Markdown."""

from collections.abc import Sequence

import numpy as np

from maxpool_check.reference.dtypes import bits
from maxpool_check.reporting.markup import joined, table
from maxpool_check.reproducing.accepted import AcceptedCells

_MOST_IN_GRID = 64
"""The most cells of a tensor that is shown as a whole."""

_MOST_PLANES = 4
"""The most planes that are tables of their own."""

_MOST_CELLS = 12
"""The most cells of an output that are compared in a table."""


def grid(name: str, tensor: np.ndarray) -> str:
    """A tensor, plane by plane; on one line if it has many planes, its dtype and shape alone if it is large."""
    heading = f"{name}, {tensor.dtype.name}, shape {list(tensor.shape)}"
    if not 0 < tensor.size <= _MOST_IN_GRID or tensor.ndim == 0:
        return f"{heading}{f': {tensor}' if tensor.ndim == 0 else ''}"
    depth = max(tensor.ndim - 2, 0) if tensor.ndim != 3 else 2
    outer = list(np.ndindex(tensor.shape[:depth]))
    if len(outer) > _MOST_PLANES:
        return f"{heading}, in row-major order: {', '.join(map(str, tensor.reshape(-1)))}"
    blocks = [f"{heading}:"]
    for at in outer:
        plane = np.atleast_2d(tensor[at])
        corner = f"{name}[{', '.join(map(str, at))}]" if len(outer) > 1 else " "
        columns = list(map(str, range(plane.shape[1])))
        if plane.shape[0] == 1 and len(outer) == 1:
            blocks.append(table(columns, [list(map(str, plane[0]))]))
        else:
            blocks.append(
                table([corner, *columns], [[f"**{number}**", *map(str, row)] for number, row in enumerate(plane)])
            )
    return joined(blocks)


def compared(
    name: str, expected: np.ndarray, allowed: AcceptedCells, got: np.ndarray | None, *, is_signed: bool
) -> str:
    """The expected and the actual values of an output: all of a small one, the wrong ones of a large one."""
    if got is None:
        return grid(f"Expected {name}", expected)
    if got.shape != expected.shape:
        return joined([grid(f"Expected {name}", expected), grid(f"Got {name}", got)])
    rows, wrong = [], 0
    for at, cell in zip(np.ndindex(expected.shape), allowed.cells, strict=True):
        is_right = not cell or any(_same(got[at], value, is_signed=is_signed) for value in cell)
        wrong += not is_right
        if not is_right or expected.size <= _MOST_CELLS:
            text = " or ".join(_short(cell)) if cell else "any"
            rows.append([f"{name}{list(at)}", text, str(got[at]) if is_right else f"**{got[at]!s}**"])
    more = len(rows) - _MOST_CELLS
    left_out = f"({more} more wrong cells of {expected.size})" if more > 0 else ""
    dtype = "" if got.dtype == expected.dtype else f"{name} is {got.dtype.name}, expected {expected.dtype.name}."
    return joined([dtype, table(["cell", "expected", "got"], rows[:_MOST_CELLS]), left_out])


def _short(cell: Sequence[np.generic]) -> list[str]:
    texts = list(dict.fromkeys(map(str, cell)))
    return [*texts[:3], "..."] if len(texts) > 4 else texts


def _same(a: np.generic, b: np.generic, *, is_signed: bool) -> bool:
    if a != a or b != b:
        return bool(a != a and b != b)
    if a.dtype != b.dtype or not is_signed:
        return bool(a == b)
    return bool((bits(np.array([a])) == bits(np.array([b]))).all())


def flat_text(tensor: np.ndarray) -> str:
    """The values of a small tensor on one line; the shape of a large one."""
    if tensor.size > _MOST_CELLS:
        return f"{tensor.dtype.name}{list(tensor.shape)}"
    if not tensor.size:
        return f"no values (shape {list(tensor.shape)})"
    values = ", ".join(map(str, tensor.reshape(-1)))
    return f"{values} (shape {list(tensor.shape)})"
