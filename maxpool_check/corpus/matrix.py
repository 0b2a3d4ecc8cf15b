"""The entries of a case file: defaults merged into each, and one entry for each combination of a matrix."""

import itertools
import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

from maxpool_check.corpus.problems import BadValue
from maxpool_check.specifications.specification import nearest

_VARIABLE = re.compile(r"\$([A-Za-z_][A-Za-z0-9_]*)")

MAX_CASES = 100_000
"""The most combinations of a matrix."""


def merge(defaults: Any, fields: Any) -> Any:
    """The defaults, overridden by the fields: maps are merged, other values replaced."""
    if not isinstance(defaults, Mapping) or not isinstance(fields, Mapping):
        return fields
    common = {key: merge(defaults[key], fields[key]) for key in defaults.keys() & fields.keys()}
    return {**defaults, **fields, **common}


def expand(entry: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """An entry per combination, in the order of the lists; without a matrix, itself. Raises :class:`BadValue`."""
    rest = {key: value for key, value in entry.items() if key != "matrix"}
    axes: Mapping[str, list[Any]] = entry.get("matrix", {})
    if not axes:
        yield rest
        return
    for name, values in axes.items():
        for i, value in enumerate(values):
            if isinstance(value, dict):
                raise BadValue("a map cannot be written in an id; use text, numbers or lists", "matrix", name, i)
    size = math.prod(map(len, axes.values()))
    if size > MAX_CASES:
        raise BadValue(f"the matrix has {size} combinations; the limit is {MAX_CASES}", "matrix")
    in_id = set(_VARIABLE.findall(str(entry.get("id", ""))))
    missing = [f"${name}" for name in axes if name not in in_id]
    if missing:
        raise BadValue(f"the id must name every axis of the matrix, so that ids stay unique; add {missing[0]}", "id")
    for combination in itertools.product(*axes.values()):
        variables = dict(zip(axes, combination, strict=True))
        yield {key: _substitute(value, variables, (key,)) for key, value in rest.items()}


def _substitute(value: Any, variables: Mapping[str, Any], path: tuple[str | int, ...]) -> Any:
    if isinstance(value, dict):
        return {key: _substitute(inner, variables, (*path, key)) for key, inner in value.items()}
    if isinstance(value, list):
        return [_substitute(inner, variables, (*path, i)) for i, inner in enumerate(value)]
    if not isinstance(value, str) or "$" not in value:
        return value
    for name in _VARIABLE.findall(value):
        if name not in variables:
            guess = nearest(name, variables)
            raise BadValue(f"${name} is not an axis of the matrix{guess}; the axes are {', '.join(variables)}", *path)
    whole = _VARIABLE.fullmatch(value)
    # An id is always text.
    if whole and path != ("id",):
        return variables[whole[1]]
    return _VARIABLE.sub(lambda match: _text(variables[match[1]]), value)


def _text(value: Any) -> str:
    if isinstance(value, list):
        return "x".join(map(_text, value))
    return str(value).lower() if isinstance(value, bool) else str(value)
