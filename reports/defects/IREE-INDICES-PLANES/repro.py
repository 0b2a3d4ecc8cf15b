# /// script
# requires-python = ">=3.11"
# dependencies = ["iree-base-compiler==3.13.0", "iree-base-runtime==3.13.0", "numpy==2.4.6", "onnx==1.23.2"]
# ///
"""MaxPool's Indices restart at 0 in each plane.

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


def is_allowed(output, cells):
    """Whether each cell has one of the values that are allowed in it; without any, every value is."""
    for value, values in zip(output.flat, cells):
        same = [value.tobytes() == other.tobytes() or (value != value and other != other)
                for other in np.array(values, output.dtype)]
        if same and not any(same):
            return False
    return True


node = make_node("MaxPool", ["X"], ["Y", "Indices"], kernel_shape=[2, 2], pads=[1, 1, 1, 1])
inputs = [make_tensor_value_info("X", TensorProto.FLOAT, [1, 3, 2, 2])]
outputs = [
    make_tensor_value_info("Y", TensorProto.FLOAT, [None] * 4),
    make_tensor_value_info("Indices", TensorProto.INT64, [None] * 4),
]
model = make_model(make_graph([node], "maxpool", inputs, outputs), opset_imports=[make_opsetid("", 22)], ir_version=10)

X = np.array([[[[100, 100], [100, 100]], [[-1, -2], [-3, -4]], [[100, 100], [100, 100]]]], np.float32)
expected_Y = np.array([[[[100, 100, 100],
      [100, 100, 100],
      [100, 100, 100]],
     [[-1, -1, -2],
      [-1, -1, -2],
      [-3, -3, -4]],
     [[100, 100, 100],
      [100, 100, 100],
      [100, 100, 100]]]], np.float32)
expected_Indices = np.array([[[[0, 0, 1],
      [0, 0, 1],
      [2, 2, 3]],
     [[4, 4, 5],
      [4, 4, 5],
      [6, 6, 7]],
     [[8, 8, 9],
      [8, 8, 9],
      [10, 10, 11]]]], np.int64)
# ONNX MaxPool-22 does not say which of several equal maxima Indices name: each that is listed is right.
allowed_Indices = [[0], [0, 1], [1], [0, 2], [0, 1, 2, 3], [1, 3], [2], [2, 3], [3], [4], [4], [5], [4], [4], [5], [6], [6], [7], [8], [8, 9], [9], [8, 10], [8, 9, 10, 11], [9, 11], [10], [10, 11], [11]]

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
    Y, Indices = [each.to_host() for each in pooled]
except Exception as error:
    print("cannot tell:", error)
    sys.exit(125)

print("expected Y:", expected_Y, "got Y:", Y, sep="\n")
print("expected Indices:", expected_Indices, "got Indices:", Indices, sep="\n")
is_right = (
    np.array_equal(Y, expected_Y)
    and Indices.shape == expected_Indices.shape and is_allowed(Indices, allowed_Indices)
)
sys.exit(0 if is_right else 1)
