"""Writes a reproduction: tries the script in a temporary folder, and moves all into place if it shows the fault."""

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from maxpool_check.corpus.writing import case_file
from maxpool_check.exporting.onnx_testdata import arranged, files_of_test, jobs_of_models
from maxpool_check.files import move_files, write_files
from maxpool_check.judging.graph_oracle import GraphOracle
from maxpool_check.reproducing.issue import heading, issue
from maxpool_check.reproducing.others import DefectNote, OtherAnswer
from maxpool_check.reproducing.reproduced import Reproduced
from maxpool_check.reproducing.script import MARK, Script, write_script
from maxpool_check.reproducing.wording import title_of
from maxpool_check.results.variants import Variant
from maxpool_check.targets import environments, machines, npm_environments
from maxpool_check.targets.cache import CannotMake
from maxpool_check.targets.launching import without_stack_frames
from maxpool_check.targets.session import TargetSession

_FILES = {
    "repro.py", "model.onnx", "smallest.onnx", "other.onnx", "expected.npz", "test_data_set_0", "case.yaml", "ISSUE.md",
    "__pycache__", "run.mjs", "node_modules", "package.json", "package-lock.json",
}  # fmt: skip


class NotReproduced(RuntimeError):
    """The script, in a clean environment, does not show the fault."""


class Trial(NamedTuple):
    """A script that was run: what it printed to stdout and to stderr, without stack frames, and where it ran, in words."""

    stdout: str
    stderr: str
    environment: str


class Written(NamedTuple):
    """The files, by their names in the folder, the title of the issue, and the trial of the script."""

    files: list[str]
    title: str
    trial: Trial


def is_free(folder: Path) -> bool:
    """Whether a reproduction may be written there: the folder is new, empty, or holds a reproduction and nothing else."""
    if not folder.is_dir():
        return not folder.exists()
    names, script = {path.name for path in folder.iterdir()}, folder / "repro.py"
    text = script.read_text(encoding="utf-8", errors="replace") if script.is_file() else ""
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
    if not reproduced.kinds:
        raise NotReproduced("it was wrong once; executed again, the same case is right")
    folder.parent.mkdir(parents=True, exist_ok=True)
    profile, seconds = session.profile, session.target.seconds
    title = defect.title if defect is not None and defect.title else title_of(reproduced, profile.name.tool)
    with tempfile.TemporaryDirectory(None, ".repro-", folder.parent, ignore_cleanup_errors=True) as partial:
        new, tried = Path(partial) / "new", Path(partial) / "tried"
        script = write_script(reproduced, profile, title, seconds)
        try:
            trial = try_script(tried, script, seconds if reproduced.ends else 0)
        except (NotReproduced, CannotMake):
            if not script.has_text:
                raise
            # Its release, or a Python with it, may have no onnx that reads the text.
            tried = Path(partial) / "with-files"
            script = write_script(reproduced, profile, title, seconds, with_text=False)
            trial = try_script(tried, script, seconds if reproduced.ends else 0)
        files = {"repro.py": script.text.encode(), **script.files, **_test_data(reproduced, script)}
        files["case.yaml"] = case_file(reproduced.case_run.case, about).encode()
        title = heading(profile, defect.short if defect is not None and defect.short else title)
        # With what the runtime warns of, but without colors and the folders of this machine.
        printed = "\n".join(filter(None, (trial.stderr.strip(), trial.stdout)))
        output = re.sub("\x1b\\[[0-9;]*m", "", printed).replace(f"{tried}{os.sep}", "")
        if defect is None or not defect.fixed:
            files["ISSUE.md"] = issue(reproduced, profile, script, title, output, defect=defect, also=also).encode()
        write_files(new, files)
        move_files(new, folder, list(folder.iterdir()) if folder.exists() else [])
    return Written(sorted(files), title, trial)


def _test_data(reproduced: Reproduced, script: Script) -> dict[str, bytes]:
    """A test for ONNX's backend test runner, if there is an ONNX model that means the same.

    A graph that must be refused has no outputs to compare.
    """
    request, oracle = reproduced.request, reproduced.oracle
    expected = {name: output.reference for name, output in script.expected[0].items()} if script.expected else {}
    if not request.model:
        (job,) = jobs_of_models(reproduced.case_run.case, [Variant(reproduced.variant.outputs)])
        if job.request is None:
            return {}
        request, outputs = job.request, oracle.expected if isinstance(oracle, GraphOracle) else {}
        expected = {name: arranged(job, name, output) for name, output in outputs.items()}
    outputs = {name: expected[name] for name in request.outputs if name in expected}
    return files_of_test(request.model, request.inputs, outputs)


def try_script(folder: Path, script: Script, seconds: float) -> Trial:
    """Run ``repro.py`` in a new folder with its files and requirements and nothing else, before anybody else does.

    Raises :class:`NotReproduced`, and ``CannotMake``.
    """
    runtime, seconds = script.runtime, 300.0 + seconds
    write_files(folder, {"repro.py": script.text.encode(), **script.files})
    environment = {**os.environ, "RUST_BACKTRACE": "0", "PIP_REQUIRE_VIRTUALENV": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    # Only the author of a kernel knows its requirements, so the script runs where the kernel ran.
    python, place = sys.executable, "the environment of maxpool-check"
    if runtime.requires:
        clean = f"a clean environment with {', '.join(script.requirements)}"
        python, place = runtime.interpreter or "", f"the environment of {runtime.interpreter}"
        if not python:
            python, place = str(environments.holding(script.requirements, runtime.machine)), clean
            place += f" on {runtime.machine.architecture}" if runtime.machine.is_emulated else ""
        if runtime.npm_package is not None:
            name, _, version = runtime.npm_package.rpartition("@")
            made = npm_environments.environment(name, version, offline=environments.wheel_source().offline)
            (folder / "node_modules").symlink_to(made / "node_modules")
            place += f" and {runtime.npm_package} of npm"
        removed = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")
        environment = {name: value for name, value in environment.items() if name not in removed}
        environment["PYTHONNOUSERSITE"] = "1"
    try:
        done = subprocess.run(
            [*machines.interpreter(runtime.machine, python), "repro.py"], cwd=folder, env=environment,
            capture_output=True, text=True, errors="replace", timeout=seconds, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired as error:
        raise NotReproduced(f"the script did not end within {seconds:g} s in {place}") from error
    if done.returncode != 1 or not done.stdout.strip():
        printed = (done.stdout.strip() or done.stderr.strip())[-1000:]
        raise NotReproduced(f"the script exited with {done.returncode} in {place}, not with 1: {printed}")
    return Trial(without_stack_frames(done.stdout), without_stack_frames(done.stderr), place)
