# /// script
# requires-python = ">=3.11"
# dependencies = ["ai-edge-litert==2.3.0", "numpy==2.4.6"]
# ///
"""MAX_POOL_2D of XNNPACK gives 0 for subnormal numbers.

Exit code 1: the defect is there; 0: it is fixed; 125: that cannot be told. Written by maxpool-check repro.
"""

import sys

try:
    import flatbuffers
    import numpy as np
    from ai_edge_litert import schema_py_generated as schema
    from ai_edge_litert.interpreter import Interpreter
except ImportError as error:
    print(
        f"cannot tell: {error}", "Run it with: uv run repro.py",
        "or first: pip install ai-edge-litert==2.3.0 numpy==2.4.6", sep="\n",
    )
    sys.exit(125)

X = np.array([[[[0.0], [1e-45], [0.0], [0.0]], [[0.0], [0.0], [0.0], [1e-45]]]], np.float32)
expected_Y = np.array([[[[1e-45], [1e-45], [1e-45]]]], np.float32)

try:
    pool = schema.Pool2DOptionsT(padding=schema.Padding.VALID, filterHeight=2, filterWidth=2, strideH=1, strideW=1)
    kind = {"type": getattr(schema.TensorType, X.dtype.name.upper())}
    tensors = [schema.TensorT(shape=X.shape, name="X", **kind), schema.TensorT(name="Y", **kind)]
    code = schema.BuiltinOperator.MAX_POOL_2D
    operator = schema.OperatorT(
        inputs=[0], outputs=[1], builtinOptions=pool, builtinOptionsType=schema.BuiltinOptions.Pool2DOptions
    )
    model = schema.ModelT(
        version=3, buffers=[schema.BufferT()],
        operatorCodes=[schema.OperatorCodeT(builtinCode=code, deprecatedBuiltinCode=code, version=3)],
        subgraphs=[schema.SubGraphT(tensors=tensors, inputs=[0], outputs=[1], operators=[operator])],
    )
    builder = flatbuffers.Builder()
    builder.Finish(model.Pack(builder), b"TFL3")
    interpreter = Interpreter(model_content=bytes(builder.Output()))
    interpreter.allocate_tensors()
    interpreter.set_tensor(interpreter.get_input_details()[0]["index"], X)
    interpreter.invoke()
    Y = interpreter.get_tensor(interpreter.get_output_details()[0]["index"])
except Exception as error:
    print("cannot tell:", error)
    sys.exit(125)

print("expected Y:", expected_Y, "got Y:", Y, sep="\n")
sys.exit(0 if np.array_equal(Y, expected_Y) else 1)
