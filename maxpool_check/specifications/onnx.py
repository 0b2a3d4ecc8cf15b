"""MaxPool of the ONNX operator set, versions 1, 8, 10, 11, 12 and 22."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from maxpool_check.reference import geometry
from maxpool_check.reference.geometry import AutoPad, Placement, Rounding
from maxpool_check.reference.numbering import Numbering, StorageOrder
from maxpool_check.reference.policies import Policies, SameClamp, ValidCeil
from maxpool_check.reference.pooling import Pooling
from maxpool_check.specifications.attributes import check_dtype, check_large_pads, complete, placed, typed
from maxpool_check.specifications.refused import Reason, Refused
from maxpool_check.specifications.roles import Role, RoundingType, choice, integers
from maxpool_check.specifications.specification import Specification

_AUTO_PADS = {
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
    "auto_pad": choice(Role.AUTO_PAD, _AUTO_PADS, "NOTSET"),
    "ceil_mode": choice(Role.ROUNDING, {0: RoundingType.FLOOR, 1: RoundingType.CEIL}, 0),
    "storage_order": choice(Role.STORAGE_ORDER, {0: StorageOrder.ROW_MAJOR, 1: StorageOrder.COLUMN_MAJOR}, 0),
}
_VERSION_8 = {name: _VERSION_10[name] for name in ("kernel_shape", "strides", "pads", "auto_pad", "storage_order")}
_VERSION_1 = {name: attribute for name, attribute in _VERSION_8.items() if name != "storage_order"}

_FLOATS = ("float16", "float32", "float64")
_WITH_BYTES = (*_FLOATS, "int8", "uint8")
_WITH_BFLOAT16 = (*_WITH_BYTES, "bfloat16")


@dataclass(frozen=True, kw_only=True)
class Onnx(Specification):
    """One version of the operator; ``since`` is the operator set that introduced it."""

    since: int
    round_up: Rounding

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
        rank = len(shape) - 2
        values = complete(attributes, self.attributes, rank, self.title)
        ones = (1,) * rank
        pads, auto_pad = values["pads"], values["auto_pad"]
        is_ceil = values.get("ceil_mode") is RoundingType.CEIL
        refusable = None
        if auto_pad is not AutoPad.EXPLICIT and any(pads):
            refusable = f"{self.title}, attribute pads: cannot be used simultaneously with auto_pad"
            pads = (0,) * 2 * rank
        lists = values["kernel_shape"], values["strides"], values.get("dilations", ones), pads[:rank], pads[rank:]
        tables = list(zip(shape[2:], *lists, strict=True))
        numbering = Numbering(values.get("storage_order", StorageOrder.ROW_MAJOR))

        def interpreted(policies: Policies) -> Pooling:
            placement = self._placement(auto_pad, is_ceil, policies)
            axes = placed(placement, tables, self.title)
            return Pooling(axes, policies, numbering, indices=self.indices, refusable=refusable, placement=placement)

        pooling = interpreted(policies)
        if policies.valid_ceil is ValidCeil.EITHER and auto_pad is AutoPad.VALID and is_ceil:
            honours, formula = (
                interpreted(replace(policies, valid_ceil=interpretation))
                for interpretation in (ValidCeil.HONOURS, ValidCeil.FORMULA)
            )
            pooling = pooling if honours.geometry == formula.geometry else replace(honours, alternatives=(formula,))
        check_large_pads(pooling, "pads", self.title)
        return pooling

    def _placement(self, auto_pad: AutoPad, ceil: bool, policies: Policies) -> Placement:
        up = ceil and not (auto_pad is AutoPad.VALID and policies.valid_ceil is ValidCeil.FORMULA)
        clamps = policies.same_clamp is SameClamp.CLAMPS
        return Placement(auto_pad, self.round_up if up else geometry.floor_output, clamps)


VERSIONS: Sequence[Onnx] = tuple(
    Onnx(
        name=f"onnx-{since}",
        title=f"ONNX MaxPool-{since}",
        attributes=attributes,
        dtypes=dtypes,
        ranks=(1, 2, 3, 4),
        policies=Policies(),
        indices=since >= 8,
        since=since,
        round_up=geometry.clipped_ceil_output if since >= 22 else geometry.ceil_output,
    )
    for since, attributes, dtypes in (
        (1, _VERSION_1, _FLOATS),
        (8, _VERSION_8, _FLOATS),
        (10, _VERSION_10, _FLOATS),
        (11, _VERSION_10, _FLOATS),
        (12, _VERSION_10, _WITH_BYTES),
        (22, _VERSION_10, _WITH_BFLOAT16),
    )
)
