"""The documentation as pages of a site: a page for each topic, links that stay in the site, and no markup of others."""

import re

import pytest

from maxpool_check.docs import anchor, topics
from maxpool_check.reporting.site.documentation import html_of
from tests.conftest import ROOT, command


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site") / "site"
    done = command("report", ROOT / "tests/data/golden/record.jsonl", "-o", folder)
    assert done.code == 0, done.err
    return folder


def test_every_topic_has_a_page_that_the_navigation_leads_to(site):
    assert {path.stem for path in (site / "docs").glob("*.html")} == topics().keys() | {"index"}
    for page in ("index.html", "kinds/index.html", "docs/gate.html"):
        assert re.search(r'<header.*href="(\.\./)?docs/index\.html"', (site / page).read_text(), re.DOTALL), page
    listed = (site / "docs/index.html").read_text()
    for name, topic in topics().items():
        assert f'href="../docs/{name}.html"' in listed
        assert topic.title in (site / f"docs/{name}.html").read_text()


def test_links_lead_to_pages_kinds_and_defects_of_the_site(site):
    verdicts = (site / "docs/verdicts.html").read_text()
    assert '<a href="../kinds/y-lowest-for-neg-inf.html"><code>y-lowest-for-neg-inf</code></a>' in verdicts
    assert '<a href="gate.html">' in verdicts
    assert '<a href="../kinds/index.html">' in verdicts
    faq = (site / "docs/faq.html").read_text()
    assert f'href="verdicts.html#{anchor("Open points")}"' in faq
    assert 'id="open-points"' in verdicts
    # The site does not hold the repository.
    assert "CONTRIBUTING.md" not in (site / "docs/evidence.html").read_text()


def test_a_page_keeps_the_policy_of_the_site_and_has_no_notes_for_writers(site):
    text = (site / "docs/model.html").read_text()
    assert "default-src 'none'" in text
    assert "<script" not in text
    assert "given:" not in text
    assert "style=" not in text


@pytest.mark.parametrize(
    "markdown",
    [
        "<script>alert(1)</script>",
        "text <img src=x onerror=alert(1)> text",
        "[link](javascript:alert(1))",
        "![picture](https://example.org/a.png)",
        "```<script>\n<script>alert(1)</script>\n```",
        '```"onclick="x\ntext\n```',
        "`<script>`",
        "[link](../../../etc/passwd)",
    ],
)
def test_nothing_is_markup_but_what_markdown_makes(markdown):
    html = str(html_of(markdown))
    assert not re.search(r"<(script|img)|<[^>]*(onerror|onclick)=|href=", html), html


def test_every_column_of_a_table_has_a_head(site):
    # As axe asks, which opens one of the pages in a browser.
    for path in (site / "docs").glob("*.html"):
        assert not re.search(r"<th[^>]*></th>", path.read_text()), path.name
