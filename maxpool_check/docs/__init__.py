"""The user documentation: a page of Markdown for each task, beside this file."""

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_FOLDER = Path(__file__).parent
_CODE_OR_COMMENT = re.compile(r"(^ *(```|~~~).*?^ *\2 *$)|<!--.*?-->\n?", re.DOTALL | re.MULTILINE)

ORDER = (
    *("model", "gate", "kernel", "cases", "defects", "python", "ci"),
    *("configuration", "offline", "runtimes", "export", "records", "verdicts", "evidence", "accuracy", "faq"),
)
"""The topics that come first in a list, in the order in which users need them; others follow by name."""


@dataclass(frozen=True)
class DocumentationPage:
    """A page of the documentation. ``summary`` is the sentence that it begins with."""

    name: str
    title: str
    summary: str
    text: str


@cache
def topics() -> dict[str, DocumentationPage]:
    """All pages by name, without the HTML comments, which are for those who write pages; in a block of code they stay."""
    pages = {}
    names = {path.stem for path in _FOLDER.glob("*.md")}
    for name in [*(each for each in ORDER if each in names), *sorted(names - {*ORDER})]:
        text = _CODE_OR_COMMENT.sub(lambda match: match[1] or "", (_FOLDER / f"{name}.md").read_text(encoding="utf-8"))
        title, _, rest = text.partition("\n")
        first = " ".join(rest.strip().split("\n\n", 1)[0].split())
        pages[name] = DocumentationPage(
            name, title.removeprefix("# "), f"{first.partition('. ')[0].rstrip('.')}.", text
        )
    return pages


def anchor(heading: str) -> str:
    """The name of a heading in an address, as GitHub makes it."""
    kept = "".join(char for char in heading.lower() if char.isalnum() or char in "-_ ")
    return kept.replace(" ", "-")
