"""Pages from Jinja2 templates: everything that is printed is escaped, styles and scripts are inside, nothing is loaded."""

import hashlib
from base64 import b64encode
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import maxpool_check
from maxpool_check import inert
from maxpool_check.reporting.findings import sentence
from maxpool_check.reporting.tensors import coordinates, window_text
from maxpool_check.reporting.windows import LEGEND

if TYPE_CHECKING:
    from jinja2 import Environment

_FOLDER = Path(__file__).parent / "templates"


def write_page(template: str, file: TextIO, values: Mapping[str, Any]) -> None:
    """Write the page of a template, one file with its style and script, piece by piece."""
    style, script = asset("style.css"), asset("script.js")
    page = _environment().get_template(template)
    policy = (
        f"default-src 'none'; style-src '{_digest(style)}'; script-src '{_digest(script)}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    common = {"style": style, "script": script, "policy": policy, "version": maxpool_check.__version__}
    for piece in page.generate(**common, **values):
        file.write(piece)
    file.write("\n")


@cache
def asset(name: str) -> str:
    """The text of a file beside the templates."""
    return (_FOLDER / name).read_text(encoding="utf-8")


def slug(text: str) -> str:
    """The text as an id of an element: letters, digits, dots and hyphens."""
    return "".join(char if char.isascii() and (char.isalnum() or char in ".-_") else "-" for char in text)


def _digest(text: str) -> str:
    """The source of a Content-Security-Policy that allows exactly this text."""
    return f"sha256-{b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


@cache
def _environment() -> "Environment":
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
    }  # fmt: skip
    environment.globals["legend"] = LEGEND
    return environment
