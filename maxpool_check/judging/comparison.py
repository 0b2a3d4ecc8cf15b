"""Holds an answer to the reference, cell by cell and by bits, and names what is wrong with each cell."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from maxpool_check.judging.kinds import Kind
from maxpool_check.judging.windows import holds, in_window
from maxpool_check.reference.definition import cells as window_cells
from maxpool_check.reference.dtypes import bits, is_float, lowest
from maxpool_check.reference.evaluator import evaluate
from maxpool_check.reference.policies import Nan, Tie, ZeroSign
from maxpool_check.reference.pooling import Pooled, Pooling

ALL_READINGS = (Nan.IGNORED, Nan.AS_NEG_INF, Nan.PROPAGATES, Nan.PROPAGATES_LAST)
"""The readings of NaN that conform where a document leaves it open."""


@dataclass(frozen=True)
class Wrong:
    """One output with its cells at fault, each under one kind; None: the output as a whole."""

    output: str
    kind: Kind
    cells: np.ndarray | None
    """Boolean, of the shape of the output."""


@dataclass(frozen=True, eq=False)
class Comparison:
    """What came out of holding an answer to the reference.

    ``meaning`` is the one it was held to: of several that the document can be read to mean, the first that it agrees
    with, or the nearest. ``readings`` names, by point, what the answer shows of how they are read.
    """

    meaning: Expected
    wrong: tuple[Wrong, ...]
    information: tuple[Wrong, ...]
    """Differences from the first reading that the document allows."""
    readings: Mapping[str, str] = field(default_factory=dict)

    @property
    def distance(self) -> float:
        """How far the answer is from its meaning: its wrong cells, endless where an output is wrong as a whole."""
        return sum(math.inf if one.cells is None else int(one.cells.sum()) for one in self.wrong)


@dataclass(frozen=True, eq=False)
class Expected:
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
        return evaluate(self.core, replace(self.pooling, indices=True))

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """The shape of the outputs, in the document's layout."""
        return self.pooling.layout.arranged(self.pooled.Y.shape)

    @cached_property
    def meanings(self) -> tuple[Expected, ...]:
        """Itself, and the answers under the other poolings that the document can be read to mean."""
        return (self, *(Expected(self.X, other) for other in self.pooling.alternatives))

    @cached_property
    def holds_nan(self) -> np.ndarray:
        """For each output cell, whether its window holds a NaN."""
        return holds(self.core != self.core, self.pooling)

    @cached_property
    def readings(self) -> list[Pooled]:
        """The answers under every reading of NaN that the policies allow."""
        policies = self.pooling.policies
        if policies.nan is not Nan.UNSPECIFIED or not self.holds_nan.any():
            return [self.pooled]
        return [
            evaluate(self.core, replace(self.pooling, indices=True, policies=replace(policies, nan=nan)))
            for nan in ALL_READINGS
        ]

    def _keeps_seed(self) -> np.ndarray:
        """Where no cell of the window exceeds the dtype's lowest finite value: a scan that starts there finds nothing."""
        policies = replace(self.pooling.policies, nan=Nan.AS_NEG_INF)
        found = evaluate(self.core, replace(self.pooling, indices=False, policies=policies))
        kept: np.ndarray = ~(found.maxima > lowest(self.X.dtype))
        return kept

    def compare(self, outputs: Mapping[str, np.ndarray], asked: tuple[str, ...]) -> Comparison:
        """Hold the outputs that came to those that were asked for, under every meaning of the document."""
        compared = [one._compare(outputs, asked) for one in self.meanings]
        if len(compared) == 1:
            return compared[0]
        nearest = min(compared, key=lambda one: one.distance)
        fitting = [one.meaning.pooling.policies.names() for one in compared if not one.wrong]
        every = [one.meaning.pooling.policies.names() for one in compared]
        shown = {
            point: fitting[0][point]
            for point in (fitting[0] if fitting else ())
            if len({names[point] for names in every}) > 1 and len({names[point] for names in fitting}) == 1
        }
        differs = tuple(one for one in compared[0].wrong if one.cells is None) if fitting else ()
        return replace(nearest, information=(*differs, *nearest.information), readings=shown)

    def _compare(self, outputs: Mapping[str, np.ndarray], asked: tuple[str, ...]) -> Comparison:
        whole = tuple(one for name in asked if (one := self._whole(name, outputs.get(name))) is not None)
        if whole:
            return Comparison(self, whole, ())
        got = {name: self.pooling.layout.to_core(outputs[name]) for name in asked}
        if self._same_bits(got):
            return Comparison(self, (), ())
        found = [self._values(got["Y"])] if "Y" in asked else []
        if "Indices" in asked:
            found.append(self._indices(got["Indices"], got.get("Y")))
        return Comparison(
            self,
            tuple(wrong for wrongs, _ in found for wrong in wrongs),
            tuple(other for _, others in found for other in others),
        )

    def same_values(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Where two Y, N x C x D1 x ... x Dn, agree: in every bit, or in being NaN; also where the window is empty."""
        same = (bits(a) == bits(b)).reshape(a.shape)
        if is_float(a.dtype):
            same |= np.isnan(a) & np.isnan(b)
        return same | self.pooled.empty

    def acceptable(self, Y: np.ndarray) -> np.ndarray:
        """Where a Y, N x C x D1 x ... x Dn, is one that the policies allow."""
        accepted = self.pooled.empty.copy()
        for reading in self.readings:
            accepted |= self._agrees(Y, reading)
        return accepted

    def _agrees(self, Y: np.ndarray, reading: Pooled) -> np.ndarray:
        agrees = self.same_values(Y, reading.Y)
        policies = self.pooling.policies
        if self.pooling.activation is not None:
            # What the function makes of a zero, or a zero of, has a sign that no document gives.
            return agrees | ((Y == 0) & (reading.Y == 0))
        if is_float(Y.dtype) and (policies.zero_sign is ZeroSign.EITHER or policies.tie is Tie.ANY):
            # Zeros of either sign are equal maxima, but the one that comes out must be in the window.
            agrees |= (Y == 0) & (reading.Y == 0) & np.where(np.signbit(Y), *self._holds_zeros)
        return agrees

    @cached_property
    def _holds_zeros(self) -> tuple[np.ndarray, np.ndarray]:
        """For each output cell, whether its window holds a -0, and whether it holds a +0."""
        zero, negative = self.core == 0, np.signbit(self.core)
        return holds(zero & negative, self.pooling), holds(zero & ~negative, self.pooling)

    def _whole(self, name: str, got: np.ndarray | None) -> Wrong | None:
        if got is None:
            return Wrong(name, Kind.MISSING_OUTPUT, None)
        if got.dtype != self.dtype(name):
            return Wrong(name, Kind.DTYPE, None)
        return Wrong(name, Kind.SHAPE, None) if got.shape != self.shape else None

    def dtype(self, output: str) -> np.dtype:
        """The dtype that an output has."""
        return self.X.dtype if output == "Y" else np.dtype(self.pooling.numbering.dtype)

    def _same_bits(self, outputs: Mapping[str, np.ndarray]) -> bool:
        """The quick way out, which nearly every answer takes."""
        pooled, judged = self.pooled, ~self.pooled.empty
        return all(
            ((bits(outputs[name]) == bits(expected)).reshape(judged.shape) | ~judged).all()
            for name, expected in (("Y", pooled.Y), ("Indices", pooled.Indices))
            if name in outputs and expected is not None
        )

    def _values(self, Y: np.ndarray) -> tuple[list[Wrong], list[Wrong]]:
        expected = self.pooled.Y
        wrong = ~self.acceptable(Y)
        zeros = (Y == 0) & (expected == 0)
        signs = zeros & ~self.same_values(Y, expected)
        allowed = _found("Y", {Kind.Y_SIGNED_ZERO: signs & ~wrong})
        if not wrong.any():
            return [], allowed
        kinds = {Kind.Y_SIGNED_ZERO: signs}
        if is_float(Y.dtype):
            kinds[Kind.Y_LOWEST_FOR_NEG_INF] = (expected == -np.inf) & (Y == lowest(Y.dtype))
            # With a NaN in the window another of its cells comes out, or a number where it holds nothing else.
            beside_nan = wrong & self.holds_nan
            kinds[Kind.Y_NAN] = np.isnan(Y) | (beside_nan & (np.isnan(expected) | self._from_window(Y, beside_nan)))
        return _found("Y", _first_that_fits(wrong, kinds, Kind.Y_WRONG)), allowed

    def _from_window(self, Y: np.ndarray, where: np.ndarray) -> np.ndarray:
        """Where, of some output cells, Y is the value of a cell of the window."""
        found = np.zeros(Y.shape, bool)
        for at in map(tuple, np.argwhere(where)):
            values = np.array([self.core[cell] for cell in window_cells(at, self.pooling.geometry)], self.X.dtype)
            found[at] = (values == Y[at]).any()
        return found

    def _indices(self, numbers: np.ndarray, Y: np.ndarray | None) -> tuple[list[Wrong], list[Wrong]]:
        X, pooling, empty = self.core, self.pooling, self.pooled.empty
        if X.size == 0:
            return [], []
        # Where the reading of NaN is open, the index must go with the Y that came with it, if that is one at all.
        fits = [
            self._agrees(Y, reading) | ~self.acceptable(Y) if Y is not None else ~empty for reading in self.readings
        ]
        first, inside, maximum = (np.zeros(empty.shape, bool) for _ in range(3))
        for reading, fit in zip(self.readings, fits, strict=True):
            first |= fit & (numbers == reading.Indices)
        for named, cells in pooling.numbering.cells(numbers, X.shape):
            here = named & in_window(cells, X.shape, pooling.geometry)
            inside |= here
            for reading, fit in zip(self.readings, fits, strict=True):
                maximum |= fit & here & self._ties(X.reshape(-1)[cells], reading)
        right = first | empty
        ties = maximum & ~right
        if pooling.policies.tie is Tie.ANY:
            right |= ties
        seed = pooling.numbering.before_planes(X.shape).reshape(*X.shape[:2], *[1] * len(pooling.geometry))
        kinds = {
            Kind.INDICES_SENTINEL: (numbers < 0) | ((numbers == seed) & self._keeps_seed()),
            Kind.INDICES_OUT_OF_RANGE: (numbers < 0) | (numbers >= pooling.numbering.bound(X.shape)),
            Kind.INDICES_OUTSIDE_WINDOW: ~inside,
            Kind.INDICES_TIE: ties,
        }
        wrong = _found("Indices", _first_that_fits(~right, kinds, Kind.INDICES_NOT_MAXIMUM))
        return wrong, _found("Indices", {Kind.INDICES_TIE: ties & right})

    def _ties(self, values: np.ndarray, reading: Pooled) -> np.ndarray:
        """Where a cell's value equals the maximum of a reading, zeros of either sign being equal."""
        equal: np.ndarray = values == reading.maxima
        if is_float(values.dtype):
            nan = self.pooling.policies.nan
            if nan not in (Nan.PROPAGATES_FIRST, Nan.PROPAGATES_LAST):
                equal |= np.isnan(values) & np.isnan(reading.maxima)
            if nan in (Nan.AS_NEG_INF, Nan.UNSPECIFIED):
                equal |= np.isnan(values) & (reading.maxima == -np.inf)
        return equal


def _first_that_fits(wrong: np.ndarray, kinds: Mapping[Kind, np.ndarray], otherwise: Kind) -> dict[Kind, np.ndarray]:
    """Each wrong cell under the first kind that fits it."""
    left = wrong.copy()
    found: dict[Kind, np.ndarray] = {}
    for kind, fits in kinds.items():
        found[kind] = left & fits
        left &= ~fits
    found[otherwise] = left
    return found


def _found(output: str, kinds: Mapping[Kind, np.ndarray]) -> list[Wrong]:
    return [Wrong(output, kind, cells) for kind, cells in kinds.items() if cells.any()]
