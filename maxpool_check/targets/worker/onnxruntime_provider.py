"""The execution provider for ONNX Runtime: a built-in one, or one of a plugin package installed with it."""

from __future__ import annotations

import importlib
import importlib.util
from importlib import metadata
from typing import Any

import onnxruntime

_CPU = "CPUExecutionProvider"


class Provider:
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
