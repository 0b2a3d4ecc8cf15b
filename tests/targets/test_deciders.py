"""What decides without computing: judged by shapes and refusals alone, and never taken for a runtime that computes."""

import json

import pytest

from maxpool_check.evidence.tracing.trace import TraceScope, trace
from maxpool_check.results.storage import read
from tests.conftest import CASES, command, replying, shipped

SHAPES, CHECKER, LOAD = "onnx-shape-inference", "onnx-checker", "onnxruntime-load"
TARGETS = (SHAPES, f"{SHAPES}?strict=0", CHECKER, f"{CHECKER}?full=0", LOAD)
ONE = ("run", CASES / "edge/strides.yaml", "-k", "rows-only", "--variants", "y-only")


@pytest.fixture(scope="module")
def record_path(tmp_path_factory):
    """A record of the installed onnx on cases of every verdict."""
    path = tmp_path_factory.mktemp("deciders") / "record.jsonl"
    names = ("edge/strides", "edge/auto-pad", "refusals/window", "refusals/attributes", "contexts/dynamic")
    targets = [word for target in TARGETS for word in ("-t", target)]
    files = (CASES / f"{name}.yaml" for name in names)
    command("run", *files, *targets, "--known", "none", "-q", "-o", path).check(1)
    return path


@pytest.fixture(scope="module")
def executions(record_path):
    return {(each.target, each.case, each.variant): each for each in read(record_path).executions}


PASSED_OVER = "refusals/attributes:strides-zero-rows"


@pytest.mark.parametrize(("case", "targets", "verdict", "kinds"), [
    ("edge/auto-pad:pads-given-SAME_UPPER", (SHAPES, LOAD), "diverges", ("shape",)),
    # A shape that one mistake alone explains has its kind; what is excluded has no windows, but a size all the same.
    ("edge/auto-pad:zero-pads-given", (SHAPES,), "diverges", ("auto-pad-ignored",)),
    ("refusals/window:one-axis-strided", (SHAPES,), "diverges", ("truncated-division",)),
    ("refusals/window:one-axis-negative", (SHAPES, CHECKER), "diverges", ("accepts-invalid",)),
    ("refusals/attributes:ceil-mode-2", (SHAPES, CHECKER), "diverges", ("accepts-invalid",)),
    # Strict and full refuse what is passed over without.
    (PASSED_OVER, (SHAPES, CHECKER), "conforms", ()),
    (PASSED_OVER, (f"{SHAPES}?strict=0",), "unknown", ()),
    (PASSED_OVER, (f"{CHECKER}?full=0",), "diverges", ("accepts-invalid",)),
    # What is not known is not wrong.
    ("contexts/dynamic:batch", (SHAPES,), "unknown", ()),
])  # fmt: skip
def test_a_verdict(executions, case, targets, verdict, kinds):
    for target in targets:
        execution = executions[target, case, "y-only"]
        assert (execution.verdict, execution.kinds) == (verdict, kinds), target


def test_a_shape_is_judged_and_not_a_value(executions):
    for target in TARGETS:
        ordinary = [each for (name, case, _), each in executions.items() if name == target and "strides:" in case]
        assert {each.verdict for each in ordinary} == {"conforms"}
    right = executions[SHAPES, "edge/strides:rows-only", "indices"]
    assert [str(right.inferred[name]) for name in ("Y", "Indices")] == ["float32[1, 1, 2, 2]", "int64[1, 1, 2, 2]"]
    assert not right.digests
    wrong = executions[SHAPES, "edge/auto-pad:pads-given-SAME_UPPER", "y-only"].shapes["Y"]
    assert (wrong.expected, wrong.got) == ((1, 1, 3, 4), (1, 1, 4, 5))
    assert executions[SHAPES, "refusals/window:one-axis-negative", "y-only"].inferred["Y"].shape[2] < 0
    unknown = executions[SHAPES, "contexts/dynamic:batch", "y-only"]
    assert (unknown.inferred["Y"].shape, unknown.message) == ((None, 3, 2, 3), "unknown sizes of Y")


def test_reports_say_that_only_shapes_were_decided_and_they_are_no_evidence(record_path, tmp_path):
    for form in ("text", "markdown", "html"):
        text = command("report", record_path, "--report", form).out
        assert ("shapes only" in text, "acceptance only" in text) == (True, True), form
    (traced,) = trace(TraceScope(shipped().cases, ("onnx-22",)), {"record": read(record_path)}).records
    assert (traced.counted, traced.decides[CHECKER]) == (0, "acceptance")
    build = ("evidence", "build", record_path, "--cases", CASES, "-o", tmp_path / "bundle.tar")
    command(*build).check(2, "decides shapes only")
    assert not (tmp_path / "bundle.tar").exists()


def test_what_computes_nothing_has_no_variants_and_tests_no_model():
    path = CASES / "edge/batches-channels.yaml"
    done = command("run", path, "-t", CHECKER, "--variants", "y-only-twice", "-q", "-o", "-")
    split = [each for each in done.results if each["variant"] == "y-only-twice"]
    assert {each["verdict"] for each in split} == {"not-expressible"}
    assert "computes no values" in split[0]["message"]
    command("model", path, "-t", CHECKER).check(2, "onnx-checker computes no outputs")


def program(outputs, **ready):
    """The target of a program that decides the same about every request: shapes of outputs, or its acceptance."""
    return replying({"type": "accepted"} if outputs is None else {"type": "shapes", "outputs": outputs}, **ready)


def y(dtype, *shape):
    return {"Y": {"dtype": dtype, "shape": shape}}


ABOUT_ACCEPTANCE = "a message about acceptance of a target that decides"


@pytest.mark.parametrize(("decides", "outputs", "verdict", "message"), [
    ("shapes", y("float32", 1, 1, 2, None), "unknown", "unknown sizes of Y"),
    ("acceptance", None, "conforms", "accepted"),
    ("values", None, "error", f"{ABOUT_ACCEPTANCE} values"),
    ("shapes", None, "error", f"{ABOUT_ACCEPTANCE} shapes"),
    ("shapes", y("float32", "2"), "error", "'outputs.Y.shape[0]': expected null or an integer"),
    ("shapes", {}, "unknown", "unknown dtype and shape of Y"),
    ("shapes", y(None, 1, 1, -2, 2), "diverges", "Y is inferred as ?[1, 1, -2, 2]"),
    ("shapes", y(None, 2**63), "error", "'outputs.Y.shape[0]': 9223372036854775808 is greater"),
    ("shapes", y(None, *[1] * 65), "error", "'outputs.Y.shape': expected at most 64 entries, found 65"),
])  # fmt: skip
def test_a_program_of_the_user_may_decide_shapes(decides, outputs, verdict, message):
    (result,) = command(*ONE, "-t", program(outputs, decides=decides), "-q", "-o", "-").results
    assert (result["verdict"], message in result["message"]) == (verdict, True), result["message"]


def test_only_outputs_that_were_asked_for_are_recorded(tmp_path):
    inferred = y("float32", 1, 1, 2, 2)
    path = tmp_path / "record.jsonl"
    target = program({**inferred, "\x1b[31mZ": inferred["Y"]}, decides="shapes")
    command(*ONE, "-t", target, "-q", "-o", path)
    (execution,) = read(path).executions
    assert list(execution.inferred) == ["Y"]


def test_a_mistake_is_found_whatever_the_layout_of_the_document(tmp_path):
    X = {"dtype": "float32", "shape": [1, 5, 5, 1], "arange": {"start": 0, "step": 1}}
    case = {"id": "it", "input": X, "attributes": {"kernel_shape": [2, 2], "strides": [2, 2]}}
    (tmp_path / "case.yaml").write_text(json.dumps({"spec": "ort-nhwc-11", "cases": [case]}))
    # Rounded up.
    target = program(y("float32", 1, 1, 3, 3), decides="shapes")
    words = ("-t", target, "--spec", "ort-nhwc-11", "--variants", "y-only", "-q", "-o", "-")
    (result,) = command("run", tmp_path / "case.yaml", *words).results
    assert "ceil-floor-exchanged" in [each.kind for each in result["causes"]]
