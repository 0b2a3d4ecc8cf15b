"""Expands an entry of a case file into one entry per combination of its matrix."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping
from typing import Any

from maxpool_check.specifications.attributes import nearest

_VARIABLE = re.compile(r"\$([A-Za-z_][A-Za-z0-9_]*)")
MAX_CASES = 100_000


class BadMatrix(ValueError):
    """A matrix that cannot be expanded; ``path`` is the path of the wrong value."""

    def __init__(self, message: str, *path: str | int) -> None:
        super().__init__(message)
        self.path = path


def expand(entry: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """One entry per combination, in the order of the lists; the entry itself if it has no matrix. Raises :class:`BadMatrix`."""
    rest = {key: value for key, value in entry.items() if key != "matrix"}
    axes: Mapping[str, list[Any]] = entry.get("matrix", {})
    if not axes:
        yield rest
        return
    size = 1
    for name, values in axes.items():
        size *= len(values)
        for i, value in enumerate(values):
            if isinstance(value, dict):
                raise BadMatrix("a map cannot be written in an id; use text, numbers or lists", "matrix", name, i)
    if size > MAX_CASES:
        raise BadMatrix(f"the matrix has {size} combinations; the limit is {MAX_CASES}", "matrix")
    in_id = set(_VARIABLE.findall(str(entry.get("id", ""))))
    missing = [f"${name}" for name in axes if name not in in_id]
    if missing:
        raise BadMatrix(f"the id must name every axis of the matrix, so that ids stay unique; add {missing[0]}", "id")
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
            raise BadMatrix(
                f"${name} is not an axis of the matrix{nearest(name, variables)}; the axes are {', '.join(variables)}",
                *path,
            )
    whole = _VARIABLE.fullmatch(value)
    if whole:
        # An id is always text.
        return _text(variables[whole[1]]) if path == ("id",) else variables[whole[1]]
    return _VARIABLE.sub(lambda match: _text(variables[match[1]]), value)


def _text(value: Any) -> str:
    if isinstance(value, list):
        return "x".join(_text(inner) for inner in value)
    if isinstance(value, bool):
        return str(value).lower()
    return str(value)
