"""Real runtimes through their adapters: right geometry, what is known of each, what it refuses, a reproduction."""

import os
import shutil
import subprocess
import sys

import onnx
import onnxruntime
import pytest

from maxpool_check.targets.name import parse
from tests.conftest import CASES, command
from tests.models import zoo
from tests.models.writing import saved

HERE = ()
NETWORK = (pytest.mark.network,)
LARGE = (pytest.mark.runtimes,)
NPM = (*LARGE, pytest.mark.skipif(shutil.which("npm") is None, reason="needs npm"))
CLANG = (*LARGE, pytest.mark.skipif(shutil.which("clang") is None, reason="tinygrad's CPU device compiles with clang"))

IREE = "iree==3.13.0"
LITERT = "litert==2.3.0"
NCNN = "ncnn==1.0.20261020"
NODE, WEB = "onnxruntime-node==1.30.0", "onnxruntime-web==1.30.0"
OPENCV, OPENCV_4 = "opencv==5.0.0.93", "opencv==4.14.0.94"
OPENVINO = "openvino==2026.4.1"
ORT_OPENVINO = "onnxruntime-openvino==1.24.1@OpenVINOExecutionProvider"
QNN = "onnxruntime-qnn==2.7.0@QNNExecutionProvider?backend_type=htp"
TENSORFLOW = "tensorflow==2.21.0"
TINYGRAD = "tinygrad==0.14.0"
# Its interpreter is that of an environment variable.
TORCH = "torch?python={TORCH_PYTHON}"
TVM = "tvm==0.27.0.post1"

GEOMETRY = "edge/batches-channels:* edge/dilations:* edge/strides:*"
NPM_GEOMETRY = f"{GEOMETRY} edge/asymmetric-pads:*"
LITERT_GEOMETRY = "edge/strides:* edge/batches-channels:* edge/auto-pad:* edge/windows-in-padding:*"
NCNN_GEOMETRY = "edge/batches-channels:* edge/strides:* edge/ceil-mode:* edge/bfloat16:*"
SAME = "documents/onnx-22:same-upper y-only"
NAN = "edge/nan:one-axis indices"
NEG_INF = "edge/neg-inf:one-cell y-only"
NEG_INF_PLANE = "edge/neg-inf:first-plane-float32 indices"
NHWC_TIE = "documents/xmos-maxpool2d:tie y-only-nhwc-maxpool"
NHWC_DROPPED = "edge/ceil-mode:last-window-dropped-int8 y-only-nhwc-maxpool"
FLOAT64 = "edge/neg-inf:second-channel-float64 y-only"
NEG_INF_CHANNELS = "edge/sixteen-channels:neg-inf-c16 y-only"
SUBNORMAL = "edge/subnormals:above-zero-float32 y-only"
LOWEST, SAME_DILATION = ("diverges", "y-lowest-for-neg-inf"), ("diverges", "same-ignores-dilation")
OPENCV_CASES = {"edge/strides:rows-only y-only": ("conforms",), "edge/strides:left-over y-only": ("conforms",)}
ASYMMETRIC_PLANES = "edge/dilations:asymmetric-planes y-only"
WIDE_STRIDE = "edge/auto-pad:stride-over-kernel-2d y-only"


def runtime(target, marks, right="", more=(), most=5, about=None, options=None, cases=None, texts=None):
    """A row: patterns of cases that are right, or have one of ``more`` verdicts, of which over ``most`` conform.

    What the target says ``about`` itself and its session ``options``; the verdict and kinds of single ``cases``, each
    with its variant; and ``texts`` in their messages or translations.
    """
    values = (target, right, more, most, about or {}, options or {}, cases or {}, texts or {})
    return pytest.param(*values, id=target, marks=marks)


def litert(xnnpack, provider, **expected):
    about = {"provider": provider, "indices": None, "speaks": "tflite"}
    return runtime(f"{LITERT}?xnnpack={xnnpack}", NETWORK, LITERT_GEOMETRY, ("refuses",), 10, about, **expected)


RUNTIMES = [
    *(runtime(f"{OPENVINO}?opset={opset}", NETWORK, GEOMETRY,
              about={"speaks": f"openvino-{opset}", "provider": "CPU", "indices": indices},
              cases={f"openvino/{own} y-only": ("conforms",), "openvino/examples-8:xml-explicit y-only": ("conforms",)})
      for opset, own, indices in (("1", "version-1:strides", None), ("8", "examples-8:example-1", "whole"),
                                  ("14", "version-14:rounding-default", "whole"))),
    runtime(OPENVINO, NETWORK, cases={NEG_INF_PLANE: LOWEST,
                                      "openvino/types:neighbours-float64 y-only": ("diverges", "y-rounded-to-float32"),
                                      "documents/onnx-22:ceil-in-padding indices": ("conforms",),
                                      "documents/onnx-22:ceil-in-padding y-only": ("conforms",)}),
    runtime(f"{OPENVINO}?frontend=onnx", NETWORK, "onnx/version-8:*", ("diverges",), 1,
            {"speaks": "onnx", "provider": "CPU", "indices": "whole", "newest_opset": 28}, {"frontend": "onnx"},
            {"documents/onnx-22:ceil-in-padding indices": ("diverges", "ceil-clip-exchanged"),
             "documents/onnx-22:ceil-in-padding y-only": ("diverges", "ceil-clip-exchanged")}),
    runtime("onnx-reference", HERE, cases={
        "edge/batches-channels:one-axis indices": ("diverges", "indices-plane-relative"),
        "documents/ort-nhwc-11:nan y-only-in-domain": ("not-expressible",)}),
    # Where it must mean the same, bytes are executed as another operator, too.
    runtime("onnxruntime", HERE, cases={NHWC_TIE: ("conforms",), NHWC_DROPPED: ("not-expressible",)}, texts={
        NHWC_TIE: "as com.microsoft.NhwcMaxPool, X transposed to channels last, Y back",
        NHWC_DROPPED: "does not say whose it follows"}),
    runtime("transform:onnxruntime?level=basic:on:onnxruntime", HERE, about={"distribution": "onnxruntime"},
            options={"runs_on": f"onnxruntime {onnxruntime.__version__}", "tool_level": "basic",
                     "graph_optimization_level": "ORT_DISABLE_ALL"},
            cases={"contexts/pad:neg-inf-opset-22 y-only": ("conforms",)}),
    runtime(ORT_OPENVINO, LARGE, GEOMETRY, ("refuses",), 10, {"provider": "OpenVINOExecutionProvider"},
            cases={NEG_INF_PLANE: LOWEST}),
    # What a provider does not support is refused, and not computed by the CPU.
    runtime(f"{ORT_OPENVINO}?device_type=CPU", NETWORK, options={"device_type": "CPU"}, texts={FLOAT64: "FAIL"},
            about={"distribution": "onnxruntime-openvino", "version": "1.24.1"},
            cases={"edge/strides:left-over y-only": ("conforms",), FLOAT64: ("refuses", "refuses-valid")}),
    # A plugin, installed with ONNX Runtime.
    runtime(QNN, NETWORK, options={"onnxruntime": "1.31.1"}, cases={"edge/strides:left-over y-only": ("conforms",)},
            about={"distribution": "onnxruntime-qnn", "version": "2.7.0", "provider": "QNNExecutionProvider"}),
    runtime("onnxruntime-ep-webgpu==0.4.0@WebGpuExecutionProvider", LARGE, "onnx/examples:*",
            ("diverges", "refuses", "crashes", "error"), about={"provider": "WebGpuExecutionProvider"}),
    runtime("jax==0.10.2", LARGE, GEOMETRY, ("refuses",), cases={SAME: ("conforms",)}),
    runtime("tract==0.23.9", LARGE, GEOMETRY, ("refuses",), cases={SAME: ("conforms",)}),
    runtime(TORCH, LARGE, "edge/batches-channels:*", ("refuses",), about={"indices": "plane"}),
    runtime("xmos==1.4.2", LARGE, "xmos/examples:* documents/xmos-maxpool2d:*", ("crashes",), 10),
    runtime(f"{TINYGRAD}?device=PYTHON", NETWORK, "documents/onnx-22:*", ("diverges", "refuses"), 5,
            {"provider": "PYTHON"}, {"DEV": "PYTHON"}, {SAME: SAME_DILATION}),
    runtime(TINYGRAD, CLANG, "edge/kernel-one:* edge/strides:*", ("diverges",), 10, {"provider": "CPU"},
            cases={SAME: SAME_DILATION, NAN: ("diverges", "indices-out-of-range")}),
    runtime(TVM, LARGE, GEOMETRY, ("refuses",), options={"TVM_NUM_THREADS": "1"}, cases={NEG_INF: LOWEST}),
    *(runtime(f"{IREE}?backend={backend}", LARGE, about={"speaks": "onnx", "provider": "CPU", "graphs": None},
              options={"backend": backend},
              cases={"edge/dilations:gaps y-only": ("conforms",),
                     "edge/auto-pad:negative-values y-only": ("diverges", "y-pad-value-leak")})
      for backend in ("llvm-cpu", "vmvx")),
    runtime(IREE, LARGE, cases={
        "edge/batches-channels:one-axis y-only": ("conforms",),
        "edge/widths:int8-w9 y-only": ("conforms",),
        "edge/minimum:padded-uint8 y-only": ("conforms",),
        "edge/batches-channels:larger-neighbours indices": ("diverges", "indices-plane-relative"),
        "edge/batches-channels:larger-neighbours y-only": ("conforms",),
        "edge/extremes:signed-bytes indices": ("refuses", "refuses-valid"),
        "edge/extremes:signed-bytes y-only": ("conforms",),
        "edge/ranks:three-axes-int8 y-only": ("crashes", "crash"),
        "contexts/pad:zero-opset-22 y-only": ("not-expressible",),
    }, texts={
        "edge/extremes:signed-bytes indices": "must be floating-point-like, but got 'i8'",
        "contexts/pad:zero-opset-22 y-only": "it executes MaxPool alone",
    }),
    # XNNPACK takes no stride larger than the window, and the built-in kernel does not take its place.
    litert("1", "XNNPACK", cases={NEG_INF: ("conforms",), SUBNORMAL: ("diverges", "y-flushed-subnormal"),
                                  WIDE_STRIDE: ("not-expressible",)}, texts={WIDE_STRIDE: "XNNPACK does not take it;"}),
    litert("0", "CPU", cases={NEG_INF: LOWEST, SUBNORMAL: ("conforms",), WIDE_STRIDE: ("conforms",)}),
    *(runtime(f"{TENSORFLOW}?include_batch_in_index={option}", LARGE,
              "edge/batches-channels:* edge/ties:* edge/auto-pad:*", ("refuses",),
              about={"indices": indices, "speaks": "tensorflow"})
      for option, indices in (("0", "image-channels-last"), ("1", "whole-channels-last"))),
    runtime(f"{TENSORFLOW}?onednn=0", LARGE, "edge/asymmetric-pads:* edge/extents:*", ("refuses",),
            cases={NEG_INF: LOWEST, "edge/neg-inf:one-cell indices": ("conforms",)}),
    # Were one engine to fall back to the other, they would have the same defects.
    runtime(OPENCV, NETWORK, about={"provider": "NewEngine"}, cases={**OPENCV_CASES, ASYMMETRIC_PLANES: ("conforms",)}),
    runtime(f"{OPENCV}@ClassicEngine", NETWORK, about={"provider": "ClassicEngine"},
            cases={**OPENCV_CASES, ASYMMETRIC_PLANES: ("diverges", "dilation-ignored")}),
    runtime(OPENCV_4, NETWORK, about={"provider": "ClassicEngine"},
            cases={**OPENCV_CASES, "edge/minimum:padded-uint8 y-only": ("not-expressible",)}),
    # Windows rounded up are ncnn's full padding. SAME_LOWER is wrong in the depth alone.
    runtime(NCNN, NETWORK, f"{NCNN_GEOMETRY} edge/auto-pad:* edge/dilations:*", (), 10,
            {"speaks": "ncnn", "provider": "CPU", "indices": None}, {"use_vulkan_compute": False},
            {"edge/batches-channels:many-planes-float32 y-only": ("conforms",),
             "edge/ceil-mode:rounds-up y-only": ("conforms",),
             "edge/auto-pad:three-axes y-only": ("diverges", "y-from-outside-window", "y-in-window-not-maximum"),
             "edge/dilations:gaps y-only": ("not-expressible",), "edge/bfloat16:neg-inf y-only": ("conforms",),
             "edge/auto-pad:stride-over-kernel-float16 y-only": ("not-expressible",)},
            {"edge/ceil-mode:rounds-up y-only": "pad_mode=0",
             "edge/auto-pad:three-axes y-only": "pad_mode=3", "edge/dilations:gaps y-only": "it has no dilation",
             "edge/auto-pad:stride-over-kernel-float16 y-only": "it has no float16"}),
    # WebAssembly has no blocks of channels, which lose -inf.
    *(runtime(target, NPM, NPM_GEOMETRY, ("refuses",), 50, {"provider": "CPUExecutionProvider", "speaks": "onnx"},
              cases={NEG_INF_CHANNELS: verdict, "edge/auto-pad:dilated-SAME_UPPER y-only": SAME_DILATION})
      for target, verdict in ((WEB, ("conforms",)), (f"{WEB}?threads=2", ("conforms",)), (NODE, LOWEST))),
    # A build without SIMD throws an exception that nothing catches.
    runtime("onnxruntime-web==1.18.0?simd=off", NPM, "edge/strides:* edge/subnormals:*", ("diverges", "refuses"), 10,
            options={"simd": "off"}),
]  # fmt: skip


def there(target):
    """A target with the Python that the environment names for it; skips where there is none."""
    if "{TORCH_PYTHON}" in target and "TORCH_PYTHON" not in os.environ:
        pytest.skip("TORCH_PYTHON names no Python that has PyTorch")
    return target.format_map(os.environ)


def run(target, *patterns):
    paths = {CASES / f"{pattern.partition(':')[0]}.yaml" for pattern in patterns}
    selected = [word for pattern in patterns for word in ("-k", pattern)]
    done = command("run", *paths, *selected, "-t", target, "--known", "none", "--timeout", "60", "--report", "json")
    assert done.code in (0, 1), done.err
    (described,) = done.json["targets"]
    return described, {f"{each['case']} {each['variant']}": each for each in done.json["results"]}


@pytest.mark.parametrize(("target", "right", "more", "most", "about", "options", "cases", "texts"), RUNTIMES)
def test_a_runtime_is_as_it_is_known(target, right, more, most, about, options, cases, texts):
    target = there(target)
    described, results = run(target, *right.split(), *(name.partition(" ")[0] for name in cases))
    assert {name: described[name] for name in about} == about
    assert {name: described["session_options"][name] for name in options} == options
    assert {name: (results[name]["verdict"], *results[name]["kinds"]) for name in cases} == cases
    for name, text in texts.items():
        assert text in f"{results[name]['message']};{results[name]['translation']}"
    named = {name.partition(" ")[0] for name in cases}
    others = [each for each in results.values() if each["case"] not in named]
    if right:
        assert {each["verdict"] for each in others} <= {"conforms", "not-expressible", "undefined", *more}
        assert sum(each["verdict"] == "conforms" for each in others) > most
    if "backend" in options:
        assert f"--iree-hal-target-backends={options['backend']}" in described["session_options"]["flags"]
    if right and "opset" in target:
        # What is in its own language is handed on as it is.
        own = [each["translation"] for each in results.values() if each["spec"] == described["speaks"]]
        assert (own != [], any(own)) == (True, False)
    if "frontend" in target:
        assert {each["opset"] for each in others if each["verdict"] == "conforms"} == {8}
        assert [parse(name).takes_models for name in (target, OPENVINO)] == [True, False]
    # Indices that count otherwise are right when converted.
    converted = {"plane": "Indices counted in each plane, converted to the whole tensor",
                 "image-channels-last": "converted to the whole tensor with the channels first",
                 "whole-channels-last": "converted to the whole tensor with the channels first"}  # fmt: skip
    if text := converted.get(described["indices"]):
        indices = [each for each in others if (each["variant"], each["verdict"]) == ("indices", "conforms")]
        assert len(indices) > 5
        assert all(text in str(each["translation"]) for each in indices)


@pytest.mark.network
@pytest.mark.parametrize(("threads", "verdict"), [("2", "conforms"), ("1", "diverges")])
def test_openvino_refuses_at_run_time_what_one_thread_returns(cli, threads, verdict):
    words = ("-k", "no-window", "--variants", "y-only", "-t", f"{OPENVINO}?opset=14&threads={threads}")
    done = cli("run", CASES / "contexts/dynamic.yaml", *words, "--known", "none", "--report", "json")
    assert [each["verdict"] for each in done.json["results"]] == [verdict]


@pytest.mark.network
def test_an_engine_of_opencv_is_overridden_by_nothing_and_takes_models(cli, tmp_path):
    done = cli("targets", "list", OPENCV, OPENCV_FORCE_DNN_ENGINE="1")
    assert done.code == 3
    assert "OPENCV_FORCE_DNN_ENGINE overrides the engine; unset it" in " ".join(done.out.split())
    # One with the tensors around MaxPool as outputs.
    done = cli("model", saved(zoo.plain(), tmp_path, "model.onnx"), "-t", OPENCV)
    assert (done.err, "not run as a model" in done.out) == ("", False)


def refused(marks, *rows):
    return [pytest.param(target, texts, id=target, marks=marks) for target, *texts in rows]


REFUSED = [
    *refused(HERE, *(
        (f"onnxruntime@{provider}", f"this ONNX Runtime has no {provider}: it is not built in; it has", advice)
        for provider, advice in (
            ("NoExecutionProvider", "CPUExecution"),
            ("CUDAExecutionProvider",
             "onnxruntime-gpu has it, on an NVIDIA GPU with CUDA and cuDNN: -t onnxruntime-gpu=="),
            ("DmlExecutionProvider", "onnxruntime-directml has it, on Windows"),
            ("XnnpackExecutionProvider", "-t onnxruntime@XnnpackExecutionProvider?python=PATH"),
            ("CudaExecutionProvider", "Did you mean CUDAExecutionProvider?"),
        )
    )),
    *refused(HERE,
        ("onnxruntime-qnn@QNNExecutionProvider", "onnxruntime-qnn is not installed in this environment"),
        ("transform:onnxoptimizer:on:onnxruntime", "onnxoptimizer is not installed in this environment"),
        ("transform:onnxsim?python=/none/python:on:onnxruntime", "No such file or directory"),
        ("onnxruntime?python=/bin/echo", "does not speak the worker's protocol"),
        (f"python:{CASES}/absent.py:f", "no file"),
        ("onnx-reference?x=1", "unknown option x"),
        ("onnx-checker?full=2", "full must be 0 or 1, got 2"),
        ("onnx-shape-inference?strict=yes", "strict must be 0 or 1, got yes"),
        ("onnx-shape-inference@CUDA", "runs on CPU only"),
        ("onnxruntime-node", "it comes from npm, not with Python; name a release, onnxruntime-node==VERSION")),
    *refused(NETWORK,
        (f"{OPENVINO}?opset=9", "opset must be one of 1, 8, 14"),
        (f"{OPENVINO}?frontend=onnx&opset=8",
         "opset is of OpenVINO's own operators, and frontend=onnx takes ONNX models"),
        (f"{OPENVINO}?front=onnx", "unknown option front; OpenVINO has opset, frontend, threads"),
        (f"{OPENVINO}@GPU?frontend=onnx", "this machine has no device GPU", "OpenVINO has found CPU"),
        (f"{OPENVINO}@TEMPLATE", 'this machine has no device TEMPLATE (Device with "TEMPLATE" name is not registered',
         "OpenVINO has found CPU"),
        (f"{OPENVINO}@AUTO", "AUTO leaves the choice of the device to OpenVINO; name the device itself",
         "OpenVINO has found CPU"),
        (f"{LITERT}?xnnpack=2", "xnnpack must be 1 or 0, got 2"),
        (f"{LITERT}@CPU?xnnpack=1", "xnnpack=1 is not CPU; leave out one of them"),
        (f"{LITERT}@GPU", "LiteRT runs on XNNPACK or CPU only, not on GPU"),
        (f"{NCNN}@Vulkan", "ncnn runs on CPU only, not on Vulkan"),
        (f"{OPENCV}?engine=old", "engine must be one of auto, new, classic, got old"),
        (f"{OPENCV}@CUDA", "OpenCV runs on NewEngine or ClassicEngine or CPU only, not on CUDA"),
        (f"{OPENCV}@NewEngine?engine=classic", "engine=classic is not NewEngine; leave out one of them"),
        (f"{OPENCV_4}@NewEngine", "OpenCV 4.14.0 has ClassicEngine alone, not NewEngine"),
        (f"{OPENCV_4}?engine=classic", "OpenCV 4.14.0 has one engine alone; leave out engine=classic"),
        (f"{TINYGRAD}?device=GPU", "device must be one of CPU, PYTHON, got GPU"),
        # Where the compiler is named by CC.
        (TINYGRAD, "which is not installed; install it (Debian: apt-get install clang), or use ?device=PYTHON")),
    *refused(LARGE,
        (f"{IREE}?backend=cuda", "backend must be one of llvm-cpu, vmvx, got cuda"),
        ("jax==0.10.2?platform=tpu", "has no platform tpu here (Unable to initialize backend 'tpu'"),
        ("jax==0.10.2@GPU", "jax runs on CPU only, not on GPU; it runs on others with ?platform=NAME, not @NAME"),
        (f"{TORCH}&device=bogus", "has no device bogus here (Expected one of cpu, cuda"),
        (f"{TORCH}&device=xla", "has no device xla here (", "?python=PATH names an interpreter that has one"),
        (TORCH.replace("?", "@CUDA?"),
         "torch runs on CPU only, not on CUDA; it runs on others with ?device=NAME, not @NAME"),
        *((f"onnxruntime-gpu==1.31.1@{provider}", f"{provider} is built in, but cannot be loaded: libcu",
           "It needs an NVIDIA GPU") for provider in ("CUDAExecutionProvider", "TensorrtExecutionProvider"))),
    *refused(NPM,
        (f"{WEB}?simd=off", "comes with builds with SIMD alone"),
        (f"{WEB}?threads=0", "threads must be a number from 1 to 99, got 0"),
        (f"{WEB}@webgpu", "runs on CPUExecutionProvider only, not on webgpu"),
        (f"{NODE}?threads=2", "unknown option threads; onnxruntime-node has none")),
]  # fmt: skip


@pytest.mark.parametrize(("target", "texts"), REFUSED)
def test_an_option_or_a_device_that_there_is_not(cli, target, texts):
    target = there(target)
    done = cli("targets", "list", "--json", target, CC="no-such-clang")
    if done.code == 0 and any(name in target for name in ("@GPU", "@NPU", "onnxruntime-gpu")):
        pytest.skip("this machine has it")
    assert done.code == 3
    (described,) = done.json["targets"]
    assert f"{target} cannot be started: " in described["message"]
    assert [text for text in texts if text not in described["message"]] == []
    # Its environment is in order.
    assert "damaged" not in described["message"]


def reproduction(target, marks, case, issue="", script="", variant="y-only"):
    return pytest.param(target, case, issue, script, variant, id=target, marks=marks)


@pytest.mark.network
@pytest.mark.parametrize(("target", "case", "issue", "script", "variant"), [
    reproduction(OPENVINO, (), "edge/neg-inf:one-cell", "### OpenVINO Version"),
    reproduction(f"{OPENVINO}?frontend=onnx", (), "documents/onnx-22:ceil-in-padding", "### Framework\n\nONNX\n",
                 "read_model(model)"),
    reproduction("onnx-reference", (), "edge/batches-channels:equal-batches", "### Describe the bug"),
    reproduction(NCNN, (), "edge/auto-pad:three-axes", "how to reproduce | 复现步骤"),
    reproduction(f"{LITERT}?xnnpack=0", (), "edge/neg-inf:one-cell", "", "BUILTIN_WITHOUT_DEFAULT_DELEGATES"),
    reproduction("tract==0.23.9", LARGE, "edge/neg-inf:one-cell", "### Description"),
    reproduction("jax==0.10.2", LARGE, "documents/sonnx:nan", "### System info"),
    reproduction(ORT_OPENVINO, LARGE, "edge/neg-inf:first-plane-float32", "### Execution Provider\n\nOpenVINO"),
    reproduction(QNN, LARGE, "edge/asymmetric-pads:pads0x0x1x0",
                 "### Execution Provider Library Version\n\nonnxruntime-qnn 2.7.0"),
    reproduction("transform:onnxoptimizer==0.4.2:on:onnxruntime==1.31.1", LARGE, "contexts/pad:zero-opset-22",
                 "onnxoptimizer changes what Pad + MaxPool computes"),
    reproduction(IREE, LARGE, "edge/auto-pad:negative-values", "### What happened?"),
    reproduction(f"{OPENCV}?engine=new", LARGE, "edge/auto-pad:lower-rectangular", "### Steps to reproduce",
                 "engine=cv2.dnn.ENGINE_NEW"),
    reproduction(f"{TINYGRAD}?device=PYTHON", LARGE, "documents/onnx-22:same-upper", "", 'DEV.value = "PYTHON"'),
    reproduction(TVM, LARGE, "edge/neg-inf:one-cell", "### Actual behavior",
                 'tvm.compile(from_onnx(onnx.load(model)), target="llvm")'),
    reproduction(WEB, NPM, "edge/auto-pad:dilated-SAME_UPPER", "", "# First: npm install onnxruntime-web@1.30.0"),
    reproduction(TORCH, LARGE, "documents/sonnx:nan", "", "torch.nn.functional.max_pool2d", "indices"),
])  # fmt: skip
def test_a_reproduction_is_written_and_tried(cli, tmp_path, target, case, issue, script, variant):
    target, folder = there(target), tmp_path / "r"
    words = ("repro", case, "-t", target, "-o", folder, "--variant", variant, "-p", CASES)
    done = cli(*words, MAXPOOL_CHECK_TIMEOUT="60")
    assert done.code == 0, done.out + done.err
    assert "repro.py exits with 1 in a clean environment" in done.out
    assert issue in (folder / "ISSUE.md").read_text()
    assert script in (folder / "repro.py").read_text()
    if target == WEB:
        assert "onnxruntime-web@1.30.0 of npm" in done.out
        assert (folder / "run.mjs").exists()
        assert not (folder / "node_modules").exists()
    elif target == NCNN:
        assert "Pooling3D" in (folder / "ISSUE.md").read_text()
    elif "frontend" in target:
        assert [each.version for each in onnx.load(folder / "model.onnx").opset_import] == [22]
    # Where the runtime is not installed, nothing can be told.
    words = [sys.executable, "-S", folder / "repro.py"]
    alone = subprocess.run(words, capture_output=True, text=True, cwd=folder, check=False)
    assert alone.returncode == 125, alone.stdout + alone.stderr
