"""The common form of all documents."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from maxpool_check.reference.layout import Layout
from maxpool_check.reference.policies import INTERPRETATIONS, Policies
from maxpool_check.reference.pooling import Pooling
from maxpool_check.specifications.attributes import nearest
from maxpool_check.specifications.roles import Attribute

if TYPE_CHECKING:
    from maxpool_check.specifications.onnx import Onnx


@dataclass(frozen=True, kw_only=True)
class Specification(ABC):
    """One document: turns its attributes into a :class:`Pooling` and refuses what it excludes.

    ``name`` is that in case files, ``title`` the document's own. ``attributes`` are its attributes by name, from which
    :mod:`~maxpool_check.specifications.inverse` makes those of a geometry. ``dtypes`` are the element types of X;
    ``ranks`` the numbers of spatial axes, ascending (where the document sets no limit, those of drawn cases). The number
    of channels must be a multiple of ``channel_multiple``. ``indices``: whether there is a second output. ``layout`` is
    the order of the axes of its tensors, ``domain`` its operator domain in ONNX models, if it has one besides ONNX's.
    """

    name: str
    title: str
    attributes: Mapping[str, Attribute] = field(compare=False)
    dtypes: tuple[str, ...]
    ranks: tuple[int, ...]
    policies: Policies
    channel_multiple: int = 1
    indices: bool = True
    layout: Layout = Layout.CHANNELS_FIRST
    domain: str | None = None

    @property
    def onnx(self) -> Onnx | None:
        """The ONNX version whose attributes it has; None if its graphs must be translated to ONNX."""
        return None

    @abstractmethod
    def pooling(self, attributes: Mapping[str, Any], dtype: str, shape: tuple[int, ...], policies: Policies) -> Pooling:
        """The pooling that the attributes mean for an X of a dtype and shape. Raises ``Refused`` if it is excluded."""


def override(policies: Policies, interpretations: Mapping[str, str]) -> Policies:
    """The policies with other interpretations of some points; ``ValueError`` for an unknown point or interpretation."""
    points = policies.names()
    for point, interpretation in interpretations.items():
        if point not in INTERPRETATIONS:
            hint = nearest(point, INTERPRETATIONS)
            raise ValueError(f"unknown policy '{point}'{hint}; there are {', '.join(points)}")
        if point not in points:
            raise ValueError(f"the document has no policy '{point}'; it has {', '.join(points)}")
        options = [option.value for option in INTERPRETATIONS[point]]
        if interpretation not in options:
            raise ValueError(
                f"policy '{point}' has no interpretation '{interpretation}'{nearest(str(interpretation), options)}; "
                f"there are {', '.join(options)}"
            )
        changed: dict[str, Any] = {point: INTERPRETATIONS[point](interpretation)}
        policies = replace(policies, **changed)
    return policies
