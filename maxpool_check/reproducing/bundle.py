"""Writes a reproduction: tries the script in a temporary folder, and moves all into place if it shows the fault."""

import os
import re
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from maxpool_check.corpus.writing import case_file
from maxpool_check.exporting.onnx_testdata import files_of_test
from maxpool_check.graphs.model import maxpool_model
from maxpool_check.graphs.operators import NEWEST
from maxpool_check.reproducing.expectation import expected_values
from maxpool_check.reproducing.header import MARK
from maxpool_check.reproducing.issue import issue
from maxpool_check.reproducing.notes import DefectNote, OtherAnswer
from maxpool_check.reproducing.reproduced import Reproduced
from maxpool_check.reproducing.titles import composed_title
from maxpool_check.reproducing.trial import Trial, try_script
from maxpool_check.reproducing.writing import write_script
from maxpool_check.specifications.roles import NotExpressible
from maxpool_check.targets.languages import LANGUAGES
from maxpool_check.targets.session import TargetSession
from maxpool_check.targets.translation import translate

_FILES = {
    "repro.py",
    "model.onnx",
    "test_data_set_0",
    "case.yaml",
    "ISSUE.md",
    "__pycache__",
    "run.mjs",
    "node_modules",
    "package.json",
    "package-lock.json",
}

_COLORS = re.compile("\x1b\\[[0-9;]*m")


class Written(NamedTuple):
    """The files, by their names in the folder, the title of the issue, and the trial of the script."""

    files: list[str]
    title: str
    trial: Trial


def is_free(folder: Path) -> bool:
    """Whether a reproduction may be written there: the folder is new, empty, or holds a reproduction and nothing else."""
    if not folder.is_dir():
        return not folder.exists()
    names = {path.name for path in folder.iterdir()}
    script_path = folder / "repro.py"
    text = script_path.read_text(encoding="utf-8", errors="replace") if script_path.is_file() else ""
    others = [name for name in names - _FILES if f"from {name.removesuffix('.py')} import" not in text]
    return not names or (MARK in text and not others)


def write(
    reproduced: Reproduced, session: TargetSession, folder: Path, about: str, *,
    defect: DefectNote | None = None, also: Sequence[OtherAnswer] = (),
) -> Written:  # fmt: skip
    """Write a reproduction into ``folder``, all of it or nothing.

    ``about`` says in ``case.yaml`` where the case comes from. ``defect`` is what is known of the defect, ``also`` what other
    runtimes return. Raises ``NotReproduced``, ``CannotWrite``, ``CannotMake`` or ``OSError``.
    """
    folder = Path(os.path.abspath(folder))  # noqa: PTH100 (a link is not followed)
    folder.parent.mkdir(parents=True, exist_ok=True)
    profile, seconds = session.profile, session.target.seconds
    tool = profile.name.tool
    title = defect.title if defect is not None else composed_title(reproduced, tool.name if tool is not None else None)
    script = write_script(reproduced, profile, title, seconds)
    with tempfile.TemporaryDirectory(
        prefix=f".{folder.name}.", dir=folder.parent, ignore_cleanup_errors=True
    ) as partial:
        new, tried = Path(partial) / "new", Path(partial) / "tried"
        new.mkdir()
        (new / "repro.py").write_text(script.text, encoding="utf-8")
        for name, path in script.runtime.files.items():
            shutil.copyfile(path, new / name)
        _write_test_data(reproduced, new)
        (new / "case.yaml").write_text(case_file(reproduced.case_run.case, about), encoding="utf-8")
        shutil.copytree(new, tried)
        trial = try_script(tried, script.runtime, script.requirements, seconds if reproduced.dies else 0)
        # With what the runtime warns of, but without colors and the folders of this machine.
        printed = "\n".join(filter(None, (trial.stderr.strip(), trial.stdout)))
        output = _COLORS.sub("", printed).replace(f"{tried}{os.sep}", "")
        text = issue(reproduced, profile, script, title, output, defect=defect, also=also)
        (new / "ISSUE.md").write_text(text, encoding="utf-8")
        _move(new, folder, Path(partial) / "old")
    files = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    return Written(files, title, trial)


def _write_test_data(reproduced: Reproduced, folder: Path) -> None:
    """Write a test for ONNX's backend test runner, if there is an ONNX model that means the same.

    A graph that must be refused has no outputs to compare.
    """
    model = reproduced.request.model or _translated(reproduced)
    if model is None:
        return
    request, values = reproduced.request, expected_values(reproduced)
    outputs = {name: values[name] for name in request.outputs} if values else {}
    (folder / "test_data_set_0").mkdir()
    for name, content in files_of_test(model, request.inputs, outputs).items():
        (folder / name).write_bytes(content)


def _translated(reproduced: Reproduced) -> bytes | None:
    """The model of a request that has none: of the same X and outputs, or None."""
    request, case = reproduced.request, reproduced.case_run.case
    attributes = request.attributes
    if reproduced.speaks in LANGUAGES:
        try:
            graph = translate(
                case.specification, case.attributes, case.X.dtype.name, case.X.shape, case.resolved,
                indices=reproduced.variant.has_indices,
            )  # fmt: skip
        except NotExpressible:
            return None
        attributes = graph.attributes
        if reproduced.numbering is not None or graph.shape != request.X.shape or reproduced.layout is not graph.target:
            return None
    return maxpool_model(NEWEST, attributes, request.X.dtype.name, request.X.shape, request.outputs)


def _move(new: Path, folder: Path, old: Path) -> None:
    """Put a folder in the place of another, which stays if that fails."""
    if folder.exists():
        folder.rename(old)
    try:
        new.rename(folder)
    except OSError:
        if old.exists():
            old.rename(folder)
        raise
