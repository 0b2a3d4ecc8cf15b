"""What mistakes make of the windows, and of the numbers of cells."""

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any

import numpy as np

from maxpool_check.judging.kinds import DESCRIPTIONS, DivergenceKind, KindGroup
from maxpool_check.judging.oracle import Oracle
from maxpool_check.reference import geometry as rules
from maxpool_check.reference.geometry import AutoPad, Axis, Geometry, NoWindow, Placement
from maxpool_check.reference.numbering import Layout, Numbering, StorageOrder, coordinates
from maxpool_check.reference.policies import Tie
from maxpool_check.reference.pooling import Pooling
from maxpool_check.results.details import Cause

NUMBERING = frozenset(kind for kind, about in DESCRIPTIONS.items() if about.group is KindGroup.ALL_INDICES)
"""The mistakes in the numbering."""

_Geometries = Iterator[tuple[DivergenceKind, Geometry]]
_Numberings = Iterator[tuple[DivergenceKind, Callable[[np.ndarray], np.ndarray]]]


@dataclass(frozen=True)
class WrongGeometries:
    """What mistakes in the windows make of a geometry: those with other windows, each once.

    ``without_effect`` are the kinds of mistakes of which a form changes no window, or leaves none.
    """

    wrong: tuple[tuple[DivergenceKind, Geometry], ...]
    without_effect: frozenset[DivergenceKind]


def wrong_geometries(pooling: Pooling) -> WrongGeometries:
    """The geometries with one mistake each."""
    return _wrong_geometries(pooling.geometry, pooling.placement)


# Cases that share a geometry follow one another, and each of their executions is compared with the same mistakes.
@lru_cache(256)
def _wrong_geometries(axes: Geometry, placement: Placement | None) -> WrongGeometries:
    right = _windows(axes)
    wrong: dict[tuple[object, ...], tuple[DivergenceKind, Geometry]] = {}
    without_effect = set()
    for kind, geometry in _mistakes(axes, placement):
        windows = _windows(geometry)
        if windows == right or any(axis.output <= 0 for axis in geometry):
            without_effect.add(kind)
        else:
            wrong.setdefault((kind, windows), (kind, geometry))
    return WrongGeometries(tuple(wrong.values()), frozenset(without_effect))


def empty_sizes(pooling: Pooling) -> Iterator[tuple[DivergenceKind, tuple[int, ...]]]:
    """The output sizes with one mistake each that leaves an axis no window; a size that would be negative is 0."""
    placement = pooling.placement
    if placement is not None:
        for kind, geometry in _mistakes(pooling.geometry, _ToZero(**vars(placement))):
            if any(axis.output <= 0 for axis in geometry):
                yield kind, tuple(max(0, axis.output) for axis in geometry)


def _windows(geometry: Geometry) -> tuple[tuple[object, ...], ...]:
    """Everything that determines the windows; the end padding does so only by their number."""
    return tuple((type(axis), axis.kernel, axis.stride, axis.dilation, axis.begin, axis.output) for axis in geometry)


def _mistakes(axes: Geometry, placement: Placement | None) -> _Geometries:
    kind, changed, values = DivergenceKind, partial(_changed, axes, placement), _values(axes)
    if placement is not None:
        yield from _same_mistakes(axes, placement) if placement.is_same else _pad_mistakes(axes, placement)
    yield from changed(kind.DILATION_IGNORED, dilation=[1] * len(axes))
    for exchanged, name in (
        (kind.DILATION_AXES_EXCHANGED, "dilation"),
        (kind.STRIDES_AXES_EXCHANGED, "stride"),
        (kind.KERNEL_AXES_EXCHANGED, "kernel"),
    ):
        for order in _orders(axes):
            yield from changed(exchanged, **{name: [values[name][i] for i in order]})
    yield from changed(kind.DILATION_OF_FIRST_AXIS, dilation=values["dilation"][:1] * len(axes))
    yield from changed(kind.STRIDE_OF_FIRST_AXIS, stride=values["stride"][:1] * len(axes))
    yield from changed(kind.STRIDE_IGNORED, stride=[1] * len(axes))
    yield from changed(kind.STRIDE_IS_KERNEL, stride=values["kernel"])
    yield from changed(kind.KERNEL_ONE_SHORT, kernel=[max(1, k - 1) for k in values["kernel"]])
    for shift in (1, -1):
        yield from _changed(axes, None, kind.WINDOWS_SHIFTED, begin=[begin + shift for begin in values["begin"]])
    yield (
        kind.DILATION_PHASE_LOST,
        tuple(_FromTheBorder(**vars(axis)) if axis.dilation > 1 and axis.begin > 0 else axis for axis in axes),
    )


def _pad_mistakes(axes: Geometry, placement: Placement) -> _Geometries:
    kind, changed, values = DivergenceKind, partial(_changed, axes, placement), _values(axes)
    begins, ends = values["begin"], values["end"]
    if placement.auto_pad is AutoPad.EXPLICIT:
        pads = [*begins, *ends]
        yield from changed(kind.PADS_BEGIN_END_EXCHANGED, begin=ends, end=begins)
        yield from changed(kind.PADS_IGNORED, begin=[0] * len(axes), end=[0] * len(axes))
        yield from changed(kind.PADS_INTERLEAVED, begin=pads[::2], end=pads[1::2])
        for order in _orders(axes):
            exchanged = {name: [values[name][i] for i in order] for name in ("begin", "end")}
            yield from changed(kind.PADS_AXES_EXCHANGED, **exchanged)
    # If rounding down and dropping the last window give the same, the smaller mistake comes first.
    for rounding in (rules.clipped_ceil_output, rules.ceil_output, rules.floor_output):
        if rounding is not placement.rounding:
            floor = rules.floor_output in (rounding, placement.rounding)
            mistake = kind.CEIL_FLOOR_EXCHANGED if floor else kind.CEIL_CLIP_EXCHANGED
            yield from _placed(mistake, axes, replace(placement, rounding=rounding))


def _values(axes: Geometry) -> dict[str, list[int]]:
    return {name: [getattr(axis, name) for axis in axes] for name in ("kernel", "stride", "dilation", "begin", "end")}


def _orders(axes: Geometry) -> list[tuple[int, ...]]:
    """Orders of the axes, the reverse first; all of them but the right one for up to four axes."""
    others = itertools.permutations(range(len(axes))) if len(axes) <= 4 else ()
    return [tuple(range(len(axes)))[::-1], *itertools.islice(others, 1, None)]


def _changed(axes: Geometry, placement: Placement | None, kind: DivergenceKind, **values: Sequence[int]) -> _Geometries:
    """Other values of some fields, one per axis: with the output size and padding that follow, and for the taps alone."""
    changed = tuple(replace(axis, **{name: values[name][i] for name in values}) for i, axis in enumerate(axes))
    # Most poolings lack most attributes.
    if placement is not None and changed != axes:
        yield from _placed(kind, changed, placement)
    yield kind, changed


def _placed(kind: DivergenceKind, axes: Geometry, placement: Placement) -> _Geometries:
    """The axes with the output size and padding that a placement gives them."""
    with suppress(NoWindow):
        yield kind, tuple(placement.axis(a.size, a.kernel, a.stride, a.dilation, a.begin, a.end) for a in axes)


def _same_mistakes(axes: Geometry, placement: Placement) -> _Geometries:
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
    none = tuple(replace(axis, begin=0, end=0) for axis in axes)
    yield from _placed(DivergenceKind.AUTO_PAD_IGNORED, none, Placement())
    yield DivergenceKind.AUTO_PAD_IGNORED, none
    if placement.clamps:
        yield from _placed(DivergenceKind.SAME_UNCLAMPED, axes, replace(placement, clamps=False))


class _ToZero(Placement):
    """A placement that gives an axis no window where the formula gives a negative size."""

    def axis(self, n: int, k: int, s: int, d: int, b: int, e: int) -> Axis:
        with suppress(NoWindow):
            return super().axis(n, k, s, d, b, e)
        return Axis(n, k, s, d, b, e, 0)


class _FromTheBorder(Axis):
    """An axis on which a window that begins before X has its taps at 0, d, 2 * d ..."""

    def taps(self) -> tuple[np.ndarray, np.ndarray]:
        reach = rules.effective_kernel(self.kernel, self.dilation)
        starts = [self.start(i) for i in range(self.output)]
        windows = [range(max(0, start), min(self.size, start + reach), self.dilation) for start in starts]
        first = np.array([window[0] if window else 0 for window in windows], np.int64)
        return first, np.array([len(window) for window in windows], np.int64)


def numbering_causes(oracle: Oracle, numbers: np.ndarray | None) -> list[Cause]:
    """The mistakes in the numbering that explain all Indices; none if there are no Indices, or if they are right."""
    if numbers is None:
        return []
    match = oracle.match_indices(numbers, None)
    wrong = ~match.right
    if not wrong.any() or (wrong.sum() == 1 and match.inside[wrong].all()):
        # A single wrong cell in the window says nothing about the numbering.
        return []
    kinds = _fitting_kinds(oracle, numbers, several=wrong.sum() > 1)
    return [Cause(kind=kind, output="Indices", cells=numbers.size) for kind, fits in kinds.items() if fits]


def changes_numbers(oracle: Oracle, kind: DivergenceKind) -> bool:
    """Whether a mistake in the numbering would change the right Indices of a case."""
    assert oracle.pooled.Indices is not None
    return _fitting_kinds(oracle, oracle.pooled.Indices, several=True).get(kind) is False


def _fitting_kinds(oracle: Oracle, numbers: np.ndarray, *, several: bool) -> dict[DivergenceKind, bool]:
    """The mistakes that there can be in the numbering, and whether they explain these Indices."""
    chosen = list(oracle.choices)
    if oracle.pooling.policies.tie is Tie.ANY:
        chosen += [oracle.last, oracle.column_first]
    kinds: dict[DivergenceKind, bool] = {}
    for kind, number in _numberings(oracle.core.shape, oracle.pooling, several=several):
        if not kinds.get(kind):
            explained = [numbers == number(np.maximum(cells, 0)) for cells in chosen]
            kinds[kind] = bool(np.logical_or.reduce([oracle.pooled.empty, *explained]).all())
    return kinds


def _numberings(shape: tuple[int, ...], pooling: Pooling, *, several: bool) -> _Numberings:
    """Wrong numbers of row-major positions in N x C x D1 x ... x Dn."""
    numbering = pooling.numbering

    def by(kind: DivergenceKind, **changes: Any) -> tuple[DivergenceKind, Callable[[np.ndarray], np.ndarray]]:
        return kind, partial(replace(numbering, **changes).number, shape=shape)

    if numbering.axis != 2:
        yield by(DivergenceKind.INDICES_PLANE_RELATIVE, axis=2)
    other = next(order for order in StorageOrder if order is not numbering.storage_order)
    yield by(DivergenceKind.INDICES_STORAGE_ORDER, storage_order=other)
    if numbering.layout is Layout.CHANNELS_FIRST:
        yield by(DivergenceKind.INDICES_NHWC_FLAT, layout=Layout.CHANNELS_LAST)
    # Counting from an axis inside the plane gives few numbers, so that a single cell agrees by chance.
    for axis in range(len(shape) if several else 2):
        if axis not in (2, numbering.axis):
            yield by(DivergenceKind.INDICES_MODULO_AXIS, axis=axis)
    yield from _flattened(shape, pooling.geometry, numbering)


def _flattened(shape: tuple[int, ...], geometry: Geometry, numbering: Numbering) -> _Numberings:
    """Positions computed with other sizes: those of the padded tensor, or of other axes."""
    spatial = tuple(range(len(geometry)))
    right = spatial[::-1] if numbering.storage_order is StorageOrder.COLUMN_MAJOR else spatial
    none = [0] * len(geometry)

    def number(
        order: Sequence[int], extents: Sequence[int], shifts: Sequence[int], plane: int, cells: np.ndarray
    ) -> np.ndarray:
        batch, channel, *position = coordinates(cells, shape)
        result = (batch * shape[1] + channel) * plane
        offset = np.zeros(cells.shape, np.int64)
        for axis, extent in zip(order, extents, strict=True):
            offset = offset * extent + position[axis] + shifts[axis]
        result = result + offset
        return result % numbering.bound(shape) if numbering.axis else result

    begins = [max(0, axis.begin) for axis in geometry]
    extents = [axis.size + begin + max(0, axis.end) for axis, begin in zip(geometry, begins, strict=True)]
    plane, padded = math.prod(shape[2:]), math.prod(extents)
    for shifts, size in itertools.product((begins, none), (padded, plane, 0) if padded != plane else ()):
        in_padded = partial(number, right, [extents[axis] for axis in right], shifts, size)
        yield DivergenceKind.INDICES_IN_PADDED_TENSOR, in_padded
    for order, sizes in itertools.product(itertools.permutations(spatial), repeat=2):
        if len(geometry) <= 3 and (order != sizes or order not in (right, right[::-1])):
            in_other_axes = partial(number, order, [shape[2 + axis] for axis in sizes], none, plane)
            yield DivergenceKind.INDICES_AXES_SWAPPED, in_other_axes
