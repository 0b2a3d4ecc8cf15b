"""IREE through its adapter, on the real release: its import of ONNX, its compiler, and its runtime."""

import pytest

from tests.conftest import CASES

IREE = "iree==3.13.0"

pytestmark = pytest.mark.runtimes


def run(cli, target, variants, *cases):
    paths = {CASES / f"{case.partition(':')[0]}.yaml" for case in cases}
    selected = [part for case in cases for part in ("-k", case)]
    done = cli(
        "run",
        *paths,
        *selected,
        "-t",
        target,
        "--variants",
        variants,
        "--timeout",
        "60",
        "--known",
        "none",
        "--report",
        "json",
    )
    assert done.code in (0, 1), done.err
    return done.json["targets"][0], {(result["case"], result["variant"]): result for result in done.json["results"]}


@pytest.mark.parametrize("backend", ["llvm-cpu", "vmvx"])
def test_each_backend_executes_models(cli, backend):
    right, wrong = "edge/dilations:gaps", "edge/auto-pad:negative-values"
    target, results = run(cli, f"{IREE}?backend={backend}", "y-only", right, wrong)
    assert (target["speaks"], target["provider"], target["graphs"]) == ("onnx", "CPU", None)
    assert f"--iree-hal-target-backends={backend}" in target["session_options"]["flags"]
    assert results[right, "y-only"]["verdict"] == "conforms"
    assert results[wrong, "y-only"]["kinds"] == ["y-pad-value-leak"]


def test_float64_is_float64_and_integers_have_the_sign_of_x(cli):
    cases = ("edge/batches-channels:one-axis", "edge/widths:int8-w9", "edge/minimum:padded-uint8")
    _, results = run(cli, IREE, "y-only", *cases)
    assert {case: results[case, "y-only"]["verdict"] for case in cases} == dict.fromkeys(cases, "conforms")


def test_indices_are_passed_on_as_they_are(cli):
    case = "edge/batches-channels:larger-neighbours"
    _, results = run(cli, IREE, "default", case)
    assert results[case, "indices"]["kinds"] == ["indices-plane-relative"]
    assert results[case, "y-only"]["verdict"] == "conforms"


def test_an_error_of_the_compiler_is_a_refusal_and_its_death_a_crash(cli):
    refused, crash, graph = "edge/extremes:signed-bytes", "edge/ranks:three-axes-int8", "contexts/pad:zero-opset-22"
    _, results = run(cli, IREE, "default", refused, crash, graph)
    assert results[refused, "indices"]["verdict"] == "refuses"
    assert "must be floating-point-like, but got 'i8'" in results[refused, "indices"]["message"]
    assert results[refused, "y-only"]["verdict"] == "conforms"
    assert results[crash, "y-only"]["verdict"] == "crashes"
    assert "it executes MaxPool alone" in results[graph, "y-only"]["message"]


@pytest.mark.parametrize(
    ("options", "message"),
    [("backend=cuda", "backend must be one of llvm-cpu, vmvx, got cuda"), ("device=gpu", "unknown option device; IREE has backend")],
)  # fmt: skip
def test_an_option_that_there_is_not(cli, options, message):
    done = cli("targets", "list", f"{IREE}?{options}")
    assert done.code == 3
    assert message in " ".join(done.out.split())


def test_a_reproduction_is_written_and_tried(cli, tmp_path):
    arguments = ("edge/auto-pad:negative-values", "-t", IREE, "--variant", "y-only", "-o", tmp_path / "r")
    done = cli("repro", *arguments, MAXPOOL_CHECK_TIMEOUT="60")
    assert done.code == 0, done.out + done.err
    assert "repro.py exits with 1 in a clean environment" in done.out
    assert "### What happened?" in (tmp_path / "r/ISSUE.md").read_text()
