"""The worker's loop: one JSON line in, one out, until stdin ends.

Started as ``python -m worker ADAPTER``. The first line out is ``ready`` or ``failed``; every request is answered with one
``answer``, ``refusal``, ``unable`` or ``failed`` of the same id, in the order in which they came.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
from typing import Any

from .tensors import decoded, encoded

PROTOCOL = 1


def main() -> None:
    """Answer requests until there are no more."""
    # What the runtime prints must not end up between the lines of the protocol: they take a private copy of stdout,
    # and file descriptor 1 goes to stderr from here on.
    out = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)
    requests = os.fdopen(os.dup(0), "rb")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)

    def say(message: dict[str, Any]) -> None:
        data = json.dumps(message).encode() + b"\n"
        view = memoryview(data)
        while view:
            view = view[out.write(view) or 0 :]

    start = json.loads(requests.readline() or b"null")
    if start is None:
        return
    try:
        if start.get("protocol") != PROTOCOL:
            raise ValueError(f"the worker speaks protocol {PROTOCOL}, it was asked for {start.get('protocol')}")
        # Imported by its name: each adapter imports its runtime, and no other is there.
        module = importlib.import_module(f".{sys.argv[1]}_adapter", __package__)
        adapter = module.ADAPTER(start["options"])
    except Exception as error:
        say({"type": "failed", "message": f"{type(error).__name__}: {error}"})
        return
    say({"type": "ready", "protocol": PROTOCOL, **adapter.describe()})
    for line in requests:
        request = json.loads(line)
        try:
            inputs = {name: decoded(tensor) for name, tensor in request["inputs"].items()}
            reply = adapter.ask(request, inputs)
            if "outputs" in reply:
                reply["outputs"] = {name: encoded(value) for name, value in reply["outputs"].items()}
        except Exception as error:
            reply = {"type": "failed", "message": f"{type(error).__name__}: {error}"}
        say({"id": request["id"], **reply})


if __name__ == "__main__":
    main()
