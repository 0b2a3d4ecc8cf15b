"""Runs the C that ACETONE generates."""

from __future__ import annotations

import ctypes
import os
import tempfile
from importlib import metadata
from pathlib import Path
from typing import Any

# Read when TensorFlow is imported, which ACETONE imports for its other formats.
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import numpy as np
import onnx
from acetone_nnet import CodeGenerator

from .adapter import Adapter
from .generated_c import Compiler
from .messages import returned

_FILES = ("inference.h", "inference.c", "global_vars.c")


class Runtime(Adapter):
    """One release; its function takes one image of floats, in the order of ONNX, and has no Indices."""

    title, distribution, version = "ACETONE", "acetone-nnet", metadata.version("acetone-nnet")
    indices, dtypes, spatial = None, ("float32", "float64"), (1, 2, 3)
    graphs = None

    def __init__(self, options: dict[str, Any]) -> None:
        super().__init__(options)
        self.compiler = Compiler()
        self.session_options = {**self.compiler.settings, "onnx": onnx.__version__}

    def execute(self, request: dict[str, Any], inputs: dict[str, Any]) -> dict[str, Any]:
        """Generate, compile and run one model. A crash ends the process."""
        model = onnx.shape_inference.infer_shapes(onnx.load_from_string(request["model"]))
        generator = CodeGenerator(model, function_name="inference", nb_tests=0, external_input=True, verbose=False)
        with tempfile.TemporaryDirectory() as folder:
            generator.generate_c_files(folder)
            library = self.compiler.library({name: Path(folder, name).read_text("utf-8") for name in _FILES})
        X = np.ascontiguousarray(inputs["X"])
        shape = [size.dim_value for size in model.graph.output[0].type.tensor_type.shape.dim]
        Y = np.zeros(shape, X.dtype)
        library.inference(Y.ctypes.data_as(ctypes.c_void_p), X.ctypes.data_as(ctypes.c_void_p))
        return returned(request["outputs"], [Y], "CPU")
