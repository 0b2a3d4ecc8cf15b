"""Scripts accept what the judge accepts, and say what it says; issues have what a maintainer looks for."""

import re
import subprocess
import sys
from importlib.metadata import version

import numpy as np
import pytest

from maxpool_check.graphs.model import build, maxpool_model
from maxpool_check.judging.judge import judge
from maxpool_check.reference.numbering import Layout
from maxpool_check.reference.pooling import Pooling
from maxpool_check.reproducing import bundle
from maxpool_check.reproducing.bundle import NotReproduced, Trial, write
from maxpool_check.reproducing.expectation import expected_outputs
from maxpool_check.reproducing.issue import issue
from maxpool_check.reproducing.others import DefectNote, OtherAnswer, answers
from maxpool_check.reproducing.reproduced import CannotWrite, Reproduced
from maxpool_check.reproducing.script import write_script
from maxpool_check.reproducing.wording import title_of
from maxpool_check.results.outcomes import Crashed, RefusedByTarget, Returned, TimedOut
from maxpool_check.results.record import TargetDescription, Verdict
from maxpool_check.results.variants import WITH_INDICES, Y_ONLY
from maxpool_check.running.case_run import judge_case, run_case
from maxpool_check.targets.jobs import Job
from maxpool_check.targets.languages import LANGUAGES
from maxpool_check.targets.name import parse
from maxpool_check.targets.protocol import Request
from maxpool_check.targets.runtimes import RUNTIMES
from maxpool_check.targets.session import TargetSession
from maxpool_check.targets.target import Target, TargetProfile
from tests.conftest import KERNELS, shipped

# A script looks at each cell: those of one output may follow different interpretations.
RIGHT = (Verdict.CONFORMS, Verdict.UNDEFINED, Verdict.INCONSISTENT)
BY_ID = {case.id: case for case in shipped().cases}
SMALL = [
    case
    for case in shipped().cases
    if case.id.startswith(("edge/", "sonnx/", "documents/"))
    and isinstance(case.resolved, Pooling)
    and case.X.size <= 16
    and not case.resolved.alternatives
    and case.specification.layout is Layout.CHANNELS_FIRST
    and 0 < case.oracle().pooled.Y.size <= 8
]
LANGUAGE = {
    "openvino": "openvino-14", "openvino-reshape": "openvino-14", "torch": "torch", "torch-meta": "torch", "jax": "jax",
    "ncnn": "ncnn", "tensorflow": "tensorflow", "litert": "tflite",
}  # fmt: skip


def described(name):
    """The description of a runtime, or of a kernel."""
    runtime = RUNTIMES.get(name)
    return TargetDescription(
        name=name, distribution=runtime.distribution if runtime else name, version="1.0", provider="CPUExecutionProvider",
        providers=(), session_options={"backend": "llvm-cpu"}, python="3.11.7", numpy="2.0.0", newest_opset=22, graphs=22,
        speaks=LANGUAGE.get(name, "onnx"), decides="values" if runtime is None or runtime.computes else "shapes",
    )  # fmt: skip


def expected(case, variant):
    return expected_outputs(Reproduced(judge_case(case, "kernel", case.oracle(), ()), variant, described("kernel")))


@pytest.mark.parametrize("case", SMALL[::12], ids=lambda case: case.id)
def test_of_all_values_of_the_input_those_that_the_judge_takes(case):
    oracle = case.oracle()
    (right,) = expected(case, Y_ONLY)
    Y = right["Y"]
    assert Y.reference.shape == oracle.shape
    for at in np.ndindex(oracle.shape):
        if oracle.pooled.undefined[at]:
            assert Y.is_open[at]
            continue
        for value in [*case.X.tensor().reshape(-1), *([-np.inf, np.nan] if case.X.dtype.kind == "f" else [])]:
            changed = oracle.pooled.Y.copy()
            changed[at] = value
            conforms = judge(oracle, {Y_ONLY: Returned({"Y": changed})})[Y_ONLY].verdict in RIGHT
            assert Y.right(changed, is_signed=True)[at] == conforms, (at, value)


def check_script(case_run, variant, session, folder):
    """The script of a result says that it is right."""
    shown = Reproduced(case_run, variant, session.profile.description)
    script = write_script(shown, session.profile, "A result that is right", 10.0)
    without_data = re.sub(r"(?ms)^data = \{.*?^\}\n", "", script.text)
    assert len(without_data.splitlines()) <= 60
    for name, content in {"repro.py": script.text.encode(), **script.files, "kernels.py": KERNELS.read_bytes()}.items():
        (folder / name).write_bytes(content)
    words = [sys.executable, folder / "repro.py"]
    done = subprocess.run(words, cwd=folder.parent, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, script.text + done.stdout + done.stderr


def test_scripts_of_a_right_kernel_say_that_it_is_right(tmp_path):
    large = next(
        name for name, case in BY_ID.items()
        if 1024 < case.X.size < 20000 and case.spec == "onnx-22" and case.context.is_alone and 0 < case.oracle().pooled.Y.size
    )  # fmt: skip
    with TargetSession(Target(parse(f"python:{KERNELS}:right").claiming(["onnx", "sonnx"]), 10.0)) as session:
        for name, variant in [
            ("edge/ties:one-axis", WITH_INDICES), ("edge/nan:all-float32", WITH_INDICES), ("edge/neg-inf:one-cell", Y_ONLY),
            ("edge/signed-zero:both-float32", Y_ONLY), ("edge/auto-pad:pads-given-SAME_UPPER", Y_ONLY),
            ("documents/onnx-22:ceil-in-padding", Y_ONLY), ("sonnx/float:float-example-3", WITH_INDICES), (large, Y_ONLY),
        ]:  # fmt: skip
            case_run = run_case(session, BY_ID[name])
            assert case_run.judgements[variant].verdict in RIGHT, name
            check_script(case_run, variant, session, tmp_path)


def reproduced(case, name, outcome):
    """An outcome of a case on a runtime that need not be installed."""
    has_indices = len(case.outputs) > 1 and name not in ("jax", "ncnn", "litert")
    variant, target = WITH_INDICES if has_indices else Y_ONLY, described(name)
    X, attributes, model = case.X.tensor(), dict(case.attributes), b""
    if not case.context.is_alone:
        model = build(case.graph, variant.outputs).model
    elif target.speaks == "onnx":
        model = maxpool_model(22, attributes, X.dtype.name, X.shape, variant.outputs)
    elif target.speaks in LANGUAGES and name in ("jax", "ncnn"):
        attributes = {"padding": [[0, 0]], "pad_mode": 1}
    oracle = case.oracle()
    if outcome is None:
        outcome = Returned({key: np.zeros_like(value) for key, value in oracle.expected.items()})
    job = Job(variant, Request(X, variant.outputs, model, attributes), opset=22, outcome=outcome)
    return Reproduced(judge_case(case, name, oracle, [job]), variant, target)


@pytest.mark.parametrize("name", [name for name in RUNTIMES if name != "xmos"])
def test_every_runtime_has_a_script_and_an_issue(name):
    written = 0
    outcomes = (None, RefusedByTarget("FAIL", "not today"), Crashed("killed by SIGSEGV", ""), TimedOut(6.0))
    alone = ["edge/neg-inf:one-cell", "edge/bfloat16:neg-inf", "edge/ties:one-axis"]
    takes_graphs = name not in ("torch", "torch-meta", "jax", "ncnn", "tensorflow", "litert")
    for case in [*alone, *(["contexts/pad:zero-opset-22"] if takes_graphs else [])]:
        for outcome in outcomes:
            shown, profile = reproduced(BY_ID[case], name, outcome), TargetProfile(parse(name), described(name))
            try:
                script = write_script(shown, profile, "A defect", 6.0)
            except CannotWrite as error:
                assert "bfloat16 on PyTorch" in str(error) or "inferred" in str(error)
                continue
            text = issue(shown, profile, script, "A defect", "printed", defect=None, also=())
            assert script.text.rstrip() in text
            written += 1
    assert written > 6


def test_what_has_no_script_says_why():
    shown, profile = (
        reproduced(BY_ID["edge/neg-inf:one-cell"], "xmos", None),
        TargetProfile(parse("xmos"), described("xmos")),
    )
    with pytest.raises(CannotWrite, match="it would have to build and compile a TFLite model"):
        write_script(shown, profile, "x", 6.0)


SAME_UPPER = "documents/onnx-22:same-upper"
DEFECT = DefectNote(
    title="MaxPool with auto_pad SAME_UPPER ignores dilations", mechanism="The padding is computed from the kernel.",
    established="Source: pool_attributes.h.", fix="Take the dilated kernel.", id="A-DEFECT",
    versions="1.7.0 to 1.31.1", upstream_state="open",
    upstream_issue="https://github.com/microsoft/onnxruntime/issues/1",
)  # fmt: skip
ALSO = [OtherAnswer("tract 0.23.9", "Y = 1.0 (shape [1])", True), OtherAnswer("x", "refused", None)]


@pytest.fixture(scope="module")
def session():
    with TargetSession(Target(parse("onnxruntime"), 10.0)) as started:
        yield started


@pytest.mark.parametrize(
    ("name", "known", "texts"),
    [
        (SAME_UPPER, {}, [
            "# [CPU] MaxPool: auto_pad=SAME_UPPER ignores dilations when computing the padding\n",
            "`repro.py` needs no other file.", '"X": np.array([[[[3.0, 1.0, 4.0, 2.0, 5.0]]]], np.float32),',
            "K = (k - 1) * d + 1. Here n is the size of the input, o the size of the output, k the kernel, s the stride and d the dilation.",
            "Expected Y, float32, shape [1, 1, 1, 5]:\n\n```\n[[[[", "Suspected cause",
            "](https://onnx.ai/onnx/operators/onnx__MaxPool.html#maxpool-22)",
            "\n[W:onnxruntime:] a warning of the runtime\nexpected Y:",
        ]),
        (SAME_UPPER, {"defect": DEFECT, "also": ALSO}, [
            "# [CPU] MaxPool with auto_pad SAME_UPPER ignores dilations\n", "\nCause: The padding is computed from the kernel.",
            "Fix: Take the dilated kernel.", "maxpool-check defects check A-DEFECT -t 'onnxruntime?python=VENV/bin/python'`.",
            "Source: pool_attributes.h.", "Tested versions that show it: 1.7.0 to 1.31.1.",
            "Related: <https://github.com/microsoft/onnxruntime/issues/1> (open).",
            "| tract 0.23.9 | `Y = 1.0 (shape [1])` | as expected |", "| x | `refused` | the document does not decide |",
        ]),
        # A rule of SONNX alone is not held against ONNX, and one that both have is that of ONNX.
        ("edge/nan-sonnx:all-float32", {}, ["The rule is that of [SONNX MaxPool]", "allows what ONNX Runtime does here"]),
        ("documents/sonnx:padding", {}, ["requires this, and so does [SONNX MaxPool]"]),
    ],
)  # fmt: skip
def test_what_a_maintainer_looks_for(session, tmp_path, monkeypatch, name, known, texts):
    trial = Trial("expected Y:\n...\n", "\x1b[0;93m[W:onnxruntime:] a warning of the runtime\x1b[m\n", "an environment")
    # The script is not run.
    monkeypatch.setattr(bundle, "try_script", lambda *_: trial)
    reproduced = Reproduced(run_case(session, BY_ID[name]), Y_ONLY, session.profile.description)
    write(reproduced, session, tmp_path / "r", "", **known)
    text = (tmp_path / "r/ISSUE.md").read_text()
    for each in texts:
        assert each in text.replace("\\_", "_"), text
    outside = re.sub(r"(?sm)^```.*?^```", "", text)
    assert re.findall(r"(?m)^### (.*)$", outside) == [
        "Describe the issue", "To reproduce", "Urgency", "Platform", "OS Version", "ONNX Runtime Installation",
        "ONNX Runtime Version or Commit ID", "ONNX Runtime API", "Architecture", "Execution Provider",
        "Execution Provider Library Version",
    ]  # fmt: skip


def test_a_model_is_a_file_where_the_script_with_its_text_does_not_run(session, tmp_path, monkeypatch):
    tried = []

    def trial(folder, script, _):
        tried.append(script)
        if script.has_text:
            raise NotReproduced("it has no onnx")
        return Trial("expected", "", "an environment")

    monkeypatch.setattr(bundle, "try_script", trial)
    write(
        Reproduced(run_case(session, BY_ID[SAME_UPPER]), Y_ONLY, session.profile.description),
        session,
        tmp_path / "r",
        "",
    )
    assert [script.has_text for script in tried] == [True, False]
    assert [*tried[1].files] == ["model.onnx"]
    assert "onnx.parser" not in (tmp_path / "r/repro.py").read_text()
    issue = (tmp_path / "r/ISSUE.md").read_text()
    assert "`repro.py` reads `model.onnx` beside it, which is attached." in issue
    assert "The model:\n" in issue


def test_other_runtimes_are_called_as_the_runtime_of_the_issue_is():
    (answer,) = answers(BY_ID["edge/neg-inf:one-cell"], Y_ONLY, [parse("onnxruntime")], 10.0, required=True)
    assert answer.runtime == f"ONNX Runtime {version('onnxruntime')}"


@pytest.mark.parametrize(
    ("kernel", "case", "variant", "title"),
    [
        ("dies_of_a_signal", "refusals/attributes:strides-zero-rows", Y_ONLY,
         "MaxPool (strides=[0, 1]) kills the process with SIGFPE instead of being refused"),
        ("accepts_everything", "refusals/attributes:strides-zero-rows", Y_ONLY,
         "MaxPool (strides=[0, 1]) is executed instead of being refused"),
        ("refuses_everything", "edge/neg-inf:one-cell", Y_ONLY,
         "MaxPool (float32, kernel_shape=[1, 1]) is refused: not today"),
        ("keeps_the_seed", "edge/neg-inf:one-cell", WITH_INDICES,
         "MaxPool: Y is the lowest finite value of the dtype instead of -inf (float32, kernel_shape=[1, 1])"),
        ("forgets_its_shape", "edge/neg-inf:one-cell", WITH_INDICES, "MaxPool: Indices is int32 instead of int64"),
    ],
)  # fmt: skip
def test_titles_say_operator_condition_and_effect(kernel, case, variant, title):
    with TargetSession(Target(parse(f"python:{KERNELS}:{kernel}"), 10.0)) as session:
        case_run = run_case(session, BY_ID[case])
        assert title_of(Reproduced(case_run, variant, session.profile.description)) == title
