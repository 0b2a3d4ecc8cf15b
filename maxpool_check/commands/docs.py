"""``maxpool-check docs``: pages, schemas, the configuration, completion."""

import re
import sys

import click

from maxpool_check import inert
from maxpool_check.commands import options
from maxpool_check.commands.registry import imported

_WIDEST = 100
"""The most columns of a page: longer lines are hard to read."""

_LINK = re.compile(r"\[([^\]]+)\]\((\w+)\.md[^)]*\)")
_OTHER_WORDS = {
    "completion": "configuration",
    "offline": "runtimes",
    "outputs": "kernel",
    "protocol": "kernel",
    "pytest": "python",
    "record": "evidence",
    "vectors": "export",
    "schema": "schema-case",
}
"""What people look for, with the topic that is shown."""

_SCHEMAS = {
    "bisect": "reporting.bisection:schema",
    "case": "corpus.schema:case_file_schema",
    "config": "commands.configured:schema",
    "defects": "corpus.defect_file:SCHEMA",
    "gate": "reporting.changes_json:schema",
    "history": "reporting.history:schema",
    "model": "reporting.model_json:schema",
    "outputs": "running.outputs:SCHEMA",
    "record": "results.storage:schema",
    "run": "reporting.json:schema",
    "trace": "evidence.tracing.trace:trace_schema",
    "vectors": "exporting.vectors:vector_file_schema",
}
"""The JSON Schemas of files: a value of a module, or a function that makes it."""

_OTHERS = {
    "config": "What holds for the keys of a configuration, and where it comes from.",
    **{f"schema-{name}": f"The JSON Schema of {'a configuration' if name == 'config' else name}." for name in _SCHEMAS},
}
"""The topics that are no pages."""


def _topics() -> list[str]:
    from maxpool_check.docs import topics

    return [*topics(), *_OTHERS]


def _topic(text: str) -> str:
    return options.one_of(_OTHER_WORDS.get(text, text), _topics(), "topic")


@options.command("docs")
@click.argument("topic", required=False, type=options.Value("TOPIC", _topic, _topics))
def command(topic: str | None) -> int:
    """Show a page of the documentation, a JSON Schema, what holds of the configuration, or how to switch completion on.

    Without a TOPIC, all are listed. A page is shown for reading on a terminal, and as Markdown in a pipe.

    \b
    Examples:
      maxpool-check docs gate
      maxpool-check docs schema-record > record.schema.json
    """
    from maxpool_check.docs import topics
    from maxpool_check.reporting.blocks import Paragraph, Table

    if topic is None:
        pages = {name: page.summary for name, page in topics().items()}
        options.show([Table(["", ""], [*{**pages, **_OTHERS}.items()])])
    elif topic in topics():
        text = topics()[topic].text
        if sys.stdout.isatty() or options.colored():
            _render(text)
        else:
            options.echo(text, nl=False)
    elif topic == "config":
        from maxpool_check.commands.configured import described

        file, rows = described()
        options.show([Paragraph(f"file: {file}"), Table(["key", "value", "from"], rows)])
    else:
        schema = imported(_SCHEMAS[topic.removeprefix("schema-")])
        options.echo(inert.dumps(schema() if callable(schema) else schema, indent=2))
    return 0


def _render(text: str) -> None:
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

    colored, width = options.colored(), min(options.width(), _WIDEST)
    Console(force_terminal=colored, no_color=not colored, width=width, highlight=False).print(
        Page(_LINK.sub(r"\1 (`maxpool-check docs \2`)", text), hyperlinks=False), crop=False
    )
