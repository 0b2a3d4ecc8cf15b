"""What the document that judges a MaxPool of a model leaves open there."""

from collections.abc import Iterator

from maxpool_check.models.nodes import PoolNode
from maxpool_check.reference.pooling import Pooling
from maxpool_check.specifications.specification import Specification


def open_points(node: PoolNode, document: Specification) -> list[str]:
    """What the document that judges a node leaves open, and the node depends on, a sentence each."""
    X = node.tested
    if X.shape is None:
        return []
    resolved = document.resolve(node.attributes, X.dtype, X.shape)
    return list(_open_points(node, resolved)) if isinstance(resolved, Pooling) else []


def _open_points(node: PoolNode, pooling: Pooling) -> Iterator[str]:
    attributes = node.attributes
    if pooling.has_large_pads:
        yield "a padding is as large as the kernel: the text allows it, most runtimes refuse it"
    if pooling.has_empty_windows and pooling.padding_value is None:
        yield "some windows hold padding alone: the text gives them no value"
    sizes = {pooling.output_sizes, *(other.output_sizes for other in pooling.alternatives)}
    if len(sizes) > 1:
        named = " or ".join("x".join(map(str, each)) for each in sorted(sizes))
        yield f"the text can be read in several ways here, with an output of {named}"
    if (
        pooling.placement is not None
        and pooling.placement.is_same
        and any(d != 1 for d in attributes.get("dilations", ()))
    ):
        yield "SAME padding with dilations: the text counts the dilated kernel, and some runtimes do not"
    if attributes.get("auto_pad", "NOTSET") != "NOTSET" and any(attributes.get("pads", ())):
        yield "pads beside auto_pad: the text forbids it, most runtimes accept it"
    if any(axis.exceeds_padded_input for axis in pooling.geometry):
        yield "a window is larger than the padded input: the formula gives an empty output, a refusal conforms as well"
