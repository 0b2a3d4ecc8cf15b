"""Runs ONNX Runtime, with a built-in execution provider or one of a plugin package installed with it."""

from __future__ import annotations

import base64
import importlib
import importlib.util
import re
from importlib import metadata
from typing import Any

import numpy as np
import onnxruntime

from .messages import refusal, returned

_CPU = "CPUExecutionProvider"
_BFLOAT16 = 16  # onnx.TensorProto.BFLOAT16
_STATUS = re.compile(r"\[ONNXRuntimeError\] : \d+ : ([A-Z_]+) : ")
_RECORD = "session.record_ep_graph_assignment_info"


class OnnxRuntime:
    """One provider of one ONNX Runtime; each request has its own session."""

    def __init__(self, options: dict[str, Any]) -> None:
        self.provider = provider = _Provider(options)
        self.entries = dict(provider.entries)
        if hasattr(onnxruntime.InferenceSession, "get_provider_graph_assignment_info"):
            self.entries[_RECORD] = "1"
        self.description = {
            "wants": "model",
            "distribution": provider.distribution,
            "version": provider.version,
            "provider": provider.name,
            "providers": provider.names,
            "session_options": {
                "intra_op_num_threads": 1,
                "inter_op_num_threads": 1,
                "graph_optimization_level": "ORT_ENABLE_ALL",
                **provider.related,
                **self.entries,
                **provider.options,
            },
            "settings": ["optimization-off", "default-threads", "twice"],
            "dtypes": ["float16", "bfloat16", "float32", "float64", "int8", "uint8"],
        }

    def run(self, request: dict[str, Any], inputs: dict[str, Any]) -> dict[str, Any]:
        """Run one model; errors of ONNX Runtime are refusals."""
        try:
            setting = request.get("setting")
            session = self._session(base64.b64decode(request["model"]), setting)
            provider = self._provider_of(session)
            if request["inputs"]["X"]["dtype"] == "bfloat16":
                bits = inputs["X"].view(np.uint16)
                values = {"X": onnxruntime.OrtValue.ortvalue_from_numpy_with_onnx_type(bits, _BFLOAT16)}
                outputs = [value.numpy() for value in session.run_with_ort_values(request["outputs"], values)]
            else:
                if setting == "twice":
                    session.run(request["outputs"], inputs)
                outputs = session.run(request["outputs"], inputs)
            return returned(request["outputs"], outputs, provider)
        except Exception as error:
            match = _STATUS.match(str(error))
            if match:
                return refusal(error, str(error)[match.end() :], match[1])
            if not type(error).__module__.startswith("onnxruntime"):
                raise
            # The messages of some releases have no status; it is in the name of the class.
            return refusal(error, status=re.sub(r"(?<=[a-z])(?=[A-Z])", "_", type(error).__name__).upper())

    def _session(self, model: bytes, setting: str | None) -> Any:
        options = onnxruntime.SessionOptions()
        if setting != "default-threads":
            options.intra_op_num_threads = 1
            options.inter_op_num_threads = 1
        if setting == "optimization-off":
            options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        options.log_severity_level = 4
        for key, value in self.entries.items():
            options.add_session_config_entry(key, value)
        return self.provider.session(model, options)

    def _provider_of(self, session: Any) -> str:
        """The provider that runs the node; the first one of the session if the release does not report it.

        Releases 1.24 to 1.26 report nothing for a node that they surround with casts, such as float16 on the CPU. The
        first provider is correct then, since the session disables the fallback to the CPU provider.
        """
        assignments = session.get_provider_graph_assignment_info() if _RECORD in self.entries else ()
        return "+".join(sorted({subgraph.ep_name for subgraph in assignments})) or str(session.get_providers()[0])


class _Provider:
    """A single provider, without fallback to the CPU provider."""

    def __init__(self, options: dict[str, Any]) -> None:
        self.distribution = options.get("distribution") or "onnxruntime"
        try:
            self.version = metadata.version(self.distribution)
        except metadata.PackageNotFoundError:
            # ONNX Runtime may be installed without a package.
            if self.distribution != "onnxruntime":
                raise ValueError(f"{self.distribution} is not installed in this environment") from None
            self.version = str(onnxruntime.__version__)
        self.options = options.get("provider_options") or {}
        plugin = _plugin(self.distribution)
        self.name = options.get("provider") or (plugin.get_ep_name() if plugin else _CPU)
        self.entries = {} if self.name == _CPU else {"session.disable_cpu_ep_fallback": "1"}
        if self.entries and tuple(map(int, onnxruntime.__version__.split(".")[:2])) < (1, 16):
            raise ValueError(
                f"ONNX Runtime {onnxruntime.__version__} cannot disable the fallback to the CPU; use 1.16 or later"
            )
        # What the results also depend on: the ONNX Runtime that loads a plugin, and the device that the plugin uses.
        self.related = {"onnxruntime": onnxruntime.__version__} if plugin else {}
        self._device = None
        self.names = onnxruntime.get_available_providers()
        if self.name in self.names:
            return
        if plugin and self.name in plugin.get_ep_names():
            # Its devices have the name that it is registered under.
            onnxruntime.register_execution_provider_library(self.name, plugin.get_library_path())
        devices = onnxruntime.get_ep_devices() if hasattr(onnxruntime, "get_ep_devices") else []
        # Without duplicates: a provider lists every device that it supports.
        self.names = list(dict.fromkeys([*self.names, *(device.ep_name for device in devices)]))
        matching = [device for device in devices if device.ep_name == self.name]
        if not matching:
            has_plugin = plugin and self.name in plugin.get_ep_names()
            reason = "its plugin found no device" if has_plugin else "it is not built in"
            raise ValueError(f"this ONNX Runtime has no {self.name}: {reason}; it has {', '.join(self.names)}")
        self._device = matching[0]
        self.related["device"] = " ".join([self._device.device.type.name, self._device.device.vendor]).strip()

    def session(self, model: bytes, options: Any) -> Any:
        """A session of the model with this provider and no other."""
        if self._device is None:
            providers = [(self.name, self.options)]
        else:
            options.add_provider_for_devices([self._device], self.options)
            providers = None
        # By default, ONNX Runtime's Python code retries with another provider and hides the first error.
        session = onnxruntime.InferenceSession(model, options, providers=providers, enable_fallback=0)
        session.disable_fallback()
        return session


def _plugin(distribution: str) -> Any:
    """The module of a distribution that contains a plugin for ONNX Runtime; None for other distributions."""
    name = distribution.replace("-", "_")
    if name == "onnxruntime" or importlib.util.find_spec(name) is None:
        return None
    return importlib.import_module(name)


ADAPTER = OnnxRuntime
