"""What decides without computing: shape inference and checkers. The outputs of their scripts are shapes."""

from dataclasses import replace

from maxpool_check.reproducing.literals import keywords_text
from maxpool_check.reproducing.script_runtime import ScriptCall, ScriptRuntime, based, onnx_package
from maxpool_check.reproducing.scripts import functions, openvino

_OF_GRAPH = "[tuple(size.dim_value for size in output.type.tensor_type.shape.dim) for output in inferred.graph.output]"


def onnx_shape_inference(script_call: ScriptCall) -> ScriptRuntime:
    """onnx.shape_inference.infer_shapes."""
    options = keywords_text(script_call.profile.description.session_options)
    return ScriptRuntime(
        **based(script_call.profile, "onnx"), imports=("import onnx", "import onnx.shape_inference"),
        printed_version="onnx.__version__",
        setup=(f"inferred = onnx.shape_inference.infer_shapes(model, {options})",), call=_OF_GRAPH,
    )  # fmt: skip


def onnx_checker(script_call: ScriptCall) -> ScriptRuntime:
    """onnx.checker.check_model, which returns nothing."""
    options = keywords_text(script_call.profile.description.session_options)
    return ScriptRuntime(
        **based(script_call.profile, "onnx"), imports=("import onnx", "import onnx.checker"),
        printed_version="onnx.__version__", setup=(f"onnx.checker.check_model(model, {options})",), call='["accepted"]',
    )  # fmt: skip


def onnxruntime_symbolic(script_call: ScriptCall) -> ScriptRuntime:
    """onnxruntime.tools.symbolic_shape_infer."""
    return ScriptRuntime(
        **based(script_call.profile, "ONNX Runtime", onnx_package(), "sympy"),
        imports=("import onnxruntime", "from onnxruntime.tools.symbolic_shape_infer import SymbolicShapeInference"),
        printed_version="onnxruntime.__version__",
        setup=("inferred = SymbolicShapeInference.infer_shapes(model)",), call=_OF_GRAPH,
    )  # fmt: skip


def onnxruntime_load(script_call: ScriptCall) -> ScriptRuntime:
    """A session, and the shapes of its outputs."""
    return ScriptRuntime(
        **based(script_call.profile, "ONNX Runtime", onnx_package()), imports=("import onnxruntime",),
        printed_version="onnxruntime.__version__",
        setup=('session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])',),
        call="[tuple(output.shape) for output in session.get_outputs()]",
    )  # fmt: skip


def openvino_reshape(script_call: ScriptCall) -> ScriptRuntime:
    """OpenVINO's reshape of a model of no sizes, which is not compiled."""
    runtime = openvino.openvino(script_call)
    model = "onnx_model" if script_call.is_graph else "model"
    build = [line.replace("(X.shape,", "([-1] * X.ndim,") for line in runtime.setup if not line.startswith("compiled")]
    shapes = (
        "{name: value.shape for name, value in feeds.items()}" if "X" not in script_call.inputs else '{"X": X.shape}'
    )
    return replace(
        runtime,
        setup=(*build, f"{model}.reshape({shapes})" if script_call.is_graph else "model.reshape(X.shape)"),
        call="[tuple(size.get_length() if size.is_static else None for size in output.get_partial_shape()) "
        f"for output in {model}.outputs]",
    )


def torch_meta(script_call: ScriptCall) -> ScriptRuntime:
    """torch.nn.functional.max_pool of a tensor on the meta device."""
    runtime = functions.torch(script_call)
    pooled = "pooled" if len(script_call.outputs) > 1 else "[pooled]"
    return replace(
        runtime,
        setup=tuple(line.replace("torch.from_numpy(X)", 'torch.from_numpy(X).to("meta")') for line in runtime.setup),
        call=f"[tuple(tensor.shape) for tensor in {pooled}]",
    )
