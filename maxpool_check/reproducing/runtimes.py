"""How a script runs a model, or calls a function, on each runtime, in the way its documentation does."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from maxpool_check.reproducing.literals import keywords_text
from maxpool_check.targets.name import RUNTIMES
from maxpool_check.targets.target import TargetProfile

DEFAULT_PROVIDER = "CPUExecutionProvider"


class CannotWrite(ValueError):
    """A reproduction that cannot be written, and why."""


@dataclass(frozen=True)
class ScriptRuntime:
    """How a script runs MaxPool on one runtime.

    ``title`` names it for people. ``requirements`` are exact; ``interpreter`` is the Python that has the runtime if there is
    no released version to install. ``imports`` are lines; ``setup`` and ``call`` are lines and an expression that give the
    outputs in order, of the ``model`` and its ``inputs`` if it ``takes_models``, otherwise of ``X`` and the ``{arguments}``.
    ``modules`` are what they use. ``levels`` are the levels of graph optimization that ``setup`` understands as ``level``.
    ``files`` are copied beside the script, by name.
    """

    title: str
    version: str
    requirements: tuple[str, ...] = ()
    imports: tuple[str, ...] = ()
    setup: tuple[str, ...] = ()
    call: str = ""
    arguments: str = ""
    smallest: str = ""
    """The call of the smallest MaxPool, with which every runtime must succeed, if it takes no models."""
    takes_models: bool = True
    levels: tuple[str, ...] = ()
    printed_version: str = ""
    """The version of the runtime that executes the script, as an expression; empty if the runtime does not have it."""
    runs_in_own_process: bool = False
    """Whether ``setup`` starts a process, so that a crash does not end the script."""
    interpreter: str | None = None
    files: Mapping[str, Path] = field(default_factory=dict)

    @property
    def named(self) -> str:
        """Its title and version."""
        return f"{self.title} {self.version}".strip()

    @property
    def is_kernel(self) -> bool:
        """Whether it is a user's own kernel."""
        return not self.requirements


TITLES = {
    "onnxruntime": "ONNX Runtime", "onnx-reference": "onnx", "openvino": "OpenVINO", "torch": "PyTorch", "jax": "JAX",
}  # fmt: skip
"""How people call the runtimes whose names are others."""

LEVELS = ("ORT_DISABLE_ALL", "ORT_ENABLE_BASIC", "ORT_ENABLE_EXTENDED", "ORT_ENABLE_ALL")
"""The levels of graph optimization of ONNX Runtime that all its releases have."""


def released_runtime(
    profile: TargetProfile, request_attributes: Mapping[str, Any], X: np.ndarray, outputs: tuple[str, ...], *,
    is_graph: bool, inputs: str = '{"X": X}', level: str | None = None, threads: str | None = None,
) -> ScriptRuntime:  # fmt: skip
    """How a script runs a request on a released runtime.

    ``inputs`` are those of the model as an expression, ``level`` and ``threads`` the settings of a session as expressions.
    """
    adapter = RUNTIMES[profile.name.runtime].adapter
    if adapter == "onnxruntime":
        return _onnxruntime(profile, inputs, level, threads)
    if adapter == "onnx_reference":
        return _onnx_reference(profile, inputs)
    if adapter == "tract":
        return _tract(profile, inputs)
    if adapter == "openvino":
        return _openvino_graph(profile, inputs, X) if is_graph else _openvino(profile, request_attributes, X, outputs)
    if adapter == "torch":
        return _torch(profile, request_attributes, X, outputs)
    if adapter == "jax":
        return _jax(profile, request_attributes, X)
    raise CannotWrite(f"no script can be written for {profile.name}: it would have to build and compile a TFLite model")


def _based(profile: TargetProfile, title: str, *besides: str) -> dict[str, Any]:
    """The fields that all runtimes have alike; ``besides`` are further requirements."""
    target, name = profile.description, profile.name
    distribution, release = target.distribution, target.version
    if name.tool is not None:
        distribution, _, release = str(target.session_options["runs_on"]).rpartition(" ")
    requirements = [f"numpy=={target.numpy}", *besides, f"{distribution}=={release}"]
    return {
        "title": title, "version": release, "interpreter": name.options.get("python"),
        "requirements": tuple(sorted({each for each in requirements if not each.endswith("==-")})),
    }  # fmt: skip


def _onnx() -> str:
    return f"onnx=={version('onnx')}"


def _bfloat16(X: np.ndarray) -> list[str]:
    """What X requires besides numpy."""
    return [f"ml_dtypes=={version('ml_dtypes')}"] if X.dtype.name == "bfloat16" else []


def _onnxruntime(profile: TargetProfile, inputs: str, level: str | None, threads: str | None) -> ScriptRuntime:
    target = profile.description
    provider = json.dumps(target.provider)
    options = {key: value for key, value in profile.name.options.items() if key != "python"}
    plugged = target.session_options.get("onnxruntime")
    settings = []
    if level is not None:
        levels = "onnxruntime.GraphOptimizationLevel"
        value = f"{levels}.{json.loads(level)}" if level.startswith('"') else f"getattr({levels}, {level})"
        settings.append(f"options.graph_optimization_level = {value}")
    if threads is not None:
        settings.append(f"options.intra_op_num_threads = {threads}")
    if target.provider != DEFAULT_PROVIDER:
        settings.append('options.add_session_config_entry("session.disable_cpu_ep_fallback", "1")')
    imports, requirements = ["import onnxruntime"], [_onnx()]
    given = json.dumps(options)
    arguments = f"providers=[{f'({provider}, {given})' if options else provider}]"
    if plugged:
        requirements.append(f"onnxruntime=={plugged}")
        module = target.distribution.replace("-", "_")
        imports.append(f"import {module}")
        settings += [
            f"if all(device.ep_name != {provider} for device in onnxruntime.get_ep_devices()):",
            f"    onnxruntime.register_execution_provider_library({provider}, {module}.get_library_path())",
            f"devices = [device for device in onnxruntime.get_ep_devices() if device.ep_name == {provider}]",
            f"options.add_provider_for_devices(devices[:1], {given})",
        ]
        arguments = ""
    if settings:
        settings.insert(0, "options = onnxruntime.SessionOptions()")
        arguments = ", ".join(filter(None, ["options", arguments]))
    return ScriptRuntime(
        **_based(profile, "ONNX Runtime", *requirements), imports=tuple(imports), levels=LEVELS, printed_version="onnxruntime.__version__",
        setup=(*settings, f"session = onnxruntime.InferenceSession(model.SerializeToString(), {arguments})"),
        call=f"session.run(None, {inputs})",
    )  # fmt: skip


def _onnx_reference(profile: TargetProfile, inputs: str) -> ScriptRuntime:
    return ScriptRuntime(
        **_based(profile, "onnx"), imports=("import onnx", "from onnx.reference import ReferenceEvaluator"),
        printed_version="onnx.__version__",
        call=f"ReferenceEvaluator(model).run(None, {inputs})",
    )  # fmt: skip


def _tract(profile: TargetProfile, inputs: str) -> ScriptRuntime:
    values = "[X]" if "X" in inputs else f"list({inputs}.values())"
    return ScriptRuntime(
        **_based(profile, "tract", _onnx()), imports=("import tempfile", "import onnx", "import tract"),
        setup=(
            "with tempfile.TemporaryDirectory() as folder:",
            '    onnx.save(model, f"{folder}/maxpool.onnx")',
            '    runnable = tract.onnx().load(f"{folder}/maxpool.onnx").into_model().into_runnable()',
        ),
        call=f"[tensor.to_numpy() for tensor in runnable.run({values})]",
    )  # fmt: skip


def _openvino_config(X: np.ndarray) -> str:
    """The setting without which float32 may be computed in bfloat16, as further arguments."""
    return ', {"INFERENCE_PRECISION_HINT": "f32"}' if X.dtype.name in ("float32", "float16") else ""


_OPENVINO_DEFAULTS = {"rounding_type": "floor", "auto_pad": "explicit", "index_element_type": "i64", "axis": 0}


def _openvino(
    profile: TargetProfile, attributes: Mapping[str, Any], X: np.ndarray, outputs: tuple[str, ...]
) -> ScriptRuntime:
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
        call = f"[value.view(X.dtype) if value.dtype == np.uint16 else value for value in compiled({fed}).values()]"
    one = {"strides": [1], "dilations": [1], "pads_begin": [0], "pads_end": [0], "kernel_shape": [1]}
    if opset == "1":
        del one["dilations"]
    return ScriptRuntime(
        **_based(profile, "OpenVINO", *_bfloat16(X)), takes_models=False, arguments=keywords_text(given), smallest=keywords_text(one),
        imports=("import openvino as ov", f"from openvino import opset{opset}"), printed_version="ov.__version__",
        setup=(
            f'data = opset{opset}.parameter(X.shape, {dtype}, "X")',
            f"pool = opset{opset}.max_pool(data, {{arguments}})",
            f'model = ov.Model({results}, [data], "maxpool")',
            f'compiled = ov.compile_model(model, "CPU"{_openvino_config(X)})',
        ),
        call=call,
    )  # fmt: skip


def _openvino_graph(profile: TargetProfile, inputs: str, X: np.ndarray) -> ScriptRuntime:
    return ScriptRuntime(
        **_based(profile, "OpenVINO", _onnx()), imports=("import io", "import openvino as ov"), printed_version="ov.__version__",
        setup=(
            "onnx_model = ov.Core().read_model(io.BytesIO(model.SerializeToString()))",
            f'compiled = ov.compile_model(onnx_model, "CPU"{_openvino_config(X)})',
        ),
        call=f"list(compiled({inputs}).values())",
    )  # fmt: skip


def _torch(
    profile: TargetProfile, attributes: Mapping[str, Any], X: np.ndarray, outputs: tuple[str, ...]
) -> ScriptRuntime:
    function = f"torch.nn.functional.max_pool{X.ndim - 2}d"
    if X.dtype.name == "bfloat16":
        raise CannotWrite("no script can be written for bfloat16 on PyTorch, whose tensors numpy cannot hold")
    has_indices = len(outputs) > 1
    given = {**attributes, **({"return_indices": True} if has_indices else {})}
    pooled = "pooled" if has_indices else "[pooled]"
    smallest = f"kernel_size=1{', return_indices=True' if has_indices else ''}"
    return ScriptRuntime(
        **_based(profile, "PyTorch"), takes_models=False, arguments=keywords_text(given), smallest=smallest,
        imports=("import torch",), printed_version="torch.__version__", setup=(f"pooled = {function}(torch.from_numpy(X), {{arguments}})",),
        call=f"[tensor.numpy() for tensor in {pooled}]",
    )  # fmt: skip


def _jax(profile: TargetProfile, attributes: Mapping[str, Any], X: np.ndarray) -> ScriptRuntime:
    def of_axes(name: str, outer: Any) -> tuple[Any, ...]:
        return (outer, outer, *(tuple(each) if isinstance(each, list) else each for each in attributes[name]))

    given = {
        "window_dimensions": of_axes("window", 1), "window_strides": of_axes("strides", 1),
        "padding": of_axes("padding", (0, 0)), "window_dilation": of_axes("dilation", 1),
    }  # fmt: skip
    start = "np.iinfo(X.dtype).min" if X.dtype.kind in "iu" else "-np.inf"
    wide = ('jax.config.update("jax_enable_x64", True)',) if X.dtype.itemsize == 8 else ()
    smallest = "window_dimensions=(1, 1, 1), window_strides=(1, 1, 1), padding='VALID'"
    return ScriptRuntime(
        **_based(profile, "JAX", *_bfloat16(X)), takes_models=False,
        arguments=keywords_text(given), smallest=smallest, imports=("import jax",), printed_version="jax.__version__",
        setup=(
            *wide,
            f"start = np.array({start}, X.dtype)",
            "pooled = jax.lax.reduce_window(X, start, jax.lax.max, {arguments})",
        ),
        call="[np.asarray(pooled)]",
    )  # fmt: skip
