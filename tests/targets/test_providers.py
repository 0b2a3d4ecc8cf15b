"""Providers, devices and platforms that a machine does not have: the refusal says why, and where to find them."""

import os

import pytest

from maxpool_check.targets.name import parse
from maxpool_check.targets.process import CannotStart
from maxpool_check.targets.session import TargetSession
from maxpool_check.targets.target import Target


def refusal(name):
    with TargetSession(Target(parse(name), seconds=60)) as session, pytest.raises(CannotStart) as error:
        _ = session.profile
    return str(error.value)


@pytest.mark.parametrize(
    ("provider", "advice"),
    [
        ("CUDAExecutionProvider", "onnxruntime-gpu has it, on an NVIDIA GPU with CUDA and cuDNN: -t onnxruntime-gpu=="),
        ("TensorrtExecutionProvider", "onnxruntime-gpu has it"),
        ("MIGraphXExecutionProvider", "onnxruntime-migraphx has it"),
        ("ROCMExecutionProvider", "onnxruntime-rocm has it"),
        ("DmlExecutionProvider", "onnxruntime-directml has it, on Windows"),
        ("CoreMLExecutionProvider", "onnxruntime has it, on macOS"),
        ("OpenVINOExecutionProvider", "onnxruntime-openvino has it: -t"),
        ("QNNExecutionProvider", "onnxruntime-qnn has it: -t"),
        ("WebGpuExecutionProvider", "onnxruntime-ep-webgpu has it"),
        ("XnnpackExecutionProvider", "-t onnxruntime@XnnpackExecutionProvider?python=PATH"),
        ("DnnlExecutionProvider", "-t onnxruntime@DnnlExecutionProvider?python=PATH"),
        ("ACLExecutionProvider", "-t onnxruntime@ACLExecutionProvider?python=PATH"),
        ("CudaExecutionProvider", "Did you mean CUDAExecutionProvider?"),
    ],
)
def test_a_provider_that_is_not_built_in(provider, advice):
    message = refusal(f"onnxruntime@{provider}")
    assert f"this ONNX Runtime has no {provider}: it is not built in; it has" in message
    assert advice in message


@pytest.mark.runtimes
@pytest.mark.parametrize("provider", ["CUDAExecutionProvider", "TensorrtExecutionProvider"])
def test_the_message_of_the_loader_is_shown_where_a_library_is_missing(cli, provider):
    process = cli("targets", "list", f"onnxruntime-gpu==1.31.1@{provider}")
    if process.code == 0:
        pytest.skip("this machine has CUDA")
    assert process.code == 3
    assert f"{provider} is built in, but cannot be loaded: libcu" in process.out
    assert "It needs an NVIDIA GPU" in process.out


@pytest.mark.runtimes
def test_pytorch_on_a_device_that_is_not_there():
    python = os.environ["TORCH_PYTHON"]
    assert "has no device bogus here (Expected one of cpu, cuda" in refusal(f"torch?python={python}&device=bogus")
    message = refusal(f"torch?python={python}&device=xla")
    assert "has no device xla here (" in message
    assert "?python=PATH names an interpreter that has one" in message
    assert "torch runs on CPU only, not on CUDA; it runs on others with ?device=NAME, not @NAME" in refusal(
        f"torch@CUDA?python={python}"
    )


@pytest.mark.runtimes
def test_jax_on_a_platform_that_is_not_there():
    message = refusal("jax==0.10.2?platform=tpu")
    assert "has no platform tpu here (Unable to initialize backend 'tpu'" in message
    assert "jax runs on CPU only, not on GPU; it runs on others with ?platform=NAME, not @NAME" in refusal(
        "jax==0.10.2@GPU"
    )
