"""The tests of the judging notice when the judging is wrong."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.judging.mutants import MUTANTS

HERE = Path(__file__).parent
QUICK = [
    str(HERE / f"test_{name}.py")
    for name in ("comparison", "examples", "verdicts", "layouts", "known", "interpretations")
]
"""Those that draw many examples notice as well, but take longer for each mutant."""


def run(name):
    """The tests of this folder up to the first that fails, with one function wrong: exit code and what was printed."""
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *QUICK, "-x", "-q", "-p", "no:cacheprovider",
         "-p", "tests.judging.mutants"],
        capture_output=True, text=True, cwd=ROOT, check=False,
        env={**os.environ, "PYTHONPATH": path, "MUTANT": name},
    )  # fmt: skip
    return done.returncode, done.stdout + done.stderr


@pytest.fixture(scope="module")
def runs():
    """All of them, two at a time; without a mutant too."""
    with ThreadPoolExecutor(2) as threads:
        return dict(zip(["", *MUTANTS], threads.map(run, ["", *MUTANTS]), strict=True))


def test_the_tests_pass_where_nothing_is_wrong(runs):
    code, words = runs[""]
    assert code == pytest.ExitCode.OK, words


@pytest.mark.parametrize("name", MUTANTS)
def test_a_wrong_judge_is_noticed(runs, name):
    code, words = runs[name]
    assert code == pytest.ExitCode.TESTS_FAILED, f"{MUTANTS[name][1].__doc__} {words}"
    assert "\nFAILED tests/judging/" in words
