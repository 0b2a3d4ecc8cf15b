"""Scripts say what the judge says: for outputs that conform they exit with 0, also where a document leaves values open."""

import subprocess
import sys

import pytest

from maxpool_check.reproducing.reproduced import Reproduced
from maxpool_check.reproducing.script import write_script
from maxpool_check.results.record import Verdict
from maxpool_check.results.variants import WITH_INDICES, Y_ONLY
from maxpool_check.running.case_run import run_case
from maxpool_check.targets.name import parse
from maxpool_check.targets.session import TargetSession
from maxpool_check.targets.target import Target
from tests.conftest import KERNELS, shipped

OPEN = [
    "edge/ties:one-axis",
    "edge/nan:all-float32",
    "edge/signed-zero:both-float32",
    "edge/auto-pad:pads-given-SAME_UPPER",
    "edge/neg-inf:one-cell",
    "documents/onnx-22:ceil-in-padding",
    "openvino/types:infinities-float64",
    "sonnx/float:float-example-3",
]


@pytest.fixture(scope="module")
def session():
    with TargetSession(Target(parse(f"python:{KERNELS}:right").claiming(["onnx", "sonnx"]), 10.0)) as started:
        yield started


def run_script(script, folder):
    for name, content in {"repro.py": script.text.encode(), **script.files}.items():
        (folder / name).write_bytes(content)
    (folder / "kernels.py").write_text(KERNELS.read_text())
    return subprocess.run(
        [sys.executable, "repro.py"], cwd=folder, capture_output=True, text=True, timeout=300, check=False
    )


@pytest.mark.parametrize("name", OPEN)
def test_a_script_of_a_right_kernel_says_that_it_is_right(name, session, tmp_path):
    (case,) = (case for case in shipped().cases if case.id == name)
    case_run = run_case(session, case)
    for variant in (WITH_INDICES, Y_ONLY):
        judgement = case_run.judgements.get(variant)
        if judgement is None or judgement.verdict not in (Verdict.CONFORMS, Verdict.UNDEFINED):
            continue
        reproduced = Reproduced(case_run, variant, session.profile.description)
        script = write_script(reproduced, session.profile, "A kernel that is right", 10.0)
        done = run_script(script, tmp_path)
        assert done.returncode == 0, script.text + done.stdout + done.stderr


def test_a_large_tensor_is_no_longer_script(session, tmp_path):
    case = next(
        each for each in shipped().cases
        if 1024 < each.X.size < 20000 and each.spec == "onnx-22" and each.context.is_alone and 0 < each.oracle().pooled.Y.size
    )  # fmt: skip
    case_run = run_case(session, case)
    assert case_run.judgements[Y_ONLY].verdict is Verdict.CONFORMS
    reproduced = Reproduced(case_run, Y_ONLY, session.profile.description)
    script = write_script(reproduced, session.profile, "Large", 10.0)
    assert len(script.text.splitlines()) <= 60
    assert run_script(script, tmp_path).returncode == 0
