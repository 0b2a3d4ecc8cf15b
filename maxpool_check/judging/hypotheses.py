"""Mistakes in the whole result: the reference computes each, and its outputs are compared with the actual ones.

A hypothesis is the reference with one mistake. It is a candidate for the cause only if it explains every cell, right and
wrong; ``naming`` decides between candidates.
"""

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from maxpool_check.graphs.node import Inexact
from maxpool_check.judging.cells import changes
from maxpool_check.judging.kinds import DESCRIPTIONS, DivergenceKind, KindGroup
from maxpool_check.judging.oracle import Oracle
from maxpool_check.judging.windows import OF_SAME, empty_sizes, wrong_geometries
from maxpool_check.reference.dtypes import is_float, lowest, same
from maxpool_check.reference.geometry import Axis, Geometry
from maxpool_check.reference.numbering import Layout, Numbering, StorageOrder, coordinates
from maxpool_check.reference.policies import Tie
from maxpool_check.reference.pooling import Activation, Function, Pooling
from maxpool_check.results.details import Cause

NUMBERING = frozenset(kind for kind, about in DESCRIPTIONS.items() if about.group is KindGroup.ALL_INDICES)
"""The mistakes in the numbering."""

_OF_VALUES = frozenset(
    {
        *(DivergenceKind(f"y-rounded-to-{name}") for name in ("float32", "float16", "bfloat16")),
        DivergenceKind.Y_FLUSHED_SUBNORMAL,
        DivergenceKind.Y_SATURATED_INFINITY,
        DivergenceKind.ABSOLUTE_VALUES,
        DivergenceKind.COMPARED_AS_BITS,
        DivergenceKind.SIGNED_UNSIGNED_EXCHANGED,
        DivergenceKind.FIRST_BATCH_REPEATED,
        DivergenceKind.READ_IN_OTHER_LAYOUT,
        DivergenceKind.SCAN_STARTS_AT_ZERO,
    }
)
"""The mistakes in the values. All others of whole results are in the windows, or in the numbering."""

_MOST_PADDED = 2**24
"""The most cells of a padded X, which shows whether the padding took part."""

_Numberings = Iterator[tuple[DivergenceKind, Callable[[np.ndarray], np.ndarray]]]


@dataclass(frozen=True, eq=False)
class _Mistake:
    """A mistake and what it makes of a case: the oracle for other windows, or for another X.

    ``values`` are what is compared of Y. ``offset`` is added to Indices before they are compared. ``without_effect``: X is
    as it should be. ``in_y_alone``: it may show in Y, and not in Indices. ``across_planes``: a plane of Y is made of several of X.
    """

    kind: DivergenceKind
    oracle: Oracle
    values: Callable[[np.ndarray], np.ndarray] = np.asarray
    offset: np.ndarray | int = 0
    without_effect: bool = False
    in_y_alone: bool = True
    across_planes: bool = False

    def explains_y(self, Y: np.ndarray, *, signs: bool = True) -> bool:
        """Whether every Y is what the mistake makes of it; without ``signs``, zeros of either sign are equal."""
        if Y.shape != _shape(self.oracle):
            return False
        try:
            # The first plane refutes most mistakes, and takes a fraction of the time. A function may differ by channel.
            if math.prod(Y.shape[:2]) > 1 and self.oracle.pooling.activation is None and not self.across_planes:
                X = self.oracle.pooling.layout.from_core(self.oracle.core[:1, :1])
                plane = replace(self, oracle=Oracle(X, self.oracle.pooling))
                if not plane.explains_y(Y[:1, :1], signs=signs):
                    return False
            acceptable = self.oracle.acceptable(self.values(Y))
        except Inexact:
            # Of other maxima, a node behind MaxPool has no exact result.
            return False
        return bool((acceptable if signs else acceptable | (Y == 0) & (self.oracle.pooled.Y == 0)).all())


def causes_of(oracle: Oracle, outputs: Mapping[str, np.ndarray]) -> list[Cause]:
    """All mistakes that explain wrong outputs, or one wrong output; none is named before other executions decide.

    ``outputs`` are Y and maybe Indices, N x C x D1 x ... x Dn, of the right dtypes.
    """
    Y, numbers, shape = outputs["Y"], outputs.get("Indices"), _shape(oracle)
    if Y.ndim != len(shape) or Y.shape[:2] != shape[:2] or (numbers is not None and numbers.shape != Y.shape):
        return []
    if Y.shape != shape:
        if Y.size:
            return _fitting(Y, numbers, _geometry_mistakes(oracle), None)
        empty = dict.fromkeys(kind for kind, sizes in empty_sizes(oracle.pooling) if Y.shape[2:] == sizes)
        return [Cause(kind=kind, output=None, cells=0) for kind in empty]
    if not Y.size:
        return []
    acceptable = oracle.acceptable(Y)
    right_indices = np.ones(shape, bool) if numbers is None else oracle.match_indices(numbers, Y).right
    right = acceptable & right_indices
    if acceptable.all():
        layouts = (replace(each, in_y_alone=False) for each in _layout_mistakes(oracle))
        others = itertools.chain(_geometry_mistakes(oracle), layouts)
        numberings = numbering_causes(oracle, numbers)
        surely = any(cause.cells for cause in numberings)
        return numberings if surely else numberings + _fitting(Y, numbers, others, right, indices_alone=True)
    # Zeros of the wrong sign are equal, whichever cells they come from: they prove nothing but a change of X.
    zeros = (Y == 0) & (oracle.pooled.Y == 0)
    if zeros[~acceptable].all():
        values = _value_mistakes(oracle)
        causes = _fitting(
            Y, numbers, (each for each in values if each.kind is not DivergenceKind.COMPARED_AS_BITS), right
        )
        weak = _fitting(Y, numbers, _geometry_mistakes(oracle), right)
        weak += _of_constants(oracle, Y, acceptable, right_indices)
        causes += [Cause(kind=cause.kind, output=cause.output, cells=0) for cause in weak]
    else:
        causes = _fitting(Y, numbers, itertools.chain(_geometry_mistakes(oracle), _value_mistakes(oracle)), right)
        causes += _of_constants(oracle, Y, acceptable, right_indices)
    with suppress(Inexact):
        if any(_padded(oracle, value).acceptable(Y).all() for value in _constants(oracle, Y)):
            causes = [cause for cause in causes if cause.kind != DivergenceKind.Y_PAD_VALUE_LEAK]
            causes.append(Cause(kind=DivergenceKind.Y_PAD_VALUE_LEAK, output="Y", cells=Y.size))
    # Beside a wrong Y without an explanation, an index says nothing about the numbering.
    if all(cause.output == "Y" for cause in causes if is_kind(cause)) and (acceptable | right_indices).all():
        causes += numbering_causes(oracle, numbers)
    return causes


def is_kind(cause: Cause) -> bool:
    """Whether the cause can be the kind of an execution: it is proved by cells, and named as more than a cause."""
    return bool(cause.cells) and not DESCRIPTIONS[DivergenceKind(cause.kind)].cause_only


def _shape(oracle: Oracle) -> tuple[int, ...]:
    return (*oracle.core.shape[:2], *oracle.pooling.output_sizes)


def would_change(oracle: Oracle, kind: DivergenceKind, *, indices: bool) -> bool:
    """Whether a mistake of a kind surely changes the right Y of a case, or its right Indices if it is one in numbering."""
    # A NaN in a comparison is no mistake here, but bfloat16 warns of it.
    with np.errstate(invalid="ignore"):
        if kind in NUMBERING:
            assert oracle.pooled.Indices is not None
            return indices and _fitting_numberings(oracle, oracle.pooled.Indices, several=True).get(kind) is False
        placement = oracle.pooling.placement
        if kind in OF_SAME and (placement is None or not placement.is_same):
            return False
        if kind in wrong_geometries(oracle.pooling).without_effect:
            return False
        if kind in _OF_VALUES:
            mistakes = [each for each in _value_mistakes(oracle) if each.kind is kind]
        else:
            mistakes = list(_geometry_mistakes(oracle, kind))
        # A window without a cell may hold anything.
        if not mistakes or oracle.has_empty or oracle.holds_nan.any():
            return False
        with suppress(Inexact):
            return not any(
                each.without_effect or each.oracle.has_empty or each.explains_y(oracle.pooled.Y, signs=False)
                for each in mistakes
            )
        # Of other maxima, a node behind MaxPool has no exact result.
        return False


def _fitting(
    Y: np.ndarray,
    numbers: np.ndarray | None,
    mistakes: Iterable[_Mistake],
    right: np.ndarray | None,
    *,
    indices_alone: bool = False,
) -> list[Cause]:
    """The mistakes that explain Y, alone or with one in the numbering; ``right`` marks the right cells, if the shape is.

    ``indices_alone``: every Y is right.
    """
    causes: dict[DivergenceKind, Cause] = {}
    with_numbering: list[Cause] = []
    for mistake in mistakes:
        kind, other = mistake.kind, mistake.oracle
        known = causes.get(kind)
        if mistake.without_effect or (known and known.output is None and known.cells) or not mistake.explains_y(Y):
            continue
        # A window without a value, or an index, may have any: that explains little.
        empty = other.pooled.empty if indices_alone else other.pooled.undefined
        if right is None and empty.all():
            causes.setdefault(kind, Cause(kind=kind, output=None, cells=0))
            continue
        if right is not None and (empty & ~right).sum() > (~empty & ~right).sum():
            # Windows that are all empty give what the scan starts from.
            if not empty.all() or same(Y, np.full_like(Y, Y.flat[0])).all():
                causes.setdefault(kind, Cause(kind=kind, output=None, cells=0))
            continue
        of_y = Cause(kind=kind, output="Y", cells=Y.size)
        if numbers is None or other.match_indices(numbers + mistake.offset, mistake.values(Y)).right.all():
            causes[kind] = Cause(kind=kind, output=None, cells=Y.size)
        elif mistake.in_y_alone:
            causes[kind] = of_y
        elif not with_numbering and is_kind(of_y):
            numbering = [cause for cause in numbering_causes(other, numbers) if cause.cells]
            with_numbering = [of_y, *numbering] if numbering else []
    return [*causes.values(), *([] if any(map(is_kind, causes.values())) else with_numbering)]


def _geometry_mistakes(oracle: Oracle, of_kind: DivergenceKind | None = None) -> Iterator[_Mistake]:
    """Mistakes in the windows: those of a kind, or of all."""
    for kind, geometry in wrong_geometries(oracle.pooling).wrong:
        if of_kind in (None, kind):
            other = Oracle(oracle.X, replace(oracle.pooling, geometry=geometry, alternatives=()))
            yield _Mistake(kind, other, in_y_alone=False)


def _value_mistakes(oracle: Oracle) -> Iterator[_Mistake]:
    """Mistakes in the values: those of X, what is compared of them, or the start of the scan."""
    core, pooling, kinds = oracle.core, replace(oracle.pooling, alternatives=()), DivergenceKind

    def mistake(kind: DivergenceKind, X: np.ndarray, pooling: Pooling = pooling, **fields: Any) -> _Mistake:
        assert kind in _OF_VALUES
        same = bool(((X == core) | (core != core)).all())
        return _Mistake(kind, Oracle(pooling.layout.from_core(X), pooling), without_effect=same, **fields)

    # What is compared has no activation, and the padding no value in it.
    plain = replace(pooling, activation=None, padding_value=None)
    keys: list[tuple[DivergenceKind, Callable[[np.ndarray], np.ndarray]]] = [(kinds.ABSOLUTE_VALUES, np.abs)]
    if is_float(core.dtype):
        for kind, X in changes(core):
            yield mistake(kind, X)
        if pooling.activation is None:
            integer = np.dtype(f"int{8 * core.itemsize}")
            values = partial(_as_dtype, dtype=integer)
            # Of NaN alone, a window has no maximum: a NaN in Y proves nothing.
            X = np.where(core == core, values(core), np.iinfo(integer).min)
            yield mistake(kinds.COMPARED_AS_BITS, X, plain, values=values)
    else:
        dtype = np.dtype(core.dtype.name[1:] if core.dtype.kind == "u" else f"u{core.dtype.name}")
        keys.insert(0, (kinds.SIGNED_UNSIGNED_EXCHANGED, partial(_as_dtype, dtype=dtype)))
    for kind, key in keys if pooling.activation is None else ():
        yield mistake(kind, key(core), plain, values=key)
    if core.shape[0] > 1:
        X = np.repeat(core[:1], len(core), axis=0)
        batches = np.arange(len(core)).reshape(-1, *[1] * (core.ndim - 1)) * core[0].size
        for offset in (0, batches):
            yield mistake(kinds.FIRST_BATCH_REPEATED, X, offset=offset)
    if pooling.activation is None and (core < 0).any():
        from_zero = replace(pooling, activation=Activation(Function.RELU))
        yield _Mistake(kinds.SCAN_STARTS_AT_ZERO, Oracle(oracle.X, from_zero))
    yield from _layout_mistakes(oracle)


def _layout_mistakes(oracle: Oracle) -> Iterator[_Mistake]:
    """X that is read in the other layout, Y that is written in it, or both."""
    core, pooling = oracle.core, replace(oracle.pooling, alternatives=())
    if core.shape[1] == 1 or math.prod(core.shape[2:]) == 1:
        return
    own, other = _as_channels_last, _as_channels_first
    if pooling.layout is not Layout.CHANNELS_FIRST:
        own, other = other, own
    for X, values in ((own(core), np.asarray), (own(core), own), (core, own), (other(core), np.asarray)):
        read = Oracle(pooling.layout.from_core(X), pooling)
        yield _Mistake(DivergenceKind.READ_IN_OTHER_LAYOUT, read, values, across_planes=True)


def _as_channels_last(core: np.ndarray) -> np.ndarray:
    """The cells in memory of N x C x D1 x ... x Dn, read as N x D1 x ... x Dn x C; in the first of these forms."""
    return np.moveaxis(core.reshape(core.shape[0], *core.shape[2:], core.shape[1]), -1, 1)


def _as_channels_first(core: np.ndarray) -> np.ndarray:
    """The cells in memory of N x D1 x ... x Dn x C, read as N x C x D1 x ... x Dn."""
    return np.moveaxis(core, 1, -1).reshape(core.shape)


def _of_constants(oracle: Oracle, Y: np.ndarray, acceptable: np.ndarray, right_indices: np.ndarray) -> list[Cause]:
    """Mistakes that put a constant into some cells of Y: a start of the scan above the lowest value, and a tail that is not written."""
    wrong = ~acceptable
    constant = Y[wrong][0]
    if not same(Y[wrong], np.full_like(Y[wrong], constant)).all():
        return []
    causes: list[Cause] = []
    with_indices = None if (acceptable <= right_indices).all() else "Y"
    below = oracle.pooled.Y < constant
    # 0 and the lowest value have kinds of their own. A NaN that is dropped leaves the start; alone, it may be treated in another way.
    if (
        constant not in (0, lowest(Y.dtype))
        and (below | np.isnan(oracle.pooled.Y))[wrong].all()
        and not (Y < constant).any()
    ):
        cells = Y.size if below[wrong].any() else 0
        causes.append(Cause(kind=DivergenceKind.SCAN_STARTS_TOO_HIGH, output=with_indices, cells=cells))
        with suppress(Inexact):
            only_padded = (oracle.reaches_padding | acceptable).all() and _can_be_padded(oracle)
            if only_padded and _padded(oracle, constant).acceptable(Y).all():
                causes.append(Cause(kind=DivergenceKind.Y_PAD_VALUE_LEAK, output="Y", cells=0))
    held = same(Y, np.full_like(Y, constant))
    for size in {math.prod(Y.shape[axis:]) for axis in (0, 1, 2, -1)}:
        begin = wrong.reshape(-1, size).any(0).argmax()
        if held.reshape(-1, size)[:, begin:].all():
            # Of one constant alone, anything may be the reason.
            cells = Y.size if begin else 0
            causes.append(Cause(kind=DivergenceKind.TAIL_NOT_WRITTEN, output=with_indices, cells=cells))
            break
    return causes


def _as_dtype(values: np.ndarray, dtype: np.dtype) -> np.ndarray:
    return np.ascontiguousarray(values).view(dtype)


def _constants(oracle: Oracle, Y: np.ndarray) -> list[np.generic]:
    """Possible values of the padding: 0, or a value that X does not hold."""
    if not oracle.reaches_padding.any() or not _can_be_padded(oracle):
        return []
    wrong = ~oracle.acceptable(Y)
    if not (Y[wrong] > oracle.pooled.Y[wrong]).all() or (Y[wrong] == lowest(Y.dtype)).any():
        # The padding must have exceeded some maximum; the lowest finite value is more likely the start of a scan.
        return []
    foreign = [value for value in np.unique(Y[wrong]) if not (oracle.core == value).any()]
    # A single cell does not show that its value is a constant.
    return [Y.dtype.type(0), *(foreign if len(foreign) == 1 and wrong.sum() > 1 else [])]


def _can_be_padded(oracle: Oracle) -> bool:
    """Whether X with cells in place of the padding can be computed: nothing is made of them, and they are not too many."""
    sizes = (axis.size + sum(_pads(axis)) for axis in oracle.pooling.geometry)
    return oracle.pooling.activation is None and math.prod((*oracle.core.shape[:2], *sizes)) <= _MOST_PADDED


def _pads(axis: Axis) -> tuple[int, int]:
    """How many cells before and behind X the windows of an axis reach."""
    return max(0, axis.begin), max(0, axis.reach - axis.size)


def _padded(oracle: Oracle, value: np.generic) -> Oracle:
    """The oracle for X padded with cells of a value."""
    pooling = oracle.pooling
    pads = list(map(_pads, pooling.geometry))
    padded = np.pad(oracle.core, [(0, 0), (0, 0), *pads], constant_values=value)
    geometry = tuple(
        replace(axis, size=axis.size + begin + end, begin=axis.begin - begin, end=axis.end - end)
        for axis, (begin, end) in zip(pooling.geometry, pads, strict=True)
    )
    return Oracle(pooling.layout.from_core(padded), replace(pooling, geometry=geometry, alternatives=()))


def numbering_causes(oracle: Oracle, numbers: np.ndarray | None) -> list[Cause]:
    """The mistakes in the numbering that explain all Indices; none if there are no Indices, or if they are right."""
    if numbers is None:
        return []
    match = oracle.match_indices(numbers, None)
    wrong = ~match.right
    if not wrong.any():
        return []
    # A single wrong cell in the window says nothing about the numbering.
    cells = 0 if wrong.sum() == 1 and match.inside[wrong].all() else numbers.size
    kinds = _fitting_numberings(oracle, numbers, several=wrong.sum() > 1)
    return [Cause(kind=kind, output="Indices", cells=cells) for kind, fits in kinds.items() if fits]


def _fitting_numberings(oracle: Oracle, numbers: np.ndarray, *, several: bool) -> dict[DivergenceKind, bool]:
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
    # Larger numbers than int64 has are nobody's indices.
    differs = padded != plane and math.prod(shape[:2]) * padded < 2**63
    for shifts, size in itertools.product((begins, none), (padded, plane, 0) if differs else ()):
        in_padded = partial(number, right, [extents[axis] for axis in right], shifts, size)
        yield DivergenceKind.INDICES_IN_PADDED_TENSOR, in_padded
    for order, sizes in itertools.product(itertools.permutations(spatial), repeat=2):
        if len(geometry) <= 3 and (order != sizes or order not in (right, right[::-1])):
            in_other_axes = partial(number, order, [shape[2 + axis] for axis in sizes], none, plane)
            yield DivergenceKind.INDICES_AXES_SWAPPED, in_other_axes
