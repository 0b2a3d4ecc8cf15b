"""Draws cases of a document: the same seed draws the same cases, on every machine and with every version of Python.

A geometry is drawn backwards, from the number of windows to the size of X, so that every draw is valid. Values come from a
small palette of special values, so that whole windows of them occur.
"""

import itertools
import random
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import ml_dtypes
import numpy as np

from maxpool_check.corpus.case import Case, Origin
from maxpool_check.corpus.tensors import Recipe
from maxpool_check.fuzzing.contexts import in_a_graph
from maxpool_check.reference.dtypes import NUMPY, highest, is_float, lowest
from maxpool_check.reference.geometry import AutoPad, Axis
from maxpool_check.reference.pooling import Function
from maxpool_check.specifications import specification
from maxpool_check.specifications.onnx import VERSIONS
from maxpool_check.specifications.roles import Role, attributes_of_roles, roles_of
from maxpool_check.specifications.specification import Refused, Specification

_ACTIVATIONS: tuple[dict[Role, Any], ...] = (
    {}, {}, {Role.ACTIVATION: Function.RELU},
    {Role.ACTIVATION: Function.LEAKY_RELU, Role.ACTIVATION_PARAMETERS: [0.5]},
    {Role.ACTIVATION: Function.CLIP, Role.ACTIVATION_PARAMETERS: [-1.0, 2.0]},
)  # fmt: skip


class Stream(random.Random):
    """Random choices. They are made of ``random()``, the only method whose numbers Python never changes for a seed."""

    def choice(self, seq: Any) -> Any:
        """An entry of a sequence."""
        return seq[int(self.random() * len(seq))]


def generate(spec: str, start: int, *, invalid: bool = False, graphs: float = 0) -> Iterator[Case]:
    """Distinct cases without end. ``invalid``: only cases that the document excludes, otherwise none of them.

    ``graphs`` is the share of cases with other nodes around MaxPool, from 0 to 1. Those of a version of ONNX's operator are
    in any operator set, and judged by the version in that.
    """
    document = specification(spec)
    drawn: set[str] = set()
    for number in itertools.count(start << 40):
        case = draw(document, number, invalid=invalid, graphs=graphs)
        if case is not None and case.sha256 not in drawn:
            drawn.add(case.sha256)
            yield case


def draw(document: Specification, seed: int, *, invalid: bool = False, graphs: float = 0) -> Case | None:
    """The case of one seed; None if it is excluded and not ``invalid``, or the contrary, or a graph without exact result."""
    # Each case has a stream of its own: a seed draws the same of every version of ONNX's operator, as far as they agree.
    stream = Stream(seed)
    case = _case(stream, document, invalid)
    if isinstance(case.resolved, Refused) != invalid:
        return None
    return in_a_graph(case, stream) if stream.random() < graphs else case


def _case(stream: Stream, document: Specification, invalid: bool) -> Case:
    axes = _axes(stream, document)
    choices = _choices(stream, document, len(axes))
    # float32 and float64 come more often: most runtimes have special kernels for them.
    common = [name for name in document.dtypes if name in ("float32", "float64")]
    dtype = stream.choice([*document.dtypes, *common, *common] if len(document.dtypes) > 1 else document.dtypes)
    sizes, attributes = _sizes_and_attributes(document, axes, choices)
    # Some of the attributes at their default are left out.
    attributes = {
        name: value
        for name, value in attributes.items()
        if value != document.attributes[name].default_for(len(axes)) or stream.random() < 0.5
    }
    channels = stream.choice((1, 2, 3, 16)) if document.channel_multiple == 1 else document.channel_multiple
    shape = document.layout.arranged((stream.choice((1, 2)), channels, *sizes))
    if invalid:
        attributes, shape = _excluded(stream, attributes, shape)
    return Case(
        id="fuzz:case", title="Drawn at random", spec=document.name, tags=("fuzz",), attributes=attributes,
        X=Recipe.of(_values(stream, shape, NUMPY[dtype])), outputs=("Y", "Indices") if document.indices else ("Y",),
        policies=document.policies, origin=Origin("fuzz", 0, 0),
    )  # fmt: skip


def _axes(stream: Stream, document: Specification) -> list[Axis]:
    has_starts = Role.START in document.roles
    # Four axes are rare: most runtimes have three at most.
    ranks = [rank for rank in document.ranks for _ in range(1 if rank > 3 else 4)]
    axes = []
    for _ in range(stream.choice(ranks)):
        output, kernel, stride = (stream.choice((1, 2, 3)) for _ in range(3))
        dilation = stream.choice((1, 2, 3)) if Role.DILATION in document.roles else 1
        # The cells that the windows cover, and those that the stride leaves over.
        covered = (kernel - 1) * dilation + 1 + (output - 1) * stride + stream.choice(range(stride))
        if has_starts:
            # The same windows after cells that none of them reaches.
            start = stream.choice((0, 1, 2))
            axes.append(Axis(covered + start, kernel, stride, dilation, -start, 0, output))
            continue
        # A padding as large as the kernel is rare: most runtimes refuse it.
        largest = kernel - 1 + (stream.random() < 0.05)
        begin = stream.choice(range(min(largest, covered - 1) + 1))
        end = stream.choice(range(min(largest, covered - 1 - begin) + 1))
        axes.append(Axis(covered - begin - end, kernel, stride, dilation, begin, end, output))
    return axes


def _choices(stream: Stream, document: Specification, rank: int) -> dict[Role, Any]:
    """What the attributes mean beside the geometry, drawn in the order of the document."""
    # What a version of ONNX's operator does not have is drawn nevertheless, and left out.
    newest = VERSIONS[-1].attributes if document.onnx else {}
    choices: dict[Role, Any] = {}
    for name, attribute in {**newest, **document.attributes}.items():
        role, meanings = attribute.role, tuple(attribute.values.values())
        drawn: dict[Role, Any] = {}
        if role is Role.ACTIVATION:
            drawn = stream.choice(_ACTIVATIONS)
        elif role is Role.INDEX_AXIS:
            drawn = {role: stream.choice(range(rank + 2))}
        elif meanings:
            # Explicit pads come twice as often.
            drawn = {role: stream.choice([AutoPad.EXPLICIT, *meanings] if role is Role.AUTO_PAD else meanings)}
        choices |= drawn if name in document.attributes else {}
    return choices


def _sizes_and_attributes(
    document: Specification, axes: list[Axis], choices: dict[Role, Any]
) -> tuple[list[int], dict[str, Any]]:
    """The spatial sizes of X, and all attributes."""
    auto_pad = choices.get(Role.AUTO_PAD, AutoPad.EXPLICIT)
    sizes = [axis.size for axis in axes]
    if auto_pad is not AutoPad.EXPLICIT:
        has_default_pads = any(
            attribute.role in (Role.PADS, Role.PADS_BY_AXIS, Role.BEGIN) and attribute.default is not None
            for attribute in document.attributes.values()
        )
        if has_default_pads or auto_pad is AutoPad.VALID:
            # The pads are ignored, so that the windows lie on X alone.
            sizes = [axis.size + axis.begin + axis.end for axis in axes]
        if has_default_pads:
            axes = [replace(axis, begin=0, end=0) for axis in axes]
    return sizes, attributes_of_roles(document, {**roles_of(tuple(axes)), **choices})


def _values(stream: Stream, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """A few values, mostly the first of them, so that whole windows hold nothing else; or ascending numbers."""
    size = int(np.prod(shape))
    pool = [lowest(dtype), highest(dtype), 1, 2, 3, 0]
    if is_float(dtype):
        subnormal = float(ml_dtypes.finfo(dtype).smallest_subnormal)
        # The values that scans start from come more often than others.
        pool += [-np.inf, -np.inf, -np.inf, np.inf, np.nan, np.nan, -0.0, subnormal, -subnormal, -1, 0.5]
    elif dtype.kind == "i":
        pool += [-1, -2]
    palette = [stream.choice(pool) for _ in range(stream.choice(range(5)))]
    if not palette:
        return (np.arange(size) % 100).astype(dtype).reshape(shape)
    palette = palette[:1] * len(palette) + palette
    return np.array([stream.choice(palette) for _ in range(size)], dtype).reshape(shape)


def _excluded(
    stream: Stream, attributes: dict[str, Any], shape: tuple[int, ...]
) -> tuple[dict[str, Any], tuple[int, ...]]:
    """The attributes and shape with one mistake; a case that the document allows nevertheless is not used."""
    name = stream.choice(sorted(attributes))
    value = attributes[name]
    wrong: list[Any] = ["WRONG", "NONE", ""] if isinstance(value, str) else [2, 0, -1, 2**31]
    if isinstance(value, list):
        place = stream.choice(range(len(value)))
        wrong = [[*value[:place], entry, *value[place + 1 :]] for entry in (0, -1, 1000)] + [value[:-1], [*value, 1]]
    others = {key: kept for key, kept in attributes.items() if key != name}
    mistakes = [*(({**attributes, name: entry}, shape) for entry in wrong), (others, shape), (attributes, shape[:-1])]
    mistaken: tuple[dict[str, Any], tuple[int, ...]] = stream.choice(mistakes)
    return mistaken
