"""Runs a Python function: a user's kernel."""

from __future__ import annotations

import difflib
import importlib.util
import inspect
import sys
from pathlib import Path
from typing import Any

from .messages import refusal, returned, unable


class Runtime:
    """A function of X and the ONNX attributes that returns Y or (Y, Indices); it may take the document as ``spec``.

    Its module may have ``SPECS``, the documents that it claims.
    """

    def __init__(self, options: dict[str, Any]) -> None:
        path, name = Path(options["function"][0]), options["function"][1]
        sys.path.insert(0, str(path.parent))
        specification = importlib.util.spec_from_file_location(path.stem, path)
        if specification is None or specification.loader is None or not path.is_file():
            raise FileNotFoundError(f"there is no file {path}")
        module = importlib.util.module_from_spec(specification)
        specification.loader.exec_module(module)
        self.function = _function(module, name, path)
        self.takes_spec = _takes_spec(self.function, name)
        self.description = {
            "distribution": "python",
            "version": "",
            "provider": "",
            "providers": [],
            "takes_spec": self.takes_spec,
        }
        specs = getattr(module, "SPECS", None)
        if specs is not None:
            self.description["specs"] = list(specs) if isinstance(specs, (list, tuple, set, frozenset)) else [specs]

    def run(self, request: dict[str, Any], inputs: dict[str, Any]) -> dict[str, Any]:
        """Call the function. Some exceptions are its refusals; any other is a mistake in its code, and raised."""
        try:
            told = {"spec": request.get("spec")} if self.takes_spec else {}
            result = self.function(inputs["X"], request["attributes"], **told)
        except (NotImplementedError, ValueError, MemoryError) as error:
            return refusal(error)
        outputs = result if isinstance(result, tuple) else (result,)
        if len(outputs) not in (1, 2):
            raise ValueError(f"the function returned {len(outputs)} values; expected (Y, Indices) or Y")
        if len(outputs) < len(request["outputs"]):
            return unable("the function returns Y only")
        return returned(request["outputs"], outputs)


def _takes_spec(function: Any, name: str) -> bool:
    """Whether a function takes the document. Raises ``TypeError`` if it cannot be called with X and the attributes."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        # A function in C may have no signature.
        return False
    parameter = signature.parameters.get("spec")
    takes_spec = parameter is not None and parameter.kind is not inspect.Parameter.POSITIONAL_ONLY
    try:
        signature.bind("X", "attributes", **({"spec": ""} if takes_spec else {}))
    except TypeError as error:
        raise TypeError(
            f"{name}{signature} cannot be called as {name}(X, attributes): {error}; write it as {name}(X, attributes) or "
            f"{name}(X, attributes, spec)"
        ) from error
    return takes_spec


def _function(module: Any, name: str, path: Path) -> Any:
    function = getattr(module, name, None)
    if callable(function):
        return function
    others = [other for other in vars(module) if callable(getattr(module, other)) and not other.startswith("_")]
    nearest = difflib.get_close_matches(name, others, 1)
    hint = f" (did you mean '{nearest[0]}'?)" if nearest else ""
    raise LookupError(f"{path} has no function '{name}'{hint}")
