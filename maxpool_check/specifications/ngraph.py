"""nGraph's MaxPool (version 0 of the operator)."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from maxpool_check.reference import dtypes
from maxpool_check.reference.policies import Policies, ZeroSize
from maxpool_check.reference.pooling import Pooling
from maxpool_check.specifications.roles import Role, integers
from maxpool_check.specifications.specification import Reason, Specification


class NGraph(Specification):
    """The operator. It has no Indices, no dilations, and rounds down."""

    def pooling(self, attributes: Mapping[str, Any], dtype: str, shape: tuple[int, ...], policies: Policies) -> Pooling:
        """The pooling of an N x C x d1 x ... x dn tensor; n, C and every d are at least 1. Raises :class:`Refused`."""
        self.check_dtype(dtype, "input arg")
        if len(shape) < 3 or 0 in shape[1:]:
            message = f"arg must be (N, C, d1, ..., dn) with n, C and every d above 0, got {list(shape)}"
            raise self.refusal(Reason.INVALID_SHAPE, message, "input arg")
        pooling = self.padded(self.complete(attributes, len(shape) - 2), shape[2:], policies)
        if any(axis.kernel > axis.size for axis in pooling.geometry):
            # Printed for the input without its padding, which is too strict where there is padding.
            return replace(pooling, refusable=f"{self.title}, the window shape: w <= d")
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
    policies=Policies(
        zero_size=ZeroSize.REFUSED,
        inapplicable=frozenset({"valid_ceil", "same_clamp", "ceil_clip", "zero_size", "nhwc_index_base"}),
    ),
)
