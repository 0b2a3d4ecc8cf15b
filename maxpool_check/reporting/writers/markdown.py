"""Blocks as Markdown."""

from collections.abc import Iterable
from typing import TextIO

from maxpool_check.reporting import blocks, markup
from maxpool_check.reporting.blocks import PAGE, REPORT, WHOLE, Block, Document, Inline, spans
from maxpool_check.reporting.writers import fitted

LARGEST = 40_000
"""The characters of a report, which shows less rather than become longer."""

_MOST_LINES = 24
_WIDEST = 380
"""The characters of a line of numbers."""


def write(document: Document, file: TextIO, *, everything: bool = False) -> None:
    """Write a report as Markdown, of at most :data:`LARGEST` characters if it can be as short, unless everything is asked for."""
    if everything:
        file.write(_text(document.limited(PAGE - 1), None))
    else:
        file.write(fitted(document, WHOLE, lambda part: _text(part, _MOST_LINES), lambda text: len(text) <= LARGEST))


def write_summary(document: Document, file: TextIO) -> None:
    """Write the summary of a step of GitHub, without the blocks that only a whole report has."""
    file.write(fitted(document, REPORT, lambda part: _text(part, _MOST_LINES), lambda text: len(text) <= LARGEST))


def _text(document: Document, most_lines: int | None) -> str:
    """A report as Markdown; of a drawing, at most so many lines."""
    return (
        markdown([blocks.Heading(1, document.title), *document.head, *document.blocks], 2, most_lines).rstrip() + "\n"
    )


def markdown(all_blocks: Iterable[Block], level: int, most: int | None) -> str:
    """Blocks as Markdown; sections have headings of ``level``, drawings at most ``most`` lines."""
    return markup.joined(_block(block, level, most) for block in all_blocks)


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


def _block(block: Block, level: int, most: int | None) -> str:
    """A block as Markdown; the heading of a section or card has this level."""
    match block:
        case blocks.Section(title, content, anchor):
            place = f'<a id="{anchor}"></a>' if anchor else ""
            return markup.joined([place, f"{'#' * level} {inline(title)}", markdown(content, level + 1, most)])
        case blocks.Card(anchor, title, badges, about, content):
            place, words = f'<a id="{anchor}"></a>', ", ".join(map(inline, badges))
            head = [place, f"{'#' * level} {inline(title)}", markup.wrapped(f"{words}: {inline(about)}")]
            return markup.joined([*head, markdown(content, level + 1, most)])
        case blocks.Folded(summary, content):
            return markup.folded(inline(summary), markdown(content, level + 1, most), is_open=block.is_open)
        case blocks.Evidence(view, about, settings):
            lines = view.lines(settings)
            lines = lines if most is None else markup.clipped(lines, most)
            return markup.joined([markup.wrapped(inline(about)), markup.fenced(lines)])
        case blocks.Matrix():
            return markup.joined(map(_leaf, block.tables(_WIDEST)))
        case blocks.Command(text) if len(text) > _WIDEST:
            # It would have to be broken, and could not be copied.
            return ""
        case blocks.Search():
            return ""
    return _leaf(block)


def _leaf(block: Block) -> str:
    """A block without others in it."""
    match block:
        case blocks.Heading(level, text):
            return f"{'#' * level} {inline(text)}"
        case blocks.Verdict(word, sentence, _, numbers, meaning):
            counts = markup.escaped(", ".join(map(" ".join, numbers))) + ". " * bool(numbers)
            return markup.wrapped(f"**{markup.escaped(word)}** {counts}{markup.escaped(meaning or sentence)}")
        case blocks.Paragraph(text):
            return markup.wrapped(inline(text))
        case blocks.Bullets(items):
            return markup.bullets(markup.wrapped(inline(item)) for item in items)
        case blocks.Facts(pairs):
            return markup.bullets(markup.wrapped(f"{markup.escaped(name)}: {inline(text)}") for name, text in pairs)
        case blocks.Lines(lines):
            return markup.fenced(lines)
        case blocks.Command(text, about):
            return markup.joined([f"To {markup.escaped(about)}:", markup.fenced([text], "sh")])
        case blocks.Cases(names):
            lists = ((markup.code(name), markup.escaped(cases)) for name, cases in names.files)
            return markup.bullets(markup.wrapped(": ".join(each)) for each in lists)
        case blocks.Table(headings, rows, right):
            cells = [[inline(cell) for cell in row] for row in rows]
            return markup.table([markup.escaped(heading) for heading in headings], cells, right) if rows else ""
    raise TypeError(f"no block: {block!r}")
