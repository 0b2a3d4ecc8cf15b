"""The text of an issue, in the order of ONNX Runtime's form."""

from __future__ import annotations

import platform

from maxpool_check.judging.kinds import DESCRIPTIONS
from maxpool_check.reproducing.runtimes import DEFAULT_PROVIDER, ScriptRuntime
from maxpool_check.reproducing.script import Reproduced
from maxpool_check.results.record import TargetDescription
from maxpool_check.specifications.refused import Refused

_ARCHITECTURES = {"x86_64": "X64", "AMD64": "X64", "aarch64": "ARM64", "arm64": "ARM64", "i686": "X86"}


def issue(reproduced: Reproduced, runtime: ScriptRuntime, target: TargetDescription, script: str, printed: str) -> str:
    """The issue in Markdown; ``printed`` is the output of the script."""
    case, oracle, title = reproduced.case_run.case, reproduced.case_run.oracle, runtime.title
    clauses = {DESCRIPTIONS[kind].clause for kind in reproduced.kinds}
    if isinstance(oracle, Refused):
        clauses = {f"{oracle.message} ({oracle.clause})"}
    outputs = " and ".join(reproduced.request.outputs)
    attributes = ", ".join(f"`{name}={value}`" for name, value in case.attributes.items()) or "no attributes"
    sections = {
        "Describe the issue": (
            f"MaxPool with {attributes}, X {case.X.dtype.name}{list(case.X.shape)}, {outputs} requested, "
            f"judged by {case.specification.title}:\n\n"
            + "".join(f"- `{kind.value}`: {DESCRIPTIONS[kind].sentence}\n" for kind in reproduced.kinds)
            + "".join(f"\nOracle: {clause}." for clause in sorted(clauses))
            + f"\n\n```\n{printed.strip()}\n```"
        ),
        "To reproduce": (
            "`uv run repro.py`, or with these requirements installed, `python repro.py`. Exit status, as for "
            "`git bisect run`: 1 reproduced, 0 fixed, 125 inconclusive.\n\n"
            f"```python\n{script.rstrip()}\n```\n\n"
            "`model.onnx` and `test_data_set_0/` are the same as a test for ONNX's backend test runner."
        ),
        "Urgency": "None stated.",
        "Platform": "Mac" if platform.system() == "Darwin" else platform.system(),
        "OS Version": platform.platform(),
        f"{title} Installation": "Released Package" if runtime.kernel is None else "Own kernel",
        f"{title} Version or Commit ID": target.version if runtime.kernel is None else "not stated",
        f"{title} API": f"Python {target.python}",
        "Architecture": _ARCHITECTURES.get(platform.machine(), platform.machine()),
        "Execution Provider": "Default CPU" if target.provider in (DEFAULT_PROVIDER, "CPU") else target.provider,
        "Execution Provider Library Version": ", ".join(runtime.requirements),
    }
    heading = f"# MaxPool: {', '.join(kind.value for kind in reproduced.kinds)} ({runtime.named})"
    return "\n\n".join([heading, *(f"### {name}\n\n{text}" for name, text in sections.items())]) + "\n"
