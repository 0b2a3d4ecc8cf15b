"""What the attributes of a document mean, as data: from it attributes are made for a geometry, drawn and simplified."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any


class AttributeType(str, Enum):
    """The type of an attribute's value."""

    INTEGER = "an integer"
    INTEGERS = "a list of integers"
    NUMBERS = "a list of numbers"
    TEXT = "text"


class Role(str, Enum):
    """What an attribute says of a pooling. The values name it in messages; the order is that of generated case files."""

    INPUT_SIZE = "input size"
    """A size of X, which X itself has."""
    COUNT = "number of windows"
    KERNEL = "kernel"
    START = "start of the first window"
    """Its position on X, which is the padding at the beginning, negated."""
    STRIDE = "strides"
    DILATION = "dilations"
    PADS = "pads"
    """All pads at the beginning, then all at the end, as in ONNX."""
    PADS_BY_AXIS = "pads by axis"
    """The pads at the beginning and at the end of the first axis, then those of the next: top, bottom, left, right."""
    BEGIN = "padding at the beginning"
    END = "padding at the end"
    ROUNDING = "rounding"
    """A :class:`RoundingType`."""
    AUTO_PAD = "auto_pad"
    """A :class:`~maxpool_check.reference.geometry.AutoPad`."""
    STORAGE_ORDER = "storage order"
    """A :class:`~maxpool_check.reference.numbering.StorageOrder`."""
    INDEX_TYPE = "type of Indices"
    """The name of a dtype."""
    INDEX_AXIS = "axis of Indices"
    ACTIVATION = "activation"
    """A :class:`~maxpool_check.reference.activation.Function`."""
    ACTIVATION_PARAMETERS = "parameters of the activation"


class RoundingType(str, Enum):
    """How an output size is rounded, by OpenVINO's names. ONNX's ``ceil_mode`` chooses between FLOOR and CEIL."""

    FLOOR = "floor"
    CEIL_TORCH = "ceil-torch"
    """Up, less a last window that would start in the end padding."""
    CEIL = "ceil"


@dataclass(frozen=True)
class Attribute:
    """One attribute of a document.

    ``default`` is None where the attribute is required; for a list of integers it is that of every entry. ``values`` are
    the values that the document allows, and what each means; empty where any number has a meaning of its own. ``axis`` is
    the spatial axis that a single number is about.
    """

    type: AttributeType
    role: Role
    default: Any = None
    values: Mapping[Any, Any] = field(default_factory=dict)
    axis: int | None = None

    def default_for(self, rank: int) -> Any:
        """The value for so many spatial axes that means the same as none; None where the attribute is required."""
        if self.default is None or self.type is not AttributeType.INTEGERS:
            return self.default
        return [self.default] * self.length(rank)

    def length(self, rank: int) -> int:
        """The number of entries of a list of integers for so many spatial axes."""
        return 2 * rank if self.role in (Role.PADS, Role.PADS_BY_AXIS) else rank

    def value(self, meaning: Any) -> Any:
        """The value that has a meaning; ``ValueError`` if the document allows none."""
        if not self.values:
            return list(meaning) if isinstance(meaning, (tuple, list)) else meaning
        for value, its_meaning in self.values.items():
            if its_meaning == meaning:
                return value
        raise ValueError(f"no value means {getattr(meaning, 'value', meaning)}")


def integers(role: Role, default: int | None = None) -> Attribute:
    """A list of integers, one or two of each spatial axis."""
    return Attribute(AttributeType.INTEGERS, role, default)


def integer(role: Role, axis: int | None = None, default: int | None = None) -> Attribute:
    """One integer."""
    return Attribute(AttributeType.INTEGER, role, default, axis=axis)


def choice(role: Role, values: Mapping[Any, Any], default: Any) -> Attribute:
    """One of a few values, of the type of ``default``."""
    kind = AttributeType.TEXT if isinstance(default, str) else AttributeType.INTEGER
    return Attribute(kind, role, default, values)
