"""The grammar of the names of targets, whichever runtimes and tools there are: those of a record may be others than here."""

import re

TRANSFORM = "transform:"
"""How the names of targets begin whose models a tool rewrites."""

RESULTS = "results:"
"""How the names of targets begin whose results were made elsewhere: they are in records, and cannot be started."""

KERNELS = ("python:", "command:", RESULTS)
"""How the names of targets begin that are kernels of the user's own, or their results."""

DEFAULT_PROVIDERS = ("CPUExecutionProvider", "CPU", "")
"""The providers of a name without one: ONNX Runtime's on the CPU, the name for runtimes without providers, and none."""

_PARTS = re.compile(r"(?P<name>[A-Za-z0-9._-]+)(==(?P<version>[^@?]+))?(@(?P<provider>[^?]+))?(\?(?P<options>.*))?")


def parts_of(text: str) -> re.Match[str] | None:
    """The ``name``, ``version``, ``provider`` and ``options`` in the name of a runtime or a tool; None if it is none."""
    return _PARTS.fullmatch(text)


def tool_and_runtime(text: str) -> tuple[str, str]:
    """The name of the tool in the name of a target, empty where there is none, and that of the runtime."""
    tool, _, runtime = text.removeprefix(TRANSFORM).partition(":on:")
    return (tool, runtime) if text.startswith(TRANSFORM) else ("", text)
