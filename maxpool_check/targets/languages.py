"""What runtimes speak: ONNX, another document's own attributes, or a framework's own arguments.

A language turns a geometry into its attributes, and says which output sizes these have there. It holds no formula of its
own: the sizes are its document's, or those of ``reference/geometry.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from maxpool_check.reference import geometry
from maxpool_check.reference.geometry import Geometry
from maxpool_check.reference.layout import Layout
from maxpool_check.reference.numbering import Numbering
from maxpool_check.specifications import SPECIFICATIONS
from maxpool_check.specifications.inverse import NotExpressible, attributes_for
from maxpool_check.specifications.onnx import VERSIONS
from maxpool_check.specifications.refused import Refused
from maxpool_check.specifications.roles import Role
from maxpool_check.specifications.specification import Specification

Attributes = dict[str, Any]
Sizes = tuple[int, ...]


@dataclass(frozen=True)
class Language:
    """One set of attributes or arguments that a runtime takes.

    ``title`` is its name for people, ``layout`` that of its X. ``crops``: whether X must be cropped for a negative pad.
    ``whole``: whether its document's cases can be handed over as they stand, right or wrong. ``numbers`` tells whether it
    can number the cells of X in a way. ``candidates`` are attributes that may say the same as a geometry, ``sizes`` the
    output sizes that attributes have for X of a dtype and shape; both raise
    :class:`~maxpool_check.specifications.inverse.NotExpressible`.
    """

    title: str
    layout: Layout
    numbers: Callable[[Numbering], bool]
    candidates: Callable[[Geometry, Numbering | None], Iterator[Attributes]]
    sizes: Callable[[Attributes, str, tuple[int, ...]], Sizes]
    crops: bool = True
    whole: bool = False


def _row_major(numbering: Numbering) -> bool:
    return numbering == Numbering(dtype=numbering.dtype)


def _row_major_from_an_axis(numbering: Numbering) -> bool:
    return _row_major(replace(numbering, axis=0))


def _sizes_by(document: Specification) -> Callable[[Attributes, str, tuple[int, ...]], Sizes]:
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
    """The newest version's attributes, but for those that every older one has at the same default or lacks."""
    del numbering
    document = VERSIONS[-1]
    for attributes in attributes_for(document, axes):
        yield {
            name: value
            for name, value in attributes.items()
            if document.attributes[name].role not in (Role.AUTO_PAD, Role.STORAGE_ORDER)
        }


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


def _own(document: Specification) -> Language:
    """The language of a document that is not ONNX's."""
    return Language(
        document.title,
        document.layout,
        _row_major_from_an_axis,
        lambda axes, numbering: attributes_for(document, axes, numbering),
        _sizes_by(document),
        # A runtime of maxpool2d takes a TFLite model, which has a window and strides and nothing else.
        whole=document.name != "xmos-maxpool2d",
    )


LANGUAGES: Mapping[str, Language] = {
    "onnx": Language("ONNX MaxPool", Layout.CHANNELS_FIRST, _row_major, _onnx, _sizes_by(VERSIONS[-1])),
    **{name: _own(document) for name, document in SPECIFICATIONS.items() if document.onnx is None},
    "torch": Language("torch.nn.functional.max_pool", Layout.CHANNELS_FIRST, _row_major, _torch, _torch_sizes),
    "jax": Language("jax.lax.reduce_window", Layout.CHANNELS_FIRST, _row_major, _jax, _jax_sizes, crops=False),
}
"""The languages that adapters speak, by name."""
