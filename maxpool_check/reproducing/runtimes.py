"""What the script of a reproduction needs for each runtime: its imports, and how it runs a model."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from maxpool_check.targets.name import RUNTIMES, TargetName
from maxpool_check.targets.target import TargetProfile

_PARSER = "from onnx.parser import parse_model"
DEFAULT_PROVIDER = "CPUExecutionProvider"


class CannotWrite(ValueError):
    """A reproduction that cannot be written, and what can."""


@dataclass(frozen=True)
class ScriptRuntime:
    """How a script runs a model on one runtime.

    ``title`` names it for people, and ``named`` with its version, if it has one. ``requirements`` are exact,
    ``imports`` are lines; ``call`` holds the lines of a function that returns the outputs for X, in order. Its ``model``
    is the text of an ONNX model, for a Python function the attributes. ``kernel`` is the file of a Python function, to
    be copied beside the script as ``kernel_name``.
    """

    title: str
    named: str
    requirements: tuple[str, ...]
    imports: tuple[str, ...]
    call: tuple[str, ...]
    kernel: Path | None = None
    kernel_name: str = ""


@dataclass(frozen=True)
class GraphRuntime:
    """How a script runs a graph of several nodes: the lines of a function ``run(level)``, for each of the ``levels``.

    The function uses ``model`` and ``feeds``, and returns the outputs in order.
    """

    named: str
    requirements: tuple[str, ...]
    modules: tuple[str, ...]
    levels: tuple[str, ...]
    call: tuple[str, ...]


def check_writable(target: TargetName) -> None:
    """Refuse a target that no script can be written for. Raises :class:`CannotWrite`."""
    writable = [name for name, runtime in RUNTIMES.items() if runtime.adapter in ("onnxruntime", "onnx_reference")]
    is_unwritable = target.tool is not None or target.program is not None
    if is_unwritable or (target.is_released and target.runtime not in writable):
        raise CannotWrite(
            f"no reproduction can be written for {target}; it can for {', '.join(writable)} and python:PATH.py:FUNCTION"
        )


def runtime(profile: TargetProfile) -> ScriptRuntime:
    """How a script runs a model on the runtime of a target."""
    if profile.name.function is not None:
        return _function(profile.name.function, takes_spec=profile.takes_spec)
    target = profile.description
    requirement = f"{target.distribution}=={target.version}"
    if RUNTIMES[profile.name.runtime].adapter == "onnx_reference":
        title = "onnx's ReferenceEvaluator"
        return ScriptRuntime(
            title, f"{title} {target.version}", (f"numpy=={target.numpy}", requirement),
            (_PARSER, "from onnx.reference import ReferenceEvaluator"),
            ('return ReferenceEvaluator(parse_model(model)).run(None, {"X": X})',),
        )  # fmt: skip
    plugged = target.session_options.get("onnxruntime")
    requirements = [f"numpy=={target.numpy}", f"onnx=={version('onnx')}", requirement]
    imports, call = ["import onnxruntime", _PARSER], []
    options = {key: value for key, value in profile.name.options.items() if key != "python"}
    session = f"providers={json.dumps([target.provider])}"
    if target.provider != DEFAULT_PROVIDER or options:
        call.append("options = onnxruntime.SessionOptions()")
        session = f"options, providers=[({json.dumps(target.provider)}, {json.dumps(options)})], enable_fallback=0"
    if target.provider != DEFAULT_PROVIDER:
        call.append('options.add_session_config_entry("session.disable_cpu_ep_fallback", "1")')
    if plugged:
        requirements.append(f"onnxruntime=={plugged}")
        module, provider = target.distribution.replace("-", "_"), json.dumps(target.provider)
        imports.append(f"import {module}")
        call += [
            f"if all(device.ep_name != {provider} for device in onnxruntime.get_ep_devices()):",
            f"    onnxruntime.register_execution_provider_library({provider}, {module}.get_library_path())",
            f"devices = [d for d in onnxruntime.get_ep_devices() if d.ep_name == {provider}]",
            f"options.add_provider_for_devices(devices[:1], {json.dumps(options)})",
        ]
        session = "options"
    call += [
        f"session = onnxruntime.InferenceSession(parse_model(model).SerializeToString(), {session})",
        'return session.run(None, {"X": X})',
    ]
    title = "ONNX Runtime" if target.distribution == "onnxruntime" else f"ONNX Runtime ({target.distribution})"
    return ScriptRuntime(title, f"{title} {target.version}", tuple(requirements), tuple(imports), tuple(call))


def graph_runtime(profile: TargetProfile) -> GraphRuntime:
    """How a script runs a graph of several nodes on the runtime of a target. Raises :class:`CannotWrite`."""
    target, plain = profile.description, runtime(profile)
    if RUNTIMES[profile.name.runtime].adapter == "onnx_reference":
        call = ("def run(level):", "    return onnx.reference.ReferenceEvaluator(model).run(None, feeds)")
        return GraphRuntime(
            plain.named, plain.requirements, ("numpy as np", "onnx.parser", "onnx.reference"), ("default",), call
        )
    if target.session_options.get("onnxruntime"):
        raise CannotWrite(f"no reproduction of a graph of several nodes can be written for {target.name}")
    options = {key: value for key, value in profile.name.options.items() if key != "python"}
    return GraphRuntime(
        plain.named, plain.requirements, ("numpy as np", "onnx.parser", "onnxruntime"),
        ("ORT_DISABLE_ALL", "ORT_ENABLE_BASIC", "ORT_ENABLE_EXTENDED", "ORT_ENABLE_ALL"),
        (
            "def run(level):",
            "    options = onnxruntime.SessionOptions()",
            "    options.graph_optimization_level = getattr(onnxruntime.GraphOptimizationLevel, level)",
            f"    providers = [({json.dumps(target.provider)}, {json.dumps(options)})]",
            "    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=providers)",
            "    return session.run(None, feeds)",
        ),
    )  # fmt: skip


def _function(function: Sequence[str], *, takes_spec: bool) -> ScriptRuntime:
    path, name = Path(function[0]).resolve(), function[1]
    beside = path.name if path.stem.isidentifier() and path.stem != "repro" else "kernel.py"
    return ScriptRuntime(
        f"{path.name}:{name}", f"{path.name}:{name}", (f"numpy=={version('numpy')}",),
        (f"from {beside.removesuffix('.py')} import {name} as maxpool",),
        (
            f"outputs = maxpool(X.copy(), dict(model){', spec=SPEC' if takes_spec else ''})",
            "outputs = outputs if isinstance(outputs, tuple) else (outputs,)",
            "if len(outputs) not in (1, 2):",
            '    raise ValueError(f"{len(outputs)} values returned")',
            "return [np.asarray(value) for value in outputs]",
        ),
        path, beside,
    )  # fmt: skip
