"""The picture of the README: ``python -m tests.picture`` draws the HTML report of a run with Chromium."""

import shutil
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

from tests.conftest import ROOT, command

PICTURE = ROOT / "maxpool_check/docs/report.png"
RUN = ("run", "corpus:sonnx/float", "-t", "onnxruntime==1.23.2", "-q")
HEIGHT = 910


def draw(path):
    """Write the picture: the first finding of the report, and the window that shows it."""
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        report = Path(folder) / "report.html"
        assert command(*RUN, "--report", f"html={report}").code == 0
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1000, "height": HEIGHT}, color_scheme="light")
        page.goto(report.as_uri())
        page.locator("article.finding").first.scroll_into_view_if_needed()
        page.evaluate("document.querySelector('article.finding').scrollIntoView({block: 'start'})")
        page.screenshot(path=path)
        browser.close()


if __name__ == "__main__":
    draw(PICTURE)
