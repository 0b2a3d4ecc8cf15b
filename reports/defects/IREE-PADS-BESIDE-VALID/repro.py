# /// script
# requires-python = ">=3.11"
# dependencies = ["iree-base-compiler==3.13.0", "iree-base-runtime==3.13.0", "numpy==2.4.6", "onnx==1.23.2"]
# ///
"""MaxPool with auto_pad=VALID adds the pads of the node.

Exit code 1: the defect is there; 0: it is fixed; 125: that cannot be told. Written by maxpool-check repro.
"""

import subprocess
import sys
import tempfile

try:
    import iree.compiler
    import iree.runtime
    import numpy as np
    import onnx
    from onnx.helper import (
        make_graph,
        make_model,
        make_node,
        make_opsetid,
        make_tensor_value_info,
        np_dtype_to_tensor_dtype,
    )
except ImportError as error:
    print(
        f"cannot tell: {error}", "Run it with: uv run repro.py",
        "or first: pip install iree-base-compiler==3.13.0 iree-base-runtime==3.13.0 numpy==2.4.6 onnx==1.23.2", sep="\n",
    )
    sys.exit(125)


def max_pool(X, **attributes):
    node = make_node("MaxPool", ["X"], ["Y"], **attributes)
    inputs = [make_tensor_value_info("X", np_dtype_to_tensor_dtype(X.dtype), X.shape)]
    outputs = [make_tensor_value_info("Y", np_dtype_to_tensor_dtype(X.dtype), [None] * X.ndim)]
    model = make_model(make_graph([node], "maxpool", inputs, outputs), opset_imports=[make_opsetid("", 22)], ir_version=10)
    with tempfile.TemporaryDirectory() as folder:
        onnx.save(model, f"{folder}/maxpool.onnx")
        tool = [sys.executable, "-m", "iree.compiler.tools.import_onnx"]
        subprocess.run([*tool, f"{folder}/maxpool.onnx", "-o", f"{folder}/maxpool.mlir"], check=True)
        compiled = iree.compiler.compile_file(
            f"{folder}/maxpool.mlir", input_type="onnx", target_backends=["llvm-cpu"],
            extra_args=["--iree-llvmcpu-target-cpu=host"],
        )
    config = iree.runtime.Config("local-sync")
    loaded = iree.runtime.VmModule.copy_buffer(config.vm_instance, compiled)
    module = iree.runtime.load_vm_module(loaded, config)
    (name,) = [name for name in loaded.function_names if name.isidentifier() and not name.startswith("__")]
    pooled = module[name](X)
    pooled = pooled if isinstance(pooled, (tuple, list)) else [pooled]
    return [each.to_host() for each in pooled]


X = np.array([[[[3, 1, 4, -1], [-5, -4, 0.0, 5], [-6, -2, -3, 2]]]], np.float32)
expected_Y = np.array([[[[3, 4, 5], [-2, 0.0, 5]]]], np.float32)

# If the smallest MaxPool fails as well, a refusal says nothing about this one.
try:
    max_pool(np.zeros((1, 1, 1), np.float32), kernel_shape=[1])
except Exception as error:
    print("cannot tell:", error)
    sys.exit(125)

try:
    (Y,) = max_pool(X, kernel_shape=[2, 2], auto_pad="VALID", pads=[1, 1, 1, 1])
except Exception as error:
    print("refused, which is allowed:", error)
    sys.exit(0)
print("expected Y:", expected_Y, "got Y:", Y, sep="\n")
sys.exit(0 if np.array_equal(Y, expected_Y) else 1)
