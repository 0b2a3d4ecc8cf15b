"""Validates the structure of a file by its JSON Schema, with messages in plain words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import reduce
from operator import getitem
from typing import Any

from jsonschema_rs import Draft202012Validator, ValidationError, ValidationErrorKind

from maxpool_check.specifications.attributes import nearest

_TYPES = {
    "object": "a map", "array": "a list", "string": "text", "integer": "an integer", "number": "a number",
    "boolean": "true or false",
}  # fmt: skip


class Structure:
    """The required structure of a file, or of a part of one."""

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self._schema = schema
        self._validator = Draft202012Validator(dict(schema))

    def mistakes(self, data: Any) -> Iterator[tuple[Sequence[str | int], str | None, str]]:
        """Each mistake as the path of a value, the wrong key in it (None: the value is wrong), and a message.

        Raises ``ValueError`` for data that is nested too deeply.
        """
        for error in self._validator.iter_errors(data):
            path, kind = error.instance_path, error.kind
            value, schema = _at(data, path), _at(self._schema, error.schema_path[:-1])
            match kind:
                case ValidationErrorKind.AdditionalProperties():
                    known = schema.get("properties", {})
                    for key in kind.unexpected:
                        yield path, key, f"unknown key '{key}'{nearest(key, known)}; known keys: {', '.join(known)}"
                case ValidationErrorKind.PropertyNames():
                    yield path, str(kind.error.instance), "expected a name of letters, digits and underscores"
                case ValidationErrorKind.Type() if isinstance(value, float) and "number" in kind.types:
                    pass  # infinity and NaN are not numbers of JSON
                case _:
                    yield path, None, _message(error, value, schema)


def describe(value: Any) -> str:
    """A value as a message names it."""
    match value:
        case None:
            return "nothing"
        case bool():
            return str(value).lower()
        case str():
            return f"the text '{value if len(value) <= 60 else value[:57] + '...'}'"
        case int() | float():
            return f"the number {value}"
    return "a list" if isinstance(value, list) else "a map"


def _at(data: Any, path: Iterable[str | int]) -> Any:
    return reduce(getitem, path, data)


def _message(error: ValidationError, value: Any, schema: Mapping[str, Any]) -> str:
    match error.kind:
        case ValidationErrorKind.Type(types=types):
            expected = " or ".join(_TYPES[name] for name in types)
        case ValidationErrorKind.Required():
            return f"missing {', '.join(repr(key) for key in schema['required'] if key not in value)}"
        case ValidationErrorKind.Enum(options=allowed):
            options = [", ".join(map(str, option)) if isinstance(option, list) else str(option) for option in allowed]
            guess = nearest(value, options) if isinstance(value, str) else ""
            return f"expected one of {' | '.join(options)}, found {describe(value)}{guess}"
        case ValidationErrorKind.Pattern(pattern=pattern):
            expected = schema.get("description", f"text like {pattern}")
        case ValidationErrorKind.MinItems(limit=limit):
            return f"expected at least {limit} {'entry' if limit == 1 else 'entries'}, found {len(value)}"
        case ValidationErrorKind.MaxItems(limit=limit):
            return f"expected at most {limit} entries, found {len(value)}"
        case ValidationErrorKind.Minimum(limit=limit):
            expected = f"{limit} or more"
        case _:
            return error.message
    return f"expected {expected}, found {describe(value)}"
