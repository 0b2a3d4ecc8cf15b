"""Whether a MaxPool of a model is inside SONNX's profile: each condition that it breaks, with its clause and what would fix it."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from maxpool_check.graphs.context import MAX_POOL
from maxpool_check.models.model_file import UserModel
from maxpool_check.models.nodes import PoolNode
from maxpool_check.models.shapes import TensorType
from maxpool_check.reference.pooling import Pooling
from maxpool_check.specifications import specification
from maxpool_check.specifications.refused import Refused

_SONNX = specification("sonnx")

_ALLOWED = {"auto_pad": ("R3", "C2", "NOTSET"), "ceil_mode": ("R4", "C2", 0), "storage_order": ("R5", "C1", 0)}
"""The attributes with one allowed value: the restriction, the constraint of the attribute, and the value."""


@dataclass(frozen=True)
class ProfileFinding:
    """A condition of SONNX's MaxPool that a node breaks: the short name of the clause, the clause, what is so, and what would fix it."""

    short: str
    clause: str
    message: str
    fix: str


def profile(node: PoolNode, model: UserModel, output: TensorType | None) -> list[ProfileFinding]:
    """The conditions of SONNX's MaxPool that a node breaks, as the model declares it; ``output`` is the type of its Y."""
    if node.op != MAX_POOL or node.document is None or node.document.domain is not None:
        return []
    return list(_findings(node, model, output))


def _findings(node: PoolNode, model: UserModel, output: TensorType | None) -> Iterator[ProfileFinding]:
    X, attributes = node.declared, node.attributes
    if node.opset < 22:
        yield ProfileFinding(
            "version", "SONNX MaxPool: based on ONNX MaxPool version 22",
            f"operator set {node.opset} has {node.document.title if node.document else 'another MaxPool'}",
            "convert the model to operator set 22 or later (onnx.version_converter)",
        )  # fmt: skip
    if X is None or X.shape is None:
        found = "unknown" if X is None else str(X)
        yield ProfileFinding(
            "shapes", "SONNX general restrictions (linked; their text is not part of MaxPool's page): explicit types and shapes",
            f"the type and shape of X are not all explicit: {found}", "export the model with fixed shapes",
        )  # fmt: skip
    if model.proto.graph.sparse_initializer:
        yield ProfileFinding(
            "sparse", "SONNX general restrictions (linked; their text is not part of MaxPool's page): no sparse tensors",
            "the model has sparse initializers", "store them as dense tensors",
        )  # fmt: skip
    if X is not None and X.sizes is not None and len(X.sizes) != 4:
        yield ProfileFinding(
            "R1", "SONNX MaxPool, R1, and X: C1", f"X has {max(len(X.sizes) - 2, 0)} spatial axes, not 2",
            "reshape X so that two axes are spatial, or use another operator",
        )  # fmt: skip
    if X is not None and X.dtype not in _SONNX.dtypes:
        yield ProfileFinding(
            "type",
            "SONNX MaxPool: types float16, float, double, int8, uint8",
            f"X is {X.dtype}",
            "cast X to one of these types",
        )
    absent = [name for name in _SONNX.attributes if name not in attributes]
    if absent:
        rank = len(X.sizes) - 2 if X is not None and X.sizes is not None else 2
        known = specification("onnx-22").attributes
        defaults = {name: known[name].default_for(rank) for name in absent}
        written = ", ".join(
            f"{name}={list(value) if isinstance(value, tuple) else value}"
            for name, value in defaults.items()
            if value is not None
        )
        yield ProfileFinding(
            "R2",
            "SONNX MaxPool, R2",
            f"{', '.join(absent)} not set explicitly",
            f"write {written or ', '.join(absent)}",
        )
    for name, (restriction, constraint, allowed) in _ALLOWED.items():
        if attributes.get(name, allowed) != allowed:
            fix = f"write {name}={allowed}" + ("" if name != "auto_pad" else " and the pads that it stands for")
            yield ProfileFinding(
                restriction,
                f"SONNX MaxPool, {restriction}, and {name}: {constraint}",
                f"{name} is {attributes[name]}",
                fix,
            )
    yield from _invalid(node)
    yield from _shape(node, output)


def _invalid(node: PoolNode) -> Iterator[ProfileFinding]:
    """What ONNX itself excludes, by the constraint of SONNX that repeats it."""
    refused = node.refused
    if refused is None:
        return
    attribute = refused.attribute or "X"
    clause = "Y: C1" if refused.attribute is None and refused.axes else f"{attribute}: constraints"
    yield ProfileFinding(
        clause.partition(":")[0],
        f"SONNX MaxPool, {clause}",
        refused.message,
        "no runtime may execute this node; correct it",
    )


def _shape(node: PoolNode, output: TensorType | None) -> Iterator[ProfileFinding]:
    """A declared shape of Y that is not the one of the document."""
    X, document = node.declared, node.document
    if (
        X is None
        or X.shape is None
        or output is None
        or output.shape is None
        or document is None
        or node.refused is not None
    ):
        return
    try:
        pooling = document.pooling(node.attributes, X.dtype, X.shape, document.policies)
    except Refused:
        return
    expected = (*X.shape[:2], *pooling.output_sizes)
    others = [(*X.shape[:2], *other.output_sizes) for other in pooling.alternatives]
    if output.shape not in (expected, *others):
        yield ProfileFinding(
            "Y",
            "SONNX MaxPool, Y: C1",
            f"the model declares Y as {list(output.shape)}; it is {list(expected)}",
            "correct the declared shape",
        )


def open_points(node: PoolNode) -> list[str]:
    """What the document of a node leaves open and the node depends on, a sentence each."""
    X, document = node.tested, node.document
    if X.shape is None or document is None:
        return []
    try:
        pooling = document.pooling(node.attributes, X.dtype, X.shape, document.policies)
    except Refused:
        return []
    return list(_open_points(node, pooling))


def _open_points(node: PoolNode, pooling: Pooling) -> Iterator[str]:
    attributes = node.attributes
    if pooling.has_large_pads:
        yield "a padding is as large as the kernel: ONNX allows it, most runtimes refuse it"
    if pooling.has_empty_windows:
        yield "some windows hold padding alone: ONNX gives them no value"
    sizes = {pooling.output_sizes, *(other.output_sizes for other in pooling.alternatives)}
    if len(sizes) > 1:
        named = " or ".join(re.sub(r",?\)|\(", "", str(each)).replace(", ", "x") for each in sorted(sizes))
        yield f"ONNX can be read in several ways here, with an output of {named}"
    if (
        pooling.placement is not None
        and pooling.placement.is_same
        and any(isinstance(d, int) and d > 1 for d in attributes.get("dilations", ()))
    ):
        yield "SAME padding with dilations: the text counts the dilated kernel, and some runtimes do not"
    if pooling.refusable:
        yield "pads beside auto_pad: the text forbids it, most runtimes accept it"
