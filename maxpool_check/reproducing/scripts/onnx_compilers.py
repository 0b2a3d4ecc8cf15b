"""Compilers that take ONNX models."""

from maxpool_check.reproducing.script_runtime import ScriptCall, ScriptRuntime, based, onnx_package


def tvm(script_call: ScriptCall) -> ScriptRuntime:
    """TVM's Relax, compiled for the CPU."""
    profile, inputs = script_call.profile, script_call.inputs
    values = "tvm.runtime.tensor(X)" if "X" in inputs else f"*map(tvm.runtime.tensor, {inputs}.values())"
    results = "list(results)" if len(script_call.outputs) > 1 else "[results]"
    return ScriptRuntime(
        **based(profile, "TVM", onnx_package()), printed_version="tvm.__version__",
        imports=("import tvm", "from tvm import relax", "from tvm.relax.frontend.onnx import from_onnx"),
        setup=(
            'executable = tvm.compile(from_onnx(model), target="llvm")',
            f'results = relax.VirtualMachine(executable, tvm.cpu())["main"]({values})',
        ),
        call=f"[tensor.numpy() for tensor in {results}]",
    )  # fmt: skip


def tinygrad(script_call: ScriptCall) -> ScriptRuntime:
    """The OnnxRunner of tinygrad, which reads models from files."""
    profile, inputs = script_call.profile, script_call.inputs
    device = profile.description.provider
    return ScriptRuntime(
        **based(profile, "tinygrad", onnx_package()),
        imports=(
            "import tempfile", "import onnx", "from tinygrad.helpers import DEV",
            "from tinygrad.nn.onnx import OnnxRunner",
        ),
        setup=(
            f'DEV.value = "{device}"',
            "with tempfile.TemporaryDirectory() as folder:",
            '    onnx.save(model, f"{folder}/maxpool.onnx")',
            f'    results = OnnxRunner(f"{{folder}}/maxpool.onnx")({inputs})',
        ),
        call="[tensor.numpy() for tensor in results.values()]",
    )  # fmt: skip
