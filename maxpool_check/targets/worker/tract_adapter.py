"""Runs tract."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import tract

from .messages import DTYPES, check_options, refusal, returned, unable, unsupported

_DTYPES = [name for name in DTYPES if name != "bfloat16"]


class TractModel:
    """One release of tract; each request has its own model, optimized by default.

    Before 0.23, its Python interface converts every input to float32, gives a scalar an axis, and reads every output as float32.
    """

    def __init__(self, options: dict[str, Any]) -> None:
        self.is_old = not hasattr(tract.Onnx, "load")
        self.dtypes = ["float32"] if self.is_old else _DTYPES
        check_options(options, "tract")
        self.description = {
            "wants": "model",
            "distribution": "tract",
            "version": tract.version(),
            "dtypes": self.dtypes,
            "spatial": [1, 2, 3, 4],
        }

    def run(self, request: dict[str, Any], inputs: dict[str, Any]) -> dict[str, Any]:
        """Run one model; errors of tract are refusals. A panic of tract ends the process."""
        dtype = unsupported(request, self.dtypes)
        if dtype is not None:
            return unable(f"tract does not support {dtype}")
        if self.is_old and not all(value.ndim and value.dtype.name == "float32" for value in inputs.values()):
            return unable(f"tract {tract.version()} takes tensors of float32 alone, no scalars")
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "model.onnx")
            path.write_bytes(request["model"])
            try:
                if self.is_old:
                    parsed = tract.onnx().model_for_path(path)
                    for number in range(parsed.output_count()):
                        # The oldest releases take the symbols of a declared shape for sizes of their own.
                        parsed.set_output_fact(number, None)
                    model = parsed.into_optimized()
                    facts = [model.output_fact(number).dump() for number in range(model.output_count())]
                    others = [fact for fact in facts if not fact.endswith("F32")]
                    if others:
                        return unable(
                            f"tract {tract.version()} returns float32 alone, no {others[0].rpartition(',')[2]}"
                        )
                else:
                    model = tract.onnx().load(path).into_model()
                runnable = model.into_runnable()
                outputs = [tensor.to_numpy() for tensor in runnable.run(list(inputs.values()))]
            except tract.TractError as error:
                # The backtrace is that of this process.
                return refusal(error, str(error).partition("Stack backtrace:")[0].rstrip())
        return returned(request["outputs"], outputs, "CPU")


ADAPTER = TractModel
