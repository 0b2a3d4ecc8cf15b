"""The ONNX operator set to run a case in: that of its document, or an older one with the same meaning."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from maxpool_check.reference.policies import Policies
from maxpool_check.reference.pooling import Pooling
from maxpool_check.specifications.onnx import VERSIONS, Onnx
from maxpool_check.specifications.refused import Reason, Refused


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
