"""A YAML file as plain data, with the place of each value."""

import errno
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from maxpool_check.corpus.problems import CorpusError, Problem
from maxpool_check.files import not_found, read_regular

MAX_BYTES = 16 * 2**20


@dataclass(slots=True)
class Mark:
    """The place of a value, counted from 1, and those inside it: of a list's values, or of a map's keys and values."""

    line: int
    column: int
    inside: "list[Mark] | dict[Hashable, tuple[Mark, Mark]] | None" = None


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
            mark, _ = mark.inside[key]
        return Problem(self.path, mark.line, mark.column, message)

    def mark_of(self, path: Steps) -> Mark:
        """The mark of the value at ``path``, or of the nearest value around it."""
        mark = self.mark
        for step in path:
            if isinstance(mark.inside, list) and isinstance(step, int) and step < len(mark.inside):
                mark = mark.inside[step]
            elif isinstance(mark.inside, dict) and step in mark.inside:
                _, mark = mark.inside[step]
            else:
                break
        return mark

    def has(self, path: Steps) -> bool:
        """Whether the file contains a value at ``path``."""
        value = self.data
        for step in path:
            try:
                value = value[step]
            except (KeyError, IndexError, TypeError):
                return False
        return True


def read(path: Path, content: bytes | None = None) -> Document:
    """Read one file, with this content if it was read already. Raises :class:`CorpusError`."""
    return parse(text_of(path, content), str(path))


def content_of(path: Path) -> bytes:
    """The bytes of one file. Raises :class:`CorpusError`."""
    name = str(path)
    try:
        return read_regular(path, MAX_BYTES)
    except OSError as error:
        if error.errno == errno.ENOENT:
            raise CorpusError([Problem(name, 0, 0, not_found(path, is_file=True))]) from error
        reason = f"cannot be read: {error.strerror}"
        if error.errno == errno.EFBIG:
            reason = f"the file is larger than {MAX_BYTES // 2**20} MiB; split it"
        raise CorpusError([Problem(name, 1, 1, reason)]) from error


def text_of(path: Path, content: bytes | None = None) -> str:
    """The text of one file, with this content if it was read already. Raises :class:`CorpusError`."""
    raw, name = content_of(path) if content is None else content, str(path)
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = raw[: error.start].decode("utf-8-sig")
        raise CorpusError([problem_at(before, len(before), name, "not UTF-8 text; is this a YAML file?")]) from error


def parse(text: str, name: str) -> Document:
    """Parse the text of one file; ``name`` is its name in messages. Raises :class:`CorpusError`."""
    # What is in the cache needs no PyYAML, which is slow to import.
    from maxpool_check.corpus import yaml_parsing

    return yaml_parsing.parse(text, name)


def problem_at(text: str, offset: int, name: str, message: str) -> Problem:
    """A problem at a place in a text."""
    line = text.count("\n", 0, offset) + 1
    return Problem(name, line, offset - text.rfind("\n", 0, offset), message)
