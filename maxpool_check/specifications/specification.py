"""What a document is to the tool."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Protocol

from maxpool_check.reference.layout import Layout
from maxpool_check.reference.policies import INTERPRETATIONS, Policies
from maxpool_check.reference.pooling import Pooling
from maxpool_check.specifications.attributes import nearest
from maxpool_check.specifications.onnx import Onnx
from maxpool_check.specifications.roles import Attribute


class Specification(Protocol):
    """One document: turns its own attributes into a :class:`Pooling`, refuses what it excludes.

    Its ``attributes`` state the way back as data: :mod:`~maxpool_check.specifications.inverse` makes attributes of a geometry.
    """

    @property
    def name(self) -> str:
        """The name in case files, ``onnx-22``."""

    @property
    def title(self) -> str:
        """The document's own name, for people."""

    @property
    def attributes(self) -> Mapping[str, Attribute]:
        """Its attributes, their types and what they mean, by name."""

    @property
    def dtypes(self) -> tuple[str, ...]:
        """The element types of X."""

    @property
    def ranks(self) -> tuple[int, ...]:
        """The numbers of spatial axes, ascending; where the document sets no limit, those to draw cases with."""

    @property
    def channel_multiple(self) -> int:
        """What the number of channels must be a multiple of."""

    @property
    def policies(self) -> Policies:
        """What it says, or leaves open, at each open point."""

    @property
    def indices(self) -> bool:
        """Whether it has a second output."""

    @property
    def layout(self) -> Layout:
        """The order of the axes of its tensors."""

    @property
    def onnx(self) -> Onnx | None:
        """The ONNX version whose attributes it speaks; None if its graphs must be translated to be ONNX's."""

    @property
    def domain(self) -> str | None:
        """The operator domain of its own that ONNX models can name; None if it has none."""

    def pooling(self, attributes: Mapping[str, Any], dtype: str, shape: tuple[int, ...], policies: Policies) -> Pooling:
        """The pooling these attributes mean for an X of this dtype and shape; :class:`Refused` if it excludes it."""


def override(policies: Policies, interpretations: Mapping[str, str]) -> Policies:
    """The policies with some points read otherwise; ``ValueError`` for an unknown point or interpretation."""
    points = policies.names()
    for point, interpretation in interpretations.items():
        if point not in INTERPRETATIONS:
            raise ValueError(
                f"unknown policy '{point}'{nearest(point, INTERPRETATIONS)}; there are {', '.join(points)}"
            )
        if point not in points:
            raise ValueError(f"the document leaves no such point open as '{point}'; it has {', '.join(points)}")
        options = [option.value for option in INTERPRETATIONS[point]]
        if interpretation not in options:
            raise ValueError(
                f"policy '{point}' has no interpretation '{interpretation}'{nearest(str(interpretation), options)}; "
                f"there are {', '.join(options)}"
            )
        changed: dict[str, Any] = {point: INTERPRETATIONS[point](interpretation)}
        policies = replace(policies, **changed)
    return policies
