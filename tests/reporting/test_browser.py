"""The HTML pages in Chromium: nothing is loaded, filters and their addresses, the keyboard, accessibility, widths, print.

Without Chromium these tests are left out; with MAXPOOL_CHECK_REQUIRES_BROWSER set, as in CI, they fail.
"""

import os
import shutil
from collections import defaultdict
from dataclasses import replace

import msgspec
import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import sync_playwright

from maxpool_check.commands.report import FORMATS
from maxpool_check.comparing.bisection import Boundary, Observation
from maxpool_check.comparing.gate import compare_targets
from maxpool_check.evidence.bundling.archive import unpacked
from maxpool_check.reporting.bisection import BisectionReport
from maxpool_check.reporting.changes import ComparisonReport
from maxpool_check.reporting.history import HistoryReport, Release
from maxpool_check.reporting.run_report import RunReport
from maxpool_check.reporting.site.writing import write_site
from maxpool_check.reporting.writers import write_html
from maxpool_check.results.storage import read
from tests.conftest import KERNELS, ROOT, SMALL, command
from tests.models import zoo
from tests.models.writing import saved
from tests.report_matrix import record_at
from tests.test_inert import HOSTILE

GOLDEN = ROOT / "tests/data/golden/record.jsonl"
WHOLE = ROOT / "reports/onnxruntime-1.23.2-cpu.jsonl.xz"
WIDTHS = (390, 768, 1280, 1600)


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


class Visit:
    """A page that is open, and what it asked of any network and printed on its console."""

    def __init__(self, page):
        self.page, self.requests, self.messages = page, [], []
        page.on("request", lambda request: self.requests.append(request.url))
        page.on("console", lambda message: self.messages.append(message.text))
        page.on("pageerror", lambda error: self.messages.append(str(error)))
        page.on("dialog", lambda dialog: (self.messages.append(dialog.message), dialog.dismiss()))

    def open(self, path, fragment=""):
        self.page.goto(f"{path.as_uri()}{fragment}")
        return self.page


@pytest.fixture
def visit(chromium):
    """Opens pages: ``visit(width=390)``; what they asked for and printed is looked at in the end."""
    visits = []

    def start(width=1280, **options):
        context = chromium.new_context(viewport={"width": width, "height": 900}, **options)
        visits.append(Visit(context.new_page()))
        return visits[-1]

    yield start
    for each in visits:
        assert [url for url in each.requests if not url.startswith(("file:", "data:"))] == []
        assert each.messages == []
        each.page.context.close()


def html(record, path):
    with path.open("w", encoding="utf-8") as file:
        FORMATS["html"](RunReport(record, record.footer.exit_code), file)
    return path


def _hostile(value):
    """A record whose every free text is hostile."""
    if isinstance(value, msgspec.Struct):
        kept = (
            "verdict",
            "status",
            "severity",
            "target",
            "name",
            "dtype",
            "spec",
            "started",
            "output",
            "kind",
            "kinds",
        )
        changed = {name: _hostile(getattr(value, name)) for name in value.__struct_fields__ if name not in kept}
        return msgspec.structs.replace(value, **changed)
    if type(value) is str:
        return HOSTILE if value else value
    if isinstance(value, tuple | list):
        return type(value)(map(_hostile, value))
    return value


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """The pages by name; those of a site are written from the golden record and the hostile one."""
    folder, golden = tmp_path_factory.mktemp("pages"), read(GOLDEN)
    hostile = replace(
        golden, header=_hostile(golden.header), executions=tuple(map(_hostile, golden.executions)),
        footer=msgspec.structs.replace(golden.footer, known=tuple(map(_hostile, golden.footer.known))),
    )  # fmt: skip
    records = {"run": golden, "corpus": record_at(WHOLE), "hostile": hostile}
    paths = {name: html(record, folder / f"{name}.html") for name, record in records.items()}
    old, new = (target.name for target in golden.header.targets)
    comparison = compare_targets(golden, golden, (old, new))
    releases = [Release(f"1.{number}.0", record_of_one(golden, name)) for number, name in enumerate((old, new), 1)]
    execution = next(each for each in golden.executions if each.cells)
    bisection = BisectionReport(
        execution.case, "", execution.origin, HOSTILE, old, "indices", None, ["1.0.0", "2.0.0"],
        {0: Observation("a", execution), 1: Observation("b", next(iter(golden.executions)))}, [Boundary(0, 1)], {"3.0.0": HOSTILE},
    )  # fmt: skip
    reports = {
        "compare": ComparisonReport("gate", [comparison]),
        "history": HistoryReport("onnxruntime", [*releases, Release("1.3.0", None, HOSTILE)]),
        "bisect": bisection,
    }
    for name, report in reports.items():
        paths[name] = folder / f"{name}.html"
        with paths[name].open("w", encoding="utf-8") as file:
            write_html(report, file)
    paths["model"] = folder / "model.html"
    kernels = [f"python:{KERNELS}:{name}" for name in ("right", "pads_with_zero")]
    made = saved(zoo.plain(), folder, "model.onnx")
    done = command("model", made, "--base", kernels[0], "--head", kernels[1], "--report", f"html={paths['model']}")
    assert done.code == 1, done.err
    paths["evidence"] = entry_of_a_bundle(folder)
    paths["trace"] = folder / "trace.html"
    done = command("evidence", "trace", "corpus:sonnx", "--record", GOLDEN, "--report", f"html={paths['trace']}")
    assert done.code == 4, done.err
    known = read(ROOT / "reports/jax-0.10.2.jsonl.xz")
    known = replace(known, executions=tuple(each for each in known.executions if each.known))
    write_site([("golden", golden), ("hostile", hostile), ("known", known)], [], folder / "site")
    for name in ("index", "search", "runs/golden", "runs/hostile", "kinds/index", "clauses/index", "cases/index"):
        paths[f"site-{name.replace('/', '-')}"] = folder / f"site/{name}.html"
    for part in ("cases", "kinds", "runtimes", "defects", "clauses"):
        paths[f"site-{part}"] = next(
            path for path in sorted((folder / "site" / part).rglob("*.html")) if path.stem != "index"
        )
    return paths


def entry_of_a_bundle(folder):
    """The entry page of a bundle of evidence; what it leads to is not there."""
    (folder / "small.yaml").write_text(SMALL)
    for words in (
        ("run", "small.yaml", "-t", "onnxruntime", "-q", "-o", "small.jsonl"),
        ("evidence", "build", "small.jsonl", "--cases", "small.yaml", "-o", "evidence.tar"),
    ):
        done = command(*words, cwd=folder)
        assert done.code in (0, 1), done.err
    (folder / "evidence.html").write_bytes(unpacked(folder / "evidence.tar")["index.html"])
    return folder / "evidence.html"


def record_of_one(record, target):
    """The record of one of its targets."""
    [description] = [each for each in record.header.targets if each.name == target]
    executions = tuple(each for each in record.executions if each.target == target)
    return replace(record, header=msgspec.structs.replace(record.header, targets=(description,)), executions=executions)


ALL = (
    "run", "corpus", "hostile", "model", "compare", "history", "bisect", "evidence", "trace", "site-index", "site-search",
    "site-runs-golden",
    "site-kinds-index", "site-cases", "site-kinds", "site-runtimes", "site-defects", "site-clauses",
)  # fmt: skip


DARK = ("run", "compare", "site-index")
"""Pages that are checked in dark colours; the style sheet is one."""

ALIKE = (
    "corpus",
    "hostile",
    "site-runs-golden",
    "site-runs-hostile",
    "site-kinds-index",
    "site-kinds",
    "site-runtimes",
)
"""Pages of the same template as others, which axe need not look at again."""


@pytest.mark.parametrize("name", ALL)
def test_a_page_asks_for_nothing_is_accessible_and_does_not_scroll_sideways(pages, visit, name):
    visited = visit()
    page = visited.open(pages[name])
    if name not in ALIKE:
        check_accessible(page)
    page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    files = [url for url in visited.requests if url.startswith("file:")]
    assert files[0] == pages[name].as_uri()
    if not name.startswith("site-"):
        assert len(files) == 1


def check_accessible(page):
    """axe finds nothing."""
    found = Axe().run(page, options={"resultTypes": ["violations"], "preload": False})
    assert found.violations_count == 0, found.generate_report()


@pytest.mark.parametrize("name", DARK)
def test_a_page_is_accessible_in_dark_colours(pages, visit, name):
    check_accessible(visit(color_scheme="dark").open(pages[name]))


def shown(page):
    return page.locator("article.finding:visible")


def test_a_filter_goes_into_the_address_and_comes_from_it(pages, visit):
    page = visit().open(pages["corpus"])
    every = shown(page).count()
    page.get_by_role("combobox", name="severity").select_option("wrong-on-special")
    assert page.evaluate("location.hash") == "#severity=wrong-on-special"
    chosen = [each.get_attribute("data-name") for each in shown(page).all()]
    assert 0 < len(chosen) < every
    assert {each.get_attribute("data-severity") for each in shown(page).all()} == {"wrong-on-special"}
    again = visit().open(pages["corpus"], "#severity=wrong-on-special")
    assert [each.get_attribute("data-name") for each in shown(again).all()] == chosen
    assert again.get_by_role("combobox", name="severity").input_value() == "wrong-on-special"
    again.locator("#filtered").get_by_role("button", name="Clear").click()
    again.wait_for_function("!location.hash")
    assert shown(again).count() == every


def test_filters_hold_together(pages, visit):
    page = visit().open(pages["corpus"], "#kind=y-lowest-for-neg-inf&dtype=float64")
    rows = page.locator("table.rows tbody tr:not([hidden])")
    assert {row.locator("td").nth(3).text_content() for row in rows.all()} == {"float64"}
    assert all("y-lowest-for-neg-inf" in each.get_attribute("data-kinds").split() for each in shown(page).all())
    cases = {row.locator("a").first.text_content() for row in rows.all()}
    assert f": {len(cases)} of " in page.locator("#count").text_content()


def test_links_add_to_the_filters_and_keep_them(pages, visit):
    page = visit().open(pages["corpus"], "#dtype=float64")
    page.locator("table.summary a", has_text="wrong-on-special").click()
    assert page.evaluate("location.hash") == "#dtype=float64&severity=wrong-on-special"
    link = page.locator("table.overview tr:visible a").first
    link.click()
    assert page.evaluate("location.hash").startswith("#severity=wrong-on-special&dtype=float64&at=finding-")
    chosen = focused(page)
    again = visit().open(pages["corpus"], page.evaluate("location.hash"))
    assert focused(again) == chosen
    again.locator("nav a", has_text="Environment").click()
    assert again.evaluate("location.hash") == "#severity=wrong-on-special&dtype=float64&at=environment"
    # A finding whose example the filters exclude says so.
    for finding in shown(again).all():
        is_float64 = " float64 " in finding.locator(".settings").text_content()
        assert finding.locator(".example-note").is_visible() == (not is_float64)


def test_what_is_filtered_is_said_wherever_the_page_is_scrolled_to_and_in_print(pages, visit):
    page = visit().open(pages["corpus"], "#document=sonnx")
    page.locator("article.finding:visible").last.scroll_into_view_if_needed()
    notice = page.locator("#filtered")
    assert "Filtered by document sonnx: " in notice.text_content()
    assert notice.evaluate("(each) => each.getBoundingClientRect().top") < 100
    page.emulate_media(media="print")
    assert notice.is_visible()


def test_a_value_that_the_page_does_not_have_shows_nothing(pages, visit):
    page = visit().open(pages["corpus"], "#kind=y-of-another-record")
    assert shown(page).count() == 0
    assert page.get_by_role("combobox", name="kind").input_value() == "y-of-another-record"


def test_text_is_searched(pages, visit):
    page = visit().open(pages["corpus"])
    page.get_by_role("searchbox", name="text").fill("-3.4028235E")
    assert shown(page).count()
    assert all("-3.4028235e" in each.text_content().lower() for each in shown(page).all())
    page.get_by_role("searchbox", name="text").fill("nothing says this")
    assert shown(page).count() == 0
    assert ": 0 of " in page.locator("#count").text_content()


@pytest.mark.parametrize("status", ["diverges", "conforms"])
def test_the_address_of_a_case_shows_it(pages, visit, status):
    verdicts = defaultdict(set)
    for execution in read(WHOLE).executions:
        verdicts[execution.case].add(execution.verdict.value)
    case = next(case for case, found in verdicts.items() if found == {status})
    page = visit().open(pages["corpus"], f"#case={case}")
    current = page.locator(".current:visible")
    assert any(case.rpartition(":")[2] in each.text_content() for each in current.all())
    top = current.last.evaluate("(each) => each.getBoundingClientRect().top")
    assert 0 <= top < 900
    if status == "conforms":
        assert f"{case} is listed under: " in page.locator("#count").text_content()


def focused(page):
    return page.evaluate("document.activeElement.id || document.activeElement.name || document.activeElement.tagName")


def test_keys_go_to_the_next_and_the_previous_finding(pages, visit):
    page = visit().open(pages["run"])
    ids = [each.get_attribute("id") for each in shown(page).all()]
    assert len(ids) > 2
    for key, expected in (("n", 0), ("n", 1), ("n", 2), ("p", 1)):
        page.keyboard.press(key)
        assert focused(page) == ids[expected]
    page.keyboard.press("/")
    assert focused(page) == "text"
    page.keyboard.type("n")
    assert focused(page) == "text"
    page.keyboard.press("Escape")
    assert focused(page) == "BODY"


def test_tab_reaches_whatever_can_be_used(pages, visit):
    page = visit().open(pages["run"])
    usable = page.evaluate(
        """() => {
          const all = [...document.querySelectorAll("a[href], button, summary, select, input, [tabindex='0']")];
          const seen = all.filter((each) => each.checkVisibility());
          seen.forEach((each, number) => { each.dataset.number = number; });
          return seen.length;
        }"""
    )
    reached = set()
    for _ in range(usable + 1):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement.dataset.number"))
    assert {str(number) for number in range(usable)} <= reached
    first = page.locator("summary:visible").first
    first.focus()
    page.keyboard.press("Enter")
    assert first.evaluate("(each) => each.parentElement.open")


def test_copying_a_command(pages, visit):
    visited = visit(permissions=["clipboard-read", "clipboard-write"])
    page = visited.open(pages["run"])
    command = page.locator(".finding .command").first
    command.get_by_role("button", name="Copy").click()
    command.get_by_role("button", name="Copied").wait_for()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied == command.locator("code").text_content()
    assert copied.startswith("maxpool-check run ")


def test_without_javascript_everything_can_be_read(pages, visit):
    page = visit(java_script_enabled=False).open(pages["run"])
    record = read(GOLDEN)
    assert shown(page).count() == page.locator("article.finding").count() > 2
    assert not page.locator("#filters").is_visible()
    assert page.locator("button:visible").count() == 0
    page.locator("details.cases summary").first.click()
    assert page.locator("details.cases table").first.is_visible()
    text = page.locator("body").text_content()
    assert all(target.name in text for target in record.header.targets)


def test_print(pages, visit):
    page = visit(color_scheme="dark").open(pages["run"])
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert not page.locator("nav").is_visible()
    assert shown(page).count() > 2
    # What is folded on the screen is on paper.
    assert page.locator("details.conforming .names").first.is_visible()
    assert page.locator("details.cases table").first.is_visible()
    assert page.pdf().startswith(b"%PDF-")


def test_the_search_of_a_site_finds_its_pages(pages, visit):
    page = visit().open(pages["site-index"])
    page.get_by_role("searchbox", name="Search").fill("neg-inf")
    page.keyboard.press("Enter")
    page.wait_for_url("**/search.html?q=neg-inf")
    assert page.locator("#results a").count()
    assert all("neg-inf" in each.text_content() for each in page.locator("#results li").all())
    page.locator("#results a[href^='cases/']").first.click()
    page.wait_for_url("**/cases/**")
    page.get_by_role("link", name="JSON").wait_for()


def test_the_page_of_a_model_decides_on_each_node_and_draws_what_is_wrong(pages, visit):
    page = visit().open(pages["model"])
    assert page.locator(".verdict").text_content().startswith("BLOCK ")
    row = page.locator("#nodes tbody tr").first
    assert [each.text_content() for each in row.locator(".tone").all()] == [
        "conforms",
        "WRONG y-pad-value-leak",
        "BLOCK",
    ]
    assert page.locator("#wrong svg.plane").count()
    assert shown(page).first.locator(".badges").text_content().startswith("WRONG wrong-on-finite")


def test_a_filter_of_changes(pages, visit):
    page = visit().open(pages["compare"])
    every = shown(page).count()
    [change] = {each.get_attribute("data-change") for each in shown(page).all()[:1]}
    page.get_by_role("combobox", name="change").select_option(change)
    assert page.evaluate("location.hash") == f"#change={change}"
    assert 0 < shown(page).count() <= every
    assert {each.get_attribute("data-change") for each in shown(page).all()} == {change}


@pytest.mark.parametrize("name", ["history", "bisect", "site-index", "site-runs-hostile", "site-cases-index"])
def test_hostile_text_stays_text_on_any_page(pages, visit, name):
    page = visit().open(pages[name])
    assert page.locator("img, iframe, object").count() == 0
    assert page.locator("script").count() <= 1
    assert "<script>alert(1)</script>" in page.locator("body").text_content()
    assert "\x1b" not in page.content()
    assert "\u202e" not in page.content()


def test_hostile_text_stays_text(pages, visit):
    page = visit().open(pages["hostile"])
    assert page.locator("img, iframe, object, form:not(#filters)").count() == 0
    assert page.locator("script").count() == 1
    assert page.locator("a:not([href^='#'])").count() == 0
    assert "<script>alert(1)</script>" in page.locator("article.finding").first.text_content()
    assert "\x1b" not in page.content()
    assert "\u202e" not in page.content()
