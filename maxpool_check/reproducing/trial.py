"""Runs a script where nothing but its requirements is installed, before anybody else does."""

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from maxpool_check.reproducing.script_runtime import ScriptRuntime
from maxpool_check.targets import environments, npm_environments
from maxpool_check.targets.launching import without_stack_frames

SECONDS = 300.0
"""How long a script may take, in seconds, besides the time limit of the target."""


class NotReproduced(RuntimeError):
    """The script, in a clean environment, does not show the fault."""


@dataclass(frozen=True)
class Trial:
    """A script that was run: what it printed to stdout and to stderr, without stack frames, and where it ran, in words."""

    stdout: str
    stderr: str
    environment: str


def try_script(folder: Path, runtime: ScriptRuntime, requirements: tuple[str, ...], seconds: float) -> Trial:
    """Run ``repro.py`` of a folder with its requirements and nothing else.

    Raises :class:`NotReproduced`, and ``CannotMake``.
    """
    environment = {**os.environ, "RUST_BACKTRACE": "0", "PIP_REQUIRE_VIRTUALENV": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    if runtime.is_kernel:
        # Only the author of a kernel knows its requirements, so the script runs where the kernel ran.
        python, tried_with = sys.executable, "the environment of maxpool-check"
    else:
        if runtime.interpreter is not None:
            python, tried_with = runtime.interpreter, f"the environment of {runtime.interpreter}"
        else:
            python = str(environments.holding(requirements))
            tried_with = f"a clean environment with {', '.join(requirements)}"
        if runtime.npm_package is not None:
            name, _, version = runtime.npm_package.rpartition("@")
            offline = environments.wheel_source().offline
            modules = npm_environments.environment(name, version, offline=offline) / "node_modules"
            (folder / "node_modules").symlink_to(modules)
            tried_with += f" and {runtime.npm_package} of npm"
        for name in ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV"):
            environment.pop(name, None)
        environment["PYTHONNOUSERSITE"] = "1"
    try:
        done = subprocess.run(
            [python, "repro.py"], cwd=folder, env=environment, capture_output=True, text=True, errors="replace",
            timeout=SECONDS + seconds, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired as error:
        raise NotReproduced(f"the script did not end within {SECONDS + seconds:g} s in {tried_with}") from error
    if done.returncode != 1 or not done.stdout.strip():
        printed = (done.stdout.strip() or done.stderr.strip())[-1000:]
        raise NotReproduced(f"the script exited with {done.returncode} in {tried_with}, not with 1: {printed}")
    return Trial(without_stack_frames(done.stdout), without_stack_frames(done.stderr), tried_with)
