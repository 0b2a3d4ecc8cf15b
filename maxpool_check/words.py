"""Numbers with their nouns, and long texts and lists in part."""

from __future__ import annotations

from collections.abc import Sequence


def plural(count: int, noun: str, nouns: str = "") -> str:
    """``1 case``, ``2 cases``; ``nouns`` is the plural where it is not formed with ``s``."""
    return f"{count} {noun if count == 1 else nouns or noun + 's'}"


def shortened(text: str, most: int = 250, end: bool = True) -> str:
    """A long text on one line of at most so many characters: the beginning and, of a message, the end, where the cause often is.

    Without ``end``, the beginning alone.
    """
    line = " ".join(text.split())
    if len(line) <= most:
        return line
    head = most * 2 // 5 if end else most - 4
    return f"{line[:head].rstrip()} ...{' ' + line[head + 5 - most :].lstrip() if end else ''}"


def some(names: Sequence[str], most: int) -> list[str]:
    """The first names, and how many more there are."""
    more = len(names) - most
    return [*names] if more <= 0 else [*names[:most], f"and {more} more"]
