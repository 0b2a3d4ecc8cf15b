"""What ``model`` says of what it did not test: never that it conforms."""

import json
import resource
import subprocess
import sys

import junitparser
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from maxpool_check.models.analysis import analyse
from maxpool_check.models.model_file import read_model
from maxpool_check.models.testing import ModelPlan, run_models
from maxpool_check.results.outcomes import TimedOut
from maxpool_check.targets.name import parse
from maxpool_check.targets.session import TargetSession
from tests.conftest import ROOT, environment
from tests.models import broken, external, zoo
from tests.models.writing import keep_outside, saved

DECLARED = ["STRING", "BOOL", "COMPLEX64", "COMPLEX128", "INT4", "UINT4", "INT32", "UINT64", "FLOAT4E2M1"]
DECLARED += ["FLOAT8E4M3FN", "FLOAT8E4M3FNUZ", "FLOAT8E5M2", "FLOAT8E5M2FNUZ"]


def pool_of(X, **graph):
    """A model that is one MaxPool of X: an element type, or a whole type."""
    declared = X if isinstance(X, int) else TensorProto.FLOAT
    ends = [helper.make_tensor_value_info(name, declared, [1, 1, 4, 4]) for name in "XY"]
    if not isinstance(X, int):
        ends[0].type.CopyFrom(X)
    node = helper.make_node("MaxPool", ["X"], ["Y"], "pool", kernel_shape=[1, 1])
    made = helper.make_graph([node], "one", ends[:1], ends[1:], **graph)
    return helper.make_model(made, opset_imports=[helper.make_opsetid("", 22)], ir_version=10)


@pytest.mark.parametrize("name", DECLARED)
def test_a_declared_element_type_that_the_document_lacks_is_excluded(name, cli, tmp_path):
    done = cli("model", saved(pool_of(getattr(TensorProto, name)), tmp_path), "--report", "json")
    (node,) = done.json["models"][0]["nodes"]
    assert (done.code, done.json["result"]) == (1, "EXCLUDED")
    assert f"X must be one of float16, float32, float64, int8, uint8, bfloat16, got {name.lower()}" in node["untested"]
    assert node["tested_input"] == {"dtype": name.lower(), "shape": [1, 1, 4, 4], "assumed": False}
    assert done.json["results"] == []


def test_what_is_no_tensor_is_excluded(cli, tmp_path):
    tensors = helper.make_tensor_type_proto(TensorProto.FLOAT, [1, 1, 4, 4])
    for X, name in (
        (helper.make_sequence_type_proto(tensors), "sequence"),
        (helper.make_optional_type_proto(tensors), "optional"),
        (helper.make_sparse_tensor_type_proto(TensorProto.FLOAT, [1, 1, 4, 4]), "sparse_tensor"),
    ):
        done = cli("model", saved(pool_of(X), tmp_path), COLUMNS="160")
        assert (done.code, done.out.splitlines()[-1].partition(" ")[0]) == (1, "EXCLUDED")
        assert f"  {name} [" in done.out


@pytest.mark.parametrize(
    ("number", "name"), [(TensorProto.UNDEFINED, "undefined"), (99, "undefined (99)"), (-1, "undefined (-1)")]
)
def test_an_element_type_that_onnx_does_not_have_is_not_tested(number, name, cli, tmp_path):
    done = cli("model", saved(pool_of(number), tmp_path), COLUMNS="160")
    assert (done.code, done.out.splitlines()[-1]) == (4, "NOTHING TESTED  no result could be compared")
    assert f"the element type of its input is {name}" in done.out
    assert "assumed" not in done.out


@pytest.mark.parametrize(("dtype", "label"), [("STRING", "EXCLUDED"), ("DOUBLE", "CONFORMS")])
def test_the_declared_type_of_a_tensor_that_no_inference_reaches_counts(dtype, label, cli, tmp_path, kernel_target):
    known = helper.make_tensor_value_info("X", getattr(TensorProto, dtype), [1, 1, 4, 4])
    model = pool_of(TensorProto.FLOAT, value_info=[known])
    model.graph.input[0].name = "raw"
    model.graph.node.insert(0, helper.make_node("Decode", ["raw"], ["X"], domain="local"))
    model.opset_import.append(helper.make_opsetid("local", 1))
    done = cli("model", saved(model, tmp_path), "-t", kernel_target("right"), "--report", "json")
    assert done.json["result"] == label
    (node,) = done.json["models"][0]["nodes"]
    assert node["tested_input"] == {
        "dtype": {"DOUBLE": "float64"}.get(dtype, "string"),
        "shape": [1, 1, 4, 4],
        "assumed": False,
    }


def test_a_tensor_of_no_declared_type_is_assumed_and_said(cli, tmp_path, kernel_target):
    model = pool_of(TensorProto.FLOAT)
    model.graph.input[0].name = "raw"
    model.graph.node.insert(0, helper.make_node("Decode", ["raw"], ["X"], domain="local"))
    model.opset_import.append(helper.make_opsetid("local", 1))
    done = cli("model", saved(model, tmp_path), "-t", kernel_target("right"), COLUMNS="160")
    assert done.code == 0
    assert "float32 [1, 3, 64, 64], assumed" in done.out


SHORT = "its entry 'length' is 8, and its values take 864 bytes"


def unloadable(way, folder):
    """A model that ONNX Runtime cannot run: which, why, and what else is to be given."""
    if way == "missing":
        return external.external_missing(folder), "'W': there is no file weights.bin"
    if way == "length":
        return external.external_number(folder, length="8"), f"'W': {SHORT}"
    if way == "end":
        return external.external_short(folder), "'W': weights.bin has 10 of its 864 bytes"
    if way == "refused":
        return saved(broken.duplicate_names(), folder), "the target refuses it: "
    if way == "tail":
        model = zoo.plain()
        model.graph.node.append(helper.make_node("Unknown", ["Y"], ["Z"], domain="local"))
        model.opset_import.append(helper.make_opsetid("local", 1))
        model.graph.output[0].name = "Z"
        return saved(model, folder), "as a whole, the target refuses it: "
    if way == "inside":
        model = zoo.in_if()
        model.graph.node.append(helper.make_node("Unknown", [model.graph.output[0].name], ["Z"], domain="local"))
        model.opset_import.append(helper.make_opsetid("local", 1))
        model.graph.output[0].name = "Z"
        return saved(model, folder), "as a whole, the target refuses it: "
    return saved(endless(before=way == "time"), folder), "no result within 1 s (--timeout)"


def endless(before):
    """A Loop of so many iterations that it does not end, before or behind a MaxPool."""
    sizes = [1, 1, 4, 4]
    state = [helper.make_tensor_value_info(name, TensorProto.FLOAT, sizes) for name in ("a", "b")]
    flags = [helper.make_tensor_value_info(name, TensorProto.BOOL, []) for name in ("c", "d")]
    number = helper.make_tensor_value_info("i", TensorProto.INT64, [])
    copies = [helper.make_node("Identity", [a], [b]) for a, b in ("cd", "ab")]
    body = helper.make_graph(copies, "body", [number, flags[0], state[0]], [flags[1], state[1]])
    model = pool_of(
        TensorProto.FLOAT,
        initializer=[
            helper.make_tensor("count", TensorProto.INT64, [], [2**62]),
            helper.make_tensor("go", TensorProto.BOOL, [], [True]),
        ],
    )
    pool = model.graph.node[0]
    source, target = ("X", "A") if before else ("A", "Y")
    loop = helper.make_node("Loop", ["count", "go", source], [target], "loop", body=body)
    (pool.input if before else pool.output)[0] = "A"
    model.graph.node.insert(0 if before else 1, loop)
    return model


WAYS = ["missing", "length", "end", "refused", "tail", "inside", "time", "time behind"]


@pytest.mark.parametrize("way", WAYS)
def test_a_model_that_the_target_cannot_run_is_incomplete(way, cli, tmp_path):
    path, why = unloadable(way, tmp_path)
    done = cli("model", path, "-t", "onnxruntime", MAXPOOL_CHECK_TIMEOUT="1", COLUMNS="160")
    first, last = done.out.partition("\nonnxruntime: ")[0], done.out.splitlines()[-1]
    assert done.code == 3
    assert why in " ".join(first.split())
    assert last.startswith(f"INCOMPLETE  {path}: ")
    assert why in last


@pytest.mark.parametrize("way", ["missing", "tail"])
def test_who_knows_may_allow_what_is_incomplete(way, cli, tmp_path):
    path, why = unloadable(way, tmp_path)
    done = cli("model", path, "-t", "onnxruntime", "--allow-incomplete", "-o", tmp_path / "record.jsonl")
    assert (done.code, done.out.splitlines()[0].partition(":")[0]) == (0, "onnxruntime")
    assert done.out.splitlines()[-1].startswith("CONFORMS  of 1 MaxPool node, 1 conforms")
    assert why in done.out.splitlines()[-1]
    assert cli("report", tmp_path / "record.jsonl").code == 0


def test_every_report_and_the_record_say_that_the_test_is_incomplete(cli, tmp_path):
    path, why = unloadable("missing", tmp_path)
    formats = ("json", "markdown", "github", "html", "junit", "sarif")
    reports = [argument for name in formats for argument in ("--report", f"{name}={tmp_path / name}")]
    done = cli("model", path, "-t", "onnxruntime", "-q", "-o", tmp_path / "record.jsonl", *reports)
    assert (done.code, why in done.err) == (3, True)
    texts = {name: (tmp_path / name).read_text() for name in formats}
    document = json.loads(texts["json"])
    assert (document["exit_code"], document["result"], why in document["message"]) == (3, "INCOMPLETE", True)
    assert [why in error["message"] for error in document["errors"]] == [True]
    assert "**INCOMPLETE** " in texts["markdown"].splitlines()[2]
    assert "**INCOMPLETE** " in texts["github"].splitlines()[2]
    assert '<p class="verdict bad"><strong>INCOMPLETE</strong> ' in texts["html"]
    suites = {suite.name: suite for suite in junitparser.JUnitXml.fromfile(str(tmp_path / "junit"))}
    assert suites["run"].errors == 1
    (invocation,) = json.loads(texts["sarif"])["runs"][0]["invocations"]
    assert not invocation["executionSuccessful"]
    assert [why in each["message"]["text"] for each in invocation["toolExecutionNotifications"]] == [True]
    assert f"INCOMPLETE  {path}: " in cli("report", tmp_path / "record.jsonl", COLUMNS="400").out


def test_a_wrong_or_excluded_node_counts_more_than_what_is_incomplete(cli, tmp_path):
    path, _ = unloadable("missing", tmp_path)
    (tmp_path / "second").mkdir()
    excluded = saved(pool_of(TensorProto.INT64), tmp_path / "second", "excluded.onnx")
    done = cli("model", path, excluded, "-t", "onnxruntime")
    assert (done.code, done.out.splitlines()[-1].partition(" ")[0]) == (1, "EXCLUDED")
    half = zoo.half_between_casts()
    keep_outside(half, half.graph.initializer[0].name, "nowhere.bin")
    wrong = cli("model", saved(half, tmp_path, "half.onnx"), "-t", "onnxruntime")
    assert (wrong.code, "nowhere.bin" in wrong.out.partition("\nonnxruntime: ")[0]) == (1, True)


def test_missing_weights_may_be_given(cli, tmp_path):
    path, _ = unloadable("missing", tmp_path)
    model = onnx.load(path, load_external_data=False)
    model.graph.input.append(helper.make_tensor_value_info("W", TensorProto.FLOAT, [8, 3, 3, 3]))
    saved(model, tmp_path)
    np.savez(tmp_path / "inputs.npz", X=np.ones((1, 3, 24, 24), np.float32), W=np.ones((8, 3, 3, 3), np.float32))
    done = cli("model", path, "-t", "onnxruntime", "--inputs", tmp_path / "inputs.npz")
    assert (done.code, "random" in done.out) == (0, False)


def test_an_upgrade_of_a_model_that_was_not_run_is_incomplete(cli, tmp_path):
    path, why = unloadable("tail", tmp_path)
    targets = ("--base", "onnxruntime", "--head", f"onnxruntime?python={sys.executable}")
    done = cli("model", path, *targets)
    assert (done.code, done.out.splitlines()[-1].partition(" ")[0]) == (3, "INCOMPLETE")
    assert why in done.out.splitlines()[-1]
    allowed = cli("model", path, *targets, "--allow-incomplete")
    assert (allowed.code, allowed.out.splitlines()[-1].partition(" ")[0]) == (0, "SAFE")
    assert why in allowed.out.splitlines()[-1]


@pytest.mark.parametrize("before", [True, False])
def test_one_execution_in_a_model_may_run_into_the_time_limit(before, tmp_path, monkeypatch):
    outcomes, timed = [], TargetSession.timed_outcome

    def noted(session, number):
        outcomes.append(timed(session, number))
        return outcomes[-1]

    monkeypatch.setattr(TargetSession, "timed_outcome", noted)
    analysis = analyse(read_model(saved(endless(before), tmp_path)))
    run_models(ModelPlan([analysis], [parse("onnxruntime")], seconds=1), lambda _: None)
    assert sum(isinstance(outcome, TimedOut) for outcome, _ in outcomes) == 1


def test_only_what_a_tensor_needs_is_read_of_its_file(tmp_path):
    path = external.external_larger(tmp_path, 200 * 2**30)
    limit = 8 * 2**30
    done = subprocess.run(
        [sys.executable, "-m", "maxpool_check", "model", str(path), "-t", "onnxruntime"],
        capture_output=True, text=True, cwd=ROOT, env=environment(), timeout=300, check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)),
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[-1].startswith("CONFORMS  of 1 MaxPool node, 1 conforms")


def test_values_that_no_runtime_would_be_sent_are_not_read(cli, tmp_path):
    path = external.external_larger(tmp_path, 200 * 2**30, "V", [50 * 2**30, 1, 1, 1])
    done = cli("model", path, "-t", "onnxruntime", COLUMNS="160")
    assert (done.code, "its constants have more than 512 MB" in done.out.splitlines()[-1]) == (3, True)


def test_external_values_of_inner_graphs_and_nodes_are_sent_along(cli, tmp_path):
    model = zoo.in_if()
    for branch in (attribute.g for node in model.graph.node for attribute in node.attribute if attribute.g.node):
        source = branch.node[-1].input[0]
        branch.node[-1].input[0] = f"{branch.name}_less"
        branch.node.insert(
            len(branch.node) - 1, helper.make_node("Sub", [source, branch.name], [f"{branch.name}_less"])
        )
        one = helper.make_tensor(branch.name, TensorProto.FLOAT, [1], np.ones(1, np.float32).tobytes(), raw=True)
        branch.initializer.append(one)
        (tmp_path / "ones.bin").write_bytes(keep_outside(branch, branch.name, "ones.bin"))
    done = cli("model", saved(model, tmp_path), "-t", "onnxruntime", COLUMNS="160")
    assert (done.code, done.out.splitlines()[-1].partition(" ")[0]) == (0, "CONFORMS"), done.out


@pytest.mark.parametrize("entries", [{"offset": "-1"}, {"length": "-1"}, {"offset": "x"}, {"length": "many"}])
def test_numbers_that_are_none_of_a_file_are_refused(entries, cli, tmp_path):
    done = cli("model", external.external_number(tmp_path, **entries))
    assert (done.code, "the external data of 'W'" in done.err) == (2, True)


@pytest.mark.parametrize("entries", [{"offset": "9" * 15}, {"length": "9" * 15}])
def test_values_behind_the_end_of_a_file_are_not_there(entries, cli, tmp_path):
    done = cli("model", external.external_number(tmp_path, **entries), "-t", "onnxruntime")
    assert (done.code, "the values are not there: 'W': " in done.out.splitlines()[-1]) == (3, True)
