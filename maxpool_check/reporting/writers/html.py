"""Blocks as a page of HTML, one file that loads nothing: ``blocks.html`` has a macro for each block."""

from collections.abc import Iterator, Sequence
from typing import TextIO

from maxpool_check.reporting.blocks import Block, Chart, Document, Section, plain, slug, spans
from maxpool_check.reporting.html.charts import BarChart
from maxpool_check.reporting.html.page import Filters, write_page


def write(document: Document, file: TextIO, *, site: str = "") -> None:
    """Write a report as a page; ``site`` is the address of the site that it belongs to, relative to it."""
    values = {"document": document, "sections": list(_sections(document.blocks)), "site": site}
    write_page("page.html", file, values, FILTERS)


def _sections(blocks: Sequence[Block]) -> Iterator[tuple[str, str, int | None]]:
    """The sections of a page for its navigation: address, title and number."""
    for block in blocks:
        if isinstance(block, Section):
            yield block.anchor or slug(plain(block.title)), block.short or plain(block.title), block.number


def _chart(block: Chart) -> BarChart:
    return BarChart(list(block.labels), {name: list(values) for name, values in block.series.items()})


FILTERS: Filters = {
    "spans": lambda text: list(spans(text)),
    "plain": plain,
    "kind": lambda block: type(block).__name__,
    "chart": _chart,
    "number_of": lambda text: int(plain(text) or 0),
}
"""Functions that ``blocks.html`` calls by name."""
