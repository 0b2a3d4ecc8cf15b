"""Reading the attributes of a graph: names and types, then lengths and values."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from numbers import Integral, Real
from typing import Any

from maxpool_check.reference.geometry import Geometry, NoWindow, Placement
from maxpool_check.reference.policies import LargePads
from maxpool_check.reference.pooling import Pooling
from maxpool_check.specifications.refused import IllTyped, Reason, Refused
from maxpool_check.specifications.roles import Attribute, AttributeType, Role

_LOWEST = {
    **dict.fromkeys((Role.KERNEL, Role.STRIDE, Role.DILATION, Role.COUNT), 1),
    **dict.fromkeys((Role.PADS, Role.PADS_BY_AXIS, Role.BEGIN, Role.END, Role.START), 0),
}
"""The smallest number that an attribute may have."""


def nearest(name: str, names: Iterable[str]) -> str:
    """`` (did you mean 'x'?)`` for the known name nearest to a misspelt one; empty if none is near."""
    import difflib

    matches = difflib.get_close_matches(name, list(names), 1, 0.5)
    return f" (did you mean '{matches[0]}'?)" if matches else ""


def typed(attributes: Mapping[str, Any], table: Mapping[str, Attribute], document: str) -> dict[str, Any]:
    """The attributes as plain Python values, lists as tuples.

    Raises :class:`IllTyped` for a name that is not in ``table`` and for a value of another type.
    """
    values: dict[str, Any] = {}
    for name, value in attributes.items():
        if name not in table:
            message = f"{document} has no attribute '{name}'{nearest(name, table)}"
            raise IllTyped(Reason.INVALID_ATTRIBUTE, message, clause=f"{document}, Attributes", attribute=name)
        values[name] = _value(name, value, table[name].type, document)
    return values


def complete(
    attributes: Mapping[str, Any],
    table: Mapping[str, Attribute],
    rank: int,
    document: str,
    optional: Collection[str] = (),
) -> dict[str, Any]:
    """All attributes of ``table``, in its order: those that are missing at their defaults, choices as their meanings.

    Lists have an entry for each of ``rank`` spatial axes, pads two. Attributes that are ``optional`` may be missing
    without a default. Raises :class:`Refused` for others that are missing, for a list of another length, a number that
    is too small for its role, and a value that the document does not have.
    """
    values: dict[str, Any] = {}
    for name, attribute in table.items():
        value = attributes.get(name, attribute.default_for(rank))
        if value is None:
            if name in optional:
                continue
            raise Refused(Reason.INVALID_ATTRIBUTE, f"{name} is required", clause=f"{document}, attribute {name}")
        if attribute.type is AttributeType.INTEGERS:
            check_length(name, value, attribute.length(rank), document)
        entries = list(value) if attribute.type is AttributeType.INTEGERS else [value]
        lowest = _LOWEST.get(attribute.role)
        if lowest is not None and any(entry < lowest for entry in entries):
            limit = "be at least 1 on every axis" if lowest else "not be negative"
            raise invalid(name, f"must {limit}, got {entries}", document)
        if attribute.values:
            check_one_of(name, value, tuple(attribute.values), document)
            value = attribute.values[value]
        values[name] = value
    return values


def placed(placement: Placement, tables: Iterable[tuple[int, ...]], document: str) -> Geometry:
    """The spatial axes of a pooling from n, k, s, d, b, e of each.

    Raises :class:`Refused` if a window is larger than the padded input.
    """
    axes = tuple(tables)
    try:
        return tuple(placement.axis(*axis) for axis in axes)
    except NoWindow as error:
        clause = f"{document}, output shape"
        raise Refused(Reason.WINDOW_LARGER_THAN_INPUT, str(error), clause=clause, axes=axes) from error


def check_large_pads(pooling: Pooling, name: str, document: str) -> None:
    """Refuse pads that are not smaller than the kernel, where the policies refuse them; ``name`` is the attribute."""
    if pooling.policies.large_pads is LargePads.REFUSED and pooling.has_large_pads:
        raise invalid(name, "must be smaller than the kernel", f"{document} with large_pads: refused")


def check_length(name: str, values: Sequence[object], length: int, document: str) -> None:
    """Refuse a list of another length."""
    if len(values) != length:
        raise invalid(name, f"must have {length} values, got {len(values)}", document)


def check_one_of(name: str, value: object, allowed: Sequence[object], document: str) -> None:
    """Refuse a value that is not in the list."""
    if value not in allowed:
        options = ", ".join(str(option) for option in allowed)
        raise invalid(name, f"must be one of {options}, got {value!r}", document)


def check_dtype(dtype: str, allowed: Sequence[str], document: str, clause: str) -> None:
    """Refuse an element type of X that the document does not have."""
    if dtype not in allowed:
        message = f"X must be one of {', '.join(allowed)}, got {dtype}"
        raise Refused(Reason.INVALID_TYPE, message, clause=f"{document}, {clause}")


def invalid(name: str, message: str, document: str) -> Refused:
    """The refusal of an attribute's value."""
    clause = f"{document}, attribute {name}"
    return Refused(Reason.INVALID_ATTRIBUTE, f"{name} {message}", clause=clause, attribute=name)


def _integer(value: Any) -> int:
    # Attributes are integers of 64 bits, as in ONNX's file format. int first, for speed.
    if not isinstance(value, (int, Integral)) or isinstance(value, bool) or not -(2**63) <= int(value) < 2**63:
        raise TypeError
    return int(value)


def _number(value: Any) -> float:
    if not isinstance(value, Real) or isinstance(value, bool):
        raise TypeError
    return float(value)


def _value(name: str, value: Any, kind: AttributeType, document: str) -> Any:
    with contextlib.suppress(TypeError):
        if kind is AttributeType.INTEGER:
            return _integer(value)
        if kind is AttributeType.TEXT and isinstance(value, str):
            return value
        if kind is not AttributeType.TEXT and not isinstance(value, (str, bytes, Mapping)):
            convert = _integer if kind is AttributeType.INTEGERS else _number
            return tuple(convert(entry) for entry in value)
    entries = value if isinstance(value, (list, tuple)) else [value]
    bits = " of 64 bits" if any(isinstance(entry, int) and abs(entry) >= 2**63 for entry in entries) else ""
    message = f"{name} must be {kind.value}{bits}, got {value!r}"
    raise IllTyped(Reason.INVALID_ATTRIBUTE, message, clause=f"{document}, attribute {name}", attribute=name)
