"""What makes a MaxPool that its document excludes one that a document allows, where a small change does."""

from collections.abc import Callable, Collection

from maxpool_check.models.nodes import PoolNode
from maxpool_check.specifications import SPECIFICATIONS
from maxpool_check.specifications.onnx import Onnx
from maxpool_check.specifications.specification import Reason, Refused, Specification


def fix_of(node: PoolNode, refused: Refused) -> str:
    """The change in words, for people who have the model; empty if none is known."""
    name, X = refused.attribute, node.tested
    kernel = node.attributes.get("kernel_shape")
    lacking = len(kernel) + 2 - len(X.shape) if X.shape is not None and isinstance(kernel, list) else 0
    if lacking in (1, 2):
        what, axes = (
            ("its batch axis", "the axis 0") if lacking == 1 else ("its batch and channel axes", "the axes 0 and 1")
        )
        return f"X lacks {what}: put Unsqueeze with {axes} in front of the node, and Squeeze with the same behind it"
    if refused.reason is Reason.INVALID_TYPE:
        return _later(lambda document: X.dtype in document.dtypes) or "cast X to one of these types, and Y back"
    if node.indices is not None and node.document is not None and not node.document.indices:
        return _later(lambda document: document.indices)
    if name is None or name not in node.attributes:
        return ""
    if isinstance(kernel, list) and (count := _LENGTHS.get(name, 0) * len(kernel)) and name in _known(node):
        value = node.attributes[name]
        if isinstance(value, list) and len(value) != count and len({*value}) == 1:
            return f"write {name} as {value[:1] * count}, if that is what is meant"
    of_later = next((each for each in _versions() if name in each.attributes), None)
    if node.document is None or name in node.document.attributes or of_later is None:
        return ""
    later = _later(lambda document: name in document.attributes)
    default, value = of_later.attributes[name].default, node.attributes[name]
    has_default = all(each == default for each in value) if isinstance(value, list) else value == default
    return f"remove {name}, which has its default value; or {later}" if has_default else later


_LENGTHS = {"strides": 1, "dilations": 1, "pads": 2}
"""How many values each spatial axis has in an attribute."""


def _known(node: PoolNode) -> Collection[str]:
    return () if node.document is None else node.document.attributes


def _versions() -> list[Onnx]:
    """The versions of ONNX's own MaxPool, the oldest first."""
    return [document for document in SPECIFICATIONS.values() if type(document) is Onnx and not document.domain]


def _later(allows: Callable[[Specification], bool]) -> str:
    """That the operator set of the first version that allows something is needed; empty if none does."""
    first = next(filter(allows, _versions()), None)
    return "" if first is None else f"convert the model to operator set {first.name.rpartition('-')[2]} or later"
