"""Pages from Jinja2 templates: everything that is printed is escaped, styles and scripts are inside, nothing is loaded."""

import hashlib
from base64 import b64encode
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import maxpool_check
from maxpool_check import inert
from maxpool_check.reporting.drawing import LEGEND, coordinates, window_text
from maxpool_check.reporting.findings import sentence
from maxpool_check.reporting.provenance import made_with

if TYPE_CHECKING:
    from jinja2 import Environment

_FOLDER = Path(__file__).parent / "templates"


Filters = Mapping[str, Callable[[Any], Any]]
"""Functions that the templates of a site call by name beside those of every page."""


def write_page(template: str, file: TextIO, values: Mapping[str, Any], filters: Filters | None = None) -> None:
    """Write the page of a template, one file with its style and script, piece by piece.

    ``site`` among the values is the address of the site that the page belongs to, relative to it.
    """
    style, script = asset("style.css"), asset("script.js")
    policy = (
        f"default-src 'none'; style-src '{source_of(style)}'; script-src '{source_of(script)}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    common = {"style": style, "script": script, "policy": policy, "site": ""}
    render_page(template, file, {**common, **values}, filters or {})


def render_page(template: str, file: TextIO, values: Mapping[str, Any], filters: Filters) -> None:
    """Write the page of a template that says itself where its style and script are."""
    page = _environment(tuple(filters.items())).get_template(template)
    for piece in page.generate(version=maxpool_check.__version__, **values):
        file.write(piece)
    file.write("\n")


@cache
def asset(name: str) -> str:
    """The text of a file beside the templates."""
    return (_FOLDER / name).read_text(encoding="utf-8")


def slug(text: str) -> str:
    """The text as an id of an element: letters, digits, dots and hyphens."""
    return "".join(char if char.isascii() and (char.isalnum() or char in ".-_") else "-" for char in text)


def source_of(text: str) -> str:
    """The source of a Content-Security-Policy that allows exactly this text."""
    return f"sha256-{b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


@cache
def _environment(filters: tuple[tuple[str, Callable[[Any], str]], ...]) -> "Environment":
    # Only those who write HTML wait for it.
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup

    def shown(value: Any) -> Any:
        return value if isinstance(value, Markup) or not isinstance(value, str) else inert.block(value)

    environment = Environment(
        loader=FileSystemLoader(_FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=shown,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "slug": slug, "coordinates": coordinates, "window_text": window_text, "sentence": sentence,
        "made_with": lambda header, targets: list(made_with(header, targets)), **dict(filters),
    }  # fmt: skip
    environment.globals["legend"] = LEGEND
    return environment
