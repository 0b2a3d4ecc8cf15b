"""Real runtimes through their adapters: known behaviour of each."""

import os
import subprocess
import sys

import pytest

from tests.conftest import CASES

RIGHT = ["edge/batches-channels.yaml", "edge/dilations.yaml", "edge/strides.yaml"]


def run(cli, target, *paths):
    process = cli("run", *[CASES / path for path in paths], "-t", target, "--known", "none", "--report", "json")
    assert process.code in (0, 1), process.err
    return process.json


def kinds(document):
    return {(result["case"], result["variant"]): result["kinds"] for result in document["results"]}


def counts(document):
    return {verdict: count for verdict, count in document["targets"][0]["summary"].items() if count}


def assert_right(document):
    assert not {"diverges", "crashes", "error", "unstable"} & set(counts(document)), counts(document)
    assert counts(document)["conforms"] > 5


@pytest.mark.network
@pytest.mark.parametrize("opset", ["1", "8", "14"])
def test_openvino_runs_its_own_operators(cli, opset):
    document = run(cli, f"openvino==2026.4.1?opset={opset}", *RIGHT, f"openvino/version-{opset}.yaml"
                     if opset != "8" else "openvino/examples-8.yaml")  # fmt: skip
    (target,) = document["targets"]
    assert (target["speaks"], target["provider"]) == (f"openvino-{opset}", "CPU")
    assert target["indices"] == (None if opset == "1" else "whole")
    wrong = {name.partition(":")[0] for (name, _), shown in kinds(document).items() if shown}
    # What is known: -inf, and refusals of empty tensors; ordinary geometry is right.
    assert not wrong & {path.removesuffix(".yaml") for path in RIGHT}, wrong
    results = [result for result in document["results"] if result["spec"] == f"openvino-{opset}"]
    own = [result for result in results if result["verdict"] == "conforms"]
    assert own
    assert all(result["translation"] == [] for result in own)


@pytest.mark.network
def test_openvino_computes_float64_in_float32_and_starts_from_the_lowest_value(cli):
    shown = kinds(run(cli, "openvino==2026.4.1", "edge/neg-inf.yaml", "openvino/types.yaml"))
    assert "y-lowest-for-neg-inf" in shown["edge/neg-inf:first-plane-float32", "indices"]
    assert shown["openvino/types:neighbours-float64", "y-only"] == ["y-rounded-to-float32"]


def test_onnxs_own_evaluator_leaves_out_the_channel_offset(cli):
    shown = kinds(run(cli, "onnx-reference", "edge/batches-channels.yaml"))
    assert any("indices-plane-relative" in kinds_of_case for kinds_of_case in shown.values())


def test_the_domain_of_onnx_runtime_is_not_expressible_elsewhere(cli):
    document = run(cli, "onnx-reference", "nhwc/examples.yaml")
    in_domain = [result for result in document["results"] if result["variant"].endswith("in-domain")]
    assert in_domain
    assert {result["verdict"] for result in in_domain} == {"not-expressible"}


@pytest.mark.network
def test_openvino_refuses_at_run_time_what_one_thread_returns(cli):
    case = "contexts/dynamic:no-window"
    for threads, verdict in (("2", "conforms"), ("1", "diverges")):
        target = f"openvino==2026.4.1?opset=14&threads={threads}"
        document = cli("run", CASES / "contexts/dynamic.yaml", "-k", case, "--variants", "y-only", "-t", target,
                       "--known", "none", "--report", "json").json  # fmt: skip
        assert [result["verdict"] for result in document["results"]] == [verdict]


@pytest.mark.network
def test_a_bad_option_of_a_runtime(cli):
    for target, message in (
        ("openvino==2026.4.1?opset=9", "opset must be one of 1, 8, 14"),
        ("openvino==2026.4.1?oppset=8", "unknown option oppset"),
        ("onnx-reference?x=1", "unknown option x"),
    ):
        process = cli("targets", "list", target)
        assert process.code == 3
        assert message in process.out


runtimes = pytest.mark.runtimes


@runtimes
def test_the_openvino_provider_of_onnx_runtime(cli):
    document = run(cli, "onnxruntime-openvino==1.24.1@OpenVINOExecutionProvider", *RIGHT, "edge/neg-inf.yaml")
    assert document["targets"][0]["provider"] == "OpenVINOExecutionProvider"
    assert counts(document)["conforms"] > 10
    assert "y-lowest-for-neg-inf" in kinds(document)["edge/neg-inf:first-plane-float32", "indices"]


@runtimes
def test_the_padding_of_qnn_counts_as_zero(cli):
    document = run(cli, "onnxruntime-qnn==2.7.0@QNNExecutionProvider?backend_type=htp", "edge/asymmetric-pads.yaml",
                     "onnx/examples.yaml", "sonnx/float.yaml")  # fmt: skip
    assert document["targets"][0]["provider"] == "QNNExecutionProvider"
    wrong = [cell for result in document["results"] for cell in result["cells"] if cell["kind"] == "y-pad-value-leak"]
    assert wrong
    assert all(float(cell["got"]) == 0 > float(cell["expected"]) for cell in wrong if cell["output"] == "Y")


@runtimes
def test_webgpu_on_a_software_driver(cli):
    document = run(cli, "onnxruntime-ep-webgpu==0.4.0@WebGpuExecutionProvider", "onnx/examples.yaml")
    assert document["targets"][0]["provider"] == "WebGpuExecutionProvider"
    assert counts(document)["conforms"] > 5


@runtimes
@pytest.mark.parametrize("target", ["jax==0.10.2", "tract==0.23.9"])
def test_ordinary_geometry_is_right(cli, target):
    assert_right(run(cli, target, *RIGHT))


@runtimes
def test_pytorch_counts_in_each_plane_and_is_right_when_converted(cli):
    document = run(cli, f"torch?python={os.environ['TORCH_PYTHON']}", "edge/batches-channels.yaml")
    assert document["targets"][0]["indices"] == "plane"
    assert_right(document)
    indices = [result for result in document["results"] if result["variant"] == "indices"]
    translations = [result["translation"] for result in indices if result["verdict"] == "conforms"]
    assert all("Indices counted in each plane, converted to the whole tensor" in steps for steps in translations)


@runtimes
def test_xmos_computes_its_own_examples(cli):
    document = run(cli, "xmos==1.4.2", "xmos/examples.yaml", "documents/xmos-maxpool2d.yaml")
    assert counts(document)["conforms"] > 10
    assert "diverges" not in counts(document)


@runtimes
def test_same_with_dilation_is_5x5_everywhere_but_in_onnx_runtime(cli):
    for target, size in (("tract==0.23.9", 5), ("jax==0.10.2", 5), ("onnxruntime", 4)):
        shown = kinds(run(cli, target, "documents/onnx-22.yaml"))
        assert (shown["documents/onnx-22:same-upper", "y-only"] == ["shape"]) == (size == 4), target


@pytest.mark.network
@pytest.mark.parametrize(
    ("target", "case", "heading"),
    [
        pytest.param("openvino==2026.4.1", "edge/neg-inf:one-cell", "### OpenVINO Version", id="openvino"),
        pytest.param("onnx-reference", "edge/batches-channels:equal-batches", "### Describe the bug", id="onnx-reference"),
        pytest.param("tract==0.23.9", "edge/neg-inf:one-cell", "### Description", id="tract", marks=pytest.mark.runtimes),
        pytest.param(
            "jax==0.10.2", "documents/sonnx:nan", "### System info", id="jax", marks=pytest.mark.runtimes
        ),
        pytest.param(
            "onnxruntime-openvino==1.24.1@OpenVINOExecutionProvider", "edge/neg-inf:first-plane-float32",
            "### Execution Provider\n\nOpenVINO", id="onnxruntime-openvino", marks=pytest.mark.runtimes,
        ),
        pytest.param(
            "onnxruntime-qnn==2.7.0@QNNExecutionProvider?backend_type=htp", "edge/asymmetric-pads:pads0x0x1x0",
            "### Execution Provider Library Version\n\nonnxruntime-qnn 2.7.0", id="qnn", marks=pytest.mark.runtimes,
        ),
        pytest.param(
            "transform:onnxoptimizer==0.4.2:on:onnxruntime==1.31.1", "contexts/pad:zero-opset-22",
            "onnxoptimizer changes what Pad + MaxPool computes", id="onnxoptimizer", marks=pytest.mark.runtimes,
        ),
    ],
)  # fmt: skip
def test_a_reproduction_is_written_and_tried(cli, tmp_path, target, case, heading):
    done = cli("repro", case, "-t", target, "-o", tmp_path / "r", "--variant", "y-only")
    assert done.code == 0, done.out + done.err
    assert "repro.py exits with 1 in a clean environment" in done.out
    assert heading in (tmp_path / "r/ISSUE.md").read_text()
    # Where the runtime is not installed, nothing can be told.
    script = tmp_path / "r/repro.py"
    alone = subprocess.run(
        [sys.executable, "-S", script], capture_output=True, text=True, cwd=tmp_path / "r", check=False
    )
    assert alone.returncode == 125, alone.stdout + alone.stderr


@runtimes
def test_a_reproduction_of_pytorch(cli, tmp_path):
    target = f"torch?python={os.environ['TORCH_PYTHON']}"
    done = cli("repro", "documents/sonnx:nan", "-t", target, "-o", tmp_path / "r")
    assert done.code == 0, done.out + done.err
    assert "torch.nn.functional.max_pool2d" in (tmp_path / "r/repro.py").read_text()
