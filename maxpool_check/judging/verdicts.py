"""The verdict on one execution, with its evidence: by the document, and compared with that of another variant."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from maxpool_check.judging.comparison import MOST_CELLS, WrongOutput, allowed_differences, compare
from maxpool_check.judging.graph_oracle import GraphOracle
from maxpool_check.judging.kinds import DESCRIPTIONS, DivergenceKind
from maxpool_check.judging.oracle import Oracle
from maxpool_check.judging.windows import empty_sizes, is_truncated_division, wrong_geometries, wrong_shapes
from maxpool_check.judging.wrong_cells import WrongCells
from maxpool_check.reference.dtypes import identical, name_of, same
from maxpool_check.reference.geometry import Axis
from maxpool_check.results.details import AllowedDifference, Cause, Cell, InferredOutput, WrongShape
from maxpool_check.results.outcomes import Failed
from maxpool_check.results.record import Verdict
from maxpool_check.results.variants import OTHER_KERNELS, Variant
from maxpool_check.specifications.specification import Refused

_ALLOWED = (Verdict.CONFORMS, Verdict.UNDEFINED, Verdict.INCONSISTENT)
"""The verdicts on outputs that the document allows."""

ACCEPTED = "accepted"
"""How the message on a graph begins that was accepted, and of whose outputs nothing was said."""

_Expected = tuple[str, tuple[int, ...]]
"""The dtype and the shape of an output by one interpretation of the document."""


@dataclass(frozen=True)
class Judgement:
    """The verdict on one execution, with its evidence; it has no truth value, so that no test asserts it by mistake.

    ``wrong`` are the wrong cells, ``apart`` the cells that differ from a variant that it must agree with. ``information`` names
    differences that the document allows. ``limit``: the refusal is one that runtimes declare or
    commonly have. ``interpretations`` gives, by point that the document leaves open, the interpretations that the outputs
    agree with; ``differences`` are cells in which conforming outputs differ from the reference's. ``causes`` are all
    mistakes that explain the outputs, or one. ``shapes`` are those of outputs of the wrong shape. ``traceback`` is that of an
    exception in the judge itself.
    """

    verdict: Verdict
    kinds: tuple[DivergenceKind, ...] = ()
    message: str = ""
    wrong: WrongCells | None = None
    apart: WrongCells | None = None
    information: tuple[DivergenceKind, ...] = ()
    limit: bool = False
    interpretations: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    differences: tuple[AllowedDifference, ...] = ()
    causes: tuple[Cause, ...] = ()
    shapes: Mapping[str, WrongShape] = field(default_factory=dict)
    traceback: str = ""

    def __bool__(self) -> bool:
        raise TypeError(f"a Judgement is neither true nor false (this one: {self.verdict}); compare .verdict")

    @classmethod
    def of_failure(cls, failed: Failed) -> "Judgement":
        """Nothing is said about the target."""
        return cls(Verdict.ERROR, message=failed.why, traceback=failed.traceback)

    @property
    def counts(self) -> dict[str, int]:
        """The number of cells of each kind that is about cells."""
        return {kind: count for each in (self.wrong, self.apart) if each for kind, count in each.counts.items()}

    @property
    def cells(self) -> tuple[Cell, ...]:
        """Some of the cells: of every kind that is wrong, or, where it differs from the other variant, at least one of these."""
        wrong, apart = (each.shown if each else () for each in (self.wrong, self.apart))
        return (*wrong[: MOST_CELLS - 1], *apart)[:MOST_CELLS] if apart else wrong


def judge_outputs(oracle: Oracle, names: tuple[str, ...], outputs: Mapping[str, np.ndarray]) -> Judgement:
    """Judge the outputs of a MaxPool, of which those of these names were requested."""
    comparison = compare(oracle, outputs, names)
    # The alternative that agrees, or the nearest.
    oracle = comparison.oracle
    judgement = Judgement(
        Verdict.CONFORMS, information=_kinds(comparison.information), interpretations=comparison.interpretations
    )
    if comparison.identical:
        return judgement
    requested = {name: outputs[name] for name in names if name in outputs}
    if comparison.wrong:
        cells = WrongCells(oracle, comparison.wrong, outputs)
        messages = [wrong.message for wrong in comparison.wrong if wrong.cells is None]
        return replace(
            judgement,
            verdict=Verdict.DIVERGES,
            kinds=comparison.kinds,
            message="; ".join(messages) or str(cells.shown[0]),
            wrong=cells,
            causes=comparison.causes,
            shapes=wrong_shapes(oracle, {name: tensor.shape for name, tensor in requested.items()}, comparison.kinds),
        )
    judgement = replace(judgement, differences=allowed_differences(oracle, requested))
    if comparison.mixed:
        # Each cell is allowed, all of them together follow no rule.
        cells = WrongCells(oracle, comparison.mixed, outputs)
        kinds, message = _kinds(comparison.mixed), str(cells.shown[0])
        return replace(judgement, verdict=Verdict.INCONSISTENT, kinds=kinds, message=message, apart=cells)
    if oracle.has_undefined:
        count, size = int(oracle.pooled.undefined.sum()), oracle.pooled.undefined.size
        message = f"{count} of {size} windows hold no cell of X" + ("; the rest is right" if count < size else "")
        return replace(judgement, verdict=Verdict.UNDEFINED, message=message)
    return judgement


def judge_variation(
    oracle: GraphOracle,
    variant: Variant,
    base_judgement: Judgement,
    judgement: Judgement,
    base: Mapping[str, np.ndarray],
    varied: Mapping[str, np.ndarray],
) -> Judgement:
    """The judgement on a variant, by its outputs and those of the variant that it must agree with."""
    base, varied = oracle.pair_of_maxpool(base, varied)
    compare_outputs = _variation_differences if variant.variation else _defensible_differences
    differences = compare_outputs(oracle, variant, base, varied)
    if not differences or Verdict.ERROR in (base_judgement.verdict, judgement.verdict):
        return judgement
    if variant.variation in OTHER_KERNELS and not {base_judgement.verdict, judgement.verdict} <= {*_ALLOWED}:
        # The one that is wrong diverges from the reference.
        return judgement
    verdict = Verdict.DIVERGES
    if any(difference.kind is DivergenceKind.UNSTABLE for difference in differences):
        verdict = Verdict.UNSTABLE
    # Y with Indices and Y alone are compared only where the document allows both.
    elif judgement.verdict in _ALLOWED and (variant.variation is None or base_judgement.verdict in _ALLOWED):
        verdict = Verdict.INCONSISTENT
    return replace(_with_differences(oracle, judgement, differences, base, varied), verdict=verdict)


def _defensible_differences(
    oracle: Oracle, _: Variant, with_indices: Mapping[str, np.ndarray], y_only: Mapping[str, np.ndarray]
) -> tuple[WrongOutput, ...]:
    """Where two Y differ that both conform: in their shape, or in some cells."""
    a, b = with_indices.get("Y"), y_only.get("Y")
    if a is None or b is None or identical(a, b) or {a.dtype, b.dtype} != {oracle.dtype("Y")}:
        return ()
    oracles = {alternative.shape: alternative for alternative in reversed(oracle.alternatives)}
    if a.shape not in oracles or b.shape not in oracles:
        return ()
    if a.shape != b.shape:
        return (WrongOutput("Y", DivergenceKind.Y_DEPENDS_ON_INDICES, None, _otherwise("Y", b, a)),)
    oracle = oracles[a.shape]
    a, b = oracle.pooling.layout.to_core(a), oracle.pooling.layout.to_core(b)
    # Also in windows without a cell of X: where the document gives no result, there must be only one.
    differ = ~same(a, b)
    if differ.any():
        differ &= oracle.acceptable(a) & oracle.acceptable(b)
    return (WrongOutput("Y", DivergenceKind.Y_DEPENDS_ON_INDICES, differ),) if differ.any() else ()


def _variation_differences(
    oracle: Oracle, variant: Variant, base: Mapping[str, np.ndarray], varied: Mapping[str, np.ndarray]
) -> tuple[WrongOutput, ...]:
    """Where the outputs of a variation differ from those of its base, whether either is right or not."""
    differences = []
    for name in variant.outputs:
        a, b = base.get(name), varied.get(name)
        if a is None or b is None or identical(a, b):
            continue
        kind = DivergenceKind.UNSTABLE
        if variant.variation and variant.variation.subject:
            prefix = "y-depends-on" if name == "Y" else "indices-depend-on"
            kind = DivergenceKind(f"{prefix}-{variant.variation.subject}")
        differ = None
        if a.shape == b.shape and a.dtype == b.dtype and a.ndim == len(oracle.shape):
            differ = ~same(oracle.pooling.layout.to_core(a), oracle.pooling.layout.to_core(b))
        if differ is None or differ.any():
            # Cells are shown only if the windows are known.
            cells = differ if a.shape == oracle.shape else None
            differences.append(WrongOutput(name, kind, cells, _otherwise(name, b, a)))
    return tuple(differences)


def _otherwise(name: str, varied: np.ndarray, base: np.ndarray) -> str:
    shapes = (f"{tensor.dtype.name}{list(tensor.shape)}" for tensor in (varied, base))
    return f"{name} is {', and otherwise '.join(shapes)}"


def _with_differences(
    oracle: Oracle,
    judgement: Judgement,
    differences: tuple[WrongOutput, ...],
    base: Mapping[str, np.ndarray],
    varied: Mapping[str, np.ndarray],
) -> Judgement:
    """The judgement on a variant with its differences from the variant that it is compared with."""
    shape = base[differences[0].output].shape
    oracle = next((alternative for alternative in oracle.alternatives if alternative.shape == shape), oracle)
    apart = WrongCells(oracle, differences, varied, instead=base)
    message = str(apart.shown[0]) if apart.shown else "; ".join(difference.message for difference in differences)
    if judgement.verdict is Verdict.INCONSISTENT:
        # The other variant shows the inconsistency of its cells as well, and more.
        judgement = replace(judgement, kinds=(), message="")
    return replace(
        judgement,
        kinds=tuple(sorted({*judgement.kinds, *_kinds(differences)})),
        message=judgement.message or message,
        apart=apart,
    )


def _kinds(wrong: Sequence[WrongOutput]) -> tuple[DivergenceKind, ...]:
    return tuple(sorted({output.kind for output in wrong}))


def judge_accepted(oracle: Oracle | Refused) -> Judgement:
    """Judge a target that accepted a graph and says nothing of its outputs."""
    if not isinstance(oracle, Refused):
        return Judgement(Verdict.CONFORMS, message=ACCEPTED)
    judgement = judge_excluded(oracle, ACCEPTED)
    return replace(judgement, message=f"{ACCEPTED}; {judgement.message}") if oracle.is_open else judgement


def judge_excluded(refused: Refused, result: str, shape: tuple[int, ...] | None = None) -> Judgement:
    """Judge what a target made of a graph that the document excludes; ``shape`` is that of its Y."""
    if refused.is_open:
        return Judgement(Verdict.UNDEFINED, message=f"the document gives the graph no meaning: {refused}")
    kinds = [DivergenceKind.ACCEPTS_INVALID]
    geometry = [Axis(n, k, s, d, b, e, 0) for n, k, s, d, b, e in refused.axes]
    if shape is not None and is_truncated_division(geometry, shape):
        kinds.append(DivergenceKind.TRUNCATED_DIVISION)
    message = f"{result}; the document excludes the graph ({refused.reason.value}): {refused}"
    return Judgement(Verdict.DIVERGES, tuple(kinds), message)


def judge_inferred(oracle: GraphOracle | Refused, variant: Variant, outputs: Mapping[str, InferredOutput]) -> Judgement:
    """Judge what a target infers of the outputs: wrong if anything that it knows is, unknown if it does not know all."""
    names = [*variant.outputs, *([] if isinstance(oracle, Refused) else oracle.graph.context.side_outputs)]
    inferred = {name: outputs.get(name, InferredOutput(dtype=None, shape=None)) for name in names}
    if isinstance(oracle, Refused):
        if not oracle.is_open and all(output.shape is None for output in inferred.values()):
            message = f"neither refused nor inferred, though the document excludes the graph ({oracle.reason.value})"
            return Judgement(Verdict.UNKNOWN, message=message)
        result = ", ".join(f"{name} {output}" for name, output in inferred.items())
        return judge_excluded(oracle, f"inferred {result}", inferred["Y"].sizes if "Y" in inferred else None)
    interpretations = [(each, _wrong(each, inferred)) for each in _expected(oracle)]
    expected, wrong = min(interpretations, key=lambda each: len(each[1]))
    if wrong:
        return _judge_wrong(oracle, inferred, expected, wrong)
    unknown = [f"{_unknown(output)} of {name}" for name, output in inferred.items() if not output.is_known]
    return Judgement(Verdict.UNKNOWN, message="; ".join(unknown)) if unknown else Judgement(Verdict.CONFORMS)


def _judge_wrong(
    oracle: GraphOracle,
    inferred: Mapping[str, InferredOutput],
    expected: Mapping[str, _Expected],
    wrong: Mapping[str, DivergenceKind],
) -> Judgement:
    kinds: tuple[DivergenceKind, ...] = tuple(sorted({*wrong.values()}))
    shapes = {name: sizes for name in wrong if (sizes := inferred[name].sizes) is not None}
    causes: list[DivergenceKind] = []
    if kinds == (DivergenceKind.SHAPE,) and not oracle.moves and len(shapes) == len(wrong):
        causes = _mistakes(oracle, next(iter(shapes.values()))) if len({*shapes.values()}) == 1 else []
        kinds = tuple(causes) if len(causes) == 1 else kinds
    if oracle.moves:
        wrong_sizes = {
            name: WrongShape(expected=expected[name][1], got=shape)
            for name, shape in shapes.items()
            if shape != expected[name][1]
        }
    else:
        wrong_sizes = wrong_shapes(oracle, shapes, kinds)
    message = "; ".join(
        f"{name} is inferred as {inferred[name]}, expected {dtype}{list(shape)}"
        for name, (dtype, shape) in ((name, expected[name]) for name in wrong)
    )
    no_cells = tuple(Cause(kind=kind, output=None, cells=0) for kind in causes)
    return Judgement(Verdict.DIVERGES, kinds, message, causes=no_cells, shapes=wrong_sizes)


def _mistakes(oracle: Oracle, shape: tuple[int, ...]) -> list[DivergenceKind]:
    """The mistakes each of which gives the outputs this shape."""
    pooling, layout = oracle.pooling, oracle.pooling.layout
    if len(shape) != len(oracle.shape) or layout.sizes(shape)[:2] != layout.sizes(oracle.shape)[:2]:
        return []
    if is_truncated_division(pooling.geometry, shape):
        return [DivergenceKind.TRUNCATED_DIVISION]
    outputs = [(kind, tuple(axis.output for axis in axes)) for kind, axes in wrong_geometries(pooling).wrong]
    fitting = (kind for kind, sizes in [*outputs, *empty_sizes(pooling)] if sizes == layout.sizes(shape)[2:])
    return [kind for kind in dict.fromkeys(fitting) if not DESCRIPTIONS[kind].cause_only]


def _expected(oracle: GraphOracle) -> Iterator[dict[str, _Expected]]:
    """The dtypes and shapes by each interpretation of the document. Only a graph whose nodes move cells is computed."""
    # What has no function behind it has the dtype of X, without computing it.
    dtype = name_of(oracle.X.dtype if oracle.pooling.activation is None else oracle.dtype("Y"))
    for each in oracle.graphs if oracle.moves else oracle.alternatives:
        outputs = {"Y": (dtype, each.shape), "Indices": (oracle.pooling.numbering.dtype, each.shape)}
        if isinstance(each, GraphOracle) and oracle.moves:
            outputs["Y"] = name_of(each.output.dtype), each.output.shape
        for name, number in oracle.graph.context.side_outputs.items():
            tensor = oracle.X if number is None else oracle.graph.flow[number]
            outputs[name] = name_of(tensor.dtype), each.shape if number is None else tensor.shape
        yield outputs


def _wrong(expected: Mapping[str, _Expected], inferred: Mapping[str, InferredOutput]) -> dict[str, DivergenceKind]:
    """What is wrong with what is known of outputs, by name."""
    wrong = {}
    for name, output in inferred.items():
        dtype, shape = expected[name]
        if output.dtype not in (None, dtype):
            wrong[name] = DivergenceKind.DTYPE
        elif output.shape is not None and (
            len(output.shape) != len(shape)
            or any(size not in (None, due) for size, due in zip(output.shape, shape, strict=True))
        ):
            wrong[name] = DivergenceKind.SHAPE
    return wrong


def _unknown(inferred: InferredOutput) -> str:
    """What is not known of an output."""
    if inferred.shape is None:
        return "unknown shape" if inferred.dtype is not None else "unknown dtype and shape"
    return "unknown sizes" if inferred.dtype is not None else "unknown dtype"
