"""Long texts and long lists, shown in part with what was left out."""

from collections.abc import Sequence

LONGEST = 250
"""The length of a foreign text in a report that people read, so that no line is longer than 400 characters."""


def abridged(text: str, most: int = LONGEST) -> str:
    """The beginning and the end of a long text on one line: of a message, the cause is often at the end."""
    line = " ".join(text.split())
    if len(line) <= most:
        return line
    head = most * 2 // 5
    return f"{line[:head]} ... {line[head + 5 - most :]}"


def some(names: Sequence[str], most: int) -> list[str]:
    """The first names, and how many more there are."""
    more = len(names) - most
    return [*names] if more <= 0 else [*names[:most], f"and {more} more"]
