"""What is said to a worker and what it says, as JSON objects: CONTRIBUTING describes the protocol."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from maxpool_check.results.outcomes import Failed, NotExecuted, Outcome, RefusedByTarget, Returned
from maxpool_check.targets.worker.tensors import decoded, encoded


@dataclass(frozen=True, eq=False)
class Request:
    """What a worker is asked: X as the runtime takes it, the outputs wanted, and the model or the attributes.

    ``setting`` is one that the program knows. ``excluded`` says that the document excludes what is asked: a runtime that
    answers may have broken its own memory over it, so that its process is ended then, and asked nothing else before.
    ``followed`` says that another request of the same variant may come next, and nothing else in between.
    """

    X: np.ndarray
    outputs: tuple[str, ...]
    model: bytes
    attributes: Mapping[str, Any]
    setting: str | None = None
    excluded: bool = False
    followed: bool = False


def variant(number: int, request: Request) -> dict[str, Any]:
    """A request as the variant of this number."""
    return {
        "id": number,
        "model": base64.b64encode(request.model).decode(),
        "attributes": dict(request.attributes),
        "inputs": {"X": encoded(request.X)},
        "outputs": list(request.outputs),
        **({"setting": request.setting} if request.setting is not None else {}),
    }


def outcome(reply: Mapping[str, Any], number: int) -> Outcome:
    """What a reply says of the variant of this number. Any exception means that it breaks the protocol."""
    found = reply.get("id")
    # To Python, true is 1.
    if isinstance(found, bool) or found != number:
        raise ValueError(f"the answer to variant {number} has the id {found!r}")
    if reply["type"] == "answer":
        outputs = {name: np.asarray(decoded(tensor)) for name, tensor in reply["outputs"].items()}
        return Returned(outputs, reply.get("provider"))
    if reply["type"] == "refusal":
        return RefusedByTarget(_text(reply["status"]), _text(reply["message"]))
    if reply["type"] == "unable":
        return NotExecuted(_text(reply["message"]))
    return Failed(_text(reply["message"]))


def _text(words: object) -> str:
    # A kernel's own words may hold what no encoding can write.
    return str(words).encode(errors="backslashreplace").decode()
