"""Runs JAX, on the CPU or, with ?platform=cuda, on another platform."""

from __future__ import annotations

import os
from typing import Any

import jax
import numpy as np

from .messages import DTYPES, check_options, refusal, returned

_XLA_FLAGS = "--xla_cpu_multi_thread_eigen=false"


class JaxFunction:
    """jax.lax.reduce_window with lax.max. It has no Indices."""

    def __init__(self, options: dict[str, Any]) -> None:
        check_options(options, "jax", "platform")
        platform = (options.get("provider_options") or {}).get("platform", "cpu")
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
        kind = device.platform.upper()
        named = {} if platform == "cpu" else {"device": device.device_kind}
        self.description = {
            "wants": "jax",
            "distribution": "jax",
            "version": jax.__version__,
            "provider": kind,
            "providers": [kind],
            "session_options": {
                "jax_platforms": platform,
                "jax_enable_x64": True,
                "XLA_FLAGS": os.environ["XLA_FLAGS"],
                **named,
            },
            "indices": None,
            "dtypes": DTYPES,
            "spatial": list(range(1, 9)),
        }

    def run(self, request: dict[str, Any], inputs: dict[str, Any]) -> dict[str, Any]:
        """Call the function; any exception is a refusal."""
        X, attributes = inputs["X"], request["attributes"]
        try:
            Y = jax.lax.reduce_window(
                jax.numpy.asarray(X),
                np.array(np.iinfo(X.dtype).min if X.dtype.kind in "iu" else -np.inf, X.dtype),
                jax.lax.max,
                (1, 1, *attributes["window"]),
                (1, 1, *attributes["strides"]),
                ((0, 0), (0, 0), *map(tuple, attributes["padding"])),
                window_dilation=(1, 1, *attributes["dilation"]),
            )
            outputs = [np.asarray(Y)]
        except Exception as error:
            return refusal(error)
        devices = sorted({device.platform.upper() for device in Y.devices()})
        return returned(request["outputs"], outputs, "+".join(devices))


ADAPTER = JaxFunction
