"""The reference's outputs for one case, and which other outputs conform as well."""

from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from maxpool_check.graphs.context import Composition
from maxpool_check.graphs.node import Inexact
from maxpool_check.reference.dtypes import is_float, same
from maxpool_check.reference.evaluator import chosen, evaluate
from maxpool_check.reference.geometry import Geometry
from maxpool_check.reference.numbering import Numbering, coordinates
from maxpool_check.reference.policies import Nan, Tie, ZeroSign
from maxpool_check.reference.pooling import Pooled, Pooling

ALL_INTERPRETATIONS = (Nan.IGNORED, Nan.AS_NEG_INF, Nan.PROPAGATES, Nan.PROPAGATES_LAST)
"""The interpretations of NaN that conform where a document leaves it open."""

_MOST_SORTED = 4096
"""Sorting so many cells, to see whether two are equal, is faster than looking for equal maxima."""


@dataclass(frozen=True, eq=False)
class IndexMatch:
    """What each index refers to; all are boolean, N x C x D1 x ... x Dn.

    ``right``: what the document requires. ``inside``: a cell of the window. ``ties``: a cell that holds the maximum, but
    not the first. ``maximum``: a cell that holds the maximum under some interpretation of NaN, whatever Y is.
    """

    right: np.ndarray
    inside: np.ndarray
    ties: np.ndarray
    maximum: np.ndarray


@dataclass(frozen=True, eq=False)
class Oracle:
    """The reference's outputs of one MaxPool, with what outputs are judged by; computed once for all targets.

    ``X``, ``shape`` and ``outputs`` have the document's layout; everything else is N x C x D1 x ... x Dn.
    """

    X: np.ndarray
    pooling: Pooling

    @cached_property
    def core(self) -> np.ndarray:
        """X as N x C x D1 x ... x Dn."""
        return self.pooling.layout.to_core(self.X)

    @cached_property
    def pooled(self) -> Pooled:
        """The outputs to print: where the document leaves a point open, those of one conforming interpretation."""
        return evaluate(self.core, self.pooling if self.pooling.indices else replace(self.pooling, indices=True))

    @cached_property
    def outputs(self) -> dict[str, np.ndarray]:
        """``pooled`` in the document's layout, by output."""
        pooled = self.pooled.arranged(self.pooling.layout)
        assert pooled.Indices is not None
        return {"Y": pooled.Y, "Indices": pooled.Indices}

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """The shape of the outputs, in the document's layout."""
        return self.pooling.layout.arranged((*self.core.shape[:2], *self.pooling.output_sizes))

    @property
    def alternatives(self) -> "tuple[Oracle, ...]":
        """Itself, and an oracle for each other pooling that the document can be interpreted as."""
        return (self, *self._others)

    @cached_property
    def _others(self) -> "tuple[Oracle, ...]":
        # Without itself: what holds itself stays in memory until the next garbage collection.
        return tuple(Oracle(self.X, other) for other in self.pooling.alternatives)

    @cached_property
    def has_empty(self) -> bool:
        """Whether there are windows without a cell of X, which have no index."""
        return bool(self.pooled.empty.any())

    @cached_property
    def has_undefined(self) -> bool:
        """Whether there are windows for which the document gives no Y."""
        return bool(self.pooled.undefined.any())

    @property
    def hidden(self) -> np.ndarray:
        """The output cells whose Y is not given, so that it agrees with every interpretation (boolean, of its shape): none."""
        return np.zeros(self.pooled.Y.shape, bool)

    @cached_property
    def holds_nan(self) -> np.ndarray:
        """For each output cell, whether its window holds a NaN."""
        return self.holds(self.core != self.core)

    @cached_property
    def reaches_padding(self) -> np.ndarray:
        """For each window, whether some of its taps lie outside X (boolean, of the spatial shape of the output)."""
        reaches = np.zeros(self.pooling.output_sizes, bool)
        for dimension, axis in enumerate(self.pooling.geometry):
            _, count = axis.taps()
            reaches |= (count < axis.kernel).reshape(-1, *[1] * (reaches.ndim - 1 - dimension))
        return reaches

    @cached_property
    def only_nan(self) -> np.ndarray:
        """For each output cell, whether its window holds NaN and nothing else."""
        return self.holds_nan & ~self.holds(self.core == self.core)

    @cached_property
    def nan_is_open(self) -> bool:
        """Whether a window holds a NaN and the document does not define the result."""
        return self.pooling.policies.nan is Nan.UNSPECIFIED and bool(self.holds_nan.any())

    def with_nan(self, nan: Nan) -> Pooled:
        """The outputs under an interpretation of NaN."""
        policies = replace(self.pooling.policies, nan=nan)
        return evaluate(self.core, replace(self.pooling, indices=True, policies=policies))

    @cached_property
    def interpretations(self) -> list[Pooled]:
        """The outputs under every interpretation of NaN that the policies allow."""
        return [self.with_nan(nan) for nan in ALL_INTERPRETATIONS] if self.nan_is_open else [self.pooled]

    @cached_property
    def nan_as_neg_inf(self) -> Pooled:
        """The outputs with every NaN counted as -inf."""
        return self.with_nan(Nan.AS_NEG_INF)

    @cached_property
    def choices(self) -> list[np.ndarray]:
        """The row-major positions in N x C x D1 x ... x Dn of the chosen cells, under each interpretation of NaN."""
        plain = self.pooling.numbering == Numbering()
        oracle = self if plain else Oracle(self.X, replace(self.pooling, numbering=Numbering()))
        return [pooled.Indices for pooled in oracle.interpretations if pooled.Indices is not None]

    @cached_property
    def last(self) -> np.ndarray:
        """As the first of ``choices``, but the last of several equal maxima; any cell for an empty window."""
        return chosen(self.core, self.pooling, last=True)

    @cached_property
    def ties(self) -> np.ndarray:
        """For each output cell, whether another cell of its window equals the one that is chosen."""
        return (self.choices[0] != self.last) & ~self.pooled.empty

    @cached_property
    def is_closed(self) -> bool:
        """Whether the document leaves nothing open for X: no NaN, no window without a cell, and no choice of equal maxima."""
        X, policies = self.core, self.pooling.policies
        if self.pooling.alternatives or self.has_empty or np.isnan(X).any():
            return False
        if policies.tie is Tie.FIRST and policies.zero_sign is ZeroSign.CHOSEN:
            return True
        if X.size <= _MOST_SORTED:
            ordered = np.sort(X, None)
            if (ordered[1:] != ordered[:-1]).all():
                return True
        # Zeros of both signs are equal maxima, too.
        return not self.ties.any()

    @cached_property
    def column_first(self) -> np.ndarray:
        """As ``last``, but of several equal maxima the first in column-major order."""
        # With the axes in reverse order, row-major order is column-major.
        order = (0, 1, *range(self.core.ndim - 1, 1, -1))
        X = self.core.transpose(order)
        cells = chosen(X, replace(self.pooling, geometry=self.pooling.geometry[::-1])).transpose(order)
        if not X.size:
            return cells
        position = coordinates(cells, X.shape)
        return np.ravel_multi_index([position[axis] for axis in order], self.core.shape)

    @property
    def zero_is_open(self) -> bool:
        """Whether the document leaves the sign of a zero in Y open."""
        policies, (negative, positive) = self.pooling.policies, self.holds_zeros
        is_open = policies.zero_sign is ZeroSign.EITHER or policies.tie is Tie.ANY
        return is_open and bool((negative & positive & (self.pooled.maxima == 0)).any())

    @cached_property
    def holds_zeros(self) -> tuple[np.ndarray, np.ndarray]:
        """For each output cell, whether its window holds a -0, and whether it holds a +0."""
        zero, negative = self.core == 0, np.signbit(self.core)
        return self.holds(zero & negative), self.holds(zero & ~negative)

    def holds(self, cells: np.ndarray) -> np.ndarray:
        """For each output cell, whether its window holds one of the marked cells of X (boolean, of its shape)."""
        if not cells.any():
            return np.zeros((*cells.shape[:2], *self.pooling.output_sizes), bool)
        pooling = replace(self.pooling, indices=False, activation=None, padding_value=None)
        return evaluate(cells.astype(np.uint8), pooling).maxima == 1

    def activated(self, maxima: np.ndarray) -> np.ndarray:
        """Y for these maxima; themselves where a node behind MaxPool does not define it."""
        with suppress(Inexact):
            return maxima if self.pooling.activation is None else self.pooling.activation.of(maxima)
        return maxima

    def made_of(self, maximum: np.generic) -> np.ndarray:
        """What Y would be if the maximum of each window were this value."""
        return self.activated(np.full(self.pooled.Y.shape, maximum, self.core.dtype))

    @property
    def differs_by_place(self) -> bool:
        """Whether nodes behind MaxPool make something else of the same maximum in another place."""
        return isinstance(self.pooling.activation, Composition) and self.pooling.activation.differs_by_place

    def dtype(self, output: str) -> np.dtype:
        """The dtype that an output has."""
        return self.pooled.Y.dtype if output == "Y" else np.dtype(self.pooling.numbering.dtype)

    def same_values(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Where two Y are equal in every bit, or both NaN, or the document gives the window no value."""
        return same(a, b) | self.pooled.undefined

    def acceptable(self, Y: np.ndarray) -> np.ndarray:
        """Where the policies allow a Y."""
        accepted = self.pooled.undefined.copy()
        for interpretation in self.interpretations:
            accepted |= self.agrees(Y, interpretation)
        return accepted

    def agrees(self, Y: np.ndarray, interpretation: Pooled) -> np.ndarray:
        """Where a Y agrees with one interpretation of NaN."""
        agrees = self.same_values(Y, interpretation.Y) | self.hidden
        policies, activation = self.pooling.policies, self.pooling.activation
        zeros = (Y == 0) & (interpretation.Y == 0)
        if activation is not None and not (isinstance(activation, Composition) and activation.signs_zeros):
            # No document defines the sign of a zero before or after the activation.
            return agrees | zeros
        if is_float(Y.dtype) and (policies.zero_sign is ZeroSign.EITHER or policies.tie is Tie.ANY):
            # Zeros of either sign are equal maxima, but the zero of Y must be in the window, or made of one there.
            maxima = np.array([-0.0, 0.0], Y.dtype)
            made = maxima if activation is None else activation.of(maxima)
            for is_held, zero in zip(self.holds_zeros, made, strict=True):
                agrees |= zeros & is_held & (np.signbit(Y) == np.signbit(zero))
        return agrees

    def judges_alike(self, other: "Oracle", *, indices: bool) -> bool:
        """Whether an oracle of another document accepts the same outputs, with Indices or of Y alone."""
        mine, theirs = self.alternatives, other.alternatives
        return (
            len(mine) == len(theirs)
            and bool(self.pooling.refusable) == bool(other.pooling.refusable)
            and all(a._accepts_alike(b, indices=indices) for a, b in zip(mine, theirs, strict=True))
        )

    def _accepts_alike(self, other: "Oracle", *, indices: bool) -> bool:
        """As :meth:`judges_alike`, without their alternatives. A policy counts where X has what it is about."""
        mine, theirs = self.pooled, other.pooled
        policies, others = self.pooling.policies, other.pooling.policies
        if (
            mine.Y.shape != theirs.Y.shape
            or self.pooling.activation != other.pooling.activation
            or (mine.undefined != theirs.undefined).any()
            or not same(mine.Y, theirs.Y).all()
            or ((policies.nan, policies.tie) != (others.nan, others.tie) and self.holds_nan.any())
        ):
            return False
        zeros = {each.tie is Tie.ANY or each.zero_sign is ZeroSign.EITHER for each in (policies, others)}
        if len(zeros) > 1 and np.logical_and(*self.holds_zeros).any():
            return False
        if not indices:
            return True
        assert mine.Indices is not None
        assert theirs.Indices is not None
        named = ~mine.empty
        numbers_alike = replace(self.pooling.numbering, dtype="") == replace(other.pooling.numbering, dtype="")
        has_ties = policies.tie is not others.tie and self.ties.any()
        return numbers_alike and not has_ties and bool((mine.Indices == theirs.Indices)[named].all())

    def match_indices(self, numbers: np.ndarray, Y: np.ndarray | None) -> IndexMatch:
        """What Indices refer to, beside this Y; None: under any interpretation of NaN."""
        X, pooling, empty = self.core, self.pooling, self.pooled.empty
        # Where NaN is open, the index must agree with the same interpretations as Y, unless Y agrees with none.
        fits = [
            self.agrees(Y, interpretation) | ~self.acceptable(Y) if Y is not None else ~empty
            for interpretation in self.interpretations
        ]
        first, inside, maximum, fitting = (np.zeros(empty.shape, bool) for _ in range(4))
        for interpretation, fit in zip(self.interpretations, fits, strict=True):
            first |= fit & (numbers == interpretation.Indices)
        is_number = np.zeros(empty.shape, bool)
        for is_cell, cells in pooling.numbering.cells(numbers, X.shape):
            is_number |= is_cell
            here = is_cell & _in_window(cells, X.shape, pooling.geometry)
            inside |= here
            for interpretation, fit in zip(self.interpretations, fits, strict=True):
                equal = here & self._is_maximum(X.reshape(-1)[cells], interpretation)
                maximum |= equal
                fitting |= fit & equal
        right = first | empty
        if pooling.policies.nan is Nan.AS_NEG_INF:
            # No cell of such a window equals Y: any of its cells may be named, or none.
            right |= self.only_nan & (inside | ~is_number)
        ties = fitting & ~right
        if pooling.policies.tie is Tie.ANY:
            right |= ties
        return IndexMatch(right, inside, ties, maximum)

    def _is_maximum(self, values: np.ndarray, interpretation: Pooled) -> np.ndarray:
        """Where the value of a cell equals the maximum; zeros of either sign are equal."""
        equal: np.ndarray = values == interpretation.maxima
        if is_float(values.dtype):
            nan = self.pooling.policies.nan
            if nan not in (Nan.PROPAGATES_FIRST, Nan.PROPAGATES_LAST):
                equal |= np.isnan(values) & np.isnan(interpretation.maxima)
            if nan is Nan.UNSPECIFIED:
                equal |= np.isnan(values) & (interpretation.maxima == -np.inf)
        return equal


def _in_window(cells: np.ndarray, shape: tuple[int, ...], geometry: Geometry) -> np.ndarray:
    """For each output cell, whether a row-major position in ``[0, X.size)`` is one of its window's.

    ``cells`` has the shape of the output, ``shape`` is that of X.
    """
    batch, channel, *spatial = coordinates(cells, shape)
    outputs: tuple[np.ndarray, ...] = np.indices(cells.shape, sparse=True)
    inside = (batch == outputs[0]) & (channel == outputs[1])
    for axis, position, i in zip(geometry, spatial, outputs[2:], strict=True):
        first, count = axis.taps()
        distance = position - first[i]
        inside &= (distance % axis.dilation == 0) & (distance >= 0) & (distance // axis.dilation < count[i])
    return inside
