"""Runs JAX on the CPU."""

from __future__ import annotations

import os
import platform
from typing import Any

import jax
import numpy as np

_XLA_FLAGS = "--xla_cpu_multi_thread_eigen=false"
_DTYPES = [
    "float16",
    "bfloat16",
    "float32",
    "float64",
    *(f"{sign}int{bits}" for bits in (8, 16, 32, 64) for sign in ("", "u")),
]


class Jax:
    """jax.lax.reduce_window with lax.max. It has no Indices."""

    wants = "jax"

    def __init__(self, options: dict[str, Any]) -> None:
        unknown = options.get("provider_options")
        if unknown:
            raise ValueError(f"unknown option {', '.join(sorted(unknown))}; jax has none")
        # XLA reads its flags when the first device is created, not on import.
        os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {_XLA_FLAGS}".strip()
        jax.config.update("jax_platforms", "cpu")
        jax.config.update("jax_enable_x64", True)
        jax.devices()

    def describe(self) -> dict[str, Any]:
        """The description of the target, for the record."""
        return {
            "wants": self.wants,
            "distribution": "jax",
            "version": jax.__version__,
            "provider": "CPU",
            "providers": ["CPU"],
            "session_options": {"jax_platforms": "cpu", "jax_enable_x64": True, "XLA_FLAGS": os.environ["XLA_FLAGS"]},
            "python": platform.python_version(),
            "numpy": np.__version__,
            "indices": None,
            "dtypes": _DTYPES,
            "spatial": list(range(1, 9)),
        }

    def run(self, request: dict[str, Any], inputs: dict[str, Any]) -> dict[str, Any]:
        """Call the function; any exception is a refusal."""
        if "Indices" in request["outputs"]:
            return {"type": "unable", "message": "jax.lax.reduce_window returns Y only"}
        X, attributes = inputs["X"], request["attributes"]
        if request["inputs"]["X"]["dtype"] not in _DTYPES:
            return {"type": "unable", "message": f"jax does not support {request['inputs']['X']['dtype']}"}
        try:
            Y = np.asarray(
                jax.lax.reduce_window(
                    jax.numpy.asarray(X),
                    _identity(X.dtype),
                    jax.lax.max,
                    (1, 1, *attributes["window"]),
                    (1, 1, *attributes["strides"]),
                    ((0, 0), (0, 0), *((low, high) for low, high in attributes["padding"])),
                    window_dilation=(1, 1, *attributes["dilation"]),
                )
            )
        except Exception as error:
            return {"type": "refusal", "status": type(error).__name__, "message": str(error)}
        return {"type": "answer", "provider": None, "outputs": {"Y": Y}}


def _identity(dtype: Any) -> Any:
    """The initial value of the reduction: -inf, or the smallest integer."""
    smallest = np.iinfo(dtype).min if dtype.kind in "iu" else -np.inf
    return np.array(smallest, dtype)


ADAPTER = Jax
