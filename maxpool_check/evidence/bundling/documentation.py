"""Passages of the user documentation that a bundle repeats, so that it can be read without the tool."""

import re

from maxpool_check.docs import topics

_LINK = re.compile(r"\[([^\]]+)\]\([^)]+\)")


def passage(page: str, heading: str) -> str:
    """The text below a heading of the second level, without links; ``KeyError`` if the page has none of that name."""
    _, *sections = re.split(r"^## ", topics()[page].text, flags=re.MULTILINE)
    texts = dict(section.split("\n", 1) for section in sections)
    return _LINK.sub(r"\1", texts[heading]).strip()
