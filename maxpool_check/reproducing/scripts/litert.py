"""LiteRT, whose models are flatbuffers: the script builds one by the schema that LiteRT has."""

from maxpool_check.reproducing.literals import keywords_text
from maxpool_check.reproducing.script_runtime import ScriptCall, ScriptRuntime, based


def litert(script_call: ScriptCall) -> ScriptRuntime:
    """A TFLite model of one MAX_POOL_2D, by XNNPACK or the built-in kernel."""
    profile, attributes, X = script_call.profile, script_call.attributes, script_call.X

    def options(named: dict[str, object]) -> str:
        padding = f"schema.Padding.{named['padding']}"
        numbers = {_camel(name): value for name, value in named.items() if name != "padding"}
        return f"padding={padding}, {keywords_text(numbers)}"

    smallest = dict.fromkeys(("filter_height", "filter_width", "stride_h", "stride_w"), 1)
    kind = ['"type": getattr(schema.TensorType, X.dtype.name.upper())']
    if X.dtype.name != "float32":
        kind.append('"quantization": schema.QuantizationParametersT(scale=[1.0], zeroPoint=[0])')
    resolver = ", experimental_op_resolver_type=resolver"
    is_builtin = profile.description.provider == "CPU"
    return ScriptRuntime(
        **based(profile, "LiteRT"), takes_models=False, arguments=options(dict(attributes)),
        smallest=options({"padding": "VALID", **smallest}), smallest_axes=2,
        imports=(
            "import flatbuffers", "from ai_edge_litert import schema_py_generated as schema",
            f"from ai_edge_litert.interpreter import Interpreter{', OpResolverType' if is_builtin else ''}",
        ),
        setup=(
            "pool = schema.Pool2DOptionsT({arguments})",
            f"kind = {{{', '.join(kind)}}}",
            'tensors = [schema.TensorT(shape=X.shape, name="X", **kind), schema.TensorT(name="Y", **kind)]',
            "code = schema.BuiltinOperator.MAX_POOL_2D",
            "operator = schema.OperatorT(",
            "    inputs=[0], outputs=[1], builtinOptions=pool, builtinOptionsType=schema.BuiltinOptions.Pool2DOptions",
            ")",
            "model = schema.ModelT(",
            "    version=3, buffers=[schema.BufferT()],",
            "    operatorCodes=[schema.OperatorCodeT(builtinCode=code, deprecatedBuiltinCode=code, version=3)],",
            "    subgraphs=[schema.SubGraphT(tensors=tensors, inputs=[0], outputs=[1], operators=[operator])],",
            ")",
            "builder = flatbuffers.Builder()",
            'builder.Finish(model.Pack(builder), b"TFL3")',
            *(["resolver = OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES"] if is_builtin else []),
            f"interpreter = Interpreter(model_content=bytes(builder.Output()){resolver if is_builtin else ''})",
            "interpreter.allocate_tensors()",
            'interpreter.set_tensor(interpreter.get_input_details()[0]["index"], X)',
            "interpreter.invoke()",
        ),
        call='[interpreter.get_tensor(interpreter.get_output_details()[0]["index"])]',
    )  # fmt: skip


def _camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(map(str.title, others))
