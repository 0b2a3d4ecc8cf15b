"""The processor that this process runs on, as the record has it.

What Linux lists would be that of the host of an emulator; the instruction sets are those that numpy has tried.
"""

from __future__ import annotations

import contextlib
import os
import platform
from pathlib import Path
from typing import Any

import numpy as np

_ARCHITECTURES = {"AMD64": "x86_64", "arm64": "aarch64"}
"""The names of other systems for what Linux calls otherwise."""

_FEATURES = {
    "sse4.1": {"SSE41"},
    "avx": {"AVX"},
    "avx2": {"AVX2"},
    "avx512f": {"AVX512F"},
    "neon": {"ASIMD"},
    "sve": {"SVE"},
    "float16": {"ASIMDHP", "AVX512FP16", "AVX512_SPR"},
}
"""The instruction sets that decide which kernels run, with numpy's names for them; ``float16`` is arithmetic, not conversion."""


def processor() -> dict[str, Any]:
    """The architecture, the model (empty: unknown) and the instruction sets (None: unknown)."""
    machine = platform.machine()
    return {"architecture": _ARCHITECTURES.get(machine, machine), "model": _model(), "features": _features()}


def _features() -> list[str] | None:
    # numpy leaves out what these variables turn off, for itself alone.
    if {"NPY_DISABLE_CPU_FEATURES", "NPY_ENABLE_CPU_FEATURES"} & set(os.environ):
        return None
    core = getattr(np, "_core", None) or np.core
    found = getattr(core._multiarray_umath, "__cpu_features__", None)
    if found is None:
        return None
    return [name for name, names in _FEATURES.items() if any(found.get(each) for each in names)]


def _model() -> str:
    with contextlib.suppress(OSError):
        # An emulator of user programs pretends to be the program in /proc/self, and nowhere else.
        # Path.readlink is not there before Python 3.9.
        program, own = (os.readlink(f"/proc/{name}/exe") for name in ("thread-self", "self"))  # noqa: PTH115
        if program != own:
            return f"emulated by {Path(program).name}"
        for line in Path("/proc/cpuinfo").read_text(errors="replace").splitlines():
            name, _, value = line.partition(":")
            if name.strip() == "model name":
                return value.strip()
    return platform.processor()
