"""SONNX's MaxPool: the profile of ONNX MaxPool-22 for safety-related systems."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from maxpool_check.reference.dtypes import NUMPY, is_float, lowest
from maxpool_check.reference.policies import Nan, Policies, Tie, ZeroSign
from maxpool_check.reference.pooling import Pooling
from maxpool_check.specifications.onnx import VERSIONS
from maxpool_check.specifications.specification import Reason, Refused, Specification


class Sonnx(Specification):
    """SONNX's MaxPool: the profile of ONNX MaxPool-22 for safety-related systems.

    It restricts ONNX (R1 to R5: all attributes are required, and only the first value of each choice is allowed), decides
    what ONNX leaves open (NaN counts as -inf, the index is that of the first maximum) and changes nothing else.
    """

    onnx = VERSIONS[-1]
    """The ONNX version that it restricts."""

    restrictions: Mapping[str, str] = {"auto_pad": "R3", "ceil_mode": "R4", "storage_order": "R5"}
    """The attributes of which one value alone is allowed, and the restriction that says so."""

    def pooling(self, attributes: Mapping[str, Any], dtype: str, shape: tuple[int, ...], policies: Policies) -> Pooling:
        """The pooling of an N x C x H x W tensor. Raises :class:`Refused`, R1 to R5 among the clauses."""
        absent = [name for name in self.attributes if name not in attributes]
        if absent:
            message = f"all attributes must be explicitly set; {', '.join(absent)} is not"
            raise self.refusal(Reason.OUTSIDE_PROFILE, message, "R2")
        pooling = self.within(attributes, dtype, shape, policies)
        if len(shape) != 4:
            raise self.refusal(Reason.OUTSIDE_PROFILE, f"X must have 2 spatial axes, got {len(shape) - 2}", "R1")
        X_type = NUMPY[dtype]
        padding = float("-inf") if is_float(X_type) else float(lowest(X_type))
        return replace(pooling, padding_value=padding)

    def within(self, attributes: Mapping[str, Any], dtype: str, shape: tuple[int, ...], policies: Policies) -> Pooling:
        """The pooling by the ONNX version, of a restricted value of each choice. Raises :class:`Refused`."""
        self.check_dtype(dtype, "types float and int")
        try:
            pooling = self.onnx.pooling(attributes, dtype, shape, policies)
        except Refused as refused:
            raise refused.by(self.title, self.onnx.title) from refused
        for name, restriction in self.restrictions.items():
            (allowed,) = self.attributes[name].values
            if attributes.get(name, allowed) != allowed:
                message = f"{name} is restricted to {allowed}, got {attributes[name]}"
                raise self.refusal(Reason.OUTSIDE_PROFILE, message, restriction, name)
        refusable = pooling.refusable and pooling.refusable.replace(self.onnx.title, self.title)
        return replace(pooling, refusable=refusable)


class Sonnx2026(Sonnx):
    """The edition of 2026-10 over ONNX MaxPool-12: NaN propagates, the sign of a zero is free, and there are no Indices.

    Attributes have defaults, any number of spatial axes is pooled, and a window without a cell of X has no value.
    """

    onnx = next(version for version in VERSIONS if version.since == 12)
    restrictions: Mapping[str, str] = {"auto_pad": "R1", "storage_order": "R2", "ceil_mode": "R3"}

    def pooling(self, attributes: Mapping[str, Any], dtype: str, shape: tuple[int, ...], policies: Policies) -> Pooling:
        """The pooling of an N x C x D1 x ... x Dn tensor. Raises :class:`Refused`, R1 to R4 among the clauses."""
        pooling = self.within(attributes, dtype, shape, policies)
        if any(max(axis.begin, axis.end) > axis.kernel for axis in pooling.geometry):
            raise self.refusal(Reason.OUTSIDE_PROFILE, "pads must not be larger than the kernel", "R4", "pads")
        return replace(pooling, indices=False)


_ONE_VALUE = {
    name: replace(attribute, values=dict(list(attribute.values.items())[:1]))
    for name, attribute in VERSIONS[-1].attributes.items()
}
_DTYPES = ("float16", "float32", "float64", "int8", "uint8")

SONNX = Sonnx(
    name="sonnx",
    title="SONNX MaxPool",
    attributes={name: replace(attribute, default=None) for name, attribute in _ONE_VALUE.items()},
    dtypes=_DTYPES,
    ranks=(2,),
    policies=Policies(
        nan=Nan.AS_NEG_INF,
        tie=Tie.FIRST,
        zero_sign=ZeroSign.CHOSEN,
        # R3 and R4 exclude the others.
        inapplicable=frozenset({"valid_ceil", "same_clamp", "ceil_clip", "nhwc_index_base"}),
    ),
)

SONNX_2026 = Sonnx2026(
    name="sonnx@2026-10",
    title="SONNX MaxPool of 2026-10",
    attributes=_ONE_VALUE,
    dtypes=_DTYPES,
    ranks=(1, 2, 3, 4),
    indices=False,
    policies=Policies(
        nan=Nan.PROPAGATES,
        # R1 and R3 exclude the others, and without Indices nothing tells equal maxima apart.
        inapplicable=SONNX.policies.inapplicable | {"tie"},
    ),
)
