"""The meanings of attributes as data, from which attributes are read, made for a geometry, drawn and simplified.

Making them is the inverse of ``Specification.resolve``.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

from maxpool_check.reference.geometry import AutoPad, Geometry
from maxpool_check.reference.numbering import Layout, Numbering, StorageOrder

if TYPE_CHECKING:
    from maxpool_check.specifications.specification import Specification


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
        return 2 * rank if self.role is Role.PADS else rank

    def typed(self, value: Any) -> Any:
        """A value as a plain one of Python, a list as a tuple. Raises ``TypeError`` if it is of another type."""
        if self.type is AttributeType.INTEGER:
            return _integer(value)
        if self.type is AttributeType.TEXT and isinstance(value, str):
            return value
        if self.type is AttributeType.TEXT or isinstance(value, (str, bytes, Mapping)):
            raise TypeError
        convert = _integer if self.type is AttributeType.INTEGERS else _number
        return tuple(convert(entry) for entry in value)

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


Roles = Mapping[Role, Any]
"""A pooling by the meaning of each role: a list with an entry for each spatial axis if the role concerns axes."""

_WITHOUT_ATTRIBUTE: Roles = {
    Role.DILATION: 1,
    Role.BEGIN: 0,
    Role.END: 0,
    Role.ROUNDING: RoundingType.FLOOR,
    Role.AUTO_PAD: AutoPad.EXPLICIT,
    Role.STORAGE_ORDER: StorageOrder.ROW_MAJOR,
    Role.INDEX_TYPE: "int64",
    Role.INDEX_AXIS: 0,
    Role.ACTIVATION: None,
}
"""The meaning of each role in a document without such an attribute."""


class NotExpressible(ValueError):
    """No attributes of the document, or no arguments of the runtime, mean the same."""


def roles_of(axes: Geometry) -> dict[Role, Any]:
    """The meanings of a geometry by role."""
    return {
        Role.COUNT: [axis.output for axis in axes],
        Role.KERNEL: [axis.kernel for axis in axes],
        Role.STRIDE: [axis.stride for axis in axes],
        Role.DILATION: [axis.dilation for axis in axes],
        Role.BEGIN: [axis.begin for axis in axes],
        Role.END: [axis.end for axis in axes],
    }


def attributes_of_roles(document: "Specification", roles: Roles) -> dict[str, Any]:
    """The attributes of a document, in its order, that mean ``roles``.

    Raises :class:`NotExpressible` if there is no attribute or value for a role. Whether the document allows the
    combination is not checked.
    """
    complete = dict(roles)
    if Role.BEGIN in roles:
        begin, end = list(roles[Role.BEGIN]), list(roles[Role.END])
        complete[Role.START] = [-pad for pad in begin]
        complete[Role.PADS] = begin + end
    _check_expressible(document, complete)
    attributes: dict[str, Any] = {}
    for name, attribute in document.attributes.items():
        meaning = complete.get(attribute.role)
        if meaning is None:
            continue
        if attribute.axis is not None:
            if len(meaning) not in document.ranks:
                raise NotExpressible(f"it has no pooling over {len(meaning)} spatial axes")
            meaning = meaning[attribute.axis]
        try:
            attributes[name] = attribute.value(meaning)
        except ValueError as error:
            raise NotExpressible(f"{name}: {error}") from error
    return attributes


def attributes_for(
    document: "Specification", axes: Geometry, numbering: Numbering | None = None
) -> Iterator[dict[str, Any]]:
    """Attributes that may give these windows, with explicit pads: a set for each rounding of the document.

    Its ``resolve`` decides which of them does. ``numbering`` is that of Indices, None if they are not requested. Raises
    :class:`NotExpressible`.
    """
    roles = {**roles_of(axes), Role.AUTO_PAD: AutoPad.EXPLICIT, Role.STORAGE_ORDER: StorageOrder.ROW_MAJOR}
    if numbering is not None:
        if not document.indices:
            raise NotExpressible("it has no Indices")
        if numbering.layout is not Layout.CHANNELS_FIRST:
            raise NotExpressible("it numbers the cells with the channels first")
        roles |= {Role.STORAGE_ORDER: numbering.storage_order, Role.INDEX_AXIS: numbering.axis}
        if Role.INDEX_TYPE in document.roles:
            # If it has only one type, integers are converted afterwards.
            roles[Role.INDEX_TYPE] = numbering.dtype
    roundings = meanings(document, Role.ROUNDING) or (RoundingType.FLOOR,)
    for rounding in RoundingType:
        if rounding in roundings:
            yield attributes_of_roles(document, {**roles, Role.ROUNDING: rounding})


def meanings(document: "Specification", role: Role) -> tuple[Any, ...]:
    """The meanings of a choice with a role, in the document's order; empty if it has no such attribute."""
    attributes = [attribute for attribute in document.attributes.values() if attribute.role is role]
    return tuple(meaning for attribute in attributes for meaning in attribute.values.values())


def meaning_of(document: "Specification", attributes: Mapping[str, Any], role: Role) -> Any:
    """The meaning of a choice with a role in valid attributes, or of its default."""
    for name, attribute in document.attributes.items():
        if attribute.role is role:
            return attribute.values[attributes.get(name, attribute.default)]
    return _WITHOUT_ATTRIBUTE[role]


def all_attributes(table: Mapping[str, Attribute], attributes: Mapping[str, Any], rank: int) -> dict[str, Any]:
    """The attributes with all others of a document at their defaults; a missing required list is empty."""
    defaults = {name: attribute.default_for(rank) for name, attribute in table.items()}
    return {**{name: [] if default is None else default for name, default in defaults.items()}, **attributes}


def is_list_of_numbers(document: "Specification", name: str, value: Any) -> bool:
    """Whether an attribute is a list of numbers, which ONNX stores as floats even if all are integers."""
    attribute = document.attributes.get(name)
    if attribute is None or attribute.type is not AttributeType.NUMBERS or not isinstance(value, list):
        return False
    return all(isinstance(entry, (int, float)) for entry in value)


def _check_expressible(document: "Specification", roles: Roles) -> None:
    has = set(document.roles)
    starts = Role.START in has and max(roles.get(Role.BEGIN, [0])) <= 0
    if starts or Role.PADS in has:
        # With starts, the number of windows decides where the last one ends.
        has |= {Role.BEGIN, Role.END}
    for role, implied in _WITHOUT_ATTRIBUTE.items():
        if role in has or role not in roles:
            continue
        meaning = roles[role]
        if isinstance(meaning, list) and any(entry != implied for entry in meaning):
            raise NotExpressible(f"it has no {role.value}")
        if not isinstance(meaning, list) and meaning != implied:
            exception = "" if implied is None else f" but {getattr(implied, 'value', implied)}"
            raise NotExpressible(f"it has no {role.value}{exception}")


def _integer(value: Any) -> int:
    # Attributes are integers of 64 bits, as in ONNX's file format. int first, for speed.
    if not isinstance(value, (int, Integral)) or isinstance(value, bool) or not -(2**63) <= int(value) < 2**63:
        raise TypeError
    return int(value)


def _number(value: Any) -> float:
    if not isinstance(value, Real) or isinstance(value, bool):
        raise TypeError
    return float(value)
