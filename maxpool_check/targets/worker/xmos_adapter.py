"""Runs maxpool2d of XMOS' lib_nn, by the TensorFlow Lite compiler and interpreter of xmos-ai-tools."""

from __future__ import annotations

import platform
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

_COMPILER = Path(sys.executable).parent / "xcore-opt"
_KERNEL = "XC_maxpool2d"


class Xmos:
    """One MAX_POOL_2D of int8, VALID, compiled by xcore-opt and run on the host, without Indices."""

    wants = "xmos-maxpool2d"

    def __init__(self, options: dict[str, Any]) -> None:
        unknown = options.get("provider_options")
        if unknown:
            raise ValueError(f"unknown option {', '.join(sorted(unknown))}; xmos-ai-tools has none")
        if not _COMPILER.is_file():
            raise FileNotFoundError(f"there is no compiler {_COMPILER}")
        self.compiled: dict[Any, bytes] = {}

    def describe(self) -> dict[str, Any]:
        """The description of the target, for the record."""
        return {
            "wants": self.wants,
            "distribution": "xmos-ai-tools",
            "version": metadata.version("xmos-ai-tools"),
            "provider": "CPU",
            "providers": ["CPU"],
            "session_options": {"xcore-thread-count": 1},
            "python": platform.python_version(),
            "numpy": np.__version__,
            "indices": None,
            "dtypes": ["int8"],
            "spatial": [2],
        }

    def run(self, request: dict[str, Any], inputs: dict[str, Any]) -> dict[str, Any]:
        """Compile and run one model; errors of the compiler and the interpreter are refusals."""
        X, attributes = inputs["X"], request["attributes"]
        unable = _unable(request, X)
        if unable:
            return {"type": "unable", "message": unable}
        key = (X.shape, tuple(sorted(attributes.items())))
        if key not in self.compiled:
            try:
                self.compiled[key] = _compile(_model(X.shape, attributes))
            except subprocess.CalledProcessError as error:
                if error.returncode < 0:
                    raise
                return {"type": "refusal", "status": type(error).__name__, "message": error.stderr.strip()}
        try:
            interpreter = TFLMHostInterpreter()
            interpreter.set_model(model_content=self.compiled[key])
        except RuntimeError as error:
            return {"type": "refusal", "status": type(error).__name__, "message": str(error)}
        try:
            kernels = interpreter.models[0].opList
            if kernels != [_KERNEL]:
                return {
                    "type": "unable",
                    "message": f"xcore-opt compiles it to {' '.join(kernels) or 'nothing'}, not to {_KERNEL}",
                }
            interpreter.set_tensor(0, X[np.newaxis])
            interpreter.invoke()
            Y = interpreter.get_tensor(interpreter.get_output_details()[0]["index"])[0]
        except RuntimeError as error:
            return {"type": "refusal", "status": type(error).__name__, "message": str(error)}
        finally:
            interpreter.close()
        return {"type": "answer", "provider": None, "outputs": {"Y": Y}}


def _unable(request: dict[str, Any], X: Any) -> str | None:
    """Why MAX_POOL_2D cannot express the request, if it cannot."""
    if "Indices" in request["outputs"]:
        return "MAX_POOL_2D returns Y only"
    if X.dtype != np.int8 or X.ndim != 3:
        return "MAX_POOL_2D takes int8 images, height x width x channels"
    a = request["attributes"]
    if a["W_r0"] or a["W_c0"]:
        return "MAX_POOL_2D starts with the window in the corner"
    sizes_and_strides = (a["K_h"], a["K_w"], a["W_vert"], a["W_hori"])
    if not all(1 <= number < 2**31 for number in sizes_and_strides):
        return "MAX_POOL_2D has windows and strides of 1 to 2**31 - 1"
    sizes = [(n - k) // s + 1 for n, k, s in zip(X.shape, (a["K_h"], a["K_w"]), (a["W_vert"], a["W_hori"]))]
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
    tflite.Pool2DOptionsStart(builder)
    tflite.Pool2DOptionsAddPadding(builder, tflite.Padding.VALID)
    tflite.Pool2DOptionsAddStrideW(builder, attributes["W_hori"])
    tflite.Pool2DOptionsAddStrideH(builder, attributes["W_vert"])
    tflite.Pool2DOptionsAddFilterWidth(builder, attributes["K_w"])
    tflite.Pool2DOptionsAddFilterHeight(builder, attributes["K_h"])
    options = tflite.Pool2DOptionsEnd(builder)
    inputs = _vector(builder, tflite.OperatorStartInputsVector, builder.PrependInt32, [0])
    outputs = _vector(builder, tflite.OperatorStartOutputsVector, builder.PrependInt32, [1])
    tflite.OperatorStart(builder)
    tflite.OperatorAddOpcodeIndex(builder, 0)
    tflite.OperatorAddInputs(builder, inputs)
    tflite.OperatorAddOutputs(builder, outputs)
    tflite.OperatorAddBuiltinOptionsType(builder, tflite.BuiltinOptions.Pool2DOptions)
    tflite.OperatorAddBuiltinOptions(builder, options)
    operator = tflite.OperatorEnd(builder)
    tensors = _vector(builder, tflite.SubGraphStartTensorsVector, builder.PrependUOffsetTRelative, [X, Y])
    operators = _vector(builder, tflite.SubGraphStartOperatorsVector, builder.PrependUOffsetTRelative, [operator])
    inputs = _vector(builder, tflite.SubGraphStartInputsVector, builder.PrependInt32, [0])
    outputs = _vector(builder, tflite.SubGraphStartOutputsVector, builder.PrependInt32, [1])
    tflite.SubGraphStart(builder)
    tflite.SubGraphAddTensors(builder, tensors)
    tflite.SubGraphAddInputs(builder, inputs)
    tflite.SubGraphAddOutputs(builder, outputs)
    tflite.SubGraphAddOperators(builder, operators)
    graph = tflite.SubGraphEnd(builder)
    graphs = _vector(builder, tflite.ModelStartSubgraphsVector, builder.PrependUOffsetTRelative, [graph])
    tflite.OperatorCodeStart(builder)
    tflite.OperatorCodeAddDeprecatedBuiltinCode(builder, tflite.BuiltinOperator.MAX_POOL_2D)
    tflite.OperatorCodeAddBuiltinCode(builder, tflite.BuiltinOperator.MAX_POOL_2D)
    tflite.OperatorCodeAddVersion(builder, 2)
    code = tflite.OperatorCodeEnd(builder)
    codes = _vector(builder, tflite.ModelStartOperatorCodesVector, builder.PrependUOffsetTRelative, [code])
    tflite.BufferStart(builder)
    nothing = tflite.BufferEnd(builder)
    buffers = _vector(builder, tflite.ModelStartBuffersVector, builder.PrependUOffsetTRelative, [nothing])
    tflite.ModelStart(builder)
    tflite.ModelAddVersion(builder, 3)
    tflite.ModelAddOperatorCodes(builder, codes)
    tflite.ModelAddSubgraphs(builder, graphs)
    tflite.ModelAddBuffers(builder, buffers)
    builder.Finish(tflite.ModelEnd(builder), b"TFL3")
    return bytes(builder.Output())


def _tensor(builder: Any, name: str, shape: tuple[int, ...]) -> Any:
    """An int8 tensor of scale 1 and zero point 0: its numbers are its values."""
    text = builder.CreateString(name)
    sizes = _vector(builder, tflite.TensorStartShapeVector, builder.PrependInt32, shape)
    scale = _vector(builder, tflite.QuantizationParametersStartScaleVector, builder.PrependFloat32, [1.0])
    zero = _vector(builder, tflite.QuantizationParametersStartZeroPointVector, builder.PrependInt64, [0])
    tflite.QuantizationParametersStart(builder)
    tflite.QuantizationParametersAddScale(builder, scale)
    tflite.QuantizationParametersAddZeroPoint(builder, zero)
    quantization = tflite.QuantizationParametersEnd(builder)
    tflite.TensorStart(builder)
    tflite.TensorAddShape(builder, sizes)
    tflite.TensorAddType(builder, tflite.TensorType.INT8)
    tflite.TensorAddBuffer(builder, 0)
    tflite.TensorAddName(builder, text)
    tflite.TensorAddQuantization(builder, quantization)
    return tflite.TensorEnd(builder)


def _vector(builder: Any, start: Any, prepend: Any, entries: Any) -> Any:
    """A vector of a flatbuffer; entries are written in reverse order."""
    start(builder, len(entries))
    for entry in reversed(entries):
        prepend(entry)
    return builder.EndVector()


ADAPTER = Xmos
