"""MaxPool of the ONNX operator set, versions 1, 8, 10, 11, 12 and 22, and the operator set to run a case in."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from maxpool_check.reference.geometry import AutoPad, Geometry, ceil_output, clipped_ceil_output
from maxpool_check.reference.numbering import StorageOrder
from maxpool_check.reference.policies import Policies
from maxpool_check.reference.pooling import Pooling
from maxpool_check.specifications.refused import Reason, Refused
from maxpool_check.specifications.roles import Role, RoundingType, choice, integers
from maxpool_check.specifications.specification import Specification, decisions
from maxpool_check.words import plural

_AUTO_PADS = {"NOTSET" if pad is AutoPad.EXPLICIT else pad.name: pad for pad in AutoPad}
_VERSION_10 = {
    "kernel_shape": integers(Role.KERNEL),
    "strides": integers(Role.STRIDE, 1),
    "dilations": integers(Role.DILATION, 1),
    "pads": integers(Role.PADS, 0),
    "auto_pad": choice(Role.AUTO_PAD, _AUTO_PADS, "NOTSET"),
    "ceil_mode": choice(Role.ROUNDING, {0: RoundingType.FLOOR, 1: RoundingType.CEIL}, 0),
    "storage_order": choice(Role.STORAGE_ORDER, {0: StorageOrder.ROW_MAJOR, 1: StorageOrder.COLUMN_MAJOR}, 0),
}
_VERSION_8 = {name: _VERSION_10[name] for name in ("kernel_shape", "strides", "pads", "auto_pad", "storage_order")}
_VERSION_1 = {name: attribute for name, attribute in _VERSION_8.items() if name != "storage_order"}

_FLOATS = ("float16", "float32", "float64")
_WITH_BYTES = (*_FLOATS, "int8", "uint8")
_WITH_BFLOAT16 = (*_WITH_BYTES, "bfloat16")


@dataclass(frozen=True, kw_only=True)
class Onnx(Specification):
    """One version of the operator; ``since`` is the operator set that introduced it."""

    since: int

    @property
    def onnx(self) -> "Onnx":
        """Itself."""
        return self

    def pooling(self, attributes: Mapping[str, Any], dtype: str, shape: tuple[int, ...], policies: Policies) -> Pooling:
        """The pooling of an N x C x D1 x ... x Dn tensor; n is at least 1. Raises :class:`Refused`."""
        attributes = self.typed(attributes)
        self.check_dtype(dtype, "type constraint T")
        if len(shape) < 3:
            message = f"X must have a batch, a channel and at least one spatial axis, got {plural(len(shape), 'axis', 'axes')}"
            raise self.refusal(Reason.INVALID_SHAPE, message, "input X")
        values = self.complete(attributes, len(shape) - 2)
        auto_pad, refusable = values["auto_pad"], None
        if auto_pad is not AutoPad.EXPLICIT and any(values["pads"]):
            refusable = f"{self.title}, attribute pads: cannot be used simultaneously with auto_pad"
        ceil = values.get("ceil_mode") is RoundingType.CEIL
        touched = {
            "valid_ceil": ceil and auto_pad is AutoPad.VALID,
            "ceil_clip": ceil and self.round_up is ceil_output,
            "same_clamp": auto_pad in (AutoPad.SAME_UPPER, AutoPad.SAME_LOWER),
        }
        by_geometry: dict[Geometry, Pooling] = {}
        for decided in decisions(policies, [point for point, is_touched in touched.items() if is_touched]):
            pooling = self.padded(values, shape[2:], decided, refusable)
            by_geometry.setdefault(pooling.geometry, pooling)
        first, *others = by_geometry.values()
        return replace(first, alternatives=tuple(others)) if others else replace(first, policies=policies)


# Before version 10 there is no ceil_mode, and the text of version 22 drops the window.
_INAPPLICABLE = frozenset({"nhwc_index_base"})

VERSIONS: Sequence[Onnx] = tuple(
    Onnx(
        name=f"onnx-{since}",
        title=f"ONNX MaxPool-{since}",
        attributes=attributes,
        dtypes=dtypes,
        ranks=(1, 2, 3, 4),
        policies=Policies(inapplicable=_INAPPLICABLE if 10 <= since < 22 else _INAPPLICABLE | {"ceil_clip"}),
        indices=since >= 8,
        since=since,
        round_up=clipped_ceil_output if since >= 22 else ceil_output,
    )
    for since, attributes, dtypes in (
        (1, _VERSION_1, _FLOATS),
        (8, _VERSION_8, _FLOATS),
        (10, _VERSION_10, _FLOATS),
        (11, _VERSION_10, _FLOATS),
        (12, _VERSION_10, _WITH_BYTES),
        (22, _VERSION_10, _WITH_BFLOAT16),
    )
)


@dataclass(frozen=True)
class Graph:
    """A MaxPool node: all that its meaning depends on."""

    attributes: Mapping[str, Any]
    dtype: str
    shape: tuple[int, ...]
    policies: Policies
    indices: bool

    def resolved(self, version: Onnx) -> Pooling | Reason:
        """Its meaning in a version of the operator, comparable across versions."""
        try:
            pooling = version.pooling(self.attributes, self.dtype, self.shape, self.policies)
        except Refused as refused:
            return refused.reason
        return replace(pooling, indices=self.indices and version.indices, refusable=None)


def opset_for(graph: Graph, version: Onnx, newest: int) -> int | None:
    """The operator set for a runtime that loads sets up to ``newest``; None if no such set means the same.

    It is the set that introduced the version if the runtime loads it, otherwise the newest that means the same.
    """
    if version.since <= newest:
        return version.since
    resolved = graph.resolved(version)
    for opset in range(newest, 0, -1):
        older = max((known for known in VERSIONS if known.since <= opset), key=lambda known: known.since)
        if graph.resolved(older) == resolved:
            return opset
    return None


def oldest_opset_for(graph: Graph, version: Onnx, usual: int) -> int | None:
    """The newest operator set of the oldest version of the operator that means the same; None if none is below ``usual``."""
    resolved = graph.resolved(version)
    for older, newer in pairwise(VERSIONS):
        if newer.since <= usual and graph.resolved(older) == resolved:
            return newer.since - 1
    return None
