"""The tests of the judging notice when the judging is wrong."""

import json
import os
import subprocess
import sys

from tests.conftest import ROOT
from tests.judging.mutants import MUTANTS


def test_every_wrong_judge_is_noticed_and_the_correct_one_is_not(tmp_path):
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    done = subprocess.run(
        [sys.executable, "-m", "tests.judging.mutants", str(tmp_path / "failures.json")],
        capture_output=True, text=True, cwd=ROOT, check=False, env={**os.environ, "PYTHONPATH": path},
    )  # fmt: skip
    failures = json.loads((tmp_path / "failures.json").read_text())
    assert failures.keys() == {"", *MUTANTS}, done.stdout + done.stderr
    assert failures.pop("") is None
    unnoticed = {name: MUTANTS[name][1].__doc__ for name, failure in failures.items() if failure is None}
    assert unnoticed == {}
    assert [failure["error"] for failure in failures.values() if not failure["test"]] == []
