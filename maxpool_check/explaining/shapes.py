"""Drawings of outputs of the wrong shape: both shapes, the axes that differ, X, and Y by the document and from the target."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from rich.text import Text

from maxpool_check.judging.graph_oracle import GraphOracle
from maxpool_check.judging.oracle import Oracle
from maxpool_check.reference.numbering import Layout
from maxpool_check.reporting.shapes import axis_lines
from maxpool_check.reporting.tensors import described
from maxpool_check.results.details import WrongShape

_MOST_CELLS = 100
_MOST_COLUMNS = 20
"""Larger tensors are not drawn."""

_EXPECTED, _GOT = "by the document", "from the target"


def draw_shapes(
    oracle: Oracle, document: str, shapes: Mapping[str, WrongShape], outputs: Mapping[str, np.ndarray]
) -> Iterator[Text]:
    """The lines about outputs of the wrong shape; ``outputs`` are those of the target."""
    layout = oracle.pooling.layout
    by_shape: dict[WrongShape, list[str]] = {}
    for name, wrong in shapes.items():
        by_shape.setdefault(wrong, []).append(name)
    for wrong, names in by_shape.items():
        yield Text(f"Shape of {' and '.join(names)}:", style="bold")
        yield from map(Text, _aligned(wrong, layout))
    yield from map(Text, axis_lines(shapes, document))
    yield Text("")
    yield from _drawn("X", oracle.X, layout)
    if "Y" in shapes:
        yield from _drawn(f"Y {_EXPECTED}", *_expected(oracle, shapes["Y"].expected))
        yield from _drawn(f"Y {_GOT}", outputs["Y"], layout)


def _expected(oracle: Oracle, shape: tuple[int, ...]) -> tuple[np.ndarray, Layout, np.ndarray | None]:
    """The Y of this shape, of the interpretation that has it; its layout, and where it has no value."""
    if isinstance(oracle, GraphOracle) and oracle.moves:
        return next(each.output for each in oracle.graphs if each.output.shape == shape), Layout.CHANNELS_FIRST, None
    fitting = next(each for each in oracle.alternatives if each.shape == shape)
    layout = fitting.pooling.layout
    return fitting.outputs["Y"], layout, layout.from_core(fitting.pooled.undefined)


def _aligned(wrong: WrongShape, layout: Layout) -> Iterator[str]:
    """Both shapes, one below the other, and marks below the sizes that differ."""
    rows = [[*map(str, wrong.expected)], [*map(str, wrong.got)]]
    widths: list[int] = []
    if len(wrong.expected) == len(wrong.got):
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        rows = [[size.rjust(width) for size, width in zip(row, widths, strict=True)] for row in rows]
    for label, row in zip((_EXPECTED, _GOT), rows, strict=True):
        yield f"  {label}  [{', '.join(row)}]"
    if wrong.axes:
        marked = {axis.axis for axis in wrong.axes}
        names = _axis_names(len(wrong.expected), layout)
        marks = [
            ("^" * width if name in marked else "").ljust(width) for name, width in zip(names, widths, strict=True)
        ]
        yield f"  {'':{len(_EXPECTED)}}   {'  '.join(marks)}".rstrip()


def _axis_names(rank: int, layout: Layout) -> Sequence[str]:
    spatial = rank - (1 if layout is Layout.IMAGE else 2)
    return layout.arranged(["N", "C", *(f"D{number + 1}" for number in range(spatial))])


def _drawn(name: str, tensor: np.ndarray, layout: Layout, missing: np.ndarray | None = None) -> Iterator[Text]:
    if tensor.size > _MOST_CELLS or max(tensor.shape, default=0) > _MOST_COLUMNS:
        yield Text(f"{name} {tensor.dtype.name}{list(tensor.shape)} is too large to draw")
        return
    heading, *lines = described(name, tensor, layout, missing)
    yield Text(heading, style="bold")
    yield from map(Text, lines)
