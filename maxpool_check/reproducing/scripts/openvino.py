"""OpenVINO: its own operators, and graphs as ONNX models."""

import numpy as np

from maxpool_check.reproducing.literals import keywords_text
from maxpool_check.reproducing.script_runtime import ScriptCall, ScriptRuntime, based, bfloat16_package, onnx_package


def _openvino_config(X: np.ndarray) -> str:
    """The setting without which float32 may be computed in bfloat16, as further arguments."""
    return ', {"INFERENCE_PRECISION_HINT": "f32"}' if X.dtype.name in ("float32", "float16") else ""


_OPENVINO_DEFAULTS = {"rounding_type": "floor", "auto_pad": "explicit", "index_element_type": "i64", "axis": 0}


def openvino(script_call: ScriptCall) -> ScriptRuntime:
    """OpenVINO's own MaxPool, or a graph as an ONNX model."""
    if script_call.is_graph or script_call.profile.description.speaks == "onnx":
        return _openvino_graph(script_call)
    profile, attributes, X, outputs = script_call.profile, script_call.attributes, script_call.X, script_call.outputs
    opset = profile.name.options.get("opset", "14")
    axes = max(X.ndim - 2, 0)
    defaults = {"strides": [1] * axes, **({} if opset == "1" else {"dilations": [1] * axes})}
    # The function requires pads, which are ignored with auto_pad.
    given = {**defaults, "pads_begin": [0] * axes, "pads_end": [0] * axes, **attributes}
    given["kernel_shape"] = given.pop("kernel", None)
    given = {name: value for name, value in given.items() if _OPENVINO_DEFAULTS.get(name) != value}
    is_bfloat16 = X.dtype.name == "bfloat16"
    dtype, fed = (
        ("ov.Type.bf16", "ov.Tensor(X.view(np.uint16), X.shape, ov.Type.bf16)") if is_bfloat16 else ("X.dtype", "X")
    )
    results = "[pool.output(0), pool.output(1)]" if len(outputs) > 1 else "[pool.output(0)]"
    call = f"list(compiled({fed}).values())"
    if is_bfloat16:
        call = f"[value.view(X.dtype) if value.itemsize == 2 else value for value in compiled({fed}).values()]"
    one = {"strides": [1], "dilations": [1], "pads_begin": [0], "pads_end": [0], "kernel_shape": [1]}
    if opset == "1":
        del one["dilations"]
    return ScriptRuntime(
        **based(profile, "OpenVINO", *bfloat16_package(X)), takes_models=False, arguments=keywords_text(given), smallest=keywords_text(one),
        imports=("import openvino as ov", f"from openvino import opset{opset}"), printed_version="ov.__version__",
        setup=(
            f'data = opset{opset}.parameter(X.shape, {dtype}, "X")',
            f"pool = opset{opset}.max_pool(data, {{arguments}})",
            f'model = ov.Model({results}, [data], "maxpool")',
            f'compiled = ov.compile_model(model, "{profile.description.provider}"{_openvino_config(X)})',
        ),
        call=call,
    )  # fmt: skip


def _openvino_graph(script_call: ScriptCall) -> ScriptRuntime:
    profile, inputs, X = script_call.profile, script_call.inputs, script_call.X
    call = f"list(compiled({inputs}).values())"
    if X.dtype.name == "bfloat16":
        # numpy has no such type: OpenVINO takes the bits, and gives them as uint16 or float16.
        fed = inputs.replace('"X": X', '"X": ov.Tensor(X.view(np.uint16), X.shape, ov.Type.bf16)')
        call = f"[value.view(X.dtype) if value.itemsize == 2 else value for value in compiled({fed}).values()]"
    return ScriptRuntime(
        **based(profile, "OpenVINO", onnx_package()), imports=("import io", "import openvino as ov"), printed_version="ov.__version__",
        setup=(
            "onnx_model = ov.Core().read_model(io.BytesIO(model.SerializeToString()))",
            f'compiled = ov.compile_model(onnx_model, "{profile.description.provider}"{_openvino_config(X)})',
        ),
        call=call,
    )  # fmt: skip
