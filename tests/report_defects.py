"""``reports/defects/``: a page for each live defect of the worst kinds, with a reproduction, and an index.

``python -m tests.report_defects NAME=TARGET...`` runs the examples of a runtime's defects on a target, writes their record to
``reports/defects/NAME.jsonl.xz``, and a reproduction of each. Without arguments it writes the pages from the records alone.
"""

import functools
import io
import lzma
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from maxpool_check.corpus.collection import defect_files
from maxpool_check.corpus.defect_file import read_all_defects
from maxpool_check.corpus.defect_versions import DefectVersions, read_versions
from maxpool_check.explaining.defects import described
from maxpool_check.judging.defects import Defect, Severity
from maxpool_check.judging.target_selector import TargetSelector
from maxpool_check.reporting.blocks import Block, Bullets, Document, Evidence, Inline, Paragraph, Section, Span, Table
from maxpool_check.reporting.executions import ExecutionView
from maxpool_check.reporting.writers import markdown
from maxpool_check.results.record import REPORTED, Execution, TargetDescription
from maxpool_check.results.storage import read
from maxpool_check.targets.name import parse
from tests.conftest import CASES, ROOT

FOLDER = ROOT / "reports/defects"

ALSO = ("onnxruntime==1.32.0", "onnx-reference", "openvino==2026.4.1?opset=14", "tract==0.23.9")
"""The runtimes whose answers an issue shows, as far as they can express the case."""

SHOWN = (Severity.WRONG_ON_FINITE,)
"""The severities of defects that have a page: ordinary data show them."""

_FILES = ("repro.py", "ISSUE.md", "model.onnx", "smallest.onnx", "other.onnx", "expected.npz", "run.mjs")
_ABOUT = {
    "repro.py": "a script that exits with 1 while the defect is there, 0 once it is fixed, 125 if it cannot tell",
    "ISSUE.md": "the text of an issue, with what other runtimes return",
}
_INDEX = (
    "Defects of released runtimes by cause; each was reviewed, and its mechanism is said as far as it is known. Live: the newest "
    "version that was tested shows it. A page has the smallest example with its wrong cells, the versions that were tested, a script "
    "that reproduces it, and the text of an issue. Nothing here is a statement of the projects concerned."
)


@functools.cache
def defects() -> list[Defect]:
    """The shipped defects."""
    return read_all_defects(defect_files(CASES))


def with_pages(target: str) -> list[Defect]:
    """The live defects of the worst kinds of a target, of documents that its project implements, that have an example."""
    versions, name = read_versions(CASES), parse(target)
    return [
        defect
        for defect in defects()
        if defect.severity in SHOWN
        and defect.example is not None
        and versions.is_live(defect)
        # Of a frontend, those that it adds: the others are those of the runtime itself.
        and ("frontend" in name.options) == ("frontend" in TargetSelector.of(defect.runtime).options)
        and any(
            TargetSelector.of(defect.runtime).is_about(name.distribution, provider, target)
            for provider in name.providers
        )
        and any(document.startswith(_own(defect.runtime)) for document in defect.documents)
    ]


def _own(runtime: str) -> tuple[str, ...]:
    """How the names of the documents begin that a runtime implements: nobody is told the rules of others."""
    return ("onnx", "openvino") if runtime.startswith("openvino") else ("onnx",)


def record(name: str, target: str) -> None:
    """Run the examples of the defects of a target, and write their record."""
    examples = [defect.example for defect in with_pages(target)]
    if not examples:
        return
    selected = [part for example in examples for part in ("-k", str(example))]
    path = FOLDER / f"{name}.jsonl"
    path.parent.mkdir(exist_ok=True)
    # The record says where its cases are, and how it was made.
    _run("run", CASES.relative_to(ROOT), "-q", "-t", target, "-o", path.relative_to(ROOT), *selected)
    path.with_suffix(".jsonl.xz").write_bytes(lzma.compress(path.read_bytes(), preset=9 | lzma.PRESET_EXTREME))
    path.unlink()


def reproduce(name: str, target: str) -> None:
    """Write a reproduction of each defect that the record of a target shows; one that cannot be written is named."""
    path = FOLDER / f"{name}.jsonl.xz"
    if not path.exists():
        return
    stored = read(path)
    shown = {each for each, _, _ in _shown(stored.header.targets, list(stored.executions))}
    for defect in with_pages(target):
        if defect.id not in shown:
            continue
        folder, new = FOLDER / defect.id, FOLDER / f".{defect.id}"
        also = [
            part for other in ALSO if other.partition("=")[0] != target.partition("=")[0] for part in ("--also", other)
        ]
        done = _run("repro", defect.id, "-t", target, "-o", new, *also)
        if done:
            print(f"{defect.id}: no reproduction was written")
        folder.mkdir(exist_ok=True)
        for file in _FILES:
            (folder / file).unlink(missing_ok=True)
            # A script of a function needs no model.
            if (new / file).is_file() and (file in _FILES[:2] or file in (new / "repro.py").read_text()):
                shutil.copyfile(new / file, folder / file)
        shutil.rmtree(new, ignore_errors=True)


def page(
    defect: Defect, versions: DefectVersions, target: TargetDescription, executions: Sequence[Execution], files: Sequence[str]
) -> str:  # fmt: skip
    """The page of a defect: ``executions`` are those of its example on ``target`` that show it, ``files`` those beside it."""
    first, *others = executions
    example: list[Block] = [
        Paragraph([Span(first.case, code=True), f" on {target.name} ({target.software()}): {first.title}"]),
        Evidence(ExecutionView(first), about=_verdict(first)),
        *(Evidence(ExecutionView(each), about=_verdict(each), settings=False) for each in others),
    ]
    blocks: list[Block] = [*described(defect, versions), Section("Example", example)]
    tested, showing = versions.tested(defect), set(versions.showing(defect))
    timeline: list[list[Inline]] = [["shows it" if each in showing else "-" for each in tested]]
    blocks.append(Section("Versions", [Table(tested, timeline) if tested else Paragraph("No version was tested.")]))
    repro = [f"maxpool-check repro {defect.id} -t {target.name} -o DIR writes it again."]
    named: list[Inline] = [[Span(name, href=f"./{name}"), f": {_ABOUT[name]}"] for name in files if name in _ABOUT]
    blocks.append(Section("Reproduction", [Bullets([*named, *repro])]))
    return _markdown(f"{defect.id}: {defect.title}", blocks)


def _verdict(execution: Execution) -> str:
    return f"{execution.variant}: {execution.verdict.value}, {', '.join(execution.kinds)}"


def index(every: Sequence[Defect], versions: DefectVersions, names: Iterable[str]) -> str:
    """The index: how many live defects of each severity each runtime has, and all of them."""
    with_page, runtimes = set(names), sorted({defect.runtime for defect in every})
    rows: list[list[Inline]] = []
    sections: list[Block] = []
    for runtime in runtimes:
        of_runtime = [each for each in every if each.runtime == runtime]
        of_runtime.sort(key=lambda each: (not versions.is_live(each), each.severity.rank, each.id))
        live = [each.severity for each in of_runtime if versions.is_live(each)]
        tested = max((versions.tested(each) for each in of_runtime), key=len)
        counts = [str(live.count(severity) or "") for severity in Severity]
        rows.append([Span(runtime, code=True), tested[-1] if tested else "-", *counts])
        table: list[list[Inline]] = [
            [
                Span(each.id, href=f"{each.id}/README.md" if each.id in with_page else ""),
                each.severity.value, versions.since(each) or "-", versions.until(each) or "", each.title,
                [Span(str(each.upstream.issue), href=str(each.upstream.issue)), f" {each.upstream.state}"]
                if each.upstream and each.upstream.issue
                else "",
            ]
            for each in of_runtime
        ]  # fmt: skip
        sections.append(Section(runtime, [Table(["id", "severity", "since", "until", "title", "upstream"], table)]))
    right = frozenset(range(2, len(Severity) + 2))
    live_table = Table(["runtime", "version", *(each.value for each in Severity)], rows, right)
    blocks = [
        Paragraph(_INDEX),
        Paragraph("Live defects by severity, in the newest version that was tested:"),
        live_table,
    ]
    return _markdown("Defects", [*blocks, *sections])


def _markdown(title: str, blocks: Sequence[Block]) -> str:
    file = io.StringIO()
    markdown.write(Document("", title, (), blocks), file)
    return file.getvalue()


def pages() -> Iterator[tuple[Path, str]]:
    """Every page with its text, from the committed records."""
    known, versions, names = {defect.id: defect for defect in defects()}, read_versions(CASES), []
    for path in sorted(FOLDER.glob("*.jsonl.xz")):
        stored = read(path)
        for defect_id, target, executions in _shown(stored.header.targets, list(stored.executions)):
            folder = FOLDER / defect_id
            files = [name for name in _FILES if (folder / name).is_file()]
            yield folder / "README.md", page(known[defect_id], versions, target, executions, files)
            names.append(defect_id)
    yield FOLDER / "README.md", index(list(known.values()), versions, names)


def _shown(
    targets: tuple[TargetDescription, ...], executions: list[Execution]
) -> Iterator[tuple[str, TargetDescription, list[Execution]]]:
    """The defects that a record shows by their examples, each with the executions that show it."""
    examples = {defect.id: defect.example for defect in defects() if defect.severity in SHOWN}
    for target in targets:
        wrong = [each for each in executions if each.target == target.name and each.verdict in REPORTED and each.known]
        for name in dict.fromkeys(each.known for each in wrong):
            shown = [each for each in wrong if each.known == name and each.case == examples.get(name)]
            if shown:
                yield name, target, shown


def _run(*arguments: object) -> int:
    command = [sys.executable, "-m", "maxpool_check", *map(str, arguments)]
    return subprocess.run(command, check=False, cwd=ROOT).returncode


if __name__ == "__main__":
    for argument in sys.argv[1:]:
        label, _, named = argument.partition("=")
        record(label, named)
        reproduce(label, named)
    for file, text in pages():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
