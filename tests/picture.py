"""The picture of the README: ``python -m tests.picture`` draws the HTML report of a run with Chromium."""

import shutil
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

from tests.conftest import ROOT, command

if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        report = Path(folder) / "report.html"
        words = ("run", "corpus:edge/neg-inf", "-t", "onnxruntime==1.32.0", "-q", "--report", f"html={report}")
        assert command(*words).code == 0
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1000, "height": 910}, color_scheme="light")
        page.goto(report.as_uri())
        # The first fault of the report, and the window that shows it.
        page.evaluate("document.querySelector('article.card').scrollIntoView({block: 'start'})")
        page.screenshot(path=ROOT / "maxpool_check/docs/report.png")
        browser.close()
