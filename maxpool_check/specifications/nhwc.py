"""ONNX Runtime's com.ms.internal.nhwc MaxPool-11."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from maxpool_check.reference.numbering import Layout
from maxpool_check.reference.policies import NhwcIndexBase, Policies
from maxpool_check.reference.pooling import Activation, Function, Pooling
from maxpool_check.specifications.onnx import VERSIONS
from maxpool_check.specifications.refused import Reason, Refused
from maxpool_check.specifications.roles import Attribute, AttributeType, Role, choice
from maxpool_check.specifications.specification import Specification

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
        attributes = self.typed(attributes)
        activation = self._activation(attributes)
        of_onnx = {name: value for name, value in attributes.items() if name not in _ACTIVATION}
        sizes = self.layout.sizes(shape) if len(shape) > 2 else shape
        try:
            pooling = self.onnx.pooling(of_onnx, dtype, sizes, policies)
        except Refused as refused:
            raise refused.by(self.title, self.onnx.title) from refused
        interpretations = [
            replace(interpretation, activation=activation, layout=self.layout, alternatives=())
            for interpretation in (pooling, *pooling.alternatives)
        ]
        is_open = policies.nhwc_index_base is NhwcIndexBase.EITHER
        bases = list(_FLATTENED) if is_open else [policies.nhwc_index_base]
        first, *others = [_counted(each, base) for each in interpretations for base in bases]
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


def _counted(pooling: Pooling, base: NhwcIndexBase) -> Pooling:
    return replace(
        pooling,
        numbering=replace(pooling.numbering, layout=_FLATTENED[base]),
        policies=replace(pooling.policies, nhwc_index_base=base),
    )


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
