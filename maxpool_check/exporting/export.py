"""An export: files for other programs, the manifest with their digests, what was left out, and the folder of all that."""

import hashlib
import json
import math
import tempfile
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import yaml

import maxpool_check
from maxpool_check import inert
from maxpool_check.corpus.case import Case
from maxpool_check.files import move_files, read_regular, write_files
from maxpool_check.judging.acceptance import AcceptedResult, OpenValue
from maxpool_check.judging.oracle import Oracle
from maxpool_check.reference.dtypes import is_float
from maxpool_check.reference.pooling import Pooling
from maxpool_check.specifications import specification
from maxpool_check.specifications.clauses import edition_name, editions
from maxpool_check.specifications.specification import Refused

MANIFEST, MANIFEST_SCHEMA = "manifest.json", "maxpool-check/export/1"

MOST_CELLS = 2**17
"""The most cells of an X or Y that is exported: a file in text has to hold them."""

TOOL = {"name": "maxpool-check", "version": maxpool_check.__version__}

_MOST_BYTES = 2**28

FLAGS: Mapping[str, str] = yaml.safe_load(Path(__file__).with_name("flags.yaml").read_bytes())
"""What is special about a test, in words that a file explains once, in the order of a test."""


class NotFree(Exception):
    """A folder that an export cannot be written to without a loss; the message says why and what to do."""


class LeftOutCase(NamedTuple):
    """A case that is not exported, in all variants or in one (``variant``, otherwise empty), and why."""

    case: str
    variant: str
    why: str


@dataclass(frozen=True)
class Export:
    """The files of an export by their paths, with ``/``.

    ``cases`` says of each exported case, by id, its digest, its document and where it is. ``limits`` is what the form cannot hold
    or cannot check, and ``about`` what else the manifest says first.
    """

    form: str
    files: Mapping[str, bytes]
    cases: Mapping[str, Mapping[str, Any]]
    left_out: Sequence[LeftOutCase]
    documents: Collection[str]
    limits: Mapping[str, Any]
    about: Mapping[str, Any] = field(default_factory=lambda: {"tool": TOOL})

    @property
    def reasons(self) -> Mapping[str, tuple[int, int]]:
        """How many cases are left out for each reason, the most frequent first: in all variants, and in one alone.

        Each case counts once: for the first of its reasons, without what differs from case to case.
        """
        first = {each.case: each.why.partition(": ")[0] for each in sorted(self.left_out, reverse=True)}
        counts = Counter((why, case in self.cases) for case, why in first.items())
        pairs = {why: (counts[why, False], counts[why, True]) for why in sorted(set(first.values()))}
        return dict(sorted(pairs.items(), key=lambda pair: pair[1], reverse=True))

    def manifest(self) -> bytes:
        """The manifest: digests of every file and case, the versions, what was left out."""
        left_out = [{key: value for key, value in each._asdict().items() if value} for each in sorted(self.left_out)]
        data = {
            "schema": MANIFEST_SCHEMA, "format": self.form, **self.about,
            "documents": [document_data(name) for name in sorted(self.documents)], "limits": self.limits,
            "files": {path: hashlib.sha256(content).hexdigest() for path, content in sorted(self.files.items())},
            "cases": dict(sorted(self.cases.items())), "left_out": left_out,
        }  # fmt: skip
        return (inert.dumps(data, indent=1) + "\n").encode()


def document_data(name: str) -> dict[str, str]:
    """A document as plain data, with the edition that was read."""
    document, edition = specification(name), editions().get(name)
    data = {"name": name, "title": document.title, "layout": document.layout.value}
    if edition is not None:
        data["edition"] = f"{edition_name(name)}: {edition.title}"
        data |= {"sha256": edition.sha256} if edition.sha256 else {}
    return data


def rendered(template: str, **values: Any) -> bytes:
    """What a template among the files of this package makes of values."""
    # Not every form has one.
    import jinja2

    text = (Path(__file__).parent / template).read_text(encoding="utf-8")
    page = jinja2.Template(text, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True)
    return page.render(values).encode()


def too_large(case: Case, most_cells: int) -> str | None:
    """Why a case is too large for an export whose tensors have at most ``most_cells`` cells; None if it is not."""
    cells = case.X.size
    if isinstance(case.resolved, Pooling):
        cells = max(cells, math.prod(case.entering.shape[:2]) * math.prod(case.resolved.output_sizes))
    return None if cells <= most_cells else f"a tensor of more than {most_cells} cells: it has {cells}"


def flags(case: Case, oracle: Oracle | Refused, results: Sequence[AcceptedResult]) -> list[str]:
    """The flags of a test in order, by its right outputs."""
    X = case.X.tensor()
    holds = {
        "FloatAttribute": _has_float(case.attributes), "Graph": not case.context.is_alone, "NoCells": not X.size,
        "NaN": is_float(X.dtype) and bool((X != X).any()),
    }  # fmt: skip
    if isinstance(oracle, Refused):
        holds |= {"NoMeaning": oracle.is_open, "Invalid": not oracle.is_open}
    else:
        cells = [
            (name, values) for each in results for name, one in each.outputs.items() for values in one.others.values()
        ]
        of_indices = [set(values) for name, values in cells if name == "Indices"]
        holds |= {
            "MayBeRefused": bool(oracle.pooling.refusable), "LargePads": oracle.pooling.has_large_pads,
            "UndefinedCells": any(each.has_undefined for each in oracle.alternatives),
            "EmptyWindow": any(each.has_empty for each in oracle.alternatives), "OpenWindows": len(results) > 1,
            "OpenNaN": oracle.nan_is_open, "IndexOfNaN": any(OpenValue.NO_CELL in values for values in of_indices),
            "OpenZeroSign": any(name == "Y" and 0 in values for name, values in cells),
            "OpenTie": not oracle.nan_is_open and any(not values & {*OpenValue} for values in of_indices),
        }  # fmt: skip
    return [flag for flag in FLAGS if holds.get(flag)]


def _has_float(value: Any) -> bool:
    """Whether attributes hold a float that JSON writes as one, but that is an integer."""
    if isinstance(value, (Mapping, list, tuple)):
        return any(map(_has_float, value.values() if isinstance(value, Mapping) else value))
    return isinstance(value, float) and value.is_integer()


def check_folder(folder: Path, inputs: Iterable[Path]) -> list[Path]:
    """What is at the top of a folder that holds an earlier export, to be replaced.

    Raises :class:`NotFree` if it holds something else, also a file of the export that was changed, or one of the ``inputs``.
    Names at its top that begin with a dot, such as that of a repository, may be there.
    """
    if folder.exists() and not folder.is_dir():
        raise NotFree(f"{folder} is no folder; name another one")
    for path in inputs:
        if path.resolve().is_relative_to(folder.resolve()):
            raise NotFree(f"{path} is read, and lies in {folder}, which is to be written; name another folder")
    entries = [each for each in folder.iterdir() if not each.name.startswith(".")] if folder.exists() else []
    if not entries:
        return []
    with suppress(OSError, ValueError, KeyError, TypeError):
        manifest: Any = json.loads(read_regular(folder / MANIFEST, _MOST_BYTES))
        if manifest["schema"] != MANIFEST_SCHEMA:
            raise ValueError(folder)
        digests = {**manifest["files"], MANIFEST: ""}
        for file in sorted(folder.rglob("*")):
            name = file.relative_to(folder).as_posix()
            if (file.is_dir() and not file.is_symlink()) or name.startswith("."):
                continue
            if name not in digests:
                raise NotFree(f"{file} is not of the export in {folder}; move it, or name a new folder")
            if name != MANIFEST and hashlib.sha256(file.read_bytes()).hexdigest() != digests[name]:
                raise NotFree(f"{file} was changed after it was exported; move it, or name a new folder")
        return entries
    raise NotFree(f"{folder} is not empty and is no export of maxpool-check; name a new folder")


def write_export(export: Export, folder: Path, earlier: Iterable[Path]) -> None:
    """Write an export to a folder that was checked; what is ``earlier`` is removed when the new files are complete.

    Raises ``OSError``.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".maxpool-check-", dir=folder) as temporary:
        write_files(Path(temporary), {**export.files, MANIFEST: export.manifest()})
        move_files(Path(temporary), folder, earlier)
