"""The pages of the documentation as pages of a site: Markdown to HTML, of which nothing is markup but what Markdown makes."""

import posixpath
import re
from collections.abc import Collection, Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from maxpool_check.docs import anchor, topics
from maxpool_check.reporting.blocks import Document, Inline, Span, Table
from maxpool_check.reporting.site.pages import Page, address

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

FOLDER = "docs"

_ELSEWHERE = {"reports/kinds.md": "kinds/index.html", "reports/defects/README.md": "index.html#defects-heading"}
"""Files of the repository that are pages of a site, too."""


def documentation(names: Collection[str]) -> Iterator[Page]:
    """A page for each topic, and one that lists them. ``names`` are the kinds and defects that the site has pages of."""
    rows: list[list[Inline]] = [
        [Span(topic.title, href=f"../{address(FOLDER, topic.name)}"), topic.summary] for topic in topics().values()
    ]
    listed = Document("", "Documentation", [], [Table(["page", "about"], rows, label="Documentation")])
    yield Page(f"{FOLDER}/index.html", "list", listed)
    for topic in topics().values():
        document, html = Document("Documentation", topic.title, [], []), html_of(topic.text, names)
        yield Page(address(FOLDER, topic.name), "documentation", document, topic.summary, html=html)


def html_of(text: str, names: Collection[str] = ()) -> Any:
    """The HTML of a page, for a template. Links lead to pages of the site, or are left out if it has none."""
    from markupsafe import Markup

    markdown = _markdown()
    tokens = [token for token in markdown.parse(text) if token.type != "html_block"]
    for number, token in enumerate(tokens):
        if token.type == "heading_open":
            token.attrSet("id", anchor(tokens[number + 1].content))
        elif token.attrs.pop("style", None):
            # Numbers are aligned by the style sheet: the policy of a page forbids styles of elements.
            token.attrSet("class", "number")
        elif token.type == "inline":
            token.children = list(_inline(token.children or [], names))
    return Markup(markdown.renderer.render(tokens, markdown.options, {}))


def _inline(tokens: Sequence["Token"], names: Collection[str]) -> Iterator["Token"]:
    from markdown_it.token import Token

    open_links: list[bool] = []
    for token in tokens:
        if token.type == "link_open":
            place = _place(str(token.attrGet("href")))
            open_links.append(place is not None)
            if place is None:
                continue
            token.attrSet("href", place)
        elif token.type == "link_close" and not open_links.pop():
            continue
        elif token.type == "code_inline" and token.content in names and not any(open_links):
            folder = "kinds" if token.content.islower() else "defects"
            yield Token("link_open", "a", 1, attrs={"href": f"../{address(folder, token.content)}"})
            yield token
            yield Token("link_close", "a", -1)
            continue
        elif token.type in ("html_inline", "image"):
            continue
        yield token


def _place(link: str) -> str | None:
    """Where a link of a page leads on a site, relative to the page; None if the site does not have it."""
    if re.match("https?:", link) or link.startswith("#"):
        return link
    name, hash_sign, fragment = link.partition("#")
    path = posixpath.normpath(posixpath.join("maxpool_check/docs", name))
    topic = posixpath.basename(path).removesuffix(".md")
    if posixpath.dirname(path) == "maxpool_check/docs" and topic in topics():
        return f"{topic}.html{hash_sign}{fragment}"
    return f"../{_ELSEWHERE[path]}" if path in _ELSEWHERE else None


@cache
def _markdown() -> "MarkdownIt":
    from markdown_it import MarkdownIt

    markdown = MarkdownIt("commonmark").enable("table")
    # What may be wider than the page is scrolled alone, with the keyboard as well.
    markdown.add_render_rule(
        "table_open", lambda *_: '<div class="scroll" role="group" aria-label="Table" tabindex="0"><table>\n'
    )
    markdown.add_render_rule("table_close", lambda *_: "</table></div>\n")
    markdown.add_render_rule("fence", _fence)
    return markdown


def _fence(_renderer: Any, tokens: Sequence["Token"], number: int, *_: Any) -> str:
    from markupsafe import escape

    found = re.match(r"\w+", tokens[number].info)
    language = found[0] if found else "text"
    return (
        f'<pre tabindex="0" role="group" aria-label="{language}"><code>{escape(tokens[number].content)}</code></pre>\n'
    )
