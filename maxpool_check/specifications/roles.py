"""The meanings of attributes as data, from which attributes are read, made for a geometry, drawn and simplified."""

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
    """The meaning of an attribute. The values are used in messages; the order is that of generated case files."""

    INPUT_SIZE = "input size"
    """A size of X, which X has as well."""
    COUNT = "number of windows"
    KERNEL = "kernel"
    START = "start of the first window"
    """Its position on X, which is the padding at the beginning, negated."""
    STRIDE = "strides"
    DILATION = "dilations"
    PADS = "pads"
    """All pads at the beginning, then all at the end, as in ONNX."""
    PADS_BY_AXIS = "pads by axis"
    """The pads at the beginning and the end of the first axis, then those of the next: top, bottom, left, right."""
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
    """A :class:`~maxpool_check.reference.pooling.Function`."""
    ACTIVATION_PARAMETERS = "parameters of the activation"


class RoundingType(str, Enum):
    """How an output size is rounded, by OpenVINO's names. ``ceil_mode`` of ONNX is FLOOR or CEIL."""

    FLOOR = "floor"
    CEIL_TORCH = "ceil-torch"
    """Up, without a last window that would start in the end padding."""
    CEIL = "ceil"


@dataclass(frozen=True)
class Attribute:
    """An attribute of a document.

    ``default`` is None if the attribute is required; for a list of integers it is that of every entry. ``values`` are the
    allowed values and the meaning of each, empty if any value means itself. ``axis`` is the spatial axis of a number.
    """

    type: AttributeType
    role: Role
    default: Any = None
    values: Mapping[Any, Any] = field(default_factory=dict)
    axis: int | None = None

    def default_for(self, rank: int) -> Any:
        """The default for so many spatial axes; None if the attribute is required."""
        if self.default is None or self.type is not AttributeType.INTEGERS:
            return self.default
        return [self.default] * self.length(rank)

    def length(self, rank: int) -> int:
        """The number of entries of a list of integers for so many spatial axes."""
        return 2 * rank if self.role in (Role.PADS, Role.PADS_BY_AXIS) else rank

    def value(self, meaning: Any) -> Any:
        """The value with a meaning; ``ValueError`` if there is none."""
        if not self.values:
            return list(meaning) if isinstance(meaning, (tuple, list)) else meaning
        for value, candidate in self.values.items():
            if candidate == meaning:
                return value
        raise ValueError(f"no value means {getattr(meaning, 'value', meaning)}")


def integers(role: Role, default: int | None = None) -> Attribute:
    """A list of integers, one or two for each spatial axis."""
    return Attribute(AttributeType.INTEGERS, role, default)


def integer(role: Role, axis: int | None = None, default: int | None = None) -> Attribute:
    """One integer."""
    return Attribute(AttributeType.INTEGER, role, default, axis=axis)


def choice(role: Role, values: Mapping[Any, Any], default: Any) -> Attribute:
    """A choice of values, of the type of ``default``."""
    kind = AttributeType.TEXT if isinstance(default, str) else AttributeType.INTEGER
    return Attribute(kind, role, default, values)
