"""Edits YAML files of a user's: comments stay, and a file is replaced only by one that means what it should."""

import io
import os
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedSeq

from maxpool_check.corpus.problems import CorpusError
from maxpool_check.files import named


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
