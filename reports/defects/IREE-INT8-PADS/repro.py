# /// script
# requires-python = ">=3.11"
# dependencies = ["iree-base-compiler==3.13.0", "iree-base-runtime==3.13.0", "numpy==2.4.6", "onnx==1.23.2"]
# ///
"""MaxPool of int8 pads with 0, where the padding of an axis differs at its sides.

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
    from onnx import TensorProto
    from onnx.helper import make_graph, make_model, make_node, make_opsetid, make_tensor_value_info
except ImportError as error:
    print(
        f"cannot tell: {error}", "Run it with: uv run repro.py",
        "or first: pip install iree-base-compiler==3.13.0 iree-base-runtime==3.13.0 numpy==2.4.6 onnx==1.23.2", sep="\n",
    )
    sys.exit(125)

node = make_node("MaxPool", ["X"], ["Y"], kernel_shape=[2, 2], auto_pad="SAME_LOWER")
inputs = [make_tensor_value_info("X", TensorProto.INT8, [1, 1, 2, 3])]
outputs = [make_tensor_value_info("Y", TensorProto.INT8, [None] * 4)]
model = make_model(make_graph([node], "maxpool", inputs, outputs), opset_imports=[make_opsetid("", 22)], ir_version=10)

X = np.array([[[[-5, -4, -3], [-2, -6, -7]]]], np.int8)
expected_Y = np.array([[[[-5, -4, -3], [-2, -2, -3]]]], np.int8)

try:
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
    (Y,) = [each.to_host() for each in pooled]
except Exception as error:
    print("cannot tell:", error)
    sys.exit(125)

print("expected Y:", expected_Y, "got Y:", Y, sep="\n")
sys.exit(0 if np.array_equal(Y, expected_Y) else 1)
