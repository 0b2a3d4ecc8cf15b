"""The user documentation: a page of Markdown for each task, beside this file."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_FOLDER = Path(__file__).parent
_FENCE = re.compile(r" *(```|~~~)")
_COMMENT = re.compile(r"<!--.*?-->\n?", re.DOTALL)

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
    """All pages by name."""
    names = {path.stem for path in _FOLDER.glob("*.md")}
    return {name: _read(name) for name in [*(each for each in ORDER if each in names), *sorted(names - {*ORDER})]}


def _read(name: str) -> DocumentationPage:
    text = _without_comments((_FOLDER / f"{name}.md").read_text(encoding="utf-8"))
    title, _, rest = text.partition("\n")
    first = " ".join(rest.strip().split("\n\n", 1)[0].split())
    summary, _, _ = first.partition(". ")
    return DocumentationPage(name, title.removeprefix("# "), f"{summary.rstrip('.')}.", text)


def _without_comments(text: str) -> str:
    """The text without HTML comments, which are for those who write pages; in a block of code they stay."""
    return "".join(part if is_code else _COMMENT.sub("", part) for is_code, part in _parts(text))


def _parts(text: str) -> Iterator[tuple[bool, str]]:
    """The blocks of code of a page, and what is between them."""
    lines: list[str] = []
    fence = ""
    for line in text.splitlines(keepends=True):
        found = _FENCE.match(line)
        if found and not fence:
            yield False, "".join(lines)
            lines, fence = [line], found[1]
        elif found and found[1] == fence:
            yield True, "".join([*lines, line])
            lines, fence = [], ""
        else:
            lines.append(line)
    yield bool(fence), "".join(lines)


def anchor(heading: str) -> str:
    """The name of a heading in an address, as GitHub makes it."""
    kept = "".join(char for char in heading.lower() if char.isalnum() or char in "-_ ")
    return kept.replace(" ", "-")
