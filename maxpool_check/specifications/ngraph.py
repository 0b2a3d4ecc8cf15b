"""nGraph's MaxPool (version 0 of the operator)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from maxpool_check.reference import dtypes
from maxpool_check.reference.geometry import Placement
from maxpool_check.reference.policies import Policies
from maxpool_check.reference.pooling import Pooling
from maxpool_check.specifications.attributes import check_dtype, check_large_pads, complete, placed, typed
from maxpool_check.specifications.refused import Reason, Refused
from maxpool_check.specifications.roles import Role, integers
from maxpool_check.specifications.specification import Specification


class NGraph(Specification):
    """The operator. It has no Indices, no dilations, and rounds down."""

    def pooling(self, attributes: Mapping[str, Any], dtype: str, shape: tuple[int, ...], policies: Policies) -> Pooling:
        """The pooling of an N x C x d1 x ... x dn tensor; n, C and every d are at least 1. Raises :class:`Refused`."""
        attributes = typed(attributes, self.attributes, self.title)
        check_dtype(dtype, self.dtypes, self.title, "input arg")
        rank = len(shape) - 2
        if rank < 1 or 0 in shape[1:]:
            message = f"arg must be (N, C, d1, ..., dn) with n, C and every d above 0, got {list(shape)}"
            raise Refused(Reason.INVALID_SHAPE, message, clause=f"{self.title}, input arg")
        window, strides, below, above = complete(attributes, self.attributes, rank, self.title).values()
        placement = Placement()
        axes = placed(placement, zip(shape[2:], window, strides, (1,) * rank, below, above, strict=True), self.title)
        pooling = Pooling(axes, policies, indices=False, placement=placement)
        check_large_pads(pooling, "padding_below", self.title)
        return pooling


NGRAPH = NGraph(
    name="ngraph-0",
    title="nGraph MaxPool",
    attributes={
        "window_shape": integers(Role.KERNEL),
        "window_movement_strides": integers(Role.STRIDE, 1),
        "padding_below": integers(Role.BEGIN, 0),
        "padding_above": integers(Role.END, 0),
    },
    dtypes=dtypes.NAMES,
    ranks=(1, 2, 3),
    indices=False,
    policies=Policies(inapplicable=frozenset({"valid_ceil", "same_clamp", "nhwc_index_base"})),
)
