"""maxpool2d of XMOS' lib_nn: one int8 image, its channels last, windows placed by their start and number."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from maxpool_check.reference import geometry
from maxpool_check.reference.layout import Layout
from maxpool_check.reference.policies import Policies
from maxpool_check.reference.pooling import Pooling
from maxpool_check.specifications.attributes import check_dtype, complete, invalid, typed
from maxpool_check.specifications.refused import Reason, Refused
from maxpool_check.specifications.roles import Role, integer
from maxpool_check.specifications.specification import Specification

_SIZES = ("X_h", "X_w", "X_c")
_ATTRIBUTES = {
    **dict.fromkeys(_SIZES, integer(Role.INPUT_SIZE)),
    "Y_h": integer(Role.COUNT, 0),
    "Y_w": integer(Role.COUNT, 1),
    "K_h": integer(Role.KERNEL, 0),
    "K_w": integer(Role.KERNEL, 1),
    "W_r0": integer(Role.START, 0),
    "W_c0": integer(Role.START, 1),
    "W_vert": integer(Role.STRIDE, 0),
    "W_hori": integer(Role.STRIDE, 1),
}
_AXES = (("K_h", "W_vert", "W_r0", "Y_h", "X_h"), ("K_w", "W_hori", "W_c0", "Y_w", "X_w"))


class Xmos(Specification):
    """The operator. It has no Indices, no padding and no dilation."""

    def pooling(self, attributes: Mapping[str, Any], dtype: str, shape: tuple[int, ...], policies: Policies) -> Pooling:
        """The pooling of an X_h x X_w x X_c tensor. Raises :class:`Refused`."""
        attributes = typed(attributes, self.attributes, self.title)
        check_dtype(dtype, self.dtypes, self.title, "tensor X")
        if len(shape) != 3:
            message = f"X must be (X_h, X_w, X_c), got {len(shape)} axes"
            raise Refused(Reason.INVALID_SHAPE, message, clause=f"{self.title}, Data Parameters")
        if shape[2] % self.channel_multiple:
            message = f"the channel count must be a multiple of 4, got {shape[2]}"
            raise Refused(Reason.INVALID_SHAPE, message, clause=f"{self.title}, X_c = 0 (mod 4)", attribute="X_c")
        # The attributes may repeat the sizes of X.
        for name, actual in zip(_SIZES, shape, strict=True):
            if attributes.get(name, actual) != actual:
                raise invalid(name, f"is {attributes[name]}, but X has the shape {list(shape)}", self.title)
        attributes = complete(attributes, self.attributes, 2, self.title, optional=_SIZES)
        axes = []
        for n, (kernel, stride, start, output, size) in zip(shape, _AXES, strict=False):
            axis = geometry.placed_axis(n, *(attributes[name] for name in (kernel, stride, start, output)))
            if axis.end > 0:
                last = f"{start} + {stride} * ({output} - 1) + {kernel}"
                raise Refused(
                    Reason.INVALID_ATTRIBUTE,
                    f"the last window must end inside the image: {last} is {n + axis.end}, {size} is {n}",
                    clause=f"{self.title}, {last} <= {size}",
                )
            axes.append(axis)
        return Pooling(tuple(axes), policies, layout=self.layout, indices=False)


XMOS = Xmos(
    name="xmos-maxpool2d",
    title="XMOS lib_nn maxpool2d",
    attributes=_ATTRIBUTES,
    dtypes=("int8",),
    ranks=(2,),
    channel_multiple=4,
    indices=False,
    # int8 has no NaN and one zero, nothing is padded, and no index distinguishes equal maxima.
    policies=Policies(
        inapplicable=frozenset({"nan", "tie", "zero_sign", "valid_ceil", "same_clamp", "large_pads", "nhwc_index_base"})
    ),
    layout=Layout.IMAGE,
)
