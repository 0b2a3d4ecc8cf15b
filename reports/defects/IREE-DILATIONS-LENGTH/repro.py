# /// script
# requires-python = ">=3.11"
# dependencies = ["iree-base-compiler==3.13.0", "iree-base-runtime==3.13.0", "numpy==2.4.6", "onnx==1.23.2"]
# ///
"""The compiler crashes on MaxPool with Indices and fewer dilations than axes.

Exit code 1: the defect is there; 0: it is fixed; 125: that cannot be told. Written by maxpool-check repro.
"""

import signal
import subprocess
import sys
import tempfile

try:
    import iree.runtime
    import numpy as np
    import onnx
    from iree.compiler.api import Invocation, Output, Session, Source
    from onnx import TensorProto
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

if sys.argv[1:] != ["child"]:  # The runtime may crash, so it runs in a child process.
    child = subprocess.run([sys.executable, __file__, "child"])
    if child.returncode < 0:
        print("expected a refusal, but the process was killed by", signal.Signals(-child.returncode).name)
        sys.exit(1)
    sys.exit(child.returncode)


def max_pool(X, outputs, **attributes):
    node = make_node("MaxPool", ["X"], outputs, **attributes)
    inputs = [make_tensor_value_info("X", np_dtype_to_tensor_dtype(X.dtype), X.shape)]
    infos = [
        make_tensor_value_info("Y", np_dtype_to_tensor_dtype(X.dtype), [None] * X.ndim),
        make_tensor_value_info("Indices", TensorProto.INT64, [None] * X.ndim),
    ]
    graph = make_graph([node], "maxpool", inputs, infos[:len(outputs)])
    model = make_model(graph, opset_imports=[make_opsetid("", 22)], ir_version=10)
    with tempfile.TemporaryDirectory() as folder:
        onnx.save(model, f"{folder}/maxpool.onnx")
        tool = [sys.executable, "-m", "iree.compiler.tools.import_onnx"]
        subprocess.run([*tool, f"{folder}/maxpool.onnx", "-o", f"{folder}/maxpool.mlir"], check=True)
        session = Session()
        session.set_flags("--iree-input-type=onnx", "--iree-hal-target-backends=llvm-cpu", "--iree-llvmcpu-target-cpu=host")
        with Source.open_file(session, f"{folder}/maxpool.mlir") as source, Invocation(session) as invocation:
            invocation.enable_console_diagnostics()
            if not (invocation.parse_source(source) and invocation.execute()):
                raise RuntimeError("the compiler refuses the model")
            with Output.open_membuffer() as output:
                invocation.output_vm_bytecode(output)
                compiled = bytes(output.map_memory())
    config = iree.runtime.Config("local-sync")
    loaded = iree.runtime.VmModule.copy_buffer(config.vm_instance, compiled)
    module = iree.runtime.load_vm_module(loaded, config)
    (name,) = [name for name in loaded.function_names if name.isidentifier() and not name.startswith("__")]
    pooled = module[name](X)
    pooled = pooled if isinstance(pooled, (tuple, list)) else [pooled]
    return [each.to_host() for each in pooled]


X = np.array([[[[0.0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]]]], np.float32)

# If the smallest MaxPool fails as well, a refusal says nothing about this one.
try:
    max_pool(np.zeros((1, 1, 1), np.float32), ["Y"], kernel_shape=[1])
except Exception as error:
    print("cannot tell:", error)
    sys.exit(125)

# The graph must be refused: dilations must have 2 values, got 1 [ONNX MaxPool-22, attribute dilations]
try:
    outputs = max_pool(X, ["Y", "Indices"], kernel_shape=[2, 2], dilations=[1])
except Exception as error:
    print("refused, as it must be:", error)
    sys.exit(0)
print("expected a refusal, got outputs:", *outputs, sep="\n")
sys.exit(1)
