"""Asks a Python function: anyone's kernel."""

from __future__ import annotations

import importlib.util
import platform
import sys
from pathlib import Path
from typing import Any

import numpy as np


class PythonFunction:
    """A function of X and the seven ONNX attributes that returns Y or (Y, Indices)."""

    wants = "attributes"

    def __init__(self, options: dict[str, Any]) -> None:
        path, name = Path(options["function"][0]), options["function"][1]
        sys.path.insert(0, str(path.parent))
        specification = importlib.util.spec_from_file_location(path.stem, path)
        if specification is None or specification.loader is None or not path.is_file():
            raise FileNotFoundError(f"there is no file {path}")
        module = importlib.util.module_from_spec(specification)
        specification.loader.exec_module(module)
        self.function = getattr(module, name)

    def describe(self) -> dict[str, Any]:
        """What the record says of the target."""
        return {
            "wants": self.wants,
            "distribution": "python",
            "version": "0",
            "provider": "CPUExecutionProvider",
            "providers": [],
            "session_options": {},
            "python": platform.python_version(),
            "numpy": np.__version__,
        }

    def ask(self, request: dict[str, Any], inputs: dict[str, Any]) -> dict[str, Any]:
        """Call the function; whatever it raises is a refusal."""
        try:
            answer = self.function(inputs["X"], request["attributes"])
        except Exception as error:
            return {"type": "refusal", "status": type(error).__name__, "message": str(error)}
        outputs = answer if isinstance(answer, tuple) else (answer,)
        if len(outputs) not in (1, 2):
            message = f"{len(outputs)} values came back; (Y, Indices) or Y were expected"
            return {"type": "refusal", "status": "BAD_ANSWER", "message": message}
        if len(outputs) < len(request["outputs"]):
            return {"type": "unable", "message": "the function gives Y alone"}
        return {"type": "answer", "provider": None, "outputs": dict(zip(request["outputs"], outputs))}


ADAPTER = PythonFunction
