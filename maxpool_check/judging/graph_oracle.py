"""The reference's outputs for a graph of several nodes, and the outputs of its MaxPool from those of the graph."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from maxpool_check.graphs.context import BEHIND, MAX_POOL, MaxPoolGraph
from maxpool_check.graphs.node import Inexact
from maxpool_check.judging.comparison import WrongOutput, compare, wrong_tensor
from maxpool_check.judging.kinds import DivergenceKind
from maxpool_check.judging.oracle import Oracle
from maxpool_check.reference.dtypes import identical, same
from maxpool_check.reference.pooling import Pooling

_DEPENDENT = (MAX_POOL, "GlobalMaxPool", "MaxUnpool")
"""Operators behind MaxPool whose output cells come from cells that depend on the values of its outputs."""


@dataclass(frozen=True, eq=False)
class GraphOracle(Oracle):
    """The oracle of a case, which is a graph with one judged MaxPool: its X is the tensor that enters MaxPool.

    Elementwise nodes behind it are the function that is applied to its maxima; nodes that move cells are undone by
    :meth:`of_maxpool`.
    """

    graph: MaxPoolGraph

    @classmethod
    def of(cls, graph: MaxPoolGraph, pooling: Pooling | None = None) -> "GraphOracle":
        """The oracle of a graph, whose ``pooling`` may be known. Raises ``Refused`` and ``Inexact``."""
        pooling, function = pooling or graph.pooling, graph.function
        if function is not None:
            others = tuple(replace(other, activation=function) for other in pooling.alternatives)
            pooling = replace(pooling, activation=function, alternatives=others)
        return cls(graph.entering, pooling, graph)

    def check_exact(self) -> np.ndarray:
        """The output Y of the graph. Raises ``Inexact`` if a node has no unique result for an output of MaxPool that conforms."""
        for oracle in self.alternatives:
            _ = oracle.interpretations
        context, is_mixed = self.graph.context, self.graph.is_mixed
        if (is_mixed or any(node.op in _DEPENDENT for node in context.after)) and (
            self.nan_is_open or self.has_empty or len(self.alternatives) > 1 or (is_mixed and self.zero_is_open)
        ):
            raise Inexact("the document leaves the output of MaxPool open, on which a node behind it depends")
        if context.uses_indices and self.ties.any():
            raise Inexact("MaxUnpool depends on the index of a maximum, which is not unique here")
        for alternative in self.graphs:
            _ = alternative.output, alternative.sources
        if any(tensor.dtype == bool for tensor in self.expected.values()):
            raise Inexact("an output of the graph has truth values; put a Cast or a Where behind")
        return self.output

    @cached_property
    def output(self) -> np.ndarray:
        """The output Y of the graph."""
        if not self.graph.context.after:
            return self.outputs["Y"]
        *_, last = self.graph.steps(self.pooled.maxima, self.pooled.Indices)
        return last

    @cached_property
    def expected(self) -> dict[str, np.ndarray]:
        """The outputs of the graph: Y, Indices, and those that it has besides."""
        sides = self.graph.context.side_outputs
        return {
            "Y": self.output,
            "Indices": self.outputs["Indices"].astype(self.dtype("Indices"), copy=False),
            **{name: self.graph.flow[number] for name, number in sides.items() if number is not None},
            **({BEHIND: self.plain.outputs["Y"]} if BEHIND in sides else {}),
        }

    def gives(self, outputs: Mapping[str, np.ndarray], names: tuple[str, ...]) -> bool:
        """Whether the outputs of these names, and those of the graph besides, are the reference's in every bit."""
        every = (*names, *self.graph.context.side_outputs)
        return all(name in outputs and identical(outputs[name], self.expected[name]) for name in every)

    @property
    def graphs(self) -> "tuple[GraphOracle, ...]":
        """Itself, or an oracle for each pooling that the document can be interpreted as, where nodes move its cells."""
        return self._interpreted or (self,)

    @cached_property
    def _interpreted(self) -> "tuple[GraphOracle, ...]":
        poolings = (self.pooling, *self.pooling.alternatives) if self.pooling.alternatives and self.moves else ()
        return tuple(GraphOracle(self.X, replace(pooling, alternatives=()), self.graph) for pooling in poolings)

    @cached_property
    def plain(self) -> Oracle:
        """The oracle of the MaxPool without the nodes behind it."""
        return Oracle(self.X, self.graph.pooling)

    @cached_property
    def sources(self) -> np.ndarray:
        """For each cell of :attr:`output`, its position in the Y of MaxPool, or -1."""
        return self.graph.sources(self.pooled.maxima, self.pooled.Indices)

    @cached_property
    def moves(self) -> bool:
        """Whether the nodes behind MaxPool change more than values."""
        return bool(self.graph.context.after) and not np.array_equal(
            self.sources, np.arange(self.pooled.Y.size).reshape(self.shape)
        )

    def wrong_outputs(self, outputs: Mapping[str, np.ndarray], names: tuple[str, ...]) -> Iterator[WrongOutput]:
        """What is wrong outside the cells of MaxPool: shapes and dtypes of moved outputs, constants, and side outputs."""
        if "Y" in names and self.moves:
            wrong = wrong_tensor("Y", outputs.get("Y"), self.output.dtype, self.output.shape)
            if wrong is not None:
                yield wrong
            elif (cells := ~self._is_right(outputs["Y"], self.output) & (self.sources < 0)).any():
                yield self._wrong_beside(outputs["Y"], cells)
        for name, number in self.graph.context.side_outputs.items():
            if name not in outputs:
                yield WrongOutput(name, DivergenceKind.MISSING_OUTPUT, None, f"{name} is missing")
            elif number is not None:
                expected, tensor = self.graph.flow[number], outputs[name]
                is_alike = tensor.dtype == expected.dtype and tensor.shape == expected.shape
                if not is_alike or not self._is_right(tensor, expected).all():
                    message = f"the output {name} of the graph, of {self.graph.context.before[number].op}, is wrong"
                    yield WrongOutput(name, DivergenceKind.GRAPH_OUTPUT, None, message)

    def _wrong_beside(self, Y: np.ndarray, cells: np.ndarray) -> WrongOutput:
        """What is wrong with an output of the graph in these cells, which show no single cell of MaxPool."""
        at = tuple(np.argwhere(cells)[0].tolist())
        where = "come from several of" if self.graph.is_mixed else "do not come from"
        others = f" (and {int(cells.sum()) - 1} more)" if cells.sum() > 1 else ""
        message = f"Y differs in cells that {where} MaxPool: Y{[*at]} is {Y[at]}, expected {self.output[at]}{others}"
        is_sign = not ((Y != 0) | (self.output != 0))[cells].any()
        return WrongOutput("Y", DivergenceKind.Y_SIGNED_ZERO if is_sign else DivergenceKind.GRAPH_OUTPUT, None, message)

    def _is_right(self, tensor: np.ndarray, expected: np.ndarray) -> np.ndarray:
        """Where a tensor is right; no document defines the sign of a zero that a function makes."""
        zeros = (tensor == 0) & (expected == 0)
        return same(tensor, expected) | zeros if self.graph.context.leaves_zeros_open else same(tensor, expected)

    def wrong_place(self, outputs: Mapping[str, np.ndarray]) -> str:
        """The first wrong cell of the output of a graph that joins several tensors, of which a cell of MaxPool may be in each."""
        if "Y" not in outputs or not self.moves or not any(node.named_inputs for node in self.graph.context.after):
            return ""
        for at in map(tuple, np.argwhere(~self._is_right(outputs["Y"], self.output)).tolist()):
            return f"Y{[*at]} is {outputs['Y'][at]}, expected {self.output[at]}"
        return ""

    def is_wrong_behind(self, outputs: Mapping[str, np.ndarray]) -> bool:
        """Whether the Y of MaxPool is an output of the graph as well, and wrong."""
        is_output = BEHIND in outputs and BEHIND in self.graph.context.side_outputs
        return is_output and bool(compare(self.plain, {"Y": outputs[BEHIND]}, ("Y",)).wrong)

    @cached_property
    def hidden(self) -> np.ndarray:
        """The cells of the Y of MaxPool that no cell of :attr:`output` comes from."""
        hidden = np.ones(self.pooled.Y.size, bool)
        hidden[self.sources[self.sources >= 0]] = False
        return hidden.reshape(self.pooled.Y.shape)

    def of_maxpool(self, outputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """The outputs as those of MaxPool and the functions behind it: each cell of Y in the place that it comes from.

        If several cells come from one, a wrong one of them counts. Hidden cells have the values of the reference. Y must have
        the right shape if it is moved.
        """
        if "Y" not in outputs or not self.moves:
            return dict(outputs)
        Y, sources = outputs["Y"].reshape(-1), self.sources.reshape(-1)
        result, left = self.pooled.Y.reshape(-1).copy(), np.flatnonzero(sources >= 0)
        moved = {**outputs, "Y": result.reshape(self.shape)}
        names = tuple(name for name in ("Y", "Indices") if name in outputs)
        while left.size:
            result[sources[left]] = Y[left]
            left = left[~same(Y[left], result[sources[left]])]
            if left.size:
                # Where the copies are different, the next one replaces what is right so far.
                is_wrong = np.zeros(self.shape, bool)
                for each in compare(self, moved, names).wrong:
                    is_wrong |= False if each.cells is None else each.cells
                left = left[~is_wrong.reshape(-1)[sources[left]]]
        return moved

    def pair_of_maxpool(
        self, base: Mapping[str, np.ndarray], varied: Mapping[str, np.ndarray]
    ) -> tuple[Mapping[str, np.ndarray], Mapping[str, np.ndarray]]:
        """As :meth:`of_maxpool`, for two outputs that are compared: if several cells come from one, one that differs counts."""
        if not self.moves:
            return base, varied
        cells = np.argsort(~same(base["Y"], varied["Y"]), axis=None, kind="stable")
        cells = cells[self.sources.reshape(-1)[cells] >= 0]
        return self._placed(base, cells), self._placed(varied, cells)

    def _placed(self, outputs: Mapping[str, np.ndarray], cells: np.ndarray) -> dict[str, np.ndarray]:
        result = self.pooled.Y.reshape(-1).copy()
        result[self.sources.reshape(-1)[cells]] = outputs["Y"].reshape(-1)[cells]
        return {**outputs, "Y": result.reshape(self.shape)}
