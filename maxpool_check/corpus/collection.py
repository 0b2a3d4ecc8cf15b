"""Finds case files and the tests of other suites, reads them all, and selects from them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from maxpool_check.corpus import importers
from maxpool_check.corpus.case import Case
from maxpool_check.corpus.case_file import read_cases
from maxpool_check.corpus.importers.suite import Suite
from maxpool_check.corpus.problems import CorpusError, Problem
from maxpool_check.corpus.tensors import SizeLimits

KNOWN_NAME = "known-divergences.yaml"
SUFFIXES = (".yaml", ".yml")


@dataclass(frozen=True)
class Corpus:
    """The cases of some paths, in the order of their files.

    ``roots`` are the folders the ids count from. ``whole`` tells whether every case file of the roots was read.
    ``left_out`` are tests of other suites that are no cases, each with the reason.
    """

    cases: tuple[Case, ...]
    roots: tuple[Path, ...]
    whole: bool
    left_out: tuple[Problem, ...] = ()

    @property
    def known_files(self) -> list[Path]:
        """The files of known divergences at the roots."""
        return [root / KNOWN_NAME for root in self.roots if (root / KNOWN_NAME).is_file()]


def collect(paths: Sequence[Path], limits: SizeLimits | None = None) -> Corpus:
    """Read every case file of the paths (files or folders). Raises :class:`CorpusError` with all their problems.

    A folder without case files may hold tests of other suites; so may a file that is none.
    """
    problems: list[Problem] = []
    files: dict[Path, tuple[Path, Path]] = {}
    roots: dict[Path, Path] = {}
    for path in paths:
        if not path.exists():
            problems.append(Problem(str(path), 1, 1, "there is no such file or folder"))
            continue
        root = root_of(path)
        roots.setdefault(root.resolve(), root)
        found = _files(path)
        if not found:
            what = (
                "holds known divergences, not cases"
                if path.name == KNOWN_NAME
                else f"no case file ({', '.join(SUFFIXES)}) is in this folder, and no model.onnx or .json of another suite"
            )
            problems.append(Problem(str(path), 1, 1, what))
        for file in found:
            if path.is_dir() and not file.resolve().is_relative_to(root.resolve()):
                problems.append(Problem(str(file), 1, 1, f"a link that leads out of the corpus ({root})"))
            else:
                files.setdefault(file.resolve(), (file, root))
    cases: list[Case] = []
    left_out: list[Problem] = []
    for file, root in files.values():
        read = _read(file, root, limits or SizeLimits())
        cases.extend(read.cases)
        left_out.extend(read.left_out)
        problems.extend(read.broken)
    problems.extend(duplicates(cases))
    if not cases:
        problems.extend(left_out)
    if problems:
        raise CorpusError(problems)
    everything = {file.resolve() for root in roots.values() for file in _files(root)}
    return Corpus(tuple(cases), tuple(roots.values()), everything <= files.keys(), tuple(left_out))


def root_of(path: Path) -> Path:
    """The folder that ids count from: the nearest one upwards that holds known divergences, else the folder given."""
    folder = path if path.is_dir() else path.parent
    whole = Path(os.path.abspath(folder))  # noqa: PTH100 (".." is resolved as it is written, links are not)
    for candidate in (whole, *whole.parents):
        if (candidate / KNOWN_NAME).is_file():
            # In the user's own spelling, for messages.
            return candidate if folder.is_absolute() else Path(os.path.relpath(candidate))
    return folder


def select(cases: Iterable[Case], expressions: Sequence[str]) -> tuple[Case, ...]:
    """The cases that any expression picks: ``tag:NAME``, or a glob on the full id or on its part after the colon."""
    return tuple(case for case in cases if not expressions or any(_picks(wanted, case) for wanted in expressions))


def _picks(expression: str, case: Case) -> bool:
    if expression.startswith("tag:"):
        return expression.removeprefix("tag:") in case.tags
    return fnmatchcase(case.id, expression) or fnmatchcase(case.id.rpartition(":")[2], expression)


def _files(path: Path) -> list[Path]:
    if path.is_file():
        return [path] if path.name != KNOWN_NAME else []
    own = sorted(
        file for file in path.rglob("*") if file.suffix in SUFFIXES and file.name != KNOWN_NAME and file.is_file()
    )
    # Beside case files, models and JSON are what people keep there: data, records, reports.
    return own or importers.found(path)


def _read(file: Path, root: Path, limits: SizeLimits) -> Suite:
    if importers.takes(file):
        return importers.read([file], root, limits)
    try:
        return Suite(tuple(read_cases(file, root, limits)))
    except CorpusError as error:
        return Suite(broken=tuple(error.problems))


def duplicates(cases: Sequence[Case]) -> Iterable[Problem]:
    """Each case whose id is that of an earlier one, as a problem of its file."""
    first: dict[str, Case] = {}
    for case in cases:
        other = first.setdefault(case.id, case)
        if other is not case:
            origin = case.origin
            yield Problem(
                origin.path, origin.line, origin.column, f"the id '{case.id}' is also that of {other.origin.path}"
            )
