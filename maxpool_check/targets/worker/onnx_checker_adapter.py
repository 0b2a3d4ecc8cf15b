"""Asks the checker of the onnx package, which accepts or refuses a model."""

from __future__ import annotations

from typing import Any

import onnx
import onnx.checker

from .messages import refusal
from .onnx_types import check_switches


class OnnxChecker:
    """onnx.checker.check_model of one release; ``full`` has it infer the shapes as well."""

    def __init__(self, options: dict[str, Any]) -> None:
        self.full = check_switches(options, "onnx's checker", full="1")["full"]
        self.description = {
            "wants": "model",
            "decides": "acceptance",
            "distribution": "onnx",
            "version": onnx.__version__,
            "provider": "",
            "providers": [],
            "session_options": {"full_check": self.full},
        }

    def run(self, request: dict[str, Any], _inputs: dict[str, Any]) -> dict[str, Any]:
        """Check one model; any exception is a refusal."""
        try:
            onnx.checker.check_model(request["model"], full_check=self.full)
        except Exception as error:
            return refusal(error)
        return {"type": "accepted"}


ADAPTER = OnnxChecker
