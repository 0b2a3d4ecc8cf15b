"""The attributes of a document for a pooling: the inverse of ``Specification.pooling``."""

from collections.abc import Iterator, Mapping
from typing import Any

from maxpool_check.reference.geometry import AutoPad, Geometry
from maxpool_check.reference.numbering import Layout, Numbering, StorageOrder
from maxpool_check.specifications.roles import Attribute, AttributeType, Role, RoundingType
from maxpool_check.specifications.specification import Specification

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


def attributes_of_roles(document: Specification, roles: Roles) -> dict[str, Any]:
    """The attributes of a document, in its order, that mean ``roles``.

    Raises :class:`NotExpressible` if there is no attribute or value for a role. Whether the document allows the
    combination is not checked.
    """
    complete = _with_pads(roles)
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
    document: Specification, axes: Geometry, numbering: Numbering | None = None
) -> Iterator[dict[str, Any]]:
    """Attributes that may give these windows, with explicit pads: a set for each rounding of the document.

    Its ``pooling`` decides which of them does. ``numbering`` is that of Indices, None if they are not requested. Raises
    :class:`NotExpressible`.
    """
    roles = {**roles_of(axes), Role.AUTO_PAD: AutoPad.EXPLICIT, Role.STORAGE_ORDER: StorageOrder.ROW_MAJOR}
    if numbering is not None:
        if not document.indices:
            raise NotExpressible("it has no Indices")
        if numbering.layout is not Layout.CHANNELS_FIRST:
            raise NotExpressible("it numbers the cells with the channels first")
        roles |= {Role.STORAGE_ORDER: numbering.storage_order, Role.INDEX_AXIS: numbering.axis}
        if has_role(document, Role.INDEX_TYPE):
            # If it has only one type, integers are converted afterwards.
            roles[Role.INDEX_TYPE] = numbering.dtype
    roundings = meanings(document, Role.ROUNDING) or (RoundingType.FLOOR,)
    for rounding in RoundingType:
        if rounding in roundings:
            yield attributes_of_roles(document, {**roles, Role.ROUNDING: rounding})


def meanings(document: Specification, role: Role) -> tuple[Any, ...]:
    """The meanings of a choice with a role, in the document's order; empty if it has no such attribute."""
    attributes = [attribute for attribute in document.attributes.values() if attribute.role is role]
    return tuple(meaning for attribute in attributes for meaning in attribute.values.values())


def has_role(document: Specification, role: Role) -> bool:
    """Whether the document has an attribute with this role."""
    return any(attribute.role is role for attribute in document.attributes.values())


def meaning_of(document: Specification, attributes: Mapping[str, Any], role: Role) -> Any:
    """The meaning of a choice with a role in valid attributes, or of its default."""
    for name, attribute in document.attributes.items():
        if attribute.role is role:
            return attribute.values[attributes.get(name, attribute.default)]
    return _WITHOUT_ATTRIBUTE[role]


def all_attributes(table: Mapping[str, Attribute], attributes: Mapping[str, Any], rank: int) -> dict[str, Any]:
    """The attributes with all others of a document at their defaults; a missing required list is empty."""
    defaults = {name: attribute.default_for(rank) for name, attribute in table.items()}
    return {**{name: [] if default is None else default for name, default in defaults.items()}, **attributes}


def is_list_of_numbers(document: Specification, name: str, value: Any) -> bool:
    """Whether an attribute is a list of numbers, which ONNX stores as floats even if all are integers."""
    attribute = document.attributes.get(name)
    if attribute is None or attribute.type is not AttributeType.NUMBERS or not isinstance(value, list):
        return False
    return all(isinstance(entry, (int, float)) for entry in value)


def _with_pads(roles: Roles) -> dict[Role, Any]:
    """The roles, the pads in every form."""
    if Role.BEGIN not in roles:
        return dict(roles)
    begin, end = list(roles[Role.BEGIN]), list(roles[Role.END])
    return {
        **roles,
        Role.START: [-pad for pad in begin],
        Role.PADS: begin + end,
        Role.PADS_BY_AXIS: [pad for pair in zip(begin, end, strict=True) for pad in pair],
    }


def _check_expressible(document: Specification, roles: Roles) -> None:
    has = {attribute.role for attribute in document.attributes.values()}
    starts = Role.START in has and max(roles.get(Role.BEGIN, [0])) <= 0
    if starts or has & {Role.PADS, Role.PADS_BY_AXIS}:
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
