"""``reports/``, from real runs: ``python -m tests.make_reports [NAME...]`` makes the runs and histories of ``tests/reports.yaml``.

Without names it makes all, the issues of defects, and the pages that follow from them; ``pages`` are these alone. A run that is not as
expected is named, and its report written all the same.
"""

import lzma
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import yaml

from tests import report_defects, report_matrix
from tests.conftest import ROOT

TABLE = yaml.safe_load(Path(__file__).with_name("reports.yaml").read_text())
PAGES = "pages"
NAMES = (*TABLE["runs"], *(f"{name}-history" for name in TABLE["histories"]), PAGES)


def commands(jobs: int) -> Iterator[tuple[str, list[str], Path]]:
    """The name of each report, the words of its command, and the file that it writes and that is compressed."""
    for name, run in TABLE["runs"].items():
        cases = TABLE["parts"][run["part"]] if "part" in run else ["cases/"]
        targets = [word for target in run["targets"] for word in ("-t", target)]
        record = Path("reports", f"{name}.jsonl")
        words = ["run", *cases, "-q", "-j", str(jobs), *targets, *run.get("options", ())]
        yield name, [*words, "-o", str(record), "--report", f"markdown=reports/{name}.md"], record
    for name, history in TABLE["histories"].items():
        report = Path("reports", f"{name}-history.json")
        words = ["history", "cases/", "-t", history["target"], "--versions", f"{history['versions']},every=minor"]
        reports = ["--report", f"markdown=reports/{name}-history.md", "--report", f"json={report}"]
        yield f"{name}-history", [*words, "-j", "2", *reports], report


@click.command()
@click.argument("names", nargs=-1, type=click.Choice(NAMES))
@click.option("--tool", default=str(Path(sys.executable).with_name("maxpool-check")), help="The tool that makes them.")
@click.option("-j", "jobs", type=int, default=1, help="Processes of each run: more of them make the record sooner.")
def make(names: tuple[str, ...], tool: str, jobs: int) -> None:
    """Make reports."""
    chosen = names or [name for name in NAMES if not TABLE["runs"].get(name, {}).get("installed")]
    for name, words, file in commands(jobs):
        if name not in chosen:
            continue
        done = subprocess.run([tool, *words], cwd=ROOT, env={**os.environ, **TABLE["environment"]}, check=False)
        if done.returncode:
            click.echo(f"{name}: exit code {done.returncode}")
        if (path := ROOT / file).exists():
            # A record that is written line by line compresses less well than the whole.
            path.with_name(f"{path.name}.xz").write_bytes(
                lzma.compress(path.read_bytes(), preset=9 | lzma.PRESET_EXTREME)
            )
            path.unlink()
    if not names:
        for defect, release in report_defects.TEN.items():
            report_defects.write_issue(defect, release)
    if PAGES in chosen:
        report_defects.INDEX.write_text(report_defects.page())
        matrix = ROOT / "reports/README.md"
        matrix.write_text(report_matrix.with_matrix(matrix.read_text()))


if __name__ == "__main__":
    make()
