"""Runs JAX, on the CPU or, with ?platform=cuda, on another platform."""

from __future__ import annotations

import os
from typing import Any

import jax
import numpy as np

from .adapter import Adapter
from .messages import DTYPES, returned

_XLA_FLAGS = "--xla_cpu_multi_thread_eigen=false"


class Runtime(Adapter):
    """jax.lax.reduce_window with lax.max. It has no Indices."""

    title = distribution = wants = "jax"
    version = jax.__version__
    indices = None
    dtypes, spatial = DTYPES, tuple(range(1, 9))

    def __init__(self, options: dict[str, Any]) -> None:
        super().__init__(options, platform=("cpu",))
        platform = self.chosen["platform"]
        # XLA reads its flags when the first device is created, not on import.
        os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {_XLA_FLAGS}".strip()
        jax.config.update("jax_platforms", platform)
        jax.config.update("jax_enable_x64", True)
        try:
            device = jax.devices()[0]
        except Exception as error:
            message = (str(error).strip() or type(error).__name__).splitlines()[0]
            advice = "it needs a JAX that is built for it: ?python=PATH names an interpreter that has one"
            raise ValueError(f"JAX {jax.__version__} has no platform {platform} here ({message}); {advice}") from error
        self.provider = device.platform.upper()
        self.providers = [self.provider]
        options = {"jax_platforms": platform, "jax_enable_x64": True, "XLA_FLAGS": os.environ["XLA_FLAGS"]}
        self.session_options = options if platform == "cpu" else {**options, "device": device.device_kind}

    def execute(self, request: dict[str, Any], inputs: dict[str, Any]) -> dict[str, Any]:
        """Call the function."""
        X, attributes = inputs["X"], request["attributes"]
        Y = jax.lax.reduce_window(
            jax.numpy.asarray(X),
            np.array(np.iinfo(X.dtype).min if X.dtype.kind in "iu" else -np.inf, X.dtype),
            jax.lax.max,
            (1, 1, *attributes["window"]),
            (1, 1, *attributes["strides"]),
            ((0, 0), (0, 0), *map(tuple, attributes["padding"])),
            window_dilation=(1, 1, *attributes["dilation"]),
        )
        devices = sorted({device.platform.upper() for device in Y.devices()})
        return returned(request["outputs"], [np.asarray(Y)], "+".join(devices))
