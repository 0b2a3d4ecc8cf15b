"""MaxPool of the ONNX operator set, versions 1, 8, 10, 11, 12 and 22; and ONNX Runtime's com.ms.internal.nhwc MaxPool-11."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from maxpool_check.reference.geometry import AutoPad, Geometry, ceil_output, clipped_ceil_output
from maxpool_check.reference.numbering import Layout, StorageOrder
from maxpool_check.reference.policies import INTERPRETATIONS, NhwcIndexBase, Policies
from maxpool_check.reference.pooling import Activation, Function, Pooling
from maxpool_check.specifications.roles import Attribute, AttributeType, Role, RoundingType, choice, integers
from maxpool_check.specifications.specification import Reason, Refused, Specification
from maxpool_check.words import plural

_AUTO_PADS = {"NOTSET" if pad is AutoPad.EXPLICIT else pad.name: pad for pad in AutoPad}
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

    @property
    def onnx(self) -> "Onnx":
        """Itself."""
        return self

    def pooling(self, attributes: Mapping[str, Any], dtype: str, shape: tuple[int, ...], policies: Policies) -> Pooling:
        """The pooling of an N x C x D1 x ... x Dn tensor; n is at least 1. Raises :class:`Refused`."""
        self.check_dtype(dtype, "type constraint T")
        if len(shape) < 3:
            message = f"X must have a batch, a channel and at least one spatial axis, got {plural(len(shape), 'axis', 'axes')}"
            raise self.refusal(Reason.INVALID_SHAPE, message, "input X")
        values = self.complete(attributes, len(shape) - 2)
        auto_pad, refusable = values["auto_pad"], None
        if auto_pad is not AutoPad.EXPLICIT and any(values["pads"]):
            refusable = f"{self.title}, attribute pads: cannot be used simultaneously with auto_pad"
        ceil = values.get("ceil_mode") is RoundingType.CEIL
        touched = {
            "valid_ceil": ceil and auto_pad is AutoPad.VALID,
            "ceil_clip": ceil and self.round_up is ceil_output,
            "same_clamp": auto_pad in (AutoPad.SAME_UPPER, AutoPad.SAME_LOWER),
        }
        by_geometry: dict[Geometry, Pooling] = {}
        options = {
            point: [each for each in INTERPRETATIONS[point] if each.value != "either"]
            for point, is_touched in touched.items()
            if is_touched and getattr(policies, point).value == "either"
        }
        # The first decision is that of the reference.
        for chosen in itertools.product(*options.values()):
            decided: dict[str, Any] = dict(zip(options, chosen, strict=True))
            pooling = self.padded(values, shape[2:], replace(policies, **decided) if decided else policies, refusable)
            by_geometry.setdefault(pooling.geometry, pooling)
        first, *others = by_geometry.values()
        if others:
            return replace(first, alternatives=tuple(others))
        return replace(first, policies=policies) if options else first


# Before version 10 there is no ceil_mode, and the text of version 22 drops the window.
_INAPPLICABLE = frozenset({"nhwc_index_base"})

VERSIONS: Sequence[Onnx] = tuple(
    Onnx(
        name=f"onnx-{since}",
        title=f"ONNX MaxPool-{since}",
        attributes=attributes,
        dtypes=dtypes,
        ranks=(1, 2, 3, 4),
        policies=Policies(inapplicable=_INAPPLICABLE if 10 <= since < 22 else _INAPPLICABLE | {"ceil_clip"}),
        indices=since >= 8,
        since=since,
        round_up=clipped_ceil_output if since >= 22 else ceil_output,
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


_ONNX_11 = next(version for version in VERSIONS if version.since == 11)
_ACTIVATION = {
    "activation": choice(Role.ACTIVATION, {function.value: function for function in Function}, ""),
    "activation_params": Attribute(AttributeType.NUMBERS, Role.ACTIVATION_PARAMETERS, ()),
}
_PARAMETERS = {Function.RELU: 0, Function.CLIP: 2, Function.LEAKY_RELU: 1}
_FLATTENED = {NhwcIndexBase.NCHW_FLAT: Layout.CHANNELS_FIRST, NhwcIndexBase.NHWC_FLAT: Layout.CHANNELS_LAST}


class Nhwc(Specification):
    """ONNX Runtime's com.ms.internal.nhwc MaxPool-11: ONNX-11 with the channels last and a fused activation.

    Its page repeats ONNX's text, has no defaults and no types, and its examples have the channels first; everything else
    is that of ONNX-11. The order in which Indices count is open.
    """

    onnx = _ONNX_11
    """The ONNX version that it is made from."""

    def pooling(self, attributes: Mapping[str, Any], dtype: str, shape: tuple[int, ...], policies: Policies) -> Pooling:
        """The pooling of an N x D1 x ... x Dn x C tensor. Raises :class:`Refused`."""
        activation = self._activation(attributes)
        of_onnx = {name: value for name, value in attributes.items() if name not in _ACTIVATION}
        sizes = self.layout.sizes(shape) if len(shape) > 2 else shape
        try:
            pooling = self.onnx.pooling(of_onnx, dtype, sizes, policies)
        except Refused as refused:
            raise refused.by(self.title, self.onnx.title) from refused
        is_open = policies.nhwc_index_base is NhwcIndexBase.EITHER
        bases = list(_FLATTENED) if is_open else [policies.nhwc_index_base]
        first, *others = (
            replace(
                each,
                activation=activation,
                layout=self.layout,
                numbering=replace(each.numbering, layout=_FLATTENED[base]),
                policies=replace(each.policies, nhwc_index_base=base),
                alternatives=(),
            )
            for each in (pooling, *pooling.alternatives)
            for base in bases
        )
        return replace(first, alternatives=tuple(others))

    def _activation(self, attributes: Mapping[str, Any]) -> Activation | None:
        name, parameters = attributes.get("activation", ""), attributes.get("activation_params", ())
        if not name:
            if parameters:
                raise self.invalid("activation_params", "belong to an activation, and there is none")
            return None
        if name not in (known := [function.value for function in _PARAMETERS]):
            message = f"activation {name!r} has no meaning in the document; judged are {', '.join(known)}"
            clause = f"{self.title}, attribute activation"
            raise Refused(Reason.INVALID_ATTRIBUTE, message, clause=clause, attribute="activation", is_open=True)
        function = Function(name)
        if function is Function.RELU and parameters == (0.0, float("inf")):
            # The fusion of ONNX Runtime writes it so.
            parameters = ()
        self.check_length("activation_params", parameters, _PARAMETERS[function])
        return Activation(function, parameters)


NHWC = Nhwc(
    name="ort-nhwc-11",
    title="com.ms.internal.nhwc MaxPool-11",
    attributes={**_ONNX_11.attributes, **_ACTIVATION},
    dtypes=_ONNX_11.dtypes,
    ranks=(1, 2, 3, 4),
    policies=Policies(inapplicable=frozenset()),
    layout=Layout.CHANNELS_LAST,
    domain="com.ms.internal.nhwc",
)
