"""Mistakes in the whole result: the reference computes each, and its outputs are compared with the actual ones.

A hypothesis is the reference with one mistake. It is a candidate for the cause only if it explains every cell, right and
wrong; ``naming`` decides between candidates.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from maxpool_check.graphs.node import Inexact
from maxpool_check.judging.cells import ROUNDED, changes
from maxpool_check.judging.kinds import DivergenceKind
from maxpool_check.judging.mistakes import NUMBERING, changes_numbers, empty_sizes, numbering_causes, wrong_geometries
from maxpool_check.judging.oracle import Oracle
from maxpool_check.reference import geometry as rules
from maxpool_check.reference.dtypes import is_float, lowest
from maxpool_check.reference.pooling import Activation, Function, Pooling
from maxpool_check.results.details import Cause


@dataclass(frozen=True, eq=False)
class _Mistake:
    """A mistake and what it makes of a case: the oracle for other windows, or for another X.

    ``values`` are what is compared of Y. ``offset`` is added to Indices before they are compared. ``without_effect``: X is
    as it should be.
    """

    kind: DivergenceKind
    oracle: Oracle
    values: Callable[[np.ndarray], np.ndarray] = np.asarray
    offset: np.ndarray | int = 0
    without_effect: bool = False

    def explains_y(self, Y: np.ndarray, *, signs: bool = True) -> bool:
        """Whether every Y is what the mistake makes of it; without ``signs``, zeros of either sign are equal."""
        shape = (*self.oracle.core.shape[:2], *self.oracle.pooling.output_sizes)
        if Y.shape != shape:
            return False
        try:
            acceptable = self.oracle.acceptable(self.values(Y))
        except Inexact:
            # Of other maxima, a node behind MaxPool has no exact result.
            return False
        return bool((acceptable if signs else acceptable | (Y == 0) & (self.oracle.pooled.Y == 0)).all())


def causes_of(oracle: Oracle, outputs: Mapping[str, np.ndarray]) -> list[Cause]:
    """All mistakes that explain wrong outputs, or one wrong output; none is named before other executions decide.

    ``outputs`` are Y and maybe Indices, N x C x D1 x ... x Dn, of the right dtypes.
    """
    Y, numbers = outputs["Y"], outputs.get("Indices")
    shape = (*oracle.core.shape[:2], *oracle.pooling.output_sizes)
    same_rank = Y.ndim == len(shape) and Y.shape[:2] == shape[:2]
    if not same_rank or (numbers is not None and numbers.shape != Y.shape):
        return []
    if not Y.size:
        empty = [kind for kind, sizes in empty_sizes(oracle.pooling) if Y.shape != shape and Y.shape[2:] == sizes]
        return [Cause(kind=kind, output=None, cells=0) for kind in dict.fromkeys(empty)]
    if Y.shape != shape:
        return _fitting(Y, numbers, _geometry_mistakes(oracle), None)
    acceptable = oracle.acceptable(Y)
    right_indices = np.ones(shape, bool) if numbers is None else oracle.match_indices(numbers, Y).right
    right = acceptable & right_indices
    if acceptable.all():
        geometries = _geometry_mistakes(oracle)
        return numbering_causes(oracle, numbers) or _fitting(Y, numbers, geometries, right, indices_alone=True)
    # Zeros of the wrong sign are equal, whichever cells they come from: they prove nothing but a change of X.
    zeros = (Y == 0) & (oracle.pooled.Y == 0)
    mistakes = _all_mistakes(oracle)
    if zeros[~acceptable].all():
        mistakes = (each for each in _value_mistakes(oracle) if each.kind is not DivergenceKind.COMPARED_AS_BITS)
    causes = _fitting(Y, numbers, mistakes, right)
    if any(_padded(oracle, value).acceptable(Y).all() for value in _constants(oracle, Y)):
        causes.append(Cause(kind=DivergenceKind.Y_PAD_VALUE_LEAK, output="Y", cells=Y.size))
    # Beside a wrong Y without an explanation, an index says nothing about the numbering.
    indices_explained = any(cause.output in (None, "Indices") for cause in causes)
    if not indices_explained and (acceptable | right_indices).all():
        causes += numbering_causes(oracle, numbers)
    return causes


def would_change(oracle: Oracle, kind: DivergenceKind, *, indices: bool) -> bool:
    """Whether a mistake of a kind surely changes the right Y of a case, or its right Indices if it is one in numbering."""
    # A NaN in a comparison is no mistake here, but bfloat16 warns of it.
    with np.errstate(invalid="ignore"):
        if kind in NUMBERING:
            return indices and changes_numbers(oracle, kind)
        # A window without a cell may hold anything.
        if oracle.has_empty or oracle.holds_nan.any() or kind in wrong_geometries(oracle.pooling).without_effect:
            return False
        mistakes = _mistakes_by_kind(oracle).get(kind, [])
        return bool(mistakes) and not any(
            each.without_effect or each.oracle.has_empty or each.explains_y(oracle.pooled.Y, signs=False)
            for each in mistakes
        )


# Of a case, many kinds are asked about, and each of several variants.
@lru_cache(1)
def _mistakes_by_kind(oracle: Oracle) -> dict[DivergenceKind, list[_Mistake]]:
    mistakes: dict[DivergenceKind, list[_Mistake]] = {}
    for mistake in _all_mistakes(oracle):
        mistakes.setdefault(mistake.kind, []).append(mistake)
    return mistakes


def is_truncated_division(axes: Iterable[tuple[int, ...]], shape: tuple[int, ...]) -> bool:
    """Whether division towards zero gives this output shape for windows larger than the input; n, k, s, d, b, e of each axis."""
    spans = [(n + b + e - rules.effective_kernel(k, d), s) for n, k, s, d, b, e in axes]
    outputs = tuple((span // s if span >= 0 else -(-span // s)) + 1 for span, s in spans)
    # Without a remainder there is nothing to round.
    return any(span < 0 and span % s for span, s in spans) and outputs in (shape[2:], shape[1:-1])


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
            continue
        if numbers is None or other.match_indices(numbers + mistake.offset, mistake.values(Y)).right.all():
            causes[kind] = Cause(kind=kind, output=None, cells=Y.size)
        elif kind in _OF_VALUES:
            causes[kind] = Cause(kind=kind, output="Y", cells=Y.size)
        elif not with_numbering and (numbering := numbering_causes(other, numbers)):
            with_numbering = [Cause(kind=kind, output="Y", cells=Y.size), *numbering]
    return list(causes.values()) or with_numbering


def _all_mistakes(oracle: Oracle) -> Iterator[_Mistake]:
    yield from _geometry_mistakes(oracle)
    yield from _value_mistakes(oracle)


def _geometry_mistakes(oracle: Oracle) -> Iterator[_Mistake]:
    for kind, geometry in wrong_geometries(oracle.pooling).wrong:
        yield _Mistake(kind, Oracle(oracle.X, replace(oracle.pooling, geometry=geometry, alternatives=())))


_OF_VALUES = frozenset(
    {
        *ROUNDED.values(),
        DivergenceKind.Y_FLUSHED_SUBNORMAL,
        DivergenceKind.Y_SATURATED_INFINITY,
        DivergenceKind.SIGNED_UNSIGNED_EXCHANGED,
        DivergenceKind.COMPARED_AS_BITS,
        DivergenceKind.ABSOLUTE_VALUES,
        DivergenceKind.FIRST_BATCH_REPEATED,
        DivergenceKind.SCAN_STARTS_AT_ZERO,
    }
)
"""The kinds of :func:`_value_mistakes`, which may show in Y alone."""


def _value_mistakes(oracle: Oracle) -> Iterator[_Mistake]:
    """Mistakes in the values: those of X, what is compared of them, or the start of the scan."""
    core, pooling = oracle.core, replace(oracle.pooling, alternatives=())
    # What is compared has no activation, and the padding no value in it.
    plain = replace(pooling, activation=None, padding_value=None)
    dtype = core.dtype

    def mistake(kind: DivergenceKind, X: np.ndarray, pooling: Pooling = pooling, **fields: Any) -> Iterator[_Mistake]:
        same = bool(((X == core) | (core != core)).all())
        yield _Mistake(kind, Oracle(pooling.layout.from_core(X), pooling), without_effect=same, **fields)

    def compared(kind: DivergenceKind, key: Callable[[np.ndarray], np.ndarray]) -> Iterator[_Mistake]:
        if pooling.activation is None:
            yield from mistake(kind, key(core), plain, values=key)

    if is_float(dtype):
        for kind, X in changes(core):
            yield from mistake(kind, X)
        integer = np.dtype(f"int{8 * dtype.itemsize}")
        least = np.iinfo(integer).min
        if pooling.activation is None:
            # Of NaN alone, a window has no maximum: a NaN in Y proves nothing.
            X = np.where(core == core, _bits(core, integer), least)
            yield from mistake(DivergenceKind.COMPARED_AS_BITS, X, plain, values=lambda values: _bits(values, integer))
    else:
        other = np.dtype(dtype.name[1:] if dtype.kind == "u" else f"u{dtype.name}")
        yield from compared(DivergenceKind.SIGNED_UNSIGNED_EXCHANGED, lambda values: _bits(values, other))
    yield from compared(DivergenceKind.ABSOLUTE_VALUES, np.abs)
    if core.shape[0] > 1:
        X = np.repeat(core[:1], len(core), axis=0)
        batches = np.arange(len(core)).reshape(-1, *[1] * (core.ndim - 1)) * core[0].size
        for offset in (0, batches):
            yield from mistake(DivergenceKind.FIRST_BATCH_REPEATED, X, offset=offset)
    if pooling.activation is None and (core < 0).any():
        from_zero = replace(pooling, activation=Activation(Function.RELU))
        yield _Mistake(DivergenceKind.SCAN_STARTS_AT_ZERO, Oracle(oracle.X, from_zero))


def _bits(values: np.ndarray, dtype: np.dtype) -> np.ndarray:
    return np.ascontiguousarray(values).view(dtype)


def _constants(oracle: Oracle, Y: np.ndarray) -> list[np.generic]:
    """Possible values of the padding: 0, or a value that X does not hold."""
    if not oracle.reaches_padding.any() or oracle.pooling.activation is not None:
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
