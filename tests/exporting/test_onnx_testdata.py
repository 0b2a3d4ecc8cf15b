"""ONNX's test data: onnx's backend runner finds in an export what ``run`` finds, on ONNX Runtime and on the ReferenceEvaluator."""

import hashlib
import json

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from maxpool_check.exporting.onnx_testdata import safe_names
from maxpool_check.judging.judge import judge
from maxpool_check.results.outcomes import Returned
from maxpool_check.results.record import Verdict
from maxpool_check.results.variants import Y_ONLY
from tests.conftest import shipped
from tests.exporting.backends import BACKENDS, failures

SOME = ["corpus:edge/auto-pad", "corpus:edge/signed-zero-sonnx", "corpus:edge/neg-inf", "corpus:contexts/inside",
        "corpus:openvino/examples-8", "corpus:nhwc/activation"]  # fmt: skip
WRONG = ("diverges", "refuses", "crashes", "times-out", "unstable")


def compared(cli, folder, backend, *paths):
    """The executions that ``run`` and onnx's runner see differently: what is wrong in ``run`` and passes, and the reverse."""
    assert cli("cases", "export", "onnx-testdata", *paths, "-o", folder / "tests").code == 0
    manifest = json.loads((folder / "tests/manifest.json").read_text())
    record = folder / "record.jsonl"
    assert cli("run", *paths, "-t", backend, "-q", "-o", record).code in (0, 1)
    lines = [json.loads(line) for line in record.read_text().splitlines()]
    verdicts = {(line["case"], line["variant"]): line["verdict"] for line in lines if line["type"] == "execution"}
    failed, ran = failures(backend, folder / "tests")
    names = {
        name: verdicts[case, variant]
        for case, entry in manifest["cases"].items()
        for variant, name in entry["tests"].items()
    }
    assert ran == set(names)
    # A runtime that lacks an activation fails in the runner, and has no result of MaxPool that run could judge.
    failed -= {name for name, verdict in names.items() if verdict == "not-expressible"}
    wrong = {name for name, verdict in names.items() if verdict in WRONG}
    assert wrong & failed
    assert set(names) - wrong - failed
    return wrong - failed, failed - wrong, manifest


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_backend_runner_finds_what_run_finds(cli, tmp_path, backend):
    passes, fails, manifest = compared(cli, tmp_path, backend, *SOME)
    assert fails == set()
    assert passes <= set(manifest["limits"]["zero_sign"])


@pytest.mark.long
@pytest.mark.parametrize("backend", BACKENDS)
def test_the_backend_runner_finds_what_run_finds_in_the_whole_corpus(cli, tmp_path, backend):
    passes, fails, manifest = compared(cli, tmp_path, backend, "corpus")
    assert passes <= set(manifest["limits"]["zero_sign"])
    # ONNX Runtime's backend takes no input of bfloat16.
    assert fails <= set(manifest["limits"]["bfloat16"]) | {name for name in fails if "_bfloat16_" in name}


def test_the_tests_of_the_manifest_are_those_of_the_cases(cli, tmp_path):
    assert cli("cases", "export", "onnx-testdata", *SOME, "-o", tmp_path).code == 0
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    cases = {case.id: case for case in shipped().cases}
    for name, entry in manifest["cases"].items():
        assert entry["sha256"] == cases[name].sha256
        for variant, test in entry["tests"].items():
            graph = onnx.load(tmp_path / test / "model.onnx").graph
            outputs = [value.name for value in graph.output]
            assert ("Indices" in outputs) == (variant == "indices")
            files = sorted((tmp_path / test / "test_data_set_0").glob("output_*.pb"))
            read = [numpy_helper.to_array(onnx.load_tensor(str(file))) for file in files]
            assert len(read) == len(outputs)
            assert all(
                tensor.dtype == np.int64 for tensor, output in zip(read, outputs, strict=True) if output == "Indices"
            )
    every = {path.relative_to(tmp_path).as_posix(): path for path in tmp_path.rglob("*") if path.is_file()}
    assert {name: hashlib.sha256(every[name].read_bytes()).hexdigest() for name in manifest["files"]} == manifest[
        "files"
    ]
    assert every.keys() - {"manifest.json"} == manifest["files"].keys()


def test_an_export_is_read_as_the_tests_of_another_suite(cli, tmp_path):
    assert cli("cases", "export", "onnx-testdata", "corpus:edge/auto-pad", "-o", tmp_path / "tests").code == 0
    done = cli("cases", "lint", tmp_path / "tests")
    assert (done.code, done.err) == (0, "")


def test_what_one_answer_cannot_hold_is_left_out_with_the_reason(cli, small, tmp_path):
    done = cli("cases", "export", "onnx-testdata", small, "corpus:edge/ties", "-o", tmp_path / "tests")
    assert done.code == 0
    left_out = {(each["case"], each.get("variant")): each["why"] for each in
                json.loads((tmp_path / "tests/manifest.json").read_text())["left_out"]}  # fmt: skip
    assert left_out["small:stride-0", None] == "the graph must be refused"
    assert left_out["small:empty", "y-only"] == "several outputs are right: a window holds no cell of X"
    assert "ties" in left_out["edge/ties:all-equal", "indices"]
    assert ("edge/ties:all-equal", "y-only") not in left_out
    page = (tmp_path / "tests/LIMITS.md").read_text()
    for reason in ("the graph must be refused | 1 |", "several outputs are right"):
        assert reason in page
        assert reason.split(" |")[0] in done.err


def test_the_cases_that_are_left_out_and_those_with_tests_add_up(cli, small, tmp_path):
    paths = [small, "corpus:edge/ties", "corpus:edge/nan", "corpus:refusals/sonnx"]
    selected = len(cli("cases", "list", *paths, "--json").json["cases"])
    done = cli("cases", "export", "onnx-testdata", *paths, "-o", tmp_path / "tests")
    manifest = json.loads((tmp_path / "tests/manifest.json").read_text())
    left_out, tested = {each["case"] for each in manifest["left_out"]}, set(manifest["cases"])
    assert len(left_out | tested) == selected
    assert f"{len(tested)} of {selected} cases" in done.out
    rows = [
        line.strip("| ").split(" | ")
        for line in (tmp_path / "tests/LIMITS.md").read_text().splitlines()
        if line.count("|") == 4
    ]
    counts = {why: (int(whole), int(partly)) for why, whole, partly in rows[2:]}
    total = counts.pop("all")
    assert total == (len(left_out - tested), len(left_out & tested))
    assert total == tuple(map(sum, zip(*counts.values(), strict=True)))
    assert all(total)
    for why, (whole, _) in counts.items():
        assert f"left out, {why}: {whole} case" in done.err


def test_where_a_runner_must_accept_either_zero_is_named(cli, tmp_path):
    assert cli("cases", "export", "onnx-testdata", "corpus:edge/signed-zero", "-o", tmp_path / "tests").code == 0
    manifest = json.loads((tmp_path / "tests/manifest.json").read_text())
    cases = {case.id: case for case in shipped().cases}
    either, fixed = set(), set()
    for name, entry in manifest["cases"].items():
        test = entry["tests"]["y-only"]
        Y = numpy_helper.to_array(onnx.load_tensor(str(tmp_path / "tests" / test / "test_data_set_0/output_0.pb")))
        for at in zip(*np.nonzero(Y == 0), strict=True):
            other = Y.copy()
            other[at] = -Y[at]
            verdict = judge(cases[name].oracle(), {Y_ONLY: Returned({"Y": other})})[Y_ONLY].verdict
            (either if verdict is Verdict.CONFORMS else fixed).add(test)
    assert either
    assert fixed
    limits = manifest["limits"]
    names = {entry["tests"]["y-only"] for entry in manifest["cases"].values()}
    assert (set(limits["either_zero"]) & names, set(limits["zero_sign"]) & names) == (either, fixed)
    page = (tmp_path / "tests/LIMITS.md").read_text()
    assert all(f"- {test}\n" in page for test in either)


def test_the_manifest_says_what_a_runner_must_know_to_skip_a_test(cli, tmp_path):
    assert (
        cli("cases", "export", "onnx-testdata", "corpus:edge/auto-pad", "corpus:contexts/inside", "-o", tmp_path).code
        == 0
    )
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    cases = {case.id: case for case in shipped().cases}
    for name, entry in manifest["cases"].items():
        for test in entry["tests"].values():
            model = onnx.load(tmp_path / test / "model.onnx")
            assert {node.op_type for node in model.graph.node if not model.functions} <= set(entry["operators"])
            assert entry["opset"] == model.opset_import[0].version
            assert entry.get("functions", False) == bool(model.functions)
        assert (entry["document"], entry["dtype"]) == (cases[name].spec, cases[name].X.dtype.name)
    operators = {operator for entry in manifest["cases"].values() for operator in entry["operators"]}
    # Also those inside the graphs of others.
    assert {"MaxPool", "If", "Loop"} < operators
    assert {flag for entry in manifest["cases"].values() for flag in entry["flags"]} >= {"Graph", "OpenTie"}


def test_the_usual_tolerance_is_set_to_zero_and_what_it_would_hide_is_counted(cli, tmp_path):
    (tmp_path / "near.yaml").write_text(
        "cases:\n"
        "  - id: near\n    title: Values a hair apart\n"
        "    input: {dtype: float32, data: [[[1.0, 1.0001, 0.5]]]}\n    attributes: {kernel_shape: [2]}\n"
        "  - id: far\n    title: A large index\n"
        "    input: {dtype: float32, shape: [1, 1, 3000], arange: {}}\n    attributes: {kernel_shape: [2], strides: [2]}\n"
    )
    assert cli("cases", "export", "onnx-testdata", tmp_path / "near.yaml", "-o", tmp_path / "tests").code == 0
    limits = json.loads((tmp_path / "tests/manifest.json").read_text())["limits"]
    assert limits["index_with_usual_tolerance"] == ["test_near_far"]
    assert {"test_near_near", "test_near_near_y_only"} <= set(limits["value_with_usual_tolerance"])
    # The same runner tells them: an index that is off by one fails.
    assert failures("onnxruntime", tmp_path / "tests")[0] == set()
    for test, number in (("test_near_far", 1), ("test_near_near_y_only", 0)):
        file = tmp_path / "tests" / test / f"test_data_set_0/output_{number}.pb"
        tensor = numpy_helper.to_array(onnx.load_tensor(str(file)))
        wrong = (
            np.where(tensor > 1000, tensor + 1, tensor)
            if number
            else np.where(tensor > 1, tensor.dtype.type(1), tensor)
        )
        file.write_bytes(numpy_helper.from_array(wrong).SerializeToString())
    assert failures("onnxruntime", tmp_path / "tests")[0] == {"test_near_far", "test_near_near_y_only"}
    for file in (tmp_path / "tests").rglob("data.json"):
        file.unlink()
    assert failures("onnxruntime", tmp_path / "tests")[0] == set()


def test_names_are_safe_and_differ_on_every_file_system():
    long = "deep/" * 40
    ids = ["a/b:C", "A/B:c", "a_b:c ", "a-b:c y-only", f"{long}:x", f"{long}:y", "ä:ö", "ß:ß", "con:nul", "../up:x"]
    names = safe_names(ids)
    assert len({name.lower() for name in names.values()}) == len(ids)
    assert all(name and set(name) <= set("abcdefghijklmnopqrstuvwxyz0123456789_") for name in names.values())
    assert max(map(len, names.values())) < 120
    assert names["con:nul"] == "con_nul"
    assert safe_names(["a/b:C"]) == {"a/b:C": "a_b_c"}
