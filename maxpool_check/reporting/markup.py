"""Pieces of Markdown: blocks of text, with an empty line between them."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence


def joined(blocks: Iterable[str]) -> str:
    """Blocks as one text; empty blocks are left out."""
    return "\n\n".join(block for block in blocks if block)


def escaped(text: str) -> str:
    """Text for a cell of a table."""
    return text.replace("|", "\\|").replace("\n", " ").replace("<", "&lt;")


def codes(names: Iterable[str]) -> str:
    """Names as code, with commas between them."""
    return ", ".join(f"`{name}`" for name in names)


def bullets(items: Iterable[str]) -> str:
    """A list."""
    return "\n".join(f"- {item}" for item in items)


def fenced(lines: Iterable[str]) -> str:
    """Lines as they are."""
    return "\n".join(["```text", *(line.replace("```", "'''") for line in lines), "```"])


def folded(heading: str, *blocks: str) -> str:
    """Blocks that are hidden until the reader opens them."""
    return joined([f"<details><summary>{heading}</summary>", *blocks, "</details>"])


def table(headings: Sequence[str], rows: Sequence[Sequence[str]], right: Container[int] = ()) -> str:
    """A table; the columns in ``right`` are aligned to the right."""
    ruler = ["---:" if index in right else "---" for index in range(len(headings))]
    return "\n".join(f"| {' | '.join(row)} |" for row in (headings, ruler, *rows))
