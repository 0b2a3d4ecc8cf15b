"""The proof of a divergence: single cells, with the window they come from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from maxpool_check.judging.comparison import Wrong
from maxpool_check.judging.oracle import Oracle
from maxpool_check.reference.definition import cells as window_cells
from maxpool_check.reference.dtypes import bits
from maxpool_check.results.record import AllowedDifference, Cell

MOST = 5
"""How many cells of an answer are shown."""

MOST_VALUES = 32
"""How many values of a window are shown."""


def allowed_differences(oracle: Oracle, outputs: Mapping[str, np.ndarray]) -> tuple[AllowedDifference, ...]:
    """The first cells of each output, of the right shape and dtype, that differ from the reference's in any bit."""
    layout, pooled = oracle.pooling.layout, oracle.pooled
    found = []
    for name, reference in (("Y", pooled.Y), ("Indices", pooled.Indices)):
        if name not in outputs or reference is None:
            continue
        got = layout.to_core(outputs[name])
        differ = (bits(got) != bits(reference)).reshape(got.shape) | pooled.empty
        found += [
            AllowedDifference(
                at=layout.arranged(at),
                output=name,
                reference="-" if pooled.empty[at] else _exact(reference[at]),
                got=_exact(got[at]),
            )
            for at in [tuple(int(i) for i in at) for at in np.argwhere(differ)[:MOST]]
        ]
    return tuple(found)


def _exact(value: np.generic) -> str:
    # A NaN has a payload, which its text does not show.
    return f"{value} (0x{bits(np.array([value]))[0]:x})" if value != value else str(value)


def wrong_cells(
    oracle: Oracle,
    wrong: Sequence[Wrong],
    outputs: Mapping[str, np.ndarray],
    instead: Mapping[str, np.ndarray] | None = None,
) -> tuple[Cell, ...]:
    """The first wrong cells in the order of the output, and at least one of every kind.

    ``instead`` stands in for the reference's outputs where two answers are held against each other.
    """
    found = [
        (tuple(int(i) for i in at), wrong_one)
        for wrong_one in wrong
        if wrong_one.cells is not None
        for at in np.argwhere(wrong_one.cells)[:MOST]
    ]
    found.sort(key=lambda pair: (pair[0], pair[1].output != "Y"))
    first = {pair[1].kind: pair for pair in reversed(found)}
    chosen = list(first.values())
    chosen += [pair for pair in found if pair not in chosen][: max(0, MOST - len(chosen))]
    return tuple(_cell(oracle, at, one, outputs, instead) for at, one in found if (at, one) in chosen)


def _cell(
    oracle: Oracle,
    at: tuple[int, ...],
    wrong: Wrong,
    outputs: Mapping[str, np.ndarray],
    instead: Mapping[str, np.ndarray] | None,
) -> Cell:
    pooling, X = oracle.pooling, oracle.core
    expected = oracle.pooled.Indices if wrong.output == "Indices" else oracle.pooled.Y
    expected = expected if instead is None else pooling.layout.to_core(instead[wrong.output])
    assert expected is not None
    got = pooling.layout.to_core(outputs[wrong.output])
    window = tuple(tuple(axis.window(i)) for axis, i in zip(pooling.geometry, at[2:], strict=True))
    inside = window_cells(at, pooling.geometry)
    return Cell(
        at=pooling.layout.arranged(at),
        output=wrong.output,
        expected=str(expected[at]),
        got=str(got[at]),
        kind=wrong.kind.value,
        window=window,
        values=tuple(str(X[cell]) for cell in inside) if len(inside) <= MOST_VALUES else None,
        got_cell=_named(oracle, at, got) if wrong.output == "Indices" else None,
    )


def _named(oracle: Oracle, at: tuple[int, ...], numbers: np.ndarray) -> tuple[int, ...] | None:
    """The cell of X that an index names, if it names one and no other."""
    shape = oracle.core.shape
    named = [cells[at] for found, cells in oracle.pooling.numbering.cells(numbers, shape) if found[at]]
    if len(named) != 1:
        return None
    return oracle.pooling.layout.arranged([int(i) for i in np.unravel_index(int(named[0]), shape)])
