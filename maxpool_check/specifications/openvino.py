"""OpenVINO's MaxPool-1, MaxPool-8 and MaxPool-14."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from maxpool_check.reference import dtypes
from maxpool_check.reference.geometry import AutoPad
from maxpool_check.reference.policies import Policies, SameClamp, ValidCeil, ZeroSize
from maxpool_check.reference.pooling import Pooling
from maxpool_check.specifications.roles import Role, RoundingType, choice, integer, integers
from maxpool_check.specifications.specification import Reason, Specification

_AUTO_PADS = {pad.name.lower(): pad for pad in AutoPad}
_FLOOR_AND_CEIL = {"floor": RoundingType.FLOOR, "ceil": RoundingType.CEIL}
_VERSION_1 = {
    "kernel": integers(Role.KERNEL),
    "strides": integers(Role.STRIDE),
    "pads_begin": integers(Role.BEGIN),
    "pads_end": integers(Role.END),
    "rounding_type": choice(Role.ROUNDING, _FLOOR_AND_CEIL, "floor"),
    "auto_pad": choice(Role.AUTO_PAD, _AUTO_PADS, "explicit"),
}
_VERSION_8 = {
    **_VERSION_1,
    "dilations": integers(Role.DILATION, 1),
    "index_element_type": choice(Role.INDEX_TYPE, {"i64": "int64", "i32": "int32"}, "i64"),
    "axis": integer(Role.INDEX_AXIS, default=0),
}
_VERSION_14 = {
    **_VERSION_8,
    "rounding_type": choice(Role.ROUNDING, {**_FLOOR_AND_CEIL, "ceil_torch": RoundingType.CEIL_TORCH}, "floor"),
}


class OpenVino(Specification):
    """One version of the operator."""

    def pooling(self, attributes: Mapping[str, Any], dtype: str, shape: tuple[int, ...], policies: Policies) -> Pooling:
        """The pooling of an N x C x D1 [x D2 [x D3]] tensor. Raises :class:`Refused`."""
        self.check_dtype(dtype, "type T")
        if not 3 <= len(shape) <= 5:
            raise self.refusal(Reason.INVALID_SHAPE, f"the input must have 3, 4 or 5 axes, got {len(shape)}", "Inputs")
        # The table of attributes requires the pads; Examples 2 to 5 leave them out where auto_pad ignores them.
        is_explicit = attributes.get("auto_pad", "explicit") == "explicit"
        values = self.complete(attributes, len(shape) - 2, () if is_explicit else ("pads_begin", "pads_end"))
        pooling = self.padded(values, shape[2:], policies)
        axis = values.get("axis", 0)
        if not -len(shape) <= axis < len(shape):
            raise self.invalid("axis", f"must be in [{-len(shape)}, {len(shape) - 1}], got {axis}")
        largest = pooling.numbering.bound(shape) - 1
        if largest > np.iinfo(pooling.numbering.dtype).max:
            raise self.invalid("index_element_type", f"is too small for the largest index, {largest}")
        # "Padding values are -inf": no value of the integer types.
        return replace(pooling, padding_value=float("-inf")) if dtypes.is_float(dtypes.NUMPY[dtype]) else pooling


VERSIONS = tuple(
    OpenVino(
        name=f"openvino-{version}",
        title=f"OpenVINO MaxPool-{version}",
        attributes=attributes,
        dtypes=dtypes.NAMES,
        ranks=(1, 2, 3),
        policies=Policies(
            valid_ceil=ValidCeil.HONOURS,
            same_clamp=SameClamp.CLAMPS,
            zero_size=ZeroSize.REFUSED,
            inapplicable=frozenset({"ceil_clip", "nhwc_index_base"}),
        ),
        indices=version >= 8,
    )
    for version, attributes in ((1, _VERSION_1), (8, _VERSION_8), (14, _VERSION_14))
)
