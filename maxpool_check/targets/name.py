"""The runtimes that can be tested, and the names of targets.

``RUNTIME[==VERSION][@PROVIDER][?key=value&...]``, ``python:PATH.py:FUNCTION`` and ``command:PROGRAM ARG...``.
"""

import re
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from urllib.parse import parse_qsl

from packaging.version import Version

from maxpool_check.specifications import documents
from maxpool_check.specifications.specification import nearest


@dataclass(frozen=True)
class Runtime:
    """One runtime: its ``distribution`` on the package index, the worker's ``adapter``, and a description.

    ``extra`` is the extra of maxpool-check that installs it; empty if it is a dependency or installed by the user.
    """

    distribution: str
    adapter: str
    about: str
    extra: str = ""


_OTHER_PROVIDERS = {
    "onnxruntime-gpu": "ONNX Runtime with CUDA and TensorRT",
    "onnxruntime-directml": "ONNX Runtime with DirectML",
    "onnxruntime-rocm": "ONNX Runtime with ROCm",
    "onnxruntime-migraphx": "ONNX Runtime with MIGraphX",
    "onnxruntime-silicon": "ONNX Runtime with CoreML",
    "onnxruntime-openvino": "ONNX Runtime with OpenVINO",
    "onnxruntime-qnn": "the QNN provider, as a plugin beside ONNX Runtime",
    "onnxruntime-ep-webgpu": "the WebGPU provider, as a plugin beside ONNX Runtime",
}

RUNTIMES: Mapping[str, Runtime] = {
    "onnxruntime": Runtime("onnxruntime", "onnxruntime", "ONNX Runtime"),
    **{name: Runtime(name, "onnxruntime", about) for name, about in _OTHER_PROVIDERS.items()},
    "openvino": Runtime("openvino", "openvino", "OpenVINO itself, ?opset=1, 8 or 14", "openvino"),
    "onnx-reference": Runtime("onnx", "onnx_reference", "onnx's ReferenceEvaluator"),
    "torch": Runtime("torch", "torch", "PyTorch on the CPU", "torch"),
    "jax": Runtime("jax", "jax", "JAX's reduce_window on the CPU", "jax"),
    "tract": Runtime("tract", "tract", "tract", "tract"),
    "xmos": Runtime("xmos-ai-tools", "xmos", "XMOS lib_nn by way of xcore-opt", "xmos"),
}
"""Every runtime, by its name in a target."""

_PATTERN = re.compile(
    r"(?P<runtime>[A-Za-z0-9._-]+)(==(?P<version>[^@?]+))?(@(?P<provider>[^?]+))?(\?(?P<options>.*))?"
)


class BadTarget(ValueError):
    """An invalid target name."""


@dataclass(frozen=True)
class TargetName:
    """A parsed target name.

    ``version`` is None for the installed version, ``provider`` for the runtime's default. ``function`` is PATH.py and
    FUNCTION of a ``python:`` target, ``program`` the program and arguments of a ``command:`` target. ``specs`` are
    documents that such a kernel claims beside those that it claims itself.
    """

    text: str
    runtime: str
    version: str | None = None
    provider: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    function: tuple[str, str] | None = None
    program: tuple[str, ...] | None = None
    specs: tuple[str, ...] = ()

    @property
    def is_released(self) -> bool:
        """Whether it is a runtime with released versions, not a user's kernel."""
        return self.function is None and self.program is None

    def __str__(self) -> str:
        return self.text

    def at(self, version: str) -> "TargetName":
        """The same runtime, provider and options, with another version."""
        return parse(f"{self.runtime}=={version}{self.text.removeprefix(self.runtime)}")

    def claiming(self, names: Iterable[str]) -> "TargetName":
        """The same kernel, which claims these documents and families too; runtimes claim all. ``ValueError`` if unknown."""
        specs = tuple(document for name in names for document in documents(name))
        return self if self.is_released else replace(self, specs=specs)


def parse(text: str) -> TargetName:
    """Parse a target name. Raises :class:`BadTarget`."""
    if text.startswith(("python:", "command:")):
        return _parse_kernel(text)
    match = _PATTERN.fullmatch(text)
    if not match:
        raise BadTarget(f"'{text}' is not RUNTIME[==VERSION][@PROVIDER][?key=value&...]{_kernel_hint(text)}")
    runtime, version = match["runtime"], match["version"]
    if runtime not in RUNTIMES:
        hint = _kernel_hint(text) or nearest(runtime, RUNTIMES)
        raise BadTarget(f"unknown runtime '{runtime}'{hint}; see 'maxpool-check targets'")
    if version is not None:
        try:
            Version(version)
        except ValueError as error:  # InvalidVersion, or a number of thousands of digits
            raise BadTarget(f"'{version}' is not a version, in '{text}'; write e.g. 1.23.2") from error
    try:
        options = dict(parse_qsl(match["options"], strict_parsing=True)) if match["options"] else {}
    except ValueError as error:
        raise BadTarget(f"the options of '{text}' are not key=value&key=value") from error
    if version is not None and "python" in options:
        raise BadTarget(f"'{text}' has a version and an interpreter; use one of them")
    return TargetName(text, runtime, version, match["provider"], options)


def claiming(targets: Iterable[TargetName], names: Iterable[str]) -> tuple[TargetName, ...]:
    """The targets, the kernels among them claiming these documents and families too.

    Raises :class:`BadTarget` if there is no kernel among them, ``ValueError`` for an unknown name.
    """
    targets, names = tuple(targets), tuple(names)
    if names and all(target.is_released for target in targets):
        raise BadTarget("documents are claimed for python: and command: targets; runtimes execute the cases of all")
    return tuple(target.claiming(names) for target in targets)


def _kernel_hint(text: str) -> str:
    """What to write instead, if the text names a function of a Python file, or the file."""
    path, suffix, function = text.partition(".py")
    if not path or not suffix or (function and not function.startswith(":")):
        return ""
    return f" (did you mean 'python:{path}.py{function or ':FUNCTION'}'?)"


def _parse_kernel(text: str) -> TargetName:
    """A user's kernel: a function, or a program that implements the protocol."""
    runtime, _, rest = text.partition(":")
    if runtime == "python":
        path, _, function = rest.rpartition(":")
        if not path.endswith(".py") or not function.isidentifier():
            raise BadTarget(f"'{text}' is not python:PATH.py:FUNCTION")
        return TargetName(text, runtime, function=(path, function))
    try:
        program = tuple(shlex.split(rest))
    except ValueError as error:
        raise BadTarget(f"'{text}' is not command:PROGRAM ARG...: {error}") from error
    if not program:
        raise BadTarget(f"'{text}' is not command:PROGRAM ARG...")
    return TargetName(text, runtime, program=program)
