"""JSON documents that grow with a run, in parts."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any


def parts(value: Any, indent: str = "") -> Iterator[str]:
    """A value as JSON, indented by 1. An iterator in it is a list whose items take a line each, and are made in turn."""
    one_line = isinstance(value, Iterator)
    members: Iterator[tuple[str, Any]]
    if isinstance(value, Mapping):
        brackets, members = "{}", ((f"{json.dumps(name)}: ", member) for name, member in value.items())
    elif one_line or isinstance(value, (list, tuple)):
        brackets, members = "[]", (("", member) for member in value)
    else:
        yield json.dumps(value)
        return
    yield brackets[0]
    separator = end = ""
    for name, member in members:
        yield f"{separator}\n{indent} {name}"
        yield from [json.dumps(member)] if one_line else parts(member, f"{indent} ")
        separator, end = ",", f"\n{indent}"
    yield end + brackets[1]
