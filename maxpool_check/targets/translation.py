"""A case of any document in the language of a runtime."""

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, cast

import numpy as np

from maxpool_check.reference.geometry import Axis, Geometry
from maxpool_check.reference.numbering import NUMBERINGS, Layout, Numbering, of_whole_tensor
from maxpool_check.reference.policies import Policies
from maxpool_check.reference.pooling import Activation, Pooling
from maxpool_check.results.details import InferredOutput
from maxpool_check.specifications.onnx import VERSIONS, Onnx
from maxpool_check.specifications.roles import NotExpressible
from maxpool_check.specifications.specification import Reason, Refused, Specification
from maxpool_check.targets.languages import LANGUAGES, Attributes, Language, require

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Translation:
    """The attributes and the X of a runtime that mean the same as a case, and how to convert X and the outputs.

    ``attributes`` are those of the language, ``shape`` that of the runtime's X. ``source`` is the layout of the case,
    ``target`` that of the language. ``crop`` is the part of each spatial axis of the case's X that the runtime gets. ``onnx``
    is the version that defines an ONNX graph. ``activation`` is a separate node after the MaxPool. ``index_dtype`` is that
    of the case's Indices, ``numbering`` that of the runtime's, None if it is the case's own. ``steps`` describes the translation; it is empty where the case is passed unchanged.
    """

    attributes: Attributes
    shape: Shape
    source: Layout = Layout.CHANNELS_FIRST
    target: Layout = Layout.CHANNELS_FIRST
    crop: tuple[slice, ...] = ()
    onnx: Onnx = VERSIONS[-1]
    activation: Activation | None = None
    index_dtype: str = "int64"
    numbering: Numbering | None = None
    steps: tuple[str, ...] = ()

    @classmethod
    def unchanged(cls, document: Specification, attributes: Attributes, shape: Shape, **others: Any) -> "Translation":
        """A case as it is, for a runtime that takes the layout of its document."""
        return cls(attributes, shape, document.layout, document.layout, **others)

    def input(self, X: np.ndarray) -> np.ndarray:
        """X as the runtime takes it."""
        if X.ndim < 3 or (self.source is self.target and not self.crop):
            return X
        parts = (slice(None), slice(None), *self.crop)
        core = self.source.to_core(X)[parts]
        return self.target.from_core(np.ascontiguousarray(core))

    def output(self, name: str, tensor: np.ndarray) -> np.ndarray:
        """An output of the runtime as the case has it; not rearranged if its shape is not that of such a tensor."""
        # An image is a single batch. A tensor without spatial axes has no layout.
        if tensor.ndim == len(self.shape) > 2 and (
            self.source is not Layout.IMAGE or self.target.sizes(tensor.shape)[0] == 1
        ):
            tensor = self.target.to_core(tensor)
            if self.numbering is not None and name == "Indices" and tensor.dtype.kind == "i":
                tensor = of_whole_tensor(tensor, self.target.sizes(self.shape), self.numbering)
            tensor = self.source.from_core(tensor)
        if name == "Indices" and tensor.dtype == np.int64:
            narrow = tensor.astype(self.index_dtype)
            tensor = narrow if (narrow == tensor).all() else tensor
        return tensor

    def inferred(self, name: str, output: InferredOutput) -> InferredOutput:
        """What a runtime infers of an output, as :meth:`output` would have it."""
        dtype, shape = output.dtype, output.shape
        if shape is not None and len(shape) == len(self.shape) > 2:
            sizes = self.target.sizes(cast(Shape, shape))
            shape = shape if self.source is Layout.IMAGE and sizes[0] != 1 else self.source.arranged(sizes)
        return InferredOutput(dtype=self.index_dtype if (name, dtype) == ("Indices", "int64") else dtype, shape=shape)


def translate(
    document: Specification,
    attributes: Attributes,
    dtype: str,
    shape: Shape,
    resolved: Pooling | Refused,
    *,
    indices: bool,
    language: str = "onnx",
    counted: str = "whole",
) -> Translation:
    """Translate a case with X of this dtype and shape, with Indices or without. Raises :class:`NotExpressible`.

    If the language is the document's own, its attributes are passed unchanged, valid or not. Otherwise they are derived
    from the geometry, with explicit pads; cells that are left out are cropped. ``counted`` is the name of the numbering by
    which the runtime counts Indices, which are converted if the case does not count them so.
    """
    if language == "onnx" and document.onnx is not None:
        graph = _rearranged(document, attributes, shape, resolved, indices=indices)
    # A runtime of maxpool2d takes a TFLite model, which has a window and strides only.
    elif language == document.name != "xmos-maxpool2d":
        # Indices have the dtype that the runtime gives them.
        graph = Translation.unchanged(document, attributes, shape)
    elif isinstance(resolved, Refused):
        other = LANGUAGES[language].title
        raise NotExpressible(f"{document.title} excludes the graph, and its attributes are not those of {other}")
    else:
        graph = _from_geometry(resolved, dtype, shape, LANGUAGES[language], NUMBERINGS[counted], indices=indices)
    if not indices or (numbering := converted_from(resolved, counted)) is None:
        return graph
    return replace(graph, numbering=numbering, steps=(*graph.steps, f"Indices {_CONVERSIONS[counted]}"))


_CONVERSIONS = {
    "plane": "counted in each plane, converted to the whole tensor",
    "whole-channels-last": "counted with the channels last, converted to the whole tensor with the channels first",
    "image-channels-last": "counted in each image with the channels last, converted to the whole tensor with the channels first",
}
"""What becomes of Indices, by the name of their numbering."""


def converted_from(resolved: Pooling | Refused, counted: str | None) -> Numbering | None:
    """The numbering of this name, if Indices must be converted from it; None if the case counts them so itself."""
    if counted in (None, "whole"):
        return None
    numbering = NUMBERINGS[counted]
    is_own = isinstance(resolved, Pooling) and replace(resolved.numbering, dtype="int64") == numbering
    return None if is_own else numbering


def _rearranged(
    document: Specification, attributes: Attributes, shape: Shape, resolved: Pooling | Refused, *, indices: bool
) -> Translation:
    """A case in ONNX's attributes: transposed, with its activation as a node."""
    onnx = document.onnx
    assert onnx is not None
    beyond = set(document.attributes) - set(onnx.attributes)
    activation = None
    steps = _transposition(document.layout, Layout.CHANNELS_FIRST)
    if isinstance(resolved, Pooling):
        activation = resolved.activation if isinstance(resolved.activation, Activation) else None
        is_counted = not indices or resolved.numbering.layout is Layout.CHANNELS_FIRST
        require(is_counted, "ONNX numbers the cells with the channels first, and the case wants them last")
    else:
        why = f"{document.title} excludes the graph for its {resolved.attribute}, which ONNX does not have"
        require(resolved.attribute not in beyond, why)
    if activation is not None:
        parameters = f" {list(activation.parameters)}" if activation.parameters else ""
        steps = (*steps, f"{activation.function.value}{parameters} as a node behind MaxPool")
    sizes = document.layout.sizes(shape) if len(shape) > 2 else shape
    kept = {name: value for name, value in attributes.items() if name not in beyond}
    return Translation(kept, sizes, document.layout, onnx=onnx, activation=activation, steps=steps)


def _from_geometry(
    pooling: Pooling, dtype: str, shape: Shape, language: Language, counted: Numbering, *, indices: bool
) -> Translation:
    axes, numbering = pooling.geometry, pooling.numbering
    require(pooling.activation is None, f"{language.title} has no activation")
    # Documents other than ONNX's number the cells from any axis on.
    from_any_axis = language.document is not None and language.document.onnx is None
    row_by_row = Numbering(axis=numbering.axis if from_any_axis else 0, dtype=numbering.dtype)
    is_counted = not indices or numbering in (row_by_row, replace(counted, dtype=numbering.dtype))
    require(is_counted, f"{language.title} numbers the cells of the whole tensor row by row, channels first")
    crop: tuple[slice, ...] = ()
    if language.crops and any(axis.begin < 0 or axis.end < 0 for axis in axes):
        require(not indices, f"{language.title} has no negative pads, and Indices would number what is left")
        crop = tuple(map(_kept, axes))
        axes = tuple(
            replace(axis, size=part.stop - part.start, begin=max(0, axis.begin), end=max(0, axis.end))
            for axis, part in zip(axes, crop, strict=True)
        )
    batch, channels = pooling.layout.sizes(shape)[:2]
    is_one = language.layout is not Layout.IMAGE or batch == 1
    require(is_one, f"{language.title} takes one image, not a batch of {batch}")
    runtime_shape = language.layout.arranged((batch, channels, *(axis.size for axis in axes)))
    attributes = _attributes(language, axes, dtype, runtime_shape, pooling, indices=indices)
    steps = [f"{language.title} with {', '.join(f'{name}={value}' for name, value in attributes.items())}"]
    if crop:
        steps.append("X cropped to " + " x ".join(f"[{part.start}, {part.stop})" for part in crop))
    steps += _transposition(pooling.layout, language.layout)
    if indices and numbering.dtype != "int64":
        steps.append(f"Indices as {numbering.dtype}")
    return Translation(
        attributes, runtime_shape, pooling.layout, language.layout, crop,
        index_dtype=numbering.dtype, steps=tuple(steps),
    )  # fmt: skip


def _kept(axis: Axis) -> slice:
    """The cells that some window can reach, where those at the ends are cropped."""
    first = max(0, -axis.begin)
    return slice(first, max(first, min(axis.size, axis.reach)) if axis.end < 0 else axis.size)


def _attributes(
    language: Language, axes: Geometry, dtype: str, shape: Shape, pooling: Pooling, *, indices: bool
) -> Attributes:
    """The first of the language's candidates that has the same windows."""
    document = language.document
    for attributes in language.candidates(axes, pooling.numbering if indices else None):
        if document is None:
            return attributes
        resolved = document.resolve(attributes, dtype, shape)
        if isinstance(resolved, Refused):
            raise NotExpressible(f"{document.title} excludes the graph: {resolved}")
        if resolved.output_sizes == pooling.output_sizes:
            return attributes
    raise NotExpressible(
        f"{language.title} has no rounding that gives {list(pooling.output_sizes)} windows: "
        "one that starts in the end padding is dropped there, or kept"
    )


def opset_for(graph: Translation, dtype: str, policies: Policies, newest: int, *, indices: bool) -> int | None:
    """The operator set for a runtime that loads sets up to ``newest``; None if no such set means the same.

    It is the set that introduced the version of the graph if the runtime loads it, otherwise the newest that means the same.
    """
    version = graph.onnx
    if version.since <= newest:
        return version.since
    meaning = _meaning(graph, version, dtype, policies, indices=indices)
    for opset in range(newest, 0, -1):
        older = max((known for known in VERSIONS if known.since <= opset), key=lambda known: known.since)
        if _meaning(graph, older, dtype, policies, indices=indices) == meaning:
            return opset
    return None


def oldest_opset_for(graph: Translation, dtype: str, policies: Policies, usual: int, *, indices: bool) -> int | None:
    """The newest operator set of the oldest version of the operator that means the same; None if none is below ``usual``."""
    meaning = _meaning(graph, graph.onnx, dtype, policies, indices=indices)
    for older, newer in pairwise(VERSIONS):
        if newer.since <= usual and _meaning(graph, older, dtype, policies, indices=indices) == meaning:
            return newer.since - 1
    return None


def _meaning(graph: Translation, version: Onnx, dtype: str, policies: Policies, *, indices: bool) -> Pooling | Reason:
    """What a MaxPool means in a version of the operator, comparable across versions."""
    resolved = version.resolve(graph.attributes, dtype, graph.shape, policies)
    if isinstance(resolved, Refused):
        return resolved.reason
    return replace(resolved, indices=indices and version.indices, refusable=None)


def _transposition(source: Layout, target: Layout) -> tuple[str, ...]:
    words = "one image with its channels last" if target is Layout.IMAGE else target.value.replace("-", " ")
    return () if source is target else (f"X transposed to {words}, the outputs back",)
