"""The proof of a divergence: single cells with their windows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from maxpool_check.judging.comparison import WrongOutput
from maxpool_check.judging.oracle import Oracle
from maxpool_check.reference.definition import cells as window_cells
from maxpool_check.reference.dtypes import bits
from maxpool_check.results.record import AllowedDifference, Cell

MOST_CELLS = 5
"""How many cells of the outputs are shown."""

MOST_VALUES = 32
"""How many values of a window are shown."""


def allowed_differences(oracle: Oracle, outputs: Mapping[str, np.ndarray]) -> tuple[AllowedDifference, ...]:
    """The first cells of each output, of the right shape and dtype, that differ from the reference's in any bit."""
    layout, empty = oracle.pooling.layout, oracle.pooled.empty
    differences = []
    for name, tensor in outputs.items():
        expected, actual = layout.to_core(oracle.outputs[name]), layout.to_core(tensor)
        differ = (bits(actual) != bits(expected)).reshape(actual.shape) | empty
        differences += [
            AllowedDifference(
                at=layout.arranged(at),
                output=name,
                reference="-" if empty[at] else _exact(expected[at]),
                got=_exact(actual[at]),
            )
            for at in _positions(differ)
        ]
    return tuple(differences)


def _positions(cells: np.ndarray) -> list[tuple[int, ...]]:
    """The first of the marked cells."""
    return [tuple(int(i) for i in at) for at in np.argwhere(cells)[:MOST_CELLS]]


def _exact(value: np.generic) -> str:
    # A NaN has a payload, which its text does not show.
    return f"{value} (0x{bits(np.array([value]))[0]:x})" if value != value else str(value)


def wrong_cells(
    oracle: Oracle,
    wrong: Sequence[WrongOutput],
    outputs: Mapping[str, np.ndarray],
    instead: Mapping[str, np.ndarray] | None = None,
) -> tuple[Cell, ...]:
    """The first wrong cells in the order of the output, and at least one of every kind.

    ``instead`` replaces the reference's outputs if two results are compared with each other.
    """
    candidates = [(at, output) for output in wrong if output.cells is not None for at in _positions(output.cells)]
    candidates.sort(key=lambda candidate: (candidate[0], candidate[1].output != "Y"))
    chosen = list({output.kind: (at, output) for at, output in reversed(candidates)}.values())
    chosen += [candidate for candidate in candidates if candidate not in chosen][: max(0, MOST_CELLS - len(chosen))]
    expected = oracle.outputs if instead is None else instead
    return tuple(
        _cell(oracle, at, output, expected[output.output], outputs[output.output])
        for at, output in candidates
        if (at, output) in chosen
    )


def _cell(oracle: Oracle, at: tuple[int, ...], wrong: WrongOutput, expected: np.ndarray, actual: np.ndarray) -> Cell:
    pooling, X = oracle.pooling, oracle.core
    expected, actual = pooling.layout.to_core(expected), pooling.layout.to_core(actual)
    inside = window_cells(at, pooling.geometry)
    return Cell(
        at=pooling.layout.arranged(at),
        output=wrong.output,
        expected=str(expected[at]),
        got=str(actual[at]),
        kind=wrong.kind.value,
        window=tuple(tuple(axis.window(i)) for axis, i in zip(pooling.geometry, at[2:], strict=True)),
        values=tuple(str(X[cell]) for cell in inside) if len(inside) <= MOST_VALUES else None,
        got_cell=_cell_of_index(oracle, at, actual) if wrong.output == "Indices" else None,
    )


def _cell_of_index(oracle: Oracle, at: tuple[int, ...], numbers: np.ndarray) -> tuple[int, ...] | None:
    """The cell of X that an index refers to; None if there is none, or several."""
    shape = oracle.core.shape
    positions = [cells[at] for is_cell, cells in oracle.pooling.numbering.cells(numbers, shape) if is_cell[at]]
    if len(positions) != 1:
        return None
    return oracle.pooling.layout.arranged([int(i) for i in np.unravel_index(int(positions[0]), shape)])
