"""What adapters of tools that infer the shapes of ONNX models have in common."""

from __future__ import annotations

from typing import Any

import onnx

from .messages import DTYPES, check_options

_ELEMENTS = {getattr(onnx.TensorProto, name.upper().replace("FLOAT32", "FLOAT").replace("FLOAT64", "DOUBLE")): name
             for name in DTYPES if name not in ("bfloat16",)}  # fmt: skip
_ELEMENTS[onnx.TensorProto.BFLOAT16] = "bfloat16"


def check_switches(options: dict[str, Any], name: str, **defaults: str) -> dict[str, bool]:
    """The options of a target that are 0 or 1. Raises ``ValueError`` for any other."""
    check_options(options, name, *defaults)
    given = {**defaults, **(options.get("provider_options") or {})}
    for key, value in given.items():
        if value not in ("0", "1"):
            raise ValueError(f"{key} must be 0 or 1, got {value}")
    return {key: value == "1" for key, value in given.items()}


def without_output_types(model: bytes) -> Any:
    """The model whose outputs have no types, so that none of them is taken for one that was inferred."""
    loaded = onnx.load_from_string(model)
    for output in loaded.graph.output:
        output.ClearField("type")
    return loaded


def of_value(value: Any) -> tuple[str | None, list[int | None] | None]:
    """The dtype and shape of a value, as far as they are known; a symbolic size is not."""
    tensor = value.type.tensor_type
    shape = None
    if tensor.HasField("shape"):
        shape = [size.dim_value if size.HasField("dim_value") else None for size in tensor.shape.dim]
    return _ELEMENTS.get(tensor.elem_type), shape
