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
    """An invalid target name."""


@dataclass(frozen=True)
class TargetName:
    """A parsed target name.

    ``version`` is None for the installed version, ``provider`` for the runtime's default. ``function`` is PATH.py and
    FUNCTION of a ``python:`` target, ``program`` the program and arguments of a ``command:`` target.
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
        """Whether it is a runtime with released versions, not a user's kernel."""
        return self.function is None and self.program is None

    def __str__(self) -> str:
        return self.text

    def at(self, version: str) -> TargetName:
        """The same runtime, provider and options, with another version."""
        return parse(f"{self.runtime}=={version}{self.text.removeprefix(self.runtime)}")


def parse(text: str) -> TargetName:
    """Parse a target name. Raises :class:`BadTarget`."""
    if text.startswith(("python:", "command:")):
        return _parse_kernel(text)
    match = _PATTERN.fullmatch(text)
    if not match:
        raise BadTarget(f"'{text}' is not RUNTIME[==VERSION][@PROVIDER][?key=value&...]")
    runtime, version = match["runtime"], match["version"]
    if runtime not in RUNTIMES:
        raise BadTarget(f"unknown runtime '{runtime}'{nearest(runtime, RUNTIMES)}; see 'maxpool-check targets'")
    if version is not None:
        try:
            Version(version)
        except InvalidVersion as error:
            raise BadTarget(f"'{version}' is not a version, in '{text}'; write e.g. 1.23.2") from error
    try:
        options = dict(parse_qsl(match["options"], strict_parsing=True)) if match["options"] else {}
    except ValueError as error:
        raise BadTarget(f"the options of '{text}' are not key=value&key=value") from error
    if version is not None and "python" in options:
        raise BadTarget(f"'{text}' has a version and an interpreter; use one of them")
    return TargetName(text, runtime, version, match["provider"], options)


def _parse_kernel(text: str) -> TargetName:
    """A user's kernel: a function, or a program that implements the protocol."""
    runtime, _, rest = text.partition(":")
    if runtime == "python":
        path, _, function = rest.rpartition(":")
        if not path.endswith(".py") or not function.isidentifier():
            raise BadTarget(f"'{text}' is not python:PATH.py:FUNCTION")
        return TargetName(text, runtime, function=(path, function))
    try:
        program = tuple(shlex.split(rest))
    except ValueError as error:
        raise BadTarget(f"'{text}' is not command:PROGRAM ARG...: {error}") from error
    if not program:
        raise BadTarget(f"'{text}' is not command:PROGRAM ARG...")
    return TargetName(text, runtime, program=program)
