"""Outputs of the wrong shape: which axes differ, and the formulas that give either size."""

from collections.abc import Collection, Iterator, Mapping

from maxpool_check.judging.kinds import DivergenceKind
from maxpool_check.judging.oracle import Oracle
from maxpool_check.judging.wrong_windows import wrong_geometries
from maxpool_check.reference import geometry as rules
from maxpool_check.reference.geometry import Axis, Geometry, Placement
from maxpool_check.results.shapes import WrongAxis, WrongShape

_CLIPPED = " less the window that would begin in the end padding"

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
        yield WrongAxis(
            axis=f"D{dimension + 1}",
            expected=sizes[0],
            got=sizes[1],
            formula=_text(formula),
            mistake=mistake if mistaken else "",
            instead=_difference(mistaken, formula) if mistaken else "",
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
        if kind in kinds and _sizes(geometry) == sizes:
            return kind.value, tuple(_formula(axis, pooling.placement) for axis in geometry)
    return "", ()


def _sizes(geometry: Geometry) -> tuple[int, ...]:
    return tuple(axis.output for axis in geometry)


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


def _difference(mistaken: _Formula, formula: _Formula | None) -> str:
    """How a mistaken formula rounds if it rounds the same, otherwise all of it."""
    function, argument, rest = mistaken
    is_rounding = formula is not None and formula[1] == argument
    return f"{function}{rest}" if is_rounding else _text(mistaken)
