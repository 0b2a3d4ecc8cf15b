"""Who says so: one small module per document, all over the same reference."""

from __future__ import annotations

from maxpool_check.specifications.attributes import nearest
from maxpool_check.specifications.ngraph import NGRAPH
from maxpool_check.specifications.nhwc import NHWC
from maxpool_check.specifications.onnx import VERSIONS as ONNX_VERSIONS
from maxpool_check.specifications.openvino import VERSIONS as OPENVINO_VERSIONS
from maxpool_check.specifications.sonnx import SONNX
from maxpool_check.specifications.specification import Specification
from maxpool_check.specifications.xmos import XMOS

_DOCUMENTS: tuple[Specification, ...] = (*ONNX_VERSIONS, SONNX, *OPENVINO_VERSIONS, NHWC, NGRAPH, XMOS)

SPECIFICATIONS = {document.name: document for document in _DOCUMENTS}
"""Every document the tool speaks, by name."""

DEFAULT = "onnx-22"
"""The document of a case file that names none."""


def specification(name: str) -> Specification:
    """The document of this name; ``ValueError`` if there is none."""
    if name not in SPECIFICATIONS:
        raise ValueError(
            f"unknown specification '{name}'{nearest(name, SPECIFICATIONS)}; there are {', '.join(SPECIFICATIONS)}"
        )
    return SPECIFICATIONS[name]
