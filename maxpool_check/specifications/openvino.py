"""OpenVINO's MaxPool-1, MaxPool-8 and MaxPool-14."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from maxpool_check.reference import dtypes, geometry
from maxpool_check.reference.geometry import AutoPad, Placement, Rounding
from maxpool_check.reference.numbering import Numbering
from maxpool_check.reference.policies import Policies, SameClamp, ValidCeil
from maxpool_check.reference.pooling import Pooling
from maxpool_check.specifications.attributes import check_dtype, check_large_pads, complete, invalid, placed, typed
from maxpool_check.specifications.refused import Reason, Refused
from maxpool_check.specifications.roles import Role, RoundingType, choice, integer, integers
from maxpool_check.specifications.specification import Specification

_AUTO_PADS = {
    "explicit": AutoPad.EXPLICIT,
    "same_upper": AutoPad.SAME_UPPER,
    "same_lower": AutoPad.SAME_LOWER,
    "valid": AutoPad.VALID,
}
_ROUNDINGS: Mapping[RoundingType, Rounding] = {
    RoundingType.FLOOR: geometry.floor_output,
    RoundingType.CEIL: geometry.ceil_output,
    RoundingType.CEIL_TORCH: geometry.clipped_ceil_output,
}

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
        attributes = typed(attributes, self.attributes, self.title)
        check_dtype(dtype, self.dtypes, self.title, "type T")
        if not 3 <= len(shape) <= 5:
            message = f"the input must have 3, 4 or 5 axes, got {len(shape)}"
            raise Refused(Reason.INVALID_SHAPE, message, clause=f"{self.title}, Inputs")
        is_explicit = attributes.get("auto_pad", "explicit") == "explicit"
        rank = len(shape) - 2
        # The table of attributes requires the pads; Examples 2 to 5 leave them out where auto_pad ignores them.
        optional = () if is_explicit else ("pads_begin", "pads_end")
        values = complete(attributes, self.attributes, rank, self.title, optional)
        pads = (values["pads_begin"], values["pads_end"]) if is_explicit else ((0,) * rank, (0,) * rank)
        rounding = _ROUNDINGS[values["rounding_type"]]
        if values["auto_pad"] is AutoPad.VALID and policies.valid_ceil is ValidCeil.FORMULA:
            rounding = geometry.floor_output
        placement = Placement(values["auto_pad"], rounding, policies.same_clamp is SameClamp.CLAMPS)
        lists = values["kernel"], values["strides"], values.get("dilations", (1,) * rank), *pads
        axes = placed(placement, zip(shape[2:], *lists, strict=True), self.title)
        numbering = self._numbering(values.get("axis", 0), values.get("index_element_type", "int64"), shape)
        pooling = Pooling(axes, policies, numbering, indices=self.indices, placement=placement)
        check_large_pads(pooling, "pads_begin", self.title)
        return pooling

    def _numbering(self, axis: int, dtype: str, shape: tuple[int, ...]) -> Numbering:
        if not -len(shape) <= axis < len(shape):
            raise invalid("axis", f"must be in [{-len(shape)}, {len(shape) - 1}], got {axis}", self.title)
        numbering = Numbering(axis=axis % len(shape), dtype=dtype)
        largest = numbering.bound(shape) - 1
        if largest > np.iinfo(dtype).max:
            raise invalid("index_element_type", f"is too small for the largest index, {largest}", self.title)
        return numbering


VERSIONS = tuple(
    OpenVino(
        name=f"openvino-{version}",
        title=f"OpenVINO MaxPool-{version}",
        attributes=attributes,
        dtypes=dtypes.NAMES,
        ranks=(1, 2, 3),
        policies=Policies(valid_ceil=ValidCeil.HONOURS),
        indices=version >= 8,
    )
    for version, attributes in ((1, _VERSION_1), (8, _VERSION_8), (14, _VERSION_14))
)
