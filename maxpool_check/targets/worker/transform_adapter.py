"""Runs models that a tool has rewritten: the tool in a process of its own environment, the result on a runtime.

Both are workers: the one that the target starts is in the environment of the runtime, and starts the other. Of that, a request has
a model and no inputs, and the path of an empty ``folder`` for files; its output is the rewritten ``model``.
"""

from __future__ import annotations

import base64
import importlib
import json
import os
import resource
import signal
import subprocess
import tempfile
from contextlib import suppress
from importlib import metadata
from pathlib import Path
from typing import Any, Callable, NoReturn

import numpy as np

from .adapter import Adapter
from .messages import ORIGINAL, returned, unable

_OFF = "optimization-off"


class Runtime:
    """One tool and one runtime, whose own optimizations are off; the adapter of the runtime runs what the tool has made.

    If the process of the tool dies, this process dies likewise.
    """

    def __init__(self, options: dict[str, Any]) -> None:
        tool = options["tool"]
        self.name = tool["name"]
        self.is_in_float16 = self.name == "onnxconverter-common"
        environment = dict(os.environ)
        if tool["isolated"]:
            environment = {name: environment[name] for name in environment.keys() - {"PYTHONPATH", "PYTHONHOME"}}
            environment["PYTHONNOUSERSITE"] = "1"
        # It starts while the runtime is imported.
        self.process = subprocess.Popen(tool["program"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment)
        self._write({"protocol": 1, "options": tool})
        self.runtime = importlib.import_module(f".{tool['adapter']}_adapter", __package__).Runtime(options)
        runs = self.runtime.description
        self.setting = _OFF if _OFF in runs.get("settings", ()) else None
        ready = self._read() or self._die_like_it()
        if ready["type"] != "ready":
            raise ValueError(ready["message"])
        session_options = dict(runs.get("session_options", {}))
        if self.setting is not None:
            session_options["graph_optimization_level"] = "ORT_DISABLE_ALL"
        about_tool = {**tool["options"], **ready["session_options"], "python": ready["python"]}
        self.description = {
            **runs,
            "distribution": tool["distribution"],
            "version": ready["version"],
            "session_options": {
                "runs_on": f"{runs['distribution']} {runs['version']}",
                **session_options,
                **{f"tool_{key}": value for key, value in about_tool.items()},
            },
            "settings": [ORIGINAL],
            "dtypes": ["float32"] if self.is_in_float16 else runs["dtypes"],
        }

    def run(self, request: dict[str, Any], inputs: dict[str, Any]) -> dict[str, Any]:
        """Have the tool rewrite the model, and run it; an exception of either is a refusal."""
        if request.get("setting") != ORIGINAL:
            if self.is_in_float16 and not all(map(_is_kept_by_float16, inputs.values())):
                return unable("an input is not float32, or has values without an equal in float16")
            outcome = self._rewritten(request["model"])
            if outcome["type"] == "refusal":
                return {**outcome, "status": f"{self.name}: {outcome['status']}"}
            if outcome["type"] != "result":
                return outcome
            request = {**request, "model": base64.b64decode(outcome["outputs"]["model"]["data"])}
        return self.runtime.run({**request, "setting": self.setting}, inputs)

    def _rewritten(self, model: bytes) -> dict[str, Any]:
        """The outcome of a model."""
        request = {"id": 0, "model": base64.b64encode(model).decode(), "inputs": {}, "outputs": ["model"]}
        # Removed here, since a tool that dies leaves its files.
        with tempfile.TemporaryDirectory() as folder:
            self._write({**request, "folder": folder})
            outcome = self._read()
        outcome = outcome or self._die_like_it()
        del outcome["id"]
        return outcome

    def _write(self, message: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        # Of a process that has died, reading finds the end.
        with suppress(BrokenPipeError):
            self.process.stdin.write(json.dumps(message).encode() + b"\n")
            self.process.stdin.flush()

    def _read(self) -> dict[str, Any]:
        """The next message; an empty one if there is none."""
        assert self.process.stdout is not None
        message: dict[str, Any] = json.loads(self.process.stdout.readline() or b"{}")
        return message

    def _die_like_it(self) -> NoReturn:
        """End with the exit status of the tool, or of its signal: whoever watches this process sees the tool's death."""
        status = self.process.wait()
        os.write(2, f"the process of {self.name} ended, not that of the runtime\n".encode())
        if status >= 0:
            os._exit(status)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        with suppress(OSError):
            # SIGKILL has no handler.
            signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
        os._exit(1)


def _is_kept_by_float16(values: Any) -> bool:
    """Whether an input is float32 and float16 has all of its values; the conversion leaves integers as they are."""
    if values.dtype != np.float32:
        return values.dtype.kind in "iub"
    with np.errstate(over="ignore"):
        return np.array_equal(values.astype(np.float16).astype(np.float32), values, equal_nan=True)


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
        from onnxruntime.quantization.shape_inference import quant_pre_process

        def preprocess(model: bytes, folder: Path) -> bytes:
            (folder / "original.onnx").write_bytes(model)
            quant_pre_process(str(folder / "original.onnx"), str(folder / "processed.onnx"))
            return (folder / "processed.onnx").read_bytes()

        return preprocess
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
            with suppress(metadata.PackageNotFoundError):
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
