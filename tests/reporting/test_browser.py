"""The HTML pages in Chromium: nothing is loaded, filters, addresses, the keyboard, accessibility, widths, print.

Without Chromium these tests are left out; with MAXPOOL_CHECK_REQUIRES_BROWSER set, as in CI, they fail.
"""

import os
import shutil
from dataclasses import replace

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect, sync_playwright

from maxpool_check.commands import report
from maxpool_check.evidence.bundling.archive import unpacked
from maxpool_check.reporting.run_report import RunReport
from maxpool_check.reporting.site.writing import write_site
from maxpool_check.results.storage import read
from tests.conftest import ROOT, SMALL, command
from tests.reporting.test_golden import RUN, reports, trace, written
from tests.test_inert import hostile_records

WIDTHS = (390, 768, 1280, 1600)
OF_REPORTS = ("run", "graphs", "gate", "history", "bisection", "upgrade")
OF_SITE = ("index", "search", "runs/golden", "runs/hostile", "kinds/index", "cases/index")
OF_SITE_EACH = ("cases", "kinds", "runtimes", "defects", "clauses")
"""Folders of a site; a page of each is looked at."""


@pytest.fixture(scope="module")
def chromium():
    """A browser, headless."""
    path = shutil.which("chromium") or shutil.which("google-chrome")
    if path is None and os.environ.get("MAXPOOL_CHECK_REQUIRES_BROWSER"):
        pytest.fail("there is no Chromium on PATH, and MAXPOOL_CHECK_REQUIRES_BROWSER is set")
    if path is None:
        pytest.skip("there is no Chromium on PATH (Debian: apt-get install chromium): HTML pages are not tested")
    with sync_playwright() as playwright:
        # The sandbox of Chromium does not start as root, which CI often is.
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def visit(chromium):
    """Opens pages: ``visit(path, width=390)``; what they asked of any network and printed is looked at in the end."""
    pages, requests, messages = [], [], []

    def start(path, fragment="", width=1280, **options):
        page = chromium.new_context(viewport={"width": width, "height": 900}, **options).new_page()
        page.on("request", lambda request: requests.append(request.url))
        page.on("console", lambda message: messages.append(message.text))
        page.on("pageerror", lambda error: messages.append(str(error)))
        page.on("dialog", lambda dialog: (messages.append(dialog.message), dialog.dismiss()))
        page.goto(f"{path.as_uri()}{fragment}")
        pages.append(page)
        return page

    yield start
    for page in pages:
        page.context.close()
    assert [url for url in requests if not url.startswith(("file:", "data:"))] == []
    assert messages == []


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """The pages by name; those of a site are written from the golden record, a hostile one, and one of known defects."""
    folder = tmp_path_factory.mktemp("pages")
    hostile = read(hostile_records(folder)[0])
    made = {name: reports()[name] for name in OF_REPORTS} | {"hostile": (report, RunReport(hostile, 1))}
    for name, (module, each) in made.items():
        (folder / f"{name}.html").write_text(written("html", each, module), encoding="utf-8")
    assert trace("trace", "--report", f"html={folder / 'trace.html'}").code == 1
    (folder / "small.yaml").write_text(SMALL)
    command("run", "small.yaml", "-q", "-o", "small.jsonl", cwd=folder)
    done = command("evidence", "build", "small.jsonl", "--cases", "small.yaml", "-o", "evidence.tar", cwd=folder)
    assert done.code == 0, done.err
    (folder / "evidence.html").write_bytes(unpacked(folder / "evidence.tar")["index.html"])
    known = read(ROOT / "reports/jax-0.10.2.jsonl.xz")
    known = replace(known, executions=tuple(each for each in known.executions if each.known))
    write_site([("golden", RUN), ("hostile", hostile), ("known", known)], [], folder / "site")
    paths = {path.stem: path for path in folder.glob("*.html")}
    paths |= {f"site/{name}": folder / f"site/{name}.html" for name in OF_SITE}
    for part in OF_SITE_EACH:
        each = sorted((folder / "site" / part).rglob("*.html"))
        paths[f"site/{part}"] = next(path for path in each if path.stem != "index")
    return paths


def check_accessible(page):
    """axe finds nothing."""
    found = Axe().run(page, options={"resultTypes": ["violations"], "preload": False})
    assert found.violations_count == 0, found.generate_report()


EVERY = (
    *OF_REPORTS, "hostile", "trace", "evidence", *(f"site/{name}" for name in OF_SITE + OF_SITE_EACH if name != "runs/hostile"),
)  # fmt: skip
ALIKE = ("graphs", "hostile", "site/runs/golden", "site/kinds/index", "site/kinds", "site/runtimes")
"""Pages of the same template as others, which axe need not look at again."""


@pytest.mark.parametrize("name", EVERY)
def test_a_page_is_accessible_and_does_not_scroll_sideways(pages, visit, name):
    page = visit(pages[name])
    if name not in ALIKE:
        check_accessible(page)
    page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_a_page_is_accessible_in_dark_colours_and_is_one_file(pages, visit):
    page = visit(pages["gate"], color_scheme="dark")
    check_accessible(page)
    assert page.evaluate("performance.getEntriesByType('resource').length") == 0


def shown(page):
    return page.locator("article.card:visible")


def names(page):
    return [each.get_attribute("data-name") for each in shown(page).all()]


def focused(page):
    return page.evaluate("document.activeElement.id || document.activeElement.name || document.activeElement.tagName")


def search(page, text):
    page.get_by_role("searchbox", name="Search").fill(text)


@pytest.mark.parametrize(("name", "part", "value"), [("graphs", "severity", "limit"), ("gate", "change", "regressed")])
def test_a_search_goes_into_the_address_and_comes_from_it(pages, visit, name, part, value):
    page = visit(pages[name])
    every = shown(page).count()
    search(page, value)
    assert page.evaluate("location.hash") == f"#search={value}"
    assert 0 < len(names(page)) < every
    assert value in {each.get_attribute(f"data-{part}") for each in shown(page).all()}
    again = visit(pages[name], f"#search={value}")
    assert names(again) == names(page)
    assert again.get_by_role("searchbox", name="Search").input_value() == value
    again.locator("#filtered").get_by_role("button", name="Clear").click()
    again.wait_for_function("!location.hash")
    assert shown(again).count() == every


def test_words_hold_together_and_links_keep_the_search(pages, visit):
    page = visit(pages["graphs"], "#search=float64")
    rows = page.locator("article.card:visible table.rows tbody tr:not([hidden])")
    assert {row.locator("td").nth(3).text_content() for row in rows.all()} == {"float64"}
    search(page, "float64 seed-kept")
    assert set(names(page)) == {"ORT-SEED-KEPT"}
    page.locator("table.overview tr:visible a").first.click()
    assert page.evaluate("location.hash").startswith("#search=float64+seed-kept&at=fault-")
    again = visit(pages["graphs"], page.evaluate("location.hash"))
    assert focused(again) == focused(page)
    again.locator("nav a", has_text="Environment").click()
    assert again.evaluate("location.hash") == "#search=float64+seed-kept&at=environment"
    # A link to a search replaces it.
    link = again.locator("table.cards a[href^='#search=onnx-']").first
    link.click()
    expect(again.get_by_role("searchbox", name="Search")).to_have_value(link.text_content())


def test_text_is_searched_and_what_is_found_is_said_in_print_too(pages, visit):
    page = visit(pages["graphs"])
    search(page, "-3.4028235E")
    assert shown(page).count()
    assert all("-3.4028235e" in each.text_content().lower() for each in shown(page).all())
    search(page, "nothing says this")
    assert shown(page).count() == 0
    assert page.locator("#count").text_content().startswith("0 of ")
    page = visit(pages["graphs"], "#search=onnx-22")
    shown(page).last.scroll_into_view_if_needed()
    notice = page.locator("#filtered")
    assert " faults with onnx-22." in notice.text_content()
    assert notice.evaluate("(each) => each.getBoundingClientRect().top") < 100
    page.emulate_media(media="print")
    assert notice.is_visible()


def test_on_a_phone_tables_are_cards_and_the_first_finding_is_near_the_top(pages, visit):
    page = visit(pages["run"], width=390)
    assert page.evaluate("getComputedStyle(document.querySelector('table.rows td')).display") == "block"
    assert shown(page).first.evaluate("(each) => each.getBoundingClientRect().top") < 1500
    figures = [each.text_content().split() for each in page.locator(".figures li").all()]
    assert [noun for *_, noun in figures] == ["new", "known", "conform"]


@pytest.mark.parametrize(("case", "conforms"), [("small:neg-inf", False), ("small:ordinary", True)])
def test_the_address_of_a_case_shows_it(pages, visit, case, conforms):
    page = visit(pages["run"], f"#search={case}")
    current = page.locator(".current:visible")
    assert any(case.rpartition(":")[2] in each.text_content() for each in current.all())
    tops = [each.evaluate("(each) => each.getBoundingClientRect().top") for each in current.all()]
    assert any(0 <= top < 900 for top in tops)
    assert (f"{case} is listed under: " in page.locator("#count").text_content()) == conforms


def test_keys_go_to_the_next_and_the_previous_finding(pages, visit):
    page = visit(pages["run"])
    ids = [each.get_attribute("id") for each in shown(page).all()]
    for key, expected in (("n", ids[0]), ("n", ids[1]), ("n", ids[2]), ("p", ids[1]), ("/", "search"), ("n", "search")):
        page.keyboard.press(key)
        assert focused(page) == expected
    page.keyboard.press("Escape")
    assert focused(page) == "BODY"


def test_copying_a_command(pages, visit):
    page = visit(pages["run"], permissions=["clipboard-read", "clipboard-write"])
    line = page.locator(".card .command").first
    line.get_by_role("button", name="Copy").click()
    line.get_by_role("button", name="Copied").wait_for()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied == line.locator("code").text_content()
    assert copied.startswith("maxpool-check run ")


def test_without_javascript_and_in_print_everything_can_be_read(pages, visit):
    page = visit(pages["run"], java_script_enabled=False)
    assert shown(page).count() == page.locator("article.card").count() > 2
    assert not page.locator("#filters").is_visible()
    assert page.locator("button:visible").count() == 0
    page.locator("details.cases summary").first.click()
    assert page.locator("details.cases table").first.is_visible()
    page = visit(pages["run"], color_scheme="dark")
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert not page.locator("nav").is_visible()
    assert shown(page).count() > 2
    # What is folded on the screen is on paper.
    assert page.locator("details.conforming .names").first.is_visible()
    assert page.locator("details.cases table").first.is_visible()


def test_the_search_of_a_site_finds_its_pages(pages, visit):
    page = visit(pages["site/index"])
    page.get_by_role("searchbox", name="Search").fill("neg-inf")
    page.keyboard.press("Enter")
    page.wait_for_url("**/search.html?q=neg-inf")
    assert page.locator("#results a").count()
    assert all("neg-inf" in each.text_content() for each in page.locator("#results li").all())
    page.locator("#results a[href^='cases/']").first.click()
    page.wait_for_url("**/cases/**")
    page.get_by_role("link", name="JSON").wait_for()


@pytest.mark.parametrize("name", ["hostile", "site/index", "site/runs/hostile", "site/cases/index"])
def test_hostile_text_stays_text(pages, visit, name):
    page = visit(pages[name])
    assert page.locator("img, iframe, object").count() == 0
    assert page.locator("script").count() <= 1
    assert "<script>alert(1)</script>" in page.locator("body").text_content()
    assert "\x1b" not in page.content()
    assert "\u202e" not in page.content()
    if name == "hostile":
        assert page.locator("a:not([href^='#']), form:not(#filters)").count() == 0
