"""What a document accepts as the answer to a variant, cell by cell, in the terms of the runtime that was asked."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from maxpool_check.judging.oracle import Oracle
from maxpool_check.judging.verdicts import judge
from maxpool_check.reference.definition import cells as window_cells
from maxpool_check.reference.dtypes import bits, is_float
from maxpool_check.reference.layout import Layout
from maxpool_check.reporting.tensors import window_text
from maxpool_check.results.outcomes import Returned
from maxpool_check.results.record import Verdict
from maxpool_check.results.variants import Variant


@dataclass(frozen=True, eq=False)
class Accepted:
    """One output: its dtype, its shape, and for each cell, row by row, the values that are right; none: any value is."""

    dtype: str
    shape: tuple[int, ...]
    cells: tuple[tuple[np.generic, ...], ...]


def accepted(meaning: Oracle, variant: Variant, layout: Layout) -> list[dict[str, Accepted]]:
    """The answers that are right, one for each meaning of the document; ``layout`` is what the runtime answers in."""
    return [_of(one, meaning, variant, layout) for one in meaning.alternatives]


def expected(meaning: Oracle, variant: Variant, layout: Layout) -> dict[str, np.ndarray]:
    """The reference's answer, as the runtime should give it."""
    found = {"Y": meaning.pooled.Y, "Indices": meaning.pooled.Indices}
    return {
        name: layout.from_core(value if name == "Y" else value.astype(np.int64))
        for name, value in found.items()
        if name in variant.outputs and value is not None
    }


def windows(meaning: Oracle, layout: Layout) -> list[str]:
    """The window of each cell of Y in words, by positions on X; in the order of ``layout``, row by row."""
    geometry, shape = meaning.pooling.geometry, meaning.pooled.Y.shape
    words = [
        window_text([axis.window(int(i)) for axis, i in zip(geometry, at[2:], strict=True)]) for at in np.ndindex(shape)
    ]
    return [words[place] for place in _order(shape, layout)]


def _of(one: Oracle, meaning: Oracle, variant: Variant, layout: Layout) -> dict[str, Accepted]:
    pooled = one.pooled
    shape = pooled.Y.shape
    right: dict[str, list[tuple[np.generic, ...]]] = {name: [] for name in variant.outputs}
    for at in np.ndindex(shape):
        found = dict.fromkeys(right, ()) if pooled.empty[at] else _cell(one, meaning, variant, at)
        for name, values in found.items():
            right[name].append(values)
    order = _order(shape, layout)
    return {
        name: Accepted(
            one.X.dtype.name if name == "Y" else "int64", layout.arranged(shape), tuple(cells[place] for place in order)
        )
        for name, cells in right.items()
    }


def _order(shape: tuple[int, ...], layout: Layout) -> list[int]:
    places = np.arange(int(np.prod(shape))).reshape(shape)
    return [int(place) for place in layout.from_core(places).reshape(-1)]


def _cell(one: Oracle, meaning: Oracle, variant: Variant, at: tuple[int, ...]) -> Mapping[str, tuple[np.generic, ...]]:
    """What is right in one cell: found by putting the values and numbers of its window there and judging them."""
    Y, Indices = one.pooled.Y, one.pooled.Indices
    candidates = {"Y": _values(one, at), "Indices": _numbers(one, at)}
    wanted = [candidates[name] for name in variant.outputs]
    if all(len(values) == 1 for values in wanted):
        return dict(zip(variant.outputs, map(tuple, wanted), strict=True))
    answer = {name: value.copy() for name, value in (("Y", Y), ("Indices", Indices)) if value is not None}
    right: dict[str, dict[int, np.generic]] = {name: {} for name in variant.outputs}
    for chosen in itertools.product(*wanted):
        for name, value in zip(variant.outputs, chosen, strict=True):
            answer[name][at] = value
        arranged = {name: one.pooling.layout.from_core(answer[name]) for name in variant.outputs}
        judged = judge(meaning, {variant: Returned(arranged)})[variant]
        if judged.verdict in (Verdict.CONFORMS, Verdict.UNDEFINED):
            for name, value in zip(variant.outputs, chosen, strict=True):
                right[name].setdefault(_bits(value), value)
    return {name: tuple(values.values()) for name, values in right.items()}


def _values(one: Oracle, at: tuple[int, ...]) -> list[np.generic]:
    """The reference's Y first, then what another interpretation may make of the window."""
    dtype, reference = one.X.dtype, one.pooled.Y[at]
    values = np.array([one.core[cell] for cell in window_cells(at, one.pooling.geometry)], dtype)
    if not is_float(dtype):
        return [reference]
    if np.isnan(values).any():
        values = np.append(values, np.array([-np.inf], dtype))
    else:
        values = values[values == one.pooled.maxima[at]]
    if one.pooling.activation is not None:
        values = one.pooling.activation.of(values)
    return list({_bits(value): value for value in (reference, *values)}.values())


def _numbers(one: Oracle, at: tuple[int, ...]) -> list[np.generic]:
    """The reference's index first, then those of the cells that another interpretation may name."""
    if one.pooled.Indices is None:
        return []
    shape, maximum = one.core.shape, one.pooled.maxima[at]
    cells = window_cells(at, one.pooling.geometry)
    values = [one.core[cell] for cell in cells]
    has_nan = any(value != value for value in values)
    named = [cell for cell, value in zip(cells, values, strict=True) if has_nan or value == maximum]
    flat = np.array([np.ravel_multi_index(cell, shape) for cell in named], np.int64)
    numbers = one.pooling.numbering.number(flat, shape)
    reference = one.pooled.Indices[at]
    return list({int(number): number for number in (reference, *numbers)}.values())


def _bits(value: np.generic) -> int:
    # NaN is one value, whatever its payload.
    return -1 if value != value else int(bits(np.array([value]))[0])
