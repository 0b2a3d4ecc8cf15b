"""nGraph's MaxPool (version 0 of the operator)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from maxpool_check.reference import dtypes
from maxpool_check.reference.geometry import NoWindow, Placement
from maxpool_check.reference.layout import Layout
from maxpool_check.reference.policies import LargePads, Policies
from maxpool_check.reference.pooling import Pooling
from maxpool_check.specifications.attributes import (
    AttributeType,
    invalid,
    missing,
    no_window,
    not_negative,
    of_dtype,
    of_length,
    positive,
    typed,
)
from maxpool_check.specifications.refused import Reason, Refused

_ATTRIBUTES = {
    "window_shape": AttributeType.INTEGERS,
    "window_movement_strides": AttributeType.INTEGERS,
    "padding_below": AttributeType.INTEGERS,
    "padding_above": AttributeType.INTEGERS,
}


_POLICIES = Policies(inapplicable=frozenset({"valid_ceil", "same_clamp", "nhwc_index_base"}))


@dataclass(frozen=True)
class NGraph:
    """The operator. It has no Indices, no dilations, and rounds down."""

    name: str = "ngraph-0"
    title: str = "nGraph MaxPool"
    indices: bool = False
    policies: Policies = _POLICIES
    layout: Layout = Layout.CHANNELS_FIRST
    onnx: None = None
    domain: None = None

    @property
    def attributes(self) -> Mapping[str, AttributeType]:
        """Its four."""
        return _ATTRIBUTES

    def pooling(self, attributes: Mapping[str, Any], dtype: str, shape: tuple[int, ...], policies: Policies) -> Pooling:
        """The pooling of an N x C x d1 x ... x dn tensor; n, C and every d are at least 1. Raises :class:`Refused`."""
        given = typed(attributes, _ATTRIBUTES, self.title)
        of_dtype(dtype, dtypes.NAMES, self.title, "input arg")
        rank = len(shape) - 2
        if rank < 1 or 0 in shape[1:]:
            message = f"arg must be (N, C, d1, ..., dn) with n, C and every d above 0, got {list(shape)}"
            raise Refused(Reason.INVALID_SHAPE, message, clause=f"{self.title}, input arg")
        if "window_shape" not in given:
            raise missing("window_shape", self.title)
        window = given["window_shape"]
        strides = given.get("window_movement_strides", (1,) * rank)
        below = given.get("padding_below", (0,) * rank)
        above = given.get("padding_above", (0,) * rank)
        for name, values in (("window_shape", window), ("window_movement_strides", strides)):
            of_length(name, values, rank, self.title)
            positive(name, values, self.title)
        for name, values in (("padding_below", below), ("padding_above", above)):
            of_length(name, values, rank, self.title)
            not_negative(name, values, self.title)
        placement = Placement()
        tables = list(zip(shape[2:], window, strides, (1,) * rank, below, above, strict=True))
        try:
            axes = tuple(placement.axis(*table) for table in tables)
        except NoWindow as found:
            raise no_window(found, self.title, tables) from found
        pooling = Pooling(axes, policies, indices=False, placement=placement)
        if policies.large_pads is LargePads.REFUSED and pooling.has_large_pads:
            raise invalid("padding_below", "must be smaller than the window", f"{self.title} with large_pads: refused")
        return pooling


NGRAPH = NGraph()
