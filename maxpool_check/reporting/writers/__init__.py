"""Writers of blocks: a terminal, Markdown and HTML; and what writes any report that has a view."""

from collections.abc import Iterable
from enum import Enum
from typing import Protocol, TextIO

from maxpool_check.reporting.blocks import Document
from maxpool_check.reporting.writers import html, markdown

LARGEST = 40_000
"""The characters of a report in Markdown, which shows less rather than become longer."""


class Form(Enum):
    """What a report is shown for."""

    TEXT = "text"
    MARKDOWN = "markdown"
    GITHUB = "github"
    HTML = "html"

    @property
    def is_page(self) -> bool:
        """Whether it has room for everything."""
        return self is Form.HTML


class Report(Protocol):
    """A report with a view of it."""

    @property
    def width(self) -> int:
        """The columns of the terminal."""

    @property
    def color(self) -> bool:
        """Whether the terminal has colours."""

    @property
    def verbose(self) -> bool:
        """Whether nothing is left out."""

    def documents(self, form: Form) -> Iterable[Document]:
        """The report in this form; after the first, what may be shown instead if it is too long, the longer first."""


def write_text(report: Report, file: TextIO) -> None:
    """Write a report for a terminal."""
    # It brings rich, which is slow to import.
    from maxpool_check.reporting.writers import terminal

    document = next(iter(report.documents(Form.TEXT)))
    terminal.write(document, file, report.width, color=report.color, everything=report.verbose)


def write_markdown(report: Report, file: TextIO, form: Form = Form.MARKDOWN) -> None:
    """Write a report in Markdown, of at most :data:`LARGEST` characters if it can be as short."""
    text = ""
    for document in report.documents(form):
        text = markdown.text(document)
        if len(text) <= LARGEST:
            break
    file.write(text)


def write_github(report: Report, file: TextIO) -> None:
    """Write a report as a step summary of GitHub."""
    write_markdown(report, file, Form.GITHUB)


def write_html(report: Report, file: TextIO) -> None:
    """Write a report as a page."""
    html.write(next(iter(report.documents(Form.HTML))), file)
