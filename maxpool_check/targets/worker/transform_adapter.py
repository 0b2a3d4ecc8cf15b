"""Runs models that a tool has rewritten: the tool in a process of its own environment, the result on a runtime."""

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
from typing import Any

import numpy as np

from .messages import ORIGINAL, unable

_OFF = "optimization-off"


class TransformedModel:
    """One tool and one runtime, whose own optimizations are off; the adapter of the runtime runs what the tool has made."""

    def __init__(self, options: dict[str, Any]) -> None:
        tool = options["tool"]
        self.name = tool["name"]
        self.is_in_float16 = self.name == "onnxconverter-common"
        # It starts while the runtime is imported.
        self.process = RewritingProcess(tool)
        self.runtime = importlib.import_module(f".{tool['adapter']}_adapter", __package__).ADAPTER(options)
        runs = self.runtime.description
        self.setting = _OFF if _OFF in runs.get("settings", ()) else None
        ready = self.process.ready()
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
            outcome = self.process.rewritten(request["model"])
            if outcome["type"] == "refusal":
                return {**outcome, "status": f"{self.name}: {outcome['status']}"}
            if outcome["type"] != "result":
                return outcome
            request = {**request, "model": base64.b64decode(outcome["outputs"]["model"]["data"])}
        return self.runtime.run({**request, "setting": self.setting}, inputs)


class RewritingProcess:
    """The worker of a tool. If it dies, this process dies likewise."""

    def __init__(self, tool: dict[str, Any]) -> None:
        environment = dict(os.environ)
        if tool["isolated"]:
            environment = {name: environment[name] for name in environment.keys() - {"PYTHONPATH", "PYTHONHOME"}}
            environment["PYTHONNOUSERSITE"] = "1"
        self.name = tool["name"]
        self.process = subprocess.Popen(tool["program"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment)
        self._write({"protocol": 1, "options": tool})

    def ready(self) -> dict[str, Any]:
        """The first message, which says what the tool is. Raises ``ValueError`` if it could not be started."""
        message = self._parsed(self._read())
        if message["type"] != "ready":
            raise ValueError(message["message"])
        return message

    def rewritten(self, model: bytes) -> dict[str, Any]:
        """The outcome of a model."""
        request = {"id": 0, "model": base64.b64encode(model).decode(), "inputs": {}, "outputs": ["model"]}
        # Removed here, since a tool that dies leaves its files.
        with tempfile.TemporaryDirectory() as folder:
            self._write({**request, "folder": folder})
            line = self._read()
        outcome = self._parsed(line)
        del outcome["id"]
        return outcome

    def _write(self, message: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        # Of a process that has died, reading finds the end.
        with suppress(BrokenPipeError):
            self.process.stdin.write(json.dumps(message).encode() + b"\n")
            self.process.stdin.flush()

    def _read(self) -> bytes:
        assert self.process.stdout is not None
        return self.process.stdout.readline()

    def _parsed(self, line: bytes) -> dict[str, Any]:
        if not line:
            self._die_like_it()
        message: dict[str, Any] = json.loads(line)
        return message

    def _die_like_it(self) -> None:
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


def _is_kept_by_float16(values: Any) -> bool:
    """Whether an input is float32 and float16 has all of its values; the conversion leaves integers as they are."""
    if values.dtype != np.float32:
        return values.dtype.kind in "iub"
    with np.errstate(over="ignore"):
        return np.array_equal(values.astype(np.float16).astype(np.float32), values, equal_nan=True)


ADAPTER = TransformedModel
