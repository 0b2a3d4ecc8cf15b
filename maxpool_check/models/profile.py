"""What documents say of a MaxPool of a model: what it breaks of SONNX's profile, and what its own document leaves open there."""

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

import yaml
from onnx import GraphProto

from maxpool_check.graphs.context import MAX_POOL
from maxpool_check.models.model_file import UserModel, graphs
from maxpool_check.models.nodes import PoolNode
from maxpool_check.models.shapes import Types
from maxpool_check.reference.pooling import Pooling
from maxpool_check.specifications import specification
from maxpool_check.specifications.specification import Reason, Specification, override

_SONNX, _ONNX = specification("sonnx"), specification("onnx-22")

_Broken = tuple[str, Mapping[str, Any]]
"""A condition of profile.yaml, and what is filled in."""


@dataclass(frozen=True)
class ProfileFinding:
    """A condition of SONNX's MaxPool that a node breaks: the short name of the clause, the clause, what is so, and what would fix it."""

    short: str
    clause: str
    message: str
    fix: str


def profile(node: PoolNode, model: UserModel, explicit: Types, known: Types) -> list[ProfileFinding]:
    """The conditions of SONNX's MaxPool that a node breaks, as the model writes it, in the order of the document.

    ``explicit`` are the types that the model gives around the node, ``known`` those that follow from them as well.
    """
    if node.op != MAX_POOL or node.document is None or node.document.domain is not None:
        return []
    parts = (_general(node, node.document, model, explicit), _restrictions(node))
    before = [_finding(*broken) for part in parts for broken in part]
    return [*before, *_constraints(node), *(_finding(*broken) for broken in _shapes(node, explicit, known))]


def _finding(condition: str, values: Mapping[str, Any]) -> ProfileFinding:
    row = _conditions()[condition]
    texts = (row[column].format(**values) for column in ("clause", "message", "fix"))
    return ProfileFinding(row.get("short", condition), *texts)


@cache
def _conditions() -> Mapping[str, Mapping[str, str]]:
    return dict(yaml.safe_load(resources.files(__package__).joinpath("profile.yaml").read_bytes()))


def _general(node: PoolNode, document: Specification, model: UserModel, explicit: Types) -> Iterator[_Broken]:
    if node.opset < 22:
        yield "version", {"opset": node.opset, "title": document.title}
    if sparse := next(_sparse(model.proto.graph), None):
        yield "GR1", {"name": sparse}
    tensors = {"X": node.input, "Y": node.output, "Indices": node.indices or ""}
    if untyped := [name for name, tensor in tensors.items() if tensor and tensor not in explicit]:
        yield "GR2", {"names": " and ".join(untyped)}
    X, Y, indices = node.declared, explicit.get(node.output), explicit.get(node.indices or "")
    if X is not None and X.dtype not in _SONNX.dtypes:
        yield "type", {"X": X.dtype}
    if X is not None and Y is not None and Y.dtype != X.dtype:
        yield "GR3", {"X": X.dtype, "Y": Y.dtype}
    if indices is not None and indices.dtype != "int64":
        yield "Indices-type", {"Indices": indices.dtype}


def _restrictions(node: PoolNode) -> Iterator[_Broken]:
    attributes, rank, pooling = node.attributes, node.rank, node.declared_pooling
    if rank is not None and rank != 2:
        yield "R1", {"rank": rank}
    is_explicit = attributes.get("auto_pad", "NOTSET") == "NOTSET"
    if absent := [name for name in _SONNX.attributes if name not in attributes]:
        # Pads that stand for auto_pad are what R3 asks for.
        usual = {
            name: _ONNX.attributes[name].default_for(rank or 2) for name in absent if name != "pads" or is_explicit
        }
        lines = ", ".join(f"{name}={value}" for name, value in usual.items() if value is not None)
        fixes = [f"write {lines}"] * bool(lines) + [f"give {name}" for name, value in usual.items() if value is None]
        yield "R2", {"names": ", ".join(absent), "fix": ", ".join(fixes) or "see R3"}
    axes = () if pooling is None else pooling.geometry
    if not is_explicit:
        pads = [*(axis.begin for axis in axes), *(axis.end for axis in axes)]
        at = f"pads={pads}, so that Y stays as it is" if axes else "and the pads that it stands for at the shape of X"
        yield "R3", {**attributes, "pads": at}
    if attributes.get("ceil_mode", 0) != 0:
        pads = [*(axis.begin for axis in axes), *(max(axis.end, axis.reach - axis.size) for axis in axes)]
        changed = "" if [axis.end for axis in axes] == pads[len(axes) :] else f", pads={pads}, so that"
        at = (
            f"{changed or ':'} Y stays as it is" if axes else ", and end pads for the windows that this would leave out"
        )
        yield "R4", {**attributes, "pads": at}
    if attributes.get("storage_order", 0) != 0:
        changes = ", which changes the numbers in Indices: what takes them must change, too" if node.indices else ""
        yield "R5", {**attributes, "changes": changes}


def _constraints(node: PoolNode) -> Iterator[ProfileFinding]:
    """What ONNX excludes, by the constraint of SONNX that says so, or by ONNX's clause where SONNX has none."""
    refused = node.refused
    if refused is None or refused.reason is Reason.INVALID_TYPE or "kernel_shape" not in node.attributes:
        # R2 and the types have said so.
        return
    name = refused.attribute or ""
    value, attribute = node.attributes.get(name), _ONNX.attributes.get(name)
    constraint = None if attribute is None or name in ("kernel_shape", "pads") else "C1"
    fix = f"correct {name or 'X'}"
    if refused.axes:
        name, constraint, fix = "Y", "C1", "make the kernel smaller, or X larger"
    elif attribute is not None and attribute.values:
        fix = f"give {name} one of its values"
    elif attribute is not None:
        fix = f"give {name} values of at least {0 if name == 'pads' else 1}"
        length = len(value) if isinstance(value, list) and node.rank is not None else None
        if length is not None and length != attribute.length(node.rank or 0):
            constraint = {"dilations": "C2", "pads": "C1"}.get(name)
            fix = f"give {name} {attribute.length(node.rank or 0)} values"
    clause = (
        f"SONNX MaxPool, {name}: {constraint}" if constraint else f"{refused.clause} (SONNX has no constraint on it)"
    )
    yield ProfileFinding(name or "X", clause, refused.message, fix)


def _shapes(node: PoolNode, explicit: Types, known: Types) -> Iterator[_Broken]:
    """Shapes that are open, or that contradict the document."""
    X, pooling = node.declared, node.declared_pooling
    if X is None or X.shape is None:
        yield "shapes", {"X": "unknown" if X is None else X}
        return
    made = known.get(node.input)
    if made is not None and made.shape is not None and made.shape != X.shape:
        yield "X-shape", {"X": list(X.shape), "made": list(made.shape)}
        return
    if pooling is None:
        return
    shapes = [(*X.shape[:2], *each.output_sizes) for each in (pooling, *pooling.alternatives)]
    Y, indices = explicit.get(node.output), explicit.get(node.indices or "")
    if Y is not None and Y.shape is not None and Y.shape not in shapes:
        condition = "Y-spatial" if Y.shape[:2] == X.shape[:2] else "Y-channels"
        yield condition, {"Y": list(Y.shape), "right": list(shapes[0])}
    if indices is not None and indices.shape is not None and indices.shape not in shapes:
        yield "Indices-shape", {"Indices": list(indices.shape), "right": list(shapes[0])}


def _sparse(graph: GraphProto) -> Iterator[str]:
    """The names of the sparse tensors of a graph and the graphs inside it."""
    for each in graphs(graph):
        yield from (tensor.values.name or "unnamed" for tensor in each.sparse_initializer)
        values = (*each.input, *each.value_info)
        yield from (value.name for value in values if value.type.HasField("sparse_tensor_type"))
        for node in each.node:
            if any(attribute.HasField("sparse_tensor") for attribute in node.attribute):
                yield next(iter(node.output), node.name)


SEVERAL_SIZES = "the text can be read in several ways here, with an output of"
"""How the sentence begins of a node with several outputs that are right; the sizes follow."""


def output_sizes(
    node: PoolNode, document: Specification, interpretations: Mapping[str, Sequence[str]] | None = None
) -> list[str]:
    """The spatial sizes of Y that a document allows at the sizes to test, such as ``6x6``, with those interpretations of open points."""
    policies = document.policies
    chosen = {point: names[0] for point, names in (interpretations or {}).items() if len(names) == 1}
    with contextlib.suppress(ValueError):
        # A mixture, and what is observed alone, are no policies.
        policies = override(policies, chosen)
    tested = node.tested
    pooling = None if tested.shape is None else document.resolve(node.attributes, tested.dtype, tested.shape, policies)
    every = (pooling, *pooling.alternatives) if isinstance(pooling, Pooling) else ()
    return ["x".join(map(str, sizes)) for sizes in sorted({each.output_sizes for each in every})]


def open_points(node: PoolNode, document: Specification) -> Iterator[str]:
    """What the document that judges a node leaves open, and the node depends on, a sentence each."""
    pooling, attributes = node.resolved(document, node.tested), node.attributes
    if not isinstance(pooling, Pooling):
        return
    if pooling.has_large_pads:
        yield "a padding is as large as the kernel: the text allows it, most runtimes refuse it"
    if pooling.has_empty_windows and pooling.padding_value is None:
        yield "some windows hold padding alone: the text gives them no value"
    sizes = output_sizes(node, document)
    if len(sizes) > 1:
        yield f"{SEVERAL_SIZES} {' or '.join(sizes)}"
    is_same = pooling.placement is not None and pooling.placement.is_same
    if is_same and any(dilation != 1 for dilation in attributes.get("dilations", ())):
        yield "SAME padding with dilations: the text counts the dilated kernel, and some runtimes do not"
    if attributes.get("auto_pad", "NOTSET") != "NOTSET" and any(attributes.get("pads", ())):
        yield "pads beside auto_pad: the text forbids it, most runtimes accept it"
    if any(axis.exceeds_padded_input for axis in pooling.geometry):
        yield "a window is larger than the padded input: the formula gives an empty output, a refusal conforms as well"
