"""What the script of a reproduction says of each runtime: what it imports, and how it asks."""

from __future__ import annotations

import json
import platform
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from maxpool_check.targets.description import TargetProfile
from maxpool_check.targets.name import TargetName
from maxpool_check.targets.runtimes import RUNTIMES

_PARSER = "from onnx.parser import parse_model"
DEFAULT_PROVIDER = "CPUExecutionProvider"


class CannotWrite(ValueError):
    """A reproduction that cannot be written, and what can."""


@dataclass(frozen=True)
class Runtime:
    """How a script asks one runtime.

    ``title`` and ``version`` name it for people; somebody's own kernel has no version. ``requirements`` are exact, ``imports`` the lines that bring it in,
    ``call`` the lines of a function that give the outputs for X, in order; ``model`` is the text of an ONNX model, or
    the attributes where there is none.
    ``kernel`` is somebody's own file, to be put beside the script as ``kernel_name``.
    """

    title: str
    version: str
    requirements: tuple[str, ...]
    imports: tuple[str, ...]
    call: tuple[str, ...]
    kernel: Path | None = None
    kernel_name: str = ""

    @property
    def named(self) -> str:
        """Its name and version."""
        return f"{self.title} {self.version}".rstrip()


def check_writable(name: TargetName) -> None:
    """Refuse a target that no script is written for. Raises :class:`CannotWrite`."""
    writable = [one for one, runtime in RUNTIMES.items() if runtime.adapter in ("onnxruntime", "onnx_reference")]
    if name.program is not None or (name.is_released and name.runtime not in writable):
        raise CannotWrite(
            f"no reproduction can be written for {name}; it can for {', '.join(writable)} and python:PATH.py:FUNCTION"
        )


def runtime(profile: TargetProfile) -> Runtime:
    """How to ask the runtime of a target."""
    if profile.name.function is not None:
        return _function(profile.name.function)
    said = profile.description
    of_target = f"{said.distribution}=={said.version}"
    if RUNTIMES[profile.name.runtime].adapter == "onnx_reference":
        return Runtime(
            "onnx's ReferenceEvaluator", said.version, (f"numpy=={said.numpy}", of_target),
            (_PARSER, "from onnx.reference import ReferenceEvaluator"),
            ('return ReferenceEvaluator(parse_model(model)).run(None, {"X": X})',),
        )  # fmt: skip
    plugged = said.session_options.get("onnxruntime")
    requirements = [f"numpy=={said.numpy}", f"onnx=={version('onnx')}", of_target]
    imports, call = ["import onnxruntime", _PARSER], []
    options = {key: value for key, value in profile.name.options.items() if key != "python"}
    session = f"providers={json.dumps([said.provider])}"
    if said.provider != DEFAULT_PROVIDER or options:
        call += [
            "options = onnxruntime.SessionOptions()",
            'options.add_session_config_entry("session.disable_cpu_ep_fallback", "1")',
        ]
        session = f"options, providers=[({json.dumps(said.provider)}, {json.dumps(options)})], enable_fallback=0"
    if said.provider == DEFAULT_PROVIDER and options:
        call = ["options = onnxruntime.SessionOptions()"]
    if plugged:
        requirements.append(f"onnxruntime=={plugged}")
        module = said.distribution.replace("-", "_")
        imports.append(f"import {module}")
        call += [
            f"if all(device.ep_name != {json.dumps(said.provider)} for device in onnxruntime.get_ep_devices()):",
            (
                f"    onnxruntime.register_execution_provider_library({json.dumps(said.provider)}, "
                f"{module}.get_library_path())"
            ),
            f"devices = [d for d in onnxruntime.get_ep_devices() if d.ep_name == {json.dumps(said.provider)}]",
            f"options.add_provider_for_devices(devices[:1], {json.dumps(options)})",
        ]
        session = "options"
    call += [
        f"session = onnxruntime.InferenceSession(parse_model(model).SerializeToString(), {session})",
        'return session.run(None, {"X": X})',
    ]
    title = "ONNX Runtime" if said.distribution == "onnxruntime" else f"ONNX Runtime ({said.distribution})"
    return Runtime(title, said.version, tuple(requirements), tuple(imports), tuple(call))


def _function(function: Sequence[str]) -> Runtime:
    path, name = Path(function[0]).resolve(), function[1]
    beside = path.name if path.stem.isidentifier() and path.stem != "repro" else "kernel.py"
    return Runtime(
        f"{path.name}:{name}", "", (f"numpy=={version('numpy')}",),
        (f"from {beside.removesuffix('.py')} import {name} as maxpool",),
        (
            "answer = maxpool(X.copy(), dict(model))",
            "answer = answer if isinstance(answer, tuple) else (answer,)",
            "if len(answer) not in (1, 2):",
            '    raise ValueError(f"{len(answer)} values came back")',
            "return [np.asarray(value) for value in answer]",
        ),
        path, beside,
    )  # fmt: skip


def requires_python(profile: TargetProfile) -> str:
    """The least Python of the script: the one that was asked."""
    text: Any = profile.description.python
    major, minor, *_ = (text if text[:1].isdigit() else platform.python_version()).split(".")
    return f">={major}.{minor}"
