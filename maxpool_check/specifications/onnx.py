"""MaxPool of the ONNX operator set, versions 1, 8, 10, 11, 12 and 22."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from maxpool_check.reference import geometry
from maxpool_check.reference.geometry import AutoPad, NoWindow, Placement, Rounding
from maxpool_check.reference.layout import Layout
from maxpool_check.reference.numbering import Numbering, StorageOrder
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
from maxpool_check.specifications.roles import Attribute, Role, RoundingType, choice, integers

AUTO_PADS = {
    "NOTSET": AutoPad.EXPLICIT,
    "SAME_UPPER": AutoPad.SAME_UPPER,
    "SAME_LOWER": AutoPad.SAME_LOWER,
    "VALID": AutoPad.VALID,
}

_VERSION_10 = {
    "kernel_shape": integers(Role.KERNEL),
    "strides": integers(Role.STRIDE, 1),
    "dilations": integers(Role.DILATION, 1),
    "pads": integers(Role.PADS, 0),
    "auto_pad": choice(Role.AUTO_PAD, AUTO_PADS, "NOTSET"),
    "ceil_mode": choice(Role.ROUNDING, {0: RoundingType.FLOOR, 1: RoundingType.CEIL}, 0),
    "storage_order": choice(Role.STORAGE_ORDER, {0: StorageOrder.ROW_MAJOR, 1: StorageOrder.COLUMN_MAJOR}, 0),
}
_VERSION_8 = {name: _VERSION_10[name] for name in ("kernel_shape", "strides", "pads", "auto_pad", "storage_order")}
_VERSION_1 = {name: attribute for name, attribute in _VERSION_8.items() if name != "storage_order"}

_FLOATS = ("float16", "float32", "float64")
_WITH_BYTES = (*_FLOATS, "int8", "uint8")
_WITH_BFLOAT16 = (*_WITH_BYTES, "bfloat16")


@dataclass(frozen=True)
class Onnx:
    """One version of the operator; ``since`` is the operator set that introduced it."""

    since: int
    attributes: Mapping[str, Attribute] = field(compare=False)
    dtypes: tuple[str, ...]
    ranks: tuple[int, ...] = (1, 2, 3, 4)
    channel_multiple: int = 1
    indices: bool = True
    round_up: Rounding = geometry.ceil_output
    policies: Policies = field(default_factory=Policies)
    layout: Layout = Layout.CHANNELS_FIRST
    domain: str | None = None

    @property
    def name(self) -> str:
        """The name in case files."""
        return f"onnx-{self.since}"

    @property
    def title(self) -> str:
        """The document's own name."""
        return f"ONNX MaxPool-{self.since}"

    @property
    def onnx(self) -> Onnx:
        """Itself."""
        return self

    def pooling(self, attributes: Mapping[str, Any], dtype: str, shape: tuple[int, ...], policies: Policies) -> Pooling:
        """The pooling of an N x C x D1 x ... x Dn tensor; n is at least 1. Raises :class:`Refused`."""
        attributes = typed(attributes, self.attributes, self.title)
        check_dtype(dtype, self.dtypes, self.title, "type constraint T")
        if len(shape) < 3:
            raise Refused(
                Reason.INVALID_SHAPE,
                f"X must have a batch, a channel and at least one spatial axis, got {len(shape)} axes",
                clause=f"{self.title}, input X",
            )
        spatial = shape[2:]
        rank = len(spatial)
        if "kernel_shape" not in attributes:
            raise missing("kernel_shape", self.title)
        kernel = attributes["kernel_shape"]
        strides = attributes.get("strides", (1,) * rank)
        dilations = attributes.get("dilations", (1,) * rank)
        pads = attributes.get("pads", (0,) * 2 * rank)
        for name, values in (("kernel_shape", kernel), ("strides", strides), ("dilations", dilations)):
            check_length(name, values, rank, self.title)
            check_positive(name, values, self.title)
        check_length("pads", pads, 2 * rank, self.title)
        check_not_negative("pads", pads, self.title)
        auto_pad = attributes.get("auto_pad", "NOTSET")
        ceil_mode = attributes.get("ceil_mode", 0)
        storage_order = attributes.get("storage_order", 0)
        check_one_of("auto_pad", auto_pad, tuple(AUTO_PADS), self.title)
        check_one_of("ceil_mode", ceil_mode, (0, 1), self.title)
        check_one_of("storage_order", storage_order, (0, 1), self.title)

        refusable = None
        if auto_pad != "NOTSET" and any(pads):
            refusable = f"{self.title}, attribute pads: cannot be used simultaneously with auto_pad"
            pads = (0,) * 2 * rank
        tables = list(zip(spatial, kernel, strides, dilations, pads[:rank], pads[rank:], strict=True))
        numbering = Numbering(StorageOrder.COLUMN_MAJOR if storage_order == 1 else StorageOrder.ROW_MAJOR)

        def interpreted(policies: Policies) -> Pooling:
            placement = self._placement(AUTO_PADS[auto_pad], ceil_mode == 1, policies)
            axes = tuple(placement.axis(*table) for table in tables)
            return Pooling(axes, policies, numbering, indices=self.indices, refusable=refusable, placement=placement)

        try:
            pooling = interpreted(policies)
            if policies.valid_ceil is ValidCeil.EITHER and auto_pad == "VALID" and ceil_mode == 1:
                honours, formula = (
                    interpreted(replace(policies, valid_ceil=interpretation))
                    for interpretation in (ValidCeil.HONOURS, ValidCeil.FORMULA)
                )
                pooling = pooling if honours.geometry == formula.geometry else honours.or_else(formula)
        except NoWindow as error:
            raise no_window(error, self.title, tables) from error
        if policies.large_pads is LargePads.REFUSED and pooling.has_large_pads:
            raise invalid("pads", "must be smaller than the kernel", f"{self.title} with large_pads: refused")
        return pooling

    def _placement(self, auto_pad: AutoPad, ceil: bool, policies: Policies) -> Placement:
        up = ceil and not (auto_pad is AutoPad.VALID and policies.valid_ceil is ValidCeil.FORMULA)
        clamps = policies.same_clamp is SameClamp.CLAMPS
        return Placement(auto_pad, self.round_up if up else geometry.floor_output, clamps)


VERSIONS: Sequence[Onnx] = (
    Onnx(1, _VERSION_1, _FLOATS, indices=False),
    Onnx(8, _VERSION_8, _FLOATS),
    Onnx(10, _VERSION_10, _FLOATS),
    Onnx(11, _VERSION_10, _FLOATS),
    Onnx(12, _VERSION_10, _WITH_BYTES),
    Onnx(22, _VERSION_10, _WITH_BFLOAT16, round_up=geometry.clipped_ceil_output),
)
