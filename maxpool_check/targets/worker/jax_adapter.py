"""Runs JAX on the CPU."""

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
        check_options(options, "jax")
        # XLA reads its flags when the first device is created, not on import.
        os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {_XLA_FLAGS}".strip()
        jax.config.update("jax_platforms", "cpu")
        jax.config.update("jax_enable_x64", True)
        jax.devices()
        self.description = {
            "wants": "jax",
            "distribution": "jax",
            "version": jax.__version__,
            "session_options": {"jax_platforms": "cpu", "jax_enable_x64": True, "XLA_FLAGS": os.environ["XLA_FLAGS"]},
            "indices": None,
            "dtypes": DTYPES,
            "spatial": list(range(1, 9)),
        }

    def run(self, request: dict[str, Any], inputs: dict[str, Any]) -> dict[str, Any]:
        """Call the function; any exception is a refusal."""
        X, attributes = inputs["X"], request["attributes"]
        try:
            Y = np.asarray(
                jax.lax.reduce_window(
                    jax.numpy.asarray(X),
                    np.array(np.iinfo(X.dtype).min if X.dtype.kind in "iu" else -np.inf, X.dtype),
                    jax.lax.max,
                    (1, 1, *attributes["window"]),
                    (1, 1, *attributes["strides"]),
                    ((0, 0), (0, 0), *map(tuple, attributes["padding"])),
                    window_dilation=(1, 1, *attributes["dilation"]),
                )
            )
        except Exception as error:
            return refusal(error)
        return returned(request["outputs"], [Y])


ADAPTER = JaxFunction
