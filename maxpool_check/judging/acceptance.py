"""All outputs that the judge accepts for a case, cell by cell: the right values of each cell, and which go together.

The values come from the oracle's own decisions, ``Oracle.acceptable`` and ``Oracle.match_indices``, so that whoever compares
with them accepts what the judge accepts.
"""

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum

import numpy as np

from maxpool_check.graphs.context import BEHIND
from maxpool_check.judging.graph_oracle import GraphOracle
from maxpool_check.judging.oracle import Oracle
from maxpool_check.reference.definition import cells as window_cells
from maxpool_check.reference.dtypes import bits, is_float
from maxpool_check.reference.geometry import Geometry
from maxpool_check.reference.policies import Nan, Tie

MOST_VALUES = 2**20
"""The most further right values that the cells of a result may have together."""


class OpenValue(Enum):
    """What a cell may hold besides single values."""

    ANY = "any"
    """Any value."""
    NO_CELL = "no-cell"
    """Any number that is not the number of a cell of X."""


CellValue = np.generic | OpenValue
Pair = tuple[np.generic, np.generic]


@dataclass(frozen=True, eq=False)
class AcceptedOutput:
    """One output of an accepted result.

    ``tensor`` holds a right value of every cell, in the layout of the case. ``others`` has the further right values of those
    cells, by row-major position, that have any: a NaN in it stands for every NaN.
    """

    tensor: np.ndarray
    others: Mapping[int, tuple[CellValue, ...]]


@dataclass(frozen=True, eq=False)
class AcceptedResult:
    """Outputs that are accepted together, for one interpretation of the windows.

    ``outputs`` are Y, Indices, and those of a graph with further consumers. ``together`` says more about some pairs of a
    cell of Y and a cell of Indices, by their row-major positions: they must hold one of these pairs of values.
    ``bound``: the cells of X have the numbers below it.
    """

    geometry: Geometry
    outputs: Mapping[str, AcceptedOutput]
    together: Mapping[tuple[int, int], tuple[Pair, ...]]
    bound: int


class NotListed(ValueError):
    """The right outputs of a case are no list of values for each cell; the message says why."""


def accepted_results(oracle: GraphOracle, most_values: int = MOST_VALUES) -> list[AcceptedResult]:
    """The results that the judge accepts, one for each interpretation of the windows; outputs must be of one of them.

    Raises :class:`NotListed` where the cells of Indices have more right values than ``most_values`` together.
    """
    results = []
    for each in oracle.graphs:
        if each.moves:
            results.append(_moved(each, accepted_result(each, most_values)))
        else:
            results += [accepted_result(alternative, most_values) for alternative in each.alternatives]
    return [
        replace(result, outputs={**result.outputs, **sides})
        for result, sides in itertools.product(results, _side_outputs(oracle, most_values))
    ]


def _side_outputs(oracle: GraphOracle, most_values: int) -> list[dict[str, AcceptedOutput]]:
    """The further outputs of a graph; several, if the document leaves open what MaxPool returns there."""
    side_outputs, flow = oracle.graph.context.side_outputs, oracle.graph.flow
    sides = {name: AcceptedOutput(flow[number], {}) for name, number in side_outputs.items() if number is not None}
    if BEHIND not in side_outputs:
        return [sides]
    behind = [accepted_result(each, most_values) for each in oracle.plain.alternatives]
    return [{**sides, BEHIND: result.outputs["Y"]} for result in behind]


def _moved(oracle: GraphOracle, result: AcceptedResult) -> AcceptedResult:
    """The result of a graph whose nodes behind MaxPool move the cells of its Y."""
    others, sources = result.outputs["Y"].others, list(enumerate(oracle.sources.reshape(-1).tolist()))
    Y = AcceptedOutput(oracle.output, {at: others[source] for at, source in sources if source in others})
    pairs = {source: each for (source, _), each in result.together.items()}
    together = {(at, source): pairs[source] for at, source in sources if source in pairs}
    return replace(result, outputs={**result.outputs, "Y": Y}, together=together)


def _key(value: np.generic) -> object:
    """What distinguishes the values of a cell; NaN is one value, whatever its bits."""
    return "nan" if value != value else int(bits(np.array([value]))[0])


def accepted_result(oracle: Oracle, most_values: int = MOST_VALUES) -> AcceptedResult:
    """The accepted Y and Indices of a MaxPool in one interpretation of its windows. Raises :class:`NotListed`."""
    pooled, layout = oracle.pooled, oracle.pooling.layout
    assert pooled.Indices is not None
    with np.errstate(invalid="ignore"):
        # Every Y that may be right in some cell: of each interpretation of NaN, and with zeros of the other sign.
        possible = [pooled.Y, *(interpretation.Y for interpretation in oracle.interpretations)]
        if is_float(pooled.Y.dtype):
            possible += [np.where(Y == 0, -Y, Y) for Y in possible if (Y == 0).any()]
        candidates = list({Y.tobytes(): Y for Y in possible}.values())
        Y = _right_values(oracle, candidates)
        pairs = _right_pairs(oracle, candidates, most_values)
    Indices = _right_indices(oracle, pairs)
    # Where the layout of the case has each cell of N x C x D1 x ... x Dn.
    place = np.argsort(layout.from_core(np.arange(pooled.Y.size).reshape(pooled.Y.shape)).reshape(-1)).tolist()

    def output(tensor: np.ndarray, others: Mapping[int, tuple[CellValue, ...]]) -> AcceptedOutput:
        return AcceptedOutput(layout.from_core(tensor), {place[at]: values for at, values in others.items()})

    together = {
        (place[at], place[at]): tuple(each)
        for at, each in pairs.items()
        # Where not every value goes with every index.
        if len(each) < len({_key(value) for value, _ in each}) * len({int(index) for _, index in each})
    }
    outputs = {"Y": output(pooled.Y, Y), "Indices": output(pooled.Indices.astype(oracle.dtype("Indices")), Indices)}
    return AcceptedResult(oracle.pooling.geometry, outputs, together, oracle.pooling.numbering.bound(oracle.core.shape))


def _right_values(oracle: Oracle, candidates: Iterable[np.ndarray]) -> dict[int, tuple[CellValue, ...]]:
    """The right values of the cells of Y, by position, besides the reference's."""
    right: dict[int, dict[object, np.generic]] = {}
    for Y in candidates:
        differs = oracle.acceptable(Y) & ~oracle.pooled.undefined & ~oracle.same_values(Y, oracle.pooled.Y)
        for at in np.flatnonzero(differs).tolist():
            value = Y.reshape(-1)[at]
            right.setdefault(at, {}).setdefault(_key(value), value)
    others: dict[int, tuple[CellValue, ...]] = {at: tuple(values.values()) for at, values in right.items()}
    return others | dict.fromkeys(np.flatnonzero(oracle.pooled.undefined).tolist(), (OpenValue.ANY,))


def _right_pairs(oracle: Oracle, candidates: Sequence[np.ndarray], most_values: int) -> dict[int, list[Pair]]:
    """By position of a cell in which more than one index can be right, the right pairs of Y and an index."""
    numbers, Indices = _numbers(oracle, most_values), oracle.pooled.Indices
    assert Indices is not None
    right: dict[int, dict[object, dict[int, Pair]]] = {}
    for number in range(max(map(len, numbers.values()), default=0)):
        at = np.array([position for position, each in numbers.items() if len(each) > number])
        given = Indices.copy()
        given.reshape(-1)[at] = [numbers[position][number] for position in at.tolist()]
        for candidate in candidates:
            fits = (oracle.match_indices(given, candidate).right & oracle.acceptable(candidate)).reshape(-1)
            for position in at[fits[at]].tolist():
                value, index = candidate.reshape(-1)[position], numbers[position][number]
                of_value = right.setdefault(position, {}).setdefault(_key(value), {})
                of_value.setdefault(index, (value, oracle.dtype("Indices").type(index)))
    return {at: [pair for of_value in values.values() for pair in of_value.values()] for at, values in right.items()}


def _right_indices(oracle: Oracle, pairs: Mapping[int, Sequence[Pair]]) -> dict[int, tuple[CellValue, ...]]:
    """The right values of the cells of Indices, by position, besides the reference's."""
    assert oracle.pooled.Indices is not None
    others: dict[int, tuple[CellValue, ...]] = dict.fromkeys(
        np.flatnonzero(oracle.pooled.empty).tolist(), (OpenValue.ANY,)
    )
    is_open = oracle.only_nan.reshape(-1) & (oracle.pooling.policies.nan is Nan.AS_NEG_INF)
    for at, each in pairs.items():
        indices = {int(index): index for _, index in each}
        indices.pop(int(oracle.pooled.Indices.reshape(-1)[at]), None)
        more = [indices[index] for index in sorted(indices)]
        if more or is_open[at]:
            others[at] = (*more, *((OpenValue.NO_CELL,) if is_open[at] else ()))
    return others


def _numbers(oracle: Oracle, most_values: int) -> dict[int, list[int]]:
    """By position of an output cell in which more than one index can be right, the numbers that can.

    Those are the numbers of the cells of its window that hold a NaN or a maximum under some interpretation.
    """
    X, shape = oracle.core, oracle.pooled.Y.shape
    several = oracle.holds_nan & ~oracle.pooled.empty
    if oracle.pooling.policies.tie is Tie.ANY:
        several |= oracle.ties
    result, total = {}, 0
    for at in map(tuple, np.argwhere(several) if X.size else ()):
        flat = np.ravel_multi_index(tuple(np.array(window_cells(at, oracle.pooling.geometry)).T), X.shape)
        values = X.reshape(-1)[flat]
        selected = values != values
        for interpretation in oracle.interpretations:
            selected = selected | (values == interpretation.maxima[at])
        numbers = oracle.pooling.numbering.number(flat[selected], X.shape)
        total += len(numbers)
        if total > most_values:
            raise NotListed(f"its Indices have more than {most_values} right values")
        result[int(np.ravel_multi_index(at, shape))] = np.unique(numbers).tolist()
    return result
