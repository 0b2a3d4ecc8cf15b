"""Pieces of Markdown: blocks of text, with an empty line between them, and foreign text that is nothing but text in them."""

import re
from collections.abc import Container, Iterable, Iterator, Sequence

from maxpool_check import inert

_SYNTAX = re.compile(
    r"\\(?=[!-/:-@\[-`{-~])|`|(?<=\])[(\[:]|\*(?=\S)|(?<![^\W_])_|~(?=~)"
    r"|^\s*(?:[#>~]|[-+*](?=[\s-]|$)|\d+[.)](?=\s|$))"
)
_ENTITY = re.compile(r"&(?=#?\w+;)")
_LINK = re.compile(r"https?://[^\s<>`\\]+")
_CODE_OR_BREAK = re.compile(r"(?<![`\\])(`+)(?!`).*?(?<!`)\1(?!`)| (?=`?[^\W\d_])")


def joined(blocks: Iterable[str]) -> str:
    """Blocks as one text; empty blocks are left out."""
    return "\n\n".join(block for block in blocks if block)


def escaped(text: str) -> str:
    """Foreign text on one line, as it is: no HTML, heading, list, link, image, code or emphasis."""
    shown = _ENTITY.sub("&amp;", inert.line(" ".join(text.split("\n"))))
    return _SYNTAX.sub(lambda match: f"{match[0][:-1]}\\{match[0][-1]}", shown).replace("<", "&lt;")


def wrapped(markdown: str, width: int = 120) -> str:
    """A paragraph in lines of about this width.

    A line begins with a letter, or with the code of one: so it begins no heading, list, quotation or table. Code is never
    broken, since its first line could be a fence.
    """
    lines = [""]
    for part in _parts(markdown):
        if not lines[-1]:
            lines[-1] = part
        elif len(lines[-1]) + 1 + len(part) <= width:
            lines[-1] += f" {part}"
        else:
            lines.append(part)
    return "\n".join(lines)


def _parts(markdown: str) -> Iterator[str]:
    """The parts of a paragraph between which a line can end."""
    start = 0
    for match in _CODE_OR_BREAK.finditer(markdown):
        if match[0] == " ":
            yield markdown[start : match.start()]
            start = match.end()
    yield markdown[start:]


def link(address: str) -> str:
    """An address as a link if it is one of the web, else as text."""
    return f"<{address}>" if _LINK.fullmatch(inert.line(address)) else escaped(address)


def code(text: str) -> str:
    """Foreign text as code on one line."""
    shown = inert.line(text) or " "
    ticks = "`" * (_longest(shown) + 1)
    blank = " " if "`" in (shown[0], shown[-1]) else ""
    return f"{ticks}{blank}{shown}{blank}{ticks}"


def _longest(text: str) -> int:
    """The length of the longest run of backticks."""
    return max(map(len, re.findall("`+", text)), default=0)


def bullets(items: Iterable[str]) -> str:
    """A list; an item may have several lines."""
    return "\n".join("- " + item.replace("\n", "\n  ") for item in items)


def fenced(lines: Iterable[str], language: str = "text") -> str:
    """Foreign lines as they are."""
    text = inert.block("\n".join(lines))
    fence = "`" * max(3, _longest(text) + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def folded(heading: str, *blocks: str, is_open: bool = False) -> str:
    """Blocks that are hidden until the reader opens them, or that can be hidden."""
    return joined([f"<details{' open' * is_open}><summary>{heading}</summary>", *blocks, "</details>"])


def clipped(lines: Iterable[str], most_lines: int, most_columns: int = 200) -> list[str]:
    """Lines for :func:`fenced`, the end of long ones and the rest of many left out, with a word on it."""
    every = [line for text in lines for line in text.split("\n")]
    kept = every if len(every) <= most_lines else every[: most_lines - 1]
    rest = [f"... ({len(every) - len(kept)} more lines)"] if len(kept) < len(every) else []
    return [line if len(line) <= most_columns else f"{line[: most_columns - 4]} ..." for line in kept] + rest


def table(headings: Sequence[str], rows: Sequence[Sequence[str]], right: Container[int] = ()) -> str:
    """A table of Markdown; the columns in ``right`` are aligned to the right."""
    ruler = ["---:" if index in right else "---" for index in range(len(headings))]
    cells = ([cell.replace("\\|", "\\x7c").replace("|", "\\|") for cell in row] for row in (headings, ruler, *rows))
    return "\n".join(f"| {' | '.join(row)} |" for row in cells)
