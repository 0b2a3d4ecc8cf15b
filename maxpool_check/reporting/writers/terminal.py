"""Blocks on a terminal."""

import io
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal, TextIO

from rich.console import Console, RenderableType
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table as RichTable

from maxpool_check import inert
from maxpool_check.reporting import blocks
from maxpool_check.reporting.blocks import Block, Document, Inline, plain, spans

_STYLES = {"good": "green", "bad": "red", "known": "yellow", "unexpected": "red", "problem": "bold red", "dim": "dim"}
_NARROW = 72
"""Columns in which a table of four columns of text is unreadable: its rows are lines there."""


def write(document: Document, file: TextIO, width: int = 100, *, color: bool = False, everything: bool = False) -> None:
    """Write a report for a terminal, without blanks at the ends of lines; with ``everything``, what is folded too.

    The verdict is the last line but for what can be done next: there one looks first.
    """
    verdicts = [block for block in document.head if isinstance(block, blocks.Verdict)]
    buffer = io.StringIO()
    console = Console(file=buffer, width=width, force_terminal=color, no_color=not color, highlight=False, emoji=False)
    writer = _Writer(console, buffer, everything)
    writer.write_all(block for block in document.head if block not in verdicts)
    writer.space()
    writer.write_all([*document.blocks, *verdicts])
    for line in document.following:
        console.print(f"{'' if line.startswith('Your model?') else 'Next: '}{styled(line)}", soft_wrap=True)
    # A long text is broken anywhere.
    file.write(inert.no_command("\n".join(line.rstrip() for line in buffer.getvalue().split("\n"))))


def styled(text: str) -> str:
    """One line of foreign text, in rich's markup."""
    return escape(inert.line(text))


def _marked(text: Inline) -> str:
    pieces = []
    for span in spans(text):
        style = " ".join(filter(None, ["bold" if span.strong else "", _STYLES.get(span.tone, "")]))
        pieces.append(f"[{style}]{styled(span.text)}[/]" if style else styled(span.text))
    return "".join(pieces)


@dataclass(frozen=True)
class _Writer:
    """Prints blocks ``indent`` columns from the left; with ``everything``, what is folded too."""

    console: Console
    buffer: io.StringIO
    everything: bool = False
    indent: int = 0

    def write_all(self, inner: Iterable[Block], more: int = 0) -> None:
        """Print blocks, so many columns more from the left."""
        for block in inner:
            replace(self, indent=self.indent + more).write(block)

    def space(self) -> None:
        """Print an empty line, unless there is one, or nothing."""
        self.buffer.seek(max(0, self.buffer.tell() - 2))
        if self.buffer.read() not in ("", "\n\n"):
            self.console.print()

    def _say(self, text: RenderableType, more: int = 0) -> None:
        self.console.print(Padding(text, (0, 0, 0, self.indent + more), expand=False))

    def _each(self, texts: Iterable[str], more: int = 0) -> None:
        for text in texts:
            self._say(text, more)

    def _as_it_is(self, lines: Iterable[str], more: int) -> None:
        for line in lines:
            self.console.print(" " * (self.indent + more) + escape(inert.block(line)), soft_wrap=True)

    def write(self, block: Block) -> None:
        """Print a block."""
        match block:
            case blocks.Section(title, content):
                if title:
                    self._say(f"[bold]{_marked(title)}[/]")
                self.write_all(content, 2 if title else 0)
                self.space()
            case blocks.Card(_, title, badges, about, content):
                status = replace(badges[0], text=badges[0].text.upper(), strong=True)
                first, *others = map(_marked, (status, *badges[1:]))
                behind = f" ({', '.join(others)})" if others else ""
                self._say(f"{first}  [bold]{_marked(title)}[/]  {_marked(about)}{behind}")
                self.write_all(content, 2)
                self.space()
            case blocks.Folded(summary, content):
                self._say(_marked(summary))
                self.write_all(content if self.everything or block.is_open else (), 2)
            case blocks.Table():
                self._table(block)
            case blocks.Matrix():
                for table in block.tables(self.console.width - self.indent, "."):
                    self._table(table)
                    self.space()
            case _:
                self._leaf(block)

    def _leaf(self, block: Block) -> None:
        """Print a block without others in it; what is copied or drawn is never wrapped."""
        match block:
            case blocks.Heading(_, text):
                self._say(f"[bold]{_marked(text)}[/]")
            case blocks.Paragraph(text, tone):
                style = _STYLES.get(tone, "")
                self._say(f"[{style}]{_marked(text)}[/]" if style else _marked(text))
            case blocks.Bullets(items):
                self._each(map(_marked, items), 2)
            case blocks.Facts(pairs):
                self._each(f"[dim]{styled(name)}:[/] {_marked(value)}" for name, value in pairs)
            case blocks.Names():
                self._each((styled(f"{name}: {cases}") for name, cases in block.files), 2)
            case blocks.Lines(lines):
                self._as_it_is(lines, 2)
            case blocks.Evidence(view, about, settings):
                self._each([_marked(about)] if plain(about) else [])
                self._as_it_is(view.lines(settings), 2)
            case blocks.Command(text):
                self.console.print(" " * self.indent + f"[dim]{styled(text)}[/]", soft_wrap=True)
            case blocks.Verdict(word, sentence, tone):
                style = f"bold {_STYLES.get(tone, '')}"
                self.console.print(f"[{style}]{styled(word)}[/]  {styled(sentence)}", soft_wrap=True)

    def _table(self, block: blocks.Table) -> None:
        """A table, or where it does not fit into the width a line for each row, so that no number is cut off."""
        widths = [max(len(plain(cell)) for cell in column) for column in zip(*block.rows, strict=True)]
        texts = [width for column, width in enumerate(widths) if column not in block.right]
        fixed = sum(max(widths[column], len(block.headings[column])) + 2 for column in block.right if widths)
        least = fixed + sum(min(width, 9) + 2 for width in texts)
        if least > self.console.width - self.indent or (self.console.width < _NARROW and len(texts) > 3):
            for row in block.rows:
                pairs = [(heading, plain(cell)) for heading, cell in zip(block.headings, row, strict=True)]
                words = [f"{heading} {cell}".strip() for heading, cell in pairs[1:] if cell]
                self._say(styled(", ".join(filter(None, [pairs[0][1], *words]))))
        elif block.rows:
            table = RichTable(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_header=any(block.headings))
            for number, heading in enumerate(block.headings):
                is_number = number in block.right
                justify: Literal["left", "right"] = "right" if is_number else "left"
                table.add_column(styled(heading), overflow="fold", justify=justify, no_wrap=is_number)
            for row in block.rows:
                table.add_row(*map(_marked, row))
            self._say(table)
            self.space()
