"""maxpool2d of XMOS' lib_nn: one int8 image, its channels last, windows placed by their start and number."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from maxpool_check.reference import geometry
from maxpool_check.reference.layout import Layout
from maxpool_check.reference.policies import Policies
from maxpool_check.reference.pooling import Pooling
from maxpool_check.specifications.attributes import (
    check_dtype,
    check_not_negative,
    check_positive,
    invalid,
    missing,
    typed,
)
from maxpool_check.specifications.refused import Reason, Refused
from maxpool_check.specifications.roles import Attribute, Role, integer

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

# int8 has no NaN and one zero, nothing is padded, and no index tells one of equal maxima from another.
_POLICIES = Policies(
    inapplicable=frozenset({"nan", "tie", "zero_sign", "valid_ceil", "same_clamp", "large_pads", "nhwc_index_base"})
)


@dataclass(frozen=True)
class Xmos:
    """The operator. It has no Indices, no padding and no dilation."""

    name: str = "xmos-maxpool2d"
    title: str = "XMOS lib_nn maxpool2d"
    dtypes: tuple[str, ...] = ("int8",)
    ranks: tuple[int, ...] = (2,)
    channel_multiple: int = 4
    indices: bool = False
    policies: Policies = _POLICIES
    layout: Layout = Layout.IMAGE
    onnx: None = None
    domain: None = None

    @property
    def attributes(self) -> Mapping[str, Attribute]:
        """Its hyperparameters."""
        return _ATTRIBUTES

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
        for name, of_X in zip(_SIZES, shape, strict=True):
            # X itself has them; the attributes may repeat them.
            if attributes.get(name, of_X) != of_X:
                raise invalid(name, f"is {attributes[name]}, but X has the shape {list(shape)}", self.title)
        for name, attribute in _ATTRIBUTES.items():
            if name in _SIZES:
                continue
            if name not in attributes:
                raise missing(name, self.title)
            check = check_not_negative if attribute.role is Role.START else check_positive
            check(name, (attributes[name],), self.title)
        axes = []
        for n, (kernel, stride, start, output, size) in zip(shape, _AXES, strict=False):
            axis = geometry.placed_axis(
                n, attributes[kernel], attributes[stride], attributes[start], attributes[output]
            )
            if axis.end > 0:
                raise Refused(
                    Reason.INVALID_ATTRIBUTE,
                    f"the last window must end inside the image: {start} + {stride} * ({output} - 1) + {kernel} is "
                    f"{n + axis.end}, {size} is {n}",
                    clause=f"{self.title}, {start} + {stride} * ({output} - 1) + {kernel} <= {size}",
                )
            axes.append(axis)
        return Pooling(tuple(axes), policies, layout=self.layout, indices=False)


XMOS = Xmos()
