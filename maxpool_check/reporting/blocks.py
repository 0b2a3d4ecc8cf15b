"""What a report consists of: headings, paragraphs, tables, cards and a few more blocks, made once from results.

A view makes blocks, and does not know where they will be shown; the modules of :mod:`maxpool_check.reporting.writers` write them to a
terminal, as Markdown and as HTML. All text in blocks is foreign: the writers make it inert, nothing else does.

Each block has a rank. Where there is no room for all of a report, a writer leaves out the blocks with the highest ranks.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from maxpool_check.reporting.executions import ExecutionView


@dataclass(frozen=True)
class Span:
    """A piece of text on one line.

    ``tone`` is ``good``, ``bad``, ``known``, ``dim``, ``small`` for a line of its own, or what a page shows as a badge, such as a severity.
    ``href`` is a relative address, an anchor of the same page, or an address of the web, and stands in HTML and Markdown alone; an address
    in ``page`` stands in HTML alone.
    """

    text: str
    code: bool = False
    strong: bool = False
    tone: str = ""
    href: str = ""
    page: str = ""


Inline = str | Span | Sequence[str | Span]
"""Text of one line, of which parts may be code, strong, coloured or links."""


ALWAYS, SCREEN, SUMMARY, REPORT, WHOLE, PAGE = 0, 10, 100, 200, 300, 400
"""The lowest ranks of the blocks that are always shown, on a screen with room for them, in a summary of CI, in a report in Markdown, where
everything is asked for, and on a page of HTML alone.
"""


@dataclass(frozen=True, kw_only=True)
class Block:
    """What a report consists of. Blocks with a low ``rank`` are shown before others; see :data:`ALWAYS`."""

    rank: int = ALWAYS


@dataclass(frozen=True)
class Heading(Block):
    """A heading of level 1 (the title of the report) to 4."""

    level: int
    text: Inline


@dataclass(frozen=True)
class Verdict(Block):
    """The result of a report: a word such as ``BLOCK``, and a sentence. ``tone`` is ``good``, ``known`` or ``bad``.

    ``numbers`` are the largest thing on a page, each with its noun; ``meaning`` is the sentence that stands there with them.
    """

    word: str
    sentence: str
    tone: str
    numbers: Sequence[tuple[str, str]] = ()
    meaning: str = ""


@dataclass(frozen=True)
class Paragraph(Block):
    """A paragraph; with the tone ``problem``, what is wrong with the run itself."""

    text: Inline
    tone: str = ""


@dataclass(frozen=True)
class Bullets(Block):
    """A list."""

    items: Sequence[Inline]


@dataclass(frozen=True)
class Facts(Block):
    """Names with what they are; a name may occur several times."""

    pairs: Sequence[tuple[str, Inline]]


@dataclass(frozen=True)
class Lines(Block):
    """Lines as they are, such as a message or a tensor. ``label`` says what they are to those who do not see the page."""

    lines: Sequence[str]
    label: str = "Lines"


@dataclass(frozen=True)
class Command(Block):
    """A command line to repeat something, and what it does."""

    text: str
    about: str


@dataclass(frozen=True)
class Table(Block):
    """A table. ``right`` are the columns of numbers.

    The columns of ``each`` have the same number for each target, and share one column where a terminal is narrow. ``name`` is the class of the table in HTML (``overview``: its rows follow the cards that a search leaves; ``rows``: a case each).
    ``data`` are values of each row that a search finds, too. ``ranks`` are the ranks of the rows, if rows can be left out one by one;
    ``more`` says behind the number of rows that are left out what they are, and where they are shown. A screen leaves out the ``wide``
    columns.
    """

    headings: Sequence[str]
    rows: Sequence[Sequence[Inline]]
    right: frozenset[int] = frozenset()
    label: str = "Table"
    name: str = ""
    data: Sequence[Mapping[str, str]] = ()
    ranks: Sequence[int] = ()
    more: str = "more"
    wide: frozenset[int] = frozenset()
    each: frozenset[int] = frozenset()


class Names:
    """Cases by file: their names as long as they are few, otherwise their numbers alone.

    The same case may be added several times in a row.
    """

    most = 5000
    """So many cases are listed by name."""

    def __init__(self, cases: Iterable[str] = ()) -> None:
        self.count = self.added = 0
        self.first = self._last = ""
        self._numbers: Counter[str] = Counter()
        self._names: dict[str, list[str]] = defaultdict(list)
        for case in cases:
            self.add(case)

    def add(self, case: str) -> None:
        """Add an execution of a case, ``FILE:NAME``."""
        self.added += 1
        if case == self._last:
            return
        self.first, self._last = self.first or case, case
        file, _, name = case.rpartition(":")
        self.count += 1
        self._numbers[file] += 1
        if self.count <= self.most:
            self._names[file].append(name)
        else:
            self._names.clear()

    @property
    def files(self) -> list[tuple[str, str]]:
        """Each file with the names of its cases, or their number."""
        return [
            (file, ", ".join(self._names.get(file, [])) or str(number))
            for file, number in sorted(self._numbers.items())
        ]


@dataclass(frozen=True)
class Cases(Block):
    """The names of cases, by file."""

    names: Names


@dataclass(frozen=True)
class Evidence(Block):
    """An execution: what was executed, X around the window of a wrong cell, drawn, its wrong cells or shapes, or its message.

    ``about`` says which execution it is, as in ``indices, y-only: diverges``. Without ``settings``, only what is wrong is shown: what was
    executed stands above. A screen has a few lines of it, and a small drawing with the rank ``drawn``.
    """

    view: ExecutionView
    about: Inline = ""
    settings: bool = True
    drawn: int = SUMMARY


@dataclass(frozen=True)
class Matrix(Block):
    """Numbers by release, in several tables where one is too wide; a page has one, and draws the trend of each row.

    Each of ``rows`` has a name, what it is, which only a page says, and a number for each release.
    """

    unit: str
    releases: Sequence[str]
    rows: Sequence[tuple[str, str, Sequence[int]]]
    label: str

    def tables(self, width: int, none: str = "") -> Iterator[Table]:
        """The same as tables of at most this width, with ``none`` for 0."""
        first = max(map(len, [self.unit, *(name for name, _, _ in self.rows)]))
        step = max(1, (width - first) // (max(map(len, self.releases), default=1) + 4))
        for start in range(0, len(self.releases), step):
            part = slice(start, start + step)
            rows: list[list[Inline]] = [
                [Span(name, code=True), *(str(value or none) for value in values[part])]
                for name, _, values in self.rows
            ]
            headings = [self.unit, *self.releases[part]]
            yield Table(headings, rows, frozenset(range(1, len(headings))), label=self.label)


@dataclass(frozen=True)
class Folded(Block):
    """Blocks that a reader opens; ``name`` is the class of the element in HTML (``cases``, ``rules``)."""

    summary: Inline
    blocks: Sequence[Block]
    name: str = ""
    is_open: bool = False


@dataclass(frozen=True)
class Card(Block):
    """Something that is wrong, or has changed: what a search shows and hides, and keys go through.

    ``badges`` stand under the title, each with its tone; on a terminal, the first in front of it. ``data`` are values that a search finds,
    too: ``target``, ``severity``, ``kinds`` and so on.
    """

    anchor: str
    title: Inline
    badges: Sequence[Span]
    about: Inline
    blocks: Sequence[Block]
    data: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Search(Block):
    """A field that searches the cards of a page; nothing elsewhere. ``noun`` is what they are."""

    noun: str = "faults"


@dataclass(frozen=True)
class Section(Block):
    """A part of a report with a heading, which a page lists in its navigation, with a number where there is one.

    ``more`` says behind the number of cards that are left out what they are, and where they are shown; empty if that is said elsewhere.
    """

    title: Inline
    blocks: Sequence[Block]
    anchor: str = ""
    short: str = ""
    number: int | None = None
    more: str = ""


@dataclass(frozen=True)
class Document:
    """A report: what kind it is (``MaxPool gate``), its title, what stands above the sections, and all others.

    ``following`` are command lines to go on with, which a terminal shows at its end.
    """

    kicker: str
    title: str
    head: Sequence[Block]
    blocks: Sequence[Block]
    following: Sequence[str] = ()

    @property
    def verdict(self) -> Verdict:
        """The result of the report."""
        return next(each for each in self.head if isinstance(each, Verdict))

    @property
    def ranks(self) -> list[int]:
        """The ranks of all blocks and rows, each once, in ascending order."""
        return sorted({rank for each in (*self.head, *self.blocks) for rank in _ranks(each)})

    def limited(self, rank: int) -> "Document":
        """The report without the blocks and rows of higher ranks; what is left out of a table or section is counted."""
        return replace(self, head=list(_limited(self.head, rank)), blocks=list(_limited(self.blocks, rank)))


def _ranks(block: Block) -> Iterator[int]:
    yield block.rank
    match block:
        case Section() | Card() | Folded():
            yield from (max(rank, block.rank) for each in block.blocks for rank in _ranks(each))
        case Table(ranks=ranks):
            yield from ranks
        case Evidence(drawn=drawn):
            yield drawn


def _limited(blocks: Iterable[Block], most: int) -> Iterator[Block]:
    for block in blocks:
        if block.rank > most:
            continue
        match block:
            case Section() | Card() | Folded():
                inner = list(_limited(block.blocks, most))
                left = sum(isinstance(each, Card) for each in block.blocks) - sum(
                    isinstance(each, Card) for each in inner
                )
                if isinstance(block, Section) and block.more and left:
                    inner.append(Paragraph(f"{left} {block.more}"))
                if inner or not block.blocks or not isinstance(block, Section):
                    yield replace(block, blocks=inner)
            case Table(ranks=ranks) if ranks:
                kept = [number for number, rank in enumerate(ranks) if rank <= most]
                data = [block.data[number] for number in kept] if block.data else ()
                yield replace(block, rows=[block.rows[number] for number in kept], data=data)
                if left := len(ranks) - len(kept):
                    yield Paragraph(f"{left} {block.more}")
            case Evidence(drawn=drawn):
                yield block if drawn <= most else replace(block, drawn=SUMMARY)
            case _:
                yield block


def code(text: str) -> Span:
    """A text as code."""
    return Span(text, code=True)


def spans(text: Inline) -> Iterator[Span]:
    """The pieces of a text."""
    for part in [text] if isinstance(text, (str, Span)) else text:
        yield part if isinstance(part, Span) else Span(part)


def plain(text: Inline) -> str:
    """A text without its marks."""
    return "".join(span.text for span in spans(text))


def slug(text: str) -> str:
    """The text as an id of an element, or as the name of a file: letters, digits, dots, hyphens and underscores."""
    return "".join(char if char.isascii() and (char.isalnum() or char in ".-_") else "-" for char in text)
