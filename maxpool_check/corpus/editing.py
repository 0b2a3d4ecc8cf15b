"""Edits YAML files of a user's, such as those of defects: comments stay, and a file is replaced only by one that means what it should."""

import io
import os
import tempfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedSeq

from maxpool_check import inert
from maxpool_check.corpus.defect_file import read_accepted
from maxpool_check.corpus.problems import CorpusError, Problem
from maxpool_check.files import named
from maxpool_check.judging.accepted import Acceptance
from maxpool_check.judging.kinds import DivergenceKind
from maxpool_check.results.variants import ALL_VARIANTS


class EditedFile:
    """The text of a file with its comments; ``empty`` is that of one that does not exist. ``data`` is what to change."""

    def __init__(self, path: Path, empty: str) -> None:
        self._path = path
        self._yaml = YAML()
        self._yaml.indent(mapping=2, sequence=4, offset=2)
        self._yaml.width = 120
        self._yaml.preserve_quotes = True
        text = path.read_bytes().decode() if path.exists() else empty
        self._ending = "\r\n" if "\r\n" in text else "\n"
        self.data: Any = self._yaml.load(text.replace("\r\n", "\n"))

    def append(self, key: str, fields: Any) -> None:
        """Add an entry at the end of a list of the file."""
        if not self.data.get(key):
            self.data[key] = []
        self.data[key].append(fields)

    def replace(self, is_right: Callable[[Path], bool]) -> bool:
        """Replace the file, if the new one is read as it should be; False, and no change, if it is not."""
        text = io.StringIO()
        self._yaml.dump(self.data, text)
        self._path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, name = tempfile.mkstemp(prefix=f"{self._path.name}.", dir=self._path.parent)
        new = Path(name)
        try:
            with named(self._path), os.fdopen(descriptor, "w", encoding="utf-8", newline=self._ending) as file:
                file.write(text.getvalue())
            if not is_right(new):
                return False
            new.chmod(self._path.stat().st_mode if self._path.exists() else 0o644)
            new.replace(self._path)
        except CorpusError:
            return False
        finally:
            new.unlink(missing_ok=True)
        return True


def on_one_line(words: Iterable[str]) -> CommentedSeq:
    """A list that is written as ``[a, b]``."""
    words = CommentedSeq(words)
    words.fa.set_flow_style()
    return words


def add_accepted(path: Path, entries: Sequence[Acceptance]) -> None:
    """Add what a person accepts to a file, which is created if it does not exist.

    Raises :class:`CorpusError` if the entries cannot be added to the file.
    """
    expected = [_fields(each) for each in [*(read_accepted([path]) if path.exists() else []), *entries]]
    file = EditedFile(path, "accepted: []\n")
    for entry in entries:
        file.append("accepted", _fields(entry))
    if not file.replace(lambda new: [_fields(each) for each in read_accepted([new])] == expected):
        message = "nothing can be added safely to this file; end it with a block list under 'accepted:'"
        raise CorpusError([Problem(str(path), 1, 1, message)])


def _fields(entry: Acceptance) -> dict[str, Any]:
    fields: dict[str, Any] = {"change": entry.change.value} if entry.change is not None else {}
    fields["runtime"] = entry.when.runtime
    if entry.when.bounds:
        fields["versions"] = entry.when.bounds
    fields["kinds"] = on_one_line(kind.value for kind in DivergenceKind if kind in entry.kinds)
    fields["variants"] = on_one_line(each.name for each in ALL_VARIANTS if each.name in entry.variants)
    fields["cases"] = list(entry.cases)
    if entry.outputs:
        fields["outputs"] = {version: on_one_line(sorted(prints)) for version, prints in sorted(entry.outputs.items())}
    about = {"author": inert.line(entry.author), "reason": inert.line(entry.reason)}
    return {**fields, **about, "expires": entry.expires.isoformat()}
