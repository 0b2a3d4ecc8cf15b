"""Compares outputs with the reference's, cell by cell and by bits: the kinds of divergence."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

import numpy as np

from maxpool_check.judging.cells import index_kinds, interpretations_of, mixed_nan, tie_kinds, value_kinds
from maxpool_check.judging.hypotheses import NUMBERING, causes_of, is_kind
from maxpool_check.judging.kinds import DivergenceKind
from maxpool_check.judging.oracle import Oracle
from maxpool_check.judging.windows import is_truncated_division
from maxpool_check.reference.dtypes import bits, identical
from maxpool_check.results.details import AllowedDifference, Cause

MOST_CELLS = 5
"""How many cells of the outputs are shown."""

MOST_COINCIDENCES = 2
"""So many wrong cells are no proof of a mistake in the whole result."""


@dataclass(frozen=True, eq=False)
class WrongOutput:
    """The cells of an output (boolean, N x C x D1 x ... x Dn) with one kind of divergence.

    ``cells`` is None for the output as a whole; ``message`` then says what is wrong.
    """

    output: str
    kind: DivergenceKind
    cells: np.ndarray | None
    message: str = ""


@dataclass(frozen=True, eq=False)
class Comparison:
    """Some outputs compared with the reference's.

    ``oracle`` is, of several that the document can be interpreted as, the first that agrees, else the nearest.
    ``information`` holds allowed differences from the reference, ``mixed`` the cells of a Y whose cells are right by different
    interpretations of NaN. ``interpretations`` gives, by point that the document
    leaves open, every interpretation that agrees. ``causes`` are all mistakes that explain the outputs, or one; ``mistakes``
    holds, by output, the mistake of which it is a kind: the only one, where it is more than a coincidence of few cells.
    ``identical``: the outputs are the reference's in every bit.
    """

    oracle: Oracle
    wrong: tuple[WrongOutput, ...] = ()
    information: tuple[WrongOutput, ...] = ()
    interpretations: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    causes: tuple[Cause, ...] = ()
    mistakes: Mapping[str, DivergenceKind] = field(default_factory=dict)
    identical: bool = False
    mixed: tuple[WrongOutput, ...] = ()

    @property
    def kinds(self) -> tuple[DivergenceKind, ...]:
        """The kinds of divergence: of each output a mistake, or else those of its cells."""
        return tuple(sorted({self.mistakes.get(wrong.output, wrong.kind) for wrong in self.wrong}))

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
    every = [comparison.oracle.pooling.policies.names() for comparison in comparisons]
    agreeing = [names for names, comparison in zip(every, comparisons, strict=True) if not comparison.wrong]
    if not agreeing:
        return nearest
    decided = {
        point: (name,)
        for point, name in agreeing[0].items()
        if any(names[point] != name for names in every) and all(names[point] == name for names in agreeing)
    }
    differences = tuple(
        replace(wrong, kind=comparisons[0].mistakes.get(wrong.output, wrong.kind))
        for wrong in comparisons[0].wrong
        if wrong.cells is None
    )
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
        left_out = {"tie"} if "Indices" not in names else set()
        own = {point: agreeing for point, agreeing in _of_reference(oracle).items() if point not in left_out}
        return Comparison(oracle, interpretations=own, identical=True)
    whole = [
        wrong
        for name in names
        if (wrong := wrong_tensor(name, outputs.get(name), oracle.dtype(name), oracle.shape)) is not None
    ]
    if whole:
        return _compare_whole(oracle, outputs, names, whole)
    return _compare_cells(oracle, {name: oracle.pooling.layout.to_core(outputs[name]) for name in names})


@lru_cache(8)  # most variants of a case have the reference's outputs
def _of_reference(oracle: Oracle) -> dict[str, tuple[str, ...]]:
    """The interpretations that the reference's own outputs agree with."""
    outputs = {name: oracle.pooling.layout.to_core(tensor) for name, tensor in oracle.outputs.items()}
    return interpretations_of(oracle, outputs)


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
        mixed = _wrong_outputs("Y", {DivergenceKind.Y_NAN_MIXED: mixed_nan(oracle, Y)})
        return Comparison(oracle, (), tuple(information), interpretations, mixed=tuple(mixed))
    causes = causes_of(oracle, {**outputs, "Y": Y})
    if any(cause.output is None for cause in causes if is_kind(cause)):
        # Outputs for other windows, or another X, say nothing about open points.
        interpretations = {}
    wrong = _wrong_outputs("Y", value_kinds(oracle, Y, wrong_Y))
    wrong_cells = wrong_Y
    if numbers is not None and match is not None:
        leaks = next((each.cells for each in wrong if each.kind is DivergenceKind.Y_PAD_VALUE_LEAK), None)
        none = np.zeros(Y.shape, bool)
        wrong += _wrong_outputs("Indices", index_kinds(oracle, numbers, match, none if leaks is None else leaks))
        wrong_cells = wrong_Y | ~match.right
    few = wrong_cells.sum() <= MOST_COINCIDENCES
    mistakes = _mistakes([cause for cause in causes if not few or cause.kind in NUMBERING], outputs)
    return Comparison(oracle, tuple(wrong), tuple(information), interpretations, tuple(causes), mistakes)


def _mistakes(causes: Sequence[Cause], names: Iterable[str]) -> dict[str, DivergenceKind]:
    """By output, the mistake that explains it, if there is only one that can be a kind."""
    kinds = list(filter(is_kind, causes))
    by_output = {name: [cause.kind for cause in kinds if cause.output in (None, name)] for name in names}
    return {name: DivergenceKind(kinds[0]) for name, kinds in by_output.items() if len(kinds) == 1}


def _compare_whole(
    oracle: Oracle, outputs: Mapping[str, np.ndarray], names: tuple[str, ...], wrong: Sequence[WrongOutput]
) -> Comparison:
    """Outputs that are wrong as a whole; if all of them have the wrong shape, a mistake may explain it."""
    causes: list[Cause] = []
    shapes = len(wrong) == len(names) and all(output.kind is DivergenceKind.SHAPE for output in wrong)
    if shapes and "Y" in names and all(outputs[name].ndim == len(oracle.shape) for name in names):
        causes = causes_of(oracle, {name: oracle.pooling.layout.to_core(outputs[name]) for name in names})
    if shapes and all(is_truncated_division(oracle.pooling.geometry, outputs[name].shape) for name in names):
        # Rounding up may explain it as well, but there is no window to round to.
        truncated = (replace(output, kind=DivergenceKind.TRUNCATED_DIVISION) for output in wrong)
        return Comparison(oracle, tuple(truncated), causes=tuple(causes))
    # A shape without a cell that proves it is too little.
    mistakes = _mistakes(causes, names)
    return Comparison(oracle, tuple(wrong), causes=tuple(causes), mistakes=mistakes)


def wrong_tensor(name: str, tensor: np.ndarray | None, dtype: np.dtype, shape: tuple[int, ...]) -> WrongOutput | None:
    """What is wrong with an output as a whole: it is missing, or has another dtype or shape."""
    if tensor is None:
        return WrongOutput(name, DivergenceKind.MISSING_OUTPUT, None, f"{name} is missing")
    if tensor.dtype != dtype:
        return WrongOutput(name, DivergenceKind.DTYPE, None, f"{name} is {tensor.dtype.name}, expected {dtype.name}")
    if tensor.shape != shape:
        message = f"{name} has the shape {list(tensor.shape)}, expected {list(shape)}"
        return WrongOutput(name, DivergenceKind.SHAPE, None, message)
    return None


def _wrong_outputs(output: str, kinds: Mapping[DivergenceKind, np.ndarray]) -> list[WrongOutput]:
    return [WrongOutput(output, kind, cells) for kind, cells in kinds.items() if cells.any()]


def allowed_differences(oracle: Oracle, outputs: Mapping[str, np.ndarray]) -> tuple[AllowedDifference, ...]:
    """The first cells of each output, of the right shape and dtype, that differ from the reference's in any bit."""
    layout, pooled = oracle.pooling.layout, oracle.pooled
    differences = []
    for name, tensor in outputs.items():
        expected, actual = layout.to_core(oracle.outputs[name]), layout.to_core(tensor)
        unspecified = pooled.undefined if name == "Y" else pooled.empty
        differ = (bits(actual) != bits(expected)).reshape(actual.shape) | unspecified
        differences += [
            AllowedDifference(
                at=layout.arranged(at),
                output=name,
                reference="-" if unspecified[at] else _exact(expected[at]),
                got=_exact(actual[at]),
            )
            for at in positions(differ)
        ]
    return tuple(differences)


def positions(cells: np.ndarray) -> list[tuple[int, ...]]:
    """The first of the marked cells."""
    return [tuple(int(i) for i in at) for at in np.argwhere(cells)[:MOST_CELLS]]


def _exact(value: np.generic) -> str:
    # A NaN has a payload, which its text does not show.
    return f"{value} (0x{bits(np.array([value]))[0]:x})" if value != value else str(value)
