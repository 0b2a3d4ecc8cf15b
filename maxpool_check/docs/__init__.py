"""The user documentation: a page of Markdown for each task, beside this file."""

import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

_CODE_OR_COMMENT = re.compile(r"(^ *(```|~~~).*?^ *\2 *$)|<!--.*?-->\n?", re.DOTALL | re.MULTILINE)

ORDER = (
    *("model", "gate", "kernel", "loop", "cases", "defects", "python", "ci"),
    *("configuration", "runtimes", "export", "verdicts", "evidence", "accuracy"),
)
"""The topics, in the order in which users need them."""


class DocumentationPage(NamedTuple):
    """A page of the documentation. ``summary`` is the sentence that it begins with."""

    summary: str
    text: str


@cache
def topics() -> dict[str, DocumentationPage]:
    """All pages by name, without the HTML comments, which are for those who write pages; in a block of code they stay."""
    pages = {}
    for name in ORDER:
        text = Path(__file__).with_name(f"{name}.md").read_text(encoding="utf-8")
        text = _CODE_OR_COMMENT.sub(lambda match: match[1] or "", text)
        first = " ".join(text.partition("\n")[2].strip().split("\n\n", 1)[0].split())
        pages[name] = DocumentationPage(f"{first.partition('. ')[0].rstrip('.')}.", text)
    return pages
