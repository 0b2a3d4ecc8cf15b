"""The values that keys of a configuration take: what TOML and an environment variable must hold, and the JSON Schema.

Every value becomes text, a list of texts or a truth value, as the command line would have it.
"""

import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from maxpool_check.files import RECORD_SUFFIXES

Value = str | bool | Sequence[str]
"""A value as the command line has it."""

_STRING: Mapping[str, Any] = {"type": "string", "minLength": 1}

_TRUTHS = {
    **dict.fromkeys(("1", "true", "t", "yes", "y", "on"), True),
    **dict.fromkeys(("0", "false", "f", "no", "n", "off"), False),
}


@dataclass(frozen=True)
class Text:
    """A text; one of ``choices`` if there are any."""

    choices: tuple[str, ...] = ()

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON Schema."""
        return {"enum": list(self.choices)} if self.choices else {**_STRING}

    def from_toml(self, value: object, _folder: Path) -> Value:
        """The value of a file in ``folder``. Raises ``ValueError``."""
        if self.choices and value not in self.choices:
            raise ValueError(f"must be one of {', '.join(self.choices)}")
        if not isinstance(value, str) or not value:
            raise ValueError("must be a text")
        return value

    def from_text(self, text: str) -> Value:
        """The value of an environment variable. Raises ``ValueError``."""
        return self.from_toml(text, Path())


@dataclass(frozen=True)
class File:
    """The path of a file or a folder, relative to the file of the configuration."""

    schema: ClassVar[Mapping[str, Any]] = _STRING

    def from_toml(self, value: object, folder: Path) -> Value:
        """The value of a file. Raises ``ValueError``."""
        if not isinstance(value, str) or not value:
            raise ValueError("must be a path")
        return relocated(value, folder)

    def from_text(self, text: str) -> Value:
        """The value of an environment variable."""
        return text


@dataclass(frozen=True)
class TargetText:
    """The name of a target; the file of a kernel is relative to the file of the configuration."""

    schema: ClassVar[Mapping[str, Any]] = _STRING

    def from_toml(self, value: object, folder: Path) -> Value:
        """The value of a file in ``folder``. Raises ``ValueError``."""
        if not isinstance(value, str) or not value:
            raise ValueError("must be a text, such as onnxruntime==1.31.1")
        kind, _, rest = value.partition(":")
        program = rest.partition(" ")[0]
        if kind == "python" or (kind == "command" and os.sep in program):
            return f"{kind}:{relocated(rest, folder)}"
        if value.endswith(RECORD_SUFFIXES):
            # The base of a gate may be a record.
            return relocated(value, folder)
        return value

    def from_text(self, text: str) -> Value:
        """The value of an environment variable."""
        return text


@dataclass(frozen=True)
class Many:
    """A list of values, or ``or_one`` value; in an environment variable they are words, as in a shell.

    They are ``joined`` by this character if there is one.
    """

    each: Text | File | TargetText
    example: str
    joined: str = ""
    or_one: bool = False

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON Schema."""
        schema = {"type": "array", "items": self.each.schema}
        return {"anyOf": [self.each.schema, schema]} if self.or_one else schema

    def from_toml(self, value: object, folder: Path) -> Value:
        """The value of a file in ``folder``. Raises ``ValueError``."""
        if self.or_one and isinstance(value, str):
            value = [value]
        if not isinstance(value, list):
            raise ValueError(f'must be a list, such as ["{self.example}"]')
        values = []
        for number, element in enumerate(value, 1):
            try:
                values.append(str(self.each.from_toml(element, folder)))
            except ValueError as error:
                raise ValueError(f"element {number} {error}") from error
        return self.joined.join(values) if self.joined else values

    def from_text(self, text: str) -> Value:
        """The value of an environment variable. Raises ``ValueError``."""
        try:
            return text if self.joined else shlex.split(text)
        except ValueError as error:
            raise ValueError(f"is not a list of words: {error}") from error


@dataclass(frozen=True)
class Number:
    """A number above 0, whole if ``whole``."""

    whole: bool = True

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON Schema."""
        return {"type": "integer", "minimum": 1} if self.whole else {"type": "number", "exclusiveMinimum": 0}

    def from_toml(self, value: object, _folder: Path) -> Value:
        """The value of a file in ``folder``. Raises ``ValueError``."""
        kinds = (int,) if self.whole else (int, float)
        if isinstance(value, bool) or not isinstance(value, kinds) or not value > 0:
            raise ValueError(f"must be a {'whole number' if self.whole else 'number'} above 0")
        return str(value)

    def from_text(self, text: str) -> Value:
        """The value of an environment variable. The option judges it."""
        return text


@dataclass(frozen=True)
class Truth:
    """True or false."""

    schema: ClassVar[Mapping[str, Any]] = {"type": "boolean"}

    def from_toml(self, value: object, _folder: Path) -> Value:
        """The value of a file. Raises ``ValueError``."""
        if not isinstance(value, bool):
            raise ValueError("must be true or false")
        return value

    def from_text(self, text: str) -> Value:
        """The value of an environment variable. Raises ``ValueError``."""
        if text.lower() not in _TRUTHS:
            raise ValueError("must be true or false")
        return _TRUTHS[text.lower()]


@dataclass(frozen=True)
class Reports:
    """Files of reports by their format; in an environment variable FORMAT=PATH."""

    formats: tuple[str, ...]

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON Schema."""
        return {"type": "object", "properties": dict.fromkeys(self.formats, _STRING), "additionalProperties": False}

    def from_toml(self, value: object, folder: Path) -> Value:
        """The value of a file in ``folder``. Raises ``ValueError``."""
        if not isinstance(value, Mapping):
            raise ValueError('must be a table of paths by format, such as {html = "build/report.html"}')
        if unknown := [name for name in value if name not in self.formats]:
            raise ValueError(f"has the unknown format '{unknown[0]}'; formats are {', '.join(self.formats)}")
        files = []
        for name, path in value.items():
            try:
                files.append(f"{name}={File().from_toml(path, folder)}")
            except ValueError as error:
                raise ValueError(f"{name} {error}") from error
        return files

    def from_text(self, text: str) -> Value:
        """The value of an environment variable. Raises ``ValueError``."""
        return Many(Text(), "").from_text(text)


ValueType = Text | File | TargetText | Many | Number | Truth | Reports


def relocated(path: str, folder: Path) -> str:
    """A path that is relative to ``folder``, from the working folder; ``-`` and names of the corpus stay."""
    if path == "-" or path.startswith("corpus:") or os.path.isabs(path) or folder == Path.cwd():  # noqa: PTH117
        return path
    return os.path.join(os.path.relpath(folder), path)  # noqa: PTH118 (keeps './')
