"""The commands, with cases that are graphs of several nodes."""

import json
import subprocess
import sys

import onnx
import pytest

from maxpool_check.corpus.collection import collect
from tests.conftest import run_pytest

CASES = """\
spec: onnx-22
cases:
  - id: pad-zero
    title: Padding with 0 is a number
    opset: 18
    input: {dtype: float32, data: [[[[-1, -2, -3], [-4, -5, -6], [-7, -8, -9]]]]}
    graph:
      - {op: Pad, mode: constant, pads: [0, 0, 1, 1, 0, 0, 1, 1], constant_value: 0}
      - {op: MaxPool}
    attributes: {kernel_shape: [2, 2], strides: [2, 2]}
  - id: clipped
    title: A bound of -inf is no bound
    input: {dtype: float32, data: [[[1, 5]]]}
    graph: [{op: MaxPool}, {op: Clip, min: -.inf, max: 2}, {op: Squeeze}]
    attributes: {kernel_shape: [1]}
"""


@pytest.fixture
def graphs(tmp_path):
    path = tmp_path / "graphs.yaml"
    path.write_text(CASES)
    return path


def test_list(cli, graphs):
    listed = cli("cases", "list", graphs).out.splitlines()
    assert "float32[1, 1, 3, 3] Pad > MaxPool  " in listed[0]
    assert "onnx-12" in listed[0]
    first, second = cli("cases", "list", graphs, "--json").json["cases"]
    assert (first["opset"], [node["op"] for node in first["graph"]["nodes"]]) == (18, ["Pad", "MaxPool"])
    # JSON has no infinities.
    assert second["graph"]["nodes"][1] == {"op": "Clip", "min": "-inf", "max": 2}


def test_reference(cli, graphs):
    text = cli("explain", f"{graphs}:clipped").out
    assert "  Squeeze" in text
    assert "the output of the graph float32[2]\n     1.0   2.0\n" in text
    document = cli("explain", f"{graphs}:clipped", "--json").json
    assert document["opset"] == 22
    assert document["output"] == {"dtype": "float32", "shape": [2], "values": ["1.0", "2.0"]}
    assert document["entering"]["shape"] == [1, 1, 2]
    json.dumps(document, allow_nan=False)


def test_explain_draws_the_flow_and_the_window_on_what_enters_maxpool(cli, graphs):
    text = cli("explain", f"{graphs}:pad-zero", "--at", "0,0,1,1").out
    assert "Graph in operator set 18:" in text
    assert "constant_value=0) -> float32[1, 1, 5, 5]" in text
    assert "The tensor that enters MaxPool: float32[1, 1, 5, 5]" in cli("explain", f"{graphs}:pad-zero").out
    assert "Y is -5.0, from X[0, 0, 2, 2], index 12" in text
    done = cli("explain", f"{graphs}:pad-zero", "-t", "onnxruntime")
    assert done.code == 0
    assert "y-only-optimization-off: conforms" in done.out


MISTAKES = [
    ("graph: [{op: @Relx}, {op: MaxPool}]", "found the text 'Relx' (did you mean 'Relu'?)"),
    ("graph: [{op: Clip, mim: @0}, {op: MaxPool}]", "Clip has no field 'mim' (did you mean 'min'?)"),
    ("graph: [{op: MaxPool}, {op: MaxPool, kernel: @[1]}]", "MaxPool has no field 'kernel'"),
    ("graph: {nodes: [{op: MaxPool}, {op: Clip, mim: @0}]}", "Clip has no field 'mim' (did you mean 'min'?)"),
    (
        "graph: @[{op: MaxPool}, {op: MaxPool}]",
        "one {op: MaxPool} without further keys, the judged one, found 2; the others need",
    ),
    (
        "graph: @[{op: Relu}]",
        "expected one {op: MaxPool} without further keys, the judged one, found none; its attributes are",
    ),
    ("graph: [{op: MaxPool}, @{op: Reshape, shape: [3]}]", "Reshape: cannot reshape array of size 2 into shape"),
    ("graph: [{op: Neg}, @{op: Pad, pads: [1]}, {op: MaxPool}]", "Pad of 3 axes needs 6 pads, got 1"),
    ("graph: {nodes: [{op: Identity}, @{op: Relu}, {op: MaxPool}]}", "Relu of NaN: ONNX does not define it"),
    ("graph: {nodes: [{op: MaxPool}], shape: [N, @3, 2]}", "expected a name, or the size 1; found 3"),
    ("graph: {nodes: [{op: MaxPool}], inside: @if}", "found the text 'if' (did you mean 'If'?)"),
    ("graph: [{op: MaxPool}, {op: Neg, consumers: @2}]", "consumers: 2 belongs to MaxPool or to a node before it"),
    ("opset: @99", "there is no operator set 99"),
]


@pytest.mark.parametrize(("field", "message"), MISTAKES)
def test_mistakes_are_named_at_their_place(field, message, cli, tmp_path):
    path = tmp_path / "bad.yaml"
    X = "{dtype: float32, data: [[[.nan, 2]]]}"
    line = f"    {field}"
    path.write_text(
        f"spec: onnx-22\ncases:\n  - id: a\n    input: {X}\n{line.replace('@', '')}\n    attributes: {{kernel_shape: [1]}}\n"
    )
    done = cli("cases", "lint", path)
    assert done.code == 2
    assert message in done.err
    # The place that the mark in the field is before.
    assert f"{path}:5:{line.index('@') + 1}: " in done.err


@pytest.mark.parametrize(("opset", "dtype"), [(13, "int8"), (11, "uint8")])
def test_a_dtype_that_the_operator_set_does_not_have(opset, dtype, cli, tmp_path):
    path = tmp_path / "bad.yaml"
    path.write_text(
        f"spec: onnx-22\ncases:\n  - id: a\n    opset: {opset}\n    input: {{dtype: {dtype}, data: [[[1]]]}}\n"
        "    graph: [{op: Relu}, {op: MaxPool}]\n    attributes: {kernel_shape: [1]}\n"
    )
    done = cli("cases", "lint", path)
    assert (done.code, f"{path}:6:13: Relu of operator set {opset} has no {dtype}" in done.err) == (2, True)


@pytest.mark.network
def test_a_reproduction_runs_the_graph_at_every_level(cli, graphs, tmp_path):
    from importlib.metadata import version

    if version("onnxruntime") != "1.31.1":
        pytest.skip("about the installed ONNX Runtime 1.31.1")
    folder = tmp_path / "r"
    done = cli("repro", f"{graphs}:pad-zero", "-o", folder)
    assert done.code == 0, done.out + done.err
    assert "pad-folded-into-pads of graphs:pad-zero on onnxruntime (y-only)" in done.out
    printed = done.out.replace("\n  ", "\n")
    assert "got Y at ORT_DISABLE_ALL:\n[[[0.]]]" in printed
    assert "got Y at ORT_ENABLE_ALL:\n[[[-1.]]]" in printed
    assert "wrong at: ORT_ENABLE_BASIC, ORT_ENABLE_EXTENDED, ORT_ENABLE_ALL" in printed
    issue = (folder / "ISSUE.md").read_text()
    for words in (
        "= Pad (X, ",
        "X, float32, shape [1, 1, 1]:\n\n```\n[[[-1.]]]\n```\n",
        "| Y[0, 0, 0] | 0.0 | **-1.0** |",
        "`ORT_DISABLE_ALL`) the outputs are right",
    ):
        assert words in issue
    assert [node.op_type for node in onnx.load(folder / "model.onnx").graph.node] == ["Pad", "MaxPool"]
    (case,) = collect([folder / "case.yaml"]).cases
    assert (case.context.operators, case.X.size) == (("Pad", "MaxPool"), 1)
    # The script needs nothing of the tool, and tells where the output is right.
    text = (folder / "repro.py").read_text()
    assert "maxpool_check" not in text
    again = subprocess.run([sys.executable, "repro.py"], cwd=folder, capture_output=True, text=True, check=False)
    assert (again.returncode, again.stdout in done.out.replace("\n  ", "\n")) == (1, True)
    repaired = text.replace('"ORT_ENABLE_BASIC", "ORT_ENABLE_EXTENDED", "ORT_ENABLE_ALL"', '"ORT_DISABLE_ALL"')
    (folder / "repro.py").write_text(repaired)
    done = subprocess.run([sys.executable, "repro.py"], cwd=folder, capture_output=True, text=True, check=False)
    assert (done.returncode, "wrong at: no level" in done.stdout) == (0, True)


def test_the_plugin_of_pytest(graphs, tmp_path):
    done = run_pytest(tmp_path, "--maxpool-check=onnxruntime", graphs)
    assert done.code == 1
    assert "1 failed, 1 passed" in done.out
    assert "Pad(mode=constant, pads=[0, 0, 1, 1, 0, 0, 1, 1], constant_value=0)" in done.out


@pytest.mark.long
def test_fuzz_finds_and_shrinks_a_graph_that_is_rewritten_wrongly(cli, tmp_path):
    from importlib.metadata import version

    if version("onnxruntime") != "1.31.1":
        pytest.skip("about the installed ONNX Runtime 1.31.1")
    done = cli(
        "fuzz", "--only", "contexts", "--seed", "0", "--max-cases", "700", "-o", tmp_path / "found", "--known", "none"
    )
    assert done.code == 1
    graphs = {case.name: case.context for case in collect([tmp_path / "found"]).cases}
    assert graphs["pad-folded-into-pads-y-only"].operators == ("Pad", "MaxPool")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [(["--only", "contexts", "--spec", "openvino-14"], "openvino-14 is not a document of ONNX graphs")],
)
def test_what_fuzz_cannot_draw(arguments, words, cli, tmp_path):
    done = cli("fuzz", "-o", tmp_path / "found", *arguments)
    assert (done.code, words in done.err) == (2, True)
