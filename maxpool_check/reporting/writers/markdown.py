"""Blocks as Markdown."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import singledispatchmethod
from typing import TextIO

from maxpool_check.reporting import blocks, markup
from maxpool_check.reporting.blocks import Block, Document, Inline, spans

_WIDEST = 380
"""The characters of a line of numbers."""


def write(document: Document, file: TextIO) -> None:
    """Write a report as Markdown."""
    file.write(text(document))


def text(document: Document) -> str:
    """A report as Markdown."""
    return markdown([blocks.Heading(1, document.title), *document.head, *document.blocks]).rstrip() + "\n"


def markdown(all_blocks: Iterable[Block], level: int = 2) -> str:
    """Blocks as Markdown; sections have headings of ``level``."""
    return markup.joined(_Writer(level).block(block) for block in all_blocks)


def inline(text: Inline) -> str:
    """A text of one line as Markdown."""
    pieces = []
    for span in spans(text):
        piece = markup.code(span.text) if span.code else markup.escaped(span.text)
        piece = f"**{piece}**" if span.strong and piece.strip() else piece
        if span.href and span.href == span.text:
            piece = markup.link(span.text)
        elif span.href:
            piece = f"[{piece}]({span.href})"
        pieces.append(piece)
    return "".join(pieces)


@dataclass(frozen=True)
class _Writer:
    """Writes a block; the heading of a section or finding has this level."""

    level: int

    @singledispatchmethod
    def block(self, block: Block) -> str:
        raise TypeError(f"no block: {block!r}")

    @block.register
    def _(self, _block: blocks.Filters) -> str:
        return ""

    @block.register
    def _(self, block: blocks.Heading) -> str:
        return f"{'#' * block.level} {inline(block.text)}"

    @block.register
    def _(self, block: blocks.Verdict) -> str:
        return markup.wrapped(f"**{markup.escaped(block.word)}** {markup.escaped(block.sentence)}")

    @block.register
    def _(self, block: blocks.Paragraph) -> str:
        return markup.wrapped(inline(block.text))

    @block.register
    def _(self, block: blocks.Bullets) -> str:
        return markup.bullets(markup.wrapped(inline(item)) for item in block.items)

    @block.register
    def _(self, block: blocks.Facts) -> str:
        return markup.bullets(markup.wrapped(f"{markup.escaped(name)}: {inline(text)}") for name, text in block.pairs)

    @block.register
    def _(self, block: blocks.Lines) -> str:
        return markup.fenced(block.lines)

    @block.register
    def _(self, block: blocks.Command) -> str:
        return markup.joined([f"To {markup.escaped(block.about)}:", markup.fenced([block.text], "sh")])

    @block.register
    def _(self, block: blocks.Table) -> str:
        rows = [[inline(cell) for cell in row] for row in block.rows]
        return markup.table([markup.escaped(heading) for heading in block.headings], rows, block.right) if rows else ""

    @block.register
    def _(self, block: blocks.Names) -> str:
        return markup.bullets(
            markup.wrapped(f"{markup.code(name)}: {markup.escaped(cases)}") for name, cases in block.files
        )

    @block.register
    def _(self, block: blocks.Evidence) -> str:
        lines = block.view.lines(block.settings)
        if block.most is not None:
            lines = markup.clipped(lines, block.most)
        return markup.joined([markup.wrapped(inline(block.about)), markup.fenced(lines)])

    @block.register
    def _(self, block: blocks.Chart) -> str:
        return self.block(block.as_table())

    @block.register
    def _(self, block: blocks.Matrix) -> str:
        return markup.joined(self.block(table) for table in block.tables(_WIDEST))

    @block.register
    def _(self, block: blocks.Folded) -> str:
        below = _Writer(self.level + 1)
        fold = markup.opened if block.is_open else markup.folded
        return fold(inline(block.summary), *(below.block(each) for each in block.blocks))

    @block.register
    def _(self, block: blocks.Finding) -> str:
        below = _Writer(self.level + 1)
        words = ", ".join(map(inline, block.badges))
        return markup.joined(
            [
                f'<a id="{block.anchor}"></a>',
                f"{'#' * self.level} {inline(block.title)}",
                markup.wrapped(f"{words}: {inline(block.about)}"),
                *(below.block(each) for each in block.blocks),
            ]
        )

    @block.register
    def _(self, block: blocks.Section) -> str:
        anchor = f'<a id="{block.anchor}"></a>' if block.anchor else ""
        return markup.joined(
            [anchor, f"{'#' * self.level} {inline(block.title)}", markdown(block.blocks, self.level + 1)]
        )
