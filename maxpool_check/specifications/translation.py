"""How a case of any document is asked of a runtime that speaks ONNX."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from maxpool_check.reference.activation import Activation
from maxpool_check.reference.layout import Layout
from maxpool_check.reference.pooling import Pooling
from maxpool_check.specifications.onnx import VERSIONS, Onnx
from maxpool_check.specifications.refused import Refused
from maxpool_check.specifications.specification import Specification

_NEWEST = VERSIONS[-1]


class NotExpressible(ValueError):
    """No ONNX graph says the same."""


@dataclass(frozen=True)
class Translation:
    """An ONNX graph that says the same as a case, and the way there and back.

    ``attributes`` are those of ``onnx``, the version whose meaning the graph has. ``shape`` is that of its X. ``crop``
    is what it sees of each spatial axis of the case's X, ``layout`` that of the case. ``activation`` is a node of its
    own behind the MaxPool. ``index_dtype`` is what the case has its Indices in. ``steps`` says in words what is done,
    empty where the case is an ONNX graph as it stands.
    """

    onnx: Onnx
    attributes: Mapping[str, Any]
    shape: tuple[int, ...]
    layout: Layout = Layout.CHANNELS_FIRST
    crop: tuple[slice, ...] = ()
    activation: Activation | None = None
    index_dtype: str = "int64"
    steps: tuple[str, ...] = field(default=())

    def input(self, X: np.ndarray) -> np.ndarray:
        """X as the graph takes it."""
        core = self.layout.to_core(X) if X.ndim > 2 else X
        if not self.crop:
            return core
        everything = (slice(None), slice(None))
        return np.ascontiguousarray(core[everything + self.crop])

    def output(self, name: str, tensor: np.ndarray) -> np.ndarray:
        """What the graph gives, as the case has it; unchanged where it is no such tensor at all."""
        if tensor.ndim == len(self.shape):
            tensor = self.layout.from_core(tensor)
        if name == "Indices" and tensor.dtype == np.int64:
            narrow = tensor.astype(self.index_dtype)
            tensor = narrow if (narrow == tensor).all() else tensor
        return tensor


def to_onnx(
    document: Specification,
    attributes: Mapping[str, Any],
    dtype: str,
    shape: tuple[int, ...],
    meaning: Pooling | Refused,
    *,
    indices: bool,
) -> Translation:
    """The ONNX graph of a case with X of this dtype and shape, with Indices or without. Raises :class:`NotExpressible`.

    Where the document speaks ONNX's attributes they are handed on as they are, right or wrong; otherwise the graph is
    made from the geometry: explicit pads, and what is left out cropped.
    """
    if document.onnx is not None:
        return _rearranged(document, document.onnx, attributes, shape, meaning, indices=indices)
    if isinstance(meaning, Refused):
        raise NotExpressible(f"{document.title} excludes the graph, and its attributes are not ONNX's")
    return _made(meaning, dtype, shape, indices=indices)


def _rearranged(
    document: Specification,
    onnx: Onnx,
    attributes: Mapping[str, Any],
    shape: tuple[int, ...],
    meaning: Pooling | Refused,
    *,
    indices: bool,
) -> Translation:
    beyond = set(document.attributes) - set(onnx.attributes)
    own = {name: value for name, value in attributes.items() if name not in beyond}
    if isinstance(meaning, Refused) and meaning.attribute in beyond:
        raise NotExpressible(
            f"{document.title} excludes the graph for its {meaning.attribute}, which ONNX does not have"
        )
    activation = meaning.activation if isinstance(meaning, Pooling) else None
    if indices and isinstance(meaning, Pooling) and meaning.numbering.layout is not Layout.CHANNELS_FIRST:
        raise NotExpressible("ONNX numbers the cells with the channels first, and the case wants them last")
    sizes = document.layout.sizes(shape) if len(shape) > 2 else shape
    steps = (*_transposition(document.layout), *_behind(activation))
    return Translation(onnx, own, sizes, document.layout, activation=activation, steps=steps)


def _made(pooling: Pooling, dtype: str, shape: tuple[int, ...], *, indices: bool) -> Translation:
    axes, numbering = pooling.geometry, pooling.numbering
    if indices and numbering.axis:
        raise NotExpressible(f"ONNX numbers the cells of the whole tensor, not those from axis {numbering.axis} on")
    crop = tuple(slice(max(0, -axis.begin), axis.size - max(0, -axis.end)) for axis in axes)
    cropped = any(part != slice(0, axis.size) for part, axis in zip(crop, axes, strict=True))
    if indices and cropped:
        raise NotExpressible("ONNX has no negative pads, and Indices would number the cells of what is left")
    sizes = (*pooling.layout.sizes(shape)[:2], *(part.stop - part.start for part in crop))
    attributes: dict[str, Any] = {
        "kernel_shape": [axis.kernel for axis in axes],
        "strides": [axis.stride for axis in axes],
        "dilations": [axis.dilation for axis in axes],
        "pads": [max(0, axis.begin) for axis in axes] + [max(0, axis.end) for axis in axes],
    }
    attributes["ceil_mode"] = _ceil_mode(pooling, attributes, dtype, sizes)
    steps = [f"ONNX MaxPool with {', '.join(f'{name}={value}' for name, value in attributes.items())}"]
    if cropped:
        steps.append("X cropped to " + " x ".join(f"[{part.start}, {part.stop})" for part in crop))
    steps += _transposition(pooling.layout)
    if indices and numbering.dtype != "int64":
        steps.append(f"Indices narrowed to {numbering.dtype}")
    return Translation(
        _NEWEST, attributes, sizes, pooling.layout, crop if cropped else (), None, numbering.dtype, tuple(steps)
    )


def _ceil_mode(pooling: Pooling, attributes: Mapping[str, Any], dtype: str, sizes: tuple[int, ...]) -> int:
    """The rounding by which ONNX itself has the same windows."""
    for ceil_mode in (0, 1):
        try:
            said = _NEWEST.pooling({**attributes, "ceil_mode": ceil_mode}, dtype, sizes, pooling.policies)
        except Refused as refused:
            raise NotExpressible(f"ONNX excludes the graph: {refused}") from refused
        if said.output_sizes == pooling.output_sizes:
            return ceil_mode
    raise NotExpressible(
        f"ONNX has no rounding that gives {list(pooling.output_sizes)} windows: it drops those that start in the end padding"
    )


def _transposition(layout: Layout) -> tuple[str, ...]:
    return () if layout is Layout.CHANNELS_FIRST else ("X transposed to channels first, the answer back",)


def _behind(activation: Activation | None) -> tuple[str, ...]:
    if activation is None:
        return ()
    parameters = f" {list(activation.parameters)}" if activation.parameters else ""
    return (f"{activation.function.value}{parameters} as a node behind MaxPool",)
