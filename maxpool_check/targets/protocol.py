"""The messages to and from a worker, as JSON objects: CONTRIBUTING describes the protocol."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from maxpool_check.results.outcomes import Failed, NotExecuted, Outcome, RefusedByTarget, Returned
from maxpool_check.targets.worker.tensors import decode, encode


@dataclass(frozen=True, eq=False)
class Request:
    """What a worker executes: X as the runtime takes it, the outputs, and the model or the attributes.

    ``setting`` is one that the program supports. ``excluded``: the document excludes the graph; a runtime that runs it
    nevertheless may damage its own memory, so its process executes nothing else.
    """

    X: np.ndarray
    outputs: tuple[str, ...]
    model: bytes
    attributes: Mapping[str, Any]
    setting: str | None = None
    excluded: bool = False

    def line(self, number: int) -> bytes:
        """The request as a line of JSON with this ``id``."""
        message = {
            "id": number,
            "model": base64.b64encode(self.model).decode(),
            "attributes": dict(self.attributes),
            "inputs": {"X": encode(self.X)},
            "outputs": list(self.outputs),
        }
        if self.setting is not None:
            message["setting"] = self.setting
        return json.dumps(message).encode() + b"\n"


def outcome_of(message: Mapping[str, Any], number: int) -> Outcome:
    """The outcome that a message reports of the request with this ``id``.

    Any exception means that the message breaks the protocol.
    """
    identity = message.get("id")
    # To Python, true equals 1.
    if isinstance(identity, bool) or identity != number:
        raise ValueError(f"the message for request {number} has the id {identity!r}")
    if message["type"] == "result":
        outputs = {name: np.asarray(decode(tensor)) for name, tensor in message["outputs"].items()}
        return Returned(outputs, message.get("provider"))
    if message["type"] == "refusal":
        return RefusedByTarget(_text(message["status"]), _text(message["message"]))
    if message["type"] == "unable":
        return NotExecuted(_text(message["message"]))
    return Failed(_text(message["message"]))


def _text(message: object) -> str:
    # The message of a kernel may contain what no encoding can write.
    return str(message).encode(errors="backslashreplace").decode()
