"""ONNX Runtime's com.ms.internal.nhwc MaxPool-11: ONNX-11 with the channels last and a fused activation.

Its page repeats ONNX's text, has no defaults and no types, and its examples have the channels first; everything else is
that of ONNX-11. The order in which Indices count is open.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from maxpool_check.reference.activation import Activation, Function
from maxpool_check.reference.layout import Layout
from maxpool_check.reference.policies import NhwcIndexBase, Policies
from maxpool_check.reference.pooling import Pooling
from maxpool_check.specifications.attributes import check_length, check_one_of, invalid, typed
from maxpool_check.specifications.onnx import VERSIONS, Onnx
from maxpool_check.specifications.refused import Refused
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
    """The operator of the domain."""

    @property
    def onnx(self) -> Onnx:
        """The ONNX version that it is made from."""
        return _ONNX_11

    def pooling(self, attributes: Mapping[str, Any], dtype: str, shape: tuple[int, ...], policies: Policies) -> Pooling:
        """The pooling of an N x D1 x ... x Dn x C tensor. Raises :class:`Refused`."""
        attributes = typed(attributes, self.attributes, self.title)
        activation = self._activation(attributes)
        of_onnx = {name: value for name, value in attributes.items() if name not in _ACTIVATION}
        sizes = self.layout.sizes(shape) if len(shape) > 2 else shape
        try:
            pooling = self.onnx.pooling(of_onnx, dtype, sizes, policies)
        except Refused as refused:
            clause = refused.clause.replace(self.onnx.title, self.title)
            raise Refused(
                refused.reason, refused.message, clause=clause, attribute=refused.attribute, axes=refused.axes
            ) from refused
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
                raise invalid("activation_params", "belong to an activation, and there is none", self.title)
            return None
        check_one_of("activation", name, tuple(function.value for function in _PARAMETERS), self.title)
        function = Function(name)
        if function is Function.RELU and parameters == (0.0, float("inf")):
            # The fusion of ONNX Runtime writes it so.
            parameters = ()
        check_length("activation_params", parameters, _PARAMETERS[function], self.title)
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
