"""What mistakes make of the windows, and of the numbers of cells."""

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache, partial

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
    for kind, name in (
        (DivergenceKind.DILATION_OF_FIRST_AXIS, "dilation"),
        (DivergenceKind.STRIDE_OF_FIRST_AXIS, "stride"),
    ):
        yield from _changed(kind, axes, placement, **{name: [getattr(axes[0], name)] * len(axes)})
    kernels = [axis.kernel for axis in axes]
    yield from _changed(DivergenceKind.STRIDE_IGNORED, axes, placement, stride=[1] * len(axes))
    yield from _changed(DivergenceKind.STRIDE_IS_KERNEL, axes, placement, stride=kernels)
    yield from _changed(DivergenceKind.KERNEL_ONE_SHORT, axes, placement, kernel=[max(1, k - 1) for k in kernels])
    for shift in (1, -1):
        yield from _changed(DivergenceKind.WINDOWS_SHIFTED, axes, None, begin=[axis.begin + shift for axis in axes])
    yield (
        DivergenceKind.DILATION_PHASE_LOST,
        tuple(_FromTheBorder(**vars(axis)) if axis.dilation > 1 and axis.begin > 0 else axis for axis in axes),
    )


def _orders(axes: Geometry) -> list[tuple[int, ...]]:
    """Orders of the axes, the reverse first; all of them for up to four axes."""
    reverse = tuple(reversed(range(len(axes))))
    others = itertools.permutations(range(len(axes))) if len(axes) <= 4 else ()
    return [reverse, *(order for order in others if order != tuple(range(len(axes))))]


def _changed(kind: DivergenceKind, axes: Geometry, placement: Placement | None, **values: Sequence[int]) -> _Geometries:
    """Other values of some fields, one per axis: with the output size and padding that follow, and for the taps alone."""
    if all(list(new) == [getattr(axis, name) for axis in axes] for name, new in values.items()):
        # Most poolings lack most attributes.
        yield kind, axes
        return
    changed = tuple(replace(axis, **{name: values[name][i] for name in values}) for i, axis in enumerate(axes))
    if placement is not None:
        yield from _placed(kind, changed, placement)
    yield kind, changed


def _placed(kind: DivergenceKind, axes: Geometry, placement: Placement) -> _Geometries:
    """The axes with the output size and padding that a placement gives them."""
    with suppress(NoWindow):
        yield kind, tuple(placement.axis(a.size, a.kernel, a.stride, a.dilation, a.begin, a.end) for a in axes)


def _pad_mistakes(axes: Geometry, placement: Placement) -> _Geometries:
    begins, ends = [axis.begin for axis in axes], [axis.end for axis in axes]
    pads = [*begins, *ends]
    yield from _changed(DivergenceKind.PADS_BEGIN_END_EXCHANGED, axes, placement, begin=ends, end=begins)
    none = [0] * len(axes)
    yield from _changed(DivergenceKind.PADS_IGNORED, axes, placement, begin=none, end=none)
    yield from _changed(DivergenceKind.PADS_INTERLEAVED, axes, placement, begin=pads[::2], end=pads[1::2])
    for order in _orders(axes):
        begin, end = [begins[i] for i in order], [ends[i] for i in order]
        yield from _changed(DivergenceKind.PADS_AXES_EXCHANGED, axes, placement, begin=begin, end=end)


def _rounding_mistakes(axes: Geometry, placement: Placement) -> _Geometries:
    # If rounding down and dropping the last window give the same, the smaller mistake comes first.
    for rounding in (rules.clipped_ceil_output, rules.ceil_output, rules.floor_output):
        if rounding is not placement.rounding:
            floor = rules.floor_output in (rounding, placement.rounding)
            kind = DivergenceKind.CEIL_FLOOR_EXCHANGED if floor else DivergenceKind.CEIL_CLIP_EXCHANGED
            yield from _placed(kind, axes, replace(placement, rounding=rounding))


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
    return [
        Cause(kind=kind, output="Indices", cells=numbers.size)
        for kind in _fitting_kinds(oracle, numbers, several=wrong.sum() > 1)
    ]


def changes_numbers(oracle: Oracle, kind: DivergenceKind) -> bool:
    """Whether a mistake in the numbering would change the right Indices of a case."""
    kinds = {each for each, _ in _numberings(oracle.core.shape, oracle.pooling, several=True)}
    numbers = oracle.pooled.Indices
    return kind in kinds and numbers is not None and kind not in _fitting_kinds(oracle, numbers, several=True)


def _fitting_kinds(oracle: Oracle, numbers: np.ndarray, *, several: bool) -> list[DivergenceKind]:
    chosen = list(oracle.choices)
    if oracle.pooling.policies.tie is Tie.ANY:
        chosen += [oracle.last, oracle.column_first]
    kinds: list[DivergenceKind] = []
    for kind, number in _numberings(oracle.core.shape, oracle.pooling, several=several):
        if kind not in kinds:
            explained = oracle.pooled.empty.copy()
            for cells in chosen:
                explained |= numbers == number(np.maximum(cells, 0))
            kinds += [kind] if explained.all() else []
    return kinds


def _numberings(shape: tuple[int, ...], pooling: Pooling, *, several: bool) -> _Numberings:
    """Wrong numbers of row-major positions in N x C x D1 x ... x Dn."""
    numbering, rank = pooling.numbering, len(shape)

    def by(**changes: object) -> Callable[[np.ndarray], np.ndarray]:
        other = replace(numbering, **changes)  # type: ignore[arg-type]
        return lambda cells: other.number(cells, shape)

    by_columns = numbering.storage_order is StorageOrder.COLUMN_MAJOR
    if numbering.axis != 2:
        yield DivergenceKind.INDICES_PLANE_RELATIVE, by(axis=2)
    yield (
        DivergenceKind.INDICES_STORAGE_ORDER,
        by(storage_order=StorageOrder.ROW_MAJOR if by_columns else StorageOrder.COLUMN_MAJOR),
    )
    if numbering.layout is Layout.CHANNELS_FIRST:
        yield DivergenceKind.INDICES_NHWC_FLAT, by(layout=Layout.CHANNELS_LAST)
    # Counting from an axis inside the plane gives few numbers, so that a single cell agrees by chance.
    for axis in range(rank if several else 2):
        if axis not in (2, numbering.axis):
            yield DivergenceKind.INDICES_MODULO_AXIS, by(axis=axis)
    yield from _flattened(shape, pooling.geometry, numbering)


def _flattened(shape: tuple[int, ...], geometry: Geometry, numbering: Numbering) -> _Numberings:
    """Positions computed with other sizes: those of the padded tensor, or of other axes."""
    spatial = range(len(geometry))
    right = tuple(reversed(spatial)) if numbering.storage_order is StorageOrder.COLUMN_MAJOR else tuple(spatial)

    def number(
        order: Sequence[int], extents: Sequence[int], shifts: Sequence[int], plane: int, cells: np.ndarray
    ) -> np.ndarray:
        batch, channel, *position = coordinates(cells, shape)
        offset = np.zeros(cells.shape, np.int64)
        for axis, extent in zip(order, extents, strict=True):
            offset = offset * extent + position[axis] + shifts[axis]
        result: np.ndarray = (batch * shape[1] + channel) * plane + offset
        return result % numbering.bound(shape) if numbering.axis else result

    begins = [max(0, axis.begin) for axis in geometry]
    extents = [axis.size + begin + max(0, axis.end) for axis, begin in zip(geometry, begins, strict=True)]
    plane, padded = math.prod(shape[2:]), math.prod(extents)
    in_order = [extents[axis] for axis in right]
    none = [0] * len(geometry)
    for shifts, plane_size in itertools.product((begins, none), (padded, plane, 0)):
        if padded != plane:
            yield DivergenceKind.INDICES_IN_PADDED_TENSOR, partial(number, right, in_order, shifts, plane_size)
    for order, sizes in itertools.product(itertools.permutations(spatial), repeat=2):
        if len(geometry) <= 3 and (order != sizes or order not in (right, right[::-1])):
            values = [shape[2 + axis] for axis in sizes]
            yield DivergenceKind.INDICES_AXES_SWAPPED, partial(number, order, values, none, plane)
