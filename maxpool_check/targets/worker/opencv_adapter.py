"""Runs OpenCV's DNN module, on its new engine or its classic one."""

from __future__ import annotations

import os
from importlib import metadata
from typing import Any, ClassVar

import cv2

from .adapter import Adapter, model_file
from .messages import DTYPES, refusal, returned, unable

_NEW, _CLASSIC = "NewEngine", "ClassicEngine"
_HAS_ENGINES = hasattr(cv2.dnn, "ENGINE_NEW")
_FORCED = "OPENCV_FORCE_DNN_ENGINE"


class Runtime(Adapter):
    """One engine of one OpenCV; each request has its own network.

    OpenCV 5 uses its new engine unless told otherwise, and falls back to the classic one for a model that the importer of
    the new one cannot load. OpenCV 4 has the classic one alone, which computes everything in float32.
    """

    title, distribution = "OpenCV", "opencv-python-headless"
    version = metadata.version("opencv-python-headless")
    providers = [_NEW, _CLASSIC] if _HAS_ENGINES else [_CLASSIC]
    dtypes, spatial = DTYPES if _HAS_ENGINES else ("float32",), (1, 2, 3, 4)
    refusals = (cv2.error,)
    engine_option = "engine"
    engines: ClassVar = {_NEW: ("new", "auto"), _CLASSIC: ("classic",), "CPU": ("auto", "new", "classic")}

    def __init__(self, options: dict[str, Any]) -> None:
        if not _HAS_ENGINES:
            engine = (options.get("provider_options") or {}).get("engine")
            if engine is not None:
                text = f"one engine alone; leave out engine={engine}, or use OpenCV 5"
                raise ValueError(f"OpenCV {cv2.__version__} has {text}")
            if options.get("provider") == _NEW:
                raise ValueError(f"OpenCV {cv2.__version__} has {_CLASSIC} alone, not {_NEW}; use OpenCV 5")
        super().__init__(options, engine=("auto", "auto", "new", "classic"))
        if _HAS_ENGINES and _FORCED in os.environ:
            raise ValueError(f"the environment variable {_FORCED} overrides the engine; unset it")
        self.title = f"OpenCV {cv2.__version__}"
        cv2.setNumThreads(1)
        self.engine = f"ENGINE_{self.chosen['engine'].upper()}"
        self.provider = _NEW if _HAS_ENGINES and self.chosen["engine"] != "classic" else _CLASSIC
        self.session_options = {"threads": 1, **({"engine": self.engine} if _HAS_ENGINES else {})}

    def execute(self, request: dict[str, Any], inputs: dict[str, Any]) -> dict[str, Any]:
        """Run one model."""
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

    def refusal(self, error: Exception) -> dict[str, Any]:
        """The refusal of an error of OpenCV, whose message has empty lines around it."""
        return refusal(error, str(error).strip())

    def _network(self, model: bytes) -> Any:
        """The network of a model. From memory, OpenCV 5.0 uses its new engine where it is asked for the classic one."""
        engine = {"engine": getattr(cv2.dnn, self.engine)} if _HAS_ENGINES else {}
        with model_file(model) as path:
            return cv2.dnn.readNetFromONNX(str(path), **engine)


def _provider_of(net: Any) -> str:
    """The engine of a network: only the importer of the new one notes the format of the model."""
    is_new = hasattr(net, "getModelFormat") and net.getModelFormat() == cv2.dnn.DNN_MODEL_ONNX
    return _NEW if is_new else _CLASSIC
