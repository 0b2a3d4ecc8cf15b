"""A case of any document in what a runtime speaks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from maxpool_check.reference.activation import Activation
from maxpool_check.reference.geometry import Axis, Geometry, NoWindow
from maxpool_check.reference.layout import Layout
from maxpool_check.reference.numbering import of_whole_tensor
from maxpool_check.reference.pooling import Pooling
from maxpool_check.specifications.inverse import NotExpressible
from maxpool_check.specifications.onnx import VERSIONS, Onnx
from maxpool_check.specifications.refused import Refused
from maxpool_check.specifications.specification import Specification
from maxpool_check.targets.languages import LANGUAGES, Language


@dataclass(frozen=True)
class Translation:
    """The attributes and the X of a runtime that say the same as a case, and the way there and back.

    ``attributes`` are those of the language, ``shape`` is that of the X it is handed. ``source`` is the layout of the case,
    ``target`` that of the language. ``crop`` is what it sees of each spatial axis of the case's X. ``onnx`` is the version
    whose meaning an ONNX graph has. ``activation`` is a node of its own behind the MaxPool. ``index_dtype`` is what the
    case has its Indices in. ``steps`` says in words what is done; it is empty where the case is handed over as it stands.
    """

    attributes: Mapping[str, Any]
    shape: tuple[int, ...]
    source: Layout = Layout.CHANNELS_FIRST
    target: Layout = Layout.CHANNELS_FIRST
    crop: tuple[slice, ...] = ()
    onnx: Onnx = VERSIONS[-1]
    activation: Activation | None = None
    index_dtype: str = "int64"
    steps: tuple[str, ...] = ()

    def input(self, X: np.ndarray) -> np.ndarray:
        """X as the runtime takes it."""
        if X.ndim < 3 or (self.source is self.target and not self.crop):
            return X
        core = self.source.to_core(X)
        everything = (slice(None), slice(None))
        return self.target.from_core(np.ascontiguousarray(core[everything + self.crop]))

    def output(self, name: str, tensor: np.ndarray, *, by_plane: bool = False) -> np.ndarray:
        """An output of the runtime as the case has it; unchanged where its shape is that of no such tensor.

        ``by_plane``: the runtime numbers the cells of each plane from 0.
        """
        if tensor.ndim == len(self.shape) and self._is_whole(tensor.shape):
            tensor = self.target.to_core(tensor)
            if by_plane and name == "Indices" and tensor.dtype.kind == "i":
                tensor = of_whole_tensor(tensor, self.target.sizes(self.shape))
            tensor = self.source.from_core(tensor)
        if name == "Indices" and tensor.dtype == np.int64:
            narrow = tensor.astype(self.index_dtype)
            tensor = narrow if (narrow == tensor).all() else tensor
        return tensor

    def _is_whole(self, shape: tuple[int, ...]) -> bool:
        """Whether the case's layout has a place for all cells of an output of this shape: an image is one batch."""
        return self.source is not Layout.IMAGE or self.target.sizes(shape)[0] == 1


def translate(
    document: Specification,
    attributes: Mapping[str, Any],
    dtype: str,
    shape: tuple[int, ...],
    resolved: Pooling | Refused,
    *,
    indices: bool,
    language: str = "onnx",
) -> Translation:
    """Translate a case with X of this dtype and shape, with Indices or without. Raises :class:`NotExpressible`.

    Where the language is the document's own, the attributes are handed on as they are, right or wrong. Otherwise they are
    made from the geometry, with explicit pads; cells that are left out are cropped.
    """
    if language == "onnx" and document.onnx is not None:
        return _rearranged(document, document.onnx, attributes, shape, resolved, indices=indices)
    if language == document.name and LANGUAGES[language].whole:
        # Indices have the dtype that the runtime gives them.
        return Translation(attributes, shape, document.layout, document.layout)
    if isinstance(resolved, Refused):
        raise NotExpressible(
            f"{document.title} excludes the graph, and its attributes are not those of {LANGUAGES[language].title}"
        )
    return _from_geometry(resolved, dtype, shape, LANGUAGES[language], indices=indices)


def _rearranged(
    document: Specification,
    onnx: Onnx,
    attributes: Mapping[str, Any],
    shape: tuple[int, ...],
    resolved: Pooling | Refused,
    *,
    indices: bool,
) -> Translation:
    beyond = set(document.attributes) - set(onnx.attributes)
    own = {name: value for name, value in attributes.items() if name not in beyond}
    if isinstance(resolved, Refused) and resolved.attribute in beyond:
        raise NotExpressible(
            f"{document.title} excludes the graph for its {resolved.attribute}, which ONNX does not have"
        )
    activation = resolved.activation if isinstance(resolved, Pooling) else None
    if indices and isinstance(resolved, Pooling) and resolved.numbering.layout is not Layout.CHANNELS_FIRST:
        raise NotExpressible("ONNX numbers the cells with the channels first, and the case wants them last")
    sizes = document.layout.sizes(shape) if len(shape) > 2 else shape
    steps = (*_rearrangement(document.layout, Layout.CHANNELS_FIRST), *_behind(activation))
    return Translation(own, sizes, document.layout, onnx=onnx, activation=activation, steps=steps)


def _from_geometry(
    pooling: Pooling, dtype: str, shape: tuple[int, ...], language: Language, *, indices: bool
) -> Translation:
    axes, numbering = pooling.geometry, pooling.numbering
    if pooling.activation is not None:
        raise NotExpressible(f"{language.title} has no activation")
    if indices and not language.numbers(numbering):
        raise NotExpressible(f"{language.title} numbers the cells of the whole tensor row by row, channels first")
    crop: tuple[slice, ...] = ()
    if language.crops and any(axis.begin < 0 or axis.end < 0 for axis in axes):
        if indices:
            raise NotExpressible(f"{language.title} has no negative pads, and Indices would number what is left")
        crop = tuple(map(_kept, axes))
        axes = tuple(
            replace(axis, size=part.stop - part.start, begin=max(0, axis.begin), end=max(0, axis.end))
            for axis, part in zip(axes, crop, strict=True)
        )
    batch, channels = pooling.layout.sizes(shape)[:2]
    if language.layout is Layout.IMAGE and batch != 1:
        raise NotExpressible(f"{language.title} takes one image, not a batch of {batch}")
    handed = language.layout.arranged((batch, channels, *(axis.size for axis in axes)))
    attributes = _fitting(language, axes, dtype, handed, pooling, indices=indices)
    steps = [f"{language.title} with {', '.join(f'{name}={value}' for name, value in attributes.items())}"]
    if crop:
        steps.append("X cropped to " + " x ".join(f"[{part.start}, {part.stop})" for part in crop))
    steps += _rearrangement(pooling.layout, language.layout)
    if indices and numbering.dtype != "int64":
        steps.append(f"Indices as {numbering.dtype}")
    return Translation(
        attributes, handed, pooling.layout, language.layout, crop, index_dtype=numbering.dtype, steps=tuple(steps)
    )


def _kept(axis: Axis) -> slice:
    """The cells that some window can reach, where those at the ends are cropped."""
    first = max(0, -axis.begin)
    return slice(first, max(first, min(axis.size, axis.reach)) if axis.end < 0 else axis.size)


def _fitting(
    language: Language, axes: Geometry, dtype: str, shape: tuple[int, ...], pooling: Pooling, *, indices: bool
) -> dict[str, Any]:
    """The first of the language's candidates that has the same windows by its own sizes."""
    for attributes in language.candidates(axes, pooling.numbering if indices else None):
        try:
            if language.sizes(attributes, dtype, shape) == pooling.output_sizes:
                return attributes
        except NoWindow:
            continue
    raise NotExpressible(
        f"{language.title} has no rounding that gives {list(pooling.output_sizes)} windows: "
        "one that starts in the end padding is dropped there, or kept"
    )


def _rearrangement(source: Layout, target: Layout) -> tuple[str, ...]:
    if source is target:
        return ()
    words = {
        Layout.CHANNELS_FIRST: "channels first",
        Layout.CHANNELS_LAST: "channels last",
        Layout.IMAGE: "one image with its channels last",
    }
    return (f"X transposed to {words[target]}, the outputs back",)


def _behind(activation: Activation | None) -> tuple[str, ...]:
    if activation is None:
        return ()
    parameters = f" {list(activation.parameters)}" if activation.parameters else ""
    return (f"{activation.function.value}{parameters} as a node behind MaxPool",)
