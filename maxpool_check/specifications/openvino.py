"""OpenVINO's MaxPool-1, MaxPool-8 and MaxPool-14."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from maxpool_check.reference import dtypes, geometry
from maxpool_check.reference.geometry import AutoPad, NoWindow, Placement, Rounding
from maxpool_check.reference.layout import Layout
from maxpool_check.reference.numbering import Numbering
from maxpool_check.reference.policies import LargePads, Policies, SameClamp, ValidCeil
from maxpool_check.reference.pooling import Pooling
from maxpool_check.specifications.attributes import (
    check_dtype,
    check_length,
    check_not_negative,
    check_one_of,
    check_positive,
    invalid,
    missing,
    no_window,
    typed,
)
from maxpool_check.specifications.refused import Reason, Refused
from maxpool_check.specifications.roles import Attribute, Role, RoundingType, choice, integer, integers

_AUTO_PADS = {
    "explicit": AutoPad.EXPLICIT,
    "same_upper": AutoPad.SAME_UPPER,
    "same_lower": AutoPad.SAME_LOWER,
    "valid": AutoPad.VALID,
}
_INDEX_TYPES = {"i64": "int64", "i32": "int32"}
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
    "index_element_type": choice(Role.INDEX_TYPE, _INDEX_TYPES, "i64"),
    "axis": integer(Role.INDEX_AXIS, default=0),
}
_VERSION_14 = {
    **_VERSION_8,
    "rounding_type": choice(Role.ROUNDING, {**_FLOOR_AND_CEIL, "ceil_torch": RoundingType.CEIL_TORCH}, "floor"),
}

_POLICIES = Policies(valid_ceil=ValidCeil.HONOURS)


@dataclass(frozen=True)
class OpenVino:
    """One version of the operator."""

    version: int
    attributes: Mapping[str, Attribute] = field(compare=False)
    dtypes: tuple[str, ...] = dtypes.NAMES
    ranks: tuple[int, ...] = (1, 2, 3)
    channel_multiple: int = 1
    indices: bool = True
    policies: Policies = _POLICIES
    layout: Layout = Layout.CHANNELS_FIRST
    onnx: None = None
    domain: None = None

    @property
    def name(self) -> str:
        """The name in case files."""
        return f"openvino-{self.version}"

    @property
    def title(self) -> str:
        """The document's own name."""
        return f"OpenVINO MaxPool-{self.version}"

    def pooling(self, attributes: Mapping[str, Any], dtype: str, shape: tuple[int, ...], policies: Policies) -> Pooling:
        """The pooling of an N x C x D1 [x D2 [x D3]] tensor. Raises :class:`Refused`."""
        attributes = typed(attributes, self.attributes, self.title)
        check_dtype(dtype, self.dtypes, self.title, "type T")
        if not 3 <= len(shape) <= 5:
            message = f"the input must have 3, 4 or 5 axes, got {len(shape)}"
            raise Refused(Reason.INVALID_SHAPE, message, clause=f"{self.title}, Inputs")
        auto_pad = attributes.get("auto_pad", "explicit")
        rounding_type = attributes.get("rounding_type", "floor")
        roundings = self.attributes["rounding_type"].values
        check_one_of("auto_pad", auto_pad, tuple(_AUTO_PADS), self.title)
        check_one_of("rounding_type", rounding_type, tuple(roundings), self.title)
        lists = self._lists(attributes, len(shape) - 2, auto_pad == "explicit")
        rounding = _ROUNDINGS[roundings[rounding_type]]
        if auto_pad == "valid" and policies.valid_ceil is ValidCeil.FORMULA:
            rounding = geometry.floor_output

        placement = Placement(_AUTO_PADS[auto_pad], rounding, policies.same_clamp is SameClamp.CLAMPS)
        try:
            axes = tuple(map(placement.axis, shape[2:], *lists))
        except NoWindow as error:
            raise no_window(error, self.title, zip(shape[2:], *lists, strict=True)) from error
        numbering = self._numbering(attributes, shape)
        pooling = Pooling(axes, policies, numbering, indices=self.indices, placement=placement)
        if policies.large_pads is LargePads.REFUSED and pooling.has_large_pads:
            raise invalid("pads_begin", "must be smaller than the kernel", f"{self.title} with large_pads: refused")
        return pooling

    def _lists(self, attributes: Mapping[str, Any], rank: int, explicit: bool) -> list[tuple[int, ...]]:
        """kernel, strides, dilations, pads_begin and pads_end.

        The pads are required by their table; Examples 2 to 5 leave them out, where auto_pad has them ignored.
        """
        for name in ("kernel", "strides", *(("pads_begin", "pads_end") if explicit else ())):
            if name not in attributes:
                raise missing(name, self.title)
        lists = []
        for name in ("kernel", "strides", "dilations", "pads_begin", "pads_end"):
            is_pad = name.startswith("pads")
            values = attributes.get(name, (0 if is_pad else 1,) * rank)
            check_length(name, values, rank, self.title)
            (check_not_negative if is_pad else check_positive)(name, values, self.title)
            lists.append((0,) * rank if is_pad and not explicit else values)
        return lists

    def _numbering(self, attributes: Mapping[str, Any], shape: tuple[int, ...]) -> Numbering:
        axis = attributes.get("axis", 0)
        if not -len(shape) <= axis < len(shape):
            raise invalid("axis", f"must be in [{-len(shape)}, {len(shape) - 1}], got {axis}", self.title)
        name = attributes.get("index_element_type", "i64")
        check_one_of("index_element_type", name, tuple(_INDEX_TYPES), self.title)
        numbering = Numbering(axis=axis % len(shape), dtype=_INDEX_TYPES[name])
        largest = numbering.bound(shape) - 1
        if largest > np.iinfo(numbering.dtype).max:
            raise invalid("index_element_type", f"cannot be {name}: an index can be {largest}", self.title)
        return numbering


VERSIONS = (OpenVino(1, _VERSION_1, indices=False), OpenVino(8, _VERSION_8), OpenVino(14, _VERSION_14))
