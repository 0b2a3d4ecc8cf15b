"""Execution providers of ONNX Runtime: which distribution has each, and whether what it needs is on the machine."""

from __future__ import annotations

import ctypes
import difflib
from pathlib import Path

import onnxruntime

_DISTRIBUTIONS = {
    "CUDAExecutionProvider": ("onnxruntime-gpu", "an NVIDIA GPU with CUDA and cuDNN"),
    "TensorrtExecutionProvider": ("onnxruntime-gpu", "an NVIDIA GPU with CUDA, cuDNN and TensorRT"),
    "ROCMExecutionProvider": ("onnxruntime-rocm", "an AMD GPU with ROCm"),
    "MIGraphXExecutionProvider": ("onnxruntime-migraphx", "an AMD GPU with ROCm and MIGraphX"),
    "DmlExecutionProvider": ("onnxruntime-directml", "Windows with DirectX 12"),
    "CoreMLExecutionProvider": ("onnxruntime", "macOS"),
    "OpenVINOExecutionProvider": ("onnxruntime-openvino", ""),
    "QNNExecutionProvider": ("onnxruntime-qnn", ""),
    "WebGpuExecutionProvider": ("onnxruntime-ep-webgpu", "a driver for Vulkan, Metal or Direct3D 12"),
}
"""The distribution that has a provider, and what that needs."""

_LIBRARIES = {
    "CUDAExecutionProvider": "cuda",
    "TensorrtExecutionProvider": "tensorrt",
    "ROCMExecutionProvider": "rocm",
    "MIGraphXExecutionProvider": "migraphx",
}
"""The libraries of providers that need others, which are not in the distribution."""


def where(provider: str) -> str:
    """What follows the message that a provider is not there: which distribution has it, as the end of a sentence."""
    if provider in _DISTRIBUTIONS:
        distribution, needs = _DISTRIBUTIONS[provider]
        return f". {distribution} has it{needs and f', on {needs}'}: -t {distribution}==VERSION@{provider}"
    known = onnxruntime.get_all_providers()
    if provider in known:
        return f". Name the interpreter of a build that has it: -t onnxruntime@{provider}?python=PATH"
    lowered = {name.lower(): name for name in (*_DISTRIBUTIONS, *known)}
    similar = difflib.get_close_matches(provider.lower(), lowered, 1)
    return f". Did you mean {lowered[similar[0]]}?" if similar else ""


def check_loadable(provider: str) -> None:
    """Raise ``ValueError`` if the library of a provider cannot be loaded, with the message of the loader.

    ONNX Runtime would write it to its log, and make a session without the provider.
    """
    folder = Path(onnxruntime.__file__).parent / "capi"
    library = folder / f"libonnxruntime_providers_{_LIBRARIES.get(provider)}.so"
    if not library.exists():
        return
    # As its documentation has it: from packages of CUDA in the same environment, if there are any.
    if provider in ("CUDAExecutionProvider", "TensorrtExecutionProvider") and hasattr(onnxruntime, "preload_dlls"):
        onnxruntime.preload_dlls()
    try:
        ctypes.CDLL(str(folder / "libonnxruntime_providers_shared.so"), ctypes.RTLD_GLOBAL)
        ctypes.CDLL(str(library))
    except OSError as error:
        needs = _DISTRIBUTIONS[provider][1]
        raise ValueError(f"{provider} is built in, but cannot be loaded: {error}. It needs {needs}") from error
