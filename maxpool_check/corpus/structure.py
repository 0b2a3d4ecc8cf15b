"""Holds the structure of a file to its JSON Schema, and says in plain words where it differs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import jsonschema

from maxpool_check.specifications.attributes import nearest

_TYPES = {
    "object": "a map",
    "array": "a list",
    "string": "text",
    "integer": "an integer",
    "number": "a number",
    "boolean": "true or false",
}


def differences(data: Any, schema: Mapping[str, Any]) -> Iterator[tuple[Sequence[str | int], str | None, str]]:
    """Each difference as its path, the key at fault (None: the value itself), and what is wrong."""
    validator = jsonschema.Draft202012Validator(schema)
    error: Any
    for error in validator.iter_errors(data):
        path = list(error.absolute_path)
        if error.validator == "additionalProperties":
            known = error.schema.get("properties", {})
            for key in error.instance:
                if key not in known:
                    yield path, key, f"unknown key '{key}'{nearest(key, known)}; known keys: {', '.join(known)}"
        elif "propertyNames" in error.absolute_schema_path:
            yield path, error.instance, "expected a name of letters, digits and underscores"
        else:
            yield path, None, _message(error)


def shown(value: Any) -> str:
    """A value as people would name it in a message."""
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return f"the text '{value if len(value) <= 60 else value[:57] + '...'}'"
    if isinstance(value, (int, float)):
        return f"the number {value}"
    return "a list" if isinstance(value, list) else "a map"


def _message(error: Any) -> str:
    limit = error.validator_value
    if error.validator == "type":
        types = [limit] if isinstance(limit, str) else limit
        return f"expected {' or '.join(_TYPES[kind] for kind in types)}, found {shown(error.instance)}"
    if error.validator == "required":
        missing = [key for key in limit if key not in error.instance]
        return f"missing {', '.join(repr(key) for key in missing)}"
    if error.validator == "enum":
        options = [", ".join(option) if isinstance(option, list) else str(option) for option in limit]
        guess = nearest(error.instance, options) if isinstance(error.instance, str) else ""
        return f"expected one of {' | '.join(options)}, found {shown(error.instance)}{guess}"
    if error.validator == "pattern":
        return f"expected {error.schema.get('description', f'text like {limit}')}, found {shown(error.instance)}"
    if error.validator == "minItems":
        return f"expected at least {limit} {'entry' if limit == 1 else 'entries'}, found {len(error.instance)}"
    if error.validator == "minimum":
        return f"expected {limit} or more, found {shown(error.instance)}"
    return str(error.message)
