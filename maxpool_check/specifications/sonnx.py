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

    def pooling(self, attributes: Mapping[str, Any], dtype: str, shape: tuple[int, ...], policies: Policies) -> Pooling:
        """The pooling of an N x C x H x W tensor. Raises :class:`Refused`, R1 to R5 among the clauses."""
        absent = [name for name in self.attributes if name not in attributes]
        if absent:
            raise _outside("R2", f"all attributes must be explicitly set; {', '.join(absent)} is not")
        self.check_dtype(dtype, "types float and int")
        try:
            pooling = self.onnx.pooling(attributes, dtype, shape, policies)
        except Refused as refused:
            raise refused.by(self.title, self.onnx.title) from refused
        if len(shape) != 4:
            raise _outside("R1", f"X must have 2 spatial axes, got {len(shape) - 2}")
        for restriction, name in (("R3", "auto_pad"), ("R4", "ceil_mode"), ("R5", "storage_order")):
            (allowed,) = self.attributes[name].values
            if attributes[name] != allowed:
                raise _outside(restriction, f"{name} is restricted to {allowed}, got {attributes[name]}", name)
        X_type = NUMPY[dtype]
        padding = float("-inf") if is_float(X_type) else float(lowest(X_type))
        refusable = pooling.refusable and pooling.refusable.replace(self.onnx.title, self.title)
        return replace(pooling, padding_value=padding, refusable=refusable)


def _outside(restriction: str, message: str, attribute: str | None = None) -> Refused:
    return Refused(Reason.OUTSIDE_PROFILE, message, clause=f"SONNX MaxPool, {restriction}", attribute=attribute)


SONNX = Sonnx(
    name="sonnx",
    title="SONNX MaxPool",
    attributes={
        name: replace(attribute, default=None, values=dict(list(attribute.values.items())[:1]))
        for name, attribute in VERSIONS[-1].attributes.items()
    },
    dtypes=("float16", "float32", "float64", "int8", "uint8"),
    ranks=(2,),
    policies=Policies(
        nan=Nan.AS_NEG_INF,
        tie=Tie.FIRST,
        zero_sign=ZeroSign.CHOSEN,
        # R3 and R4 exclude the others.
        inapplicable=frozenset({"valid_ceil", "same_clamp", "ceil_clip", "nhwc_index_base"}),
    ),
)
