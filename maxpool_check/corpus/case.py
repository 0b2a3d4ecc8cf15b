"""A case: one input, its attributes, the document that defines the result, and what is expected of it."""

import hashlib
import json
import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from maxpool_check.corpus.problems import Problem
from maxpool_check.corpus.tensors import MOST_TOGETHER, Recipe
from maxpool_check.graphs.context import MAX_POOL_ALONE, Context, GraphModel, MaxPoolGraph
from maxpool_check.graphs.node import Inexact
from maxpool_check.judging.comparison import compare
from maxpool_check.judging.graph_oracle import GraphOracle
from maxpool_check.judging.wrong_cells import WrongCells
from maxpool_check.reference.dtypes import identical, name_of
from maxpool_check.reference.policies import Policies
from maxpool_check.reference.pooling import Pooling
from maxpool_check.results.variants import DEFAULT_VARIANTS, Variant, variants_of
from maxpool_check.specifications import specification
from maxpool_check.specifications.specification import Reason, Refused, Specification

_FEW_CELLS = 512
"""What is computed of a case is kept if no tensor has more cells: it takes no more than about 20 kB."""


@dataclass(frozen=True, eq=False)
class Values:
    """Printed outputs; None where one is not printed. ``Y`` has the dtype of X, ``Indices`` int64."""

    Y: np.ndarray | None
    Indices: np.ndarray | None


@dataclass(frozen=True)
class Shape:
    """The printed shape of the outputs."""

    shape: tuple[int, ...]


@dataclass(frozen=True)
class Refusal:
    """The graph must be refused, for this reason."""

    reason: Reason


@dataclass(frozen=True)
class Undefined:
    """The document does not define the result."""

    what: str


Expectation = Values | Shape | Refusal | Undefined


@dataclass(frozen=True)
class Origin:
    """The place of a case: file, line and column, counted from 1."""

    path: str
    line: int
    column: int


@dataclass(frozen=True, eq=False, repr=False)
class Case:
    """A document, attributes, an input, the requested outputs, and what is expected of them.

    ``id`` is the full id, e.g. ``sonnx/float:float-example-3``. ``spec`` is the document's name. ``X`` makes the input, which
    has the document's layout. ``policies`` are the document's, with the overrides of the case. ``provenance`` names the suite, version and
    file of an imported case. ``context`` is the graph around the MaxPool.
    """

    id: str
    spec: str
    X: Recipe
    attributes: Mapping[str, Any]
    outputs: tuple[str, ...]
    policies: Policies
    title: str = ""
    covers: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    expect: Expectation | None = None
    erratum: str | None = None
    origin: Origin = Origin("", 0, 0)
    provenance: Mapping[str, str] = field(default_factory=dict)
    context: Context = MAX_POOL_ALONE

    def __repr__(self) -> str:
        X = f"{self.X.dtype.name}{list(self.X.shape)}"
        return f"Case({', '.join([self.id, self.spec, X, *(f'{name}={value}' for name, value in self.attributes.items())])})"

    def __getstate__(self) -> dict[str, Any]:
        """The fields: what was computed of them is computed again where it is needed."""
        return {each.name: getattr(self, each.name) for each in fields(self)}

    def described(self, **fields: Any) -> "Case":
        """The case with other fields that have no part in its result; what was computed of it is not computed again."""
        other = replace(self, **fields)
        for name, value in vars(self).items():
            vars(other).setdefault(name, value)
        return other

    @property
    def name(self) -> str:
        """The id inside its file."""
        return self.id.rpartition(":")[2]

    @property
    def specification(self) -> Specification:
        """The document that defines the result."""
        return specification(self.spec)

    @property
    def graph(self) -> MaxPoolGraph:
        """The graph of the case."""
        return self._computed.graph

    @property
    def _computed(self) -> "_Computed":
        kept = vars(self).get("_kept")
        if kept is None:
            kept = _of_last_cases(self)
            if kept.is_small:
                vars(self)["_kept"] = kept
        return kept

    def model(self, outputs: tuple[str, ...]) -> GraphModel:
        """The ONNX model of the graph with these outputs. Raises ``Inexact`` for a node that its operator set does not have."""
        if outputs not in self.models:
            from maxpool_check.graphs.model import build  # brings onnx, which most runs do not need

            self.models[outputs] = build(self.graph, outputs)
        return self.models[outputs]

    @cached_property
    def models(self) -> dict[tuple[str, ...], GraphModel]:
        """Models of the graph that were built before, by their outputs."""
        return {}

    @property
    def entering(self) -> np.ndarray:
        """The tensor that enters MaxPool: X, or what the nodes before MaxPool make of it."""
        return self.graph.entering

    @cached_property
    def resolved(self) -> Pooling | Refused:
        """The pooling that the document defines, or its refusal."""
        return self.graph.resolved

    def variants(self, selected: Collection[Variant] = DEFAULT_VARIANTS) -> tuple[Variant, ...]:
        """The selected variants that apply to the case, in order of execution."""
        return variants_of(
            self.outputs,
            self.specification.domain,
            frozenset(selected),
            is_graph=not self.context.is_alone,
            dtype=name_of(self.X.dtype) if self.context.is_alone else None,
        )

    def oracle(self) -> GraphOracle | Refused:
        """What judges the outputs: the oracle, or the refusal if the document excludes the graph."""
        return self._computed.oracle if isinstance(self.resolved, Pooling) else self.resolved

    def check_exact(self) -> np.dtype:
        """The dtype of the output Y. Raises ``Inexact`` if a node around MaxPool has no exact and unique result."""
        if not isinstance(self.resolved, Pooling) or not self.context.has_nodes:
            return self.entering.dtype
        # Under every interpretation that the document leaves open.
        return self._computed.oracle.check_exact().dtype

    @property
    def is_exact(self) -> bool:
        """Whether each node around MaxPool has an exact and unique result; so it is without such nodes."""
        try:
            self.check_exact()
        except Inexact:
            return False
        return True

    @cached_property
    def sha256(self) -> str:
        """The digest of everything that determines the result; cases with equal digests are equivalent."""
        content = {
            "spec": self.spec,
            "attributes": self.attributes,
            "dtype": name_of(self.X.dtype),
            "shape": self.X.shape,
            "outputs": self.outputs,
            "policies": self.policies.names(),
            **({} if self.context.is_alone else {"context": self.context.data()}),
        }
        digest = hashlib.sha256(json.dumps(content, sort_keys=True).encode())
        digest.update(self.X.tensor().tobytes())
        return digest.hexdigest()


class _Computed:
    """What is computed of a case: kept with the case if it is small, and else while the case is executed."""

    def __init__(self, case: Case) -> None:
        self.graph = MaxPoolGraph(case.X.tensor(), case.context, case.specification, case.attributes, case.policies)

    @cached_property
    def oracle(self) -> GraphOracle:
        resolved = self.graph.resolved
        return GraphOracle.of(self.graph, resolved if isinstance(resolved, Pooling) else None)

    @property
    def is_small(self) -> bool:
        """Whether neither the tensors of the graph nor those of the oracle have many cells."""
        resolved, tensors = self.graph.resolved, [self.graph.X, *self.graph.flow]
        planes = math.prod(self.graph.entering.shape[:2])
        outputs = planes * math.prod(resolved.output_sizes) if isinstance(resolved, Pooling) else 0
        return not self.graph.context.after and max(outputs, *(each.size for each in tensors)) <= _FEW_CELLS


_of_last_cases = lru_cache(MOST_TOGETHER)(_Computed)


def disagreements(case: Case, *, of_document: bool = True) -> list[str]:
    """Differences between the expectation of a case and the reference, in words, whether or not it has an erratum.

    ``of_document``: the values are those that a document or another suite prints, not the user's own.
    """
    expect, resolved = case.expect, case.resolved
    if expect is None:
        return []
    if not isinstance(resolved, Pooling):
        actual = f"refused as {resolved.reason.value}: {resolved}"
        if not isinstance(expect, Refusal):
            return [f"expects outputs, but the graph is {actual}"]
        same = resolved.reason is expect.reason
        return [] if same else [f"expects the refusal {expect.reason.value}, but it is {actual}"]
    if isinstance(expect, Refusal):
        return [f"expects a refusal ({expect.reason.value}), but {case.specification.title} allows the graph"]
    oracle = case.oracle()
    assert isinstance(oracle, GraphOracle)
    if isinstance(expect, Undefined):
        return (
            []
            if oracle.has_undefined
            else ["expects windows without a result, but the document gives each of them one"]
        )
    if isinstance(expect, Values):
        return _value_differences(oracle, expect, of_document=of_document)
    same = expect.shape == oracle.output.shape
    return [] if same else [f"expects the shape {list(expect.shape)}, the reference has {list(oracle.output.shape)}"]


def _value_differences(oracle: GraphOracle, expect: Values, *, of_document: bool) -> list[str]:
    # What a document prints, or what follows from a sentence of it.
    value = f": {'the case' if of_document else 'your file'} expects"
    shape = f"{value} the shape"
    printed = {name: value for name, value in (("Y", expect.Y), ("Indices", expect.Indices)) if value is not None}
    if expect.Indices is not None:
        # A document prints numbers; its attributes define whether they have 32 or 64 bits.
        narrow = expect.Indices.astype(oracle.dtype("Indices"))
        printed["Indices"] = narrow if (narrow == expect.Indices).all() else expect.Indices
    if all(name in oracle.expected and identical(tensor, oracle.expected[name]) for name, tensor in printed.items()):
        return []
    if wrong := [each.message for each in oracle.wrong_outputs(printed, tuple(printed)) if each.output in printed]:
        return wrong
    printed = oracle.of_maxpool(printed)
    compared = compare(oracle, printed, tuple(printed))
    shapes = [
        f"{wrong.output}{shape} {list(printed[wrong.output].shape)}, the reference has {list(compared.oracle.shape)}"
        for wrong in compared.wrong
        if wrong.cells is None
    ]
    return shapes + [
        f"{cell.output}{list(cell.at)}{value} {cell.got}, the reference has {cell.expected}"
        + (f" (its window holds {' '.join(cell.values)})" if cell.values else "")
        for cell in WrongCells(compared.oracle, compared.wrong, printed).shown
    ]


def contradictions(case: Case) -> list[Problem]:
    """The :func:`disagreements` of a case without an erratum, as problems of its file.

    A case that its document excludes must expect the refusal.
    """
    path, line, column = case.origin.path, case.origin.line, case.origin.column
    if case.expect is None and isinstance(case.resolved, Refused):
        reason = case.resolved.reason.value
        message = (
            f"{case.id}: {case.specification.title} excludes the graph: {case.resolved}; "
            f"if that is intended, write expect: {{refuse: {reason}}}"
        )
        return [Problem(path, line, column, message)]
    if case.erratum is not None:
        return []
    # Files of other suites are imported and not corrected.
    is_foreign = path.endswith((".onnx", ".json"))
    remedy = "import it, which adds an erratum" if is_foreign else "correct it, or explain it in 'erratum'"
    differences = disagreements(case, of_document=is_foreign)
    return [Problem(path, line, column, f"{case.id} {text}; {remedy}") for text in differences]
