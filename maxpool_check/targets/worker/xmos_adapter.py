"""Runs maxpool2d of XMOS' lib_nn, by the TensorFlow Lite compiler and interpreter of xmos-ai-tools."""

from __future__ import annotations

import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from xmos_ai_tools.xinterpreters import TFLMHostInterpreter

from .adapter import Adapter, model_file
from .litert_adapter import max_pool_2d
from .messages import refusal, returned, unable

_COMPILER = Path(sys.executable).parent / "xcore-opt"
_KERNEL = "XC_maxpool2d"


class Runtime(Adapter):
    """One MAX_POOL_2D of int8, VALID, compiled by xcore-opt and run on the host, without Indices."""

    title = distribution = "xmos-ai-tools"
    wants, version = "xmos-maxpool2d", metadata.version("xmos-ai-tools")
    session_options: ClassVar = {"xcore-thread-count": 1}
    indices, dtypes, spatial = None, ("int8",), (2,)
    refusals = (RuntimeError, subprocess.CalledProcessError)

    def __init__(self, options: dict[str, Any]) -> None:
        super().__init__(options)
        if not _COMPILER.is_file():
            raise FileNotFoundError(f"there is no compiler {_COMPILER}")
        self.compiled: dict[Any, bytes] = {}

    def execute(self, request: dict[str, Any], inputs: dict[str, Any]) -> dict[str, Any]:
        """Compile and run one model."""
        X, attributes = inputs["X"], request["attributes"]
        reason = _inexpressible(X.shape, attributes)
        if reason:
            return unable(reason)
        key = (X.shape, tuple(sorted(attributes.items())))
        if key not in self.compiled:
            self.compiled[key] = _compiled(X.shape, attributes)
        interpreter = TFLMHostInterpreter()
        interpreter.set_model(model_content=self.compiled[key])
        try:
            kernels = interpreter.models[0].opList
            if kernels != [_KERNEL]:
                return unable(f"xcore-opt compiles it to {' '.join(kernels) or 'nothing'}, not to {_KERNEL}")
            interpreter.set_tensor(0, X[np.newaxis])
            interpreter.invoke()
            Y = interpreter.get_tensor(interpreter.get_output_details()[0]["index"])[0]
        finally:
            interpreter.close()
        return returned(request["outputs"], [Y])

    def refusal(self, error: Exception) -> dict[str, Any]:
        """The refusal of the interpreter or of the compiler; if that died, its error is raised."""
        if not isinstance(error, subprocess.CalledProcessError):
            return refusal(error)
        if error.returncode < 0:
            raise error
        return refusal(error, error.stderr.strip())


def _inexpressible(shape: tuple[int, ...], a: dict[str, int]) -> str | None:
    """Why MAX_POOL_2D cannot express the attributes, or None."""
    if a["W_r0"] or a["W_c0"]:
        return "MAX_POOL_2D starts with the window in the corner"
    kernel, strides = (a["K_h"], a["K_w"]), (a["W_vert"], a["W_hori"])
    if not all(1 <= number < 2**31 for number in kernel + strides):
        return "MAX_POOL_2D has windows and strides of 1 to 2**31 - 1"
    sizes = [(n - k) // s + 1 for n, k, s in zip(shape, kernel, strides)]
    if [a["Y_h"], a["Y_w"]] != sizes:
        return f"MAX_POOL_2D has {sizes[0]} x {sizes[1]} windows"
    return None


def _compiled(shape: tuple[int, ...], a: dict[str, int]) -> bytes:
    """A TensorFlow Lite model of one MAX_POOL_2D from X to Y, batch 1, as xcore-opt compiles it."""
    options = {
        "padding": "VALID", "stride_w": a["W_hori"], "stride_h": a["W_vert"],
        "filter_width": a["K_w"], "filter_height": a["K_h"],
    }  # fmt: skip
    model = max_pool_2d("int8", (1, *shape), (1, a["Y_h"], a["Y_w"], shape[2]), options)
    with model_file(model, "model.tflite") as source:
        compiled = source.with_name("compiled.tflite")
        command = [str(_COMPILER), "--xcore-thread-count=1", "-o", str(compiled), str(source)]
        subprocess.run(command, check=True, capture_output=True, text=True)
        return compiled.read_bytes()
