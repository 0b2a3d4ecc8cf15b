"""What decides without computing: judged by shapes and refusals alone, and never taken for a runtime that computes."""

import json
import sys

import pytest

from maxpool_check.evidence.tracing.trace import TraceScope, trace
from maxpool_check.results.record import Verdict
from maxpool_check.results.storage import read
from tests.conftest import CASES, command, shipped

ONNX = ("onnx-shape-inference", "onnx-shape-inference?strict=0", "onnx-checker", "onnx-checker?full=0")


@pytest.fixture(scope="module")
def record_path(tmp_path_factory):
    """A record of the installed onnx on cases of every verdict."""
    path = tmp_path_factory.mktemp("deciders") / "record.jsonl"
    files = [
        "edge/strides",
        "edge/dilations",
        "edge/auto-pad",
        "refusals/window",
        "refusals/attributes",
        "contexts/dynamic",
    ]
    targets = [word for target in (*ONNX, "onnxruntime-load") for word in ("-t", target)]
    done = command("run", *(CASES / f"{name}.yaml" for name in files), *targets, "--known", "none", "-q", "-o", path)
    assert done.code == 1, done.err
    return path


@pytest.fixture(scope="module")
def executions(record_path):
    return {(each.target, each.case, each.variant): each for each in read(record_path).executions}


@pytest.mark.parametrize("target", [*ONNX, "onnxruntime-load"])
def test_ordinary_geometry_is_right(executions, target):
    ordinary = [each for (name, case, _), each in executions.items() if name == target and "edge/strides:" in case]
    assert ordinary
    assert {each.verdict for each in ordinary} == {Verdict.CONFORMS}


def test_a_shape_is_judged_and_not_a_value(executions):
    right = executions["onnx-shape-inference", "edge/strides:rows-only", "indices"]
    assert [str(right.inferred[name]) for name in ("Y", "Indices")] == ["float32[1, 1, 2, 2]", "int64[1, 1, 2, 2]"]
    assert not right.digests


def test_pads_beside_auto_pad_give_a_wrong_shape(executions):
    for target in ("onnx-shape-inference", "onnxruntime-load"):
        wrong = executions[target, "edge/auto-pad:pads-given-SAME_UPPER", "y-only"]
        assert (wrong.verdict, wrong.kinds) == (Verdict.DIVERGES, ("shape",))
        assert (wrong.shapes["Y"].expected, wrong.shapes["Y"].got) == ((1, 1, 3, 4), (1, 1, 4, 5))


def test_a_shape_that_one_mistake_alone_explains_has_its_kind(executions):
    wrong = executions["onnx-shape-inference", "edge/auto-pad:zero-pads-given", "y-only"]
    assert wrong.kinds == ("auto-pad-ignored",)
    # What is excluded has no windows, but a size all the same.
    wrong = executions["onnx-shape-inference", "refusals/window:one-axis-strided", "y-only"]
    assert wrong.kinds == ("truncated-division",)


def test_a_negative_size_and_a_value_that_is_not_defined_are_accepted(executions):
    for case in ("refusals/window:one-axis-negative", "refusals/attributes:ceil-mode-2"):
        for target in ("onnx-shape-inference", "onnx-checker"):
            assert executions[target, case, "y-only"].kinds == ("accepts-invalid",), (target, case)
    assert executions["onnx-shape-inference", "refusals/window:one-axis-negative", "y-only"].inferred["Y"].shape[2] < 0


def test_strict_and_full_refuse_what_is_passed_over_without(executions):
    case = "refusals/attributes:strides-zero-rows"
    verdicts = {target: executions[target, case, "y-only"].verdict for target in ONNX}
    assert verdicts == {
        "onnx-shape-inference": Verdict.CONFORMS, "onnx-shape-inference?strict=0": Verdict.UNKNOWN,
        "onnx-checker": Verdict.CONFORMS, "onnx-checker?full=0": Verdict.DIVERGES,
    }  # fmt: skip


def test_what_is_not_known_is_not_wrong(executions):
    unknown = executions["onnx-shape-inference", "contexts/dynamic:batch", "y-only"]
    assert unknown.verdict is Verdict.UNKNOWN
    assert unknown.inferred["Y"].shape == (None, 3, 2, 3)
    assert unknown.message == "unknown sizes of Y"


def test_reports_say_that_only_shapes_were_decided(record_path):
    for form in ("text", "markdown", "html"):
        text = command("report", record_path, "--report", form).out
        assert "shapes only" in text, form
        assert "acceptance only" in text, form


def test_shapes_count_for_no_clause_and_make_no_evidence(record_path, tmp_path):
    (traced,) = trace(TraceScope(shipped().cases, ("onnx-22",)), {"record": read(record_path)}).records
    assert traced.counted == 0
    assert traced.decides["onnx-checker"] == "acceptance"
    done = command("evidence", "build", record_path, "--cases", CASES, "-o", tmp_path / "bundle.tar")
    assert done.code == 2
    assert "decides shapes only" in done.err
    assert not (tmp_path / "bundle.tar").exists()


def test_a_variant_that_cannot_change_a_shape_is_not_executed():
    done = command("run", CASES / "edge/batches-channels.yaml", "-t", "onnx-checker", "--variants", "y-only-batch-split", "--report", "json")  # fmt: skip
    split = [each for each in done.json["results"] if each["variant"] == "y-only-batch-split"]
    assert {each["verdict"] for each in split} == {"not-expressible"}
    assert "computes no values" in split[0]["message"]


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("onnx-checker?full=2", "full must be 0 or 1, got 2"),
        ("onnx-checker?strict=1", "unknown option strict"),
        ("onnx-shape-inference?strict=yes", "strict must be 0 or 1, got yes"),
        ("onnx-shape-inference@CUDA", "runs on CPU only"),
        ("onnxruntime-load?level=all", "unknown option level"),
    ],
)
def test_options_that_do_not_exist_are_refused(target, message):
    done = command("run", CASES / "edge/strides.yaml", "-t", target)
    assert done.code == 3
    assert message in one_line(done)


def test_a_model_is_not_tested_by_what_computes_nothing():
    done = command("model", CASES / "edge/strides.yaml", "-t", "onnx-checker")
    assert done.code == 2
    assert "onnx-checker computes no outputs" in done.err


def one_line(done):
    return " ".join((done.out + done.err).split())


def program(tmp_path, ready, answer):
    """A program that writes the same answer to every request."""
    path = tmp_path / "program.py"
    path.write_text(
        "import json, sys\n"
        "next(sys.stdin)\n"
        f"print(json.dumps({{'type': 'ready', 'protocol': 1, **{ready!r}}}), flush=True)\n"
        "for line in sys.stdin:\n"
        f"    print(json.dumps({{'id': json.loads(line)['id'], **{answer!r}}}), flush=True)\n"
    )
    return f"command:{sys.executable} {path}"


@pytest.mark.parametrize(
    ("ready", "answer", "verdict", "message"),
    [
        ({"decides": "shapes"}, {"type": "shapes", "outputs": {"Y": {"dtype": "float32", "shape": [1, 1, 2, None]}}}, "unknown", "unknown sizes of Y"),
        ({"decides": "acceptance"}, {"type": "accepted"}, "conforms", "accepted"),
        ({}, {"type": "accepted"}, "error", "a message about acceptance of a target that decides values"),
        ({"decides": "shapes"}, {"type": "accepted"}, "error", "a message about acceptance of a target that decides shapes"),
        ({"decides": "shapes"}, {"type": "shapes", "outputs": {"Y": {"dtype": "float32", "shape": ["2"]}}}, "error", "'outputs.Y.shape[0]': expected null or an integer"),
        ({"decides": "shapes"}, {"type": "shapes", "outputs": {"Y": {"shape": []}}}, "error", "'outputs.Y': missing 'dtype'"),
        ({"decides": "shapes"}, {"type": "shapes", "outputs": {}}, "unknown", "unknown dtype and shape of Y"),
        ({"decides": "shapes"}, {"type": "shapes", "outputs": {"Y": {"dtype": None, "shape": [1, 1, -2, 2]}}}, "diverges", "Y is inferred as ?[1, 1, -2, 2]"),
        ({"decides": "shapes"}, {"type": "shapes", "outputs": {"Y": {"dtype": None, "shape": [2**63]}}}, "error", "'outputs.Y.shape[0]': 9223372036854775808 is greater"),
        ({"decides": "shapes"}, {"type": "shapes", "outputs": {"Y": {"dtype": None, "shape": [1] * 65}}}, "error", "'outputs.Y.shape': expected at most 64 entries, found 65"),
        ({"decides": "shapes"}, {"type": "shapes", "outputs": {"Y": "float32"}}, "error", "outputs.Y"),
    ],
)  # fmt: skip
def test_a_program_of_the_user_may_decide_shapes(tmp_path, ready, answer, verdict, message):
    target = program(tmp_path, ready, answer)
    done = command("run", CASES / "edge/strides.yaml", "-k", "rows-only", "-t", target, "--variants", "y-only", "--report", "json")  # fmt: skip
    (result,) = done.json["results"]
    assert (result["verdict"], message in result["message"]) == (verdict, True), result["message"]


def test_only_outputs_that_were_asked_for_are_recorded(tmp_path):
    inferred = {"dtype": "float32", "shape": [1, 1, 2, 2]}
    target = program(
        tmp_path, {"decides": "shapes"}, {"type": "shapes", "outputs": {"Y": inferred, "\x1b[31mZ": inferred}}
    )
    path = tmp_path / "record.jsonl"
    command("run", CASES / "edge/strides.yaml", "-k", "rows-only", "-t", target, "--variants", "y-only", "-q", "-o", path)  # fmt: skip
    (execution,) = read(path).executions
    assert list(execution.inferred) == ["Y"]


def test_a_mistake_is_found_whatever_the_layout_of_the_document(tmp_path):
    X = {"dtype": "float32", "shape": [1, 5, 5, 1], "arange": {"start": 0, "step": 1}}
    attributes = {"kernel_shape": [2, 2], "strides": [2, 2]}
    path = tmp_path / "case.yaml"
    path.write_text(json.dumps({"spec": "ort-nhwc-11", "cases": [{"id": "it", "input": X, "attributes": attributes}]}))
    rounded_up = {"type": "shapes", "outputs": {"Y": {"dtype": "float32", "shape": [1, 1, 3, 3]}}}
    target = program(tmp_path, {"decides": "shapes"}, rounded_up)
    done = command("run", path, "-t", target, "--spec", "ort-nhwc-11", "--variants", "y-only", "--report", "json")
    (result,) = done.json["results"]
    assert "ceil-floor-exchanged" in [each["kind"] for each in result["causes"]]


def test_a_program_that_decides_something_else_is_refused(tmp_path):
    done = command("run", CASES / "edge/strides.yaml", "-t", program(tmp_path, {"decides": "colours"}, {}))
    assert done.code == 3
    assert "'decides': expected one of values | shapes | acceptance, found the text 'colours'" in one_line(done)
