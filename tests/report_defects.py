"""``reports/defects/``: a page for each live defect of the worst kinds, with a reproduction, and an index.

``python -m tests.report_defects NAME=TARGET...`` runs the examples of a runtime's defects on a target, writes their record to
``reports/defects/NAME.jsonl.xz``, and a reproduction of each. Without arguments it writes the pages from the records alone.
"""

import functools
import lzma
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from maxpool_check.corpus.collection import defect_files
from maxpool_check.corpus.defect_file import read_all_defects
from maxpool_check.corpus.defect_versions import read_versions
from maxpool_check.explaining.defect_pages import SHOWN, index, page
from maxpool_check.judging.defects import Defect
from maxpool_check.judging.target_selector import TargetSelector
from maxpool_check.results.record import REPORTED, Execution, TargetDescription
from maxpool_check.results.storage import read
from maxpool_check.targets.name import parse
from tests.conftest import CASES, ROOT

FOLDER = ROOT / "reports/defects"

ALSO = ("onnxruntime==1.32.0", "onnx-reference", "openvino==2026.4.1?opset=14", "tract==0.23.9")
"""The runtimes whose answers an issue shows, as far as they can express the case."""

_FILES = ("repro.py", "ISSUE.md", "model.onnx", "smallest.onnx", "other.onnx", "expected.npz", "run.mjs")


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
