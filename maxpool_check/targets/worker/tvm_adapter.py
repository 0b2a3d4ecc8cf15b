"""Runs TVM: ONNX models imported to Relax, compiled by LLVM for the CPU, and run by Relax's virtual machine."""

from __future__ import annotations

import os
from typing import Any

# Read when the runtime starts its threads.
os.environ["TVM_NUM_THREADS"] = "1"

import numpy as np
import onnx
import tvm
from tvm import relax
from tvm.relax.frontend.onnx import from_onnx

from .messages import NUMPY_DTYPES, check_options, refusal, returned, unable, unsupported

_TARGET = "llvm"


class TvmModel:
    """One release of TVM; each request is imported and compiled, with the default pipeline of passes."""

    def __init__(self, options: dict[str, Any]) -> None:
        check_options(options, "TVM")
        self.description = {
            "wants": "model",
            "distribution": "apache-tvm",
            "version": tvm.__version__,
            "session_options": {
                "target": str(tvm.target.Target(_TARGET)),
                "onnx": onnx.__version__,
                "TVM_NUM_THREADS": os.environ["TVM_NUM_THREADS"],
            },
            "dtypes": NUMPY_DTYPES,
            "spatial": [1, 2, 3],
        }

    def run(self, request: dict[str, Any], inputs: dict[str, Any]) -> dict[str, Any]:
        """Import, compile and run one model; any exception of TVM is a refusal."""
        dtype = unsupported(request, NUMPY_DTYPES)
        if dtype is not None:
            return unable(f"TVM does not support {dtype}")
        model = onnx.load_from_string(request["model"])
        try:
            machine = relax.VirtualMachine(tvm.compile(from_onnx(model), target=_TARGET), tvm.cpu())
            results = machine["main"](*[tvm.runtime.tensor(array) for array in inputs.values()])
            tensors = [results] if len(request["outputs"]) == 1 else list(results)
            outputs = [np.array(tensor.numpy()) for tensor in tensors]
        except Exception as error:
            return refusal(error)
        return returned(request["outputs"], outputs, "CPU")


ADAPTER = TvmModel
