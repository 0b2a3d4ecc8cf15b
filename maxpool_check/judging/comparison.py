"""Compares outputs with the reference's, cell by cell and by bits, and finds the kinds of divergence."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

import numpy as np

from maxpool_check.judging.hypotheses import causes_of
from maxpool_check.judging.indices import index_kinds, tie_kinds
from maxpool_check.judging.interpretations import interpretations_of
from maxpool_check.judging.kinds import DivergenceKind
from maxpool_check.judging.oracle import Oracle
from maxpool_check.judging.values import value_kinds
from maxpool_check.reference.dtypes import identical
from maxpool_check.results.record import Cause


@dataclass(frozen=True, eq=False)
class WrongOutput:
    """The cells of an output (boolean, N x C x D1 x ... x Dn) with one kind of divergence; None: the output as a whole."""

    output: str
    kind: DivergenceKind
    cells: np.ndarray | None


@dataclass(frozen=True, eq=False)
class Comparison:
    """Some outputs compared with the reference's.

    ``oracle`` is, of several that the document can be interpreted as, the first that agrees, else the nearest.
    ``information`` holds allowed differences from the reference. ``interpretations`` gives, by point that the document
    leaves open, every interpretation that agrees. ``causes`` are the mistakes that explain all outputs, or one.
    ``identical``: the outputs are the reference's in every bit.
    """

    oracle: Oracle
    wrong: tuple[WrongOutput, ...] = ()
    information: tuple[WrongOutput, ...] = ()
    interpretations: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    causes: tuple[Cause, ...] = ()
    identical: bool = False

    @property
    def distance(self) -> float:
        """The number of wrong cells; infinite if an output is wrong as a whole."""
        return sum(math.inf if wrong.cells is None else int(wrong.cells.sum()) for wrong in self.wrong)


def compare(oracle: Oracle, outputs: Mapping[str, np.ndarray], names: tuple[str, ...]) -> Comparison:
    """Compare the outputs of these names, in the document's layout, with every alternative of an oracle."""
    # A NaN in a comparison is no mistake here, but bfloat16 warns of it.
    with np.errstate(invalid="ignore"):
        comparisons = [_compare(alternative, outputs, names) for alternative in oracle.alternatives]
    if len(comparisons) == 1:
        return comparisons[0]
    nearest = min(comparisons, key=lambda comparison: comparison.distance)
    agreeing = [comparison.oracle.pooling.policies.names() for comparison in comparisons if not comparison.wrong]
    if not agreeing:
        return nearest
    every = [comparison.oracle.pooling.policies.names() for comparison in comparisons]
    decided = {
        point: (name,)
        for point, name in agreeing[0].items()
        if any(names[point] != name for names in every) and all(names[point] == name for names in agreeing)
    }
    differences = tuple(wrong for wrong in comparisons[0].wrong if wrong.cells is None)
    return replace(
        nearest,
        information=(*differences, *nearest.information),
        interpretations={**nearest.interpretations, **decided},
    )


def _compare(oracle: Oracle, outputs: Mapping[str, np.ndarray], names: tuple[str, ...]) -> Comparison:
    if not oracle.has_empty and all(
        name in outputs and identical(outputs[name], oracle.outputs[name]) for name in names
    ):
        # Which of several equal maxima is chosen shows in Indices alone.
        interpretations = {
            point: interpretations
            for point, interpretations in _interpretations_of_reference(oracle).items()
            if point != "tie" or "Indices" in names
        }
        return Comparison(oracle, interpretations=interpretations, identical=True)
    whole = [wrong for name in names for wrong in _wrong_as_a_whole(oracle, name, outputs.get(name))]
    if any(wrong.kind is not DivergenceKind.SHAPE for wrong in whole):
        return Comparison(oracle, tuple(whole))
    if whole:
        return _compare_shapes(oracle, outputs, names, whole)
    return _compare_cells(oracle, {name: oracle.pooling.layout.to_core(outputs[name]) for name in names})


@lru_cache(8)
def _interpretations_of_reference(oracle: Oracle) -> dict[str, tuple[str, ...]]:
    """The same for all targets whose outputs are the reference's."""
    return interpretations_of(
        oracle, {name: oracle.pooling.layout.to_core(oracle.outputs[name]) for name in oracle.outputs}
    )


def _compare_cells(oracle: Oracle, outputs: Mapping[str, np.ndarray]) -> Comparison:
    """Compare outputs of the right shapes and dtypes, N x C x D1 x ... x Dn."""
    # A document may print Indices alone: they are those of the reference's Y.
    Y, numbers = outputs.get("Y", oracle.pooled.Y), outputs.get("Indices")
    interpretations = interpretations_of(oracle, outputs) if "Y" in outputs else {}
    wrong_Y = ~oracle.acceptable(Y)
    signs = (Y == 0) & (oracle.pooled.Y == 0) & ~oracle.same_values(Y, oracle.pooled.Y) & ~wrong_Y
    information = _wrong_outputs("Y", {DivergenceKind.Y_SIGNED_ZERO: signs})
    match = None
    if numbers is not None and oracle.core.size:
        match = oracle.match_indices(numbers, outputs.get("Y"))
        information += _wrong_outputs("Indices", tie_kinds(oracle, numbers, match.ties & match.right))
    if not wrong_Y.any() and (match is None or match.right.all()):
        return Comparison(oracle, (), tuple(information), interpretations)
    causes = causes_of(oracle, {**outputs, "Y": Y})
    if any(cause.output is None for cause in causes):
        # Outputs for other windows, or another X, say nothing about open points.
        interpretations = {}
    kinds = _explained(causes, "Y", wrong_Y) or value_kinds(oracle, Y, wrong_Y)
    wrong = _wrong_outputs("Y", kinds)
    if numbers is not None and match is not None:
        leaks = kinds.get(DivergenceKind.Y_PAD_VALUE_LEAK, np.zeros(Y.shape, bool))
        explained = _explained(causes, "Indices", ~match.right)
        wrong += _wrong_outputs("Indices", explained or index_kinds(oracle, numbers, match, leaks))
    return Comparison(oracle, tuple(wrong), tuple(information), interpretations, tuple(causes))


def _explained(causes: Sequence[Cause], output: str, wrong: np.ndarray) -> dict[DivergenceKind, np.ndarray]:
    """The wrong cells of an output under the first mistake that explains them; empty if there is none."""
    kinds = [cause.kind for cause in causes if cause.output in (None, output)]
    return {DivergenceKind(kinds[0]): wrong} if kinds else {}


def _compare_shapes(
    oracle: Oracle, outputs: Mapping[str, np.ndarray], names: tuple[str, ...], wrong: list[WrongOutput]
) -> Comparison:
    """Outputs of the wrong shape: a mistake may explain all of them."""
    causes: list[Cause] = []
    if len(wrong) == len(names) and all(outputs[name].ndim == len(oracle.shape) for name in names):
        causes = causes_of(oracle, {name: oracle.pooling.layout.to_core(outputs[name]) for name in names})
    if causes:
        kinds = {name: next(cause.kind for cause in causes if cause.output in (None, name)) for name in names}
        wrong = [WrongOutput(name, DivergenceKind(kind), None) for name, kind in kinds.items()]
    return Comparison(oracle, tuple(wrong), causes=tuple(causes))


def _wrong_as_a_whole(oracle: Oracle, name: str, tensor: np.ndarray | None) -> list[WrongOutput]:
    if tensor is None:
        return [WrongOutput(name, DivergenceKind.MISSING_OUTPUT, None)]
    if tensor.dtype != oracle.dtype(name):
        return [WrongOutput(name, DivergenceKind.DTYPE, None)]
    return [WrongOutput(name, DivergenceKind.SHAPE, None)] if tensor.shape != oracle.shape else []


def _wrong_outputs(output: str, kinds: Mapping[DivergenceKind, np.ndarray]) -> list[WrongOutput]:
    return [WrongOutput(output, kind, cells) for kind, cells in kinds.items() if cells.any()]
