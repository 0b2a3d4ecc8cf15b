"""Edits files of defects: bounds the versions of what is expected, and adds to it. Comments stay."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from maxpool_check import inert
from maxpool_check.corpus.defect_file import read_defects
from maxpool_check.corpus.problems import CorpusError, Problem
from maxpool_check.corpus.yaml_editing import EditedFile, on_one_line
from maxpool_check.judging.defects import Defect, ExpectedDivergence
from maxpool_check.judging.kinds import DivergenceKind
from maxpool_check.results.variants import ALL_VARIANTS, Variant

_EMPTY = "defects: []\n"


@dataclass(frozen=True)
class KnownRange:
    """The kinds that one variant of a case shows in all ``releases`` on one side of a change.

    ``bound`` is the bound of that side, ``<1.29.0`` or ``>=1.29.0``; ``other_releases`` are those on the other side.
    """

    case: str
    variant: Variant
    kinds: tuple[DivergenceKind, ...]
    distribution: str
    provider: str
    releases: tuple[str, ...]
    other_releases: tuple[str, ...]
    bound: str

    def matches(self, entry: ExpectedDivergence) -> bool:
        """Whether an entry expects these kinds of the release next to the change."""
        nearest = self.releases[-1] if self.bound.startswith("<") else self.releases[0]
        covered = entry.when.covers(self.distribution, nearest, self.provider)
        return covered and bool(self.kinds) and entry.expects(self.case, self.variant, self.kinds)


def narrow(path: Path, known: KnownRange) -> list[str]:
    """Restrict what a file expects to the releases of a range; a message for each entry that matches.

    Only versions are rewritten. The file is not changed if it would then mean something else.
    """
    defects = read_defects(path)
    file = EditedFile(path, _EMPTY)
    messages: list[str] = []
    changed: list[Defect] = []
    for defect, fields in zip(defects, _entries(file), strict=True):
        expected = list(defect.expected)
        for number, entry in enumerate(expected):
            if not known.matches(entry):
                continue
            if not any(
                entry.when.covers(known.distribution, release, known.provider) for release in known.other_releases
            ):
                messages.append(f"{defect.id} needs no change: {entry.when}")
                continue
            when = entry.when.narrowed(known.bound, [*known.releases, *known.other_releases])
            if "when" in fields:
                fields["when"] = str(when)
            else:
                fields["expect"][number]["versions"] = when.bounds
            warning = " (the entry covers other cases too: run them)" if entry.cases != (known.case,) else ""
            messages.append(f"{defect.id}: {entry.when} is now {when} in {path}{warning}")
            expected[number] = replace(entry, when=when)
        changed.append(replace(defect, expected=tuple(expected)))
    if changed != defects and not _replace(file, changed):
        return [f"{path} cannot be changed safely; narrow by hand: {'; '.join(messages)}"]
    return messages


def add(path: Path, defects: Sequence[Defect]) -> None:
    """Add defects to a file, which is created if it does not exist; what is expected of one that it has is added to it.

    Raises :class:`CorpusError` if they cannot be added to the file.
    """
    existing = {defect.id: defect for defect in read_defects(path)} if path.exists() else {}
    file = EditedFile(path, _EMPTY)
    fields_of = dict(zip(existing, _entries(file), strict=True))
    for defect in defects:
        if defect.id not in existing:
            file.append("defects", _fields(defect))
            existing[defect.id] = defect
            continue
        old = existing[defect.id]
        fields_of[defect.id]["expect"].extend(_expected(each, defect.runtime) for each in defect.expected)
        existing[defect.id] = replace(old, expected=(*old.expected, *defect.expected))
    if not _replace(file, list(existing.values())):
        message = "defects cannot be added safely to this file; end it with a block list under 'defects:'"
        raise CorpusError([Problem(str(path), 1, 1, message)])


def _entries(file: EditedFile) -> Iterator[Any]:
    """The maps of its known divergences and of its defects, in the order of ``read_defects``."""
    yield from file.data.get("known", ())
    yield from file.data.get("defects", ())


def _replace(file: EditedFile, defects: Sequence[Defect]) -> bool:
    """Replace a file, if the new one is read as these defects."""
    expected = {defect.id: defect for defect in defects}
    return file.replace(lambda new: {defect.id: defect for defect in read_defects(new)} == expected)


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
    return {**fields, "expect": [_expected(each, defect.runtime) for each in defect.expected]}


def _expected(entry: ExpectedDivergence, runtime: str) -> dict[str, Any]:
    part = {"runtime": entry.when.runtime} if entry.when.runtime != runtime else {}
    versions = {"versions": entry.when.bounds} if entry.when.bounds else {}
    variants = (
        {"variants": on_one_line(variant.name for variant in ALL_VARIANTS if variant in entry.variants)}
        if entry.variants is not None
        else {}
    )
    kinds = on_one_line(kind.value for kind in DivergenceKind if kind in entry.kinds)
    expires = {"expires": entry.expires.isoformat()} if entry.expires is not None else {}
    return {**part, **versions, "cases": list(entry.cases), "kinds": kinds, **variants, **expires}
