"""What a document is to the tool."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Protocol

from maxpool_check.reference.layout import Layout
from maxpool_check.reference.policies import READINGS, Policies
from maxpool_check.reference.pooling import Pooling
from maxpool_check.specifications.attributes import Kind, nearest
from maxpool_check.specifications.onnx import Onnx


class Specification(Protocol):
    """One document: turns its own attributes into a :class:`Pooling`, refuses what it excludes."""

    @property
    def name(self) -> str:
        """The name in case files, ``onnx-22``."""

    @property
    def title(self) -> str:
        """The document's own name, for people."""

    @property
    def attributes(self) -> Mapping[str, Kind]:
        """Its attributes and their types."""

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


def override(policies: Policies, readings: Mapping[str, str]) -> Policies:
    """The policies with some points read otherwise; ``ValueError`` for an unknown point or reading."""
    points = policies.names()
    for point, reading in readings.items():
        if point not in READINGS:
            raise ValueError(f"unknown policy '{point}'{nearest(point, READINGS)}; there are {', '.join(points)}")
        if point not in points:
            raise ValueError(f"the document leaves no such point open as '{point}'; it has {', '.join(points)}")
        options = [option.value for option in READINGS[point]]
        if reading not in options:
            raise ValueError(
                f"policy '{point}' has no reading '{reading}'{nearest(str(reading), options)}; "
                f"there are {', '.join(options)}"
            )
        changed: dict[str, Any] = {point: READINGS[point](reading)}
        policies = replace(policies, **changed)
    return policies
