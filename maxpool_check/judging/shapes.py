"""Shapes of outputs: which axes of a wrong one differ, by which formulas, and what is inferred or accepted without outputs."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace

from maxpool_check.judging.graph_oracle import GraphOracle
from maxpool_check.judging.hypotheses import is_truncated_division
from maxpool_check.judging.judgement import Judgement
from maxpool_check.judging.kinds import DivergenceKind
from maxpool_check.judging.mistakes import empty_sizes, wrong_geometries
from maxpool_check.judging.oracle import Oracle
from maxpool_check.reference import geometry as rules
from maxpool_check.reference.dtypes import name_of
from maxpool_check.reference.geometry import Axis, Placement
from maxpool_check.results.details import Cause, InferredOutput, WrongAxis, WrongShape
from maxpool_check.results.record import Verdict
from maxpool_check.results.variants import Variant
from maxpool_check.specifications.specification import Refused

ACCEPTED = "accepted"
"""How the message on a graph begins that was accepted, and of whose outputs nothing was said."""

_NOTHING = InferredOutput(dtype=None, shape=None)

_CLIPPED = " less the window that would begin in the end padding"

_Expected = tuple[str, tuple[int, ...]]
"""The dtype and the shape of an output by one interpretation of the document."""

_Formula = tuple[str, str, str]
"""How it rounds, what it rounds, and what follows."""


def wrong_shapes(
    oracle: Oracle, shapes: Mapping[str, tuple[int, ...]], kinds: Collection[DivergenceKind]
) -> dict[str, WrongShape]:
    """The ``shapes`` of outputs that are not the reference's; ``kinds`` are those of the divergence."""
    wrong = {}
    for name, shape in shapes.items():
        if shape != oracle.shape:
            axes = tuple(_wrong_axes(oracle, shape, kinds)) if len(shape) == len(oracle.shape) else ()
            wrong[name] = WrongShape(expected=oracle.shape, got=shape, axes=axes)
    return wrong


def _wrong_axes(oracle: Oracle, shape: tuple[int, ...], kinds: Collection[DivergenceKind]) -> Iterator[WrongAxis]:
    pooling, layout = oracle.pooling, oracle.pooling.layout
    expected, got = layout.sizes(oracle.shape), layout.sizes(shape)
    mistake, instead = _mistake(oracle, got[2:], kinds)
    for number, sizes in enumerate(zip(expected, got, strict=True)):
        if sizes[0] == sizes[1]:
            continue
        dimension = number - 2
        if dimension < 0:
            yield WrongAxis(axis="NC"[number], expected=sizes[0], got=sizes[1])
            continue
        formula = _formula(pooling.geometry[dimension], pooling.placement)
        mistaken = instead[dimension] if instead else None
        difference = _text(mistaken)
        if mistaken and formula and formula[1] == mistaken[1]:
            # It rounds the same number.
            difference = f"{mistaken[0]}{mistaken[2]}"
        yield WrongAxis(
            axis=f"D{dimension + 1}",
            expected=sizes[0],
            got=sizes[1],
            formula=_text(formula),
            mistake=mistake if mistaken else "",
            instead=difference,
        )


def _mistake(
    oracle: Oracle, sizes: tuple[int, ...], kinds: Collection[DivergenceKind]
) -> tuple[str, tuple[_Formula | None, ...]]:
    """The mistake among some kinds that gives these output sizes, and its formula for each axis."""
    pooling = oracle.pooling
    if DivergenceKind.TRUNCATED_DIVISION in kinds:
        truncated = tuple(("trunc", _span(axis), " + 1") for axis in pooling.geometry)
        return DivergenceKind.TRUNCATED_DIVISION.value, truncated
    for kind, geometry in wrong_geometries(pooling).wrong if kinds else ():
        if kind in kinds and tuple(axis.output for axis in geometry) == sizes:
            return kind.value, tuple(_formula(axis, pooling.placement) for axis in geometry)
    return "", ()


def _formula(axis: Axis, placement: Placement | None) -> _Formula | None:
    """A formula that gives the output size of an axis, that of the placement first; None if there is none."""
    if placement is None:
        return None
    if placement.is_same and axis.output == -(-axis.size // axis.stride):
        return "ceil", f"{axis.size}/{axis.stride}", ""
    numbers = axis.size, axis.kernel, axis.stride, axis.dilation, axis.begin, axis.end
    for rounding in (placement.rounding, rules.floor_output, rules.ceil_output, rules.clipped_ceil_output):
        if rounding(*numbers) == axis.output:
            is_clipped = rounding is rules.clipped_ceil_output and rules.ceil_output(*numbers) != axis.output
            function = "floor" if rounding is rules.floor_output else "ceil"
            return function, f"{_span(axis)} + 1", _CLIPPED if is_clipped else ""
    return None


def _span(axis: Axis) -> str:
    """The difference of the padded input and the window over the stride, as ONNX writes it."""
    pads = "".join(f" {'-' if pad < 0 else '+'} {abs(pad)}" for pad in (axis.begin, axis.end))
    return f"({axis.size}{pads} - {axis.dilation}*({axis.kernel} - 1) - 1)/{axis.stride}"


def _text(formula: _Formula | None) -> str:
    return "" if formula is None else "{}({}){}".format(*formula)


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
    truncated = shape is not None and is_truncated_division(refused.axes, shape)
    kinds = (DivergenceKind.ACCEPTS_INVALID, *((DivergenceKind.TRUNCATED_DIVISION,) if truncated else ()))
    message = f"{result}; the document excludes the graph ({refused.reason.value}): {refused}"
    return Judgement(Verdict.DIVERGES, kinds, message)


def judge_inferred(oracle: GraphOracle | Refused, variant: Variant, outputs: Mapping[str, InferredOutput]) -> Judgement:
    """Judge what a target infers of the outputs: wrong if anything that it knows is, unknown if it does not know all."""
    names = [*variant.outputs, *([] if isinstance(oracle, Refused) else oracle.graph.context.side_outputs)]
    inferred = {name: outputs.get(name, _NOTHING) for name in names}
    if isinstance(oracle, Refused):
        if not oracle.is_open and all(output.shape is None for output in inferred.values()):
            message = f"neither refused nor inferred, though the document excludes the graph ({oracle.reason.value})"
            return Judgement(Verdict.UNKNOWN, message=message)
        result = ", ".join(f"{name} {output}" for name, output in inferred.items())
        return judge_excluded(oracle, f"inferred {result}", inferred["Y"].sizes if "Y" in inferred else None)
    expected = min(_interpretations(oracle, names), key=lambda each: len(_wrong(each, inferred)))
    wrong = _wrong(expected, inferred)
    if wrong:
        return _judge_wrong(oracle, inferred, expected, wrong)
    if unknown := [f"{_unknown(output)} of {name}" for name, output in inferred.items() if not output.is_known]:
        return Judgement(Verdict.UNKNOWN, message="; ".join(unknown))
    return Judgement(Verdict.CONFORMS)


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
        causes = _mistakes(oracle, shapes[next(iter(wrong))]) if len({*shapes.values()}) == 1 else []
        kinds = tuple(causes) if len(causes) == 1 else kinds
    if oracle.moves:
        due = {name: expected[name][1] for name in shapes}
        wrong_sizes = {
            name: WrongShape(expected=due[name], got=shape) for name, shape in shapes.items() if due[name] != shape
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
    pooling = oracle.pooling
    if len(shape) != len(oracle.shape):
        return []
    sizes = pooling.layout.sizes(shape)
    if sizes[:2] != pooling.layout.sizes(oracle.shape)[:2]:
        return []
    axes = [(axis.size, axis.kernel, axis.stride, axis.dilation, axis.begin, axis.end) for axis in pooling.geometry]
    if is_truncated_division(axes, shape):
        return [DivergenceKind.TRUNCATED_DIVISION]
    outputs = [(kind, tuple(axis.output for axis in axes)) for kind, axes in wrong_geometries(pooling).wrong]
    return list(dict.fromkeys(kind for kind, each in [*outputs, *empty_sizes(pooling)] if each == sizes[2:]))


def _interpretations(oracle: GraphOracle, names: Iterable[str]) -> Iterator[dict[str, _Expected]]:
    """The dtypes and shapes by each interpretation of the document. Only a graph whose nodes move cells is computed."""
    # What has no function behind it has the dtype of X, without computing it.
    dtype = name_of(oracle.X.dtype if oracle.pooling.activation is None else oracle.dtype("Y"))
    sides = oracle.graph.context.side_outputs
    for each in oracle.graphs if oracle.moves else oracle.alternatives:
        outputs = {"Y": (dtype, each.shape), "Indices": (oracle.pooling.numbering.dtype, each.shape)}
        if isinstance(each, GraphOracle) and oracle.moves:
            outputs["Y"] = name_of(each.output.dtype), each.output.shape
        for name, number in sides.items():
            tensor = oracle.X if number is None else oracle.graph.flow[number]
            outputs[name] = name_of(tensor.dtype), each.shape if number is None else tensor.shape
        yield {name: outputs[name] for name in names}


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
