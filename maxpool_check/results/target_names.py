"""The grammar of the names of targets, whichever runtimes and tools there are: those of a record may be others than here."""

import re

TRANSFORM = "transform:"
"""How the names of targets begin whose models a tool rewrites."""

OUTPUTS = "outputs:"
"""How the names of targets begin whose outputs were made elsewhere, and are in a file."""

RESULTS = "results:"
"""How the names of such targets begin in older records: they do not name the file, and cannot be executed again."""

KERNELS = ("python:", "command:", OUTPUTS, RESULTS)
"""How the names of targets begin that are kernels of the user's own, or their outputs."""

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
