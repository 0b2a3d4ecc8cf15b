"""The reference as a function: one tensor, one document, its attributes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from maxpool_check.reference.dtypes import name_of
from maxpool_check.reference.evaluator import evaluate
from maxpool_check.reference.pooling import Pooled
from maxpool_check.specifications import DEFAULT, specification
from maxpool_check.specifications.specification import override


def maxpool(
    X: ArrayLike, *, spec: str = DEFAULT, policies: Mapping[str, str] | None = None, **attributes: Any
) -> Pooled:
    """What a document says MaxPool of X is.

    X has the layout and dtype of the document (N x C x D1 x ... x Dn for ONNX, H x W x C for XMOS), and so have the outputs.
    ``attributes`` are the document's own.
    ``policies`` overrides its interpretation of open points, by name: ``{"nan": "propagates"}``. Where it leaves a point open,
    the result is one of those that conform: NaN is passed over, the first of equal maxima is chosen.

    Returns :class:`Pooled`, exact in every bit. Raises :class:`Refused` for what the document excludes, and
    ``ValueError`` for an unknown document or policy.
    """
    document = specification(spec)
    tensor = np.asarray(X)
    tensor = tensor.astype(tensor.dtype.newbyteorder("="), copy=False)
    interpretations = override(document.policies, policies or {})
    pooling = document.pooling(attributes, name_of(tensor.dtype), tensor.shape, interpretations)
    return evaluate(pooling.layout.to_core(tensor), pooling).arranged(pooling.layout)
