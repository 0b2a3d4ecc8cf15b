"""The documents: each turns its attributes into a pooling of the reference, or refuses them."""

import re

from maxpool_check.specifications.ngraph import NGRAPH
from maxpool_check.specifications.onnx import NHWC
from maxpool_check.specifications.onnx import VERSIONS as ONNX_VERSIONS
from maxpool_check.specifications.openvino import VERSIONS as OPENVINO_VERSIONS
from maxpool_check.specifications.sonnx import SONNX, SONNX_2026
from maxpool_check.specifications.specification import Specification, nearest
from maxpool_check.specifications.xmos import XMOS

_DOCUMENTS: tuple[Specification, ...] = (*ONNX_VERSIONS, SONNX, SONNX_2026, *OPENVINO_VERSIONS, NHWC, NGRAPH, XMOS)

SPECIFICATIONS = {document.name: document for document in _DOCUMENTS}
"""All documents by name."""

DEFAULT = ONNX_VERSIONS[-1].name
"""The document of case files and commands that name none."""

OPERATOR_SET = "onnx-([1-9][0-9]{0,8}|0)"
"""Names by an ONNX operator set, as a regular expression."""


def specification(name: str) -> Specification:
    """The document of a name; ``onnx-N`` is the version of MaxPool in the ONNX operator set N. ``ValueError`` if unknown."""
    if name in SPECIFICATIONS:
        return SPECIFICATIONS[name]
    if match := re.fullmatch(OPERATOR_SET, name):
        import onnx

        opset, newest = int(match[1]), onnx.defs.onnx_opset_version()
        if not 1 <= opset <= newest:
            raise ValueError(
                f"unknown specification '{name}': operator set {opset} is none of those that onnx {onnx.__version__} knows, "
                f"1 to {newest}"
            )
        document = f"onnx-{onnx.defs.get_schema('MaxPool', opset, '').since_version}"
        if document not in SPECIFICATIONS:
            raise ValueError(f"operator set {opset} has the document {document}; there are {', '.join(SPECIFICATIONS)}")
        return SPECIFICATIONS[document]
    editions = [known for known in SPECIFICATIONS if known.startswith(f"{name}-")]
    if len(editions) > 1:
        raise ValueError(
            f"unknown specification '{name}' (did you mean '{editions[-1]}'?); it is a family: {', '.join(editions)}"
        )
    hint = f" (did you mean '{editions[0]}'?)" if editions else nearest(name, SPECIFICATIONS)
    raise ValueError(
        f"unknown specification '{name}'{hint}; there are {', '.join(SPECIFICATIONS)}, and onnx-N for any operator set N"
    )


def documents(name: str) -> tuple[str, ...]:
    """The names of a family of documents, ``onnx`` or ``openvino``, or of one document. ``ValueError`` if unknown.

    A document whose name begins the names of later editions is one of their family.
    """
    family = tuple(known for known in SPECIFICATIONS if known == name or known.startswith(f"{name}-"))
    return family or (specification(name).name,)
