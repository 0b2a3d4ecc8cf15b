"""Draws cases of a document with Hypothesis: the same seed draws the same cases.

A geometry is drawn backwards, from the number of windows to the size of X, so that every draw is valid. Values come from a
small palette of special values, so that whole windows of them occur.
"""

import functools
import itertools
import random
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import ml_dtypes
import numpy as np
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from hypothesis.errors import HypothesisDeprecationWarning

from maxpool_check.corpus.case import Case, Origin
from maxpool_check.corpus.tensors import Recipe
from maxpool_check.fuzzing.contexts import in_a_graph
from maxpool_check.reference.dtypes import NUMPY, highest, is_float, lowest
from maxpool_check.reference.geometry import AutoPad, Axis
from maxpool_check.reference.pooling import Function
from maxpool_check.specifications import specification
from maxpool_check.specifications.onnx import VERSIONS
from maxpool_check.specifications.roles import Attribute, Role, attributes_of_roles, roles_of
from maxpool_check.specifications.specification import Refused, Specification

BATCH = 100
"""How many cases are drawn at once; each batch has its own seed."""

_CHANNELS = (1, 2, 3, 16)
_BATCHES = (1, 2)
_ACTIVATIONS: tuple[dict[Role, Any], ...] = (
    {}, {}, {Role.ACTIVATION: Function.RELU},
    {Role.ACTIVATION: Function.LEAKY_RELU, Role.ACTIVATION_PARAMETERS: [0.5]},
    {Role.ACTIVATION: Function.CLIP, Role.ACTIVATION_PARAMETERS: [-1.0, 2.0]},
)  # fmt: skip
_Draw = Callable[[st.SearchStrategy[Any]], Any]

_FAR = 3**80
"""Offset of all drawn numbers. Hypothesis prefers numbers that occur in the imported modules; none of them is as large, so
the draws depend on the seed alone."""


def generate(spec: str, start: int, *, invalid: bool = False, graphs: float = 0) -> Iterator[Case]:
    """Distinct cases without end. ``invalid``: only cases that the document excludes, otherwise none of them.

    ``graphs`` is the share of cases with other nodes around MaxPool, from 0 to 1. Those of a version of ONNX's operator are
    in any operator set, and judged by the version in that.
    """
    document = specification(spec)
    drawn: set[str] = set()
    for batch in itertools.count(start * 1_000_003):
        for case in draw_batch(document, batch, invalid=invalid, graphs=graphs):
            if case.sha256 not in drawn:
                drawn.add(case.sha256)
                yield case


def draw_batch(document: Specification, number: int, *, invalid: bool, graphs: float = 0) -> list[Case]:
    """The cases, of :data:`BATCH` drawn from a seed, that the document allows; if ``invalid``, those that it excludes.

    ``graphs`` is the share of them that become graphs; those without an exact result are left out.
    """
    cases: list[Case] = []

    @seed(number)
    @settings(
        max_examples=BATCH, database=None, deadline=None, phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(_cases(document, invalid))
    def collect(case: Case) -> None:
        if isinstance(case.resolved, Refused) == invalid:
            cases.append(case)

    # Another thread may use the module meanwhile; no strategy here does.
    warnings.filterwarnings("ignore", "Do not use the `random` module", HypothesisDeprecationWarning)
    collect()
    stream = random.Random(number)
    drawn = (in_a_graph(case, stream.getrandbits(32)) if stream.random() < graphs else case for case in cases)
    return [case for case in drawn if case is not None]


@st.composite
def _cases(draw: _Draw, document: Specification, invalid: bool) -> Case:
    axes = _axes(draw, document)
    choices = _choices(draw, document, len(axes))
    # float32 and float64 come more often: most runtimes have special kernels for them.
    common = [name for name in document.dtypes if name in ("float32", "float64")]
    dtype = _choice(draw, [*document.dtypes, *common, *common]) if len(document.dtypes) > 1 else document.dtypes[0]
    sizes, attributes = _sizes_and_attributes(document, axes, choices)
    # Some of the attributes at their default are left out.
    attributes = {
        name: value
        for name, value in attributes.items()
        if value != document.attributes[name].default_for(len(axes)) or draw(st.booleans())
    }
    channels = _choice(draw, _CHANNELS) if document.channel_multiple == 1 else document.channel_multiple
    shape = document.layout.arranged((_choice(draw, _BATCHES), channels, *sizes))
    if invalid:
        attributes, shape = _excluded(draw, attributes, shape)
    X = _values(draw, shape, NUMPY[dtype])
    return Case(
        id="fuzz:case", title="Drawn at random", spec=document.name, tags=("fuzz",), X=Recipe.of(X), attributes=attributes,
        outputs=("Y", "Indices") if document.indices else ("Y",), policies=document.policies, origin=Origin("fuzz", 0, 0),
    )  # fmt: skip


def _integer(draw: _Draw, low: int, high: int) -> int:
    return int(draw(_integers(low, high))) - _FAR


@functools.cache
def _integers(low: int, high: int) -> st.SearchStrategy[int]:
    # Hypothesis would look for it among all that were made.
    return st.integers(_FAR + low, _FAR + high)


def _choice(draw: _Draw, values: Sequence[Any]) -> Any:
    return values[_integer(draw, 0, len(values) - 1)]


def _axes(draw: _Draw, document: Specification) -> list[Axis]:
    dilates = Role.DILATION in document.roles
    if Role.START in document.roles:
        axes = [_axis(draw, dilates, pads=False) for _ in range(document.ranks[0])]
        starts = [_integer(draw, 0, 2) for _ in axes]
        # The same windows after cells that none of them reaches.
        return [replace(axis, size=axis.size + start, begin=-start) for axis, start in zip(axes, starts, strict=True)]
    # Four axes are rare: most runtimes have three at most.
    ranks = [rank for rank in document.ranks for _ in range(1 if rank > 3 else 4)]
    return [_axis(draw, dilates, pads=True) for _ in range(_choice(draw, ranks))]


def _axis(draw: _Draw, dilates: bool, *, pads: bool) -> Axis:
    output, kernel, stride = _integer(draw, 1, 3), _integer(draw, 1, 3), _integer(draw, 1, 3)
    dilation = _integer(draw, 1, 3) if dilates else 1
    # The cells that the windows cover, and those that the stride leaves over.
    covered = (kernel - 1) * dilation + 1 + (output - 1) * stride + _integer(draw, 0, stride - 1)
    # A padding as large as the kernel is rare: most runtimes refuse it.
    largest = kernel - 1 + (_integer(draw, 0, 19) == 0) if pads else 0
    begin = _integer(draw, 0, min(largest, covered - 1))
    end = _integer(draw, 0, min(largest, covered - 1 - begin))
    return Axis(covered - begin - end, kernel, stride, dilation, begin, end, output)


def _choices(draw: _Draw, document: Specification, rank: int) -> dict[Role, Any]:
    """What the attributes mean beside the geometry, drawn in the order of the document."""
    # A seed draws the same of every version of ONNX's operator, less what a version does not have.
    newest: Mapping[str, Attribute] = VERSIONS[-1].attributes if document.onnx else {}
    choices: dict[Role, Any] = {}
    for name, attribute in {**newest, **document.attributes}.items():
        role, meanings = attribute.role, tuple(attribute.values.values())
        drawn: dict[Role, Any] = {}
        if role is Role.ACTIVATION:
            drawn = _choice(draw, _ACTIVATIONS)
        elif role is Role.INDEX_AXIS:
            drawn = {role: _integer(draw, 0, rank + 1)}
        elif len(meanings) > 1:
            # Explicit pads come twice as often.
            drawn = {role: _choice(draw, [AutoPad.EXPLICIT, *meanings] if role is Role.AUTO_PAD else meanings)}
        elif meanings:
            drawn = {role: meanings[0]}
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


def _values(draw: _Draw, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """A few values, mostly the first of them, so that whole windows hold nothing else; or ascending numbers."""
    size = int(np.prod(shape))
    small = [1, 2, 3, 0]
    if is_float(dtype):
        subnormal = float(ml_dtypes.finfo(dtype).smallest_subnormal)
        # The values that scans start from come more often than others.
        pool = [
            -np.inf, -np.inf, -np.inf, np.inf, np.nan, np.nan, lowest(dtype), highest(dtype), -0.0, subnormal, -subnormal,
            -1, 0.5, *small,
        ]  # fmt: skip
    else:
        pool = [lowest(dtype), highest(dtype), *small, *([-1, -2] if dtype.kind == "i" else [])]
    palette = [_choice(draw, pool) for _ in range(_integer(draw, 0, 4))]
    if not palette:
        return (np.arange(size) % 100).astype(dtype).reshape(shape)
    stream = random.Random(_integer(draw, 0, 2**32 - 1))
    weights = [len(palette) + 1, *[1] * (len(palette) - 1)]
    return np.array(stream.choices(palette, weights, k=size), dtype).reshape(shape)


def _excluded(
    draw: _Draw, attributes: dict[str, Any], shape: tuple[int, ...]
) -> tuple[dict[str, Any], tuple[int, ...]]:
    """The attributes and shape with one mistake; a case that the document allows nevertheless is not used."""
    name = _choice(draw, sorted(attributes))
    value = attributes[name]
    wrong: list[Any] = ["WRONG", "NONE", ""] if isinstance(value, str) else [2, 0, -1, 2**31]
    if isinstance(value, list):
        place = _integer(draw, 0, len(value) - 1)
        wrong = [[*value[:place], entry, *value[place + 1 :]] for entry in (0, -1, 1000)] + [value[:-1], [*value, 1]]
    changed = [{**attributes, name: entry} for entry in wrong]
    changed.append({key: kept for key, kept in attributes.items() if key != name})
    number = _integer(draw, 0, len(changed))
    return (changed[number], shape) if number < len(changed) else (attributes, shape[:-1])
