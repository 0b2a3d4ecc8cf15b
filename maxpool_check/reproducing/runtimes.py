"""How a script runs a model, or calls a function, on each runtime, in the way its documentation does."""

from collections.abc import Callable, Mapping

from maxpool_check.reproducing.script_runtime import CannotWrite, ScriptCall, ScriptRuntime
from maxpool_check.reproducing.scripts import (
    deciders,
    functions,
    javascript,
    litert,
    onnx_compilers,
    onnx_models,
    openvino,
    tensorflow,
)
from maxpool_check.targets.runtimes import RUNTIMES

TITLES = {
    "onnxruntime": "ONNX Runtime", "onnx-reference": "onnx", "onnx-shape-inference": "onnx's shape inference", "onnx-checker": "onnx's checker",
    "onnxruntime-symbolic": "ONNX Runtime's symbolic shape inference", "onnxruntime-load": "ONNX Runtime's inference at load",
    "openvino-reshape": "OpenVINO's reshape", "torch-meta": "PyTorch's meta device", "openvino": "OpenVINO", "torch": "PyTorch", "jax": "JAX",
    "tvm": "TVM",
    "opencv": "OpenCV",
    "iree": "IREE",
    "tensorflow": "TensorFlow", "litert": "LiteRT",
}  # fmt: skip
"""How people call the runtimes whose names are others."""

_SCRIPTS: Mapping[str, Callable[[ScriptCall], ScriptRuntime]] = {
    "onnxruntime": onnx_models.onnxruntime,
    "javascript": javascript.onnxruntime,
    "onnx": onnx_models.onnx_reference,
    "opencv": onnx_models.opencv,
    "tract": onnx_models.tract,
    "tinygrad": onnx_compilers.tinygrad,
    "tvm": onnx_compilers.tvm,
    "openvino": openvino.openvino,
    "torch": functions.torch,
    "onnx.OnnxShapeInference": deciders.onnx_shape_inference,
    "onnx.OnnxChecker": deciders.onnx_checker,
    "onnxruntime.SymbolicInference": deciders.onnxruntime_symbolic,
    "onnxruntime.LoadedModel": deciders.onnxruntime_load,
    "openvino.ReshapedModel": deciders.openvino_reshape,
    "torch.MetaFunction": deciders.torch_meta,
    "jax": functions.jax,
    "ncnn": functions.ncnn,
    "iree": onnx_models.iree,
    "tensorflow": tensorflow.tensorflow,
    "litert": litert.litert,
}
"""By the adapter of a runtime."""


def released_runtime(script_call: ScriptCall) -> ScriptRuntime:
    """How a script runs a request on a released runtime. Raises :class:`CannotWrite`."""
    write = _SCRIPTS.get(RUNTIMES[script_call.profile.name.runtime].adapter)
    if write is None:
        raise CannotWrite(
            f"no script can be written for {script_call.profile.name}: it would have to build and compile a TFLite model"
        )
    return write(script_call)
