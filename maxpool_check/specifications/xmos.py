"""maxpool2d of XMOS' lib_nn: one int8 image, its channels last, windows placed by their start and number."""

from collections.abc import Mapping
from typing import Any

from maxpool_check.reference import geometry
from maxpool_check.reference.numbering import Layout
from maxpool_check.reference.policies import INTERPRETATIONS, Policies
from maxpool_check.reference.pooling import Pooling
from maxpool_check.specifications.roles import Role, integer
from maxpool_check.specifications.specification import Reason, Specification
from maxpool_check.words import plural

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
        self.check_dtype(dtype, "tensor X")
        if len(shape) != 3:
            message = f"X must be (X_h, X_w, X_c), got {plural(len(shape), 'axis', 'axes')}"
            raise self.refusal(Reason.INVALID_SHAPE, message, "Data Parameters")
        if shape[2] % self.channel_multiple:
            message = f"the channel count must be a multiple of 4, got {shape[2]}"
            raise self.refusal(Reason.INVALID_SHAPE, message, "X_c = 0 (mod 4)", "X_c")
        # The attributes may repeat the sizes of X.
        for name, actual in zip(_SIZES, shape, strict=True):
            if attributes.get(name, actual) != actual:
                raise self.invalid(name, f"is {attributes[name]}, but X has the shape {list(shape)}")
        attributes = self.complete(attributes, 2, _SIZES)
        axes = []
        for n, (kernel, stride, start, output, size) in zip(shape, _AXES, strict=False):
            axis = geometry.placed_axis(n, *(attributes[name] for name in (kernel, stride, start, output)))
            if axis.end > 0:
                last = f"{start} + {stride} * ({output} - 1) + {kernel}"
                message = f"the last window must end inside the image: {last} is {n + axis.end}, {size} is {n}"
                raise self.refusal(Reason.INVALID_ATTRIBUTE, message, f"{last} <= {size}")
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
    policies=Policies(inapplicable=frozenset(INTERPRETATIONS)),
    layout=Layout.IMAGE,
)
