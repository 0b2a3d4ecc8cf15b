"""Draws cases of a document with Hypothesis: the same seed, the same cases.

A geometry is drawn backwards, from the number of windows to the size of X, so that every draw is one. Values come from a
small palette of special ones, so that whole windows of them occur.
"""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import ml_dtypes
import numpy as np
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from hypothesis.errors import HypothesisDeprecationWarning

from maxpool_check.corpus.case import Case, Origin
from maxpool_check.reference.dtypes import NAMES, NUMPY, highest, is_float, lowest
from maxpool_check.reference.geometry import Axis
from maxpool_check.reference.layout import Layout
from maxpool_check.specifications import specification
from maxpool_check.specifications.refused import Refused
from maxpool_check.specifications.specification import Specification

BATCH = 100
"""So many cases are drawn at once; each batch has a seed of its own."""

_CHANNELS = (1, 2, 3, 16)
_BATCHES = (1, 2)
_Draw = Callable[[st.SearchStrategy[Any]], Any]

_FAR = 3**80
"""What numbers are drawn from. Hypothesis prefers those that stand in the modules that happen to be imported; none of them
is as large, so that what is drawn depends on the seed alone."""


def generate(spec: str, start: int, *, invalid: bool = False) -> Iterator[Case]:
    """Cases without end, none of them twice. ``invalid``: such as the document excludes, and no others."""
    document = specification(spec)
    drawn: set[str] = set()
    batch = 0
    while True:
        for case in _batch(document, start * 1_000_003 + batch, invalid):
            if case.sha256 not in drawn:
                drawn.add(case.sha256)
                yield case
        batch += 1


def _batch(document: Specification, number: int, invalid: bool) -> list[Case]:
    found: list[Case] = []

    @seed(number)
    @settings(
        max_examples=BATCH, database=None, deadline=None, phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(_cases(document, invalid))
    def collect(case: Case) -> None:
        if isinstance(case.resolved, Refused) == invalid:
            found.append(case)

    # Another thread of the process may use it meanwhile; no strategy here does.
    warnings.filterwarnings("ignore", "Do not use the `random` module", HypothesisDeprecationWarning)
    collect()
    return found


@st.composite
def _cases(draw: _Draw, document: Specification, invalid: bool) -> Case:
    spatial, dtype, attributes = _FAMILIES[document.name.partition("-")[0]](draw, document)
    layout = document.layout
    channels = 4 if layout is Layout.IMAGE else _one_of(draw, _CHANNELS)
    shape = layout.arranged((_one_of(draw, _BATCHES), channels, *spatial))
    if invalid:
        attributes, shape = _excluded(draw, attributes, shape)
    X = _values(draw, shape, NUMPY[dtype])
    return Case(
        id="fuzz:case", title="Drawn at random", spec=document.name, covers=(), tags=("fuzz",), X=X,
        attributes=attributes, outputs=("Y", "Indices") if document.indices else ("Y",), policies=document.policies,
        expect=None, erratum=None, origin=Origin("fuzz", 0, 0),
    )  # fmt: skip


def _integer(draw: _Draw, low: int, high: int) -> int:
    return int(draw(st.integers(_FAR + low, _FAR + high))) - _FAR


def _one_of(draw: _Draw, values: Sequence[Any]) -> Any:
    return values[_integer(draw, 0, len(values) - 1)]


def _axes(draw: _Draw, least: int, most: int, *, dilates: bool = True, pads: bool = True) -> list[Axis]:
    # Four axes are rare: most runtimes have three at most.
    ranks = [rank for rank in range(least, most + 1) for _ in range(1 if rank > 3 else 4)]
    return [_axis(draw, dilates, pads) for _ in range(_one_of(draw, ranks))]


def _axis(draw: _Draw, dilates: bool, pads: bool) -> Axis:
    output, kernel, stride = _integer(draw, 1, 3), _integer(draw, 1, 3), _integer(draw, 1, 3)
    dilation = _integer(draw, 1, 3) if dilates else 1
    # What the windows cover, and what the stride leaves over.
    covered = (kernel - 1) * dilation + 1 + (output - 1) * stride + _integer(draw, 0, stride - 1)
    # A padding as large as the kernel is rare: most runtimes refuse it.
    largest = kernel - 1 + (_integer(draw, 0, 19) == 0) if pads else 0
    begin = _integer(draw, 0, min(largest, covered - 1))
    end = _integer(draw, 0, min(largest, covered - 1 - begin))
    return Axis(covered - begin - end, kernel, stride, dilation, begin, end, output)


def _each(axes: list[Axis], name: str) -> list[int]:
    return [getattr(axis, name) for axis in axes]


def _without_defaults(draw: _Draw, attributes: dict[str, Any], defaults: dict[str, Any]) -> dict[str, Any]:
    """Of what has its default, some is left out."""
    return {
        name: value
        for name, value in attributes.items()
        if name not in defaults or value != defaults[name] or draw(st.booleans())
    }


def _onnx(draw: _Draw, document: Any) -> tuple[list[int], str, dict[str, Any]]:
    axes = _axes(draw, 1, 4, dilates="dilations" in document.attributes)
    rank = len(axes)
    auto_pad = _one_of(draw, ("NOTSET", "NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"))
    pads = _each(axes, "begin") + _each(axes, "end") if auto_pad == "NOTSET" else [0] * 2 * rank
    attributes = {
        "kernel_shape": _each(axes, "kernel"), "strides": _each(axes, "stride"),
        "dilations": _each(axes, "dilation"), "pads": pads, "auto_pad": auto_pad,
        "ceil_mode": _integer(draw, 0, 1), "storage_order": _integer(draw, 0, 1),
    }  # fmt: skip
    if document.name == "ort-nhwc-11":
        attributes.update(_one_of(draw, _ACTIVATIONS))
    defaults = {
        "strides": [1] * rank, "dilations": [1] * rank, "pads": [0] * 2 * rank, "auto_pad": "NOTSET", "ceil_mode": 0,
        "storage_order": 0,
    }  # fmt: skip
    own = {name: value for name, value in attributes.items() if name in document.attributes}
    # Without pads the windows lie on what they cover.
    sizes = [axis.size + (axis.begin + axis.end if auto_pad != "NOTSET" else 0) for axis in axes]
    dtypes = document.dtypes if hasattr(document, "dtypes") else document.onnx.dtypes
    return sizes, _dtype(draw, dtypes), _without_defaults(draw, own, defaults)


_ACTIVATIONS: tuple[dict[str, Any], ...] = (
    {}, {}, {"activation": "Relu"}, {"activation": "LeakyRelu", "activation_params": [0.5]},
    {"activation": "Clip", "activation_params": [-1.0, 2.0]},
)  # fmt: skip


def _sonnx(draw: _Draw, document: Any) -> tuple[list[int], str, dict[str, Any]]:
    axes = _axes(draw, 2, 2)
    attributes = {
        "kernel_shape": _each(axes, "kernel"), "strides": _each(axes, "stride"),
        "dilations": _each(axes, "dilation"), "pads": _each(axes, "begin") + _each(axes, "end"),
        "auto_pad": "NOTSET", "ceil_mode": 0, "storage_order": 0,
    }  # fmt: skip
    return _each(axes, "size"), _dtype(draw, document.dtypes), attributes


def _openvino(draw: _Draw, document: Any) -> tuple[list[int], str, dict[str, Any]]:
    axes = _axes(draw, 1, 3, dilates="dilations" in document.attributes)
    attributes: dict[str, Any] = {
        "kernel": _each(axes, "kernel"), "strides": _each(axes, "stride"), "pads_begin": _each(axes, "begin"),
        "pads_end": _each(axes, "end"), "rounding_type": _one_of(draw, tuple(document.rounding)),
        "auto_pad": _one_of(draw, ("explicit", "explicit", "same_upper", "same_lower", "valid")),
    }  # fmt: skip
    if "dilations" in document.attributes:
        attributes["dilations"] = _each(axes, "dilation")
        attributes["index_element_type"] = _one_of(draw, ("i64", "i32"))
        attributes["axis"] = _integer(draw, 0, len(axes) + 1)
    sizes = [axis.size + (axis.begin + axis.end if attributes["auto_pad"] == "valid" else 0) for axis in axes]
    defaults = {
        "dilations": [1] * len(axes), "rounding_type": "floor", "auto_pad": "explicit", "index_element_type": "i64",
        "axis": 0,
    }  # fmt: skip
    return sizes, _dtype(draw, NAMES), _without_defaults(draw, attributes, defaults)


def _ngraph(draw: _Draw, document: Any) -> tuple[list[int], str, dict[str, Any]]:
    del document
    axes = _axes(draw, 1, 3, dilates=False)
    attributes = {
        "window_shape": _each(axes, "kernel"), "window_movement_strides": _each(axes, "stride"),
        "padding_below": _each(axes, "begin"), "padding_above": _each(axes, "end"),
    }  # fmt: skip
    rank = len(axes)
    defaults = {"window_movement_strides": [1] * rank, "padding_below": [0] * rank, "padding_above": [0] * rank}
    return _each(axes, "size"), _dtype(draw, NAMES), _without_defaults(draw, attributes, defaults)


def _xmos(draw: _Draw, document: Any) -> tuple[list[int], str, dict[str, Any]]:
    del document
    rows, columns = (_axis(draw, False, False) for _ in range(2))
    starts = [_integer(draw, 0, 2) for _ in range(2)]
    attributes = {
        "Y_h": rows.output, "Y_w": columns.output, "K_h": rows.kernel, "K_w": columns.kernel, "W_r0": starts[0],
        "W_c0": starts[1], "W_vert": rows.stride, "W_hori": columns.stride,
    }  # fmt: skip
    return [rows.size + starts[0], columns.size + starts[1]], "int8", attributes


_FAMILIES: dict[str, Callable[[_Draw, Any], tuple[list[int], str, dict[str, Any]]]] = {
    "onnx": _onnx, "ort": _onnx, "sonnx": _sonnx, "openvino": _openvino, "ngraph": _ngraph, "xmos": _xmos,
}  # fmt: skip


def _values(draw: _Draw, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """Each cell one of a few values, most of them the first, so that whole windows hold nothing else; or ascending."""
    size = int(np.prod(shape))
    pool = _pool(dtype)
    palette = [_one_of(draw, pool) for _ in range(_integer(draw, 0, 4))]
    if not palette:
        return (np.arange(size) % 100).astype(dtype).reshape(shape)
    stream = random.Random(_integer(draw, 0, 2**32 - 1))
    weights = [len(palette) + 1, *[1] * (len(palette) - 1)]
    return np.array(stream.choices(palette, weights, k=size), dtype).reshape(shape)


def _pool(dtype: np.dtype) -> list[Any]:
    small = [1, 2, 3, 0]
    if not is_float(dtype):
        return [lowest(dtype), highest(dtype), *small, *([-1, -2] if dtype.kind == "i" else [])]
    subnormal = float(ml_dtypes.finfo(dtype).smallest_subnormal)
    # What most scans start from comes more often than what they meet on their way.
    return [
        -np.inf, -np.inf, -np.inf, np.inf, np.nan, np.nan, lowest(dtype), highest(dtype), -0.0, subnormal, -subnormal, -1,
        0.5, *small,
    ]  # fmt: skip


def _dtype(draw: _Draw, dtypes: Sequence[str]) -> str:
    """One of a document's; most runtimes have kernels of their own for float32 and float64."""
    common = [name for name in dtypes if name in ("float32", "float64")]
    return str(_one_of(draw, [*dtypes, *common, *common]))


def _excluded(
    draw: _Draw, attributes: dict[str, Any], shape: tuple[int, ...]
) -> tuple[dict[str, Any], tuple[int, ...]]:
    """One thing made wrong; where the document allows it after all, the case is not used."""
    names = sorted(attributes)
    name = _one_of(draw, names)
    value = attributes[name]
    wrong: list[Any] = ["WRONG", "NONE", ""] if isinstance(value, str) else [2, 0, -1, 2**31]
    if isinstance(value, list):
        place = _integer(draw, 0, len(value) - 1)
        wrong = [[*value[:place], entry, *value[place + 1 :]] for entry in (0, -1, 1000)] + [value[:-1], [*value, 1]]
    way = _integer(draw, 0, len(wrong) + 1)
    if way == len(wrong):
        return {key: one for key, one in attributes.items() if key != name}, shape
    if way == len(wrong) + 1:
        return attributes, shape[:-1]
    return {**attributes, name: wrong[way]}, shape
