"""Judges what infers shapes or only accepts graphs: by the shapes and dtypes of the outputs, none of which are computed."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from maxpool_check.judging.graph_oracle import GraphOracle
from maxpool_check.judging.hypotheses import is_truncated_division
from maxpool_check.judging.judgement import Judgement
from maxpool_check.judging.kinds import DivergenceKind
from maxpool_check.judging.oracle import Oracle
from maxpool_check.judging.shapes import wrong_shapes
from maxpool_check.judging.wrong_windows import empty_sizes, wrong_geometries
from maxpool_check.reference.dtypes import name_of
from maxpool_check.results.details import Cause
from maxpool_check.results.record import Verdict
from maxpool_check.results.shapes import InferredOutput, WrongShape
from maxpool_check.results.variants import Variant
from maxpool_check.specifications.specification import Refused

ACCEPTED = "accepted"
"""How the message on a graph begins that was accepted, and of whose outputs nothing was said."""

_NOTHING = InferredOutput(dtype=None, shape=None)


@dataclass(frozen=True)
class _Expected:
    """An output by one interpretation of the document."""

    dtype: str
    shape: tuple[int, ...]

    def wrong(self, inferred: InferredOutput) -> DivergenceKind | None:
        """What is wrong with what is known of an output."""
        if inferred.dtype is not None and inferred.dtype != self.dtype:
            return DivergenceKind.DTYPE
        if inferred.shape is None:
            return None
        fits = len(inferred.shape) == len(self.shape) and all(
            size is None or size == expected for size, expected in zip(inferred.shape, self.shape, strict=True)
        )
        return None if fits else DivergenceKind.SHAPE

    def __str__(self) -> str:
        return f"{self.dtype}{list(self.shape)}"


def judge_accepted(oracle: Oracle | Refused) -> Judgement:
    """Judge a target that accepted a graph and says nothing of its outputs."""
    if not isinstance(oracle, Refused):
        return Judgement(Verdict.CONFORMS, message=ACCEPTED)
    if oracle.is_open:
        return Judgement(Verdict.UNDEFINED, message=f"{ACCEPTED}; the document gives the graph no meaning: {oracle}")
    message = f"{ACCEPTED}; the document excludes the graph ({oracle.reason.value}): {oracle}"
    return Judgement(Verdict.DIVERGES, (DivergenceKind.ACCEPTS_INVALID,), message)


def judge_inferred(oracle: GraphOracle | Refused, variant: Variant, outputs: Mapping[str, InferredOutput]) -> Judgement:
    """Judge what a target infers of the outputs: wrong if anything that it knows is, unknown if it does not know all."""
    names = [*variant.outputs, *([] if isinstance(oracle, Refused) else oracle.graph.context.side_outputs)]
    inferred = {name: outputs.get(name, _NOTHING) for name in names}
    if isinstance(oracle, Refused):
        return _judge_excluded(oracle, inferred)
    expected = min(_interpretations(oracle, names), key=lambda each: len(_wrong(each, inferred)))
    wrong = _wrong(expected, inferred)
    if wrong:
        return _judge_wrong(oracle, inferred, expected, wrong)
    unknown = [name for name in names if not inferred[name].is_known]
    if unknown:
        return Judgement(
            Verdict.UNKNOWN, message="; ".join(f"{_unknown(inferred[name])} of {name}" for name in unknown)
        )
    return Judgement(Verdict.CONFORMS)


def _judge_excluded(refused: Refused, inferred: Mapping[str, InferredOutput]) -> Judgement:
    said = ", ".join(f"{name} {output}" for name, output in inferred.items())
    if refused.is_open:
        return Judgement(Verdict.UNDEFINED, message=f"the document gives the graph no meaning: {refused}")
    excluded = f"the document excludes the graph ({refused.reason.value}): {refused}"
    if all(output.shape is None for output in inferred.values()):
        message = f"neither refused nor inferred, though the document excludes the graph ({refused.reason.value})"
        return Judgement(Verdict.UNKNOWN, message=message)
    shape = inferred["Y"].sizes if "Y" in inferred else None
    truncated = shape is not None and is_truncated_division(refused.axes, shape)
    kinds = (DivergenceKind.ACCEPTS_INVALID, *((DivergenceKind.TRUNCATED_DIVISION,) if truncated else ()))
    return Judgement(Verdict.DIVERGES, kinds, f"inferred {said}; {excluded}")


def _judge_wrong(
    oracle: GraphOracle,
    inferred: Mapping[str, InferredOutput],
    expected: Mapping[str, _Expected],
    wrong: Mapping[str, DivergenceKind],
) -> Judgement:
    kinds: tuple[DivergenceKind, ...] = tuple(sorted({*wrong.values()}))
    shapes = {name: sizes for name in wrong if (sizes := inferred[name].sizes) is not None}
    causes: tuple[DivergenceKind, ...] = ()
    moves = oracle.moves
    if kinds == (DivergenceKind.SHAPE,) and not moves and len(shapes) == len(wrong):
        causes = tuple(dict.fromkeys(_mistakes(oracle, {*shapes.values()})))
        kinds = causes if len(causes) == 1 else kinds
    return Judgement(
        Verdict.DIVERGES,
        kinds,
        _compared(wrong, inferred, expected),
        causes=tuple(Cause(kind=kind, output=None, cells=0) for kind in causes),
        shapes={
            name: WrongShape(expected=expected[name].shape, got=shape)
            for name, shape in shapes.items()
            if shape != expected[name].shape
        }
        if moves
        else wrong_shapes(oracle, shapes, kinds),
    )


def _mistakes(oracle: Oracle, shapes: Iterable[tuple[int, ...]]) -> Iterator[DivergenceKind]:
    """The mistakes each of which gives all outputs the only one of these shapes."""
    (shape, *others) = shapes
    if others or len(shape) != len(oracle.shape):
        return
    pooling = oracle.pooling
    sizes, expected = pooling.layout.sizes(shape), pooling.layout.sizes(oracle.shape)
    if sizes[:2] != expected[:2]:
        return
    sizes = sizes[2:]
    axes = [(axis.size, axis.kernel, axis.stride, axis.dilation, axis.begin, axis.end) for axis in pooling.geometry]
    if is_truncated_division(axes, shape):
        yield DivergenceKind.TRUNCATED_DIVISION
        return
    for kind, geometry in wrong_geometries(pooling).wrong:
        if tuple(axis.output for axis in geometry) == sizes:
            yield kind
    for kind, empty in empty_sizes(pooling):
        if empty == sizes:
            yield kind


def _interpretations(oracle: GraphOracle, names: Iterable[str]) -> Iterator[dict[str, _Expected]]:
    """The outputs by each interpretation of the document. Only a graph whose nodes move cells is computed."""
    # What has no function behind it has the dtype of X, without computing it.
    dtype = name_of(oracle.X.dtype if oracle.pooling.activation is None else oracle.dtype("Y"))
    sides = oracle.graph.context.side_outputs
    for each in oracle.graphs if oracle.moves else oracle.alternatives:
        shape = each.shape
        outputs = {"Y": _Expected(dtype, shape), "Indices": _Expected(oracle.pooling.numbering.dtype, shape)}
        if isinstance(each, GraphOracle) and oracle.moves:
            outputs["Y"] = _Expected(name_of(each.output.dtype), each.output.shape)
        for name, number in sides.items():
            tensor = None if number is None else oracle.graph.flow[number]
            outputs[name] = (
                _Expected(name_of(oracle.X.dtype), shape)
                if tensor is None
                else _Expected(name_of(tensor.dtype), tensor.shape)
            )
        yield {name: outputs[name] for name in names}


def _wrong(expected: Mapping[str, _Expected], inferred: Mapping[str, InferredOutput]) -> dict[str, DivergenceKind]:
    kinds = {name: expected[name].wrong(output) for name, output in inferred.items()}
    return {name: kind for name, kind in kinds.items() if kind is not None}


def _compared(names: Iterable[str], inferred: Mapping[str, InferredOutput], expected: Mapping[str, _Expected]) -> str:
    return "; ".join(f"{name} is inferred as {inferred[name]}, expected {expected[name]}" for name in names)


def _unknown(inferred: InferredOutput) -> str:
    """What is not known of an output."""
    if inferred.shape is None:
        return "unknown shape" if inferred.dtype is not None else "unknown dtype and shape"
    return "unknown sizes" if inferred.dtype is not None else "unknown dtype"
