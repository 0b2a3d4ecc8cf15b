"""What a run is made on, as far as an answer can depend on it."""

from __future__ import annotations

import platform
from importlib.metadata import version
from pathlib import Path

LIBRARIES = ("numpy", "ml_dtypes", "onnx")


def cpu() -> str:
    """The processor's name."""
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return f"{line.partition(':')[2].strip()} ({platform.machine()})"
    except OSError:
        pass
    return f"{platform.processor() or 'unknown'} ({platform.machine()})"


def system() -> str:
    """The operating system and the version of its kernel, less what a distributor adds."""
    return f"{platform.system()} {platform.release().partition('-')[0]}"


def libraries() -> dict[str, str]:
    """The versions of what the reference and the models are made with."""
    return {name: version(name) for name in LIBRARIES}


def python() -> str:
    """The version of Python that runs the tool."""
    return platform.python_version()
