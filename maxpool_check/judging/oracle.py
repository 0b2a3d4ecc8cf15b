"""The reference's answer to one case, and which answers are as good."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from maxpool_check.judging.interpretations import interpretations_of
from maxpool_check.judging.windows import first_in_columns, holds, in_window
from maxpool_check.reference.dtypes import identical, is_float, lowest, same
from maxpool_check.reference.evaluator import chosen, evaluate
from maxpool_check.reference.numbering import Numbering
from maxpool_check.reference.policies import Nan, Tie, ZeroSign
from maxpool_check.reference.pooling import Pooled, Pooling

ALL_INTERPRETATIONS = (Nan.IGNORED, Nan.AS_NEG_INF, Nan.PROPAGATES, Nan.PROPAGATES_LAST)
"""The interpretations of NaN that conform where a document leaves it open."""


@dataclass(frozen=True, eq=False)
class Named:
    """What Indices name, cell by cell; all are boolean, N x C x D1 x ... x Dn.

    ``right``: what the document asks for. ``inside``: a cell of the window. ``ties``: another cell than the first that
    holds the maximum. ``maximum``: a cell that holds the maximum under some interpretation of NaN, whatever Y came with it.
    """

    right: np.ndarray
    inside: np.ndarray
    ties: np.ndarray
    maximum: np.ndarray


@dataclass(frozen=True, eq=False)
class Oracle:
    """The reference's answer to one case, ready to hold others to it; worked out once for all targets.

    ``X`` and the answers that are held to it have the document's layout; what is worked out is N x C x D1 x ... x Dn.
    """

    X: np.ndarray
    pooling: Pooling

    @cached_property
    def core(self) -> np.ndarray:
        """X as N x C x D1 x ... x Dn."""
        return self.pooling.layout.to_core(self.X)

    @cached_property
    def pooled(self) -> Pooled:
        """The answer to print: where the document leaves a point open, one of those that conform."""
        pooling = self.pooling if self.pooling.indices else replace(self.pooling, indices=True)
        return evaluate(self.core, pooling)

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """The shape of the outputs, in the document's layout."""
        return self.pooling.layout.arranged((*self.core.shape[:2], *self.pooling.output_sizes))

    @cached_property
    def meanings(self) -> tuple[Oracle, ...]:
        """Itself, and the answers under the other poolings that the document can be read to mean."""
        return (self, *(Oracle(self.X, other) for other in self.pooling.alternatives))

    @cached_property
    def holds_nan(self) -> np.ndarray:
        """For each output cell, whether its window holds a NaN."""
        return holds(self.core != self.core, self.pooling)

    @cached_property
    def only_nan(self) -> np.ndarray:
        """For each output cell, whether its window holds NaN and nothing else."""
        return self.holds_nan & ~holds(self.core == self.core, self.pooling)

    @cached_property
    def nan_is_open(self) -> bool:
        """Whether a window holds a NaN and the document does not say what that does."""
        return self.pooling.policies.nan is Nan.UNSPECIFIED and bool(self.holds_nan.any())

    def _read(self, nan: Nan) -> Pooled:
        return evaluate(
            self.core, replace(self.pooling, indices=True, policies=replace(self.pooling.policies, nan=nan))
        )

    @cached_property
    def interpretations(self) -> list[Pooled]:
        """The answers under every interpretation of NaN that the policies allow."""
        return [self._read(nan) for nan in ALL_INTERPRETATIONS] if self.nan_is_open else [self.pooled]

    @cached_property
    def nan_as_neg_inf(self) -> Pooled:
        """The answer with every NaN counted as -inf."""
        return self._read(Nan.AS_NEG_INF)

    @cached_property
    def nan_ignored(self) -> Pooled:
        """The answer with every NaN passed over."""
        return self._read(Nan.IGNORED)

    @cached_property
    def keeps_seed(self) -> np.ndarray:
        """Where no cell of the window exceeds the dtype's lowest finite value: a scan that starts there finds nothing."""
        kept: np.ndarray = ~(self.nan_as_neg_inf.maxima > lowest(self.X.dtype))
        return kept

    @cached_property
    def choices(self) -> list[np.ndarray]:
        """The row-major positions in N x C x D1 x ... x Dn of the cells that are chosen, under each interpretation of NaN."""
        if not self.nan_is_open and self.pooling.numbering == Numbering():
            # The numbers of Indices are these very positions.
            assert self.pooled.Indices is not None
            return [self.pooled.Indices]
        whole, policies = replace(self.pooling, indices=True, numbering=Numbering()), self.pooling.policies
        found = []
        for nan in ALL_INTERPRETATIONS if self.nan_is_open else (policies.nan,):
            indices = evaluate(self.core, replace(whole, policies=replace(policies, nan=nan))).Indices
            assert indices is not None
            found.append(indices)
        return found

    @cached_property
    def last(self) -> np.ndarray:
        """As the first of ``choices``, but the last of several equal maxima; any cell for an empty window."""
        return chosen(self.core, self.pooling, last=True)

    @cached_property
    def column_first(self) -> np.ndarray:
        """As ``last``, but of several equal maxima the first in column-major order."""
        return first_in_columns(self.core, self.pooling)

    @cached_property
    def has_ties(self) -> bool:
        """Whether a window may hold several equal maxima; never, where no value of X comes twice."""
        values = np.sort(self.core, axis=None)
        return bool((values[1:] == values[:-1]).any())

    def dtype(self, output: str) -> np.dtype:
        """The dtype that an output has."""
        return self.X.dtype if output == "Y" else np.dtype(self.pooling.numbering.dtype)

    def same_values(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Where two Y, N x C x D1 x ... x Dn, agree: in every bit, or in being NaN; also where the window is empty."""
        return same(a, b) | self.pooled.empty

    def acceptable(self, Y: np.ndarray) -> np.ndarray:
        """Where a Y, N x C x D1 x ... x Dn, is one that the policies allow."""
        accepted = self.pooled.empty.copy()
        for interpretation in self.interpretations:
            accepted |= self.agrees(Y, interpretation)
        return accepted

    def agrees(self, Y: np.ndarray, interpretation: Pooled) -> np.ndarray:
        """Where a Y is what one interpretation of NaN gives."""
        agrees = self.same_values(Y, interpretation.Y)
        policies = self.pooling.policies
        if self.pooling.activation is not None:
            # What the function makes of a zero, or a zero of, has a sign that no document gives.
            return agrees | ((Y == 0) & (interpretation.Y == 0))
        if is_float(Y.dtype) and (policies.zero_sign is ZeroSign.EITHER or policies.tie is Tie.ANY):
            # Zeros of either sign are equal maxima, but the one that comes out must be in the window.
            agrees |= (Y == 0) & (interpretation.Y == 0) & np.where(np.signbit(Y), *self.holds_zeros)
        return agrees

    @cached_property
    def holds_zeros(self) -> tuple[np.ndarray, np.ndarray]:
        """For each output cell, whether its window holds a -0, and whether it holds a +0."""
        zero, negative = self.core == 0, np.signbit(self.core)
        return holds(zero & negative, self.pooling), holds(zero & ~negative, self.pooling)

    @cached_property
    def own(self) -> dict[str, np.ndarray]:
        """The reference's outputs in the document's layout, by name."""
        answer = self.pooled.arranged(self.pooling.layout)
        assert answer.Indices is not None
        return {"Y": answer.Y, "Indices": answer.Indices}

    def is_own(self, outputs: Mapping[str, np.ndarray], asked: tuple[str, ...]) -> bool:
        """Whether those of the outputs that were asked for are the reference's own, in every bit and for every window."""
        own = self.own
        return not self.has_empty and all(name in outputs and identical(outputs[name], own[name]) for name in asked)

    @cached_property
    def own_interpretations(self) -> dict[str, tuple[str, ...]]:
        """How the reference's outputs read what the document leaves open; so does every answer of the same bits."""
        return interpretations_of(self, {name: self.pooling.layout.to_core(value) for name, value in self.own.items()})

    @cached_property
    def has_empty(self) -> bool:
        """Whether there are windows without a cell of X, for which the document gives no result."""
        return bool(self.pooled.empty.any())

    def named(self, numbers: np.ndarray, Y: np.ndarray | None) -> Named:
        """What Indices name, together with the Y that came with them."""
        X, pooling, empty = self.core, self.pooling, self.pooled.empty
        # Where the interpretation of NaN is open, the index must go with the Y that came with it, if that is one at all.
        fits = [
            self.agrees(Y, interpretation) | ~self.acceptable(Y) if Y is not None else ~empty
            for interpretation in self.interpretations
        ]
        first, inside, maximum, fitting = (np.zeros(empty.shape, bool) for _ in range(4))
        for interpretation, fit in zip(self.interpretations, fits, strict=True):
            first |= fit & (numbers == interpretation.Indices)
        for named, cells in pooling.numbering.cells(numbers, X.shape):
            here = named & in_window(cells, X.shape, pooling.geometry)
            inside |= here
            for interpretation, fit in zip(self.interpretations, fits, strict=True):
                equal = here & self._ties(X.reshape(-1)[cells], interpretation)
                maximum |= equal
                fitting |= fit & equal
        right = first | empty
        ties = fitting & ~right
        if pooling.policies.tie is Tie.ANY:
            right |= ties
        return Named(right, inside, ties, maximum)

    def _ties(self, values: np.ndarray, interpretation: Pooled) -> np.ndarray:
        """Where a cell's value equals the maximum of a interpretation, zeros of either sign being equal."""
        equal: np.ndarray = values == interpretation.maxima
        if is_float(values.dtype):
            nan = self.pooling.policies.nan
            if nan not in (Nan.PROPAGATES_FIRST, Nan.PROPAGATES_LAST):
                equal |= np.isnan(values) & np.isnan(interpretation.maxima)
            if nan in (Nan.AS_NEG_INF, Nan.UNSPECIFIED):
                equal |= np.isnan(values) & (interpretation.maxima == -np.inf)
        return equal
