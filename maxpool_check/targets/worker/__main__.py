"""The worker's loop: one message in, one message out, until stdin ends.

Started as ``python -m worker ADAPTER``: the beginning of the name of its module, and of another class than ``Runtime`` a dot and
its name. The first line out is ``ready`` or ``failed``. Each request gets one ``result``, ``refusal``, ``unable`` or
``failed`` with its id, in the order of the requests. The bytes of the model and the inputs of a request may follow its
line, which then has their numbers; so do those of the outputs follow the line of its result.
"""

from __future__ import annotations

import base64
import contextlib
import importlib
import json
import os
import platform
import sys
import time
from pathlib import Path
from typing import IO, Any, Iterable

import numpy as np

from .messages import decode, encode

PROTOCOL = 1

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


def main() -> None:
    """Run requests until stdin ends."""
    # The output of the runtime must not mix with the protocol, which uses a private copy of stdout; file descriptor 1
    # is redirected to stderr.
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    requests = os.fdopen(os.dup(0), "rb")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)

    def send(message: dict[str, Any], following: Iterable[bytes] = ()) -> None:
        out.write(b"".join([json.dumps(message).encode(), b"\n", *following]))
        out.flush()

    refuses = False
    try:
        # Each adapter imports its runtime; no other runtime is installed. The first line may come later.
        module_name, _, class_name = sys.argv[1].partition(".")
        module = importlib.import_module(f".{module_name}_adapter", __package__)
        start = json.loads(requests.readline() or b"null")
        if start is None:
            return
        if start.get("protocol") != PROTOCOL:
            raise ValueError(f"the worker has protocol {PROTOCOL}, not {start.get('protocol')}")
        # The module of a function is the user's, and the process of a tool may have died.
        refuses = sys.argv[1] not in ("python", "transform")
        adapter = getattr(module, class_name or "Runtime")(start["options"])
    except Exception as error:
        if refuses and isinstance(error, ValueError):
            send({"type": "failed", "message": str(error), "refused": True})
        else:
            send({"type": "failed", "message": _told(error)})
        return
    # What every adapter says of itself, unless it says otherwise.
    common = {"provider": "CPU", "providers": ["CPU"], "session_options": {}}
    versions = {"python": platform.python_version(), "numpy": np.__version__}
    send(
        {"type": "ready", "protocol": PROTOCOL, "processor": _processor(), **common, **versions, **adapter.description}
    )
    for line in requests:
        request = json.loads(line)
        following: list[bytes] | None = [] if isinstance(request["model"], int) else None
        try:
            request["model"] = _bytes(request["model"], requests)
            for tensor in request["inputs"].values():
                tensor["data"] = _bytes(tensor["data"], requests)
            inputs = {name: decode(tensor) for name, tensor in request["inputs"].items()}
            began = time.monotonic()
            outcome = adapter.run(request, inputs)
            outcome["seconds"] = time.monotonic() - began
            if outcome["type"] == "result":
                outcome["outputs"] = {name: encode(value, following) for name, value in outcome["outputs"].items()}
        except Exception as error:
            outcome, following = {"type": "failed", "message": _told(error)}, None
        send({"id": request["id"], **outcome}, following or ())


def _told(error: Exception) -> str:
    """An exception, and its ``place`` in the files of the user if an adapter has found it."""
    return f"{type(error).__name__}: {error}{getattr(error, 'place', '')}"


def _bytes(data: str | int, requests: IO[bytes]) -> bytes:
    """The bytes of base64, or as many as follow the line."""
    return base64.b64decode(data, validate=True) if isinstance(data, str) else requests.read(data)


def _processor() -> dict[str, Any]:
    """The processor that this process runs on: architecture, model (empty: unknown) and instruction sets (None: unknown)."""
    machine = platform.machine()
    return {"architecture": _ARCHITECTURES.get(machine, machine), "model": _model(), "features": _features()}


def _features() -> list[str] | None:
    """The instruction sets that numpy has tried: what Linux lists would be those of the host of an emulator."""
    # numpy leaves out what these variables turn off, for itself alone.
    if {"NPY_DISABLE_CPU_FEATURES", "NPY_ENABLE_CPU_FEATURES"} & set(os.environ):
        return None
    core = getattr(np, "_core", None) or np.core
    tried = getattr(core._multiarray_umath, "__cpu_features__", None)
    if tried is None:
        return None
    return [name for name, names in _FEATURES.items() if any(tried.get(each) for each in names)]


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


if __name__ == "__main__":
    main()
