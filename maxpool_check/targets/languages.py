"""The languages of runtimes: what a geometry is in the attributes or arguments of each.

A runtime takes ONNX's attributes, those of another document, or the arguments of a framework's function. Output sizes come from
its document or from ``reference/geometry.py``.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from maxpool_check.reference import geometry
from maxpool_check.reference.geometry import AutoPad, Geometry, NoWindow, Placement, Rounding
from maxpool_check.reference.numbering import Layout, Numbering
from maxpool_check.specifications import SPECIFICATIONS
from maxpool_check.specifications.onnx import VERSIONS
from maxpool_check.specifications.roles import NotExpressible, Role, attributes_for
from maxpool_check.specifications.specification import Specification

Attributes = Mapping[str, Any]

_INT32 = 2**31


@dataclass(frozen=True)
class Language:
    """One set of attributes or arguments that a runtime takes.

    ``title`` is its name for people, ``layout`` that of its X. ``candidates`` are attributes that may mean a geometry; those
    of a ``document`` must be checked by the sizes that it computes for them. They raise
    :class:`~maxpool_check.specifications.roles.NotExpressible`. ``crops``: X must be cropped for a negative pad. ``decides``:
    a user's kernel in this language is judged by how the framework's own functions interpret what documents leave open: a NaN
    in the window is the maximum, and of equal maxima the index is that of the first, but of any NaN.
    """

    title: str
    candidates: Callable[[Geometry, Numbering | None], Iterator[Attributes]]
    layout: Layout = Layout.CHANNELS_FIRST
    document: Specification | None = None
    crops: bool = True
    decides: bool = False


def require(expressible: bool, why: str) -> None:
    """Raise ``NotExpressible`` unless something is expressible."""
    if not expressible:
        raise NotExpressible(why)


def _lists(axes: Geometry, **names: str) -> dict[str, list[int]]:
    """The numbers of the axes, one list for each field of an axis, by the name that a language has for it."""
    return {name: [getattr(axis, field) for axis in axes] for field, name in names.items()}


def _onnx(axes: Geometry, _: Numbering | None) -> Iterator[Attributes]:
    """The newest version's attributes, except those that older ones lack or have at the same default."""
    document = VERSIONS[-1]
    for attributes in attributes_for(document, axes):
        yield {
            name: value
            for name, value in attributes.items()
            if document.attributes[name].role not in (Role.AUTO_PAD, Role.STORAGE_ORDER)
        }


def _torch(axes: Geometry, _: Numbering | None) -> Iterator[Attributes]:
    require(len(axes) <= 3, "it has one to three spatial axes")
    is_even = all(axis.begin == axis.end <= axis.kernel // 2 for axis in axes)
    require(is_even, "its padding is the same on both sides, and at most half of the kernel")
    for ceil_mode, rounding in ((False, geometry.floor_output), (True, geometry.clipped_ceil_output)):
        if _gives_outputs(rounding, axes):
            lists = _lists(axes, kernel="kernel_size", stride="stride", begin="padding", dilation="dilation")
            yield {**lists, "ceil_mode": ceil_mode}


def require_of_torch(axes: Geometry, shape: tuple[int, ...]) -> None:
    """Raise ``NotExpressible`` for what PyTorch's own functions refuse: nobody can expect more of a kernel in their place."""
    outputs = [axis.output for axis in axes]
    require(min((*shape[1:], *outputs)) > 0, "torch.nn.functional.max_pool has no X or Y without cells")
    numbers = [number for axis in axes for number in (axis.kernel, axis.stride, axis.dilation)]
    require(max(numbers) < _INT32, "the numbers of torch.nn.functional.max_pool have 32 bits")


def _jax(axes: Geometry, _: Numbering | None) -> Iterator[Attributes]:
    # At the end as far as the last window reaches: less than there is, where the size is rounded down.
    axes = tuple(replace(axis, end=axis.reach - axis.size) for axis in axes)
    if _gives_outputs(geometry.floor_output, axes):
        padding = {"padding": [[axis.begin, axis.end] for axis in axes]}
        yield {**_lists(axes, kernel="window", stride="strides"), **padding, **_lists(axes, dilation="dilation")}


def _ncnn(axes: Geometry, _: Numbering | None) -> Iterator[Attributes]:
    require(all(axis.dilation == 1 or axis.kernel <= 1 for axis in axes), "it has no dilation")
    is_inside = not any(axis.exceeds_padded_input for axis in axes)
    require(is_inside, "its windows are not larger than the padded input")
    numbers = [number for axis in axes for number in (axis.kernel, axis.stride, axis.begin, axis.end)]
    require(max(numbers) < _INT32, "its numbers have 32 bits")
    windows, explicit = _lists(axes, kernel="kernel", stride="stride"), _lists(axes, begin="pads_begin", end="pads_end")
    # What is padded alike on both sides, or not at all, are pads: the modes that compute them are for what only they need.
    if any(axis.begin != axis.end for axis in axes):
        for pad_mode, auto_pad in ((2, AutoPad.SAME_UPPER), (3, AutoPad.SAME_LOWER)):
            if axes == _placed(axes, auto_pad):
                yield {**windows, "pad_mode": pad_mode}
    # It pads as far as the last window reaches, also where that starts in the padding.
    for pad_mode, rounding in ((1, geometry.floor_output), (0, geometry.ceil_output)):
        if _gives_outputs(rounding, axes):
            yield {**windows, **explicit, "pad_mode": pad_mode}


def _tflite(axes: Geometry, _: Numbering | None) -> Iterator[Attributes]:
    require(len(axes) == 2, "it has two spatial axes")
    require(all(axis.dilation == 1 for axis in axes), "it has no dilation")
    is_small = all(max(axis.kernel, axis.stride) < _INT32 for axis in axes)
    require(is_small, "its windows and strides have 32 bits")
    padding = _named_padding(axes)
    require(padding is not None, "its padding is VALID or SAME, with an odd cell at the end, on both axes")
    yield {
        "padding": padding,
        "filter_height": axes[0].kernel,
        "filter_width": axes[1].kernel,
        "stride_h": axes[0].stride,
        "stride_w": axes[1].stride,
    }


def _tensorflow(axes: Geometry, numbering: Numbering | None) -> Iterator[Attributes]:
    require(len(axes) <= 3, "it has one to three spatial axes")
    require(numbering is None or len(axes) == 2, "its Indices have two spatial axes")
    require(all(axis.dilation == 1 for axis in axes), "it has no dilation")
    padding: str | list[list[int]] | None = _named_padding(axes)
    if padding is None:
        # At the end as far as the last window reaches, if that is beyond X.
        padded = tuple(replace(axis, end=max(0, axis.reach - axis.size)) for axis in axes)
        is_explicit = numbering is None and len(axes) < 3 and _gives_outputs(geometry.floor_output, padded)
        require(is_explicit, "its padding is VALID or SAME, with an odd cell at the end; explicit where it has it")
        padding = [[0, 0], *([axis.begin, axis.end] for axis in padded), [0, 0]]
    yield {**_lists(axes, kernel="ksize", stride="strides"), "padding": padding}


def _named_padding(axes: Geometry) -> str | None:
    """``VALID`` or ``SAME``, if TensorFlow's places every window of all axes where it is; None if neither does."""
    for name, auto_pad in (("VALID", AutoPad.VALID), ("SAME", AutoPad.SAME_UPPER)):
        try:
            placed = _placed(axes, auto_pad)
        except NoWindow:
            continue
        if all((each.begin, each.output) == (axis.begin, axis.output) for each, axis in zip(placed, axes, strict=True)):
            return name
    return None


def _placed(axes: Geometry, auto_pad: AutoPad) -> Geometry:
    """The axes with the pads and the output sizes of ``auto_pad``. Raises ``NoWindow``."""
    placement = Placement(auto_pad)
    return tuple(placement.axis(a.size, a.kernel, a.stride, a.dilation, 0, 0) for a in axes)


def _gives_outputs(rounding: Rounding, axes: Geometry) -> bool:
    """Whether every axis has the output size that a rounding gives it."""
    try:
        return all(rounding(a.size, a.kernel, a.stride, a.dilation, a.begin, a.end) == a.output for a in axes)
    except NoWindow:
        return False


LANGUAGES: Mapping[str, Language] = {
    "onnx": Language("ONNX MaxPool", _onnx, document=VERSIONS[-1]),
    **{
        name: Language(document.title, partial(attributes_for, document), document.layout, document)
        for name, document in SPECIFICATIONS.items()
        if document.onnx is None
    },
    "torch": Language("torch.nn.functional.max_pool", _torch, decides=True),
    "jax": Language("jax.lax.reduce_window", _jax, crops=False),
    "ncnn": Language("ncnn's Pooling", _ncnn),
    "tensorflow": Language("tf.nn.max_pool", _tensorflow, Layout.CHANNELS_LAST),
    "tflite": Language("TFLite's MAX_POOL_2D", _tflite, Layout.CHANNELS_LAST),
}
"""The languages of adapters, by name."""
