"""Runs tract."""

from __future__ import annotations

from typing import Any

import tract

from .adapter import Adapter, model_file
from .messages import DTYPES, refusal, returned, unable

_IS_OLD = not hasattr(tract.Onnx, "load")


class Runtime(Adapter):
    """One release of tract; each request has its own model, optimized by default.

    Before 0.23, its Python interface converts every input to float32, gives a scalar an axis, and reads every output as float32.
    """

    title, distribution, version = "tract", "tract", tract.version()
    dtypes = ("float32",) if _IS_OLD else tuple(name for name in DTYPES if name != "bfloat16")
    spatial = (1, 2, 3, 4)
    refusals = (tract.TractError,)

    def execute(self, request: dict[str, Any], inputs: dict[str, Any]) -> dict[str, Any]:
        """Run one model. A panic of tract ends the process."""
        if _IS_OLD and not all(value.ndim and value.dtype.name == "float32" for value in inputs.values()):
            return unable(f"tract {self.version} takes tensors of float32 alone, no scalars")
        with model_file(request["model"]) as path:
            if _IS_OLD:
                parsed = tract.onnx().model_for_path(path)
                for number in range(parsed.output_count()):
                    # The oldest releases take the symbols of a declared shape for sizes of their own.
                    parsed.set_output_fact(number, None)
                model = parsed.into_optimized()
                facts = [model.output_fact(number).dump() for number in range(model.output_count())]
                others = [fact for fact in facts if not fact.endswith("F32")]
                if others:
                    return unable(f"tract {self.version} returns float32 alone, no {others[0].rpartition(',')[2]}")
            else:
                model = tract.onnx().load(path).into_model()
            outputs = [tensor.to_numpy() for tensor in model.into_runnable().run(list(inputs.values()))]
        return returned(request["outputs"], outputs, "CPU")

    def refusal(self, error: Exception) -> dict[str, Any]:
        """The refusal of an error of tract, whose backtrace is that of this process."""
        return refusal(error, str(error).partition("Stack backtrace:")[0].rstrip())
