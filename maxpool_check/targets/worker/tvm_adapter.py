"""Runs TVM: ONNX models imported to Relax, compiled by LLVM for the CPU, and run by Relax's virtual machine."""

from __future__ import annotations

import os
from typing import Any, ClassVar

# Read when the runtime starts its threads.
os.environ["TVM_NUM_THREADS"] = "1"

import numpy as np
import onnx
import tvm
from tvm import relax
from tvm.relax.frontend.onnx import from_onnx

from .adapter import Adapter
from .messages import NUMPY_DTYPES, returned

_TARGET = "llvm"


class Runtime(Adapter):
    """One release of TVM; each request is imported and compiled, with the default pipeline of passes."""

    title, distribution, version = "TVM", "apache-tvm", tvm.__version__
    session_options: ClassVar = {
        "target": str(tvm.target.Target(_TARGET)),
        "onnx": onnx.__version__,
        "TVM_NUM_THREADS": os.environ["TVM_NUM_THREADS"],
    }
    dtypes, spatial = NUMPY_DTYPES, (1, 2, 3)

    def execute(self, request: dict[str, Any], inputs: dict[str, Any]) -> dict[str, Any]:
        """Import, compile and run one model."""
        module = from_onnx(onnx.load_from_string(request["model"]))
        machine = relax.VirtualMachine(tvm.compile(module, target=_TARGET), tvm.cpu())
        results = machine["main"](*[tvm.runtime.tensor(array) for array in inputs.values()])
        tensors = [results] if len(request["outputs"]) == 1 else list(results)
        return returned(request["outputs"], [np.array(tensor.numpy()) for tensor in tensors], "CPU")
