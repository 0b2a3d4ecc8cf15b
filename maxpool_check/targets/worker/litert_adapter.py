"""Runs LiteRT: MAX_POOL_2D of XNNPACK, or its built-in kernel; and writes models of it, for others, too."""

from __future__ import annotations

from importlib import metadata
from typing import Any, ClassVar, Sequence

import flatbuffers
import tflite

from .adapter import Adapter
from .messages import returned, unable


class Runtime(Adapter):
    """Each request has its own TFLite model. XNNPACK is the default delegate; there are no Indices."""

    title, distribution, wants = "LiteRT", "ai-edge-litert", "tflite"
    indices, spatial = None, (2,)
    refusals = (RuntimeError, ValueError)
    engine_option = "xnnpack"
    engines: ClassVar = {"XNNPACK": ("1",), "CPU": ("0",)}
    providers = tuple(engines)

    def __init__(self, options: dict[str, Any]) -> None:
        super().__init__(options, xnnpack=("1", "1", "0"))
        # Not where others import the functions below.
        from ai_edge_litert.interpreter import Interpreter, OpResolverType

        self.version = metadata.version("ai-edge-litert")
        # The kernels that are registered, and the dtypes of MAX_POOL_2D.
        if self.chosen["xnnpack"] == "1":
            self.provider, self.resolver, self.dtypes = "XNNPACK", OpResolverType.BUILTIN, ["float32", "int8", "uint8"]
        else:
            self.provider, self.resolver = "CPU", OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES
            self.dtypes = ["float32", "int8", "int16", "uint8"]
        self.interpreter = Interpreter
        self.session_options = {"num_threads": 1, "op_resolver_type": self.resolver.name}

    def execute(self, request: dict[str, Any], inputs: dict[str, Any]) -> dict[str, Any]:
        """Run one model. What XNNPACK leaves to the built-in kernel is not run."""
        X = inputs["X"]
        model = max_pool_2d(X.dtype.name, X.shape, (), request["attributes"])
        interpreter = self.interpreter(model_content=model, num_threads=1, experimental_op_resolver_type=self.resolver)
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


def max_pool_2d(dtype: str, X: Sequence[int], Y: Sequence[int], options: dict[str, Any]) -> bytes:
    """A model from X to Y, which have these shapes; without one, Y has the shape that the runtime gives it.

    ``options`` are those of MAX_POOL_2D, by their names in the schema; ``padding`` is VALID or SAME. Integers have the
    scale 1 and the zero point 0: their numbers are their values.
    """
    builder = flatbuffers.Builder(1024)
    tensors = [_tensor(builder, name, dtype, shape) for name, shape in (("X", X), ("Y", Y))]
    fields = {"".join(word.title() for word in name.split("_")): value for name, value in options.items()}
    fields["Padding"] = getattr(tflite.Padding, options["padding"])
    operator = _table(
        builder, "Operator", OpcodeIndex=0, Inputs=("Int32", [0]), Outputs=("Int32", [1]),
        BuiltinOptionsType=tflite.BuiltinOptions.Pool2DOptions,
        BuiltinOptions=_table(builder, "Pool2DOptions", **fields),
    )  # fmt: skip
    graph = _table(
        builder, "SubGraph", Tensors=("UOffsetTRelative", tensors), Operators=("UOffsetTRelative", [operator]),
        Inputs=("Int32", [0]), Outputs=("Int32", [1]),
    )  # fmt: skip
    code = tflite.BuiltinOperator.MAX_POOL_2D
    # The version since which it has int16 is 3, and int8 2.
    version = {"int16": 3, "int8": 2}.get(dtype, 1)
    operator_code = _table(builder, "OperatorCode", DeprecatedBuiltinCode=code, BuiltinCode=code, Version=version)
    model = _table(
        builder, "Model", Version=3, OperatorCodes=("UOffsetTRelative", [operator_code]),
        Subgraphs=("UOffsetTRelative", [graph]), Buffers=("UOffsetTRelative", [_table(builder, "Buffer")]),
    )  # fmt: skip
    builder.Finish(model, b"TFL3")
    return bytes(builder.Output())


def _tensor(builder: Any, name: str, dtype: str, shape: Sequence[int]) -> Any:
    fields = {}
    if dtype != "float32":
        quantization = _table(builder, "QuantizationParameters", Scale=("Float32", [1.0]), ZeroPoint=("Int64", [0]))
        fields["Quantization"] = quantization
    return _table(
        builder, "Tensor", Shape=("Int32", shape), Type=getattr(tflite.TensorType, dtype.upper()),
        Buffer=0, Name=builder.CreateString(name), **fields,
    )  # fmt: skip


def _table(builder: Any, name: str, **fields: Any) -> Any:
    """A table of a flatbuffer. A vector is given as the type of its elements and a list.

    Vectors and strings must be complete before the table starts.
    """
    for field, value in fields.items():
        if isinstance(value, tuple):
            element, entries = value
            getattr(tflite, f"{name}Start{field}Vector")(builder, len(entries))
            # They are written in reverse order.
            for entry in reversed(entries):
                getattr(builder, f"Prepend{element}")(entry)
            fields[field] = builder.EndVector()
    getattr(tflite, f"{name}Start")(builder)
    for field, value in fields.items():
        getattr(tflite, f"{name}Add{field}")(builder, value)
    return getattr(tflite, f"{name}End")(builder)
