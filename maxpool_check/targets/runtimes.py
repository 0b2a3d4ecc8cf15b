"""The runtimes that can be tested, and the tools that rewrite models: one line each."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Runtime:
    """One runtime: its ``distribution`` on the package index, the worker's ``adapter``, and a description.

    ``ecosystem`` is that of its distribution: ``python``, or ``npm``, which has no installed release beside the tool.

    ``extra`` is the extra of maxpool-check that installs it; empty if it is a dependency or installed by the user.
    ``specs`` are the documents, or families of them, that it claims to implement; empty where it names none of ours.
    ``providers`` are those that its options choose from, where a target does not name the provider.
    ``besides`` are distributions that its adapter needs in the environment of a release.
    ``computes``: it computes outputs; what does not decides shapes alone, or whether a graph is valid.
    """

    distribution: str
    adapter: str
    about: str
    extra: str = ""
    specs: tuple[str, ...] = ()
    providers: tuple[str, ...] = ()
    ecosystem: str = "python"
    besides: tuple[str, ...] = ()
    computes: bool = True

    @property
    def install(self) -> str:
        """The command that installs it beside the tool, or what to name where there is none."""
        if self.ecosystem == "npm":
            return f"name a release, {self.distribution}==VERSION"
        return f"pip install 'maxpool-check[{self.extra}]'" if self.extra else f"pip install {self.distribution}"


_OTHER_PROVIDERS = {
    "onnxruntime-gpu": "ONNX Runtime with CUDA and TensorRT",
    "onnxruntime-directml": "ONNX Runtime with DirectML",
    "onnxruntime-rocm": "ONNX Runtime with ROCm",
    "onnxruntime-migraphx": "ONNX Runtime with MIGraphX",
    "onnxruntime-silicon": "ONNX Runtime with CoreML",
    "onnxruntime-openvino": "ONNX Runtime with OpenVINO",
    "onnxruntime-qnn": "the QNN provider, as a plugin beside ONNX Runtime",
    "onnxruntime-ep-webgpu": "the WebGPU provider, as a plugin beside ONNX Runtime",
}

_OF_ONNXRUNTIME = ("onnx", "ort-nhwc")

RUNTIMES: Mapping[str, Runtime] = {
    "onnxruntime": Runtime("onnxruntime", "onnxruntime", "ONNX Runtime", specs=_OF_ONNXRUNTIME),
    **{name: Runtime(name, "onnxruntime", about, specs=_OF_ONNXRUNTIME) for name, about in _OTHER_PROVIDERS.items()},
    "onnxruntime-web": Runtime(
        "onnxruntime-web", "javascript", "ONNX Runtime as WebAssembly in Node.js, ?threads=N", specs=_OF_ONNXRUNTIME,
        ecosystem="npm",
    ),
    "onnxruntime-node": Runtime(
        "onnxruntime-node", "javascript", "ONNX Runtime in Node.js", specs=_OF_ONNXRUNTIME, ecosystem="npm"
    ),
    "openvino": Runtime(
        "openvino", "openvino", "OpenVINO itself, ?opset=1, 8 or 14, or ?frontend=onnx", "openvino", ("openvino",)
    ),
    "onnx-reference": Runtime("onnx", "onnx", "onnx's ReferenceEvaluator", specs=("onnx",)),
    "torch": Runtime("torch", "torch", "PyTorch, on the CPU or ?device=cuda", "torch"),
    "jax": Runtime("jax", "jax", "JAX's reduce_window, on the CPU or ?platform=cuda", "jax"),
    "opencv": Runtime(
        "opencv-python-headless",
        "opencv",
        "OpenCV's DNN module, ?engine=auto, new or classic",
        "opencv",
        ("onnx",),
        ("NewEngine", "ClassicEngine"),
    ),
    "tract": Runtime("tract", "tract", "tract", "tract", ("onnx",)),
    "tinygrad": Runtime("tinygrad", "tinygrad", "tinygrad, ?device=CPU (needs clang) or PYTHON", specs=("onnx",)),
    "tvm": Runtime("apache-tvm", "tvm", "TVM's Relax by way of LLVM, on the CPU", specs=("onnx",)),
    "iree": Runtime("iree-base-compiler", "iree", "IREE, ?backend=llvm-cpu or vmvx", specs=("onnx",)),
    "ncnn": Runtime("ncnn", "ncnn", "ncnn's Pooling on the CPU"),
    "tensorflow": Runtime("tensorflow-cpu", "tensorflow", "TensorFlow, tf.nn.max_pool on the CPU", "tensorflow"),
    "litert": Runtime(
        "ai-edge-litert", "litert", "LiteRT, XNNPACK or with ?xnnpack=0 its built-in kernel", "litert",
        providers=("XNNPACK", "CPU"),
    ),
    "onnx-shape-inference": Runtime(
        "onnx", "onnx.OnnxShapeInference", "onnx's shape inference: shapes only, ?strict=0 or 1&data_prop=0 or 1",
        specs=("onnx",), computes=False,
    ),
    "onnx-checker": Runtime(
        "onnx", "onnx.OnnxChecker", "onnx's checker: acceptance only, ?full=0 or 1", specs=("onnx",), computes=False
    ),
    "onnxruntime-symbolic": Runtime(
        "onnxruntime", "onnxruntime_shapes.SymbolicInference", "ONNX Runtime's symbolic shape inference: shapes only",
        specs=("onnx",), besides=("onnx", "sympy"), computes=False,
    ),
    "onnxruntime-load": Runtime(
        "onnxruntime", "onnxruntime_shapes.LoadedModel", "ONNX Runtime's inference when it loads a model: shapes only",
        specs=("onnx",), besides=("onnx", "sympy"), computes=False,
    ),
    "openvino-reshape": Runtime(
        "openvino", "openvino.ReshapedModel", "OpenVINO's reshape: shapes only, ?opset=1, 8 or 14",
        "openvino", ("openvino",), computes=False,
    ),
    "torch-meta": Runtime("torch", "torch.MetaFunction", "PyTorch's meta device: shapes only", "torch", computes=False),
    "xmos": Runtime("xmos-ai-tools", "xmos", "XMOS lib_nn by way of xcore-opt", "xmos", ("xmos",)),
}  # fmt: skip
"""Every runtime, by its name in a target."""

OF_NPM = frozenset(each.distribution for each in RUNTIMES.values() if each.ecosystem == "npm")
"""The distributions of npm."""


@dataclass(frozen=True)
class RewritingTool:
    """A tool that rewrites models: its ``distribution`` on the package index, and a description.

    ``options`` are the values of each option of its targets.
    """

    distribution: str
    about: str
    options: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


TOOLS: Mapping[str, RewritingTool] = {
    "onnxsim": RewritingTool("onnxsim", "onnxsim.simplify"),
    "onnxslim": RewritingTool("onnxslim", "onnxslim.slim"),
    "onnxoptimizer": RewritingTool("onnxoptimizer", "onnxoptimizer.optimize with its default passes"),
    "onnxscript": RewritingTool("onnxscript", "onnxscript.optimizer.optimize"),
    "onnxconverter-common": RewritingTool(
        "onnxconverter-common", "convert_float_to_float16 with keep_io_types, for float32 alone"
    ),
    "onnxruntime": RewritingTool(
        "onnxruntime", "its offline optimized model, ?level=basic, extended, layout or all; or ?tool=quant-pre-process",
        {"level": ("basic", "extended", "layout", "all"), "tool": ("quant-pre-process",)},
    ),
}  # fmt: skip
"""Every tool that rewrites models, by its name in a target."""
