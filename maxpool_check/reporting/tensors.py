"""Tensors and windows as text."""

import itertools
import math
from collections.abc import Collection, Mapping, Sequence

import numpy as np

from maxpool_check.reference.numbering import Layout

Coordinates = tuple[int, ...]


def planes(
    values: Sequence[str],
    shape: Sequence[int],
    marked: Collection[Coordinates] = (),
    layout: Layout = Layout.CHANNELS_FIRST,
    *,
    only_marked: bool = False,
) -> list[str]:
    """The lines of a tensor, plane by plane (the last two spatial axes), the marked cells in brackets.

    Cells are aligned within a plane; a plane of a larger tensor has a heading with its coordinates. ``only_marked``
    leaves out the planes without a marked cell, with a word on how many they are.
    """
    if not values:
        return ["(empty)"]
    if len(values) != math.prod(shape):
        return [" ".join(values)]
    texts = dict(zip(itertools.product(*map(range, shape)), values, strict=True))
    order = _axes(layout, len(shape))
    outer, inner = order[:-2], order[-2:]
    every = list(itertools.product(*(range(shape[axis]) for axis in outer)))
    selected = {tuple(cell[axis] for axis in outer) for cell in marked} if only_marked else set()
    lines = []
    for plane in sorted(selected) or every:
        at = dict(zip(outer, plane, strict=True))
        if len(every) > 1:
            lines.append(f"[{', '.join(str(at.get(axis, ':')) for axis in range(len(shape)))}]")
        lines += _plane(texts, at, {axis: shape[axis] for axis in inner}, marked)
    rest = len(every) - len(selected)
    return [*lines, f"({rest} more of {len(every)} planes)"] if selected and rest else lines


def described(
    name: str, tensor: np.ndarray, layout: Layout = Layout.CHANNELS_FIRST, missing: np.ndarray | None = None
) -> list[str]:
    """The lines of a tensor, with its name, dtype and shape; ``missing`` marks the cells without a value."""
    no_value = np.zeros(tensor.size, bool) if missing is None else missing.reshape(-1)
    texts = ["-" if no else str(value) for value, no in zip(tensor.reshape(-1), no_value, strict=True)]
    cells = planes(texts, tensor.shape, layout=layout)
    return [f"{name} {tensor.dtype.name}{list(tensor.shape)}", *(f"  {line}" for line in cells)]


def _axes(layout: Layout, rank: int) -> list[int]:
    """The axes of a tensor with those of the batch and the channels first."""
    if layout is Layout.CHANNELS_FIRST or rank < 3:
        return list(range(rank))
    return [0, rank - 1, *range(1, rank - 1)] if layout is Layout.CHANNELS_LAST else [rank - 1, *range(rank - 1)]


def _plane(
    texts: Mapping[Coordinates, str], at: dict[int, int], shape: Mapping[int, int], marked: Collection[Coordinates]
) -> list[str]:
    """The lines of a plane: ``at`` gives its coordinates by axis, ``shape`` the sizes of its own one or two axes."""
    *rows, columns = (range(size) for size in shape.values())
    marks = []
    for row in itertools.product(*rows):
        places = [at | dict(zip(shape, (*row, column), strict=True)) for column in columns]
        cells = [tuple(place[axis] for axis in sorted(place)) for place in places]
        marks.append([f"[{texts[cell]}]" if cell in marked else f" {texts[cell]} " for cell in cells])
    widths = [max(map(len, column)) for column in zip(*marks, strict=True)]
    return [" ".join(text.rjust(width) for text, width in zip(row, widths, strict=True)).rstrip() for row in marks]


def window_cells(
    at: Coordinates, window: Sequence[Sequence[int]], layout: Layout = Layout.CHANNELS_FIRST
) -> list[Coordinates]:
    """The cells of X in the window of an output cell: its own batch and channel, and the taps inside X."""
    batch, channel = layout.sizes(at)[:2]
    return [layout.arranged((batch, channel, *position)) for position in itertools.product(*window)]


def window_text(window: Sequence[Sequence[int]]) -> str:
    """The window's positions on each spatial axis, ``rows 0-1, column 2`` in two dimensions."""
    if not all(window):
        return "the padding alone"
    if len(window) > 2:
        return ", ".join(f"D{number} {_taps(taps)}" for number, taps in enumerate(window, 1))
    names = ["position"] if len(window) == 1 else ["row", "column"]
    words = [f"{name}s" if len(taps) > 1 else name for name, taps in zip(names, window, strict=True)]
    return ", ".join(f"{word} {_taps(taps)}" for word, taps in zip(words, window, strict=True))


def _taps(taps: Sequence[int]) -> str:
    if len(taps) > 1 and list(taps) == list(range(taps[0], taps[0] + len(taps))):
        return f"{taps[0]}-{taps[-1]}"
    return " ".join(map(str, taps))


def coordinates(at: Sequence[int]) -> str:
    """``[0, 0, 1, 2]``."""
    return f"[{', '.join(map(str, at))}]"
