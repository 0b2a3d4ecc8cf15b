"""Scripts of graphs: they accept what the judge accepts, on the installed ONNX Runtime."""

import itertools
import subprocess
import sys

import pytest

from maxpool_check.fuzzing.generation import generate
from maxpool_check.reproducing.reproduced import Reproduced
from maxpool_check.reproducing.script import write_script
from maxpool_check.results.record import Verdict
from maxpool_check.results.variants import INDICES_ONLY, WITH_INDICES, Y_ONLY
from maxpool_check.running.case_run import run_case
from maxpool_check.targets.name import parse
from maxpool_check.targets.session import TargetSession
from maxpool_check.targets.target import Target


@pytest.mark.long
def test_scripts_of_graphs_that_conform_say_so(tmp_path):
    written = 0
    with TargetSession(Target(parse("onnxruntime"), 10.0)) as session:
        for case in itertools.islice(generate("onnx-22", 7, graphs=1), 150):
            case_run = run_case(session, case)
            if any(judgement.verdict is not Verdict.CONFORMS for judgement in case_run.judgements.values()):
                continue
            variant = {("Y",): Y_ONLY, ("Indices",): INDICES_ONLY}.get(case.outputs, WITH_INDICES)
            reproduced = Reproduced(case_run, variant, session.profile.description)
            script = write_script(reproduced, session.profile, "A graph that is right", 10.0)
            for name, content in {"repro.py": script.text.encode(), **script.files}.items():
                (tmp_path / name).write_bytes(content)
            done = subprocess.run(
                [sys.executable, tmp_path / "repro.py"],
                capture_output=True,
                text=True,
                check=False,
                cwd=tmp_path.parent,
            )
            assert (done.returncode, "wrong at: no level" in done.stdout) == (0, True), script.text + done.stdout
            assert done.stdout.startswith(f"ONNX Runtime {session.profile.description.version}\n")
            written += 1
            if written >= 8:
                break
    assert written
