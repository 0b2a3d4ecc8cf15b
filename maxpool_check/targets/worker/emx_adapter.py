"""Runs the C that emx-onnx-cgen generates."""

from __future__ import annotations

from importlib import metadata
from typing import Any

import onnx
import onnx.parser
from emx_onnx_cgen.compiler import Compiler as Generator
from emx_onnx_cgen.errors import CompilerError, UnsupportedOpError

from .adapter import Adapter
from .generated_c import Compiler, RefusedSource, call
from .messages import NUMPY_DTYPES, refusal, returned, unable

_SMALLEST = '<ir_version: 8, opset_import: ["": 13]> smallest (float[1] X) => (float[1] Y) { Y = Identity(X) }'


class Runtime(Adapter):
    """One release; its generator is made once: for the first model it parses all of its templates, which takes seconds."""

    title = distribution = "emx-onnx-cgen"
    version = metadata.version("emx-onnx-cgen")
    dtypes, spatial = NUMPY_DTYPES, (1, 2, 3)
    # A stride of 0 is a divisor in the lowering.
    refusals = (CompilerError, RefusedSource, ZeroDivisionError)

    def __init__(self, options: dict[str, Any]) -> None:
        super().__init__(options)
        self.compiler, self.generator = Compiler(), Generator()
        self.session_options = {**self.compiler.settings, "onnx": onnx.__version__}
        self.generator.compile(onnx.parser.parse_model(_SMALLEST))

    def execute(self, request: dict[str, Any], inputs: dict[str, Any]) -> dict[str, Any]:
        """Generate, compile and run one model."""
        model = onnx.load_from_string(request["model"])
        for output in model.graph.output:
            # It infers sizes without a name; those with one would be arguments of the function.
            for size in output.type.tensor_type.shape.dim:
                size.Clear()
        source = self.generator.compile(model)
        library = self.compiler.library({"model.c": source})
        return returned(request["outputs"], call(library, source, "model", list(inputs.values())), "CPU")

    def refusal(self, error: Exception) -> dict[str, Any]:
        """The refusal of the generator or of the compiler; one of a type that the compiler does not have says nothing of either."""
        if isinstance(error, RefusedSource) and "unknown type name" in str(error):
            return unable(f"{self.compiler.settings['cc']}: {error}")
        return refusal(error, status="NOT_IMPLEMENTED" if isinstance(error, UnsupportedOpError) else None)
