"""Runs ncnn's Pooling1D, Pooling and Pooling3D on the CPU."""

from __future__ import annotations

from importlib import metadata
from typing import Any, ClassVar

import ncnn
import numpy as np

from .adapter import Adapter
from .messages import BFloat16, refusal, returned, unable

_LAYERS = {1: "Pooling1D", 2: "Pooling", 3: "Pooling3D"}
_IDS = {"kernel": (1, 11, 21), "stride": (2, 12, 22), "pads_begin": (3, 13, 23), "pads_end": (14, 15, 16)}
"""The numbers that a parameter has in a file, for width, height and depth."""

_OPTIONS = {"num_threads": 1, "use_vulkan_compute": False, "use_fp16_packed": False, "use_fp16_storage": False,
            "use_fp16_arithmetic": False}  # fmt: skip
"""float32 is float32. Packed layouts, the default, remain: they are other kernels for 4, 8 and 16 channels."""

_HAS_BATCH = hasattr(ncnn.Mat, "batch")


class Runtime(Adapter):
    """A network of one layer, without weights: float32, and bfloat16 as it is stored with use_bf16_storage."""

    title = distribution = wants = "ncnn"
    version = metadata.version("ncnn")
    session_options: ClassVar = {**_OPTIONS, "use_bf16_storage": "for bfloat16 alone"}
    indices, dtypes, spatial = None, ("float32", "bfloat16"), tuple(_LAYERS)

    def execute(self, request: dict[str, Any], inputs: dict[str, Any]) -> dict[str, Any]:
        """Run one layer; codes other than 0 are refusals."""
        X, is_bfloat16 = inputs["X"], request["inputs"]["X"]["dtype"] == "bfloat16"
        if X.shape[0] != 1 and not _HAS_BATCH:
            return unable("this ncnn takes one image, not a batch")
        if is_bfloat16 and X.ndim != 4:
            return unable(f"{_LAYERS[X.ndim - 2]} computes bfloat16 as float32")
        net = ncnn.Net()
        for name, value in _OPTIONS.items():
            if hasattr(net.opt, name):
                setattr(net.opt, name, value)
        net.opt.use_bf16_storage = is_bfloat16
        codes = [net.load_param_mem(_network(X.ndim - 2, request["attributes"])), net.load_model_mem(b"") or 0]
        if any(codes):
            return refusal(RuntimeError(f"the network is not loaded: {codes}"))
        extractor = net.create_extractor()
        floats = (X.view(np.uint16).astype(np.uint32) << 16).view(np.float32) if is_bfloat16 else X
        extractor.input("X", ncnn.Mat(floats, 0) if _HAS_BATCH else ncnn.Mat(floats[0]))
        code, top = extractor.extract("Y")
        if code:
            return refusal(RuntimeError(f"extract returns {code}"))
        Y = np.array(top.numpy("f", 0) if _HAS_BATCH else np.array(top)[np.newaxis])
        # The memory of the output is the network's.
        del top, extractor
        return returned(request["outputs"], [_narrow(Y) if is_bfloat16 else Y])


def _network(rank: int, attributes: dict[str, Any]) -> str:
    """The text of a parameter file: an input and a layer whose pooling_type is 0, the maximum."""
    numbers = {0: 0, 5: attributes["pad_mode"]}
    for name, ids in _IDS.items():
        # Width is the last axis.
        numbers.update(zip(ids, reversed(attributes.get(name, []))))
    written = " ".join("%d=%d" % pair for pair in sorted(numbers.items()))
    return f"7767517\n2 2\nInput X 0 1 X\n{_LAYERS[rank]} Y 1 1 X Y {written}\n"


def _narrow(Y: Any) -> Any:
    """The bfloat16 that the floats are; unchanged if they are others."""
    bits = Y.view(np.uint32)
    return Y if (bits & 0xFFFF).any() else BFloat16((bits >> 16).astype(np.uint16))
