"""The reference as a function, which imports nothing but the documents and the reference."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from maxpool_check.reference.dtypes import name_of
from maxpool_check.reference.evaluator import evaluate
from maxpool_check.reference.policies import Policies
from maxpool_check.reference.pooling import Pooled
from maxpool_check.specifications import DEFAULT, specification
from maxpool_check.specifications.roles import AttributeType
from maxpool_check.specifications.specification import Refused, Specification, override


def maxpool(
    X: ArrayLike, *, spec: str = DEFAULT, policies: Mapping[str, str] | None = None, **attributes: Any
) -> Pooled:
    """MaxPool of X as a document defines it, exact in every bit.

    X has the layout of the document and one of its dtypes (bfloat16 is that of ml_dtypes).
    ``spec`` is the document: ``onnx-1``, ``onnx-8``, ``onnx-10``, ``onnx-11``, ``onnx-12``, ``onnx-22`` (or ``onnx-N`` with
    any operator set N), ``sonnx``, ``sonnx@2026-10``, ``openvino-1``, ``openvino-8``, ``openvino-14``, ``ngraph-0``:
    N x C x D1 x ... x Dn;
    ``ort-nhwc-11``: N x D1 x ... x Dn x C; ``xmos-maxpool2d``: H x W x C.

    Attributes of ONNX and SONNX (SONNX requires all seven):
      ``kernel_shape``   sizes of the window, one for each spatial axis; required
      ``strides``        distances between windows; 1
      ``dilations``      distances between the taps of a window; 1
      ``pads``           padding, [x1_begin, x2_begin, ..., x1_end, x2_end, ...]; 0
      ``auto_pad``       NOTSET, SAME_UPPER, SAME_LOWER or VALID; NOTSET
      ``ceil_mode``      1 or True rounds the output size up; 0
      ``storage_order``  1 counts Indices with the first spatial axis fastest; 0
    The other documents have their own names, listed by `maxpool-check docs cases`. One integer stands for the same on every axis.

    ``policies`` changes the interpretation of points that the document leaves open: ``{"nan": "propagates"}``. By default
    the result is one of those that conform: NaN is ignored, the first of equal maxima is chosen.
      ``nan``              as-neg-inf, ignored, propagates, propagates-first, propagates-last or unspecified
      ``tie``              which of equal maxima Indices name: first or any
      ``zero_sign``        of a maximum of +0 and -0: chosen (that of the cell that Indices name) or either
      ``valid_ceil``       whether VALID obeys ceil_mode: honours, formula or either
      ``same_clamp``       SAME with a negative total padding: clamps, crops or either
      ``ceil_clip``        ceil_mode before operator set 22: keeps or drops a last window in the end padding, or either
      ``zero_size``        a window larger than the padded input by no more than a stride: formula (its count, which may
                           be 0), refused or either
      ``large_pads``       pads not smaller than the kernel: legal or refused
      ``nhwc_index_base``  of ort-nhwc-11 alone: NCHW-flat, NHWC-flat or either

    Returns a :class:`Pooled`, which unpacks as ``Y, Indices``. Raises :class:`Refused` for what the document excludes, with
    ``reason`` and ``clause``; its subclass :class:`IllTyped` for an unknown attribute or a value of the wrong type;
    ``ValueError`` for an unknown document or policy; ``TypeError`` for a ``spec`` or ``policies`` of another type.
    """
    document, tensor = document_of(spec), tensor_of(X)
    plain = plain_attributes(attributes, document, tensor.ndim)
    pooling = document.resolve(plain, name_of(tensor.dtype), tensor.shape, policies_of(document, policies))
    if isinstance(pooling, Refused):
        raise pooling
    return evaluate(pooling.layout.to_core(tensor), pooling).arranged(pooling.layout)


def document_of(spec: str) -> Specification:
    """The document of this name. Raises ``TypeError`` for what is no text, ``ValueError`` for an unknown name."""
    if not isinstance(spec, str):
        raise TypeError(f"spec is {spec!r}; it takes the name of a document, such as '{DEFAULT}'")
    return specification(spec)


def policies_of(document: Specification, interpretations: Mapping[str, str] | None) -> Policies:
    """The policies of a document with other interpretations of some points.

    Raises ``TypeError`` for what is no mapping, ``ValueError`` for an unknown point or interpretation.
    """
    if interpretations is not None and not isinstance(interpretations, Mapping):
        example = "{'nan': 'propagates'}"
        raise TypeError(f"policies is {interpretations!r}; it takes a mapping of points, such as {example}")
    return override(document.policies, interpretations or {})


def tensor_of(X: ArrayLike) -> np.ndarray:
    """X as a contiguous array of the native byte order."""
    tensor = np.asarray(X)
    return np.ascontiguousarray(tensor.astype(tensor.dtype.newbyteorder("="), copy=False)).reshape(tensor.shape)


def plain_attributes(attributes: Mapping[str, Any], document: Specification, rank: int) -> dict[str, Any]:
    """Attributes as in a case file: lists for tuples and arrays, integers for bool, one integer repeated on every axis."""
    axes = max(rank - 2, 1)
    plain: dict[str, Any] = {}
    for name, value in attributes.items():
        attribute = document.attributes.get(name)
        is_integer = attribute is not None and attribute.type in (AttributeType.INTEGER, AttributeType.INTEGERS)
        if isinstance(value, (bool, np.integer)) and is_integer:
            value = int(value)
        if attribute is not None and attribute.type is AttributeType.INTEGERS and isinstance(value, int):
            value = [value] * attribute.length(axes)
        plain[name] = list(value) if isinstance(value, (tuple, np.ndarray)) else value
    return plain
