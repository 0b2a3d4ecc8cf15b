"""Reading the attributes of a graph: names and types first, then lengths and domains."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from numbers import Integral, Real
from typing import Any

from maxpool_check.reference.geometry import NoWindow
from maxpool_check.specifications.refused import IllTyped, Reason, Refused
from maxpool_check.specifications.roles import Attribute, AttributeType


def nearest(name: str, names: Iterable[str]) -> str:
    """`` (did you mean 'x'?)`` for the known name nearest to a misspelt one, or nothing."""
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
            raise IllTyped(
                Reason.INVALID_ATTRIBUTE,
                f"{document} has no attribute '{name}'{nearest(name, table)}",
                clause=f"{document}, Attributes",
                attribute=name,
            )
        values[name] = _value(name, value, table[name].type, document)
    return values


def check_positive(name: str, values: Sequence[int], document: str) -> None:
    """Refuse a value below 1."""
    if any(value < 1 for value in values):
        raise invalid(name, f"must be at least 1 on every axis, got {list(values)}", document)


def check_not_negative(name: str, values: Sequence[int], document: str) -> None:
    """Refuse a value below 0."""
    if any(value < 0 for value in values):
        raise invalid(name, f"must not be negative, got {list(values)}", document)


def check_length(name: str, values: Sequence[int], length: int, document: str) -> None:
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
    """The refusal of one attribute's value."""
    return Refused(
        Reason.INVALID_ATTRIBUTE, f"{name} {message}", clause=f"{document}, attribute {name}", attribute=name
    )


def missing(name: str, document: str) -> Refused:
    """The refusal of a graph without a required attribute."""
    return Refused(Reason.INVALID_ATTRIBUTE, f"{name} is required", clause=f"{document}, attribute {name}")


def no_window(error: NoWindow, document: str, axes: Iterable[tuple[int, ...]]) -> Refused:
    """The refusal of a graph whose window is larger than its padded input; ``axes`` are n, k, s, d, b, e of each."""
    clause = f"{document}, output shape"
    return Refused(Reason.WINDOW_LARGER_THAN_INPUT, str(error), clause=clause, axes=tuple(axes))


def _bits(value: object) -> str:
    entries = value if isinstance(value, (list, tuple)) else [value]
    return " of 64 bits" if any(isinstance(entry, int) and abs(entry) >= 2**63 for entry in entries) else ""


def _is_integer(value: object) -> bool:
    # An attribute is an integer of 64 bits, in ONNX's file format as well. int first, for speed.
    return isinstance(value, (int, Integral)) and not isinstance(value, bool) and -(2**63) <= int(value) < 2**63


def _value(name: str, value: Any, kind: AttributeType, document: str) -> Any:
    if kind is AttributeType.INTEGER and _is_integer(value):
        return int(value)
    if kind is AttributeType.TEXT and isinstance(value, str):
        return value
    if kind in (AttributeType.INTEGERS, AttributeType.NUMBERS) and not isinstance(value, (str, bytes, Mapping)):
        try:
            entries = list(value)
        except TypeError:
            entries = [value, None]
        if kind is AttributeType.INTEGERS and all(_is_integer(entry) for entry in entries):
            return tuple(int(entry) for entry in entries)
        if kind is AttributeType.NUMBERS and all(
            isinstance(entry, Real) and not isinstance(entry, bool) for entry in entries
        ):
            return tuple(float(entry) for entry in entries)
    raise IllTyped(
        Reason.INVALID_ATTRIBUTE,
        f"{name} must be {kind.value}{_bits(value)}, got {value!r}",
        clause=f"{document}, attribute {name}",
        attribute=name,
    )
