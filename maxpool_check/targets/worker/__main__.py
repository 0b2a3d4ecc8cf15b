"""The worker's loop: one JSON line in, one JSON line out, until stdin ends.

Started as ``python -m worker ADAPTER``. The first line out is ``ready`` or ``failed``. Each request gets one ``result``,
``refusal``, ``unable`` or ``failed`` with its id, in the order of the requests.
"""

from __future__ import annotations

import importlib
import json
import os
import platform
import sys
from typing import Any

import numpy as np

from .messages import decode, encode

PROTOCOL = 1

_DESCRIPTION = {
    "provider": "CPU",
    "providers": ["CPU"],
    "session_options": {},
    "python": platform.python_version(),
    "numpy": np.__version__,
}
"""What every adapter says of itself, unless it says otherwise."""


def main() -> None:
    """Run requests until stdin ends."""
    # The output of the runtime must not mix with the protocol, which uses a private copy of stdout; file descriptor 1
    # is redirected to stderr.
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    requests = os.fdopen(os.dup(0), "rb")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)

    def send(message: dict[str, Any]) -> None:
        out.write(json.dumps(message).encode() + b"\n")
        out.flush()

    start = json.loads(requests.readline() or b"null")
    if start is None:
        return
    try:
        if start.get("protocol") != PROTOCOL:
            raise ValueError(f"the worker has protocol {PROTOCOL}, not {start.get('protocol')}")
        # Each adapter imports its runtime; no other runtime is installed.
        module = importlib.import_module(f".{sys.argv[1]}_adapter", __package__)
        try:
            adapter = module.ADAPTER(start["options"])
        except ValueError as error:
            # The module of a function is the user's, and the process of a tool may have died.
            if sys.argv[1] in ("python", "transform"):
                raise
            send({"type": "failed", "message": str(error), "refused": True})
            return
    except Exception as error:
        send({"type": "failed", "message": f"{type(error).__name__}: {error}"})
        return
    send({"type": "ready", "protocol": PROTOCOL, **_DESCRIPTION, **adapter.description})
    for line in requests:
        request = json.loads(line)
        try:
            inputs = {name: decode(tensor) for name, tensor in request["inputs"].items()}
            outcome = adapter.run(request, inputs)
            if outcome["type"] == "result":
                outcome["outputs"] = {name: encode(value) for name, value in outcome["outputs"].items()}
        except Exception as error:
            outcome = {"type": "failed", "message": f"{type(error).__name__}: {error}"}
        send({"id": request["id"], **outcome})


if __name__ == "__main__":
    main()
