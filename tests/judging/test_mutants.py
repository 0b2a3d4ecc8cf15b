"""The tests of the judging notice when the judging is wrong."""

import json
import os
import subprocess
import sys

from tests.conftest import ROOT
from tests.judging.mutants import MUTANTS


def test_every_wrong_judge_is_noticed_and_the_correct_one_is_not(tmp_path):
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    words = [sys.executable, "-m", "tests.judging.mutants", tmp_path / "failures.json"]
    done = subprocess.run(words, capture_output=True, text=True, cwd=ROOT, env={**os.environ, "PYTHONPATH": path})
    failures = json.loads((tmp_path / "failures.json").read_text())
    assert failures.keys() == {"", *MUTANTS}, done.stdout + done.stderr
    assert failures.pop("") is None
    assert [name for name, failure in failures.items() if failure is None] == []
    assert [failure["error"] for failure in failures.values() if not failure["test"]] == []
