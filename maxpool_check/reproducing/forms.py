"""The forms of issues: where each project wants them, and which sections it asks for."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from maxpool_check.reproducing import sections
from maxpool_check.reproducing.sections import IssueText, Section
from maxpool_check.targets.runtimes import RUNTIMES
from maxpool_check.targets.target import TargetProfile


@dataclass(frozen=True)
class Form:
    """The form of a project: its ``name``, where issues are opened, the beginning of a title, and its sections."""

    name: str
    issues: str
    sections: Callable[[IssueText, TargetProfile], list[Section]]
    prefix: str = ""


def form_of(profile: TargetProfile) -> Form:
    """The form of the project that a defect of a target is reported to."""
    name = profile.name
    if name.tool is not None and name.tool.name != "onnxruntime":
        return _TOOLS[name.tool.name]
    if not name.is_released:
        return Form(profile.description.name, "", sections.plain)
    return _RUNTIMES[RUNTIMES[name.runtime].adapter.partition(".")[0]]


_ONNXRUNTIME = Form("ONNX Runtime", "https://github.com/microsoft/onnxruntime/issues", sections.onnxruntime)
_OPENVINO = Form("OpenVINO", "https://github.com/openvinotoolkit/openvino/issues", sections.openvino, "[Bug]: ")
_ONNX = Form("onnx", "https://github.com/onnx/onnx/issues", sections.onnx)
_PYTORCH = Form("PyTorch", "https://github.com/pytorch/pytorch/issues", sections.torch)

_RUNTIMES: Mapping[str, Form] = {
    **dict.fromkeys(("onnxruntime", "javascript"), _ONNXRUNTIME),
    "openvino": _OPENVINO,
    "onnx": _ONNX,
    "torch": _PYTORCH,
    "opencv": Form("OpenCV", "https://github.com/opencv/opencv/issues", sections.opencv),
    "jax": Form("JAX", "https://github.com/jax-ml/jax/issues", sections.jax),
    "tensorflow": Form("TensorFlow", "https://github.com/tensorflow/tensorflow/issues", sections.tensorflow),
    "litert": Form("LiteRT", "https://github.com/google-ai-edge/LiteRT/issues", sections.plain),
    "tract": Form("tract", "https://github.com/sonos/tract/issues", sections.plain),
    "tinygrad": Form("tinygrad", "https://github.com/tinygrad/tinygrad/issues", sections.plain),
    "tvm": Form("TVM", "https://github.com/apache/tvm/issues", sections.tvm, "[Bug] "),
    "ncnn": Form("ncnn", "https://github.com/Tencent/ncnn/issues", sections.ncnn),
    "iree": Form("IREE", "https://github.com/iree-org/iree/issues", sections.iree, "[Bug] "),
    "xmos": Form("XMOS", "https://github.com/xmos/ai_tools/issues", sections.plain),
}
"""The forms by the adapter of a runtime."""

_TOOLS: Mapping[str, Form] = {
    "onnxsim": Form("onnxsim", "https://github.com/onnxsim/onnxsim/issues", sections.plain),
    "onnxslim": Form("OnnxSlim", "https://github.com/inisis/OnnxSlim/issues", sections.onnxslim),
    "onnxoptimizer": Form("onnxoptimizer", "https://github.com/onnx/optimizer/issues", sections.plain),
    "onnxscript": Form("onnxscript", "https://github.com/microsoft/onnxscript/issues", sections.plain),
    "onnxconverter-common": Form(
        "onnxconverter-common", "https://github.com/microsoft/onnxconverter-common/issues", sections.plain
    ),
}
"""The forms by the name of a tool."""
