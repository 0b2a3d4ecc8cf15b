"""Holds an answer to the reference, cell by cell and by bits, and names what is wrong with it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from maxpool_check.judging.hypotheses import causes
from maxpool_check.judging.indices import index_kinds, tie_kinds
from maxpool_check.judging.interpretations import interpretations_of
from maxpool_check.judging.kinds import DivergenceKind
from maxpool_check.judging.oracle import Oracle
from maxpool_check.judging.values import value_kinds
from maxpool_check.results.record import Cause


@dataclass(frozen=True)
class Wrong:
    """One output with its cells at fault, each under one kind; None: the output as a whole."""

    output: str
    kind: DivergenceKind
    cells: np.ndarray | None
    """Boolean, of the shape of the output, N x C x D1 x ... x Dn."""


@dataclass(frozen=True, eq=False)
class Comparison:
    """What came out of holding an answer to the reference.

    ``oracle`` is the one it was held to: of several that the document can be read to mean, the first that it agrees
    with, or the nearest. ``causes`` are the mistakes that explain the whole answer, or an output; ``interpretations`` gives, by
    point that the document leaves open, every interpretation that the answer agrees with. ``own``: the answer is the reference's
    own, bit by bit, and there is nothing else to say of it.
    """

    oracle: Oracle
    wrong: tuple[Wrong, ...]
    information: tuple[Wrong, ...]
    """Differences from the first interpretation that the document allows."""
    interpretations: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    causes: tuple[Cause, ...] = ()
    own: bool = False

    @property
    def distance(self) -> float:
        """How far the answer is from its oracle: its wrong cells, endless where an output is wrong as a whole."""
        return sum(math.inf if one.cells is None else int(one.cells.sum()) for one in self.wrong)


def compare(expected: Oracle, outputs: Mapping[str, np.ndarray], asked: tuple[str, ...]) -> Comparison:
    """Hold the outputs that came, in the document's layout, to those that were asked for, under every oracle of it."""
    # A NaN among values that are compared is no mistake here; bfloat16 complains of it.
    with np.errstate(invalid="ignore"):
        compared = [_compare(one, outputs, asked) for one in expected.meanings]
    if len(compared) == 1:
        return compared[0]
    nearest = min(compared, key=lambda one: one.distance)
    fitting = [one.oracle.pooling.policies.names() for one in compared if not one.wrong]
    every = [one.oracle.pooling.policies.names() for one in compared]
    shown = {
        point: (fitting[0][point],)
        for point in (fitting[0] if fitting else ())
        if len({names[point] for names in every}) > 1 and len({names[point] for names in fitting}) == 1
    }
    differs = tuple(one for one in compared[0].wrong if one.cells is None) if fitting else ()
    return replace(
        nearest, information=(*differs, *nearest.information), interpretations={**nearest.interpretations, **shown}
    )


def _compare(expected: Oracle, outputs: Mapping[str, np.ndarray], asked: tuple[str, ...]) -> Comparison:
    if expected.is_own(outputs, asked):
        # Which of equal maxima is chosen shows in Indices alone.
        interpretations = {
            p: names for p, names in expected.own_interpretations.items() if p != "tie" or "Indices" in asked
        }
        return Comparison(expected, (), (), interpretations, own=True)
    layout = expected.pooling.layout
    whole = [one for name in asked if (one := _whole(expected, name, outputs.get(name))) is not None]
    if any(one.kind is not DivergenceKind.SHAPE for one in whole):
        return Comparison(expected, tuple(whole), ())
    if whole:
        return _misshapen(expected, outputs, asked, whole)
    got = {name: layout.to_core(outputs[name]) for name in asked}
    # A document may print Indices alone; they are held to the Y that they belong to.
    Y, numbers = got.get("Y", expected.pooled.Y), got.get("Indices")
    interpretations = interpretations_of(expected, {**got, "Y": Y}) if "Y" in got else {}
    wrong_Y = ~expected.acceptable(Y)
    signs = (Y == 0) & (expected.pooled.Y == 0) & ~expected.same_values(Y, expected.pooled.Y) & ~wrong_Y
    information = _found("Y", {DivergenceKind.Y_SIGNED_ZERO: signs})
    named = None
    if numbers is not None and expected.core.size:
        named = expected.named(numbers, got.get("Y"))
        information += _found("Indices", tie_kinds(expected, numbers, named.ties & named.right))
    if not wrong_Y.any() and (named is None or named.right.all()):
        return Comparison(expected, (), tuple(information), interpretations)
    found = causes(expected, {**got, "Y": Y})
    if any(cause.output is None for cause in found):
        # With other windows, or another X, the answer is one to another variant.
        interpretations = {}
    kinds = _explained(found, "Y", wrong_Y) or value_kinds(expected, Y, wrong_Y)
    wrong = _found("Y", kinds)
    if numbers is not None and named is not None:
        leaks = kinds.get(DivergenceKind.Y_PAD_VALUE_LEAK, np.zeros(Y.shape, bool))
        of_numbers = _explained(found, "Indices", ~named.right)
        wrong += _found("Indices", of_numbers or index_kinds(expected, numbers, named, ~named.right, leaks))
    return Comparison(expected, tuple(wrong), tuple(information), interpretations, tuple(found))


def _explained(found: Sequence[Cause], output: str, wrong: np.ndarray) -> dict[DivergenceKind, np.ndarray]:
    """The wrong cells of an output under the first mistake that explains them, if there is one."""
    kinds = [one.kind for one in found if one.output in (None, output)]
    return {DivergenceKind(kinds[0]): wrong} if kinds else {}


def _misshapen(
    expected: Oracle, outputs: Mapping[str, np.ndarray], asked: tuple[str, ...], wrong: list[Wrong]
) -> Comparison:
    """An answer of another shape: that of a mistake, if there is one that gives all of it."""
    found: list[Cause] = []
    if len(wrong) == len(asked) and all(outputs[name].ndim == len(expected.shape) for name in asked):
        found = causes(expected, {name: expected.pooling.layout.to_core(outputs[name]) for name in asked})
    if found:
        kinds = {name: DivergenceKind(next(one.kind for one in found if one.output in (None, name))) for name in asked}
        wrong = [Wrong(name, kind, None) for name, kind in kinds.items()]
    return Comparison(expected, tuple(wrong), (), causes=tuple(found))


def _whole(expected: Oracle, name: str, got: np.ndarray | None) -> Wrong | None:
    """What is wrong with an output as a whole."""
    if got is None:
        return Wrong(name, DivergenceKind.MISSING_OUTPUT, None)
    if got.dtype != expected.dtype(name):
        return Wrong(name, DivergenceKind.DTYPE, None)
    return Wrong(name, DivergenceKind.SHAPE, None) if got.shape != expected.shape else None


def _found(output: str, kinds: Mapping[DivergenceKind, np.ndarray]) -> list[Wrong]:
    return [Wrong(output, kind, cells) for kind, cells in kinds.items() if cells.any()]
