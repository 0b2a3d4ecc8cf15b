"""Mistakes in the messages of a program that speaks the protocol, in words: the key, its value, and what is allowed.

``docs/kernel.md`` describes the protocol to those who write such a program.
"""

import base64
import binascii
import math
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import numpy as np

from maxpool_check import inert
from maxpool_check.corpus.problems import Structure, describe
from maxpool_check.corpus.schema import read_schema
from maxpool_check.results.variants import VARIATIONS
from maxpool_check.specifications import documents
from maxpool_check.targets.languages import LANGUAGES
from maxpool_check.targets.worker.messages import DTYPES, ORIGINAL, decode

SEE = "'maxpool-check docs kernel' describes the protocol, 'maxpool-check protocol check' tries it"
"""Where a user finds what is right."""

MOST_QUOTED = 200
"""The most characters of a line that are quoted."""

MOST_AXES = 64
"""The most axes of a tensor, as numpy has it."""

_MESSAGES = ("result", "shapes", "accepted", "refusal", "unable", "failed")
_SCHEMAS = {
    kind: read_schema(
        Path(__file__).with_name("protocol.schema.json"),
        kind,
        dtypes=list(DTYPES),
        languages=["attributes", "model", *(name for name in LANGUAGES if name != "onnx")],
        settings=[*(variation.name for variation in VARIATIONS if variation.is_setting), ORIGINAL],
    )
    for kind in ("ready", *_MESSAGES)
}
_STRUCTURES = {kind: Structure(schema) for kind, schema in _SCHEMAS.items()}


def quoted(line: bytes) -> str:
    """The beginning of a line of a program, inert, and its length where that is not all."""
    text = inert.line(line[: 4 * MOST_QUOTED].decode(errors="backslashreplace"))
    if len(line) <= 4 * MOST_QUOTED and len(text) <= MOST_QUOTED:
        return text or "an empty line"
    return f"{text[:MOST_QUOTED]}... ({len(line)} bytes)"


def about_line(line: bytes) -> str:
    """What follows a message on a line that breaks the protocol: the line, and where to read what is right."""
    return f"; its line: {quoted(line)}; {SEE}"


def in_ready(message: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The mistakes in a ``ready`` line: each key, and what is wrong with its value."""
    for path, key, text in _STRUCTURES["ready"].mistakes(message):
        yield (_path(path, key) or "ready"), text
    specs = message.get("specs")
    for name in specs if isinstance(specs, list) else ():
        try:
            documents(name) if isinstance(name, str) else None
        except ValueError as error:
            yield "specs", str(error)
    try:
        _check_depth(message.get("session_options"))
    except ValueError as error:
        yield "session_options", str(error)


def unknown_in_ready(message: Mapping[str, Any]) -> dict[str, str]:
    """The keys of a ``ready`` line that the protocol does not have, which are ignored, each with the nearest that it has."""
    known = _SCHEMAS["ready"]["properties"]
    return {key: "".join(get_close_matches(key, known, 1)) for key in message if key not in known}


def in_message(message: Mapping[str, Any], number: int) -> str:
    """What is wrong with a message about the request of this ``id``; empty if its structure is right."""
    if "id" not in message:
        return f"'id' is missing; expected {number}, the id of the request"
    identity = message["id"]
    # To Python, true equals 1.
    if isinstance(identity, bool) or identity != number:
        return f"'id' is {inert.dumps(identity)}; expected {number}, the id of the request"
    kind = message.get("type")
    if not isinstance(kind, str) or kind not in _MESSAGES:
        found = f"is {inert.dumps(kind)[:MOST_QUOTED]}" if "type" in message else "is missing"
        return f"'type' {found}; expected {', '.join(_MESSAGES)}"
    for path, key, text in _STRUCTURES[kind].mistakes(message):
        return f"'{_path(path, key)}': {text}" if path or key else text
    check = {"result": in_tensor, "shapes": in_inferred}.get(kind)
    outputs = message["outputs"].items() if check is not None else ()
    return next((f"'outputs.{name}': {text}" for name, each in outputs if check and (text := check(each))), "")


def in_inferred(output: Mapping[str, Any]) -> str:
    """What is wrong with an output of which a program gives the dtype and the shape alone; empty if nothing is."""
    for key in ("dtype", "shape"):
        if key not in output:
            return f"'{key}' is missing; null is what is not known"
    dtype, shape = output["dtype"], output["shape"]
    if dtype is not None and dtype not in DTYPES:
        return f"'dtype' must be null or one of {', '.join(DTYPES)}, found {describe(dtype)}"
    if shape is not None and not isinstance(shape, list):
        return f"'shape' must be null or a list, found {describe(shape)}"
    if isinstance(shape, list) and len(shape) > MOST_AXES:
        return f"'shape' has {len(shape)} axes; at most {MOST_AXES} are possible"
    for size in shape or ():
        if size is not None and (type(size) is not int or not -(2**63) <= size < 2**63):
            return f"'shape' must have integers and null, found {describe(size)}"
    return ""


def in_tensor(tensor: Mapping[str, Any]) -> str:
    """What is wrong with a tensor whose structure is right; empty if nothing is."""
    try:
        data = base64.b64decode(tensor["data"], validate=True)
    except (binascii.Error, ValueError) as error:
        return f"'data' is not base64 ({error}): {describe(tensor['data'])}"
    size = 2 if tensor["dtype"] == "bfloat16" else np.dtype(tensor["dtype"]).itemsize
    expected = math.prod(tensor["shape"]) * size
    if len(data) != expected:
        return f"'data' has {len(data)} bytes; {tensor['dtype']} of the shape {tensor['shape']} has {expected}"
    try:
        decode(dict(tensor))
    except (ValueError, TypeError, OverflowError) as error:
        return str(error)
    return ""


def _path(path: Any, key: str | None) -> str:
    words = [*path, *([key] if key is not None else [])]
    return "".join(f"[{word}]" if isinstance(word, int) else f".{word}" for word in words).lstrip(".")


def _check_depth(options: Any, deepest: int = 8) -> None:
    """Raise ``ValueError`` for a map that is nested deeper than reports can show."""
    level: list[Any] = [options]
    for _ in range(deepest):
        maps = [value.values() if isinstance(value, dict) else value for value in level if value]
        level = [value for values in maps for value in values if isinstance(value, (dict, list))]
        if not level:
            return
    raise ValueError(f"session_options is nested more than {deepest} deep")
