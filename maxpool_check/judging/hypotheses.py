"""Mistakes in the whole result: the reference computes each, and its outputs are compared with the actual ones.

A hypothesis is the reference with one mistake. It is a cause only if it explains every cell, right and wrong.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

import numpy as np

from maxpool_check.judging.kinds import DivergenceKind
from maxpool_check.judging.numberings import numbering_kinds
from maxpool_check.judging.oracle import Oracle
from maxpool_check.judging.values import NARROWER, ROUNDED, rounded, subnormal
from maxpool_check.judging.windows import reaches_padding
from maxpool_check.reference import geometry as rules
from maxpool_check.reference.dtypes import highest, is_float, lowest
from maxpool_check.reference.geometry import AutoPad, Axis, Geometry, NoWindow, Placement
from maxpool_check.reference.pooling import Pooling
from maxpool_check.results.record import Cause
from maxpool_check.specifications.refused import Refused


def causes_of(oracle: Oracle, outputs: Mapping[str, np.ndarray]) -> list[Cause]:
    """The mistakes that explain wrong outputs, or one wrong output; the likeliest for an output first.

    ``outputs`` are Y and maybe Indices, N x C x D1 x ... x Dn, of the right dtypes.
    """
    Y, numbers = outputs["Y"], outputs.get("Indices")
    shape = (*oracle.core.shape[:2], *oracle.pooling.output_sizes)
    same_rank = Y.ndim == len(shape) and Y.shape[:2] == shape[:2] and Y.size > 0
    if not same_rank or (numbers is not None and numbers.shape != Y.shape):
        return []
    if Y.shape != shape:
        return _geometry_mistakes(oracle, Y, numbers, None)
    acceptable = oracle.acceptable(Y)
    right_indices = np.ones(shape, bool) if numbers is None else oracle.match_indices(numbers, Y).right
    right = acceptable & right_indices
    if acceptable.all():
        return _numbering_mistakes(oracle, numbers) or _geometry_mistakes(oracle, Y, numbers, right)
    # Zeros of the wrong sign are equal, whichever cells they come from.
    zeros = (Y == 0) & (oracle.pooled.Y == 0)
    causes = [] if zeros[~acceptable].all() else _geometry_mistakes(oracle, Y, numbers, right)
    causes = causes or _value_mistakes(oracle, Y, numbers)
    # Beside a wrong Y without an explanation, an index says nothing about the numbering.
    indices_explained = any(cause.output in (None, "Indices") for cause in causes)
    if not indices_explained and (acceptable | right_indices).all():
        causes += _numbering_mistakes(oracle, numbers)
    return causes


def is_truncated_division(refused: Refused, shape: tuple[int, ...]) -> bool:
    """Whether division towards zero gives this output shape for a window larger than the input."""
    spans = [(n + b + e - rules.effective_kernel(k, d), s) for n, k, s, d, b, e in refused.axes]
    outputs = tuple((span // s if span >= 0 else -(-span // s)) + 1 for span, s in spans)
    # Without a remainder there is nothing to round.
    return any(span < 0 and span % s for span, s in spans) and outputs in (shape[2:], shape[1:-1])


def _geometry_mistakes(
    oracle: Oracle, Y: np.ndarray, numbers: np.ndarray | None, right: np.ndarray | None
) -> list[Cause]:
    """Mistakes in the windows, alone or with one in the numbering; ``right`` marks the right cells, if the shape is."""
    causes: list[Cause] = []
    with_numbering: list[Cause] = []
    for kind, geometry in geometries(oracle.pooling):
        if tuple(axis.output for axis in geometry) != Y.shape[2:] or any(cause.kind is kind for cause in causes):
            continue
        other = Oracle(oracle.X, replace(oracle.pooling, geometry=geometry, alternatives=()))
        # An empty window may hold anything: that explains little.
        empty = other.pooled.empty
        little = empty.all() if right is None else (empty & ~right).sum() > (~empty & ~right).sum()
        if little or not other.acceptable(Y).all():
            continue
        if numbers is None or other.match_indices(numbers, Y).right.all():
            causes.append(Cause(kind=kind, output=None, cells=Y.size))
        elif not with_numbering and (mistakes := _numbering_mistakes(other, numbers)):
            with_numbering = [Cause(kind=kind, output="Y", cells=Y.size), *mistakes]
    return causes or with_numbering


def geometries(pooling: Pooling) -> Iterator[tuple[DivergenceKind, Geometry]]:
    """The geometries with one mistake each whose windows differ from those of a pooling."""
    right = _windows(pooling.geometry)
    seen = set()
    for kind, geometry in _mistakes(pooling.geometry, pooling.placement):
        windows = _windows(geometry)
        if (kind, windows) not in seen and windows != right and all(axis.output > 0 for axis in geometry):
            seen.add((kind, windows))
            yield kind, geometry


def _windows(geometry: Geometry) -> tuple[tuple[object, ...], ...]:
    """Everything that determines the windows; the end padding does so only by their number."""
    return tuple((type(axis), axis.kernel, axis.stride, axis.dilation, axis.begin, axis.output) for axis in geometry)


def _mistakes(axes: Geometry, placement: Placement | None) -> Iterator[tuple[DivergenceKind, Geometry]]:
    if placement is not None and placement.is_same:
        yield from _same_mistakes(axes, placement)
    elif placement is not None:
        if placement.auto_pad is AutoPad.EXPLICIT:
            yield from _pad_mistakes(axes, placement)
        yield from _rounding_mistakes(axes, placement)
    yield from _changed(DivergenceKind.DILATION_IGNORED, axes, placement, dilation=[1] * len(axes))
    for kind, name in (
        (DivergenceKind.DILATION_AXES_EXCHANGED, "dilation"),
        (DivergenceKind.STRIDES_AXES_EXCHANGED, "stride"),
        (DivergenceKind.KERNEL_AXES_EXCHANGED, "kernel"),
    ):
        for order in _orders(axes):
            yield from _changed(kind, axes, placement, **{name: [getattr(axes[i], name) for i in order]})
    yield (
        DivergenceKind.DILATION_PHASE_LOST,
        tuple(_FromTheBorder(**vars(axis)) if axis.dilation > 1 and axis.begin > 0 else axis for axis in axes),
    )


def _orders(axes: Geometry) -> list[tuple[int, ...]]:
    """Orders of the axes, the reverse first; all of them for up to four axes."""
    reverse = tuple(reversed(range(len(axes))))
    return [reverse, *itertools.permutations(range(len(axes)))] if len(axes) <= 4 else [reverse]


def _changed(
    kind: DivergenceKind, axes: Geometry, placement: Placement | None, **values: Sequence[int]
) -> Iterator[tuple[DivergenceKind, Geometry]]:
    """Other values of some fields, one per axis: with the output size and padding that follow, and for the taps alone."""
    changed = tuple(replace(axis, **{name: values[name][i] for name in values}) for i, axis in enumerate(axes))
    if placement is not None:
        yield from _placed(kind, changed, placement)
    yield kind, changed


def _placed(kind: DivergenceKind, axes: Geometry, placement: Placement) -> Iterator[tuple[DivergenceKind, Geometry]]:
    """The axes with the output size and padding that a placement gives them."""
    with suppress(NoWindow):
        yield kind, tuple(placement.axis(a.size, a.kernel, a.stride, a.dilation, a.begin, a.end) for a in axes)


def _pad_mistakes(axes: Geometry, placement: Placement) -> Iterator[tuple[DivergenceKind, Geometry]]:
    begins, ends = [axis.begin for axis in axes], [axis.end for axis in axes]
    pads = [*begins, *ends]
    yield from _changed(DivergenceKind.PADS_BEGIN_END_EXCHANGED, axes, placement, begin=ends, end=begins)
    yield from _changed(DivergenceKind.PADS_INTERLEAVED, axes, placement, begin=pads[::2], end=pads[1::2])
    for order in _orders(axes):
        begin, end = [begins[i] for i in order], [ends[i] for i in order]
        yield from _changed(DivergenceKind.PADS_AXES_EXCHANGED, axes, placement, begin=begin, end=end)


def _rounding_mistakes(axes: Geometry, placement: Placement) -> Iterator[tuple[DivergenceKind, Geometry]]:
    # If rounding down and dropping the last window give the same, the smaller mistake comes first.
    for rounding in (rules.clipped_ceil_output, rules.ceil_output, rules.floor_output):
        if rounding is not placement.rounding:
            floor = rules.floor_output in (rounding, placement.rounding)
            kind = DivergenceKind.CEIL_FLOOR_EXCHANGED if floor else DivergenceKind.CEIL_CLIP_EXCHANGED
            yield from _placed(kind, axes, replace(placement, rounding=rounding))


def _same_mistakes(axes: Geometry, placement: Placement) -> Iterator[tuple[DivergenceKind, Geometry]]:
    dilated = any(axis.dilation > 1 for axis in axes)
    for clamps in (True, False) if dilated else ():
        plain = [replace(placement, clamps=clamps).axis(axis.size, axis.kernel, axis.stride, 1, 0, 0) for axis in axes]
        short = tuple(replace(axis, begin=pads.begin, end=pads.end) for axis, pads in zip(axes, plain, strict=True))
        # With the output size of SAME_*, and with the one that follows from the pads.
        yield DivergenceKind.SAME_IGNORES_DILATION, short
        yield from _placed(DivergenceKind.SAME_IGNORES_DILATION, short, Placement())
    upper = placement.auto_pad is AutoPad.SAME_UPPER
    other = AutoPad.SAME_LOWER if upper else AutoPad.SAME_UPPER
    yield from _placed(DivergenceKind.SAME_UPPER_LOWER_EXCHANGED, axes, replace(placement, auto_pad=other))
    if placement.clamps:
        yield from _placed(DivergenceKind.SAME_UNCLAMPED, axes, replace(placement, clamps=False))


class _FromTheBorder(Axis):
    """An axis on which a window that begins before X has its taps at 0, d, 2 * d ..."""

    def window(self, i: int) -> list[int]:
        start = self.start(i)
        end = min(self.size, start + rules.effective_kernel(self.kernel, self.dilation))
        return list(range(max(0, start), end, self.dilation))

    def taps(self) -> tuple[np.ndarray, np.ndarray]:
        windows = [self.window(i) for i in range(self.output)]
        first = np.array([window[0] if window else 0 for window in windows], np.int64)
        return first, np.array([len(window) for window in windows], np.int64)


def _value_mistakes(oracle: Oracle, Y: np.ndarray, numbers: np.ndarray | None) -> list[Cause]:
    """Mistakes in the compared values: those of X, and of the padding."""
    causes: list[Cause] = []
    for kind, X in _inputs(oracle.core):
        if any(cause.kind is kind for cause in causes):
            continue
        other = Oracle(oracle.pooling.layout.from_core(X), oracle.pooling)
        if other.acceptable(Y).all():
            whole = numbers is None or other.match_indices(numbers, Y).right.all()
            causes.append(Cause(kind=kind, output=None if whole else "Y", cells=Y.size))
    if not causes and any(_padded(oracle, value).acceptable(Y).all() for value in _constants(oracle, Y)):
        causes.append(Cause(kind=DivergenceKind.Y_PAD_VALUE_LEAK, output="Y", cells=Y.size))
    return causes


def _inputs(X: np.ndarray) -> Iterator[tuple[DivergenceKind, np.ndarray]]:
    if not is_float(X.dtype):
        return
    small = subnormal(X)
    mistakes = [
        (DivergenceKind.Y_FLUSHED_SUBNORMAL, np.where(small, np.copysign(np.zeros_like(X), X), X)),
        (DivergenceKind.Y_FLUSHED_SUBNORMAL, np.where(small, np.zeros_like(X), X)),
    ]
    if (X == np.inf).any():
        finite = np.where(X == np.inf, highest(X.dtype), np.where(X == -np.inf, lowest(X.dtype), X))
        mistakes.append((DivergenceKind.Y_SATURATED_INFINITY, finite))
    for name in NARROWER.get(X.dtype.name, ()):
        mistakes += [(ROUNDED[name], rounded(X, name)), (ROUNDED[name], rounded(X, name, saturates=True))]
    for kind, changed in mistakes:
        if not ((changed == X) | np.isnan(X)).all():
            yield kind, changed


def _constants(oracle: Oracle, Y: np.ndarray) -> list[np.generic]:
    """Possible values of the padding: 0, or a value that X does not hold."""
    if not reaches_padding(oracle.pooling.geometry).any() or oracle.pooling.activation is not None:
        return []
    wrong = ~oracle.acceptable(Y)
    if not (Y[wrong] > oracle.pooled.Y[wrong]).all() or (Y[wrong] == lowest(Y.dtype)).any():
        # The padding must have exceeded some maximum; the lowest finite value is more likely the start of a scan.
        return []
    foreign = [value for value in np.unique(Y[wrong]) if not (oracle.core == value).any()]
    # A single cell does not show that its value is a constant.
    return [Y.dtype.type(0), *(foreign if len(foreign) == 1 and wrong.sum() > 1 else [])]


def _padded(oracle: Oracle, value: np.generic) -> Oracle:
    """The oracle for X padded with cells of a value."""
    pooling = oracle.pooling
    pads = [(max(0, axis.begin), max(0, axis.reach - axis.size)) for axis in pooling.geometry]
    padded = np.pad(oracle.core, [(0, 0), (0, 0), *pads], constant_values=value)
    geometry = tuple(
        replace(axis, size=axis.size + begin + end, begin=axis.begin - begin, end=axis.end - end)
        for axis, (begin, end) in zip(pooling.geometry, pads, strict=True)
    )
    return Oracle(pooling.layout.from_core(padded), replace(pooling, geometry=geometry, alternatives=()))


def _numbering_mistakes(oracle: Oracle, numbers: np.ndarray | None) -> list[Cause]:
    """The mistakes in the numbering that explain all Indices."""
    if numbers is None:
        return []
    return [Cause(kind=kind, output="Indices", cells=numbers.size) for kind in numbering_kinds(oracle, numbers)]
