"""Runs LiteRT: MAX_POOL_2D of XNNPACK, or its built-in kernel."""

from __future__ import annotations

from importlib import metadata
from typing import Any

from ai_edge_litert.interpreter import Interpreter, OpResolverType

from .adapter import Adapter
from .messages import returned, unable
from .tflite_model import max_pool_2d

_XNNPACK = {
    "1": ("XNNPACK", OpResolverType.BUILTIN, ["float32", "int8", "uint8"]),
    "0": ("CPU", OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES, ["float32", "int8", "int16", "uint8"]),
}
"""What executes MAX_POOL_2D with the delegate and without, the kernels that are registered for it, and their dtypes."""


class Runtime(Adapter):
    """Each request has its own TFLite model. XNNPACK is the default delegate; there are no Indices."""

    title, distribution, wants = "LiteRT", "ai-edge-litert", "tflite"
    version = metadata.version("ai-edge-litert")
    providers = tuple(provider for provider, _, _ in _XNNPACK.values())
    indices, spatial = None, (2,)
    refusals = (RuntimeError, ValueError)

    def __init__(self, options: dict[str, Any]) -> None:
        # The provider that a record names asks for it as the option does.
        named = {"xnnpack": "0"} if options.get("provider") == "CPU" else {}
        chosen = {**named, **(options.get("provider_options") or {})}
        super().__init__({**options, "provider_options": chosen}, xnnpack=("1", *_XNNPACK))
        self.session_options = {"num_threads": 1, "op_resolver_type": self.resolver.name}

    def check_provider(self, provider: str | None) -> None:
        """Raise ``ValueError`` for a provider other than that of the option."""
        xnnpack = self.chosen["xnnpack"]
        self.provider, self.resolver, self.dtypes = _XNNPACK[xnnpack]
        if provider not in (None, self.provider):
            raise ValueError(f"LiteRT runs on {self.provider} with xnnpack={xnnpack}, not on {provider}")

    def execute(self, request: dict[str, Any], inputs: dict[str, Any]) -> dict[str, Any]:
        """Run one model. What XNNPACK leaves to the built-in kernel is not run."""
        X = inputs["X"]
        model = max_pool_2d(X.dtype.name, X.shape, (), request["attributes"])
        interpreter = Interpreter(model_content=model, num_threads=1, experimental_op_resolver_type=self.resolver)
        interpreter.allocate_tensors()
        # A delegate that has taken operators is an operator behind them.
        operators = [operator["op_name"] for operator in interpreter._get_ops_details()]
        provider = "XNNPACK" if operators[-1] == "DELEGATE" else "CPU"
        if provider != self.provider:
            return unable("XNNPACK does not take it; LiteRT executes it by its built-in kernel, ?xnnpack=0")
        interpreter.set_tensor(interpreter.get_input_details()[0]["index"], X)
        interpreter.invoke()
        Y = interpreter.get_tensor(interpreter.get_output_details()[0]["index"])
        return returned(request["outputs"], [Y], provider)
