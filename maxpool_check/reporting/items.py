"""What CI systems read: tests by suite, each with its state and perhaps alerts."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Alert:
    """A result of SARIF: an ``error``, a ``warning`` or a ``note`` by some rule.

    ``identity`` are words that stay the same as long as it is the same alert. ``names`` are those of what it is about, the short one
    and the full one. ``suppressed`` says why nobody needs to look at it.
    """

    rule: str
    level: str
    text: str
    identity: Sequence[str]
    properties: Mapping[str, Any]
    names: tuple[str, str] | None = None
    suppressed: str | None = None


@dataclass(frozen=True)
class Item:
    """A test of JUnit, in which ``group`` is the class, and the place of it, ``FILE:LINE``; line 0 is that of a model.

    ``state`` is ``passed``, ``failure``, ``error`` or ``skipped``, of the type ``kind``. ``text`` explains it, and ``output`` is to be
    known besides; these and the ``alerts`` are made where they are written, not where items are counted.
    """

    group: str
    name: str
    origin: str = ""
    state: str = "passed"
    kind: str = ""
    message: str = ""
    text: Callable[[], str] = str
    output: Callable[[], str] = str
    seconds: float | None = None
    properties: Sequence[tuple[str, str]] = ()
    alerts: Callable[[], Sequence[Alert]] = tuple


Items = Callable[[], Iterator[Item]]
"""Items, made again at each call: those of a long run are not held in memory."""


@dataclass(frozen=True)
class Suite:
    """A suite of JUnit."""

    name: str
    items: Items
    properties: Sequence[tuple[str, str]] = ()
    timestamp: str = ""


@dataclass(frozen=True)
class Log:
    """A run of SARIF: the alerts of its items. ``rules`` has what is known of rules, by their ids.

    ``problems`` are those of the run itself, ``outdated`` those of its files.
    """

    name: str
    tool: str
    items: Items
    rules: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    problems: Sequence[str] = ()
    outdated: Sequence[str] = ()


@dataclass(frozen=True)
class Checks:
    """A report for CI systems. ``problems`` are those of the command itself; it took so many ``seconds``, if that is known."""

    suites: Sequence[Suite]
    logs: Sequence[Log]
    problems: Sequence[str] = ()
    seconds: float = 0.0


def of_case(case: str) -> tuple[str, str]:
    """The group and the name of the item of a case."""
    file, _, name = case.rpartition(":")
    return file.replace("/", "."), name
