"""Runs a Python function: a user's kernel."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

from .messages import refusal, returned, unable


class PythonFunction:
    """A function of X and the ONNX attributes that returns Y or (Y, Indices)."""

    def __init__(self, options: dict[str, Any]) -> None:
        path, name = Path(options["function"][0]), options["function"][1]
        sys.path.insert(0, str(path.parent))
        specification = importlib.util.spec_from_file_location(path.stem, path)
        if specification is None or specification.loader is None or not path.is_file():
            raise FileNotFoundError(f"there is no file {path}")
        module = importlib.util.module_from_spec(specification)
        specification.loader.exec_module(module)
        self.function = getattr(module, name)
        self.description = {
            "distribution": "python",
            "version": "0",
            "provider": "CPUExecutionProvider",
            "providers": [],
        }

    def run(self, request: dict[str, Any], inputs: dict[str, Any]) -> dict[str, Any]:
        """Call the function; any exception is a refusal."""
        try:
            result = self.function(inputs["X"], request["attributes"])
        except Exception as error:
            return refusal(error)
        outputs = result if isinstance(result, tuple) else (result,)
        if len(outputs) not in (1, 2):
            message = f"the function returned {len(outputs)} values; expected (Y, Indices) or Y"
            return {"type": "refusal", "status": "BAD_OUTPUTS", "message": message}
        if len(outputs) < len(request["outputs"]):
            return unable("the function returns Y only")
        return returned(request["outputs"], outputs)


ADAPTER = PythonFunction
