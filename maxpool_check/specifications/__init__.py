"""Who says so: one small module per document, all over the same reference."""

from __future__ import annotations

from maxpool_check.specifications.attributes import nearest
from maxpool_check.specifications.onnx import VERSIONS
from maxpool_check.specifications.sonnx import SONNX
from maxpool_check.specifications.specification import Specification

_DOCUMENTS: tuple[Specification, ...] = (*VERSIONS, SONNX)

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
