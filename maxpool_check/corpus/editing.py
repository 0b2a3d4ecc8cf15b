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
from maxpool_check.corpus.defect_file import read_defects
from maxpool_check.corpus.problems import CorpusError, Problem
from maxpool_check.files import named
from maxpool_check.judging.defects import Defect, Effect
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


def add(path: Path, defects: Sequence[Defect]) -> None:
    """Add defects to a file, which is created if it does not exist.

    Raises :class:`CorpusError` if they cannot be added to the file.
    """
    existing = {defect.id: defect for defect in read_defects(path)} if path.exists() else {}
    file = EditedFile(path, "defects: []\n")
    for defect in defects:
        file.append("defects", _fields(defect))
        existing[defect.id] = defect
    if not file.replace(lambda new: {defect.id: defect for defect in read_defects(new)} == existing):
        message = "defects cannot be added safely to this file; end it with a block list under 'defects:'"
        raise CorpusError([Problem(str(path), 1, 1, message)])


def _fields(defect: Defect) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "id": defect.id,
        "runtime": list(defect.runtimes) if defect.other_builds else defect.runtime,
        "title": inert.line(defect.title),
        "severity": defect.severity.value,
        "mechanism": inert.line(defect.mechanism),
    }
    if defect.documents:
        fields["documents"] = list(defect.documents)
    if defect.upstream is not None and defect.upstream.issue is not None:
        upstream = defect.upstream
        fields["upstream"] = {"issue": upstream.issue, "state": upstream.state, "seen": upstream.seen.isoformat()}
    if defect.reviewed is not None:
        fields |= {"reviewer": inert.line(defect.reviewer), "reviewed": defect.reviewed.isoformat()}
    if defect.example is not None:
        fields["example"] = defect.example
    return {**fields, "expect": [_expected(each, defect) for each in defect.effects]}


def _expected(effect: Effect, defect: Defect) -> dict[str, Any]:
    part = {"runtime": effect.when.runtime} if effect.when.runtime != defect.runtime else {}
    versions = {"versions": effect.when.bounds} if effect.when.bounds else {}
    variants = (
        {"variants": on_one_line(variant.name for variant in ALL_VARIANTS if variant in effect.variants)}
        if effect.variants is not None
        else {}
    )
    kinds = on_one_line(kind.value for kind in DivergenceKind if kind in effect.kinds)
    expires = {"expires": effect.expires.isoformat()} if effect.expires is not None else {}
    outputs = {version: on_one_line(sorted(defect.outputs[version])) for version in sorted(defect.outputs)}
    reviewed = {"outputs": outputs} if outputs else {}
    return {**part, **versions, "cases": list(effect.cases), "kinds": kinds, **variants, **expires, **reviewed}
