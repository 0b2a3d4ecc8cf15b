"""A minimal example of each kind: a case, and outputs in which the judge finds exactly that kind."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from maxpool_check.graphs.context import MAX_POOL_ALONE, Context, MaxPoolGraph
from maxpool_check.graphs.node import Node, tensor
from maxpool_check.judging.graph_oracle import GraphOracle
from maxpool_check.judging.kinds import DivergenceKind, read_table
from maxpool_check.results.outcomes import Crashed, Outcome, RefusedByTarget, Returned, TimedOut
from maxpool_check.results.variants import Variant, variant_named
from maxpool_check.specifications import DEFAULT, specification
from maxpool_check.specifications.specification import Refused, override


@dataclass(frozen=True, eq=False)
class Example:
    """A case and the result of some runtime.

    ``policies`` are those that are not the document's. ``base`` holds the outputs of the variant that this variant is
    compared with. ``kinds`` are the other kinds that the judge finds.
    """

    graph: MaxPoolGraph
    policies: Mapping[str, str]
    variant: Variant
    actual: Outcome
    base: Mapping[str, np.ndarray] | None
    kinds: tuple[DivergenceKind, ...]

    @property
    def oracle(self) -> GraphOracle | Refused:
        """What the result is compared with: expected outputs, or a refusal."""
        refusal = self.graph.resolved
        return refusal if isinstance(refusal, Refused) else GraphOracle.of(self.graph)


def example_of(kind: DivergenceKind) -> Example:
    """The example of a kind; its outputs are computed by hand."""
    entry = read_table("examples.yaml")[kind.value]
    document, dtype = specification(entry.get("spec", DEFAULT)), entry.get("dtype", "float32")
    before, after = (_nodes(entry.get(side, ())) for side in ("before", "after"))
    context = MAX_POOL_ALONE
    if before or after or "initializer" in entry:
        context = Context(22, before, after, initializer="initializer" in entry)
    policies = entry.get("policies", {})
    graph = MaxPoolGraph(
        _tensor(entry["X"], dtype), context, document, entry["attributes"], override(document.policies, policies)
    )
    base = {name: _tensor(values, dtype if name == "Y" else "int64") for name, values in entry.get("base", {}).items()}
    variant = variant_named(entry["variant"])
    kinds = tuple(map(DivergenceKind, entry.get("kinds", ())))
    return Example(graph, policies, variant, _actual(entry, graph, variant), base or None, kinds)


def _actual(entry: Mapping[str, Any], graph: MaxPoolGraph, variant: Variant) -> Outcome:
    match entry:
        case {"refused": refusal}:
            return RefusedByTarget(**refusal)
        case {"crashed": how}:
            return Crashed(how, "")
        case {"timed_out": seconds}:
            return TimedOut(seconds)
    expected = {} if isinstance(graph.resolved, Refused) else GraphOracle.of(graph).expected
    dtypes = {"Y": expected["Y"].dtype.name if expected else graph.X.dtype.name, "Indices": "int64"}
    written = {name: _tensor(entry[name], dtypes[name]) for name in variant.outputs if name in entry}
    outputs, missing = {**expected, **written}, entry.get("missing", ())
    return Returned({name: outputs[name] for name in variant.outputs if name in outputs and name not in missing})


def _nodes(entries: Sequence[Mapping[str, Any]]) -> tuple[Node, ...]:
    return tuple(Node(entry["op"], {name: entry[name] for name in entry if name != "op"}) for entry in entries)


def _tensor(values: Any, dtype: str) -> np.ndarray:
    """N x C x D1 x ... x Dn, without whose leading axes of length 1 the values are written."""
    result = tensor(values, dtype, "an example")
    return result.reshape((1,) * (4 - result.ndim) + result.shape)
