"""The names of targets.

``RUNTIME[==VERSION][@PROVIDER][?key=value&...]``, ``python:PATH.py:FUNCTION`` and ``command:PROGRAM ARG...``.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import parse_qsl

from packaging.version import InvalidVersion, Version

from maxpool_check.specifications.attributes import nearest
from maxpool_check.targets.runtimes import RUNTIMES

_PATTERN = re.compile(
    r"(?P<runtime>[A-Za-z0-9._-]+)(==(?P<version>[^@?]+))?(@(?P<provider>[^?]+))?(\?(?P<options>.*))?"
)


class BadTarget(ValueError):
    """A target name that cannot be read."""


@dataclass(frozen=True)
class TargetName:
    """Who is asked, as written.

    ``version`` None means the installed one; ``provider`` None the runtime's default. ``function`` is PATH.py and
    FUNCTION of a ``python:`` target, ``program`` the words of a ``command:`` target.
    """

    text: str
    runtime: str
    version: str | None = None
    provider: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    function: tuple[str, str] | None = None
    program: tuple[str, ...] | None = None

    @property
    def is_released(self) -> bool:
        """Whether it is a runtime that has versions, not somebody's own kernel."""
        return self.function is None and self.program is None

    def __str__(self) -> str:
        return self.text

    def at(self, version: str) -> TargetName:
        """The same runtime, provider and options in an isolated release."""
        return parse(f"{self.runtime}=={version}{self.text.removeprefix(self.runtime)}")


def parse(text: str) -> TargetName:
    """Read a target name. Raises :class:`BadTarget`."""
    if text.startswith(("python:", "command:")):
        return _kernel(text)
    found = _PATTERN.fullmatch(text)
    if not found:
        raise BadTarget(f"'{text}' is not RUNTIME[==VERSION][@PROVIDER][?key=value&...]")
    runtime, version = found["runtime"], found["version"]
    if runtime not in RUNTIMES:
        raise BadTarget(f"unknown runtime '{runtime}'{nearest(runtime, RUNTIMES)}; see 'maxpool-check targets'")
    if version is not None:
        try:
            Version(version)
        except InvalidVersion as error:
            raise BadTarget(f"'{version}' is not a version, in '{text}'; write one, as 1.23.2") from error
    try:
        options = dict(parse_qsl(found["options"] or "", strict_parsing=True) if found["options"] else [])
    except ValueError as error:
        raise BadTarget(f"the options of '{text}' are not key=value&key=value") from error
    if version is not None and "python" in options:
        raise BadTarget(f"'{text}' names a version and an interpreter; an interpreter has its own version")
    return TargetName(text, runtime, version, found["provider"], options)


def _kernel(text: str) -> TargetName:
    """Somebody's own kernel: a function, or a program that speaks the protocol."""
    if text.startswith("python:"):
        path, _, function = text.removeprefix("python:").rpartition(":")
        if not path.endswith(".py") or not function.isidentifier():
            raise BadTarget(f"'{text}' is not python:PATH.py:FUNCTION")
        return TargetName(text, "python", function=(path, function))
    try:
        words = shlex.split(text.removeprefix("command:"))
    except ValueError as error:
        raise BadTarget(f"'{text}' is not command:PROGRAM ARG...: {error}") from error
    if not words:
        raise BadTarget(f"'{text}' is not command:PROGRAM ARG...")
    return TargetName(text, "command", program=tuple(words))
