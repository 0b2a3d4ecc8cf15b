"""The sections of issues, as the form of each project asks for them and in its order."""

import platform
from collections.abc import Sequence
from dataclasses import dataclass

from maxpool_check.reporting.markup import escaped, fenced, joined
from maxpool_check.reproducing.scripts.onnx_models import DEFAULT_PROVIDER
from maxpool_check.results.record import TargetDescription
from maxpool_check.targets.runtimes import RUNTIMES
from maxpool_check.targets.target import TargetProfile

_ARCHITECTURES = {"x86_64": "X64", "AMD64": "X64", "aarch64": "ARM64", "arm64": "ARM64", "i686": "X86"}

_PROVIDERS = {
    DEFAULT_PROVIDER: "Default CPU",
    "CoreMLExecutionProvider": "CoreML",
    "CUDAExecutionProvider": "CUDA",
    "DmlExecutionProvider": "DirectML",
    "DnnlExecutionProvider": "oneDNN",
    "OpenVINOExecutionProvider": "OpenVINO",
    "TensorrtExecutionProvider": "TensorRT",
    "MIGraphXExecutionProvider": "MIGraphX",
    "VitisAIExecutionProvider": "Vitis AI",
}
"""What the form of ONNX Runtime has to choose from; all others are "Other / Unknown"."""


@dataclass(frozen=True)
class IssueText:
    """The parts of an issue, in Markdown.

    ``problem`` is what happens, ``tables`` the tensors, ``rule`` what the document says, ``context`` the rest: other runtimes,
    versions, a suspected cause. ``steps`` and ``script`` reproduce it; ``output`` is what the script printed.
    """

    problem: str
    tables: str
    rule: str
    context: str
    steps: str
    script: str
    output: str
    requirements: Sequence[str] = ()

    @property
    def description(self) -> str:
        """Everything but the reproduction."""
        return joined([self.problem, self.tables, self.rule, self.context])

    @property
    def reproduction(self) -> str:
        """The script, and what it printed."""
        return joined(
            [self.steps, fenced([self.script.rstrip()], "python"), "It prints:", fenced([self.output.rstrip()], "")]
        )


Section = tuple[str, str]


def _operating_system() -> str:
    return {"Darwin": "Mac"}.get(platform.system(), platform.system())


def _version_of_system() -> str:
    """The name of the distribution on Linux, and the version of the system."""
    try:
        name = platform.freedesktop_os_release()["PRETTY_NAME"]
    except (OSError, KeyError):
        return platform.platform()
    return f"{name}, {platform.system()} {platform.release().partition('-')[0]}"


def _environment(text: IssueText, target: TargetDescription) -> str:
    return "\n".join(
        f"- {line}"
        for line in (
            f"OS: {_version_of_system()}",
            f"Python: {escaped(target.python)}",
            *map(escaped, text.requirements),
        )
    )


def onnxruntime(text: IssueText, profile: TargetProfile) -> list[Section]:
    """The form of ONNX Runtime."""
    target = profile.description
    runtime = str(target.session_options.get("onnxruntime") or target.session_options.get("runs_on") or target.version)
    is_cpu = target.provider in (DEFAULT_PROVIDER, "")
    provider = _PROVIDERS.get(target.provider or DEFAULT_PROVIDER, f"Other / Unknown ({escaped(target.provider)})")
    library = "" if is_cpu else f"{escaped(target.distribution)} {escaped(target.version)}"
    return [
        ("Describe the issue", text.description),
        ("To reproduce", text.reproduction),
        ("Urgency", "Not urgent."),
        ("Platform", _operating_system()),
        ("OS Version", _version_of_system()),
        ("ONNX Runtime Installation", "Released Package"),
        ("ONNX Runtime Version or Commit ID", escaped(runtime.rpartition(" ")[2])),
        ("ONNX Runtime API", "JavaScript" if RUNTIMES[profile.name.runtime].ecosystem == "npm" else "Python"),
        ("Architecture", _ARCHITECTURES.get(platform.machine(), "Other / Unknown")),
        ("Execution Provider", provider),
        ("Execution Provider Library Version", library or "_No response_"),
    ]


_CHECKLIST = (
    "- [x] I'm reporting an issue. It's not a question.",
    "- [ ] I checked the problem with the documentation, FAQ, open issues, Stack Overflow, etc., and have not found a solution.",
    "- [x] There is reproducer code and related data files such as images, videos, models, etc.",
)
"""OpenVINO's. That no such issue exists is for the reporter to find out."""


_OPENCV_CHECKLIST = (
    "- [x] I report the issue, it's not a question",
    "- [ ] I checked the problem with documentation, FAQ, open issues, forum.opencv.org, Stack Overflow, etc and have not found any solution",
    "- [ ] I updated to the latest OpenCV version and the issue is still there",
    "- [x] There is reproducer code and related data files (videos, images, onnx, etc)",
)
"""OpenCV's."""


def openvino(text: IssueText, profile: TargetProfile) -> list[Section]:
    """The form of OpenVINO."""
    return [
        ("OpenVINO Version", escaped(profile.description.version)),
        ("Operating System", f"Other (Please specify in description): {_version_of_system()}"),
        ("Device used for inference", escaped(profile.description.provider)),
        ("Framework", "ONNX" if "onnx_model" in text.script else "None: the model is built with OpenVINO's Python API"),
        ("Model used", "The script builds it."),
        ("Issue description", text.description),
        ("Step-by-step reproduction", joined([text.steps, fenced([text.script.rstrip()], "python")])),
        ("Relevant log output", fenced([text.output.rstrip()], "shell")),
        ("Issue submission checklist", "\n".join(_CHECKLIST)),
    ]  # fmt: skip


def torch(text: IssueText, profile: TargetProfile) -> list[Section]:
    """The form of PyTorch."""
    return [
        ("🐛 Describe the bug", joined([text.description, text.reproduction])),
        ("Versions", f"{_environment(text, profile.description)}\n\n(Replace this by the output of `collect_env.py`.)"),
    ]


def jax(text: IssueText, profile: TargetProfile) -> list[Section]:
    """The form of JAX."""
    target = profile.description
    information = [f"jax:    {target.version}", f"numpy:  {target.numpy}", f"python: {target.python}"]
    return [
        ("Description", joined([text.description, text.reproduction])),
        (
            "System info (python version, jaxlib version, accelerator, etc.)",
            fenced([*information, f"platform: {_version_of_system()}, CPU"], ""),
        ),
    ]


def tensorflow(text: IssueText, profile: TargetProfile) -> list[Section]:
    """The form of TensorFlow."""
    target = profile.description
    return [
        ("Issue Type", "Bug"),
        ("Have you reproduced the bug with TF nightly?", "No"),
        ("Source", "binary"),
        ("Tensorflow Version", escaped(f"{target.distribution} {target.version}")),
        ("Custom Code", "Yes"),
        ("OS Platform and Distribution", _version_of_system()),
        ("Python version", escaped(target.python)),
        ("Current Behaviour?", text.description),
        ("Standalone code to reproduce the issue", joined([text.steps, fenced([text.script.rstrip()], "python")])),
        ("Relevant log output", fenced([text.output.rstrip()], "shell")),
    ]


def onnx(text: IssueText, profile: TargetProfile) -> list[Section]:
    """The form of onnx."""
    target = profile.description
    system = [
        f"- OS Platform and Distribution: {_version_of_system()}", f"- ONNX version: {escaped(target.version)}",
        f"- Python version: {escaped(target.python)}",
    ]  # fmt: skip
    return [
        ("Is the issue related to model conversion?", "No."),
        ("Describe the bug", joined([text.problem, text.context])),
        ("System information", "\n".join(system)),
        ("Reproduction instructions", text.reproduction),
        ("Expected behavior", joined([text.rule, text.tables])),
    ]


def opencv(text: IssueText, profile: TargetProfile) -> list[Section]:
    """The form of OpenCV."""
    target = profile.description
    system = [
        f"OpenCV python version: {escaped(target.version)}",
        f"Operating System / Platform: {_version_of_system()}",
        f"Python version: {escaped(target.python)}",
    ]
    return [
        ("System Information", "\n".join(f"- {line}" for line in system)),
        ("Detailed description", text.description),
        ("Steps to reproduce", text.reproduction),
        ("Issue submission checklist", "\n".join(_OPENCV_CHECKLIST)),
    ]


def onnxslim(text: IssueText, profile: TargetProfile) -> list[Section]:
    """The form of OnnxSlim."""
    return [
        ("Describe the bug", joined([text.problem, text.context])),
        ("To Reproduce", text.reproduction),
        ("Expected behavior", joined([text.rule, text.tables])),
        ("Environment", _environment(text, profile.description)),
    ]


def tvm(text: IssueText, profile: TargetProfile) -> list[Section]:
    """The form of TVM."""
    return [
        ("Expected behavior", text.rule),
        ("Actual behavior", joined([text.problem, text.tables, text.context])),
        ("Environment", _environment(text, profile.description)),
        ("Steps to reproduce", text.reproduction),
        ("Triage", "* needs-triage"),
    ]


def ncnn(text: IssueText, profile: TargetProfile) -> list[Section]:
    """The form of ncnn."""
    return [
        ("error log | 日志或报错信息 | ログ", joined([text.problem, text.tables, text.rule])),
        ("context | 编译/运行环境 | バックグラウンド", _environment(text, profile.description)),
        ("how to reproduce | 复现步骤 | 再現方法", text.reproduction),
        ("more | 其他 | その他", text.context or "_No response_"),
    ]


def iree(text: IssueText, profile: TargetProfile) -> list[Section]:
    """The form of IREE."""
    return [
        ("What happened?", joined([text.problem, text.tables, text.rule])),
        ("Steps to reproduce your issue", text.reproduction),
        ("What component(s) does this issue relate to?", "Frontends, Compiler"),
        ("Version information", _environment(text, profile.description)),
        ("Additional context", text.context or "_No response_"),
    ]


def plain(text: IssueText, profile: TargetProfile) -> list[Section]:
    """For a project without a form."""
    return [
        ("Description", text.description),
        ("To reproduce", text.reproduction),
        ("Environment", _environment(text, profile.description)),
    ]
