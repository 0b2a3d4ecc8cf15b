"""``maxpool-check docs``."""

import re
import sys
import textwrap
from itertools import zip_longest

import click

from maxpool_check.commands import old_options as options
from maxpool_check.commands.old_output import Output
from maxpool_check.docs import DocumentationPage, topics
from maxpool_check.results.record import ExitCode
from maxpool_check.specifications.specification import nearest

_WIDEST = 100
"""The most columns of a page: longer lines are hard to read."""

_REPOSITORY = re.compile(r"\A(?:\.\./)+")


_OTHER_WORDS = {"outputs": "kernel", "protocol": "kernel", "vectors": "export"}
"""What people look for, with the page that has it."""


def _topic(text: str) -> DocumentationPage:
    if text not in topics():
        page = _OTHER_WORDS.get(text)
        hint = f"; it is on the page '{page}'" if page else nearest(text, topics())
        raise ValueError(f"no topic '{text}'{hint}; there are: {', '.join(topics())}")
    return topics()[text]


@click.command("docs")
@click.argument("topic", required=False, type=options.Parsed("TOPIC", _topic))
@options.color
def command(topic: DocumentationPage | None, color: str) -> int:
    """Show a page of the documentation, or list the pages.

    A page is shown for reading on a terminal, and as Markdown in a pipe.

    \b
    Examples:
      maxpool-check docs
      maxpool-check docs gate
    """
    if topic is None:
        _list()
    elif sys.stdout.isatty() or color == "always":
        _render(topic, colored=Output(color=color).colored)
    else:
        options.echo(topic.text, nl=False)
    return ExitCode.AS_EXPECTED


def _list() -> None:
    """Print a line for each page, which a terminal that is too narrow folds under its beginning."""
    width = max(map(len, topics()))
    columns = options.width() if sys.stdout.isatty() else None
    for each in topics().values():
        lines = textwrap.wrap(each.summary, columns - width - 2) if columns else [each.summary]
        for name, line in zip_longest([each.name], lines, fillvalue=""):
            options.echo(f"{name:{width}}  {line}")


def _render(topic: DocumentationPage, *, colored: bool) -> None:
    """Print a page for reading."""
    from rich.console import Console, ConsoleOptions, RenderResult
    from rich.markdown import CodeBlock, Markdown
    from rich.text import Text

    class Code(CodeBlock):
        """A block of code whose lines stay whole, so that commands can be copied."""

        def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
            for line in str(self.text).rstrip().split("\n"):
                yield Text(f"  {line}", style="cyan", no_wrap=True, overflow="ignore")

    class Page(Markdown):
        """A page with such blocks."""

        elements = {**Markdown.elements, "fence": Code, "code_block": Code}  # noqa: RUF012 (as rich declares it)

    page = Page(topic.text, hyperlinks=False)
    for token in page.parsed:
        for child in token.children or ():
            if child.type == "link_open":
                child.attrSet("href", _place(str(child.attrGet("href"))))
    width = min(options.width(), _WIDEST)
    Console(force_terminal=colored, no_color=not colored, width=width, highlight=False).print(page, crop=False)


def _place(address: str) -> str:
    """What leads a reader at a terminal to where a link leads."""
    name, _, _ = address.partition("#")
    if not name:
        return "below"
    if name.removesuffix(".md") in topics():
        return f"maxpool-check docs {name.removesuffix('.md')}"
    return _REPOSITORY.sub("", address)
