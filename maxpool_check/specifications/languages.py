"""What runtimes are asked in: ONNX, another document's own attributes, or a framework's own arguments.

A language turns a geometry into its attributes, and says which output sizes these have there. It holds no formula of its
own: the sizes are its document's, or those of ``reference/geometry.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from maxpool_check.reference import geometry
from maxpool_check.reference.geometry import Geometry
from maxpool_check.reference.layout import Layout
from maxpool_check.reference.numbering import Numbering
from maxpool_check.specifications import SPECIFICATIONS
from maxpool_check.specifications.onnx import VERSIONS
from maxpool_check.specifications.refused import Refused
from maxpool_check.specifications.specification import Specification


class NotExpressible(ValueError):
    """Nothing in the language says the same."""


Attributes = dict[str, Any]
Sizes = tuple[int, ...]


@dataclass(frozen=True)
class Language:
    """One way to ask.

    ``title`` is its name for people, ``layout`` that of its X. ``crops``: whether X must be cropped for a negative pad.
    ``whole``: whether its document's cases can be handed over as they stand, right or wrong.
    ``counts`` tells whether it can count Indices in a way. ``candidates`` are attributes that may say the same as a
    geometry, ``sizes`` the output sizes that attributes have for X of a dtype and shape; both raise
    :class:`NotExpressible`.
    """

    title: str
    layout: Layout
    crops: bool
    whole: bool
    counts: Callable[[Numbering], bool]
    candidates: Callable[[Geometry, Numbering | None], Iterator[Attributes]]
    sizes: Callable[[Attributes, str, tuple[int, ...]], Sizes]


def _row_major(numbering: Numbering) -> bool:
    return numbering == Numbering(dtype=numbering.dtype)


def _row_major_from_an_axis(numbering: Numbering) -> bool:
    return _row_major(replace(numbering, axis=0))


def _of(document: Specification) -> Callable[[Attributes, str, tuple[int, ...]], Sizes]:
    """The output sizes that a document's own adapter gives."""

    def sizes(attributes: Attributes, dtype: str, shape: tuple[int, ...]) -> Sizes:
        try:
            return document.pooling(attributes, dtype, shape, document.policies).output_sizes
        except Refused as refused:
            raise NotExpressible(f"{document.title} excludes the graph: {refused}") from refused

    return sizes


def _each(axes: Geometry, name: str) -> list[int]:
    return [getattr(axis, name) for axis in axes]


def _onnx(axes: Geometry, numbering: Numbering | None) -> Iterator[Attributes]:
    del numbering
    for ceil_mode in (0, 1):
        yield {
            "kernel_shape": _each(axes, "kernel"),
            "strides": _each(axes, "stride"),
            "dilations": _each(axes, "dilation"),
            "pads": _each(axes, "begin") + _each(axes, "end"),
            "ceil_mode": ceil_mode,
        }


def _openvino(
    rounding: Sequence[str], has_dilations: bool
) -> Callable[[Geometry, Numbering | None], Iterator[Attributes]]:
    def candidates(axes: Geometry, numbering: Numbering | None) -> Iterator[Attributes]:
        if not has_dilations and any(axis.dilation != 1 for axis in axes):
            raise NotExpressible("it has no dilations")
        for rounding_type in rounding:
            attributes: Attributes = {
                "kernel": _each(axes, "kernel"),
                "strides": _each(axes, "stride"),
                "pads_begin": _each(axes, "begin"),
                "pads_end": _each(axes, "end"),
                "rounding_type": rounding_type,
                "auto_pad": "explicit",
            }
            if has_dilations:
                attributes["dilations"] = _each(axes, "dilation")
            if numbering is not None:
                attributes["index_element_type"] = {"int64": "i64", "int32": "i32"}[numbering.dtype]
                attributes["axis"] = numbering.axis
            yield attributes

    return candidates


def _xmos(axes: Geometry, numbering: Numbering | None) -> Iterator[Attributes]:
    del numbering
    if len(axes) != 2 or any(axis.dilation != 1 for axis in axes):
        raise NotExpressible("it has two spatial axes and no dilations")
    if any(axis.begin > 0 or axis.end > 0 for axis in axes):
        raise NotExpressible("it has no padding")
    rows, columns = axes
    yield {
        "Y_h": rows.output, "Y_w": columns.output, "K_h": rows.kernel, "K_w": columns.kernel,
        "W_r0": -rows.begin, "W_c0": -columns.begin, "W_vert": rows.stride, "W_hori": columns.stride,
    }  # fmt: skip


def _torch(axes: Geometry, numbering: Numbering | None) -> Iterator[Attributes]:
    del numbering
    if len(axes) > 3:
        raise NotExpressible("it has one to three spatial axes")
    for axis in axes:
        if axis.begin != axis.end or axis.begin > axis.kernel // 2:
            raise NotExpressible("its padding is the same on both sides, and at most half of the kernel")
    for ceil_mode in (False, True):
        yield {
            "kernel_size": _each(axes, "kernel"),
            "stride": _each(axes, "stride"),
            "padding": _each(axes, "begin"),
            "dilation": _each(axes, "dilation"),
            "ceil_mode": ceil_mode,
        }


def _torch_sizes(attributes: Attributes, dtype: str, shape: tuple[int, ...]) -> Sizes:
    del dtype
    rounding = geometry.clipped_ceil_output if attributes["ceil_mode"] else geometry.floor_output
    names = ("kernel_size", "stride", "dilation", "padding", "padding")
    return tuple(rounding(*values) for values in zip(shape[2:], *(attributes[name] for name in names), strict=True))


def _jax(axes: Geometry, numbering: Numbering | None) -> Iterator[Attributes]:
    del numbering
    yield {
        "window": _each(axes, "kernel"),
        "strides": _each(axes, "stride"),
        # At the end as far as the last window reaches: less than there is, where the size is rounded down.
        "padding": [[axis.begin, axis.reach - axis.size] for axis in axes],
        "dilation": _each(axes, "dilation"),
    }


def _jax_sizes(attributes: Attributes, dtype: str, shape: tuple[int, ...]) -> Sizes:
    del dtype
    names = ("window", "strides", "dilation", "padding")
    columns = zip(shape[2:], *(attributes[name] for name in names), strict=True)
    return tuple(geometry.floor_output(n, k, s, d, low, high) for n, k, s, d, (low, high) in columns)


_NEWEST = VERSIONS[-1]


def _document(name: str, candidates: Callable[[Geometry, Numbering | None], Iterator[Attributes]]) -> Language:
    document = SPECIFICATIONS[name]
    return Language(
        document.title,
        document.layout,
        crops=True,
        # Who computes maxpool2d is asked with a TFLite model, which has a window and strides and nothing else.
        whole=name != "xmos-maxpool2d",
        counts=_row_major_from_an_axis,
        candidates=candidates,
        sizes=_of(document),
    )


LANGUAGES: Mapping[str, Language] = {
    "onnx": Language("ONNX MaxPool", Layout.CHANNELS_FIRST, True, False, _row_major, _onnx, _of(_NEWEST)),
    "openvino-1": _document("openvino-1", _openvino(("floor", "ceil"), False)),
    "openvino-8": _document("openvino-8", _openvino(("floor", "ceil"), True)),
    "openvino-14": _document("openvino-14", _openvino(("floor", "ceil_torch", "ceil"), True)),
    "xmos-maxpool2d": _document("xmos-maxpool2d", _xmos),
    "torch": Language(
        "torch.nn.functional.max_pool", Layout.CHANNELS_FIRST, True, False, _row_major, _torch, _torch_sizes
    ),
    "jax": Language("jax.lax.reduce_window", Layout.CHANNELS_FIRST, False, False, _row_major, _jax, _jax_sizes),
}
"""The languages that adapters speak, by name."""
