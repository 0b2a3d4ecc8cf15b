"""How a script rewrites a model with each tool, in the way its documentation does."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from maxpool_check.reproducing.script_runtime import CannotWrite
from maxpool_check.targets.target import TargetProfile


@dataclass(frozen=True)
class ScriptTool:
    """How a script makes ``rewritten`` of ``model``: its imports and lines. ``title`` names the tool for people."""

    title: str
    version: str
    requirements: tuple[str, ...]
    imports: tuple[str, ...]
    lines: tuple[str, ...]


_TOOLS: Mapping[str, tuple[Sequence[str], Sequence[str]]] = {
    "onnxsim": (["from onnxsim import simplify"], ["rewritten, _ = simplify(model)"]),
    "onnxslim": (["import onnxslim"], ["rewritten = onnxslim.slim(model)"]),
    "onnxoptimizer": (["import onnxoptimizer"], ["rewritten = onnxoptimizer.optimize(model)"]),
    "onnxscript": (["import onnxscript.optimizer"], ["rewritten = onnxscript.optimizer.optimize(model)"]),
    "onnxconverter-common": (
        ["from onnxconverter_common.float16 import convert_float_to_float16"],
        ["rewritten = convert_float_to_float16(model, keep_io_types=True)"],
    ),
}
"""The imports and the lines of each tool."""


def script_tool(profile: TargetProfile) -> ScriptTool:
    """How a script rewrites a model with the tool of a ``transform:`` target. Raises :class:`CannotWrite`."""
    target, name = profile.description, profile.name
    tool, options = name.tool, target.session_options
    assert tool is not None
    requirements = [f"{target.distribution}=={target.version}"]
    # Some releases install the ONNX Runtime that they need themselves, if it is missing.
    for distribution in ("onnx", "onnx-ir", "onnxruntime"):
        if f"tool_{distribution}" in options:
            requirements.append(f"{distribution}=={options[f'tool_{distribution}']}")
    if tool.name != "onnxruntime":
        imports, lines = _TOOLS[tool.name]
        return ScriptTool(tool.name, target.version, tuple(requirements), tuple(imports), tuple(lines))
    runs_on = str(options["runs_on"])
    if runs_on.rpartition(" ")[2] != target.version:
        raise CannotWrite(
            f"no script can be written for {name}: it needs ONNX Runtime {target.version} and {runs_on} in one environment; "
            "name the same version of both"
        )
    if "tool" in tool.options:
        requirements.append("sympy")
        return ScriptTool(
            "ONNX Runtime's quant_pre_process", target.version, tuple(requirements),
            ("import tempfile", "import onnx", "from onnxruntime.quantization.shape_inference import quant_pre_process"),
            (
                "with tempfile.TemporaryDirectory() as folder:",
                '    quant_pre_process(model, f"{folder}/processed.onnx")',
                '    rewritten = onnx.load(f"{folder}/processed.onnx")',
            ),
        )  # fmt: skip
    level = f"ORT_ENABLE_{tool.options.get('level', 'all').upper()}"
    return ScriptTool(
        "ONNX Runtime's offline optimization", target.version, tuple(requirements),
        ("import tempfile", "import onnx", "import onnxruntime"),
        (
            "options = onnxruntime.SessionOptions()",
            f"options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.{level}",
            "with tempfile.TemporaryDirectory() as folder:",
            '    options.optimized_model_filepath = f"{folder}/optimized.onnx"',
            "    onnxruntime.InferenceSession(model.SerializeToString(), options)",
            '    rewritten = onnx.load(f"{folder}/optimized.onnx")',
        ),
    )  # fmt: skip
