"""``reports/defects/``: an index of the known defects of all runtimes, and the text of an issue for each of ten.

``python -m tests.report_defects`` writes the index, which needs no runtime; with ``--issues``, the issues as well, as ``repro``
writes them on the releases of :data:`TEN`.
"""

import io
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from maxpool_check.corpus.collection import defect_files
from maxpool_check.corpus.defect_file import read_all_defects
from maxpool_check.corpus.defect_versions import DefectVersions, read_versions
from maxpool_check.judging.defects import Defect, Severity
from maxpool_check.reporting.blocks import Block, Document, Inline, Paragraph, Section, Span, Table
from maxpool_check.reporting.writers import markdown
from tests.conftest import CASES, ROOT

FOLDER = ROOT / "reports/defects"
INDEX = FOLDER / "README.md"

TEN = {
    "ORT-SAME-DILATION": "onnxruntime==1.32.0",
    "ORT-NO-WINDOW": "onnxruntime==1.32.0",
    "ORT-CASTS-REMOVED": "onnxruntime==1.32.0",
    "ORT-QUANTIZE-MOVED": "onnxruntime==1.32.0",
    "OV-INT64-AS-INT32": "openvino==2026.4.1?opset=14",
    "OV-FLOAT64-AS-FLOAT32": "openvino==2026.4.1?opset=14",
    "ONNXREF-SAME-LOWER-PADS": "onnx-reference==1.23.2",
    "ONNXOPT-PAD-FOLD": "transform:onnxoptimizer==0.4.2:on:onnxruntime==1.31.1",
    "OPENCV-SAME": "opencv==5.0.0.93",
    "TRACT-SCAN-SEED": "tract==0.23.9",
}
"""Ten of the live defects that are wrong on ordinary values, those of the runtimes most in use, and the releases that show them."""

ALSO = ("onnxruntime==1.32.0", "onnx-reference==1.23.2", "openvino==2026.4.1?opset=14", "tract==0.23.9")
"""The runtimes whose results an issue shows, as far as they can express the case."""

_ABOUT = (
    "Defects of released runtimes by cause; each was reviewed, and its mechanism is said as far as it is known: `maxpool-check "
    "explain ID` shows it, `maxpool-check repro ID -t TARGET -o DIR` writes a reproduction. Live: the newest version that was "
    "tested shows it. Of the ids that are links, the text of an issue is here. Nothing here is a statement of the projects concerned."
)


def index(every: Sequence[Defect], versions: DefectVersions) -> str:
    """The index: how many live defects of each severity each runtime has, and all of them."""
    rows: list[list[Inline]] = []
    sections: list[Block] = []
    for runtime in sorted({defect.runtime for defect in every}):
        of_runtime = [each for each in every if each.runtime == runtime]
        of_runtime.sort(key=lambda each: (not versions.is_live(each), each.severity.rank, each.id))
        live = [each.severity for each in of_runtime if versions.is_live(each)]
        tested = max((versions.tested(each) for each in of_runtime), key=len)
        counts = [str(live.count(severity) or "") for severity in Severity]
        rows.append([Span(runtime, code=True), tested[-1] if tested else "-", *counts])
        table: list[list[Inline]] = []
        for each in of_runtime:
            name = Span(each.id, href=f"{each.id}.md" if each.id in TEN else "")
            issue = each.upstream.issue if each.upstream else None
            upstream: Inline = [Span(issue, href=issue), f" {each.upstream.state}"] if each.upstream and issue else ""
            span = [versions.since(each) or "-", versions.until(each) or ""]
            table.append([name, each.severity.value, *span, each.title, upstream])
        sections.append(Section(runtime, [Table(["id", "severity", "since", "until", "title", "upstream"], table)]))
    headings = ["runtime", "version", *(each.value for each in Severity)]
    live_table = Table(headings, rows, frozenset(range(2, len(headings))))
    heading = Paragraph("Live defects by severity, in the newest version that was tested:")
    file = io.StringIO()
    markdown.write(Document("", "Defects", (), [Paragraph(_ABOUT), heading, live_table, *sections]), file)
    return file.getvalue()


def page() -> str:
    """The index of the shipped defects."""
    return index(read_all_defects(defect_files(CASES)), read_versions(CASES))


def write_issue(name: str, target: str) -> None:
    """Reproduce a defect on a release, and write the text of its issue. Raises ``CalledProcessError`` if it is not reproduced."""
    also = [word for other in ALSO if other != target for word in ("--also", other)]
    with tempfile.TemporaryDirectory() as folder:
        words = ["repro", name, "-t", target, "-o", f"{folder}/repro", *also]
        subprocess.run([sys.executable, "-m", "maxpool_check", *words], check=True, cwd=ROOT)
        (FOLDER / f"{name}.md").write_text(Path(folder, "repro/ISSUE.md").read_text())


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    INDEX.write_text(page())
    for defect, release in TEN.items() if "--issues" in sys.argv else ():
        write_issue(defect, release)
