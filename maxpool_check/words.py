"""Numbers with their nouns."""

from __future__ import annotations


def plural(count: int, noun: str, nouns: str = "") -> str:
    """``1 case``, ``2 cases``; ``nouns`` is the plural where it is not formed with ``s``."""
    return f"{count} {noun if count == 1 else nouns or noun + 's'}"
