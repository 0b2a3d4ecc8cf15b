"""What mistakes make of the windows, of the shapes of outputs and of the scan of a window with a NaN.

Of a wrong shape, the formulas by which its axes differ.
"""

import itertools
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import astuple, dataclass, replace
from functools import lru_cache, partial, reduce

import numpy as np

from maxpool_check.graphs.node import Inexact
from maxpool_check.judging.kinds import DivergenceKind
from maxpool_check.judging.oracle import Oracle
from maxpool_check.reference import geometry as rules
from maxpool_check.reference.dtypes import same
from maxpool_check.reference.geometry import AutoPad, Axis, Geometry, NoWindow, Placement
from maxpool_check.reference.policies import Nan
from maxpool_check.reference.pooling import Pooling
from maxpool_check.results.details import WrongAxis, WrongShape

_Geometries = Iterator[tuple[DivergenceKind, Geometry]]

_Formula = tuple[str, str, str]
"""How it rounds, what it rounds, and what follows."""

_MOST_WINDOWS = 4096

OF_SAME = frozenset(
    {
        DivergenceKind.SAME_IGNORES_DILATION,
        DivergenceKind.SAME_UPPER_LOWER_EXCHANGED,
        DivergenceKind.SAME_UNCLAMPED,
        DivergenceKind.AUTO_PAD_IGNORED,
    }
)
"""The mistakes in the padding of ``SAME_*``, which no other padding can have."""

_CLIPPED = " less the window that would begin in the end padding"


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
        tuple(_FromTheBorder(*astuple(axis)) if axis.dilation > 1 and axis.begin > 0 else axis for axis in axes),
    )
    yield from _off_by_one(axes, placement)


def _off_by_one(axes: Geometry, placement: Placement | None) -> _Geometries:
    """One more or one less of a number, or a border cell left out: on one axis or on all, with the output size that follows or not."""
    kind, places = DivergenceKind, range(len(axes))
    explicit = None if placement is None or placement.is_same else replace(placement, auto_pad=AutoPad.EXPLICIT)
    for changed in {*((i,) for i in places), tuple(places)}:

        def other(changed: Collection[int] = changed, **steps: int) -> Geometry:
            return tuple(
                replace(axis, **{name: getattr(axis, name) + step for name, step in steps.items()})
                if i in changed
                else axis
                for i, axis in enumerate(axes)
            )

        for step, of_begin, of_end, of_both, of_output in (
            (1, kind.PADS_BEGIN_ONE_MORE, kind.PADS_END_ONE_MORE, kind.PADS_ONE_MORE, kind.OUTPUT_ONE_MORE),
            (-1, kind.PADS_BEGIN_ONE_LESS, kind.PADS_END_ONE_LESS, kind.PADS_ONE_LESS, kind.OUTPUT_ONE_LESS),
        ):
            if explicit is not None:
                yield from _placed(of_begin, other(begin=step), explicit)
                yield from _placed(of_end, other(end=step), explicit)
                yield from _placed(of_both, other(begin=step, end=step), explicit)
            if len(changed) < len(axes) or len(axes) == 1:
                # On all of several axes, windows are shifted.
                yield of_begin, other(begin=step)
            if explicit is None or any(axes[i].begin <= 0 for i in changed):
                # Some kernels add to pads alone that are given.
                yield of_begin, axes
                yield of_both, axes
            yield of_output, other(output=step)
        if explicit is not None:
            yield from _placed(kind.KERNEL_ONE_MORE, other(kernel=1), explicit)
        yield kind.KERNEL_ONE_MORE, other(kernel=1)
        if len(changed) < len(axes) or len(axes) == 1:
            # Of a window of no tap, anything may come.
            short = other(kernel=-1)
            yield kind.KERNEL_OF_AN_AXIS_ONE_SHORT, short if all(axis.kernel for axis in short) else axes
        for border in (_WithoutFirst, _WithoutLast):
            without = (border(*astuple(axis)) if i in changed else axis for i, axis in enumerate(axes))
            yield kind.BORDER_LEFT_OUT, tuple(without)


def _pad_mistakes(axes: Geometry, placement: Placement) -> _Geometries:
    kind, changed, values = DivergenceKind, partial(_changed, axes, placement), _values(axes)
    begins, ends = values["begin"], values["end"]
    if placement.auto_pad is AutoPad.EXPLICIT:
        pads = [*begins, *ends]
        yield from changed(kind.PADS_BEGIN_END_EXCHANGED, begin=ends, end=begins)
        yield from changed(kind.PADS_IGNORED, begin=[0] * len(axes), end=[0] * len(axes))
        yield from changed(kind.PADS_END_AS_BEGIN, end=begins)
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
        # With the output size of SAME_*, and with the one that follows from the pads; maybe divided towards zero.
        yield DivergenceKind.SAME_IGNORES_DILATION, short
        yield from _placed(DivergenceKind.SAME_IGNORES_DILATION, short, Placement())
        yield DivergenceKind.SAME_IGNORES_DILATION, tuple(replace(a, output=_truncated_size(a)) for a in short)
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


class _WithoutFirst(Axis):
    """An axis whose first cell is never read."""

    def taps(self) -> tuple[np.ndarray, np.ndarray]:
        first, count = super().taps()
        drops = (first == 0) & (count > 0)
        count = count - drops
        return np.where(count > 0, first + drops * self.dilation, 0), count


class _WithoutLast(Axis):
    """An axis whose last cell is never read."""

    def taps(self) -> tuple[np.ndarray, np.ndarray]:
        first, count = super().taps()
        count = count - ((first + (count - 1) * self.dilation == self.size - 1) & (count > 0))
        return np.where(count > 0, first, 0), count


def is_truncated_division(geometry: Iterable[Axis], shape: tuple[int, ...]) -> bool:
    """Whether division towards zero gives this output shape for windows larger than the input."""
    axes = list(geometry)
    outputs = tuple(map(_truncated_size, axes))
    # Without a remainder there is nothing to round.
    is_rounded = any(span < 0 and span % axis.stride for axis, span in zip(axes, map(_room, axes), strict=True))
    return is_rounded and outputs in (shape[2:], shape[1:-1])


def _room(axis: Axis) -> int:
    """How far a window can move on the padded axis; negative if it is larger."""
    return axis.size + axis.begin + axis.end - rules.effective_kernel(axis.kernel, axis.dilation)


def _truncated_size(axis: Axis) -> int:
    """The number of windows if the room is divided towards zero."""
    room = _room(axis)
    return (room // axis.stride if room >= 0 else -(-room // axis.stride)) + 1


def wrong_shapes(
    oracle: Oracle, shapes: Mapping[str, tuple[int, ...]], kinds: Collection[DivergenceKind]
) -> dict[str, WrongShape]:
    """The ``shapes`` of outputs that are not the reference's; ``kinds`` are those of the divergence."""
    wrong = {}
    for name, shape in shapes.items():
        if shape != oracle.shape:
            axes = tuple(_wrong_axes(oracle, shape, kinds)) if len(shape) == len(oracle.shape) else ()
            wrong[name] = WrongShape(expected=oracle.shape, got=shape, axes=axes)
    return wrong


def _wrong_axes(oracle: Oracle, shape: tuple[int, ...], kinds: Collection[DivergenceKind]) -> Iterator[WrongAxis]:
    pooling, layout = oracle.pooling, oracle.pooling.layout
    got = layout.sizes(shape)
    mistake, wrong_formulas = _mistake(pooling, got[2:], kinds)
    formulas = [None, None, *(_formula(axis, pooling.placement) for axis in pooling.geometry)]
    names = ["N", "C", *(f"D{number + 1}" for number in range(len(pooling.geometry)))]
    axes = zip(names, layout.sizes(oracle.shape), got, formulas, [None, None, *wrong_formulas], strict=True)
    for name, expected, size, formula, wrong in axes:
        if size != expected:
            # If it rounds the same number, how it does is enough.
            is_rounding = wrong and formula and formula[1] == wrong[1]
            yield WrongAxis(
                axis=name,
                expected=expected,
                got=size,
                formula=_text(formula),
                mistake=mistake if wrong else "",
                instead=f"{wrong[0]}{wrong[2]}" if wrong and is_rounding else _text(wrong),
            )


def _mistake(
    pooling: Pooling, sizes: tuple[int, ...], kinds: Collection[DivergenceKind]
) -> tuple[str, list[_Formula | None]]:
    """The mistake among some kinds that gives these output sizes, and its formula for each axis."""
    if DivergenceKind.TRUNCATED_DIVISION in kinds:
        return DivergenceKind.TRUNCATED_DIVISION.value, [("trunc", _span(axis), " + 1") for axis in pooling.geometry]
    for kind, geometry in wrong_geometries(pooling).wrong if kinds else ():
        if kind in kinds and tuple(axis.output for axis in geometry) == sizes:
            return kind.value, [_formula(axis, pooling.placement) for axis in geometry]
    return "", [None] * len(pooling.geometry)


def _formula(axis: Axis, placement: Placement | None) -> _Formula | None:
    """A formula that gives the output size of an axis, that of the placement first; None if there is none."""
    if placement is None:
        return None
    if placement.is_same and axis.output == -(-axis.size // axis.stride):
        return "ceil", f"{axis.size}/{axis.stride}", ""
    numbers = axis.size, axis.kernel, axis.stride, axis.dilation, axis.begin, axis.end
    if placement.auto_pad is AutoPad.VALID and rules.floor_output(*numbers) == axis.output:
        return "ceil", f"({axis.size} - {axis.dilation}*({axis.kernel} - 1))/{axis.stride}", ""
    for rounding in (placement.rounding, rules.floor_output, rules.ceil_output, rules.clipped_ceil_output):
        if rounding(*numbers) == axis.output:
            is_clipped = rounding is rules.clipped_ceil_output and rules.ceil_output(*numbers) != axis.output
            function = "floor" if rounding is rules.floor_output else "ceil"
            return function, f"{_span(axis)} + 1", _CLIPPED if is_clipped else ""
    return None


def _span(axis: Axis) -> str:
    """The difference of the padded input and the window over the stride, as ONNX writes it."""
    pads = "".join(f" {'-' if pad < 0 else '+'} {abs(pad)}" for pad in (axis.begin, axis.end))
    return f"({axis.size}{pads} - {axis.dilation}*({axis.kernel} - 1) - 1)/{axis.stride}"


def _text(formula: _Formula | None) -> str:
    return "" if formula is None else "{}({}){}".format(*formula)


def order_dependent(oracle: Oracle, Y: np.ndarray, wrong: np.ndarray) -> np.ndarray:
    """Where the result depends on the position of a NaN in the window.

    Two proofs: a scan that loses its maximum at a NaN explains every window with a NaN, or windows of the same values in
    another order have other results.
    """
    beside_numbers = oracle.holds_nan & ~oracle.only_nan
    suspects = wrong & beside_numbers
    dependent = np.zeros(Y.shape, bool)
    if not suspects.any() or beside_numbers.sum() > _MOST_WINDOWS:
        return dependent
    windows = list(_values_of(oracle, beside_numbers & ~oracle.pooled.empty))
    try:
        ignoring = oracle.with_nan(Nan.IGNORED).Y
    except Inexact:
        # A node behind MaxPool has no exact result for the NaN of a window that holds nothing else.
        return dependent
    # A result that ignores the NaN proves nothing.
    if (suspects & ~np.isnan(Y) & ~same(Y, ignoring)).any():
        for scan in _SCANS:
            # A generator, because most scans fail at one of the first windows.
            if all(same(np.array([scan(window)], Y.dtype), Y[at].reshape(1))[0] for at, window in windows):
                return suspects
    families: dict[bytes, list[tuple[int, ...]]] = {}
    for at, window in windows:
        values = np.sort(np.where(np.isnan(window), np.array(np.nan, window.dtype), window), axis=None)
        families.setdefault(values.tobytes(), []).append(at)
    for family in families.values():
        cells = tuple(np.array(family).T)
        if not same(Y[cells], np.full_like(Y[cells], Y[family[0]])).all():
            dependent[cells] = suspects[cells]
    return dependent


def _forgetful(window: np.ndarray) -> float:
    # As the instruction maxps: the second operand, unless the first is greater.
    return reduce(lambda maximum, value: maximum if maximum > value else value, map(float, window.reshape(-1)))


def _separable(window: np.ndarray, first: int) -> float:
    while window.ndim:
        window = np.apply_along_axis(_forgetful, first if window.ndim > 1 else 0, window)
    return float(window)


_SCANS: tuple[Callable[[np.ndarray], float], ...] = (
    _forgetful,
    lambda window: _forgetful(window.T),
    lambda window: _forgetful(np.flip(window)),
    lambda window: _forgetful(np.flip(window.T)),
    partial(_separable, first=-1),
    partial(_separable, first=0),
)
"""Scans that lose their maximum at a NaN: by rows, by columns, each in both directions, and axis by axis."""


def _values_of(oracle: Oracle, where: np.ndarray) -> Iterator[tuple[tuple[int, ...], np.ndarray]]:
    """The marked output cells, each with its window (d1 x ... x dn, the taps inside X)."""
    if not where.any():
        return
    # As integers of Python: taps that are 2^62 apart are counted beyond 64 bits.
    tables = [(axis.dilation, *(each.tolist() for each in axis.taps())) for axis in oracle.pooling.geometry]
    for at in map(tuple, np.argwhere(where)):
        taps = tuple(slice(first[i], first[i] + n[i] * d, d) for (d, first, n), i in zip(tables, at[2:], strict=True))
        yield at, oracle.core[at[:2]][taps]
