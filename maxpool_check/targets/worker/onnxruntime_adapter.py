"""Runs ONNX Runtime, with a built-in execution provider or one of a plugin package installed with it.

Or has it infer the shapes of outputs, when it loads a model or by its symbolic inference: these compute nothing.
"""

from __future__ import annotations

import ctypes
import importlib
import importlib.util
import re
from importlib import metadata
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import onnxruntime

from .adapter import Adapter
from .messages import DTYPES, inferred, refusal, returned, unable

_CPU = "CPUExecutionProvider"
_BFLOAT16 = 16  # onnx.TensorProto.BFLOAT16
_STATUS = re.compile(r"\[ONNXRuntimeError\] : \d+ : ([A-Z_]+) : ")
_LEVELS = {
    setting: level
    for setting, level in {
        "optimization-off": "ORT_DISABLE_ALL",
        "optimization-basic": "ORT_ENABLE_BASIC",
        "optimization-extended": "ORT_ENABLE_EXTENDED",
        "optimization-layout": "ORT_ENABLE_LAYOUT",
    }.items()
    if hasattr(onnxruntime.GraphOptimizationLevel, level)
}
"""The levels besides the default, ORT_ENABLE_ALL; the last is new in 1.22."""

_DISTRIBUTIONS = {
    "CUDAExecutionProvider": ("onnxruntime-gpu", "an NVIDIA GPU with CUDA and cuDNN", "cuda"),
    "TensorrtExecutionProvider": ("onnxruntime-gpu", "an NVIDIA GPU with CUDA, cuDNN and TensorRT", "tensorrt"),
    "ROCMExecutionProvider": ("onnxruntime-rocm", "an AMD GPU with ROCm", "rocm"),
    "MIGraphXExecutionProvider": ("onnxruntime-migraphx", "an AMD GPU with ROCm and MIGraphX", "migraphx"),
    "DmlExecutionProvider": ("onnxruntime-directml", "Windows with DirectX 12", None),
    "CoreMLExecutionProvider": ("onnxruntime", "macOS", None),
    "OpenVINOExecutionProvider": ("onnxruntime-openvino", "", None),
    "QNNExecutionProvider": ("onnxruntime-qnn", "", None),
    "WebGpuExecutionProvider": ("onnxruntime-ep-webgpu", "a driver for Vulkan, Metal or Direct3D 12", None),
}
"""The distribution that has a provider, what that needs, and its library if that needs others outside of the distribution."""

_DTYPES = {"float": "float32", "double": "float64"}
"""The dtypes whose names are others."""

_IDENTITY = bytes.fromhex(
    "08073a390a120a015812015922084964656e746974793a001201675a0f0a0158120a0a08080112040a020801"
    "620f0a0159120a0a08080112040a02080142040a00100c"
)
"""A model of one Identity of float32[1], in operator set 12."""

_RECORD = "session.record_ep_graph_assignment_info"


class Runtime(Adapter):
    """One provider of one ONNX Runtime, without fallback to the CPU provider.

    Each request has its own session. ``disabled_optimizers`` are names of optimizers that no session applies.
    """

    title = "ONNX Runtime"
    settings = (*_LEVELS, "default-threads", "twice")
    dtypes = ("float16", "bfloat16", "float32", "float64", "int8", "uint8")
    takes = DTYPES

    def __init__(self, options: dict[str, Any]) -> None:
        self.distribution = options.get("distribution") or "onnxruntime"
        try:
            self.version = metadata.version(self.distribution)
        except metadata.PackageNotFoundError:
            # ONNX Runtime may be installed without a package.
            if self.distribution != "onnxruntime":
                raise ValueError(f"{self.distribution} is not installed in this environment") from None
            self.version = str(onnxruntime.__version__)
        plugin = _plugin(self.distribution)
        self.provider = options.get("provider") or (plugin.get_ep_name() if plugin else _CPU)
        self.provider_options = options.get("provider_options") or {}
        self.entries = {} if self.provider == _CPU else {"session.disable_cpu_ep_fallback": "1"}
        if self.entries and tuple(map(int, onnxruntime.__version__.split(".")[:2])) < (1, 16):
            raise ValueError(
                f"ONNX Runtime {onnxruntime.__version__} cannot disable the fallback to the CPU; use 1.16 or later"
            )
        # What the results also depend on: the ONNX Runtime that loads a plugin, and the device that the plugin uses.
        related = {"onnxruntime": onnxruntime.__version__} if plugin else {}
        self.device = None
        self.providers = onnxruntime.get_available_providers()
        if self.provider in self.providers:
            _check_loadable(self.provider)
        else:
            self.device, self.providers = _device_of(self.provider, self.providers, plugin)
            related["device"] = " ".join([self.device.device.type.name, self.device.device.vendor]).strip()
        if hasattr(onnxruntime.InferenceSession, "get_provider_graph_assignment_info"):
            self.entries[_RECORD] = "1"
        self.disabled = options.get("disabled_optimizers") or []
        if self.disabled:
            related["disabled_optimizers"] = ",".join(self.disabled)
        self.session_options = {
            "intra_op_num_threads": 1,
            "inter_op_num_threads": 1,
            "graph_optimization_level": "ORT_ENABLE_ALL",
            **related,
            **self.entries,
            **self.provider_options,
        }
        if self.provider_options:
            self._check_options()

    def execute(self, request: dict[str, Any], inputs: dict[str, Any]) -> dict[str, Any]:
        """Run one model."""
        setting = request.get("setting")
        session = self._session(
            request.get("path") or request["model"], setting, request.get("disabled_optimizers", [])
        )
        provider = self._provider_of(session)
        if any(output.type == "tensor(bfloat16)" for output in session.get_outputs()):
            # It raises an error without a status after the session has run.
            return unable("the Python API of ONNX Runtime returns no bfloat16")
        if any(tensor["dtype"] == "bfloat16" for tensor in request["inputs"].values()):
            if not hasattr(onnxruntime.OrtValue, "ortvalue_from_numpy_with_onnx_type"):
                return unable(f"the Python API of ONNX Runtime {onnxruntime.__version__} takes no bfloat16")
            values = {name: _ort_value(inputs[name], tensor["dtype"]) for name, tensor in request["inputs"].items()}
            outputs = [value.numpy() for value in session.run_with_ort_values(request["outputs"], values)]
        else:
            if setting == "twice":
                session.run(request["outputs"], inputs)
            outputs = session.run(request["outputs"], inputs)
        return returned(request["outputs"], outputs, provider)

    def refusal(self, error: Exception) -> dict[str, Any]:
        """The refusal of an error of ONNX Runtime; another one is raised."""
        message = refusal_with_status(error)
        if message is None and not type(error).__module__.startswith("onnxruntime"):
            raise error
        # The messages of some releases have no status; it is in the name of the class.
        return message or refusal(error, status=re.sub(r"(?<=[a-z])(?=[A-Z])", "_", type(error).__name__).upper())

    def _session(self, model: bytes | str, setting: str | None, more_disabled: list[str]) -> Any:
        """A session of the model, or of its file, with this provider and no other."""
        options = _session_options(one_thread=setting != "default-threads")
        if setting in _LEVELS:
            options.graph_optimization_level = getattr(onnxruntime.GraphOptimizationLevel, _LEVELS[setting])
        for key, value in self.entries.items():
            options.add_session_config_entry(key, value)
        disabled = {"disabled_optimizers": [*self.disabled, *more_disabled]} if self.disabled or more_disabled else {}
        session = self._session_of(model, options, self.provider_options, **disabled)
        session.disable_fallback()
        return session

    def _session_of(self, model: bytes | str, options: Any, provider_options: dict[str, Any], **others: Any) -> Any:
        providers: Any = [(self.provider, provider_options)]
        if self.device is not None:
            options.add_provider_for_devices([self.device], provider_options)
            providers = None
        # By default, ONNX Runtime's Python code retries with another provider and hides the first error.
        return onnxruntime.InferenceSession(model, options, providers=providers, enable_fallback=0, **others)

    def _check_options(self) -> None:
        """Raise ``ValueError`` unless the provider takes its options: many a provider ignores names that it does not know.

        A session has the options that its provider took; of a provider that tells none, it must refuse what is no option.
        """
        names = ", ".join(self.provider_options)
        try:
            session = self._session_of(_IDENTITY, _session_options(), self.provider_options)
        except Exception as error:
            raise ValueError(f"{self.provider} does not take the options {names}: {error}") from error
        if self.provider not in session.get_providers():
            raise ValueError(f"{self.provider} does not start with the options {names}")
        taken = session.get_provider_options()[self.provider]
        if ignored := [name for name in self.provider_options if name not in taken]:
            try:
                self._session_of(_IDENTITY, _session_options(), {**self.provider_options, "maxpool_check": "1"})
            except Exception:
                return
            has = f"; it has {', '.join(taken)}" if taken else ""
            raise ValueError(f"{self.provider} ignores {', '.join(ignored)}: its session has no such option{has}")

    def _provider_of(self, session: Any) -> str:
        """The provider that runs the node; the first one of the session if the release does not report it.

        Releases 1.24 to 1.26 report nothing for a node that they surround with casts, such as float16 on the CPU. The
        first provider is correct then, since the session disables the fallback to the CPU provider.
        """
        assignments = session.get_provider_graph_assignment_info() if _RECORD in self.entries else ()
        return "+".join(sorted({subgraph.ep_name for subgraph in assignments})) or str(session.get_providers()[0])


class LoadedModel(Adapter):
    """A session for each request, on the CPU and without optimization, which would compute constants."""

    title, distribution, version = "ONNX Runtime's inference at load", "onnxruntime", onnxruntime.__version__
    decides, provider, providers = "shapes", "", ()
    session_options: ClassVar = {"graph_optimization_level": "ORT_DISABLE_ALL"}

    def __init__(self, options: dict[str, Any]) -> None:
        super().__init__(options)
        # It brings onnx, which the others do not need.
        self.onnx = importlib.import_module(".onnx_adapter", __package__)

    def execute(self, request: dict[str, Any], _inputs: dict[str, Any]) -> dict[str, Any]:
        """Load one model, and ask for its outputs."""
        model = self.onnx.without_output_types(request["model"]).SerializeToString()
        options = _session_options()
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"], enable_fallback=0)
        return inferred({output.name: _described(output) for output in session.get_outputs()})

    def refusal(self, error: Exception) -> dict[str, Any]:
        """A refusal, with the status in its message if there is one."""
        return refusal_with_status(error) or super().refusal(error)


class SymbolicInference(Adapter):
    """onnxruntime.tools.symbolic_shape_infer of one release, a Python program of its package, with its defaults."""

    title, distribution, version = "ONNX Runtime's symbolic shape inference", "onnxruntime", onnxruntime.__version__
    decides, provider, providers = "shapes", "", ()

    def __init__(self, options: dict[str, Any]) -> None:
        super().__init__(options)
        import logging

        from onnxruntime.tools.symbolic_shape_infer import SymbolicShapeInference

        logging.disable(logging.CRITICAL)
        self.inference = SymbolicShapeInference
        self.onnx = importlib.import_module(".onnx_adapter", __package__)

    def execute(self, request: dict[str, Any], _inputs: dict[str, Any]) -> dict[str, Any]:
        """Infer the outputs of one model."""
        result = self.inference.infer_shapes(self.onnx.without_output_types(request["model"]))
        if result is None:
            # It logs so, and returns nothing.
            return {"type": "refusal", "status": "NOT_IMPLEMENTED", "message": "only operator sets from 7 on"}
        return self.onnx.inferred_of(result.graph, request["outputs"])


def refusal_with_status(error: Exception) -> dict[str, Any] | None:
    """The refusal of an error whose message has a status of ONNX Runtime; None if it has none."""
    match = _STATUS.match(str(error))
    return refusal(error, str(error)[match.end() :], match[1]) if match else None


def _described(output: Any) -> tuple[str | None, list[int | None] | None]:
    name = output.type[len("tensor(") : -1]
    dtype = _DTYPES.get(name, name)
    return dtype if dtype in DTYPES else None, [size if isinstance(size, int) else None for size in output.shape]


def _ort_value(array: Any, dtype: str) -> Any:
    """An array as a value of ONNX Runtime; that of bfloat16 has no dtype of numpy."""
    if dtype == "bfloat16":
        return onnxruntime.OrtValue.ortvalue_from_numpy_with_onnx_type(array.view(np.uint16), _BFLOAT16)
    return onnxruntime.OrtValue.ortvalue_from_numpy(array)


def _session_options(*, one_thread: bool = True) -> Any:
    options = onnxruntime.SessionOptions()
    if one_thread:
        options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    return options


def _device_of(provider: str, built_in: list[str], plugin: Any) -> tuple[Any, list[str]]:
    """The device of a provider that is not built in, and all providers."""
    has_plugin = plugin and provider in plugin.get_ep_names()
    if has_plugin:
        # Its devices have the name that it is registered under.
        onnxruntime.register_execution_provider_library(provider, plugin.get_library_path())
    devices = onnxruntime.get_ep_devices() if hasattr(onnxruntime, "get_ep_devices") else []
    # Without duplicates: a provider lists every device that it supports.
    providers = list(dict.fromkeys([*built_in, *(device.ep_name for device in devices)]))
    matching = [device for device in devices if device.ep_name == provider]
    if not matching:
        reason = "its plugin found no device" if has_plugin else "it is not built in"
        advice = "" if has_plugin else _where(provider)
        raise ValueError(f"this ONNX Runtime has no {provider}: {reason}; it has {', '.join(providers)}{advice}")
    return matching[0], providers


def _plugin(distribution: str) -> Any:
    """The module of a distribution that contains a plugin for ONNX Runtime; None for other distributions."""
    name = distribution.replace("-", "_")
    if name == "onnxruntime" or importlib.util.find_spec(name) is None:
        return None
    return importlib.import_module(name)


def _where(provider: str) -> str:
    """What follows the message that a provider is not there: which distribution has it, as the end of a sentence."""
    if provider in _DISTRIBUTIONS:
        distribution, needs, _ = _DISTRIBUTIONS[provider]
        return f". {distribution} has it{needs and f', on {needs}'}: -t {distribution}==VERSION@{provider}"
    known = onnxruntime.get_all_providers()
    if provider in known:
        return f". Name the interpreter of a build that has it: -t onnxruntime@{provider}?python=PATH"
    import difflib

    lowered = {name.lower(): name for name in (*_DISTRIBUTIONS, *known)}
    similar = difflib.get_close_matches(provider.lower(), lowered, 1)
    return f". Did you mean {lowered[similar[0]]}?" if similar else ""


def _check_loadable(provider: str) -> None:
    """Raise ``ValueError`` if the library of a provider cannot be loaded, with the message of the loader.

    ONNX Runtime would write it to its log, and make a session without the provider.
    """
    _, needs, name = _DISTRIBUTIONS.get(provider, ("", "", None))
    folder = Path(onnxruntime.__file__).parent / "capi"
    library = folder / f"libonnxruntime_providers_{name}.so"
    if name is None or not library.exists():
        return
    # As its documentation has it: from packages of CUDA in the same environment, if there are any.
    if provider in ("CUDAExecutionProvider", "TensorrtExecutionProvider") and hasattr(onnxruntime, "preload_dlls"):
        onnxruntime.preload_dlls()
    try:
        ctypes.CDLL(str(folder / "libonnxruntime_providers_shared.so"), ctypes.RTLD_GLOBAL)
        ctypes.CDLL(str(library))
    except OSError as error:
        raise ValueError(f"{provider} is built in, but cannot be loaded: {error}. It needs {needs}") from error
