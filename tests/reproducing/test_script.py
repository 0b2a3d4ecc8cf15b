"""Scripts say what the judge says: for outputs that conform they exit with 0, also where a document leaves values open."""

import subprocess
import sys

import pytest

from maxpool_check.judging.oracle import Oracle
from maxpool_check.reproducing.reproduced import Reproduced
from maxpool_check.reproducing.script_runtime import CannotWrite
from maxpool_check.reproducing.writing import write_script
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


def run_text(text, folder):
    (folder / "repro.py").write_text(text)
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
        text = write_script(reproduced, session.profile, "A kernel that is right", 10.0).text
        done = run_text(text, tmp_path)
        assert done.returncode == 0, text + done.stdout + done.stderr


def test_a_tensor_that_is_too_large_is_refused_with_the_limit(session):
    case = next(
        each for each in shipped().cases
        if 1024 < each.X.size < 20000 and each.spec == "onnx-22" and each.context.is_alone and isinstance(each.oracle(), Oracle)
    )  # fmt: skip
    case_run = run_case(session, case)
    reproduced = Reproduced(case_run, Y_ONLY, session.profile.description)
    with pytest.raises(CannotWrite, match="the most is 1024"):
        write_script(reproduced, session.profile, "Too large", 10.0)
