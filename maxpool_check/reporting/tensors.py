"""Tensors and windows as text."""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Mapping, Sequence

Cell = tuple[int, ...]


def planes(values: Sequence[str], shape: Sequence[int], marked: Collection[Cell] = ()) -> list[str]:
    """The lines of a tensor, plane by plane (the last two axes), the marked cells in brackets.

    Cells are aligned within a plane; a plane of a larger tensor has a heading with its coordinates.
    """
    if not values:
        return ["(empty)"]
    if len(values) != math.prod(shape):
        return [" ".join(values)]
    texts = dict(zip(itertools.product(*map(range, shape)), values, strict=True))
    outer = list(itertools.product(*map(range, shape[:-2])))
    lines = []
    for plane in outer:
        if len(outer) > 1:
            lines.append(f"[{', '.join(map(str, plane))}, :, :]")
        lines += _plane(texts, shape, plane, marked)
    return lines


def marked_planes(values: Sequence[str], shape: Sequence[int], marked: Collection[Cell]) -> list[str]:
    """As :func:`planes`, but only those that hold a marked cell, and a word on how many there are beside them."""
    outer = math.prod(shape[:-2])
    wanted = sorted({cell[:-2] for cell in marked})
    if not wanted or len(wanted) == outer or len(values) != math.prod(shape):
        return planes(values, shape, marked)
    texts = dict(zip(itertools.product(*map(range, shape)), values, strict=True))
    lines = []
    for plane in wanted:
        lines += [f"[{', '.join(map(str, plane))}, :, :]", *_plane(texts, shape, plane, marked)]
    return [*lines, f"({outer - len(wanted)} more of {outer} planes)"]


def _plane(texts: Mapping[Cell, str], shape: Sequence[int], plane: Cell, marked: Collection[Cell]) -> list[str]:
    rows = [(row,) for row in range(shape[-2])] if len(shape) > 1 else [()]
    cells = [[(*plane, *row, column) for column in range(shape[-1])] for row in rows]
    shown = [[f"[{texts[at]}]" if at in marked else f" {texts[at]} " for at in row] for row in cells]
    widths = [max(len(row[column]) for row in shown) for column in range(shape[-1])]
    return [" ".join(text.rjust(width) for text, width in zip(row, widths, strict=True)).rstrip() for row in shown]


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
