"""Blocks as a page of HTML, one file that loads nothing: ``blocks.html`` has a macro for each block.

Everything that is printed is made inert and escaped by the environment; style and script are inside, by their digests.
"""

import hashlib
from base64 import b64encode
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import maxpool_check
from maxpool_check import inert
from maxpool_check.reporting.blocks import Document, Section, plain, slug, spans
from maxpool_check.reporting.drawing import LEGEND, coordinates, window_text

if TYPE_CHECKING:
    from jinja2 import Environment

_FOLDER = Path(__file__).parent / "templates"


def write(document: Document, file: TextIO, *, site: str = "") -> None:
    """Write a report as a page, with everything; ``site`` is the address of the site that it belongs to, relative to it."""
    style, script = asset("style.css"), asset("script.js")
    policy = (
        f"default-src 'none'; style-src '{source_of(style)}'; script-src '{source_of(script)}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    # For its navigation: address, title and number.
    sections = [
        (block.anchor or slug(plain(block.title)), block.short or plain(block.title), block.number)
        for block in document.blocks
        if isinstance(block, Section)
    ]
    values = {"document": document, "sections": sections, "style": style, "script": script, "policy": policy}
    render_page("page.html", file, values | {"site": site})


def render_page(template: str, file: TextIO, values: Mapping[str, Any]) -> None:
    """Write the page of a template that says itself where its style and script are."""
    for piece in _environment().get_template(template).generate(version=maxpool_check.__version__, **values):
        file.write(piece)
    file.write("\n")


@cache
def asset(name: str) -> str:
    """The text of a file beside the templates."""
    return (_FOLDER / name).read_text(encoding="utf-8")


def source_of(text: str) -> str:
    """The source of a Content-Security-Policy that allows exactly this text."""
    return f"sha256-{b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


@cache
def _environment() -> "Environment":
    # Only those who write HTML wait for it.
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup

    def shown(value: Any) -> Any:
        return value if isinstance(value, Markup) or not isinstance(value, str) else inert.block(value)

    loader = FileSystemLoader(_FOLDER)
    environment = Environment(
        loader=loader, autoescape=True, undefined=StrictUndefined, finalize=shown, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= {
        "slug": slug,
        "coordinates": coordinates,
        "window_text": window_text,
        "plain": plain,
        "spans": lambda text: list(spans(text)),
        "kind": lambda block: type(block).__name__,
    }
    environment.globals["legend"] = LEGEND
    return environment
