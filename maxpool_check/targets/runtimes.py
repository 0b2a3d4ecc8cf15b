"""The runtimes that can be tested: the distribution and the adapter of each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True)
class Runtime:
    """One runtime: its ``distribution`` on the package index, the worker's ``adapter``, and a description.

    ``extra`` is the extra of maxpool-check that installs it; empty if it is a dependency or installed by the user.
    """

    distribution: str
    adapter: str
    about: str
    extra: str = ""


_OTHER_PROVIDERS = {
    "onnxruntime-gpu": "ONNX Runtime with CUDA and TensorRT",
    "onnxruntime-directml": "ONNX Runtime with DirectML",
    "onnxruntime-rocm": "ONNX Runtime with ROCm",
    "onnxruntime-migraphx": "ONNX Runtime with MIGraphX",
    "onnxruntime-silicon": "ONNX Runtime with CoreML",
    "onnxruntime-openvino": "ONNX Runtime with OpenVINO",
    "onnxruntime-qnn": "the QNN provider, as a plugin beside ONNX Runtime",
    "onnxruntime-ep-webgpu": "the WebGPU provider, as a plugin beside ONNX Runtime",
}

RUNTIMES: Mapping[str, Runtime] = MappingProxyType(
    {
        "onnxruntime": Runtime("onnxruntime", "onnxruntime", "ONNX Runtime"),
        **{name: Runtime(name, "onnxruntime", about) for name, about in _OTHER_PROVIDERS.items()},
        "openvino": Runtime("openvino", "openvino", "OpenVINO itself, ?opset=1, 8 or 14", "openvino"),
        "onnx-reference": Runtime("onnx", "onnx_reference", "onnx's ReferenceEvaluator"),
        "torch": Runtime("torch", "torch", "PyTorch on the CPU", "torch"),
        "jax": Runtime("jax", "jax", "JAX's reduce_window on the CPU", "jax"),
        "tract": Runtime("tract", "tract", "tract", "tract"),
        "xmos": Runtime("xmos-ai-tools", "xmos", "XMOS lib_nn by way of xcore-opt", "xmos"),
    }
)
"""Every runtime, by its name in a target."""
