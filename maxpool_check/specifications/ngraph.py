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
    check_dtype,
    check_length,
    check_not_negative,
    check_positive,
    invalid,
    missing,
    no_window,
    typed,
)
from maxpool_check.specifications.refused import Reason, Refused
from maxpool_check.specifications.roles import Attribute, Role, integers

_ATTRIBUTES = {
    "window_shape": integers(Role.KERNEL),
    "window_movement_strides": integers(Role.STRIDE, 1),
    "padding_below": integers(Role.BEGIN, 0),
    "padding_above": integers(Role.END, 0),
}

_POLICIES = Policies(inapplicable=frozenset({"valid_ceil", "same_clamp", "nhwc_index_base"}))


@dataclass(frozen=True)
class NGraph:
    """The operator. It has no Indices, no dilations, and rounds down."""

    name: str = "ngraph-0"
    title: str = "nGraph MaxPool"
    dtypes: tuple[str, ...] = dtypes.NAMES
    ranks: tuple[int, ...] = (1, 2, 3)
    channel_multiple: int = 1
    indices: bool = False
    policies: Policies = _POLICIES
    layout: Layout = Layout.CHANNELS_FIRST
    onnx: None = None
    domain: None = None

    @property
    def attributes(self) -> Mapping[str, Attribute]:
        """Its four."""
        return _ATTRIBUTES

    def pooling(self, attributes: Mapping[str, Any], dtype: str, shape: tuple[int, ...], policies: Policies) -> Pooling:
        """The pooling of an N x C x d1 x ... x dn tensor; n, C and every d are at least 1. Raises :class:`Refused`."""
        attributes = typed(attributes, _ATTRIBUTES, self.title)
        check_dtype(dtype, self.dtypes, self.title, "input arg")
        rank = len(shape) - 2
        if rank < 1 or 0 in shape[1:]:
            message = f"arg must be (N, C, d1, ..., dn) with n, C and every d above 0, got {list(shape)}"
            raise Refused(Reason.INVALID_SHAPE, message, clause=f"{self.title}, input arg")
        if "window_shape" not in attributes:
            raise missing("window_shape", self.title)
        window = attributes["window_shape"]
        strides = attributes.get("window_movement_strides", (1,) * rank)
        below = attributes.get("padding_below", (0,) * rank)
        above = attributes.get("padding_above", (0,) * rank)
        for name, values in (("window_shape", window), ("window_movement_strides", strides)):
            check_length(name, values, rank, self.title)
            check_positive(name, values, self.title)
        for name, values in (("padding_below", below), ("padding_above", above)):
            check_length(name, values, rank, self.title)
            check_not_negative(name, values, self.title)
        placement = Placement()
        tables = list(zip(shape[2:], window, strides, (1,) * rank, below, above, strict=True))
        try:
            axes = tuple(placement.axis(*table) for table in tables)
        except NoWindow as error:
            raise no_window(error, self.title, tables) from error
        pooling = Pooling(axes, policies, indices=False, placement=placement)
        if policies.large_pads is LargePads.REFUSED and pooling.has_large_pads:
            raise invalid("padding_below", "must be smaller than the window", f"{self.title} with large_pads: refused")
        return pooling


NGRAPH = NGraph()
