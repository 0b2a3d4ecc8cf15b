"""Cases of a user's model: each MaxPool alone and with the nodes around it, at its real shape, with values of each sort."""

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from maxpool_check.corpus.case import Case, Origin
from maxpool_check.corpus.clauses import with_clauses
from maxpool_check.corpus.tensors import Recipe
from maxpool_check.corpus.writing import write_with_inputs
from maxpool_check.graphs.context import MAX_POOL_ALONE, Context
from maxpool_check.graphs.operators import NEWEST, OLDEST
from maxpool_check.models.model_file import UserModel
from maxpool_check.models.nodes import PoolNode, Surroundings
from maxpool_check.models.ranges import ANY, Range, range_of_type
from maxpool_check.models.shapes import MOST_CELLS
from maxpool_check.reference.dtypes import NUMPY, is_float
from maxpool_check.reference.pooling import Pooling
from maxpool_check.specifications.specification import Refused, Specification
from maxpool_check.words import Term

WRITTEN_BY = "Written by maxpool-check model --cases."
"""The first line of the files."""

FINITE, SPECIAL, FLOWS = "finite", "special", "flows"
"""The tags of cases: ordinary values; infinities, NaN, zeros of both signs and the lowest value; values that flow in the model."""

_LARGEST_BLOCK = 1024
"""The cells of the largest window that NaN fill."""


class Way(Term):
    """How a node is tested, as the ids of its cases say."""

    ALONE = "alone", "MaxPool alone, in the model's operator set where the target has operator sets"
    GRAPH = "graph", "MaxPool with the nodes around it that have one exact result"
    CHAIN = "chain", "MaxPool with the nodes around it, also beyond the next MaxPool"
    IN_PLACE = "in-place", "MaxPool in the model, with the tensors around it as further outputs"


ALONE, GRAPH, CHAIN, IN_PLACE = Way


@dataclass(frozen=True)
class ValueSort:
    """A sort of values; ``words`` says what they are, ``short`` says it in a table."""

    name: str
    tag: str
    words: str
    short: str = ""


VALUES = (
    ValueSort("distinct", FINITE, "different values of both signs"),
    ValueSort("negative", FINITE, "negative values"),
    ValueSort("ties", FINITE, "few values, with ties"),
    # Of integers, the lowest is a value like any other: the 0 of a quantized Relu.
    ValueSort("minimum", FINITE, "the lowest value of the type", "the lowest value"),
    ValueSort("lowest", SPECIAL, "the lowest value of the type", "the lowest value"),
    ValueSort("neg-inf", SPECIAL, "-inf", "-inf"),
    ValueSort("nan", SPECIAL, "NaN among ordinary values", "NaN"),
    ValueSort("extremes", SPECIAL, "infinities, zeros of both signs, subnormal and extreme values", "extremes"),
)
"""The values that each MaxPool is tested with."""

EXTREME = ("minimum", "lowest", "neg-inf", "nan", "extremes")
"""The sorts of values that are tested as far as they can be there: of the last, those that can."""

FLOWING = ValueSort("flows", FLOWS, "values that flow in the model")
"""The values that a model computes from its inputs."""


@dataclass(frozen=True, eq=False)
class ModelCase:
    """A case of a node, and the ``input`` that makes its X in a case file; None where X comes from the model."""

    case: Case
    fields: Mapping[str, Any] | None = None

    @property
    def how(self) -> str:
        """:data:`ALONE`, :data:`GRAPH` or :data:`IN_PLACE`."""
        return self.case.id.split("/")[-2]


@dataclass(frozen=True, eq=False)
class CaseMaker:
    """Makes the cases of one node, judged by ``document``.

    ``takes_models``: the targets take models, so that the operator set of the model counts. ``beyond`` are the nodes around it, if
    there are other MaxPool nodes among them. ``ranges`` are those of the tensors of the model, as far as they are known.
    """

    model: UserModel
    node: PoolNode
    around: Surroundings
    document: Specification
    takes_models: bool = True
    beyond: Surroundings | None = None
    ranges: Mapping[str, Range] = field(default_factory=dict)

    def range(self, how: str) -> Range:
        """The values that can get to the first of the nodes that are tested in this way."""
        around = {GRAPH: self.around, CHAIN: self.beyond}.get(Way(how))
        start = self.node.input if around is None else around.start
        return self.ranges.get(start, range_of_type(self.node.tested.dtype) if around is None else ANY)

    def cases(self) -> Iterator[ModelCase]:
        """The node alone, and with the nodes around it, with each sort of values that can be there.

        Values for which a node around MaxPool has no exact result are left to MaxPool alone. There are none if the document
        excludes the node, or its tensors are too large.
        """
        X, chain = self.node.tested, self.around.chain
        if X.shape is None or 0 in X.shape or X.dtype not in NUMPY or self.node.refused is not None:
            return
        if (shape := self._tested_shape(X.dtype, X.shape)) is None:
            return
        yield from self._of_values(ALONE, X.dtype, shape, self._alone())
        beyond = self.beyond.chain if self.beyond is not None and self.beyond.pools else None
        for how, each in ((GRAPH, chain), (CHAIN, beyond)):
            if each is not None and each.context.has_nodes and each.X.size <= MOST_CELLS:
                yield from self._of_values(how, each.X.dtype.name, each.X.shape, each.context)

    def _tested_shape(self, dtype: str, shape: tuple[int, ...]) -> tuple[int, ...] | None:
        """The shape to test MaxPool alone with; None if X or Y is too large all the same."""
        layout = self.document.layout
        sizes = list(layout.sizes(shape))
        for axis in range(2):
            # Of a larger tensor, fewer images and then channels.
            if (size := math.prod(sizes)) > MOST_CELLS:
                sizes[axis] = max(1, MOST_CELLS // (size // sizes[axis]))
        shape = layout.arranged(tuple(sizes))
        if math.prod(shape) > MOST_CELLS:
            return None
        pooling = self.document.resolve(self.node.attributes, dtype, shape)
        assert isinstance(pooling, Pooling)
        return shape if math.prod(filter(None, (*sizes[:2], *pooling.output_sizes))) <= MOST_CELLS else None

    def _of_values(self, how: str, dtype: str, shape: tuple[int, ...], context: Context) -> Iterator[ModelCase]:
        for values in VALUES:
            fields = self._fields(values.name, dtype, shape)
            if fields is None:
                continue
            X = Recipe(NUMPY[dtype], shape, fields=fields)
            if values.name in EXTREME and (of := self.range(how)) != ANY and not of.holds(X.tensor()):
                # Among others, a sort may have values that can be there.
                inside, is_mixed = of.clipped(X.tensor()), values.name in ("nan", "extremes")
                if not is_mixed or not of.holds(inside):
                    continue
                X, fields = Recipe.of(inside), None
            case = self.case(how, values, X, context)
            if how == ALONE or case.is_exact:
                yield ModelCase(case, fields)

    @property
    def without_nodes(self) -> "CaseMaker":
        """The same for MaxPool without the nodes around it."""
        return replace(self, around=Surroundings(self.node.input, self.node.output, (), (), None))

    def of_flow(self, X: np.ndarray) -> Iterator[ModelCase]:
        """The same with the tensor X that flows into the first of the nodes around MaxPool."""
        in_place = self.in_place(X) if X.size <= MOST_CELLS else None
        if in_place is None:
            return
        yield ModelCase(self.case(ALONE, FLOWING, Recipe.of(in_place.entering), self._alone()))
        if in_place.context.has_nodes:
            yield ModelCase(self.case(GRAPH, FLOWING, Recipe.of(X), in_place.context))

    def in_place(self, X: np.ndarray) -> Case | None:
        """The case of the node in the model, with the tensor X there; None where it has no exact result."""
        context = self._alone() if self.around.chain is None else self.around.context
        case = self.case(IN_PLACE, FLOWING, Recipe.of(X), context)
        return case if case.is_exact and not isinstance(case.resolved, Refused) else None

    @property
    def in_place_id(self) -> str:
        """The id of the case of the node in the model."""
        return self._id(IN_PLACE, FLOWING)

    def _id(self, how: str, values: ValueSort) -> str:
        return f"{identifier(self.model.name)}:{identifier(self.node.name)}/{how}/{values.name}"

    def case(self, how: str, values: ValueSort, X: Recipe, context: Context) -> Case:
        """A case of the node."""
        where = {
            ALONE: "alone",
            GRAPH: "with the nodes around it",
            CHAIN: "with the nodes around it, beyond the next MaxPool",
            IN_PLACE: "in the model",
        }[Way(how)]
        # In the model, Indices that nothing takes are none of its tensors.
        indices = self.node.used_indices if how == IN_PLACE else self.node.indices
        has_indices = bool(indices) and not context.uses_indices
        return Case(
            id=self._id(how, values),
            spec=self.document.name,
            X=X,
            attributes=dict(self.node.attributes),
            outputs=("Y", "Indices") if has_indices else ("Y",),
            policies=self.document.policies,
            title=f"{self.node.op} '{self.node.name}' {where}, {values.words}",
            tags=(values.tag,),
            origin=Origin(str(self.model.path), 0, 0),
            context=context,
        )

    def _alone(self) -> Context:
        """The context of MaxPool alone in the model's operator set; that of any where the targets or the document have none."""
        has_opset = self.document.onnx is not None and self.document.domain is None
        if not self.takes_models or not has_opset or not OLDEST <= self.model.opset <= NEWEST:
            return MAX_POOL_ALONE
        return Context(self.model.opset, is_replaceable=True)

    def _fields(self, values: str, dtype: str, shape: tuple[int, ...]) -> dict[str, Any] | None:
        """The ``input`` of a case file for a sort of values; None where the type does not have them."""
        size, floating, wide = math.prod(shape), is_float(NUMPY[dtype]), dtype in ("float32", "float64")
        special: dict[str, Any] = {}
        if floating:
            cells = [{"at": at, "to": math.nan} for at in self._nan_cells(shape)]
            special = {
                "lowest": {"fill": "lowest"},
                "neg-inf": {"fill": -math.inf},
                "nan": {"random": {"values": "ties", "seed": 1}, "set": cells},
            }
        negative = {"arange": {"start": -size, "step": 1}} if wide else {"fill": -2.5 if floating else -100}
        made = {
            "distinct": {"random": {"values": "distinct" if wide and size < 2**20 else "normal", "seed": 1}},
            "ties": {"random": {"values": "ties", "seed": 1}},
            "extremes": {"random": {"values": "special", "seed": 1}},
            "minimum": None if floating else {"fill": "lowest"},
            "negative": None if NUMPY[dtype].kind == "u" else negative,
            **special,
        }.get(values)
        return None if made is None else {"dtype": dtype, "shape": list(shape), **made}

    def _nan_cells(self, shape: tuple[int, ...]) -> list[list[int]]:
        """A block at the origin that fills a window (a corner of a large one), the cell in the middle, the last, and more cells.

        Windows have the latter in every place. They are in the first channels, elsewhere in each: a window may be all of X.
        """
        layout, kernel = self.document.layout, self.node.attributes.get("kernel_shape", ())
        _, channels, *spatial = layout.sizes(shape) if len(shape) > 2 else (0, 0)
        if 0 in shape or not spatial or len(kernel) != len(spatial):
            return []
        dilations = self.node.attributes.get("dilations") or [1] * len(kernel)
        extents = [min(size, (k - 1) * d + 1) for size, k, d in zip(spatial, kernel, dilations, strict=True)]
        if math.prod(extents) > _LARGEST_BLOCK:
            extents = [min(extent, 3) for extent in extents]
        block = np.ndindex(*extents)
        cells = {*block, tuple(size // 2 for size in spatial), tuple(size - 1 for size in spatial)}
        corner = np.ndindex(min(channels, 4), *(min(size, 12 if len(spatial) < 3 else 6) for size in spatial))
        weights = (3, *range(3, 2 * len(spatial) + 3, 2))
        spread = {cell for cell in corner if int(np.dot(weights, cell)) % max(8, math.prod(kernel)) == 0}
        return [list(layout.arranged((0, *cell))) for cell in sorted(spread | {(0, *cell) for cell in cells})]


def values_of(case: str) -> ValueSort:
    """The values of a case of a model, by its id."""
    name = case.rpartition("/")[2]
    return next((values for values in VALUES if values.name == name), FLOWING)


def is_special(case: str) -> bool:
    """Whether a case of a model, by its id, has special values."""
    return values_of(case).tag == SPECIAL


def identifier(name: str) -> str:
    """A name as a part of the id of a case, which has no spaces, colons or wildcards."""
    return "".join("-" if not char.isprintable() or char in " :*?[]" else char for char in name) or "-"


def write_cases(cases: Sequence[ModelCase], path: Path) -> dict[Path, int]:
    """Write cases to a file; those of another document than the first to a file beside it. The files, with the number of cases in each.

    Raises :class:`ForeignFile` for a file that something else has written, before anything is written.
    """
    groups: dict[str, list[tuple[Case, Mapping[str, Any]]]] = defaultdict(list)
    several = len({each.case.id.partition(":")[0] for each in cases}) > 1
    for case, fields in ((each.case, each.fields) for each in cases if each.fields is not None):
        model, _, name = case.id.partition(":")
        # The operator set decides which version of ONNX's document it is.
        document = "onnx" if not case.context.is_alone and case.spec.startswith("onnx-") else case.spec
        named = replace(case, id=f"{path.stem}:{f'{model}/' if several else ''}{name}")
        groups[document].append((with_clauses(named), fields))
    files: dict[Path, int] = {}
    for document, group in groups.items():
        file = path.with_name(f"{path.stem}-{document}{path.suffix}") if files else path
        about = f"MaxPool nodes of {', '.join(dict.fromkeys(Path(case.origin.path).name for case, _ in group))}"
        write_with_inputs(group, file, about, WRITTEN_BY)
        files[file] = len(group)
    return files
