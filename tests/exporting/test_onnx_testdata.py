"""ONNX's test data: onnx's backend runner finds in an export what ``run`` finds, and its manifest says what it cannot hold."""

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
from tests.conftest import SMALL, command, shipped
from tests.exporting.backends import failures

SOME = ["corpus:edge/auto-pad", "corpus:edge/signed-zero-sonnx", "corpus:edge/neg-inf", "corpus:contexts/inside",
        "corpus:openvino/examples-8", "corpus:nhwc/activation"]  # fmt: skip
WRONG = ("diverges", "refuses", "crashes", "times-out", "unstable")


def exported(folder, *paths):
    """What the command printed, and the manifest of an export."""
    done = command("cases", "export", "onnx-testdata", *paths, "-o", folder).check(0)
    return done, json.loads((folder / "manifest.json").read_text())


def output(folder, test, number=0):
    path = folder / test / f"test_data_set_0/output_{number}.pb"
    return path, numpy_helper.to_array(onnx.load_tensor(str(path)))


@pytest.mark.parametrize("paths", [SOME, pytest.param(["corpus"], marks=pytest.mark.long)])
def test_the_backend_runner_finds_what_run_finds(tmp_path, paths):
    _, manifest = exported(tmp_path / "tests", *paths)
    record = tmp_path / "record.jsonl"
    assert command("run", *paths, "-t", "onnxruntime", "-q", "-o", record).code in (0, 1)
    lines = [json.loads(line) for line in record.read_text().splitlines()]
    verdicts = {(line["case"], line["variant"]): line["verdict"] for line in lines if line["type"] == "execution"}
    failed, ran = failures(tmp_path / "tests")
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
    assert wrong - failed <= set(manifest["limits"]["zero_sign"])
    # ONNX Runtime's backend takes no input of bfloat16.
    assert failed - wrong <= set(manifest["limits"]["bfloat16"]) | {name for name in ran if "_bfloat16_" in name}


@pytest.fixture(scope="module")
def export(tmp_path_factory):
    """The paths of cases, the folder of their export, what the command printed, and the manifest."""
    folder = tmp_path_factory.mktemp("export")
    (folder / "small.yaml").write_text(SMALL)
    names = ("edge/auto-pad", "contexts/inside", "edge/ties", "edge/nan", "edge/signed-zero", "refusals/sonnx")
    paths = [folder / "small.yaml", *(f"corpus:{name}" for name in names)]
    return paths, folder / "tests", *exported(folder / "tests", *paths)


def test_the_manifest_says_what_a_runner_must_know(export):
    _, folder, _, manifest = export
    cases = {case.id: case for case in shipped().cases}
    for name, entry in manifest["cases"].items():
        if name in cases:
            of_case = {"sha256": cases[name].sha256, "document": cases[name].spec, "dtype": cases[name].X.dtype.name}
            assert of_case.items() <= entry.items()
        for variant, test in entry["tests"].items():
            model = onnx.load(folder / test / "model.onnx")
            assert {node.op_type for node in model.graph.node if not model.functions} <= set(entry["operators"])
            assert entry["opset"] == model.opset_import[0].version
            assert entry.get("functions", False) == bool(model.functions)
            outputs = [value.name for value in model.graph.output]
            assert ("Indices" in outputs) == variant.startswith("indices")
            tensors = {name: output(folder, test, number)[1] for number, name in enumerate(outputs)}
            assert "Indices" not in tensors or tensors["Indices"].dtype == np.int64
    # Also those inside the graphs of others.
    assert {"MaxPool", "If", "Loop"} < {each for entry in manifest["cases"].values() for each in entry["operators"]}
    assert {flag for entry in manifest["cases"].values() for flag in entry["flags"]} >= {"Graph", "OpenTie"}
    every = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()}
    digests = {name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path in every.items()}
    assert manifest["files"] == {name: each for name, each in digests.items() if name != "manifest.json"}


def test_what_one_output_cannot_hold_is_left_out_with_the_reason_and_counted(export):
    paths, folder, done, manifest = export
    reasons = {(each["case"], each.get("variant")): each["why"] for each in manifest["left_out"]}
    assert reasons["small:stride-0", None] == "the graph must be refused"
    assert reasons["small:empty", "y-only"] == "several outputs are right: a window holds no cell of X"
    assert "ties" in reasons["edge/ties:all-equal", "indices"]
    assert ("edge/ties:all-equal", "y-only") not in reasons
    selected = len(command("cases", "list", *paths, "--json").json["cases"])
    left_out, tested = {each["case"] for each in manifest["left_out"]}, set(manifest["cases"])
    assert len(left_out | tested) == selected
    assert f"{len(tested)} of {selected} cases" in done.out
    lines = (folder / "LIMITS.md").read_text().splitlines()
    rows = [line.strip("| ").split(" | ") for line in lines if line.count("|") == 4]
    counts = {why: (int(whole), int(partly)) for why, whole, partly in rows[2:]}
    total = counts.pop("all")
    assert total == (len(left_out - tested), len(left_out & tested))
    assert total == tuple(map(sum, zip(*counts.values(), strict=True)))
    assert all(total)
    for why, (whole, _) in counts.items():
        assert f"left out, {why}: {whole} case" in done.err


def test_where_a_runner_must_accept_either_zero_is_named(export):
    _, folder, _, manifest = export
    cases = {case.id: case for case in shipped().cases if case.id.startswith("edge/signed-zero:")}
    names = {name: manifest["cases"][name]["tests"]["y-only"] for name in cases.keys() & manifest["cases"].keys()}
    either, fixed = set(), set()
    for name, test in names.items():
        _, Y = output(folder, test)
        for at in zip(*np.nonzero(Y == 0), strict=True):
            other = Y.copy()
            other[at] = -Y[at]
            verdict = judge(cases[name].oracle(), {Y_ONLY: Returned({"Y": other})})[Y_ONLY].verdict
            (either if verdict is Verdict.CONFORMS else fixed).add(test)
    assert either
    assert fixed
    found = (set(manifest["limits"][limit]) & {*names.values()} for limit in ("either_zero", "zero_sign"))
    assert tuple(found) == (either, fixed)
    page = (folder / "LIMITS.md").read_text()
    assert all(f"- {test}\n" in page for test in either)


def test_an_export_is_read_as_the_tests_of_another_suite_without_its_manifest(export):
    assert "manifest.json" not in command("cases", "lint", export[1]).check(0).err


def test_the_usual_tolerance_is_set_to_zero_and_what_it_would_hide_is_counted(tmp_path):
    (tmp_path / "near.yaml").write_text(
        "cases:\n  - {id: near, input: {dtype: float32, data: [[[1.0, 1.0001, 0.5]]]}, attributes: {kernel_shape: [2]}}\n"
        "  - {id: far, input: {dtype: float32, shape: [1, 1, 3000], arange: {}}, "
        "attributes: {kernel_shape: [2], strides: [2]}}\n"
    )
    folder = tmp_path / "tests"
    _, manifest = exported(folder, tmp_path / "near.yaml")
    assert manifest["limits"]["index_with_usual_tolerance"] == ["test_near_far"]
    near = {"test_near_near", "test_near_near_y_only"}
    assert near <= set(manifest["limits"]["value_with_usual_tolerance"])
    # The same runner tells them: an index that is off by one fails, and a value a hair apart.
    assert failures(folder)[0] == set()
    for test, number, change in (
        ("test_near_far", 1, lambda cells: np.where(cells > 1000, cells + 1, cells)),
        ("test_near_near_y_only", 0, lambda cells: np.minimum(cells, cells.dtype.type(1))),
    ):
        path, tensor = output(folder, test, number)
        path.write_bytes(numpy_helper.from_array(change(tensor)).SerializeToString())
    assert failures(folder)[0] == {"test_near_far", "test_near_near_y_only"}


def test_names_are_safe_and_differ_on_every_file_system():
    long = "deep/" * 40
    ids = ["a/b:C", "A/B:c", "a_b:c ", "a-b:c y-only", f"{long}:x", f"{long}:y", "ä:ö", "ß:ß", "con:nul", "../up:x"]
    names = safe_names(ids)
    assert len({name.lower() for name in names.values()}) == len(ids)
    assert all(name and set(name) <= set("abcdefghijklmnopqrstuvwxyz0123456789_") for name in names.values())
    assert max(map(len, names.values())) < 120
    assert names["con:nul"] == "con_nul"
    assert safe_names(["a/b:C"]) == {"a/b:C": "a_b_c"}
