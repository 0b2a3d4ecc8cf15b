"""What is found in a model without running it.

That is its MaxPool nodes, what is around them, the cases that test them, and the known defects that can reach them.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from maxpool_check.corpus.conditions import CaseFeatures
from maxpool_check.corpus.features import VALUE_WORDS
from maxpool_check.judging.defects import Conditions, Defect, Effect, Severity, Stated
from maxpool_check.judging.explaining import is_of_variant
from maxpool_check.models.cases import ALONE, CHAIN, GRAPH, CaseMaker, ModelCase, identifier
from maxpool_check.models.model_file import BadModel, UserModel
from maxpool_check.models.nodes import PoolNode, Surroundings, pool_nodes, surroundings
from maxpool_check.models.profile import ProfileFinding, open_points, profile
from maxpool_check.models.shapes import InferredTypes, at_sizes, inferred, types_by_graph
from maxpool_check.reference.pooling import Pooling
from maxpool_check.results.record import TargetDescription
from maxpool_check.results.variants import WITH_INDICES, Y_ONLY, Variant
from maxpool_check.specifications import specification
from maxpool_check.words import plural

REACHING = (Severity.WRONG_ON_FINITE, Severity.WRONG_ON_SPECIAL, Severity.CRASH, Severity.REFUSES_VALID, Severity.LIMIT)
"""The severities of defects that a valid node can show, and that are wrong."""

_REFUSING = (Severity.REFUSES_VALID, Severity.LIMIT)

_NEGATIVE = {"neg-inf", "lowest", "negative"}


@dataclass(frozen=True, eq=False)
class NodeAnalysis:
    """A MaxPool of a model, and what can be said of it without a runtime.

    ``profile`` is what it breaks of SONNX, ``open_points`` what its document leaves open there. ``maker`` makes its cases;
    None if no document judges it. ``cases`` are those that need no run of the model.
    """

    node: PoolNode
    around: Surroundings
    profile: tuple[ProfileFinding, ...]
    open_points: tuple[str, ...]
    maker: CaseMaker | None
    cases: tuple[ModelCase, ...]

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
        return "" if refused is None or document is None else f"{document.title} excludes it: {refused.message}"

    @property
    def is_never_negative(self) -> bool:
        """Whether no value below zero can reach the node in its model."""
        beyond = self.maker.beyond if self.maker is not None else None
        return self.around.is_behind_relu or (beyond is not None and beyond.is_behind_relu)

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
    values of its inputs that the user gives; None: random ones.
    """

    model: UserModel
    declared: InferredTypes
    tested: InferredTypes
    nodes: tuple[NodeAnalysis, ...]
    inputs: Mapping[str, np.ndarray] | None = None

    @property
    def notes(self) -> list[str]:
        """What a reader must know of the analysis, a sentence each."""
        notes, open_sizes = [self.declared.problem], "sizes that the model leaves open (*) are tested as"
        if self.tested.assumed:
            sizes = ", ".join(f"{name}={size}" for name, size in self.tested.assumed.items())
            # The first of them as the option gives it: a dimension with a name, or a whole input.
            name = next(iter(self.tested.assumed))
            source, _, axis = name.partition("[")
            known = self.tested.types.get(source) if axis else None
            shape = None if known is None else known.shape
            option = f"{name}=N" if shape is None else f"{source}={','.join(map(str, shape))}"
            notes.append(f"{open_sizes} {sizes}; --shape {option} sets them")
        elif any(each.node.is_open for each in self.nodes):
            notes.append(f"{open_sizes} they are given")
        for each in self.nodes:
            tested, shape = each.cases[0].case.X.shape if each.cases else None, each.node.tested.shape
            if tested not in (None, shape):
                cells = f"since {list(shape or ())} has too many cells"
                notes.append(f"{each.node.name}: tested as {list(tested or ())}, {cells}")
        return [*filter(None, [*notes, self.random_constants])]

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
    takes_models: bool = True,
) -> ModelAnalysis:
    """Analyse a model without running it.

    ``spec`` is ``sonnx`` for SONNX's definition of the nodes inside its profile. ``shapes`` are sizes of inputs, or of
    dimensions, by name. ``inputs`` are values of all inputs, whose sizes are then known. ``takes_models``: the targets take models. Raises :class:`BadModel`.
    """
    shapes = dict(shapes or {})
    for name, value in (inputs or {}).items():
        if shapes.setdefault(name, value.shape) != value.shape:
            raise BadModel(
                f"{model.path}: --shape gives the input '{name}' other sizes than --inputs, {list(value.shape)}"
            )
    by_model, at = inferred(model.proto, {}), at_sizes(model, shapes)
    given = InferredTypes(types_by_graph(model.proto), {})
    nodes = []
    for node in pool_nodes(model, by_model, at):
        place = node.scope.place
        around = surroundings(node, model, at.of(place), by_model.of(place))
        document = node.document
        if spec == "sonnx" and document is not None and node.opset >= 22:
            profile_of_onnx = specification(spec)
            is_inside = isinstance(node.resolved(profile_of_onnx, node.tested), Pooling)
            document = profile_of_onnx if is_inside else document
        beyond = surroundings(node, model, at.of(place), by_model.of(place), with_pools=True)
        maker = None if document is None else CaseMaker(model, node, around, document, takes_models, beyond)
        findings = tuple(profile(node, model, given.of(place), at.of(place)))
        cases = () if maker is None else tuple(maker.cases())
        # A window as large as memory has no open points that anybody could look at.
        points = tuple(open_points(node, document)) if cases and document is not None else ()
        nodes.append(NodeAnalysis(node, around, findings, points, maker, cases))
    return ModelAnalysis(model, by_model, at, tuple(nodes), inputs)


def node_of(case: str) -> str:
    """The part of the id of a model's case that names the model and the node."""
    return case.rsplit("/", 2)[0]


@dataclass(frozen=True)
class Reach:
    """A known defect of a target that can reach a node, and the values that it needs, in words; empty: any.

    ``needs_negative``: among them are values below zero.
    """

    defect: Defect
    needs: str
    needs_negative: bool = False


def reaching(
    defects: Iterable[Defect],
    target: TargetDescription,
    features: Sequence[CaseFeatures],
    variants: Collection[Variant],
) -> list[Reach]:
    """The known defects of a target that can reach a node, whatever its values: the worst first.

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
        if reached:
            needs_negative = all(_needs_negative(defect.conditions, each.conditions) for each in reached)
            needs = dict.fromkeys(_needs(defect.conditions, each.conditions) for each in reached)
            widest = _needs(defect.conditions)
            result.append(Reach(defect, widest if widest in needs else " or ".join(needs), needs_negative))
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


def _needs_negative(*conditions: Conditions) -> bool:
    return any(
        _NEGATIVE & set(each.values) or (each.any_values and set(each.any_values) <= _NEGATIVE) for each in conditions
    )


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
