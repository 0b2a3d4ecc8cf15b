"""TVM: known behaviour of the real one."""

import pytest

from tests.targets.test_runtimes import RIGHT, counts, kinds, run

TARGET = "tvm==0.27.0.post1"

pytestmark = pytest.mark.runtimes


def test_ordinary_geometry_is_right_and_the_importer_has_no_indices(cli):
    document = run(cli, TARGET, *RIGHT)
    assert document["targets"][0]["session_options"]["target"].startswith('{"kind":"llvm"')
    assert document["targets"][0]["session_options"]["TVM_NUM_THREADS"] == "1"
    assert not {"diverges", "crashes", "error", "unstable", "times-out"} & set(counts(document)), counts(document)
    verdicts = {(result["variant"], result["verdict"]) for result in document["results"]}
    assert verdicts == {("y-only", "conforms"), ("indices", "refuses")}


def test_padding_and_start_are_the_lowest_finite_value(cli):
    shown = kinds(run(cli, TARGET, "edge/neg-inf.yaml"))
    assert shown["edge/neg-inf:one-cell", "y-only"] == ["y-lowest-for-neg-inf"]


def test_an_option_is_refused(cli):
    process = cli("targets", f"{TARGET}?opt_level=3")
    assert process.code == 3
    assert "unknown option opt_level; TVM has none" in process.out


def test_a_reproduction_is_written_and_tried(cli, tmp_path):
    done = cli("repro", "edge/neg-inf:one-cell", "-t", TARGET, "-o", tmp_path / "r", "--variant", "y-only")
    assert done.code == 0, done.out + done.err
    assert "repro.py exits with 1 in a clean environment" in done.out
    assert "### Actual behavior" in (tmp_path / "r/ISSUE.md").read_text()
    assert 'tvm.compile(from_onnx(onnx.load(model)), target="llvm")' in (tmp_path / "r/repro.py").read_text()
