"""Writes a reproduction: all of it beside its place, the script tried there, and moved when it has shown the fault."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from onnx import numpy_helper

from maxpool_check.corpus.writing import case_file
from maxpool_check.judging.kinds import DivergenceKind
from maxpool_check.judging.oracle import Oracle
from maxpool_check.reproducing.accepted import expected
from maxpool_check.reproducing.issue import issue
from maxpool_check.reproducing.runtimes import Runtime, requires_python
from maxpool_check.reproducing.script import MARK, Reproduced, script
from maxpool_check.targets import environments, onnx_model
from maxpool_check.targets.session import TargetSession

SECONDS = 300.0
"""How long a script may take, beside the time that it gives an answer."""

_FILES = {"repro.py", "model.onnx", "test_data_set_0", "case.yaml", "ISSUE.md"}


class NotReproduced(RuntimeError):
    """The script, in a clean environment, does not show the fault."""


@dataclass(frozen=True)
class Written:
    """What was written: the files, by their names in the folder, what the script said, and what it was tried with."""

    files: tuple[str, ...]
    printed: str
    environment: str


def is_free(folder: Path) -> bool:
    """Whether a reproduction may be written there: nothing is, or another reproduction and nothing else."""
    if not folder.exists():
        return True
    if not folder.is_dir():
        return False
    names = {path.name for path in folder.iterdir()}
    marked = folder / "repro.py"
    if not names:
        return True
    if not marked.is_file() or MARK not in marked.read_text(encoding="utf-8", errors="replace"):
        return False
    kernels = {
        name for name in names - _FILES if f"from {name.removesuffix('.py')} import" in marked.read_text("utf-8")
    }
    return names - {"__pycache__"} <= _FILES | kernels


def write(one: Reproduced, session: TargetSession, runtime: Runtime, folder: Path, about: str) -> Written:
    """Write a reproduction into ``folder``, all of it or nothing.

    Raises :class:`NotReproduced`, ``CannotWrite``, ``environments.CannotMake`` or ``OSError``.
    """
    folder = Path(os.path.abspath(folder))  # noqa: PTH100 (a link is not followed)
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{folder.name}.", dir=folder.parent) as partial:
        new, tried = Path(partial) / "new", Path(partial) / "tried"
        new.mkdir()
        text = script(one, runtime, requires_python(session.profile), session.target.seconds)
        (new / "repro.py").write_text(text, encoding="utf-8")
        if runtime.kernel is not None:
            shutil.copyfile(runtime.kernel, new / runtime.kernel_name)
        _test_data(one, new)
        (new / "case.yaml").write_text(case_file(one.case_run.case, about), encoding="utf-8")
        shutil.copytree(new, tried)
        printed, environment = _try(one, session.target.seconds, runtime, tried)
        (new / "ISSUE.md").write_text(issue(one, runtime, session.profile.description, text, printed), encoding="utf-8")
        _move(new, folder, Path(partial) / "old")
    files = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    return Written(tuple(files), printed, environment)


def _test_data(one: Reproduced, folder: Path) -> None:
    """What ONNX's backend test runner takes. A graph that must be refused has no outputs to compare."""
    request, meaning = one.request, one.case_run.oracle
    model = request.model or onnx_model.build(
        onnx_model.NEWEST_OPSET, request.attributes, request.X.dtype.name, request.X.shape, request.outputs
    )
    (folder / "model.onnx").write_bytes(model)
    data = folder / "test_data_set_0"
    data.mkdir()
    values: dict[str, np.ndarray] = {}
    if isinstance(meaning, Oracle):
        values = expected(meaning, one.variant, one.layout)
    (data / "input_0.pb").write_bytes(numpy_helper.from_array(request.X, "X").SerializeToString())
    for number, name in enumerate(request.outputs if values else ()):
        (data / f"output_{number}.pb").write_bytes(numpy_helper.from_array(values[name], name).SerializeToString())


def _try(one: Reproduced, seconds_of_target: float, runtime: Runtime, folder: Path) -> tuple[str, str]:
    """Run the script as its reader would: with its requirements and nothing else; what it printed, and with what."""
    environment = {**os.environ, "PIP_REQUIRE_VIRTUALENV": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    if runtime.kernel is None:
        python = str(environments.fresh(folder / "environment", runtime.requirements))
        for name in ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV"):
            environment.pop(name, None)
        environment["PYTHONNOUSERSITE"] = "1"
        tried_with = f"a clean environment with {', '.join(runtime.requirements)}"
    else:
        # What a kernel needs only its owner knows: it is tried where it was asked.
        python, tried_with = sys.executable, "the environment of maxpool-check"
    seconds = SECONDS + (seconds_of_target if {DivergenceKind.CRASH, DivergenceKind.TIMEOUT} & {*one.kinds} else 0)
    with contextlib.ExitStack() as stack:
        stack.callback(shutil.rmtree, folder / "environment", ignore_errors=True)
        try:
            done = subprocess.run(
                [python, "repro.py"], cwd=folder, env=environment, capture_output=True, text=True, errors="replace",
                timeout=seconds, check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired as error:
            raise NotReproduced(f"the script did not end within {seconds:g} s in {tried_with}") from error
    if done.returncode != 1 or not done.stdout.strip():
        said = (done.stdout.strip() or done.stderr.strip())[-1000:]
        raise NotReproduced(f"the script exited with {done.returncode} in {tried_with}, not with 1: {said}")
    return done.stdout, tried_with


def _move(new: Path, folder: Path, old: Path) -> None:
    """Put a folder in the place of another, which is there until it is."""
    if folder.exists():
        folder.rename(old)
    try:
        new.rename(folder)
    except OSError:
        if old.exists():
            old.rename(folder)
        raise
