"""A YAML file as plain data, with the place of each value.

Values follow YAML 1.2's core schema (``1e5`` is a number, ``no`` is text), except that hexadecimal and zero-padded
numbers are text, since they may be bit patterns. Tags, duplicate keys and excessive use of aliases are errors.
"""

import errno
import json
import math
import re
import sys
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from maxpool_check.corpus.problems import CorpusError, Problem
from maxpool_check.files import not_found, read_regular

MAX_BYTES = 16 * 2**20
MAX_DEPTH = 64
MAX_KEYS = 10_000
_LONGEST = 2 * MAX_BYTES
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


@dataclass(slots=True)
class Mark:
    """The place of a value, counted from 1, and those inside it: of a list's values, or of a map's keys and values."""

    line: int
    column: int
    inside: "list[Mark | int] | dict[Hashable, tuple[int, Mark | int]] | None" = None
    """The place of text or a number is one number, since a file has so many: its line times :data:`_LONGEST`, and its column."""

    @classmethod
    def of(cls, place: "Mark | int") -> "Mark":
        """The place itself, as a mark."""
        return cls(*divmod(place, _LONGEST)) if isinstance(place, int) else place


Steps = Sequence[str | int]


@dataclass(frozen=True)
class Document:
    """A file's data, and the places of its values."""

    path: str
    data: Any
    mark: Mark

    def problem(self, path: Steps, message: str, *, key: str | None = None) -> Problem:
        """A problem at the value of ``path``, or at a key in it; at the nearest place that exists."""
        mark = self.mark_of(path)
        if isinstance(mark.inside, dict) and key in mark.inside:
            mark = Mark.of(mark.inside[key][0])
        return Problem(self.path, mark.line, mark.column, message)

    def mark_of(self, path: Steps) -> Mark:
        """The mark of the value at ``path``, or of the nearest value around it."""
        return self._marks(path)[-1]

    def has(self, path: Steps) -> bool:
        """Whether the file contains a value at ``path``."""
        return len(self._marks(path)) > len(path)

    def forget(self, key: str, number: int) -> None:
        """Drop an entry of a list, of which nothing more is said: its places take more memory than a case."""
        self.data[key][number] = self.mark_of((key, number)).inside = None

    def _marks(self, path: Steps) -> list[Mark]:
        """The marks of the values on the way to ``path``, as far as there are values."""
        marks = [self.mark]
        for step in path:
            inside = marks[-1].inside
            if isinstance(inside, list) and isinstance(step, int) and step < len(inside):
                marks.append(Mark.of(inside[step]))
            elif isinstance(inside, dict) and step in inside:
                marks.append(Mark.of(inside[step][1]))
            else:
                break
        return marks


def read(path: Path) -> Document:
    """Read one file. Raises :class:`CorpusError`."""
    return parse(text_of(path), str(path))


def text_of(path: Path) -> str:
    """The text of one file. Raises :class:`CorpusError`."""
    name = str(path)
    try:
        content = read_regular(path, MAX_BYTES)
    except OSError as error:
        if error.errno == errno.ENOENT:
            raise CorpusError([Problem(name, 0, 0, not_found(path, is_file=True))]) from error
        reason = f"cannot be read: {error.strerror}"
        if error.errno == errno.EFBIG:
            reason = f"the file is larger than {MAX_BYTES // 2**20} MiB; split it"
        raise CorpusError([Problem(name, 1, 1, reason)]) from error
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = content[: error.start].decode("utf-8-sig")
        raise CorpusError([_problem_behind(before, name, "not UTF-8 text; is this a YAML file?")]) from error


def _problem_behind(text: str, name: str, message: str) -> Problem:
    """A problem at the end of a text."""
    return Problem(name, text.count("\n") + 1, len(text) - text.rfind("\n"), message)


def parse(text: str, name: str) -> Document:
    """Parse the text of one file; ``name`` is its name in messages. Raises :class:`CorpusError`."""
    unprintable = _UNPRINTABLE.search(text)
    if unprintable:
        message = f"the character {unprintable[0]!r} is not allowed in YAML"
        raise CorpusError([_problem_behind(text[: unprintable.start()], name, message)])
    parser = _Parser(text, name)
    try:
        root = parser.root()
    except yaml.MarkedYAMLError as error:
        raise CorpusError([*parser.problems, _problem_of(error, text, name)]) from error
    if parser.problems:
        raise CorpusError(parser.problems)
    if root is None:
        raise CorpusError([Problem(name, 1, 1, "the file is empty")])
    return Document(name, root[0], Mark.of(root[1]))


def _problem_of(error: yaml.MarkedYAMLError, text: str, name: str) -> Problem:
    """What is wrong with a text that cannot be parsed."""
    place = error.problem_mark or error.context_mark
    line, column = (place.line + 1, place.column + 1) if place else (1, 1)
    message = " ".join(part for part in (error.context, error.problem) if part)
    if not isinstance(error, _Stop):
        if other := _other_format(text):
            return Problem(name, 1, 1, other)
        message = f"not YAML: {message}"
        if "\t" in "".join(text.splitlines()[line - 1 : line]):
            message += "; indent YAML with spaces, not tabs"
    return Problem(name, line, column, message)


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


class _Parser:
    """Makes data of the events of PyYAML's parser, in C if available."""

    def __init__(self, text: str, name: str) -> None:
        self.name = name
        self.problems: list[Problem] = []
        # Not by yaml.parse: a generator takes as long as what it gives.
        self._next_event = getattr(yaml, "CSafeLoader", yaml.SafeLoader)(text).get_event
        self._anchors: dict[str, tuple[Any, Mark | int, int]] = {}
        self._size = 0
        """How many values there are so far, those of aliases included."""
        self._from_aliases = 0

    def root(self) -> tuple[Any, Mark | int] | None:
        """The data of the file with its place; None if there are none. Raises ``yaml.MarkedYAMLError``."""
        root = None
        while not isinstance(event := self._next_event(), yaml.StreamEndEvent):
            if isinstance(event, yaml.DocumentStartEvent):
                if root is not None:
                    raise _Stop("a second document starts here; one file is one document", event)
                root = self._value(self._next_event(), 0)
        return root

    def _value(self, event: Any, depth: int) -> tuple[Any, Mark | int]:
        """The value that an event begins, inside so many others, and its place."""
        is_scalar, size = type(event) is yaml.ScalarEvent, self._size
        if is_scalar and event.tag is event.anchor is None:
            # As almost all are.
            self._size += 1
            return event.value if event.style else scalar_value(event.value), _place(event)
        if isinstance(event, yaml.AliasEvent):
            return self._named(event)
        if event.tag not in (None, "!") and not (is_scalar and event.tag == "tag:yaml.org,2002:str"):
            raise _Stop(f"the tag {event.tag} is not allowed", event)
        if depth == MAX_DEPTH and not is_scalar:
            raise _Stop(f"nested deeper than {MAX_DEPTH} levels", event)
        self._size += 1
        data: Any
        place: Mark | int
        if is_scalar:
            data, place = event.value if event.style or event.tag else scalar_value(event.value), _place(event)
        elif isinstance(event, yaml.SequenceStartEvent):
            data, places = [], list[Mark | int]()
            while not isinstance(inner := self._next_event(), yaml.SequenceEndEvent):
                value, of_value = self._value(inner, depth + 1)
                data.append(value)
                places.append(of_value)
            place = _mark(event, places)
        else:
            data, place = self._map(event, depth + 1)
        if event.anchor is not None:
            self._anchors[event.anchor] = data, place, self._size - size
        return data, place

    def _map(self, event: Any, depth: int) -> tuple[dict[str, Any], Mark]:
        data, pairs = dict[str, Any](), dict[Hashable, tuple[int, Mark | int]]()
        while not isinstance(inner := self._next_event(), yaml.MappingEndEvent):
            key, of_key = self._key(inner, depth)
            if len(data) == MAX_KEYS:
                raise _Stop(f"a map has more than {MAX_KEYS} keys", inner)
            value, of_value = self._value(self._next_event(), depth)
            if key in data:
                message = f"duplicate key '{key}', first on line {Mark.of(pairs[key][0]).line}"
                self.problems.append(Problem(self.name, *divmod(of_key, _LONGEST), message))
            else:
                data[key], pairs[key] = value, (of_key, of_value)
        return data, _mark(event, pairs)

    def _key(self, event: Any, depth: int) -> tuple[str, int]:
        key, place = self._value(event, depth)
        if not isinstance(place, int):
            raise _Stop("a key must be plain text", event)
        # Every case has the same few keys: share their memory.
        return sys.intern(str(key)), place

    def _named(self, event: Any) -> tuple[Any, Mark | int]:
        """The value that an alias stands for."""
        if event.anchor not in self._anchors:
            raise _Stop(f"alias *{event.anchor} without an anchor before it", event)
        data, place, size = self._anchors[event.anchor]
        self._size += size
        self._from_aliases += size
        if self._from_aliases > MAX_FROM_ALIASES:
            raise _Stop(f"aliases add more than {MAX_FROM_ALIASES} values to the file", event)
        return data, place


def _place(event: Any) -> int:
    return (event.start_mark.line + 1) * _LONGEST + event.start_mark.column + 1


def _mark(event: Any, inside: Any) -> Mark:
    return Mark(event.start_mark.line + 1, event.start_mark.column + 1, inside)


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
