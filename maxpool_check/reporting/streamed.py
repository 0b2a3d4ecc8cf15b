"""JSON documents that grow with a run, in parts."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any


def with_list(
    before: Mapping[str, Any], name: str, items: Iterable[Any], behind: Mapping[str, Any] | None = None
) -> Iterator[str]:
    """An object, one member of which is a list whose items take a line each; ``before`` has at least one member."""
    yield f"{json.dumps(before, indent=1).removesuffix(_END)},\n {json.dumps(name)}: ["
    separator = ""
    for item in items:
        yield f"{separator}\n  {json.dumps(item)}"
        separator = ","
    yield "\n ]" if separator else "]"
    yield f",{json.dumps(behind, indent=1).removeprefix('{')}" if behind else _END


_END = "\n}"
