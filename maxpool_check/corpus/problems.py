"""Mistakes in files, with their places; those in the structure of a file, found by its JSON Schema, in plain words.

jsonschema_rs is imported on first use: cases that were read before are not checked again.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from operator import getitem
from typing import TYPE_CHECKING, Any

from maxpool_check.specifications.specification import nearest

if TYPE_CHECKING:
    from jsonschema_rs import Draft202012Validator, ValidationError

_TYPES = {
    "object": "a map", "array": "a list", "string": "text", "integer": "an integer", "number": "a number",
    "boolean": "true or false", "null": "null",
}  # fmt: skip


USUAL_NAMES = {"half": "float16", "float": "float32", "double": "float64"}
"""The names that C has for dtypes."""


@dataclass(frozen=True, order=True)
class Problem:
    """One mistake in a file. Lines and columns count from 1; the line 0 is that of a file that is not there."""

    path: str
    line: int
    column: int
    message: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}:{self.column}: {self.message}" if self.line else self.message


class CorpusError(Exception):
    """Files that cannot be used, with all their problems, sorted and without duplicates."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = sorted(set(problems))
        super().__init__("\n".join(str(problem) for problem in self.problems))


class BadValue(ValueError):
    """A value that cannot be used. ``path`` leads to its wrong part, ``all`` are all mistakes in it."""

    def __init__(self, message: str, *path: str | int) -> None:
        super().__init__(message)
        self.path = path
        self.all: list[BadValue] = [self]

    def inside(self, *path: str | int) -> "BadValue":
        """The same mistakes, of the value around this one, in which ``path`` leads to it."""
        return first_of([BadValue(str(mistake), *path, *mistake.path) for mistake in self.all])


def first_of(mistakes: list[BadValue]) -> BadValue:
    """The first of several mistakes in a value, to be raised for all of them."""
    mistakes[0].all = mistakes
    return mistakes[0]


_MOST_KEYS = 100
"""So many unknown keys of one mapping are named: a suggestion for each of half a million takes minutes."""


class Structure:
    """The required structure of a file, or of a part of one."""

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self._schema: Any = schema

    @cached_property
    def _validator(self) -> "Draft202012Validator":
        from jsonschema_rs import Draft202012Validator

        return Draft202012Validator(dict(self._schema))

    def mistakes(self, data: Any) -> Iterator[tuple[Sequence[str | int], str | None, str]]:
        """Each mistake as the path of a value, the wrong key in it (None: the value is wrong), and a message.

        Raises ``ValueError`` for data that is nested too deeply.
        """
        from jsonschema_rs import ValidationErrorKind

        for error in self._validator.iter_errors(data):
            path, kind = error.instance_path, error.kind
            schema = reduce(getitem, error.schema_path[:-1], self._schema)
            try:
                value = reduce(getitem, path, data)
            except LookupError:
                # The path lacks the names that are empty; ``instance`` in turn has nothing in the place of NaN.
                value = error.instance
            match kind:
                case ValidationErrorKind.AdditionalProperties():
                    known = schema.get("properties", {})
                    if more := len(kind.unexpected[_MOST_KEYS:]):
                        yield path, None, f"{len(kind.unexpected)} unknown keys, {more} of which are not named"
                    for key in kind.unexpected[:_MOST_KEYS]:
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


def _message(error: "ValidationError", value: Any, schema: Mapping[str, Any]) -> str:
    from jsonschema_rs import ValidationErrorKind

    match error.kind:
        case ValidationErrorKind.Type(types=types):
            expected = " or ".join(_TYPES[name] for name in types)
        case ValidationErrorKind.Required():
            return f"missing {', '.join(repr(key) for key in schema['required'] if key not in value)}"
        case ValidationErrorKind.Enum(options=allowed):
            options = [", ".join(map(str, option)) if isinstance(option, list) else str(option) for option in allowed]
            usual = USUAL_NAMES.get(value) if isinstance(value, str) else None
            guess = f" (did you mean '{usual}'?)" if usual in options else ""
            guess = guess or (nearest(value, options) if isinstance(value, str) else "")
            return f"expected one of {' | '.join(options)}, found {describe(value)}{guess}"
        case ValidationErrorKind.Pattern(pattern=pattern):
            expected = schema.get("description", f"text like {pattern}")
        case ValidationErrorKind.MinItems(limit=limit):
            return f"expected at least {limit} {'entry' if limit == 1 else 'entries'}, found {len(value)}"
        case ValidationErrorKind.OneOfNotValid() | ValidationErrorKind.OneOfMultipleValid():
            choices = [" and ".join(each["required"]) for each in schema["oneOf"]]
            found = [key for key in value if any(key in each["required"] for each in schema["oneOf"])]
            return f"expected one of {' | '.join(choices)}, found {' and '.join(found) or 'none of them'}"
        case ValidationErrorKind.AnyOf() if all("required" in each for each in schema["anyOf"]):
            return f"missing {' or '.join(repr(key) for each in schema['anyOf'] for key in each['required'])}"
        case ValidationErrorKind.MaxItems(limit=limit):
            return f"expected at most {limit} entries, found {len(value)}"
        case ValidationErrorKind.Minimum(limit=limit):
            expected = f"{limit} or more"
        case _:
            return error.message
    return f"expected {expected}, found {describe(value)}"
