"""Writes a reproduction: runs the script in a temporary folder and moves it into place if it shows the fault."""

import os
import platform
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from onnx import numpy_helper

from maxpool_check.corpus.case import Case
from maxpool_check.corpus.writing import case_file
from maxpool_check.judging.graph_oracle import GraphOracle
from maxpool_check.judging.kinds import DESCRIPTIONS
from maxpool_check.judging.oracle import Oracle
from maxpool_check.reporting.markup import codes, escaped, fenced
from maxpool_check.reporting.tensors import described
from maxpool_check.reproducing.accepted import expected
from maxpool_check.reproducing.graph_script import graph_script
from maxpool_check.reproducing.runtimes import DEFAULT_PROVIDER, ScriptRuntime, graph_runtime
from maxpool_check.reproducing.script import MARK, Reproduced, script
from maxpool_check.results.record import TargetDescription, Verdict
from maxpool_check.results.variants import OPTIMIZATION_OFF, Variant
from maxpool_check.specifications.refused import Refused
from maxpool_check.targets import environments, onnx_model
from maxpool_check.targets.session import TargetSession

SECONDS = 300.0
"""How long a script may take, in seconds, besides the time limit of the target."""

_FILES = {"repro.py", "model.onnx", "test_data_set_0", "case.yaml", "ISSUE.md", "__pycache__"}
_ARCHITECTURES = {"x86_64": "X64", "AMD64": "X64", "aarch64": "ARM64", "arm64": "ARM64", "i686": "X86"}


class NotReproduced(RuntimeError):
    """The script, in a clean environment, does not show the fault."""


class Written(NamedTuple):
    """The files, by their names in the folder, what the script printed, and the environment in which it ran."""

    files: list[str]
    printed: str
    environment: str


def is_free(folder: Path) -> bool:
    """Whether a reproduction may be written there: the folder is new, empty, or holds a reproduction and nothing else."""
    if not folder.is_dir():
        return not folder.exists()
    names = {path.name for path in folder.iterdir()}
    script_path = folder / "repro.py"
    text = script_path.read_text(encoding="utf-8", errors="replace") if script_path.is_file() else ""
    others = [name for name in names - _FILES if f"from {name.removesuffix('.py')} import" not in text]
    return not names or (MARK in text and not others)


def write(reproduced: Reproduced, session: TargetSession, runtime: ScriptRuntime, folder: Path, about: str) -> Written:
    """Write a reproduction into ``folder``, all of it or nothing.

    Raises :class:`NotReproduced`, ``CannotWrite``, ``environments.CannotMake`` or ``OSError``.
    """
    folder = Path(os.path.abspath(folder))  # noqa: PTH100 (a link is not followed)
    folder.parent.mkdir(parents=True, exist_ok=True)
    prefix = f".{folder.name}."
    with tempfile.TemporaryDirectory(prefix=prefix, dir=folder.parent, ignore_cleanup_errors=True) as partial:
        new, tried = Path(partial) / "new", Path(partial) / "tried"
        new.mkdir()
        python = ".".join(session.profile.description.python.split(".")[:2])
        if isinstance(reproduced.case_run.oracle, GraphOracle):
            text = graph_script(reproduced, graph_runtime(session.profile), python)
        else:
            text = script(reproduced, runtime, python, session.target.seconds)
        (new / "repro.py").write_text(text, encoding="utf-8")
        if runtime.kernel is not None:
            shutil.copyfile(runtime.kernel, new / runtime.kernel_name)
        _test_data(reproduced, new)
        (new / "case.yaml").write_text(case_file(reproduced.case_run.case, about), encoding="utf-8")
        shutil.copytree(new, tried)
        printed, environment = _try(reproduced, session.target.seconds, runtime, tried)
        issue_text = _issue(reproduced, runtime, session.profile.description, text, printed)
        (new / "ISSUE.md").write_text(issue_text, encoding="utf-8")
        _move(new, folder, Path(partial) / "old")
    files = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    return Written(files, printed, environment)


def _test_data(reproduced: Reproduced, folder: Path) -> None:
    """Write a test for ONNX's backend test runner. A graph that must be refused has no outputs to compare."""
    request, oracle = reproduced.request, reproduced.case_run.oracle
    model = request.model or onnx_model.build(
        onnx_model.NEWEST_OPSET, request.attributes, request.X.dtype.name, request.X.shape, request.outputs
    )
    (folder / "model.onnx").write_bytes(model)
    data = folder / "test_data_set_0"
    data.mkdir()
    values = expected(oracle, reproduced.variant, reproduced.layout) if isinstance(oracle, Oracle) else {}
    for number, (name, tensor) in enumerate(request.inputs.items()):
        (data / f"input_{number}.pb").write_bytes(numpy_helper.from_array(tensor, name).SerializeToString())
    for number, name in enumerate(request.outputs if values else ()):
        (data / f"output_{number}.pb").write_bytes(numpy_helper.from_array(values[name], name).SerializeToString())


def _try(reproduced: Reproduced, seconds_of_target: float, runtime: ScriptRuntime, folder: Path) -> tuple[str, str]:
    """Run the script with its requirements and nothing else; what it printed, and the environment in words."""
    environment = {**os.environ, "PIP_REQUIRE_VIRTUALENV": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    if runtime.kernel is None:
        python = str(environments.fresh(folder / "environment", runtime.requirements))
        for name in ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV"):
            environment.pop(name, None)
        environment["PYTHONNOUSERSITE"] = "1"
        tried_with = f"a clean environment with {', '.join(runtime.requirements)}"
    else:
        # Only the author of a kernel knows its requirements, so the script runs where the kernel ran.
        python, tried_with = sys.executable, "the environment of maxpool-check"
    seconds = SECONDS + (seconds_of_target if reproduced.dies else 0)
    try:
        done = subprocess.run(
            [python, "repro.py"], cwd=folder, env=environment, capture_output=True, text=True, errors="replace",
            timeout=seconds, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired as error:
        raise NotReproduced(f"the script did not end within {seconds:g} s in {tried_with}") from error
    if done.returncode != 1 or not done.stdout.strip():
        printed = (done.stdout.strip() or done.stderr.strip())[-1000:]
        raise NotReproduced(f"the script exited with {done.returncode} in {tried_with}, not with 1: {printed}")
    return done.stdout, tried_with


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


def _graph_text(reproduced: Reproduced) -> str:
    """The graph of several nodes, X and what enters MaxPool, in numbers, and whether the outputs are right unoptimized."""
    case_run, variant = reproduced.case_run, reproduced.variant
    oracle = case_run.oracle
    if not isinstance(oracle, GraphOracle):
        return ""
    context, case = oracle.graph.context, case_run.case
    lines = [f"operator set {context.opset}", *context.lines(), "", *described("X", case.X)]
    if context.before:
        lines += described("the tensor that enters MaxPool", oracle.X)
    text = f"\n\nThe nodes through which X flows:\n\n{fenced([*lines], '')}"
    unoptimized = case_run.judgements.get(Variant(variant.outputs, OPTIMIZATION_OFF))
    if unoptimized is None or variant.variation is OPTIMIZATION_OFF:
        return text
    is_right = unoptimized.verdict is Verdict.CONFORMS
    return f"{text}\n\nWithout graph optimization (`ORT_DISABLE_ALL`) the outputs are {'right' if is_right else 'wrong, too'}."


def _inputs(case: Case) -> str:
    """The input of the graph, and that of its MaxPool if it is another."""
    X, M = case.X, case.entering
    if case.context is None or not case.context.before:
        return f"X {X.dtype.name}{list(X.shape)}"
    return f"whose input is {M.dtype.name}{list(M.shape)}, in a graph with the input X {X.dtype.name}{list(X.shape)}"


def _issue(reproduced: Reproduced, runtime: ScriptRuntime, target: TargetDescription, script: str, printed: str) -> str:
    """The text of an issue in Markdown, in the order of ONNX Runtime's form; ``printed`` is the output of the script."""
    case, oracle, title = reproduced.case_run.case, reproduced.case_run.oracle, escaped(runtime.title)
    clauses = {DESCRIPTIONS[kind].clause for kind in reproduced.kinds}
    if isinstance(oracle, Refused):
        clauses = {f"{oracle.message} ({oracle.clause})"}
    attributes = codes(f"{name}={value}" for name, value in case.attributes.items()) or "no attributes"
    outputs = " and ".join(reproduced.request.outputs)
    sections = {
        "Describe the issue": (
            f"MaxPool with {attributes}, {_inputs(case)}, {outputs} requested, "
            f"judged by {case.specification.title}:\n\n"
            + "".join(f"- `{kind.value}`: {DESCRIPTIONS[kind].sentence}\n" for kind in reproduced.kinds)
            + "".join(f"\nOracle: {escaped(clause)}." for clause in sorted(clauses))
            + _graph_text(reproduced)
            + f"\n\n{fenced([printed.strip()], '')}"
        ),
        "To reproduce": (
            "`uv run repro.py`, or with these requirements installed, `python repro.py`. Exit status, as for "
            "`git bisect run`: 1 reproduced, 0 fixed, 125 inconclusive.\n\n"
            f"{fenced([script.rstrip()], 'python')}\n\n"
            "`model.onnx` and `test_data_set_0/` are the same as a test for ONNX's backend test runner."
        ),
        "Urgency": "None stated.",
        "Platform": "Mac" if platform.system() == "Darwin" else platform.system(),
        "OS Version": platform.platform(),
        f"{title} Installation": "Released Package" if runtime.kernel is None else "Own kernel",
        f"{title} Version or Commit ID": escaped(target.version) if runtime.kernel is None else "not stated",
        f"{title} API": f"Python {escaped(target.python)}",
        "Architecture": _ARCHITECTURES.get(platform.machine(), platform.machine()),
        "Execution Provider": "Default CPU"
        if target.provider in (DEFAULT_PROVIDER, "CPU")
        else escaped(target.provider),
        "Execution Provider Library Version": escaped(", ".join(runtime.requirements)),
    }
    heading = f"# MaxPool: {', '.join(kind.value for kind in reproduced.kinds)} ({escaped(runtime.named)})"
    return "\n\n".join([heading, *(f"### {name}\n\n{text}" for name, text in sections.items())]) + "\n"
