"""Runs OpenCV's DNN module, on its new engine or its classic one."""

from __future__ import annotations

import os
import tempfile
from importlib import metadata
from pathlib import Path
from typing import Any

import cv2

from .messages import DTYPES, check_options, refusal, returned, unable, unsupported

_NEW, _CLASSIC = "NewEngine", "ClassicEngine"
_ENGINES = {"auto": "ENGINE_AUTO", "new": "ENGINE_NEW", "classic": "ENGINE_CLASSIC"}
_NAMED = {_NEW: "new", _CLASSIC: "classic"}
"""The option that asks for an engine, by the provider that a record names."""
_FORCED = "OPENCV_FORCE_DNN_ENGINE"


class OpenCvModel:
    """One engine of one OpenCV; each request has its own network.

    OpenCV 5 uses its new engine unless told otherwise, and falls back to the classic one for a model that the importer of
    the new one cannot load. OpenCV 4 has the classic one alone, which computes everything in float32.
    """

    def __init__(self, options: dict[str, Any]) -> None:
        named = options.get("provider") if options.get("provider") in _NAMED else None
        check_options({**options, "provider": None} if named else options, "OpenCV", "engine")
        engine = (options.get("provider_options") or {}).get("engine")
        has_engines = hasattr(cv2.dnn, "ENGINE_NEW")
        if engine is not None and not has_engines:
            raise ValueError(
                f"OpenCV {cv2.__version__} has one engine alone; leave out engine={engine}, or use OpenCV 5"
            )
        if engine not in (None, *_ENGINES):
            raise ValueError(f"engine must be one of {', '.join(_ENGINES)}, got {engine}")
        if named is not None and engine not in (None, _NAMED[named], "auto" if named == _NEW else None):
            raise ValueError(f"engine={engine} is not {named}; leave out one of them")
        if named == _NEW and not has_engines:
            raise ValueError(f"OpenCV {cv2.__version__} has {_CLASSIC} alone, not {_NEW}; use OpenCV 5")
        if engine is None and named is not None:
            engine = _NAMED[named]
        if has_engines and _FORCED in os.environ:
            raise ValueError(f"the environment variable {_FORCED} overrides the engine; unset it")
        cv2.setNumThreads(1)
        self.engine = _ENGINES[engine or "auto"] if has_engines else None
        self.provider = _NEW if self.engine in ("ENGINE_AUTO", "ENGINE_NEW") else _CLASSIC
        self.dtypes = list(DTYPES) if has_engines else ["float32"]
        self.description = {
            "wants": "model",
            "distribution": "opencv-python-headless",
            "version": metadata.version("opencv-python-headless"),
            "provider": self.provider,
            "providers": [_NEW, _CLASSIC] if has_engines else [_CLASSIC],
            "session_options": {"threads": 1, **({"engine": self.engine} if self.engine else {})},
            "dtypes": self.dtypes,
            "spatial": [1, 2, 3, 4],
        }

    def run(self, request: dict[str, Any], inputs: dict[str, Any]) -> dict[str, Any]:
        """Run one model; errors of OpenCV are refusals."""
        dtype = unsupported(request, self.dtypes)
        if dtype is not None:
            return unable(f"OpenCV {cv2.__version__} does not support {dtype}")
        try:
            net = self._network(request["model"])
            if net.empty():
                return refusal(RuntimeError("the importer of the new engine cannot load the model"), status="empty")
            provider = _provider_of(net)
            if provider != self.provider:
                return unable("OpenCV falls back to its classic engine for this model, which ?engine=classic executes")
            for name, array in inputs.items():
                net.setInput(array, name)
            outputs = net.forward(request["outputs"])
            if any(output is None for output in outputs):
                return unable("the Python interface of OpenCV returns None for an output without cells")
            return returned(request["outputs"], outputs, provider)
        except cv2.error as error:
            return refusal(error, str(error).strip())

    def _network(self, model: bytes) -> Any:
        """The network of a model. From memory, OpenCV 5.0 uses its new engine where it is asked for the classic one."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "model.onnx")
            path.write_bytes(model)
            if self.engine is None:
                return cv2.dnn.readNetFromONNX(str(path))
            return cv2.dnn.readNetFromONNX(str(path), engine=getattr(cv2.dnn, self.engine))


def _provider_of(net: Any) -> str:
    """The engine of a network: only the importer of the new one notes the format of the model."""
    is_new = hasattr(net, "getModelFormat") and net.getModelFormat() == cv2.dnn.DNN_MODEL_ONNX
    return _NEW if is_new else _CLASSIC


ADAPTER = OpenCvModel
