"""The text of an issue, in the order of ONNX Runtime's form."""

from __future__ import annotations

import platform

from maxpool_check.judging.kinds import DESCRIPTIONS
from maxpool_check.reproducing.runtimes import DEFAULT_PROVIDER, Runtime
from maxpool_check.reproducing.script import Reproduced
from maxpool_check.results.record import TargetDescription
from maxpool_check.specifications.refused import Refused

_PLATFORMS = {"Darwin": "Mac"}
_ARCHITECTURES = {"x86_64": "X64", "AMD64": "X64", "aarch64": "ARM64", "arm64": "ARM64", "i686": "X86"}


def issue(one: Reproduced, runtime: Runtime, said: TargetDescription, script: str, printed: str) -> str:
    """Markdown; ``printed`` is what the script said when it was tried."""
    case = one.case_run.case
    meaning = one.case_run.oracle
    clauses = {DESCRIPTIONS[kind].clause for kind in one.kinds}
    if isinstance(meaning, Refused):
        clauses = {f"{meaning.message} ({meaning.clause})"}
    title = runtime.title
    asked = " and ".join(one.request.outputs)
    attributes = ", ".join(f"`{name}={value}`" for name, value in case.attributes.items()) or "no attributes"
    sections = {
        "Describe the issue": "\n".join(
            [
                (
                    f"MaxPool with {attributes}, X {case.X.dtype.name}{list(case.X.shape)}, asked for {asked}, "
                    f"judged by {case.specification.title}:"
                ),
                "",
                *(f"- `{kind.value}`: {DESCRIPTIONS[kind].sentence}" for kind in one.kinds),
                "",
                *(f"Oracle: {clause}." for clause in sorted(clauses)),
                "",
                f"```\n{printed.strip()}\n```",
            ]
        ),
        "To reproduce": "\n".join(
            [
                (
                    "`uv run repro.py`, or with these requirements installed, `python repro.py`. It exits with 1 while the "
                    "defect is there, with 0 once it is mended, with 125 where it cannot be told, as `git bisect run` wants."
                ),
                "",
                f"```python\n{script.rstrip()}\n```",
                "",
                "`model.onnx` and `test_data_set_0/` are the same as a test for ONNX's backend test runner.",
            ]
        ),
        "Urgency": "None stated.",
        "Platform": _PLATFORMS.get(platform.system(), platform.system()),
        "OS Version": platform.platform(),
        f"{title} Installation": "Released Package" if runtime.kernel is None else "Own kernel",
        f"{title} Version or Commit ID": said.version if runtime.kernel is None else "not stated",
        f"{title} API": f"Python {said.python}",
        "Architecture": _ARCHITECTURES.get(platform.machine(), platform.machine()),
        "Execution Provider": "Default CPU" if said.provider in (DEFAULT_PROVIDER, "CPU") else said.provider,
        "Execution Provider Library Version": ", ".join(runtime.requirements),
    }
    heading = f"# MaxPool: {', '.join(kind.value for kind in one.kinds)} ({runtime.named})"
    return "\n\n".join([heading, *(f"### {name}\n\n{text}" for name, text in sections.items())]) + "\n"
