"""Blocks on a terminal."""

import io
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Literal, TextIO

from rich.console import Console, RenderableType
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table as RichTable
from rich.text import Text

from maxpool_check import inert
from maxpool_check.reporting import blocks
from maxpool_check.reporting.blocks import PAGE, SUMMARY, Block, Document, Inline, plain, spans
from maxpool_check.reporting.writers import Display, fitted

_STYLES = {"good": "green", "bad": "red", "known": "yellow", "unexpected": "red", "problem": "bold red", "dim": "dim"}
LINES = 25
"""The lines of a screen."""

_NARROW = 72
"""Columns in which a table of four columns of text is unreadable: its rows are lines there."""


def write(document: Document, file: TextIO, display: Display) -> None:
    """Write a report for a terminal: one screen, or everything, without blanks at the ends of lines."""
    if display.everything:
        file.write(_text(document.limited(PAGE - 1), display))
    else:
        file.write(fitted(document, SUMMARY, lambda part: _text(part, display), lambda text: text.count("\n") <= LINES))


def _text(document: Document, display: Display) -> str:
    """The blocks as text. The verdict is the last line, except for what the user can do next: there one looks first."""
    buffer = io.StringIO()
    console = Console(
        file=buffer, width=display.width, force_terminal=display.color, no_color=not display.color, highlight=False,
        emoji=False,
    )  # fmt: skip
    writer = _Writer(console, buffer, display.everything)
    verdicts = [block for block in document.head if isinstance(block, blocks.Verdict)]
    writer.write_all(block for block in document.head if block not in verdicts)
    writer.space()
    writer.write_all(document.blocks)
    writer.space()
    for line in _ending(document, verdicts, display):
        console.print(line, soft_wrap=True)
    # A long text is broken anywhere.
    return inert.no_command("\n".join(line.rstrip() for line in buffer.getvalue().split("\n")))


def _ending(document: Document, verdicts: Iterable[blocks.Verdict], display: Display) -> Iterator[str]:
    """The verdict on a line, below the clauses of its sentence that do not fit; and what the user can do next; in rich's markup."""
    for verdict in verdicts:
        room = max(40, display.width - len(verdict.word) - 2)
        first, *others = verdict.sentence.split("; ")
        while others and len(first) + 2 + len(others[0]) <= room:
            first += f"; {others.pop(0)}"
        yield from map(styled, others)
        yield f"[bold {_STYLES.get(verdict.tone, '')}]{styled(verdict.word)}[/]  {styled(first)}"
    for line in document.following:
        # Who sees everything need not ask for it.
        if not (display.everything and line.startswith("-v ")):
            yield f"{'' if line.startswith('Your model?') else 'Next: '}{styled(line)}"


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
                line = "  ".join([first, f"[bold]{_marked(title)}[/]", *others, _marked(about)])
                if self.everything:
                    self._say(line)
                else:
                    self._brief(first, title, others, about)
                self.write_all(content, 2)
                if self.everything:
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

    def _brief(self, status: str, title: Inline, badges: Iterable[str], about: Inline) -> None:
        """The head of a card with its name, on one line where it fits, and below it what the title says more."""
        name, *more = spans(title)
        head = Text.from_markup("  ".join([status, f"[bold]{_marked(name)}[/]", *badges]))
        rest = Text.from_markup(_marked(about))
        if len(head) + 2 + len(rest) <= self.console.width - self.indent:
            self._say(head.append("  ").append(rest))
        else:
            self._say(head)
            self._say(rest, 2)
        self._each([_marked(more).removeprefix(": ")] if more else [], 2)

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
            case blocks.Cases(names):
                self._each((styled(f"{name}: {cases}") for name, cases in names.files), 2)
            case blocks.Lines(lines):
                self._as_it_is(lines, 2)
            case blocks.Evidence(view, about, settings) if self.everything:
                self._each([_marked(about)] if plain(about) else [])
                self._as_it_is(view.lines(settings), 2)
            case blocks.Evidence(view, drawn=drawn):
                most, lines = self.console.width - self.indent - 2, view.brief(drawn < SUMMARY)
                self._as_it_is((f"{line[: most - 4]} ..." if len(line) > most else line for line in lines), 2)
            case blocks.Command(text):
                self.console.print(" " * self.indent + f"[dim]{styled(text)}[/]", soft_wrap=True)

    def _table(self, block: blocks.Table) -> None:
        """A table, or where it does not fit into the width a line for each row, so that no number is cut off."""
        if not self.everything and block.wide:
            block = _without(block, block.wide)
        if not self._fits(block) and len(block.each) > 1:
            block = _joined(block)
        texts = len(block.headings) - len(block.right)
        if not self._fits(block) or (self.console.width < _NARROW and texts > 3):
            for row in block.rows:
                pairs = [(heading, plain(cell)) for heading, cell in zip(block.headings, row, strict=True)]
                words = [f"{heading} {cell}".strip() for heading, cell in pairs[1:] if cell]
                self._say(styled(", ".join(filter(None, [pairs[0][1], *words]))))
        elif block.rows:
            table = RichTable(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_header=any(block.headings))
            for number, lines in enumerate(map(_heading, block.headings)):
                is_number = number in block.right
                justify: Literal["left", "right"] = "right" if is_number else "left"
                table.add_column("\n".join(map(styled, lines)), overflow="fold", justify=justify, no_wrap=is_number)
            for row in block.rows:
                table.add_row(*map(_marked, row))
            self._say(table)
            self.space()

    def _fits(self, block: blocks.Table) -> bool:
        """Whether the numbers fit into the width, beside a few columns for each text."""
        least = 0
        for number, heading in enumerate(block.headings):
            widest = max((len(plain(row[number])) for row in block.rows), default=0)
            least += 2 + (max(widest, *map(len, _heading(heading))) if number in block.right else min(widest, 9))
        return least <= self.console.width - self.indent


def _heading(text: str) -> list[str]:
    """The lines of a heading: a name such as onnxruntime==1.23.2 may be on two."""
    name, equals, version = text.partition("==")
    return [name, f"{equals}{version}"] if equals else [name]


def _joined(table: blocks.Table) -> blocks.Table:
    """A table with the numbers for each target in one column, such as ``5 / - / 3``."""
    numbers = sorted(table.each)
    rows = []
    for row in table.rows:
        joined = " / ".join(plain(row[number]) or "-" for number in numbers)
        rows.append([joined if number == numbers[0] else cell for number, cell in enumerate(row)])
    headings = ["on each" if number == numbers[0] else heading for number, heading in enumerate(table.headings)]
    return _without(replace(table, headings=headings, rows=rows), frozenset(numbers[1:]))


def _without(table: blocks.Table, columns: frozenset[int]) -> blocks.Table:
    """A table without some columns."""
    kept = [number for number in range(len(table.headings)) if number not in columns]
    rows = [[row[number] for number in kept] for row in table.rows]
    right, each = (
        frozenset(place for place, number in enumerate(kept) if number in numbers)
        for numbers in (table.right, table.each)
    )
    return replace(table, headings=[table.headings[number] for number in kept], rows=rows, right=right, each=each)
