"""Which versions of each runtime showed which defects when they were tested; written by ``defects accept``."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from packaging.version import InvalidVersion, Version

from maxpool_check.corpus.collection import DEFECTS
from maxpool_check.corpus.problems import CorpusError, Problem
from maxpool_check.files import open_text
from maxpool_check.judging.defects import Defect

FILE_NAME = "versions.json"

_Shown = Mapping[str, Mapping[str, frozenset[str]]]


@dataclass(frozen=True)
class VersionsShown:
    """The versions that show a defect, in words, and the first tested one without it; empty if that is not known."""

    span: str = ""
    fixed: str = ""


@dataclass(frozen=True)
class DefectVersions:
    """For each runtime, as defects name it, and each version that was tested: the ids of the defects that it showed."""

    shown: _Shown = field(default_factory=dict)

    def merged_with(self, other: "DefectVersions") -> "DefectVersions":
        """What these and others say of the same runtimes, together."""
        together: dict[str, dict[str, frozenset[str]]] = {}
        for runtime, versions in (*self.shown.items(), *other.shown.items()):
            of_runtime = together.setdefault(runtime, {})
            for version, ids in versions.items():
                of_runtime[version] = of_runtime.get(version, frozenset()) | ids
        return DefectVersions(together)

    def tested(self, defect: Defect) -> list[str]:
        """The versions of its runtime that were tested, in ascending order."""
        return list(self._tested.get(defect.runtime, ()))

    @cached_property
    def _tested(self) -> dict[str, list[str]]:
        return {runtime: sorted(versions, key=_order) for runtime, versions in self.shown.items()}

    def showing(self, defect: Defect) -> list[str]:
        """Those of them that show the defect."""
        of_runtime = self.shown.get(defect.runtime, {})
        return [version for version in self.tested(defect) if defect.id in of_runtime[version]]

    def since(self, defect: Defect) -> str | None:
        """The first tested version that shows it; None if none does."""
        return next(iter(self.showing(defect)), None)

    def until(self, defect: Defect) -> str | None:
        """The last tested version that shows it; None if it is the newest one, or if none does."""
        showing = self.showing(defect)
        return showing[-1] if showing and not self.is_live(defect) else None

    def repaired(self, defect: Defect) -> list[str]:
        """The tested versions after the last one that shows it."""
        tested, showing = self.tested(defect), self.showing(defect)
        return tested[tested.index(showing[-1]) + 1 :] if showing else []

    def fixed_in(self, defect: Defect, than: str = "") -> str | None:
        """The first of :meth:`repaired`, if it is newer ``than`` a version; None if it is live, or was not tested."""
        first = next(iter(self.repaired(defect)), None)
        return first if first is None or not than or _order(than) < _order(first) else None

    def is_live(self, defect: Defect) -> bool:
        """Whether the newest version that was tested shows it."""
        return self.tested(defect)[-1:] == self.showing(defect)[-1:] != []

    def span(self, defect: Defect) -> str:
        """The versions that show it, in words; those before the first tested one are not known."""
        tested, showing = self.tested(defect), self.showing(defect)
        if not showing:
            return "not tested" if not tested else f"none of {tested[0]} to {tested[-1]}"
        if len(tested) == 1:
            return f"{tested[0]}, the only one that was tested"
        first = f"{showing[0]} or earlier" if showing[0] == tested[0] else showing[0]
        return f"{first} to {showing[-1]}{' (the newest tested)' if self.is_live(defect) else ''}"

    def summary(self, defect: Defect) -> VersionsShown:
        """The versions that show it, as a record has them."""
        return VersionsShown(self.span(defect), self.fixed_in(defect) or "")

    def shown_before(self, runtime: str, version: str) -> frozenset[str]:
        """The ids of the defects that the last tested version before this one shows; none if this one was tested itself."""
        of_runtime = self.shown.get(runtime, {})
        if version in of_runtime:
            return frozenset()
        before = [each for each in self._tested.get(runtime, ()) if _order(each) < _order(version)]
        return of_runtime[before[-1]] if before else frozenset()

    def with_test(
        self, runtime: str, version: str, shown: Iterable[str], undecided: Iterable[str] = ()
    ) -> "DefectVersions":
        """The same with the result of another test; what is ``undecided`` stays as it was."""
        of_runtime = self.shown.get(runtime, {})
        kept = of_runtime.get(version, frozenset()) & frozenset(undecided)
        return DefectVersions({**self.shown, runtime: {**of_runtime, version: frozenset(shown) | kept}})


def read_versions(root: Path) -> DefectVersions:
    """What is known of the versions in a corpus; nothing if there is no file. Raises :class:`CorpusError`."""
    path = root / DEFECTS / FILE_NAME
    if not path.is_file():
        return DefectVersions()
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        return DefectVersions(
            {runtime: {version: frozenset(ids) for version, ids in of.items()} for runtime, of in data.items()}
        )
    except (ValueError, AttributeError, TypeError) as error:
        message = f"cannot be read ({error}); delete it, and write it again with defects accept"
        raise CorpusError([Problem(str(path), 1, 1, message)]) from error


def write_versions(root: Path, versions: DefectVersions) -> Path:
    """Write what is known of the versions into a corpus, a version a line; the path of the file."""
    path = root / DEFECTS / FILE_NAME
    runtimes = []
    for runtime, of in sorted(versions.shown.items()):
        lines = [f"  {json.dumps(version)}: {json.dumps(sorted(of[version]))}" for version in sorted(of, key=_order)]
        runtimes.append(f" {json.dumps(runtime)}: {{\n" + ",\n".join(lines) + "\n }")
    with open_text(path) as file:
        file.write("{\n" + ",\n".join(runtimes) + "\n}\n")
    return path


def _order(version: str) -> tuple[bool, Version, str]:
    try:
        return True, Version(version), version
    except InvalidVersion:
        return False, Version("0"), version
