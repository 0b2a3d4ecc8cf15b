"""``import``, and the commands that take the tests of other suites as they are."""

import json
import shlex
import shutil
from pathlib import Path

import pytest

from tests.corpus.test_importers import INDICES, SAMPLES, X, Y, changed, model, node_tests, stored, tree


def last(text):
    return text.splitlines()[-1]


@pytest.mark.long
def test_the_node_tests_of_onnx(cli, tmp_path):
    done = cli("cases", "import", "onnx-backend", "-o", tmp_path / "a")
    assert (done.code, done.err) == (0, "")
    assert last(done.out) == f"{len(node_tests())} written, 0 left out, 0 disagree"
    assert cli("cases", "lint", tmp_path / "a").code == 0
    run = cli("run", tmp_path / "a", "--report", "json")
    assert run.code == 0
    assert run.json["summary"]["cases"] == run.json["summary"]["executions"] - 2 == len(node_tests())
    assert run.json["summary"]["conforms"] == run.json["summary"]["executions"]
    assert cli("cases", "import", "onnx-backend", "-o", tmp_path / "b").code == 0
    assert tree(tmp_path / "a") == tree(tmp_path / "b")


def test_the_samples(cli, tmp_path):
    # Again: into another folder, and over itself.
    for folder in ("a", "b", "a"):
        done = cli("cases", "import", "testgenonnx", SAMPLES, "-o", tmp_path / folder)
        assert (done.code, done.err, last(done.out)) == (0, "", "3 written, 0 left out, 0 disagree")
    assert tree(tmp_path / "a") == tree(tmp_path / "b")
    listed = [cli("cases", "list", folder, "--json").json["cases"] for folder in (tmp_path / "a", SAMPLES)]
    assert all(case["provenance"]["suite"] == "testgenonnx" for cases in listed for case in cases)
    imported, direct = ([(case["id"], case["sha256"]) for case in cases] for cases in listed)
    assert imported == direct


@pytest.mark.parametrize("folder", ["samples", "models", "models/test_a", "models/test_a/model.onnx"])
def test_folders_are_run_as_they_are(cli, tmp_path, kernel_target, folder):
    shutil.copytree(SAMPLES, tmp_path / "samples")
    stored(tmp_path / "models/test_a", model(outputs=("y", "z")), (X, Y, INDICES))
    assert cli("cases", "lint", tmp_path / folder).code == 0
    assert cli("run", tmp_path / folder).code == 0
    wrong = cli("run", tmp_path / folder, "-t", kernel_target("refuses_everything"))
    assert wrong.code == 1
    (command,) = [line for line in wrong.out.splitlines() if line.startswith("Next: maxpool-check explain ")]
    # The printed command works as it stands.
    explained = cli(*shlex.split(command)[2:])
    assert explained.code == 0, explained.err
    assert "refuses  refuses-valid" in explained.out


def test_what_is_left_out_is_named_and_the_rest_is_done(cli, tmp_path):
    from onnx import helper

    stored(tmp_path / "in/good", model(), (X, Y))
    nodes = [helper.make_node("MaxPool", ["x"], ["a"], kernel_shape=[2, 2]), helper.make_node("Tanh", ["a"], ["y"])]
    bad = stored(tmp_path / "in/bad", model(*nodes), (X, Y))
    ugly = stored(tmp_path / "in/ugly", model(), (X, Y))
    (ugly / "test_data_set_0/output_0.pb").write_bytes(b"\xff")
    broken = cli("cases", "import", "onnx-testdata", tmp_path / "in", "-o", tmp_path / "out")
    assert broken.code == 2
    assert f"{ugly}/test_data_set_0/output_0.pb:1:1: not a tensor" in broken.err
    assert last(broken.err) == "2 problems; nothing was imported"
    assert not (tmp_path / "out").exists()
    shutil.rmtree(ugly)
    done = cli("cases", "import", "onnx-testdata", tmp_path / "in", "-o", tmp_path / "out")
    assert done.code == 0
    assert f"left out: {bad}/model.onnx: its node Tanh is none of the operators that are known" in done.err
    assert last(done.out) == "1 written, 1 left out, 0 disagree"
    run = cli("run", tmp_path / "in")
    assert run.code == 0
    assert f"left out: {bad}/model.onnx" in run.err


def test_where_the_reference_disagrees(cli, tmp_path):
    test = changed(tmp_path / "in", "good.json")
    expected = test["expected"]
    changed(tmp_path / "in", "bad.json", expected={**expected, "Y": [[99, *expected["Y"][0][1:]]]})
    done = cli("cases", "import", "testgenonnx", tmp_path / "in", "-o", tmp_path / "out")
    assert done.code == 0
    (line,) = done.err.splitlines()
    assert line.startswith("disagrees: sonnx:bad Y[0, 0, 0, 0] is printed as 99, the reference has 100")
    assert last(done.out) == "2 written, 0 left out, 1 disagree"
    lint = cli("cases", "lint", tmp_path / "out")
    assert lint.code == 0
    assert "sonnx:bad Y[0, 0, 0, 0] is printed as 99" in lint.out
    assert "1 erratum" in lint.out
    # Not imported, there is nobody to explain it.
    for command in (["cases", "lint"], ["run"]):
        direct = cli(*command, tmp_path / "in")
        assert direct.code == 2
        assert "bad.json:1:1: sonnx:bad Y[0, 0, 0, 0] is printed as 99" in direct.err


@pytest.mark.parametrize("form", ["testgenonnx", "onnx-testdata"])
@pytest.mark.parametrize(
    ("name", "content"), [(None, None), ("model.onnx", b"\xff\xff"), ("a.json", b"{"), ("a.json", b"{}")]
)
def test_nothing_to_import(cli, tmp_path, form, name, content):
    source = tmp_path / "in"
    source.mkdir()
    if name:
        (source / name).write_bytes(content)
    done = cli("cases", "import", form, source, "-o", tmp_path / "out")
    assert done.code == 2
    assert last(done.err) == "1 problem; nothing was imported"
    assert str(source) in done.err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["onnx-backend", ".", "-o", "out"], "takes no SRC"),
        (["testgenonnx", "-o", "out"], "needs SRC"),
        (["testgenonnx", "nowhere", "-o", "out"], "Path 'nowhere' does not exist"),
        (["json", "-o", "out"], "'json' is not one of"),
        (["testgenonnx", str(SAMPLES)], "Missing option '-o'"),
        (["testgenonnx", str(SAMPLES), "-o", "file/out"], "cannot write to file/out: Not a directory"),
        (["testgenonnx", str(SAMPLES), "-o", "mine"], "was not written by"),
    ],
)
def test_usage(cli, tmp_path, arguments, why):
    (tmp_path / "file").write_text("")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/sonnx.yaml").write_text("cases: []\n")
    done = cli("cases", "import", *arguments, cwd=tmp_path)
    assert done.code == 2
    assert why in " ".join(done.err.split())
    assert (tmp_path / "mine/sonnx.yaml").read_text() == "cases: []\n"


def test_two_tests_of_one_name(cli, tmp_path):
    for name in ("a b.json", "a_b.json"):
        changed(tmp_path, name)
    done = cli("cases", "import", "testgenonnx", tmp_path, "-o", tmp_path / "out")
    assert done.code == 2
    assert "the id 'sonnx:a_b' is also used in" in done.err


def test_a_case_of_another_suite_is_shown(cli):
    file = next(SAMPLES.glob("*int8*"))
    done = cli("explain", f"{file}:{file.stem}", "--json")
    assert done.code == 0
    assert done.json["case"] == f"sonnx:{Path(file).stem}"
    assert json.loads(file.read_text())["expected"]["Y"][0][0] == 100
