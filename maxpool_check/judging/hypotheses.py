"""The mistakes that concern a whole answer: each is made on purpose, and what comes out is held against what came.

A hypothesis is the reference with one mistake. It is a cause only if it explains every cell, the wrong and the right ones.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from maxpool_check.judging.kinds import DivergenceKind
from maxpool_check.judging.numberings import mistakes
from maxpool_check.judging.oracle import Oracle
from maxpool_check.judging.values import NARROWER, ROUNDED, rounded, subnormal
from maxpool_check.judging.windows import reaches_padding
from maxpool_check.reference import geometry as rules
from maxpool_check.reference.dtypes import highest, is_float, lowest
from maxpool_check.reference.geometry import AutoPad, Axis, Geometry, NoWindow, Placement
from maxpool_check.reference.pooling import Pooling
from maxpool_check.results.record import Cause
from maxpool_check.specifications.refused import Refused


def causes(expected: Oracle, got: Mapping[str, np.ndarray]) -> list[Cause]:
    """The mistakes that explain an answer that is not right, or one output of it; those of one output the likeliest first.

    ``got`` holds Y and maybe Indices, N x C x D1 x ... x Dn, of the right dtypes.
    """
    Y, numbers = got["Y"], got.get("Indices")
    shape = (*expected.core.shape[:2], *expected.pooling.output_sizes)
    same_rank = Y.ndim == len(shape) and Y.shape[:2] == shape[:2] and Y.size > 0
    if not same_rank or (numbers is not None and numbers.shape != Y.shape):
        return []
    if Y.shape != shape:
        return _geometries(expected, Y, numbers)
    right = expected.acceptable(Y)
    if right.all():
        return _numberings(expected, numbers) or _geometries(expected, Y, numbers)
    # Zeros of the wrong sign are equal, wherever they come from.
    zeros = (Y == 0) & (expected.pooled.Y == 0)
    found = [] if zeros[~right].all() else _geometries(expected, Y, numbers)
    found = found or _values(expected, Y, numbers)
    # Beside a Y that is wrong and not explained, an index says nothing of how it counts.
    if numbers is not None and not any(one.output is None or one.output == "Indices" for one in found):
        found += _numberings(expected, numbers) if (right | expected.named(numbers, Y).right).all() else []
    return found


def is_truncated_division(refused: Refused, shape: tuple[int, ...]) -> bool:
    """Whether the shape of an answer is what a division towards zero makes of a window larger than the input."""
    spans = [(n + b + e - rules.effective_kernel(k, d), s) for n, k, s, d, b, e in refused.axes]
    outputs = tuple((span // s if span >= 0 else -(-span // s)) + 1 for span, s in spans)
    # Where nothing is left over, there is nothing to round.
    return any(span < 0 and span % s for span, s in spans) and outputs in (shape[2:], shape[1:-1])


def _geometries(expected: Oracle, Y: np.ndarray, numbers: np.ndarray | None) -> list[Cause]:
    """Mistakes in where the windows are; also together with one in how Indices count."""
    found: list[Cause] = []
    pooling, spatial = expected.pooling, Y.shape[2:]
    together: list[Cause] = []
    right = _right(expected, Y, numbers)
    for kind, geometry in geometries(pooling):
        if tuple(axis.output for axis in geometry) != spatial or any(cause.kind is kind for cause in found):
            continue
        other = Oracle(expected.X, replace(pooling, geometry=geometry, alternatives=()))
        # A window without a cell may hold anything: that explains little.
        empty = other.pooled.empty
        little = empty.all() if right is None else (empty & ~right).sum() > (~empty & ~right).sum()
        if little or not other.acceptable(Y).all():
            continue
        if numbers is None or other.named(numbers, Y).right.all():
            found.append(Cause(kind=kind, output=None, cells=Y.size))
        elif not together:
            together = [Cause(kind=kind, output="Y", cells=Y.size)]
            together += _numberings(other, numbers)
            together = together if len(together) > 1 else []
    return found or together


def _right(expected: Oracle, Y: np.ndarray, numbers: np.ndarray | None) -> np.ndarray | None:
    """Which cells of an answer are right; None, where it has another shape."""
    if Y.shape != expected.pooled.Y.shape:
        return None
    right: np.ndarray = expected.acceptable(Y)
    return right if numbers is None else right & expected.named(numbers, Y).right


def geometries(pooling: Pooling) -> Iterator[tuple[DivergenceKind, Geometry]]:
    """The geometries of a pooling with one mistake each, that differ from its own."""
    seen = set()
    for kind, geometry in _mistakes(pooling.geometry, pooling.placement):
        key = (kind, _windows(geometry))
        if key not in seen and _windows(geometry) != _windows(pooling.geometry) and all(a.output > 0 for a in geometry):
            seen.add(key)
            yield kind, geometry


def _windows(geometry: Geometry) -> tuple[tuple[object, ...], ...]:
    """Everything that says where the windows are. The padding at the end does so by their number alone."""
    return tuple((type(one), one.kernel, one.stride, one.dilation, one.begin, one.output) for one in geometry)


def _mistakes(axes: Geometry, placement: Placement | None) -> Iterator[tuple[DivergenceKind, Geometry]]:
    if placement is not None and placement.is_same:
        yield from _same_mistakes(axes, placement)
    elif placement is not None:
        yield from _pad_mistakes(axes, placement)
        yield from _rounding_mistakes(axes, placement)
    yield from _each(DivergenceKind.DILATION_IGNORED, axes, placement, "dilation", [(1,) * len(axes)])
    for kind, name in (
        (DivergenceKind.DILATION_AXES_EXCHANGED, "dilation"),
        (DivergenceKind.STRIDES_AXES_EXCHANGED, "stride"),
        (DivergenceKind.KERNEL_AXES_EXCHANGED, "kernel"),
    ):
        yield from _each(kind, axes, placement, name, _exchanged([getattr(axis, name) for axis in axes]))
    yield (
        DivergenceKind.DILATION_PHASE_LOST,
        tuple(_FromTheBorder(**vars(axis)) if axis.dilation > 1 and axis.begin > 0 else axis for axis in axes),
    )


def _exchanged(values: Sequence[int]) -> list[tuple[int, ...]]:
    """The values of the axes, given to other axes: the reverse order first."""
    orders = list(itertools.permutations(values)) if len(values) <= 4 else [tuple(values[::-1])]
    return [tuple(values[::-1]), *orders]


def _each(
    kind: DivergenceKind, axes: Geometry, placement: Placement | None, name: str, values: Sequence[Sequence[int]]
) -> Iterator[tuple[DivergenceKind, Geometry]]:
    """With other values of one attribute: for the windows alone, and for the output size and the padding as well."""
    for of_axes in values:
        changed = tuple(replace(axis, **{name: value}) for axis, value in zip(axes, of_axes, strict=True))
        if placement is not None:
            yield from _made(kind, changed, placement)
        yield kind, changed


def _made(kind: DivergenceKind, axes: Geometry, placement: Placement) -> Iterator[tuple[DivergenceKind, Geometry]]:
    try:
        yield kind, tuple(placement.axis(a.size, a.kernel, a.stride, a.dilation, a.begin, a.end) for a in axes)
    except NoWindow:
        return


def _pad_mistakes(axes: Geometry, placement: Placement) -> Iterator[tuple[DivergenceKind, Geometry]]:
    if placement.auto_pad is not AutoPad.EXPLICIT:
        return
    begins, ends = [axis.begin for axis in axes], [axis.end for axis in axes]
    pads = [*begins, *ends]
    mistakes = [
        (DivergenceKind.PADS_BEGIN_END_EXCHANGED, ends, begins),
        (DivergenceKind.PADS_INTERLEAVED, pads[::2], pads[1::2]),
    ]
    for order in _exchanged(range(len(axes))):
        mistakes.append((DivergenceKind.PADS_AXES_EXCHANGED, [begins[i] for i in order], [ends[i] for i in order]))
    for kind, begin, end in mistakes:
        changed = tuple(replace(axis, begin=b, end=e) for axis, b, e in zip(axes, begin, end, strict=True))
        yield from _made(kind, changed, placement)
        yield kind, changed


def _rounding_mistakes(axes: Geometry, placement: Placement) -> Iterator[tuple[DivergenceKind, Geometry]]:
    # Where rounding down and dropping the last window come to the same, the smaller mistake comes first.
    for rounding in (rules.clipped_ceil_output, rules.ceil_output, rules.floor_output):
        if rounding is not placement.rounding:
            floor = rules.floor_output in (rounding, placement.rounding)
            kind = DivergenceKind.CEIL_FLOOR_EXCHANGED if floor else DivergenceKind.CEIL_CLIP_EXCHANGED
            yield from _made(kind, axes, replace(placement, rounding=rounding))


def _same_mistakes(axes: Geometry, placement: Placement) -> Iterator[tuple[DivergenceKind, Geometry]]:
    dilated = any(axis.dilation > 1 for axis in axes)
    for clamps in (True, False) if dilated else ():
        plain = [replace(placement, clamps=clamps).axis(axis.size, axis.kernel, axis.stride, 1, 0, 0) for axis in axes]
        short = tuple(replace(axis, begin=one.begin, end=one.end) for axis, one in zip(axes, plain, strict=True))
        # With the output size of SAME, and with the one that follows from the pads.
        yield DivergenceKind.SAME_IGNORES_DILATION, short
        yield from _made(DivergenceKind.SAME_IGNORES_DILATION, short, Placement())
    upper = placement.auto_pad is AutoPad.SAME_UPPER
    other = AutoPad.SAME_LOWER if upper else AutoPad.SAME_UPPER
    yield from _made(DivergenceKind.SAME_UPPER_LOWER_EXCHANGED, axes, replace(placement, auto_pad=other))
    if placement.clamps:
        yield from _made(DivergenceKind.SAME_UNCLAMPED, axes, replace(placement, clamps=False))


class _FromTheBorder(Axis):
    """An axis whose scan begins at 0 where the window begins before it, whatever the phase of its taps."""

    def window(self, i: int) -> list[int]:
        start = self.start(i)
        end = min(self.size, start + rules.effective_kernel(self.kernel, self.dilation))
        return list(range(max(0, start), end, self.dilation))

    def taps(self) -> tuple[np.ndarray, np.ndarray]:
        windows = [self.window(i) for i in range(self.output)]
        first = np.array([window[0] if window else 0 for window in windows], np.int64)
        return first, np.array([len(window) for window in windows], np.int64)


def _values(expected: Oracle, Y: np.ndarray, numbers: np.ndarray | None) -> list[Cause]:
    """Mistakes in the values that are compared: of X, and of the padding."""
    found: list[Cause] = []
    for kind, X in _inputs(expected.core):
        if any(cause.kind is kind for cause in found):
            continue
        other = Oracle(expected.pooling.layout.from_core(X), expected.pooling)
        if other.acceptable(Y).all():
            whole = numbers is None or other.named(numbers, Y).right.all()
            found.append(Cause(kind=kind, output=None if whole else "Y", cells=Y.size))
    if not found and any(_padded(expected, value).acceptable(Y).all() for value in _constants(expected, Y)):
        found.append(Cause(kind=DivergenceKind.Y_PAD_VALUE_LEAK, output="Y", cells=Y.size))
    return found


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


def _constants(expected: Oracle, Y: np.ndarray) -> list[np.generic]:
    """What the padding may have been filled with: 0, or one of few values that X does not hold."""
    if not reaches_padding(expected.pooling.geometry).any() or expected.pooling.activation is not None:
        return []
    wrong = ~expected.acceptable(Y)
    if not (Y[wrong] > expected.pooled.Y[wrong]).all() or (Y[wrong] == lowest(Y.dtype)).any():
        # It would have won over something, and the lowest finite value is a seed before it is a constant.
        return []
    foreign = [value for value in np.unique(Y[wrong]) if not (expected.core == value).any()]
    # A single cell does not show that its value is a constant.
    return [Y.dtype.type(0), *(foreign if len(foreign) == 1 and wrong.sum() > 1 else [])]


def _padded(expected: Oracle, value: np.generic) -> Oracle:
    """The answer where the padding is made of cells of X with a value."""
    X, pooling = expected.core, expected.pooling
    pads = [(max(0, axis.begin), max(0, axis.reach - axis.size)) for axis in pooling.geometry]
    filled = np.pad(X, [(0, 0), (0, 0), *pads], constant_values=value)
    geometry = tuple(
        replace(axis, size=axis.size + begin + end, begin=axis.begin - begin, end=axis.end - end)
        for axis, (begin, end) in zip(pooling.geometry, pads, strict=True)
    )
    return Oracle(pooling.layout.from_core(filled), replace(pooling, geometry=geometry, alternatives=()))


def _numberings(expected: Oracle, numbers: np.ndarray | None) -> list[Cause]:
    """The mistakes in how Indices count that explain all of them."""
    return (
        []
        if numbers is None
        else [Cause(kind=kind, output="Indices", cells=numbers.size) for kind in mistakes(expected, numbers)]
    )
