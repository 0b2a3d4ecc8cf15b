"""Rewrites models with one tool, in the tool's own environment.

It speaks the protocol of a worker with :mod:`transform_adapter`, not with the tool: a request has a model and no inputs, and the
path of an empty ``folder`` for files; its output is the rewritten ``model``. Each function imports its own tool, since no
other is installed.
"""

from __future__ import annotations

import contextlib
import importlib
import tempfile
from importlib import metadata
from pathlib import Path
from typing import Any, Callable

import numpy as np

from .adapter import Adapter
from .messages import returned, unable

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


class RewritingTool(Adapter):
    """One tool with the options of one target; any exception of it is a refusal."""

    def __init__(self, options: dict[str, Any]) -> None:
        self.distribution = options["distribution"]
        installed = {}
        for name in (self.distribution, *DEPENDENCIES):
            with contextlib.suppress(metadata.PackageNotFoundError):
                installed[name] = metadata.version(name)
        if self.distribution not in installed:
            raise ValueError(f"{self.distribution} is not installed in this environment")
        self.rewrite = TOOLS[options["name"]](options["options"])
        self.version, self.session_options = installed.pop(self.distribution), installed

    def execute(self, request: dict[str, Any], _inputs: dict[str, Any]) -> dict[str, Any]:
        """Rewrite one model."""
        # The tool's own temporary files, too, are gone when the caller removes the folder.
        tempfile.tempdir = request["folder"]
        try:
            model = self.rewrite(request["model"], Path(request["folder"]))
        except CannotKeepMeaning as error:
            return unable(str(error))
        return returned(request["outputs"], [np.frombuffer(model, np.uint8)])


ADAPTER = RewritingTool
