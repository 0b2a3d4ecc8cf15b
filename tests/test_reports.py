"""The committed reports: each is what its record says, and the records are of this corpus.

After new reports: ``python -m tests.test_reports`` writes the matrix of ``reports/README.md`` again.
"""

import io
import json
import re

import pytest
from maxpool_check.running.frame import header

from maxpool_check.corpus.collection import collect
from maxpool_check.reporting import markdown, matrix
from maxpool_check.reporting.run_report import RunReport
from maxpool_check.results.storage import read
from tests.conftest import CASES, ROOT

REPORTS = ROOT / "reports"


def name_of(path):
    return path.name.removesuffix(".jsonl.gz")


RECORDS = sorted(REPORTS.glob("*.jsonl.gz"))


def test_there_are_reports_of_the_releases_that_matter():
    names = {name_of(path) for path in RECORDS}
    assert "onnxruntime-1.23.2-cpu" in names
    assert len(names) >= 2


@pytest.mark.parametrize("path", RECORDS, ids=name_of)
def test_a_report_is_made_from_its_record(path):
    record = read(path)
    assert record.footer is not None
    file = io.StringIO()
    markdown.write(RunReport(record, record.footer.exit_code), file)
    assert path.with_name(f"{name_of(path)}.md").read_text() == file.getvalue()


@pytest.mark.parametrize("path", RECORDS, ids=name_of)
def test_a_record_is_of_the_corpus_as_it_is(path):
    corpus = collect([CASES])
    now, then = header(corpus.cases, [], corpus.known_files), read(path).header
    assert then.cases_sha256 == now.cases_sha256, "the cases have changed since: make report report-runtimes"
    # What is known is known of ONNX Runtime's own distribution.
    if then.targets[0].distribution == "onnxruntime":
        assert then.known_sha256 == now.known_sha256, "the known divergences have changed since: make report"
    assert then.profile == now.profile


def test_every_report_is_listed_and_nothing_is_too_large():
    readme = (REPORTS / "README.md").read_text()
    for path in RECORDS:
        assert f"({name_of(path)}.md)" in readme
    assert all(path.stat().st_size < 2**20 for path in REPORTS.iterdir())


def test_the_page_of_the_documents_is_what_the_reference_says(cli):
    done = cli("documents", CASES)
    assert done.code == 0, done.err
    assert (REPORTS / "documents.md").read_text() == done.out, "make report"


def test_the_page_of_the_kinds_is_made_from_them(cli):
    assert (REPORTS / "kinds.md").read_text() == cli("explain", "--format", "markdown").out, "make report"


def test_the_page_of_the_documents_asks_all_of_them_about_every_point_where_they_differ():
    page = (REPORTS / "documents.md").read_text()
    differing, errata = page.split("## Errata")
    for heading in (
        "A NaN in the window", "The value of the padding", "What Indices count", "Rounding up", "VALID, and rounding up",
        "SAME, the odd cell at the end", "A window without a cell",
    ):  # fmt: skip
        section = differing.split(f"## {heading}\n")[1].split("\n## ")[0]
        for title in ("ONNX MaxPool-22", "SONNX", "OpenVINO MaxPool-8", "com.ms.internal.nhwc", "nGraph", "XMOS"):
            assert f"| {title}" in section, (heading, title)
    for title in ("SONNX MaxPool", "OpenVINO MaxPool-8", "com.ms.internal.nhwc", "nGraph MaxPool", "XMOS lib_nn"):
        assert f"### {title}" in errata


def test_the_history_is_of_the_corpus_as_it_is():
    history = json.loads((REPORTS / "onnxruntime-history.json").read_text())
    digests = {release["cases_sha256"] for release in history["releases"]}
    assert digests == {header(collect([CASES]).cases, [], []).cases_sha256}, "make history"
    minors = [release["version"].rpartition(".")[0] for release in history["releases"]]
    assert len(minors) == len(set(minors)) == 17
    page = (REPORTS / "onnxruntime-history.md").read_text()
    for release in history["releases"]:
        assert f" {release['version']} |" in page
    fixed = next(step for step in history["changes"] if step["to"].startswith("1.29."))
    assert fixed["summary"]["fixed"] >= 90


def test_the_old_release_shows_the_defects_that_sonnx_prints():
    report = (REPORTS / "onnxruntime-1.23.2-cpu.md").read_text()
    for case, Y, wrong in (
        ("float:float-example-3", True, 2),
        ("float:float-example-4", True, None),
        ("int:int-example-2", False, None),
        ("int:int-example-4", False, 3),
        ("int:int-example-5", False, 2),
    ):
        (line,) = [one for one in report.splitlines() if one.startswith(f"- `sonnx/{case}` (`indices`)")]
        assert "Indices[0, 0, 0, 0] is `-4`, expected `0`" in line
        assert ("Y[0, 0, 0, 0] is `-1.7976931348623157e+308`, expected `-inf`" in line) == Y
        assert wrong is None or line.endswith(f"; {wrong} wrong cells")


MATRIX = re.compile(r"(<!-- matrix -->\n)(?:.*\n)*?(<!-- /matrix -->)")


def with_matrix(text):
    records = {f"{name_of(path)}.md": read(path) for path in RECORDS}
    lines = "\n".join(matrix.render(records))
    return MATRIX.sub(lambda found: f"{found[1]}\n{lines}\n\n{found[2]}", text)


def test_the_matrix_is_made_from_the_records():
    text = (REPORTS / "README.md").read_text()
    assert with_matrix(text) == text, "python -m tests.test_reports"


if __name__ == "__main__":
    README = REPORTS / "README.md"
    README.write_text(with_matrix(README.read_text()))
