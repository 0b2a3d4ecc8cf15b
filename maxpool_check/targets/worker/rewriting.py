"""The program that rewrites models with one tool, in the tool's own environment.

One JSON line in, one JSON line out, until stdin ends. The first line in is ``{"name": TOOL, "distribution": ..., "options":
{...}}``; the first line out is ``ready``, with the versions that the results depend on, or ``failed``. Each further line in is
``{"model": base64, "folder": PATH}``, with an empty folder for files; the line out is ``rewritten`` with a model, or
``refusal`` with the tool's exception, or ``unable``. It imports nothing but the standard library and the tool;
each function imports its own, since no other is installed.
"""

from __future__ import annotations

import base64
import importlib
import json
import os
import platform
import tempfile
from importlib import metadata
from pathlib import Path
from typing import Any, Callable

Rewrite = Callable[[bytes, Path], bytes]
"""A model, and an empty folder, to the rewritten model."""


class CannotKeepMeaning(Exception):
    """The tool changes what this model computes, by design."""


def defaults_of(module: str, name: str) -> Rewrite:
    """A function of a tool that takes a model of onnx, with its defaults."""
    import onnx

    function = getattr(importlib.import_module(module), name)

    def rewrite(model: bytes, _: Path) -> bytes:
        rewritten = function(onnx.load_model_from_string(model))
        # onnxsim says beside it whether it has compared the outputs.
        return (rewritten[0] if isinstance(rewritten, tuple) else rewritten).SerializeToString()

    return rewrite


SELECTING = {"Clip", "Concat", "Flatten", "Identity", "Max", "MaxPool", "Min", "Pad", "Relu", "Reshape", "Slice", "Split",
             "Squeeze", "Transpose", "Unsqueeze"}  # fmt: skip
"""Operators whose outputs are values of their inputs: in float16 they give the same, if it has all of their inputs."""


def float16(_: dict[str, str]) -> Rewrite:
    """``convert_float_to_float16`` of onnxconverter-common, with inputs and outputs that stay float32."""
    import numpy as np
    import onnx
    from onnxconverter_common.float16 import convert_float_to_float16

    def rewrite(data: bytes, _: Path) -> bytes:
        model = onnx.load_model_from_string(data)
        for node in model.graph.node:
            if node.op_type not in SELECTING:
                raise CannotKeepMeaning(f"{node.op_type} does not give the same in float16")
        for constant in map(onnx.numpy_helper.to_array, model.graph.initializer):
            with np.errstate(over="ignore"):
                kept = constant.astype(np.float16).astype(constant.dtype)
            if constant.dtype == np.float32 and not np.array_equal(kept, constant, equal_nan=True):
                raise CannotKeepMeaning("a constant of the model has no equal in float16")
        return convert_float_to_float16(model, keep_io_types=True).SerializeToString()

    return rewrite


def onnxruntime(options: dict[str, str]) -> Rewrite:
    """The offline optimized model of ONNX Runtime, at a level; or ``quant_pre_process``."""
    if "tool" in options:
        return _quantization_preprocessing()
    import onnxruntime

    level = options.get("level", "all").upper()
    levels = onnxruntime.GraphOptimizationLevel
    if not hasattr(levels, f"ORT_ENABLE_{level}"):
        raise ValueError(f"ONNX Runtime {onnxruntime.__version__} has no level {level.lower()}")

    def rewrite(model: bytes, folder: Path) -> bytes:
        session_options = onnxruntime.SessionOptions()
        session_options.graph_optimization_level = getattr(levels, f"ORT_ENABLE_{level}")
        session_options.optimized_model_filepath = str(folder / "optimized.onnx")
        session_options.intra_op_num_threads = 1
        session_options.log_severity_level = 4
        onnxruntime.InferenceSession(model, session_options, providers=["CPUExecutionProvider"])
        return (folder / "optimized.onnx").read_bytes()

    return rewrite


def _quantization_preprocessing() -> Rewrite:
    from onnxruntime.quantization.shape_inference import quant_pre_process

    def rewrite(model: bytes, folder: Path) -> bytes:
        (folder / "original.onnx").write_bytes(model)
        quant_pre_process(str(folder / "original.onnx"), str(folder / "processed.onnx"))
        return (folder / "processed.onnx").read_bytes()

    return rewrite


TOOLS: dict[str, Callable[[dict[str, str]], Rewrite]] = {
    "onnxsim": lambda _: defaults_of("onnxsim", "simplify"),
    "onnxslim": lambda _: defaults_of("onnxslim", "slim"),
    "onnxoptimizer": lambda _: defaults_of("onnxoptimizer", "optimize"),
    "onnxscript": lambda _: defaults_of("onnxscript.optimizer", "optimize"),
    "onnxconverter-common": float16,
    "onnxruntime": onnxruntime,
}
"""What rewrites a model, by the name of the tool; made with the options of the target."""

DEPENDENCIES = ("onnx", "onnx-ir", "onnxruntime")
"""The distributions that results of a tool depend on, where they are installed."""


def versions(distributions: list[str]) -> dict[str, str]:
    """The versions of those that are installed."""
    installed = {}
    for name in distributions:
        try:
            installed[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return installed


def answer(rewrite: Rewrite, request: dict[str, Any]) -> dict[str, Any]:
    """The line that answers a request."""
    # The tool's own temporary files, too, are gone when the caller removes the folder.
    tempfile.tempdir = request["folder"]
    try:
        model = rewrite(base64.b64decode(request["model"]), Path(request["folder"]))
    except CannotKeepMeaning as error:
        return {"type": "unable", "message": str(error)}
    except Exception as error:
        return {"type": "refusal", "status": type(error).__name__, "message": str(error)}
    return {"type": "rewritten", "model": base64.b64encode(model).decode()}


def main() -> None:
    """Rewrite models until stdin ends."""
    # What the tool prints must not mix with the lines.
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    requests = os.fdopen(os.dup(0), "rb")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)

    def send(message: dict[str, Any]) -> None:
        out.write(json.dumps(message).encode() + b"\n")
        out.flush()

    start = json.loads(requests.readline() or b"null")
    if start is None:
        return
    try:
        installed = versions([start["distribution"], *DEPENDENCIES])
        if start["distribution"] not in installed:
            raise ValueError(f"{start['distribution']} is not installed in this environment")
        rewrite = TOOLS[start["name"]](start["options"])
    except Exception as error:
        # Its reader names the class of its own error, which is ValueError.
        why = str(error) if isinstance(error, ValueError) else f"{type(error).__name__}: {error}"
        send({"type": "failed", "message": why})
        return
    version = installed.pop(start["distribution"])
    send({"type": "ready", "version": version, "with": installed, "python": platform.python_version()})
    for line in requests:
        send(answer(rewrite, json.loads(line)))


if __name__ == "__main__":
    main()
