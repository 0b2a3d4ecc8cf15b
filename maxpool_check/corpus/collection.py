"""Finds and reads case files and tests of other suites; and the corpus that comes with the tool: ``corpus``, ``corpus:onnx`` ..."""

import hashlib
import json
import os
import re
import shlex
from collections import Counter
from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path, PurePosixPath

from maxpool_check.corpus import case_file, document
from maxpool_check.corpus.case import Case, contradictions
from maxpool_check.corpus.importers import onnx_testdata, read_files, testgenonnx
from maxpool_check.corpus.observed import observed_file
from maxpool_check.corpus.problems import CorpusError, Problem
from maxpool_check.corpus.stored_cases import stored
from maxpool_check.corpus.tensors import MOST_CELLS
from maxpool_check.files import is_utf_8, not_found, read_regular
from maxpool_check.specifications.specification import nearest

NAME = "corpus"
"""The name of the whole corpus where a path is expected; unless there is a file or folder of that name."""

PREFIX = f"{NAME}:"
"""What a name of a part of it begins with: a folder or a file, whose suffix may be left out."""

KIT = f"{PREFIX}kit"
"""The cases of a kit, the best first: of ONNX MaxPool-22, or with ``/DOCUMENT`` behind it of another document."""

SUFFIX = ".yaml"

_PACKAGE = Path(__file__).parents[1]


def shipped_root() -> Path:
    """The folder of the corpus: in an installed package beside its modules, in a checkout ``cases``."""
    installed = _PACKAGE / "corpus_data"
    return installed if installed.is_dir() else _PACKAGE.parent / "cases"


def is_shipped(path: Path) -> bool:
    """Whether a path is a name of the corpus or of a part of it."""
    text = str(path)
    return text.startswith(PREFIX) or (text == NAME and not path.exists())


@cache
def kits() -> Mapping[str, Sequence[str]]:
    """The ids of the cases of each kit, the best first, by the name of the corpus's part: that of onnx-22 has two."""
    ids = json.loads(Path(__file__).with_name("kits.json").read_bytes())
    return {KIT: ids["onnx-22"], **{f"{KIT}/{document}": each for document, each in ids.items()}}


def located(path: Path) -> Path:
    """Where a path leads: itself, or what it names in the corpus.

    Raises ``ValueError`` with the nearest name if the corpus has no such part.
    """
    if not is_shipped(path):
        return path
    if str(path) in kits():
        return shipped_root()
    root, name = shipped_root(), str(path).removeprefix(NAME).removeprefix(":").strip("/")
    if ".." not in PurePosixPath(name).parts:
        for candidate in (root / name, root / f"{name}{SUFFIX}"):
            if candidate.exists():
                return candidate
    parts = [each.relative_to(root).with_suffix("").as_posix() for each in sorted(root.rglob("*"))]
    parts += [each.removeprefix(PREFIX) for each in kits()]
    similar = nearest(name, parts).replace("'", f"'{PREFIX}", 1)
    hint = meant_by(path) or similar or f"; it has {', '.join(sorted({part.partition('/')[0] for part in parts}))}"
    raise ValueError(f"the corpus has no '{name}'{hint}")


def meant_by(path: Path) -> str:
    """`` (did you mean 'corpus:edge'?)`` for a path that leads nowhere; empty unless a part of the corpus, or a case, is meant."""
    text = str(path)
    if _exists(f"{PREFIX}{text}"):
        return f" (did you mean '{PREFIX}{text}'?)"
    file, colon, short = text.rpartition(":")
    file = next((each for each in (file, f"{PREFIX}{file}") if colon and file and short and _exists(each)), "")
    return f" (did you mean '{file} -k {shlex.quote(short)}'?)" if file not in ("", NAME) else ""


def _exists(text: str) -> bool:
    path = Path(text)
    if not is_shipped(path):
        return path.exists()
    name = text.removeprefix(NAME).removeprefix(":").strip("/")
    return ".." not in PurePosixPath(name).parts and any(
        (shipped_root() / f"{name}{suffix}").exists() for suffix in ("", SUFFIX)
    )


def named(path: Path) -> Path:
    """The name of a file of the corpus, such as ``corpus:edge/ties.yaml``: the same on every machine."""
    return Path(f"{PREFIX}{path.relative_to(shipped_root()).as_posix()}")


KNOWN_NAME = "known-divergences.yaml"
"""A file of defects at the root of a corpus."""

DEFECTS = "defects"
"""A folder of such files at the root of a corpus."""

SUFFIXES = (".yaml", ".yml")

FORMATS = {".onnx": onnx_testdata, ".json": testgenonnx}
"""The formats of other suites whose files can be read directly, by suffix."""


@dataclass(frozen=True)
class Corpus:
    """The cases of some paths, in the order of their files.

    ``roots`` are the folders that ids are relative to. ``whole`` is true if every case file of the roots was read.
    ``left_out`` are tests of other suites that cannot be cases, each with the reason. ``files`` are those that were read.
    ``name`` is how the user names it; ``shipped`` is true if it is the corpus that comes with the tool, or a part of it.
    """

    cases: Collection[Case]
    roots: tuple[Path, ...]
    whole: bool
    left_out: tuple[Problem, ...] = ()
    files: tuple[Path, ...] = ()
    name: str = ""
    shipped: bool = False

    @cached_property
    def sha256(self) -> str:
        """The digest of all cases."""
        return digest_of(self.cases)

    @property
    def known_files(self) -> list[Path]:
        """The files of defects in the roots."""
        return [file for root in self.roots for file in defect_files(root)]


def collect(
    paths: Sequence[Path], most_cells: int = MOST_CELLS, only: Container[Path] | None = None, *, check: bool = False
) -> Corpus:
    """Read every case file of the paths (files, folders, or names of the corpus that comes with the tool).

    ``only``: no other files than these. ``check``: a case that contradicts the reference is a problem, too. In a folder without
    case files, tests of other suites are read; a path may also name such a test. Cases of the corpus that comes with the tool
    have its names as their origin; of a kit they come the best first. Raises :class:`CorpusError` with all problems of the files.
    """
    problems: list[Problem] = []
    files: dict[Path, tuple[Path, Path, str]] = {}
    roots: dict[Path, Path] = {}
    in_kits = {id_: place for place, id_ in enumerate(id_ for path in paths for id_ in kits().get(str(path), ()))}
    of_kits = [Path(f"{PREFIX}{id_.rpartition(':')[0]}") for id_ in in_kits]
    others = [path for path in paths if str(path) not in kits()]
    whole_files = set[Path]()
    for name in dict.fromkeys([*others, *of_kits]):
        path = _existing(name, problems)
        if path is None:
            continue
        root = root_of(path)
        roots.setdefault(root.resolve(), root)
        for file in _readable(path, root, problems):
            whole_files |= {file.resolve()} if name in others else set()
            if file.resolve() not in files and (only is None or file in only):
                files[file.resolve()] = (file, root, str(named(file) if is_shipped(name) else file))
    left_out, comparable = list[Problem](), list[Case]()
    prefixes = Counter(case_file.prefix_of(file, root) for file, root, _ in files.values())
    has_suites = any(file.suffix in FORMATS for file, _, _ in files.values())

    def valid() -> Iterator[Case]:
        for file, root, origin in files.values():
            # Inside a file, ids are unique.
            may_repeat = has_suites or prefixes[case_file.prefix_of(file, root)] > 1
            for case in _read(file, root, origin, most_cells, problems, left_out):
                problems.extend(contradictions(case) if check else ())
                comparable.extend([case] if may_repeat else ())
                if case.id in in_kits or file.resolve() in whole_files:
                    yield case

    cases = stored(valid() if others else sorted(valid(), key=lambda case: in_kits[case.id]))
    problems += duplicates(comparable)
    if problems or not cases:
        raise CorpusError([*problems, *(() if cases else left_out)])
    # A file may be one of very many in its folder: this ends at the first one that was not read.
    whole = all(file.resolve() in files for root in roots.values() for file in _found(root))
    return Corpus(
        cases, tuple(roots.values()), whole, tuple(left_out), tuple(files), " ".join(map(str, paths)),
        all(map(is_shipped, paths)),
    )  # fmt: skip


_ID = re.compile(r"""\bid["']?:\s*["']?([^\s"',}]+)""")


def ids_in(file: Path) -> list[str]:
    """What stands behind ``id:`` in the text of a file of cases or defects, which is not read as YAML; nothing of a model."""
    return _ID.findall(file.read_text(encoding="utf-8", errors="replace")) if file.suffix in SUFFIXES else []


def ids_of(path: Path) -> dict[Path, tuple[str, list[str]]]:
    """The files of a path, each with what its ids begin with, and how they go on; those of a matrix have variables."""
    path, root = located(path), root_of(path)
    return {file: (case_file.prefix_of(file, root), ids_in(file)) for file in _files(path)}


def _existing(name: Path, problems: list[Problem]) -> Path | None:
    """Where a path leads; None if it leads nowhere, which is a problem."""
    try:
        path = located(name)
    except ValueError as error:
        problems.append(Problem(str(name), 1, 1, str(error)))
        return None
    if not path.exists():
        advice = "name case files, folders of them, or 'corpus' for the one that comes with the tool"
        problems.append(Problem(str(path), 0, 0, f"{not_found(path)}{meant_by(path)}; {advice}"))
        return None
    return path


def _readable(path: Path, root: Path, problems: list[Problem]) -> Iterator[Path]:
    """The files of cases, or of other suites, of a path; the others are problems."""
    if path.is_file() and is_defect_file(path):
        problems.append(Problem(str(path), 1, 1, "contains defects, not cases"))
        return
    files = _files(path)
    if not files:
        message = f"no case file ({', '.join(SUFFIXES)}), and no model.onnx or .json of another suite in this folder"
        if path.is_dir() and any(path.rglob("*.onnx")):
            message += f"; maxpool-check model {shlex.quote(str(path))} tests the MaxPool nodes of models"
        problems.append(Problem(str(path), 1, 1, message))
    for file in files:
        if not is_utf_8(str(file)):
            problems.append(Problem(str(file), 1, 1, "the name of the file is not UTF-8"))
        elif path.is_dir() and not file.resolve().is_relative_to(root.resolve()):
            problems.append(Problem(str(file), 1, 1, f"the link leads out of the corpus ({root})"))
        else:
            yield file


def defect_files(root: Path) -> list[Path]:
    """The files of defects of a corpus: ``known-divergences.yaml``, those in the folder ``defects``, and their observations."""
    files = [root / KNOWN_NAME] if (root / KNOWN_NAME).is_file() else []
    return with_observed([*files, *sorted(file for file in (root / DEFECTS).glob("*.yaml") if is_defect_file(file))])


def with_observed(files: Sequence[Path]) -> list[Path]:
    """Files of defects, and then the files of observations that lie beside them."""
    return [*files, *(beside for beside in map(observed_file, files) if beside.is_file())]


def files_naming(files: Sequence[Path], names: Collection[str]) -> list[Path]:
    """The files of defects that can be about targets with these ``names``, out of some ``files``.

    A file that comes with the tool is left out if it contains none of the names: reading all of them takes longer than running a
    case. A user's own files are always read, so that their mistakes are found.
    """
    shipped = (shipped_root() / DEFECTS).resolve()
    of_defects = [each for each in files if each.suffix in SUFFIXES]
    chosen = [
        each
        for each in of_defects
        if each.parent.resolve() != shipped or any(name in document.text_of(each) for name in names)
    ]
    beside = {*map(observed_file, chosen)}
    return [*chosen, *(each for each in files if each in beside)]


def is_defect_file(path: Path) -> bool:
    """Whether a file is one of defects: by its name, or by its folder and its first key, since cases may have such a folder."""
    if path.name == KNOWN_NAME:
        return True
    if path.parent.name != DEFECTS or path.suffix not in SUFFIXES:
        return False
    text = path.read_text(encoding="utf-8", errors="replace")
    return re.search(r"^(defects|accepted|known):", text, re.MULTILINE) is not None


def root_of(path: Path) -> Path:
    """The folder that ids are relative to: the nearest one upwards with files of defects, else the folder itself."""
    path = located(path)
    folder = path if path.is_dir() else path.parent
    whole = Path(os.path.abspath(folder))  # noqa: PTH100 (resolves ".." but not links)
    for candidate in (whole, *whole.parents):
        if defect_files(candidate):
            # Relative or absolute as the user wrote it, for messages.
            return candidate if folder.is_absolute() else Path(os.path.relpath(candidate))
    return folder


def default_path() -> Path:
    """Where defects are looked for where the user names no path: ``cases``, or the corpus that comes with the tool."""
    own = Path("cases")
    return own if own.is_dir() and defect_files(root_of(own)) else Path(NAME)


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [] if is_defect_file(path) else [path]
    return sorted(_found(path))


def _found(folder: Path) -> Iterator[Path]:
    """The case files in a folder, or those of other suites if there are none."""
    of_cases = (
        file for file in folder.rglob("*") if file.suffix in SUFFIXES and not file.is_dir() and not is_defect_file(file)
    )
    if (first := next(of_cases, None)) is not None:
        yield first
        yield from of_cases
        return
    # Models and JSON files next to case files are data, records and reports.
    for suite in FORMATS.values():
        yield from (file for file in folder.rglob(suite.PATTERN) if not onnx_testdata.is_of_models(file))


def _read(
    file: Path, root: Path, name: str, most_cells: int, problems: list[Problem], left_out: list[Problem]
) -> Iterator[Case]:
    """The cases of a file, whose ``name`` is their origin; adds its problems, and the tests that it leaves out."""
    if file.suffix in FORMATS and not _is_case_file(file):
        suite = read_files([file], lambda file: FORMATS[file.suffix].read(file, root, most_cells))
        problems += suite.broken
        left_out += suite.left_out
        yield from suite.cases
        return
    try:
        yield from case_file.cases_of(document.read(file), file, root, most_cells, name)
    except CorpusError as error:
        problems += error.problems


def _is_case_file(file: Path) -> bool:
    """Whether a file is a case file in JSON, which is YAML."""
    try:
        data = json.loads(read_regular(file, 2**30)) if file.suffix == ".json" else None
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(data, dict) and "cases" in data


def digest_of(cases: Iterable[Case]) -> str:
    """The SHA-256 of cases and their ids."""
    digest = hashlib.sha256()
    for case in cases:
        digest.update(f"{case.id} {case.sha256}\n".encode())
    return digest.hexdigest()


def duplicates(cases: Iterable[Case]) -> Iterator[Problem]:
    """A problem for each case that has the id of an earlier one."""
    first: dict[str, Case] = {}
    for case in cases:
        other = first.setdefault(case.id, case)
        if other is not case:
            origin, message = case.origin, f"the id '{case.id}' is also used in {other.origin.path}"
            yield Problem(origin.path, origin.line, origin.column, message)
