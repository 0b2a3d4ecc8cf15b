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
    AttributeType,
    invalid,
    missing,
    no_window,
    not_negative,
    of_dtype,
    of_length,
    one_of,
    positive,
    typed,
)
from maxpool_check.specifications.refused import Reason, Refused

_VERSION_1 = {
    "strides": AttributeType.INTEGERS,
    "pads_begin": AttributeType.INTEGERS,
    "pads_end": AttributeType.INTEGERS,
    "kernel": AttributeType.INTEGERS,
    "rounding_type": AttributeType.TEXT,
    "auto_pad": AttributeType.TEXT,
}
_VERSION_8 = {
    **_VERSION_1,
    "dilations": AttributeType.INTEGERS,
    "index_element_type": AttributeType.TEXT,
    "axis": AttributeType.INTEGER,
}

_AUTO_PADS = {
    "explicit": AutoPad.EXPLICIT,
    "same_upper": AutoPad.SAME_UPPER,
    "same_lower": AutoPad.SAME_LOWER,
    "valid": AutoPad.VALID,
}
_INDEX_TYPES = {"i64": "int64", "i32": "int32"}
_ROUNDING: Mapping[str, Rounding] = {"floor": geometry.floor_output, "ceil": geometry.ceil_output}
_WITH_TORCH: Mapping[str, Rounding] = {**_ROUNDING, "ceil_torch": geometry.clipped_ceil_output}

_POLICIES = Policies(valid_ceil=ValidCeil.HONOURS)


@dataclass(frozen=True)
class OpenVino:
    """One version of the operator; ``rounding`` are its rounding types."""

    version: int
    attributes: Mapping[str, AttributeType] = field(compare=False)
    rounding: Mapping[str, Rounding] = field(compare=False)
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
        given = typed(attributes, self.attributes, self.title)
        of_dtype(dtype, dtypes.NAMES, self.title, "type T")
        if not 3 <= len(shape) <= 5:
            message = f"the input must have 3, 4 or 5 axes, got {len(shape)}"
            raise Refused(Reason.INVALID_SHAPE, message, clause=f"{self.title}, Inputs")
        auto_pad = given.get("auto_pad", "explicit")
        rounding_type = given.get("rounding_type", "floor")
        one_of("auto_pad", auto_pad, tuple(_AUTO_PADS), self.title)
        one_of("rounding_type", rounding_type, tuple(self.rounding), self.title)
        lists = self._lists(given, len(shape) - 2, auto_pad == "explicit")
        rounding = self.rounding[rounding_type]
        if auto_pad == "valid" and policies.valid_ceil is ValidCeil.FORMULA:
            rounding = geometry.floor_output

        placement = Placement(_AUTO_PADS[auto_pad], rounding, policies.same_clamp is SameClamp.CLAMPS)
        try:
            axes = tuple(map(placement.axis, shape[2:], *lists))
        except NoWindow as found:
            raise no_window(found, self.title, zip(shape[2:], *lists, strict=True)) from found
        numbering = self._numbering(given, shape)
        pooling = Pooling(axes, policies, numbering, indices=self.indices, placement=placement)
        if policies.large_pads is LargePads.REFUSED and pooling.has_large_pads:
            raise invalid("pads_begin", "must be smaller than the kernel", f"{self.title} with large_pads: refused")
        return pooling

    def _lists(self, given: Mapping[str, Any], rank: int, explicit: bool) -> list[tuple[int, ...]]:
        """kernel, strides, dilations, pads_begin and pads_end.

        The pads are required by their table; Examples 2 to 5 leave them out, where auto_pad has them ignored.
        """
        for name in ("kernel", "strides", *(("pads_begin", "pads_end") if explicit else ())):
            if name not in given:
                raise missing(name, self.title)
        lists = []
        for name in ("kernel", "strides", "dilations", "pads_begin", "pads_end"):
            is_pad = name.startswith("pads")
            values = given.get(name, (0 if is_pad else 1,) * rank)
            of_length(name, values, rank, self.title)
            (not_negative if is_pad else positive)(name, values, self.title)
            lists.append((0,) * rank if is_pad and not explicit else values)
        return lists

    def _numbering(self, given: Mapping[str, Any], shape: tuple[int, ...]) -> Numbering:
        axis = given.get("axis", 0)
        if not -len(shape) <= axis < len(shape):
            raise invalid("axis", f"must be in [{-len(shape)}, {len(shape) - 1}], got {axis}", self.title)
        name = given.get("index_element_type", "i64")
        one_of("index_element_type", name, tuple(_INDEX_TYPES), self.title)
        numbering = Numbering(axis=axis % len(shape), dtype=_INDEX_TYPES[name])
        largest = numbering.bound(shape) - 1
        if largest > np.iinfo(numbering.dtype).max:
            raise invalid("index_element_type", f"cannot be {name}: an index can be {largest}", self.title)
        return numbering


VERSIONS = (
    OpenVino(1, _VERSION_1, _ROUNDING, indices=False),
    OpenVino(8, _VERSION_8, _ROUNDING),
    OpenVino(14, _VERSION_8, _WITH_TORCH),
)
