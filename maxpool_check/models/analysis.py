"""What is found in a model without running it.

That is its MaxPool nodes, what is around them, the cases that test them, and the known defects that can reach them.
"""

import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from maxpool_check.corpus.conditions import CaseFeatures
from maxpool_check.corpus.features import VALUE_WORDS
from maxpool_check.judging.defects import Conditions, Defect, Effect, Severity, Stated
from maxpool_check.judging.explaining import is_of_variant
from maxpool_check.models.cases import ALONE, CHAIN, GRAPH, CaseMaker, ModelCase, identifier
from maxpool_check.models.excluded import fix_of
from maxpool_check.models.model_file import BadModel, UserModel, label
from maxpool_check.models.nodes import PoolNode, Surroundings, pool_nodes, surroundings
from maxpool_check.models.profile import SEVERAL_SIZES, ProfileFinding, open_points, output_sizes, profile
from maxpool_check.models.ranges import Range, range_of_type, ranges
from maxpool_check.models.shapes import InferredTypes, TensorType, at_sizes, inferred, type_of, types_by_graph
from maxpool_check.reference.dtypes import lowest
from maxpool_check.reference.pooling import Pooling
from maxpool_check.results.record import Execution, TargetDescription
from maxpool_check.results.variants import WITH_INDICES, Y_ONLY, Variant
from maxpool_check.specifications import specification
from maxpool_check.words import plural

REACHING = (Severity.WRONG_ON_FINITE, Severity.WRONG_ON_SPECIAL, Severity.CRASH, Severity.REFUSES_VALID, Severity.LIMIT)
"""The severities of defects that a valid node can show, and that are wrong."""

_REFUSING = (Severity.REFUSES_VALID, Severity.LIMIT)


@dataclass(frozen=True, eq=False)
class NodeAnalysis:
    """A MaxPool of a model, and what can be said of it without a runtime.

    ``profile`` is what it breaks of SONNX, ``open_points`` what its document leaves open there. ``maker`` makes its cases;
    None if no document judges it. ``cases`` are those that need no run of the model. ``stored`` is the type of Y in the file.
    """

    node: PoolNode
    around: Surroundings
    profile: tuple[ProfileFinding, ...]
    open_points: tuple[str, ...]
    maker: CaseMaker | None
    cases: tuple[ModelCase, ...]
    stored: TensorType | None = None

    def points_with_results(self, executions: Iterable[Execution]) -> list[str]:
        """``open_points``; where outputs of several sizes are right, with the targets that have each size, and the file."""
        if self.maker is None or not any(each.startswith(SEVERAL_SIZES) for each in self.open_points):
            return [*self.open_points]
        owners, document = defaultdict[str, list[str]](list), self.maker.document
        for each in executions:
            sizes = output_sizes(self.node, document, each.interpretations)
            if len(sizes) == 1:
                owners[sizes[0]].append(each.target)
        if self.stored is not None and self.stored.shape is not None:
            stored = document.layout.sizes(self.stored.shape)[2:]
            owners["x".join(map(str, stored))].append("the shapes stored in the file")
        who = "; ".join(f"{size}: {', '.join(dict.fromkeys(of))}" for size, of in sorted(owners.items()))
        return [f"{each}; {who}" if who and each.startswith(SEVERAL_SIZES) else each for each in self.open_points]

    @property
    def tested_as(self) -> list[tuple[str, ...]]:
        """The operators of the graphs that it is tested in, besides alone."""
        return [*dict.fromkeys(each.case.context.operators for each in self.cases if each.case.context.has_nodes)]

    @property
    def contradicting_output(self) -> str:
        """That the file declares another shape of Y than follows; empty if it does not."""
        resolved, X = self.node.resolved(self.node.document, self.node.tested), self.node.tested.shape
        if not isinstance(resolved, Pooling) or X is None or self.stored is None or self.node.is_assumed:
            return ""
        Y = resolved.layout.arranged((*resolved.layout.sizes(X)[:2], *resolved.output_sizes))
        both = zip(self.stored.sizes or (), Y, strict=False)
        if all(not isinstance(stored, int) or stored == size for stored, size in both):
            return ""
        return (
            f"{self.node.name}: the file declares Y as {self.stored}; at the tested sizes, the node computes {list(Y)}"
        )

    @property
    def untested(self) -> str:
        """Why the node is not tested; empty if it is."""
        tested = self.node.tested
        if self.node.unjudged or self.excluded:
            return self.node.unjudged or self.excluded
        if tested.shape is not None and 0 in tested.shape:
            return f"its input has no cells: {tested}"
        if tested.is_undefined:
            return f"the element type of its input is {tested.dtype}"
        if not self.cases:
            return "its input or output is too large to be tested; --shape gives other sizes"
        return ""

    @property
    def excluded(self) -> str:
        """Why its document excludes the node, so that no runtime may execute it; empty if it does not."""
        refused, document = self.node.refused, self.node.document
        if refused is None or document is None:
            return ""
        fix = fix_of(self.node, refused)
        return f"{document.title} excludes it: {refused}" + (f". Fix: {fix}" if fix else "")

    @property
    def range(self) -> Range:
        """The values that can reach the node in its model."""
        return range_of_type(self.node.tested.dtype) if self.maker is None else self.maker.range(ALONE)

    @property
    def variants(self) -> tuple[Variant, ...]:
        """The variants in which the model executes the node: with Indices if it has them."""
        return (WITH_INDICES,) if self.node.indices is not None else (Y_ONLY,)

    @cached_property
    def features(self) -> tuple[CaseFeatures, ...]:
        """The features of one case of each way to test the node."""
        first = {case.how: case for case in reversed(self.cases)}
        return tuple(CaseFeatures(first[how].case) for how in (ALONE, GRAPH, CHAIN) if how in first)


@dataclass(frozen=True, eq=False)
class ModelAnalysis:
    """A model and its MaxPool nodes.

    ``declared`` and ``tested`` are the types of its tensors as it gives them, and at the sizes to test. ``inputs`` are the
    values of its inputs that the user gives; None: random ones. ``input_ranges`` are what the user says of inputs, and ``ranges``
    what follows for each tensor of the main graph.
    """

    model: UserModel
    declared: InferredTypes
    tested: InferredTypes
    nodes: tuple[NodeAnalysis, ...]
    inputs: Mapping[str, np.ndarray] | None = None
    input_ranges: Mapping[str, Range] = field(default_factory=dict)
    ranges: Mapping[str, Range] = field(default_factory=dict)

    @property
    def notes(self) -> list[str]:
        """What a reader must know of the analysis, a sentence each."""
        unsorted = (
            "" if self.model.is_sorted else "its nodes are not in the order that ONNX demands; some targets refuse it"
        )
        notes, open_sizes = [unsorted, self.declared.problem], "sizes that the model leaves open (*) are tested as"
        if self.tested.assumed:
            notes.append(f"{open_sizes} {self.chosen_sizes}; {self.shape_options} sets them")
        elif self.has_open_sizes:
            notes.append(f"{open_sizes} they are given")
        for each in self.nodes:
            if each.node.is_contradicted:
                notes.append(
                    f"{each.node.name}: the model declares its input as {each.node.declared}; from the inputs of the model"
                    f" follows {each.node.tested}, which is tested"
                )
            if each.contradicting_output:
                notes.append(each.contradicting_output)
            tested, shape = each.cases[0].case.X.shape if each.cases else None, each.node.tested.shape
            if tested not in (None, shape):
                cells = f"since {list(shape or ())} has too many cells"
                notes.append(f"{each.node.name}: tested as {list(tested or ())}, {cells}")
        return [*filter(None, [*notes, self.random_constants])]

    @property
    def has_open_sizes(self) -> bool:
        """Whether the model leaves open a size of an input of a node."""
        return bool(self.tested.assumed) or any(each.node.is_open for each in self.nodes)

    @property
    def has_open_inputs(self) -> bool:
        """Whether the model leaves open a size of one of its inputs."""
        return any(type_of(value.type).shape is None for value in self.model.inputs)

    @property
    def first_unbounded(self) -> str:
        """The first node that makes an unbounded tensor of bounded ones: it may overflow, or has no rule; empty if none does."""
        for node in self.model.proto.graph.node:
            made, taken = (
                [self.ranges[name] for name in names if name in self.ranges] for names in (node.output, node.input)
            )
            if taken and all(each.is_finite for each in taken) and not all(each.is_finite for each in made):
                return f"{node.op_type} '{label(node)}'"
        return ""

    @property
    def chosen_sizes(self) -> str:
        """The sizes that the model leaves open, with the numbers that were chosen for them."""
        return ", ".join(f"{name}={size}" for name, size in self.tested.assumed.items())

    @property
    def shape_options(self) -> str:
        """The options that set all open sizes: of a dimension with a name, or of a whole input."""
        options = []
        for name in self.tested.assumed:
            source, _, axis = name.partition("[")
            known = self.tested.types.get(source) if axis else None
            shape = None if known is None else known.shape
            options.append(f"{name}=N" if shape is None else f"{source}={','.join(map(str, shape))}")
        return " ".join(f"--shape {option}" for option in dict.fromkeys(options))

    @property
    def random_constants(self) -> str:
        """Which constants are random, since their values are missing and none are given; empty if none are."""
        missing = [name for name in self.model.missing if name not in (self.inputs or {})]
        if not missing:
            return ""
        count = plural(len(missing), "constant is random", "constants are random")
        return f"{count}, since the values are not there: '{missing[0]}': {self.model.missing[missing[0]]}"

    @cached_property
    def by_id(self) -> Mapping[str, NodeAnalysis]:
        """The nodes by the part of their cases' ids that comes before what is tested."""
        return {f"{identifier(self.model.name)}:{identifier(each.node.name)}": each for each in self.nodes}


def analyse(
    model: UserModel,
    *,
    spec: str = "onnx",
    shapes: Mapping[str, tuple[int, ...]] | None = None,
    inputs: Mapping[str, np.ndarray] | None = None,
    input_ranges: Mapping[str, Range] | None = None,
    takes_models: bool = True,
) -> ModelAnalysis:
    """Analyse a model without running it.

    ``spec`` is ``sonnx`` for SONNX's definition of the nodes inside its profile. ``shapes`` are sizes of inputs, or of
    dimensions, by name. ``inputs`` are values of all inputs, whose sizes are then known. ``input_ranges`` are the values that inputs can
    have, by name. ``takes_models``: the targets take models. Raises :class:`BadModel`.
    """
    shapes = dict(shapes or {})
    for name, value in (inputs or {}).items():
        if shapes.setdefault(name, value.shape) != value.shape:
            raise BadModel(
                f"{model.path}: --shape gives the input '{name}' other sizes than --inputs, {list(value.shape)}"
            )
    by_model, at = inferred(model.proto, {}), at_sizes(model, shapes)
    given = InferredTypes(types_by_graph(model.proto), {})
    nodes, pools = [], pool_nodes(model, by_model, at)
    filled = {node.output for node in pools if node.has_full_windows}
    known = ranges(model, at.types, _checked(model, input_ranges or {}, inputs or {}), filled)
    for node in pools:
        place = node.scope.place
        around = surroundings(node, model, at.of(place), by_model.of(place))
        document = node.document
        if spec == "sonnx" and document is not None and node.opset >= 22:
            profile_of_onnx = specification(spec)
            is_inside = isinstance(node.resolved(profile_of_onnx, node.tested), Pooling)
            document = profile_of_onnx if is_inside else document
        beyond = surroundings(node, model, at.of(place), by_model.of(place), with_pools=True)
        # Inside of another node, a tensor may have the name of one of another graph.
        inside = known if node.scope.outer is None else {}
        maker = None if document is None else CaseMaker(model, node, around, document, takes_models, beyond, inside)
        findings = tuple(profile(node, model, given.of(place), at.of(place)))
        cases = () if maker is None else tuple(maker.cases())
        # A window as large as memory has no open points that anybody could look at.
        points = tuple(open_points(node, document)) if cases and document is not None else ()
        stored = given.of(place).get(node.output)
        nodes.append(NodeAnalysis(node, around, findings, points, maker, cases, stored))
    return ModelAnalysis(model, by_model, at, tuple(nodes), inputs, input_ranges or {}, known)


def _checked(model: UserModel, given: Mapping[str, Range], inputs: Mapping[str, np.ndarray]) -> Mapping[str, Range]:
    """The ranges of inputs. Raises :class:`BadModel` for one of another name, and for values outside of it."""
    names = [value.name for value in model.inputs]
    for name, of in given.items():
        if name not in names:
            raise BadModel(f"{model.path}: --input-range names {name}; the inputs are {', '.join(names) or 'none'}")
        if name in inputs and not of.holds(inputs[name]):
            raise BadModel(f"{model.path}: --inputs has values of '{name}' outside of --input-range {name}={of}")
    return given


def node_of(case: str) -> str:
    """The part of the id of a model's case that names the model and the node."""
    return case.rsplit("/", 2)[0]


@dataclass(frozen=True)
class Reach:
    """A known defect of a target that can reach a node, and the values that it needs, in words; empty: any."""

    defect: Defect
    needs: str


def reaching(
    defects: Iterable[Defect],
    target: TargetDescription,
    features: Sequence[CaseFeatures],
    variants: Collection[Variant],
    values: Range,
) -> list[Reach]:
    """The known defects of a target that can reach a node with some of the ``values`` that can be there: the worst first.

    The node meets the conditions of the defect, and those of something that is expected of the target in a variant that the
    model executes. ``features`` are those of the cases of the node, ``variants`` the ways in which the model executes it. A
    defect without conditions says nothing of other graphs than its own cases.
    """
    disabled = {*str(target.session_options.get("disabled_optimizers", "")).split(",")}
    # What a session disables cannot show what disabling it repairs.
    possible = [
        each
        for each in defects
        if each.severity in REACHING
        and not each.conditions.refused
        and not any(remedy.optimizers and {*remedy.optimizers} <= disabled for remedy in each.remedies)
    ]
    refusing = [each for each in possible if each.severity in _REFUSING]
    # What the target refuses has no outputs that can be wrong.
    executed = [of for of in features if not any(_reached(each, target, [of], variants) for each in refusing)]
    result = []
    for defect in possible:
        reached = _reached(defect, target, features if defect.severity in _REFUSING else executed, variants)
        if reached := [each for each in reached if _may_be(values, features, defect.conditions, each.conditions)]:
            needs = dict.fromkeys(_needs(defect.conditions, each.conditions) for each in reached)
            widest = _needs(defect.conditions)
            result.append(Reach(defect, widest if widest in needs else " or ".join(needs)))
    return sorted(result, key=lambda reach: (reach.defect.severity.rank, reach.defect.id))


def _reached(
    defect: Defect, target: TargetDescription, features: Sequence[CaseFeatures], variants: Collection[Variant]
) -> list[Effect]:
    """The effects on the target whose conditions a node meets, whatever its values."""

    def meets_whatever_values(effect: Effect, of: CaseFeatures) -> bool:
        both = (defect.conditions, effect.conditions)
        return all(of.meets(replace(each, values=(), any_values=())) for each in both)

    return [
        effect
        for effect in defect.ways
        if effect.covers(target)
        and (defect.conditions.said or effect.conditions.said)
        and any(is_of_variant(defect, effect, variant) for variant in variants)
        and any(of.is_of(defect) and meets_whatever_values(effect, of) for of in features)
    ]


def _may_be(values: Range, features: Sequence[CaseFeatures], *conditions: Conditions) -> bool:
    """Whether all of these conditions can be met by values of a range."""
    least = min((float(lowest(of.case.X.dtype)) for of in features), default=-math.inf)
    absent = {
        "nan": not values.nan,
        "neg-inf": values.low > -math.inf,
        "pos-inf": values.high < math.inf,
        "lowest": values.low > least,
        "negative": values.low >= 0,
    }
    for each in conditions:
        if any(absent.get(str(value)) for value in each.values):
            return False
        if each.any_values and all(absent.get(str(value)) for value in each.any_values):
            return False
    return True


def _needs(*conditions: Conditions) -> str:
    """The values that are needed to meet all of these conditions, in words; empty: any."""
    required = dict.fromkeys(flag for each in conditions for flag in each.values)
    parts = list(map(_value_words, required))
    for each in conditions:
        is_narrowed = any(set(other.any_values) < set(each.any_values) for other in conditions if other.any_values)
        if each.any_values and not is_narrowed and not required.keys() & set(each.any_values):
            parts.append(" or ".join(map(_value_words, each.any_values)))
    return " and ".join(parts)


def _value_words(stated: Stated) -> str:
    """Values in words: those of a flag as reports call them, those of a rule as the rule says."""
    return VALUE_WORDS.get(str(stated), str(stated))
