"""The messages to and from a worker, as JSON objects, and mistakes in them: ``docs/kernel.md`` describes the protocol.

To and from a worker of the tool, the bytes of tensors may follow the line of a message, which then has their numbers.
"""

import base64
import codecs
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from maxpool_check import inert
from maxpool_check.corpus.problems import Structure, describe
from maxpool_check.corpus.schema import read_schema
from maxpool_check.results.details import InferredOutput
from maxpool_check.results.outcomes import Accepted, Failed, Inferred, NotExecuted, Outcome, RefusedByTarget, Returned
from maxpool_check.results.variants import VARIATIONS
from maxpool_check.specifications import documents
from maxpool_check.targets.languages import LANGUAGES
from maxpool_check.targets.worker.messages import DTYPES, ORIGINAL, decode, described_tensor, encode

MOST_BYTES = 2**30
"""The longest message a worker may write: far more than the largest tensor, less than the memory of a machine."""

ON_STDOUT = "expected a JSON object on each line of stdout; whatever else the program prints belongs on stderr"

MOST_TEXT = 4096
"""The most characters that are kept of a message of a program."""

SEE = "'maxpool-check docs kernel' describes the protocol, 'maxpool-check targets check' tries it"
"""Where a user finds what is right."""

_MOST_QUOTED = 200
"""The most characters of a line that are quoted."""

_DEEPEST = 8
"""How deep ``session_options`` may be nested, so that reports can show them."""

_MESSAGES = ("result", "shapes", "accepted", "refusal", "unable", "failed")
_SCHEMAS = {
    kind: read_schema(
        Path(__file__).with_name("protocol.schema.json"),
        kind,
        dtypes=list(DTYPES),
        dtypes_or_null=[*DTYPES, None],
        languages=["attributes", "model", *(name for name in LANGUAGES if name != "onnx")],
        settings=[*(variation.name for variation in VARIATIONS if variation.is_setting), ORIGINAL],
    )
    for kind in ("ready", *_MESSAGES)
}
_STRUCTURES = {kind: Structure(schema) for kind, schema in _SCHEMAS.items()}


@dataclass(frozen=True, eq=False)
class Request:
    """What a worker executes: X as the runtime takes it, the outputs, and the model or the attributes.

    ``setting`` is one that the program supports. ``excluded``: the document excludes the graph; a runtime that runs it
    nevertheless may damage its own memory, so its process executes nothing else. ``spec`` is the document that a kernel is
    told. ``more`` are the further inputs of the model;
    ``feeds_input``: X is an input of it, not an initializer. ``path`` is the file of the model, in place of its bytes, and
    ``disabled`` are optimizers that are disabled, for targets that take files.
    """

    X: np.ndarray
    outputs: tuple[str, ...]
    model: bytes
    attributes: Mapping[str, Any]
    setting: str | None = None
    excluded: bool = False
    spec: str | None = None
    more: Mapping[str, np.ndarray] = field(default_factory=dict)
    feeds_input: bool = True
    path: str | None = None
    disabled: tuple[str, ...] = ()

    @property
    def inputs(self) -> dict[str, np.ndarray]:
        """The inputs of the model, by name."""
        return {**({"X": self.X} if self.feeds_input else {}), **self.more}

    def line(self, number: int) -> bytes:
        """The request as a line of JSON with this ``id``."""
        inputs = {name: encode(value) for name, value in self.inputs.items()}
        # Some programs look for keys as Python writes them.
        return json.dumps(self._message(number, base64.b64encode(self.model).decode(), inputs)).encode() + b"\n"

    def line_and_bytes(self, number: int) -> bytes:
        """The request as a line of JSON with this ``id``, which says how many bytes of the model and of each input follow.

        Workers of the tool take it: a large input takes a tenth of the time that base64 takes.
        """
        described = {name: described_tensor(value) for name, value in self.inputs.items()}
        contents = [self.model, *(content or b"" for _, content in described.values())]
        inputs = {name: {**tensor, "data": len(content or b"")} for name, (tensor, content) in described.items()}
        line = msgspec.json.encode(self._message(number, len(self.model), inputs))
        return b"".join([line, b"\n", *contents])

    def _message(self, number: int, model: object, inputs: Mapping[str, Any]) -> dict[str, Any]:
        message: dict[str, Any] = {
            "id": number,
            "model": model,
            "attributes": dict(self.attributes),
            "inputs": inputs,
            "outputs": list(self.outputs),
        }
        if self.setting is not None:
            message["setting"] = self.setting
        if self.spec is not None:
            message["spec"] = self.spec
        if self.path is not None:
            message["path"] = self.path
        if self.disabled:
            message["disabled_optimizers"] = list(self.disabled)
        return message


def outcome_of(message: Mapping[str, Any], number: int) -> Outcome:
    """The outcome that a message reports of the request with this ``id``.

    Raises ``ValueError`` for a message that breaks the protocol, with the key that is wrong and what is allowed.
    """
    try:
        return _outcome(message, number)
    except Exception as error:
        # Only now, because every outcome of a run comes this way.
        raise ValueError(in_message(message, number) or f"{type(error).__name__}: {error}") from error


def _outcome(message: Mapping[str, Any], number: int) -> Outcome:
    # To Python, true equals 1.
    if isinstance(message["id"], bool) or message["id"] != number:
        raise ValueError("another id")
    match message["type"]:
        case "result":
            outputs = {name: np.asarray(decode(tensor)) for name, tensor in message["outputs"].items()}
            return Returned(outputs, message.get("provider"))
        case "shapes":
            if mistake := in_message(message, number):
                raise ValueError(mistake)
            return Inferred(msgspec.convert(message["outputs"], dict[str, InferredOutput]))
        case "accepted":
            return Accepted()
        case "refusal":
            return RefusedByTarget(text_of(message["status"]), text_of(message["message"]))
        case "unable":
            return NotExecuted(text_of(message["message"]))
        case "failed":
            return Failed(text_of(message["message"]))
    raise ValueError("another type")


def text_of(message: object) -> str:
    """A text of a program, and its length where only the beginning is kept."""
    try:
        # The message of a kernel may contain what no encoding can write.
        text = str(message).encode(errors="backslashreplace").decode()
    except RecursionError:
        return "a value that is nested too deeply"
    return text if len(text) <= MOST_TEXT else f"{text[:MOST_TEXT]}... ({len(text)} characters)"


def _not_json(name: str) -> float:
    raise ValueError(f"{name} is not JSON")


def _finite(text: str) -> float:
    number = float(text)
    return number if math.isfinite(number) else _not_json(text)


_DECODER = json.JSONDecoder(parse_constant=_not_json, parse_float=_finite)


def _without_surrogates(value: Any) -> Any:
    """A JSON value with halves of surrogate pairs as escapes."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, dict):
        return {_without_surrogates(name): _without_surrogates(entry) for name, entry in value.items()}
    return [_without_surrogates(entry) for entry in value] if isinstance(value, list) else value


def _where(error: json.JSONDecodeError) -> str:
    """What is wrong with a line, and the text around it."""
    ends = error.pos >= len(error.doc.rstrip()) or error.msg.startswith("Unterminated string")
    around = error.doc[-40:] if ends else error.doc[max(0, error.pos - 20) : error.pos + 20]
    what = (
        f"it ends too early, after {len(error.doc.rstrip())} characters,"
        if ends
        else f"column {error.colno}: {error.msg},"
    )
    return f"{what} at '{text_of(around.strip())}'"


def parsed(line: bytes, expected: str = ON_STDOUT) -> dict[str, Any]:
    """A line as a JSON object. Raises ``ValueError``, which says what is ``expected``."""
    if len(line) > MOST_BYTES:
        raise ValueError(f"a line of more than {MOST_BYTES} bytes")
    try:
        # Of bytes, json would guess an encoding.
        message = _DECODER.decode(line.removeprefix(codecs.BOM_UTF8).decode())
        if b"\\ud" in line or b"\\uD" in line:
            # Half of a surrogate pair is no text: neither a record nor a report could hold it.
            message = _without_surrogates(message)
    except RecursionError as error:
        raise ValueError("a line is nested too deeply") from error
    except UnicodeDecodeError as error:
        byte = f"byte 0x{error.object[error.start]:02x} at position {error.start}"
        raise ValueError(f"a line is not UTF-8 ({byte}); {expected}") from error
    except json.JSONDecodeError as error:
        raise ValueError(f"a line is not JSON ({_where(error)}); {expected}") from error
    except ValueError as error:
        raise ValueError(f"a line is not JSON ({error}); {expected}") from error
    if not isinstance(message, dict):
        raise ValueError(f"a line is not a JSON object; {expected}")
    return message


def quoted(line: bytes) -> str:
    """The beginning of a line of a program, inert, and its length where that is not all."""
    text = inert.line(line[: 4 * _MOST_QUOTED].decode(errors="backslashreplace"))
    if len(line) <= 4 * _MOST_QUOTED and len(text) <= _MOST_QUOTED:
        return text or "an empty line"
    return f"{text[:_MOST_QUOTED]}... ({len(line)} bytes)"


def about_line(line: bytes) -> str:
    """What follows a message on a line that breaks the protocol: the line, and where to read what is right."""
    return f"; its line: {quoted(line)}; {SEE}"


def in_ready(message: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The mistakes in a ``ready`` line: each key, and what is wrong with its value."""
    for path, key, text in _STRUCTURES["ready"].mistakes(message):
        yield (_path(path, key) or "ready"), text
    specs, level = message.get("specs"), [message.get("session_options")]
    for name in specs if isinstance(specs, list) else ():
        try:
            documents(name) if isinstance(name, str) else None
        except ValueError as error:
            yield "specs", str(error)
    for _ in range(_DEEPEST + 1):
        nested = [
            value.values() if isinstance(value, dict) else value for value in level if isinstance(value, (dict, list))
        ]
        level = [entry for entries in nested for entry in entries]
    if nested:
        yield "session_options", f"session_options is nested more than {_DEEPEST} deep"


def unknown_in_ready(message: Mapping[str, Any]) -> dict[str, str]:
    """The keys of a ``ready`` line that the protocol does not have, each with the nearest that it has."""
    known = _SCHEMAS["ready"]["properties"]
    return {key: "".join(get_close_matches(key, known, 1)) for key in message if key not in known}


def in_message(message: Mapping[str, Any], number: int) -> str:
    """What is wrong with a message about the request of this ``id``; empty if nothing is."""
    identity, kind = message.get("id"), message.get("type")
    # To Python, true equals 1.
    if isinstance(identity, bool) or identity != number:
        found = f"is {inert.dumps(identity)}" if "id" in message else "is missing"
        return f"'id' {found}; expected {number}, the id of the request"
    if kind not in _MESSAGES:
        found = f"is {inert.dumps(kind)[:_MOST_QUOTED]}" if "type" in message else "is missing"
        return f"'type' {found}; expected {', '.join(_MESSAGES)}"
    for path, key, text in _STRUCTURES[kind].mistakes(message):
        return f"'{_path(path, key)}': {text}" if path or key else text
    tensors = message["outputs"].items() if kind == "result" else ()
    return next((f"'outputs.{name}': {text}" for name, tensor in tensors if (text := _in_tensor(tensor))), "")


def _in_tensor(tensor: Mapping[str, Any]) -> str:
    """What is wrong with a tensor whose structure is right; empty if nothing is."""
    dtype, shape = tensor["dtype"], tensor["shape"]
    key, form = ("hex", "hexadecimal") if "hex" in tensor else ("data", "base64")
    try:
        found = len(bytes.fromhex(tensor[key]) if key == "hex" else base64.b64decode(tensor[key], validate=True))
    except ValueError as error:
        return f"'{key}' is not {form} ({error}): {describe(tensor[key])}"
    expected = math.prod(shape) * (2 if dtype == "bfloat16" else np.dtype(dtype).itemsize)
    if found != expected:
        return f"'{key}' has {found} bytes; {dtype} of the shape {shape} has {expected}"
    try:
        decode(dict(tensor))
    except (ValueError, TypeError, OverflowError) as error:
        return str(error)
    return ""


def _path(path: Sequence[str | int], key: str | None) -> str:
    words = [*path, *([key] if key is not None else [])]
    return "".join(f"[{word}]" if isinstance(word, int) else f".{word}" for word in words).lstrip(".")
