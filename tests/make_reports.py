"""``reports/``, from real runs: ``python -m tests.make_reports [NAME...]`` makes the runs and histories of ``tests/reports.yaml``.

Without names it makes all, the issues of defects, and the pages that follow from them; ``pages`` are these alone: the index of the
known defects of all runtimes, and the matrix. A run that is not as expected is named, and its report written all the same.
``--label`` executes nothing: it writes the defects of today into the committed records, and makes their pages.
"""

import io
import lzma
import os
import subprocess
import sys
import tempfile
from datetime import datetime, timezone
from pathlib import Path

import click
import msgspec
import yaml

from maxpool_check.corpus.collection import defect_files
from maxpool_check.corpus.defect_file import read_all_defects
from maxpool_check.corpus.defect_versions import VersionsShown, read_versions
from maxpool_check.judging.defects import Severity
from maxpool_check.reporting.blocks import Document, Paragraph, Section, Span, Table
from maxpool_check.reporting.run_report import RunReport
from maxpool_check.reporting.run_view import document
from maxpool_check.reporting.writers import markdown
from maxpool_check.results.record import Execution, RunFooter
from maxpool_check.results.storage import Recorder, lines_of, name_of, read
from maxpool_check.results.summary import RunSummary
from maxpool_check.running.labels import Labels
from tests import report_matrix
from tests.conftest import CASES, ROOT, shipped

TABLE = yaml.safe_load(Path(__file__).with_name("reports.yaml").read_text())
NAMES = (*TABLE["runs"], *(f"{name}-history" for name in TABLE["histories"]), "pages")
DEFECTS = ROOT / "reports/defects"
XZ = {"id": lzma.FILTER_LZMA2, "preset": 9 | lzma.PRESET_EXTREME, "lc": 4, "pb": 0}
"""For text."""
WITH_ISSUES = TABLE["issues"]["defects"]
"""The defects that have the text of an issue, and the releases that show them."""
_ABOUT = (
    "Defects of released runtimes by cause; each was reviewed, and its mechanism is said as far as it is known: `maxpool-check "
    "explain ID` shows it, `maxpool-check repro ID -t TARGET -o DIR` writes a reproduction. Live: the newest version that was "
    "tested shows it. Of the ids that are links, the text of an issue is here. Nothing here is a statement of the projects concerned."
)


def index():
    """``reports/defects/README.md``: how many live defects of each severity each runtime has, and all of them."""
    every, versions = read_all_defects(defect_files(CASES)), read_versions(CASES)
    rows, sections = [], []
    for runtime in sorted({defect.runtime for defect in every}):
        own = [defect for defect in every if defect.runtime == runtime]
        own.sort(key=lambda each: (not versions.is_live(each), each.severity.rank, each.id))
        live = [each.severity for each in own if versions.is_live(each)]
        tested = max(map(versions.tested, own), key=len)
        counts = [str(live.count(severity) or "") for severity in Severity]
        rows.append([Span(runtime, code=True), tested[-1] if tested else "-", *counts])
        table = []
        for each in own:
            name = Span(each.id, href=f"{each.id}.md" if each.id in WITH_ISSUES else "")
            issue = each.upstream.issue if each.upstream else None
            upstream = [Span(issue, href=issue), f" {each.upstream.state}"] if issue else ""
            span = [versions.since(each) or "-", versions.until(each) or ""]
            table.append([name, each.severity.value, *span, each.title, upstream])
        sections.append(Section(runtime, [Table(["id", "severity", "since", "until", "title", "upstream"], table)]))
    headings = ["runtime", "version", *(each.value for each in Severity)]
    live_table = Table(headings, rows, frozenset(range(2, len(headings))))
    heading, file = Paragraph("Live defects by severity, in the newest version that was tested:"), io.StringIO()
    markdown.write(Document("", "Defects", (), [Paragraph(_ABOUT), heading, live_table, *sections]), file)
    return file.getvalue()


def commands(jobs):
    """The name of each report, the words of its command, and the file that it writes and that is compressed."""
    for name, run in TABLE["runs"].items():
        cases = TABLE["parts"][run["part"]] if "part" in run else ["cases/"]
        targets = [word for target in run["targets"] for word in ("-t", target)]
        record = Path("reports", f"{name}.jsonl")
        # Compilers and interpreters of Python are slow on a machine with other work.
        words = ["run", *cases, "-q", "--timeout", "60", "-j", str(jobs), *targets, *run.get("options", ())]
        yield name, [*words, "-o", str(record), "--report", f"markdown=reports/{name}.md"], record
    for name, history in TABLE["histories"].items():
        report = Path("reports", f"{name}-history.json")
        words = ["history", "cases/", "-t", history["target"], "--versions", f"{history['versions']},every=minor"]
        reports = ["--report", f"markdown=reports/{name}-history.md", "--report", f"json={report}"]
        yield f"{name}-history", [*words, "-j", "2", *reports], report


def labelled(path):
    """The lines of a record with the status and the defect that each execution has today; a case that is gone, or another, says nothing."""
    cases, record = {case.id: case for case in shipped().cases}, read(path)
    started = datetime.fromisoformat(record.header.started).astimezone(timezone.utc).date()
    versions, summary = read_versions(CASES), RunSummary()
    spans = {
        each.id: versions.summary(each) for each in read_all_defects(defect_files(CASES)) if versions.showing(each)
    }
    labels = Labels(
        record.header.targets, read_all_defects(defect_files(CASES)), started,
        versions=lambda defect: spans.get(defect.id, VersionsShown()),
    )  # fmt: skip
    for line in lines_of(path):
        if isinstance(line, Execution):
            case = cases.get(line.case)
            if case is not None and case.sha256 == line.case_sha256:
                plain = {"known": None, "status": "", "explained_by": (), "unexplained": ()}
                line = labels.label(case, msgspec.structs.replace(line, **plain))
            summary.add(line)
        if isinstance(line, RunFooter):
            known = tuple(labels.entries(lambda *_: False))
            code = summary.exit_code(known, line.errors, strict=False)
            line = msgspec.structs.replace(line, known=known, exit_code=code)
        yield line


def label(path):
    """Write a committed record and its page again, if the defects of today name some of its executions otherwise."""
    lines = list(labelled(path))
    executions = [line for line in lines if isinstance(line, Execution)]
    changed = sum(new != old for new, old in zip(executions, read(path).executions, strict=True))
    if not changed:
        return
    with tempfile.TemporaryDirectory() as folder, Recorder(Path(folder, "record.jsonl")) as recorder:
        for line in lines:
            recorder.write(line)
        path.write_bytes(lzma.compress(Path(folder, "record.jsonl").read_bytes(), filters=[XZ]))
        with path.with_name(f"{name_of(path)}.md").open("w") as page:
            markdown.write(document(RunReport(recorder.record, recorder.record.footer.exit_code)), page)
    click.echo(f"{path.name}: {changed} executions labelled again")


@click.command()
@click.argument("names", nargs=-1, type=click.Choice(NAMES))
@click.option("--label", "labels", is_flag=True, help="Write the defects of today into the records; execute nothing.")
@click.option("--tool", default=str(Path(sys.executable).with_name("maxpool-check")), help="The tool that makes them.")
@click.option("-j", "jobs", type=int, default=1, help="Processes of each run: more of them make the record sooner.")
def make(names, labels, tool, jobs):
    """Make reports."""
    if labels:
        for path in report_matrix.RECORDS:
            label(path)
        return
    chosen = names or [name for name in NAMES if not TABLE["runs"].get(name, {}).get("installed")]
    for name, words, file in commands(jobs):
        if name not in chosen:
            continue
        done = subprocess.run([tool, *words], cwd=ROOT, env={**os.environ, **TABLE["environment"]}, check=False)
        if done.returncode:
            click.echo(f"{name}: exit code {done.returncode}")
        if (path := ROOT / file).exists():
            # A record that is written line by line compresses less well than the whole.
            compressed = lzma.compress(path.read_bytes(), filters=[XZ])
            path.with_name(f"{path.name}.xz").write_bytes(compressed)
            path.unlink()
    for defect, release in () if names else WITH_ISSUES.items():
        also = [word for other in TABLE["issues"]["also"] if other != release for word in ("--also", other)]
        with tempfile.TemporaryDirectory() as folder:
            words = [tool, "repro", defect, "-t", release, "-o", f"{folder}/repro", *also]
            subprocess.run(words, check=True, cwd=ROOT)
            (DEFECTS / f"{defect}.md").write_text(Path(folder, "repro/ISSUE.md").read_text())
    if "pages" in chosen:
        (DEFECTS / "README.md").write_text(index())
        matrix = ROOT / "reports/README.md"
        matrix.write_text(report_matrix.with_matrix(matrix.read_text()))


if __name__ == "__main__":
    make()
