"""Numbers with their nouns, long texts and lists in part, and words with the sentences that say what they mean."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum


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


class Term(str, Enum):
    """A word of reports and files. Each member is declared as the word and the ``sentence`` that says what it means.

    The sentence has neither a capital nor a full stop, so that it can stand in a table or after other words.
    """

    sentence: str

    def __new__(cls, word: str, sentence: str = "") -> Term:
        """The member of a word; an enumeration with more about each member has a ``__new__`` of its own."""
        member = str.__new__(cls, word)
        member._value_ = word
        member.sentence = sentence
        return member

    @property
    def whole_sentence(self) -> str:
        """The sentence as it stands alone: with a capital and a full stop."""
        return f"{self.sentence[0].upper()}{self.sentence[1:]}."

    __str__ = str.__str__
