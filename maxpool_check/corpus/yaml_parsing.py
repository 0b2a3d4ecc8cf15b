"""Parses YAML to plain data, with the place of each value.

Values follow YAML 1.2's core schema (``1e5`` is a number, ``no`` is text), except that hexadecimal and zero-padded
numbers are text, since they may be bit patterns. Tags, duplicate keys and excessive use of aliases are errors.
"""

import json
import math
import re
import sys
from dataclasses import dataclass
from typing import Any

import yaml

from maxpool_check.corpus.document import Document, Mark, problem_at
from maxpool_check.corpus.problems import CorpusError, Problem

MAX_DEPTH = 64
MAX_FROM_ALIASES = 100_000

_INTEGER = re.compile(r"[-+]?(0|[1-9][0-9]*)")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|(0|[1-9][0-9]*)(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_WORDS = {
    "": None, "~": None, "null": None, "Null": None, "NULL": None,
    "true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False,
    **{f"{sign}.{word}": float(f"{sign}inf") for sign in ("", "+", "-") for word in ("inf", "Inf", "INF")},
    ".nan": math.nan, ".NaN": math.nan, ".NAN": math.nan,
}  # fmt: skip
_NUMERIC = frozenset("+-.0123456789")
_UNPRINTABLE = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """PyYAML's safe loader, in C if available."""


def parse(text: str, name: str) -> Document:
    """Parse the text of one file; ``name`` is its name in messages. Raises :class:`CorpusError`."""
    unprintable = _UNPRINTABLE.search(text)
    if unprintable:
        message = f"the character {unprintable[0]!r} is not allowed in YAML"
        raise CorpusError([problem_at(text, unprintable.start(), name, message)])
    builder = _Builder(name)
    try:
        for event in yaml.parse(text, _Loader):
            builder.take(event)
    except yaml.MarkedYAMLError as error:
        place = error.problem_mark or error.context_mark
        line, column = (place.line + 1, place.column + 1) if place else (1, 1)
        message = " ".join(part for part in (error.context, error.problem) if part)
        if not isinstance(error, _Stop):
            other = _other_format(text)
            if other:
                raise CorpusError([Problem(name, 1, 1, other)]) from error
            message = f"not YAML: {message}"
            if "\t" in "".join(text.splitlines()[line - 1 : line]):
                message += "; indent YAML with spaces, not tabs"
        raise CorpusError([*builder.problems, Problem(name, line, column, message)]) from error
    if builder.problems or builder.root is None:
        raise CorpusError(builder.problems or [Problem(name, 1, 1, "the file is empty")])
    return Document(name, builder.root.data, builder.root.mark)


def _other_format(text: str) -> str:
    """What a file of JSON lines is that is no YAML; empty if it is no such file."""
    try:
        first = json.loads(text.split("\n", 1)[0])
    except (ValueError, RecursionError):
        return ""
    if isinstance(first, dict) and first.get("type") == "header":
        return "this is a record, not a file of cases or defects; 'maxpool-check report' shows it"
    if isinstance(first, dict) and first.get("type") == "ready":
        return "these are outputs, not cases or defects; 'maxpool-check run [PATH]... -t outputs:FILE' judges them"
    return ""


class _Stop(yaml.MarkedYAMLError):
    """An error after which the file cannot be read further."""

    def __init__(self, problem: str, event: Any) -> None:
        super().__init__(problem=problem, problem_mark=event.start_mark)


@dataclass(slots=True)
class _Node:
    """A value: its data, its place, and how many values it consists of; ``key`` is that of a map's next value."""

    data: Any
    mark: Mark
    anchor: str | None
    size: int = 1
    key: tuple[str, Mark] | None = None


class _Builder:
    """Builds the data from parser events, without recursion: no file can exhaust the stack."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.problems: list[Problem] = []
        self.root: _Node | None = None
        self._open: list[_Node] = []
        self._anchors: dict[str, _Node] = {}
        self._from_aliases = 0

    def take(self, event: Any) -> None:
        """Add one event of the parser."""
        if isinstance(event, yaml.ScalarEvent):
            if event.tag not in (None, "!", "tag:yaml.org,2002:str"):
                raise _Stop(f"the tag {event.tag} is not allowed", event)
            plain = not event.style and event.tag is None
            value = scalar_value(event.value) if plain else event.value
            self._add(_Node(value, _mark(event), event.anchor), event)
        elif isinstance(event, yaml.CollectionStartEvent):
            if event.tag not in (None, "!"):
                raise _Stop(f"the tag {event.tag} is not allowed", event)
            if len(self._open) == MAX_DEPTH:
                raise _Stop(f"nested deeper than {MAX_DEPTH} levels", event)
            kind = list if isinstance(event, yaml.SequenceStartEvent) else dict
            mark = _mark(event)
            mark.inside = kind()
            self._open.append(_Node(kind(), mark, event.anchor))
        elif isinstance(event, yaml.CollectionEndEvent):
            self._add(self._open.pop(), event)
        elif isinstance(event, yaml.AliasEvent):
            self._add(self._named(event), event)
        elif isinstance(event, yaml.DocumentStartEvent) and self.root:
            raise _Stop("a second document starts here; one file is one document", event)

    def _named(self, event: Any) -> _Node:
        """The value that an alias stands for."""
        if event.anchor not in self._anchors:
            raise _Stop(f"alias *{event.anchor} without an anchor before it", event)
        node = self._anchors[event.anchor]
        self._from_aliases += node.size
        if self._from_aliases > MAX_FROM_ALIASES:
            raise _Stop(f"aliases add more than {MAX_FROM_ALIASES} values to the file", event)
        return node

    def _add(self, node: _Node, event: Any) -> None:
        if node.anchor is not None:
            self._anchors[node.anchor] = node
        if not self._open:
            self.root = node
            return
        parent = self._open[-1]
        parent.size += node.size
        inside: Any = parent.mark.inside
        if isinstance(parent.data, list):
            parent.data.append(node.data)
            inside.append(node.mark)
        elif parent.key is None:
            if isinstance(node.data, (list, dict)):
                raise _Stop("a key must be plain text", event)
            # Every case has the same few keys: share their memory.
            key = sys.intern(str(node.data))
            if key in parent.data:
                message = f"duplicate key '{key}', first on line {inside[key][0].line}"
                self.problems.append(Problem(self.name, node.mark.line, node.mark.column, message))
            parent.key = (key, node.mark)
        else:
            key, key_mark = parent.key
            parent.key = None
            if key not in parent.data:
                parent.data[key] = node.data
                inside[key] = (key_mark, node.mark)


def _mark(event: Any) -> Mark:
    start = event.start_mark
    return Mark(start.line + 1, start.column + 1)


def scalar_value(text: str) -> Any:
    """The value of a plain (unquoted) scalar."""
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in _NUMERIC:
        return text
    if text == "-0":
        # An integer has no sign of zero, and the dtype is not known here.
        return -0.0
    if _INTEGER.fullmatch(text):
        # Python does not convert thousands of digits; a later check has a better message.
        return int(text) if len(text) < 400 else text
    return float(text) if _FLOAT.fullmatch(text) else text
