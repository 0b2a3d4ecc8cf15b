"""Tensors and windows as text."""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Sequence

Cell = tuple[int, ...]


def planes(values: Sequence[str], shape: Sequence[int], marked: Collection[Cell] = ()) -> list[str]:
    """The lines of a tensor, plane by plane (the last two axes), the marked cells in brackets.

    Cells are aligned within a plane; a plane of a larger tensor has a heading with its coordinates.
    """
    if not values:
        return ["(empty)"]
    if len(values) != math.prod(shape):
        return [" ".join(values)]
    columns = shape[-1] if shape else 1
    rows = shape[-2] if len(shape) > 1 else 1
    outer = list(shape[:-2])
    texts = dict(zip(itertools.product(*map(range, shape)), values, strict=True))
    lines = []
    for plane in itertools.product(*map(range, outer)):
        if len(texts) > rows * columns:
            lines.append(f"[{', '.join(map(str, plane))}, :, :]")
        cells = [[(*plane, row, column) for column in range(columns)] for row in range(rows)]
        if len(shape) == 1:
            cells = [[(column,) for column in range(columns)]]
        shown = [[f"[{texts[at]}]" if at in marked else f" {texts[at]} " for at in row] for row in cells]
        widths = [max(len(row[column]) for row in shown) for column in range(columns)]
        lines += [
            " ".join(text.rjust(width) for text, width in zip(row, widths, strict=True)).rstrip() for row in shown
        ]
    return lines


def window_cells(at: Cell, window: Sequence[Sequence[int]]) -> list[Cell]:
    """The cells of X in the window of an output cell: its own batch and channel, and the taps inside X."""
    return [(*at[: len(at) - len(window)], *position) for position in itertools.product(*window)]


def window_text(window: Sequence[Sequence[int]]) -> str:
    """The window's positions on each spatial axis, ``rows 0-1, columns 2`` in two dimensions."""
    names = {1: ["position"], 2: ["row", "column"]}.get(len(window), [f"D{axis + 1}" for axis in range(len(window))])
    return ", ".join(
        f"{name}{'s' if len(taps) > 1 and not name.startswith('D') else ''} {_taps(taps)}"
        for name, taps in zip(names, window, strict=True)
    )


def coordinates(at: Sequence[int]) -> str:
    """``[0, 0, 1, 2]``."""
    return f"[{', '.join(map(str, at))}]"


def _taps(taps: Sequence[int]) -> str:
    if not taps:
        return "none"
    if len(taps) > 1 and list(taps) == list(range(taps[0], taps[-1] + 1)):
        return f"{taps[0]}-{taps[-1]}"
    return " ".join(map(str, taps))
