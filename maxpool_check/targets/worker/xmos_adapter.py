"""Runs maxpool2d of XMOS' lib_nn, by the TensorFlow Lite compiler and interpreter of xmos-ai-tools."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from importlib import metadata
from pathlib import Path
from typing import Any

import flatbuffers
import numpy as np
import tflite
from xmos_ai_tools.xinterpreters import TFLMHostInterpreter

from .messages import check_options, refusal, returned, unable

_COMPILER = Path(sys.executable).parent / "xcore-opt"
_KERNEL = "XC_maxpool2d"


class XmosModel:
    """One MAX_POOL_2D of int8, VALID, compiled by xcore-opt and run on the host, without Indices."""

    def __init__(self, options: dict[str, Any]) -> None:
        check_options(options, "xmos-ai-tools")
        if not _COMPILER.is_file():
            raise FileNotFoundError(f"there is no compiler {_COMPILER}")
        self.compiled: dict[Any, bytes] = {}
        self.description = {
            "wants": "xmos-maxpool2d",
            "distribution": "xmos-ai-tools",
            "version": metadata.version("xmos-ai-tools"),
            "session_options": {"xcore-thread-count": 1},
            "indices": None,
            "dtypes": ["int8"],
            "spatial": [2],
        }

    def run(self, request: dict[str, Any], inputs: dict[str, Any]) -> dict[str, Any]:
        """Compile and run one model; errors of the compiler and the interpreter are refusals."""
        X, attributes = inputs["X"], request["attributes"]
        reason = _inexpressible(X.shape, attributes)
        if reason:
            return unable(reason)
        key = (X.shape, tuple(sorted(attributes.items())))
        if key not in self.compiled:
            try:
                self.compiled[key] = _compile(_model(X.shape, attributes))
            except subprocess.CalledProcessError as error:
                if error.returncode < 0:
                    raise
                return refusal(error, error.stderr.strip())
        try:
            interpreter = TFLMHostInterpreter()
            interpreter.set_model(model_content=self.compiled[key])
        except RuntimeError as error:
            return refusal(error)
        try:
            kernels = interpreter.models[0].opList
            if kernels != [_KERNEL]:
                return unable(f"xcore-opt compiles it to {' '.join(kernels) or 'nothing'}, not to {_KERNEL}")
            interpreter.set_tensor(0, X[np.newaxis])
            interpreter.invoke()
            Y = interpreter.get_tensor(interpreter.get_output_details()[0]["index"])[0]
        except RuntimeError as error:
            return refusal(error)
        finally:
            interpreter.close()
        return returned(request["outputs"], [Y])


def _inexpressible(shape: tuple[int, ...], a: dict[str, int]) -> str | None:
    """Why MAX_POOL_2D cannot express the attributes, or None."""
    if a["W_r0"] or a["W_c0"]:
        return "MAX_POOL_2D starts with the window in the corner"
    kernel, strides = (a["K_h"], a["K_w"]), (a["W_vert"], a["W_hori"])
    if not all(1 <= number < 2**31 for number in kernel + strides):
        return "MAX_POOL_2D has windows and strides of 1 to 2**31 - 1"
    sizes = [(n - k) // s + 1 for n, k, s in zip(shape, kernel, strides)]
    if [a["Y_h"], a["Y_w"]] != sizes:
        return f"MAX_POOL_2D has {sizes[0]} x {sizes[1]} windows"
    return None


def _compile(model: bytes) -> bytes:
    """Compile a model with xcore-opt."""
    with tempfile.TemporaryDirectory() as folder:
        source, compiled = Path(folder, "model.tflite"), Path(folder, "compiled.tflite")
        source.write_bytes(model)
        command = [str(_COMPILER), "--xcore-thread-count=1", "-o", str(compiled), str(source)]
        subprocess.run(command, check=True, capture_output=True, text=True)
        return compiled.read_bytes()


def _model(shape: Any, attributes: dict[str, int]) -> bytes:
    """A TensorFlow Lite model of one MAX_POOL_2D from X to Y, batch 1."""
    builder = flatbuffers.Builder(1024)
    X = _tensor(builder, "X", (1, *shape))
    Y = _tensor(builder, "Y", (1, attributes["Y_h"], attributes["Y_w"], shape[2]))
    options = _table(
        builder, "Pool2DOptions", Padding=tflite.Padding.VALID,
        StrideW=attributes["W_hori"], StrideH=attributes["W_vert"],
        FilterWidth=attributes["K_w"], FilterHeight=attributes["K_h"],
    )  # fmt: skip
    operator = _table(
        builder, "Operator", OpcodeIndex=0, Inputs=("Int32", [0]), Outputs=("Int32", [1]),
        BuiltinOptionsType=tflite.BuiltinOptions.Pool2DOptions, BuiltinOptions=options,
    )  # fmt: skip
    graph = _table(
        builder, "SubGraph", Tensors=("UOffsetTRelative", [X, Y]), Operators=("UOffsetTRelative", [operator]),
        Inputs=("Int32", [0]), Outputs=("Int32", [1]),
    )  # fmt: skip
    max_pool = tflite.BuiltinOperator.MAX_POOL_2D
    code = _table(builder, "OperatorCode", DeprecatedBuiltinCode=max_pool, BuiltinCode=max_pool, Version=2)
    model = _table(
        builder, "Model", Version=3, OperatorCodes=("UOffsetTRelative", [code]), Subgraphs=("UOffsetTRelative", [graph]),
        Buffers=("UOffsetTRelative", [_table(builder, "Buffer")]),
    )  # fmt: skip
    builder.Finish(model, b"TFL3")
    return bytes(builder.Output())


def _tensor(builder: Any, name: str, shape: tuple[int, ...]) -> Any:
    """An int8 tensor of scale 1 and zero point 0: its numbers are its values."""
    scale_1 = _table(builder, "QuantizationParameters", Scale=("Float32", [1.0]), ZeroPoint=("Int64", [0]))
    return _table(
        builder, "Tensor", Shape=("Int32", shape), Type=tflite.TensorType.INT8,
        Buffer=0, Name=builder.CreateString(name), Quantization=scale_1,
    )  # fmt: skip


def _table(builder: Any, name: str, **fields: Any) -> Any:
    """A table of a flatbuffer. A vector is given as the type of its elements and a list.

    Vectors and strings must be complete before the table starts.
    """
    for field, value in fields.items():
        if isinstance(value, tuple):
            element, entries = value
            getattr(tflite, f"{name}Start{field}Vector")(builder, len(entries))
            # They are written in reverse order.
            for entry in reversed(entries):
                getattr(builder, f"Prepend{element}")(entry)
            fields[field] = builder.EndVector()
    getattr(tflite, f"{name}Start")(builder)
    for field, value in fields.items():
        getattr(tflite, f"{name}Add{field}")(builder, value)
    return getattr(tflite, f"{name}End")(builder)


ADAPTER = XmosModel
