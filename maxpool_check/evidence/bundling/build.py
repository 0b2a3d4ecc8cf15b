"""Builds bundles of evidence: the primary members from records and their cases, then what follows from them."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import metadata
from pathlib import Path, PurePosixPath
from typing import Any

import maxpool_check
from maxpool_check.corpus import document
from maxpool_check.corpus.case import Case
from maxpool_check.corpus.collection import DEFECTS, FORMATS, Corpus, defect_files, located
from maxpool_check.corpus.defect_versions import FILE_NAME as VERSIONS
from maxpool_check.evidence.bundling.archive import BadArchive, compressed, packed
from maxpool_check.evidence.bundling.contents import (
    CASES,
    DESCRIPTION,
    MANIFEST,
    BadBundle,
    BundleDescription,
    IncompleteRecord,
    ToolDescription,
    manifest,
    record_members,
)
from maxpool_check.evidence.bundling.derived import derived
from maxpool_check.files import open_regular
from maxpool_check.results.record import Execution, Record
from maxpool_check.results.storage import decompressed
from maxpool_check.running.header import tool_files
from maxpool_check.words import plural

MOST_RECORD = 2**28
"""The longest record, in bytes without compression."""

_FEW = 10  # In a sentence.

_LIBRARIES = ("cyclonedx-python-lib", "jinja2", "msgspec", "numpy")


def build(records: Sequence[tuple[Path, Record]], corpus: Corpus, max_cells: int) -> dict[str, bytes]:
    """The members of the bundle of records, whose cases are in ``corpus``; its manifest too.

    Raises :class:`BadBundle` for records and cases that do not fit, and ``OSError``.
    """
    check_targets(records)
    used = check_cases(records, corpus)
    paths = zip(record_members([record for _, record in records]), [path for path, _ in records], strict=True)
    members = {member: compressed(_lines(path)) for member, path in sorted(paths)}
    members |= _case_members(used, corpus)
    description = BundleDescription(tool=present_tool(), libraries=present_libraries(), max_cells=max_cells)
    members |= derived({**members, DESCRIPTION: description.json()})
    return {**members, MANIFEST: manifest(members)}


def present_libraries() -> dict[str, str]:
    """The versions of the libraries that write members. Raises :class:`BadBundle` if one is not installed."""
    try:
        return {name: metadata.version(name) for name in _LIBRARIES}
    except metadata.PackageNotFoundError as error:
        text = f"bundles of evidence need {error.name}, which is not installed"
        raise BadBundle(f"{text}: pip install 'maxpool-check[evidence]'") from error


def present_tool() -> ToolDescription:
    """The tool that is running. Raises :class:`BadBundle` if its files cannot be read."""
    own = tool_files()
    if own is None:
        raise BadBundle("the files of maxpool-check itself cannot be read; install it again")
    return ToolDescription(version=maxpool_check.__version__, files=own)


def check_targets(records: Sequence[tuple[Path, Record]]) -> None:
    """Raise :class:`BadBundle` for an incomplete record, and for a target that two records have."""
    first: dict[str, Path] = {}
    for number, (path, record) in enumerate(records):
        if path in [other for other, _ in records[:number]]:
            raise BadBundle(f"{path} is named twice")
        if record.footer is None:
            raise IncompleteRecord(f"{path} is incomplete: the run did not end; run it again")
        for target in record.header.targets:
            if not target.computes:
                text = f"{target.name} decides {target.decides} only, and a bundle is evidence of values"
                raise BadBundle(f"{path}: {text}; leave it out")
            if (other := first.setdefault(target.name, path)) != path:
                text = f"{other} and {path} are both of {target.name}; a bundle has one record of a target"
                raise BadBundle(f"{text}: build two bundles, or run all cases in one run")


def check_cases(records: Iterable[tuple[Path, Record]], corpus: Corpus) -> list[Case]:
    """The cases of records, in the order of the corpus, or all of them if a run has selected some of it.

    Raises :class:`BadBundle` if a record has others.
    """
    known = {case.id: case for case in corpus.cases}
    used: set[str] = set()
    for path, record in records:
        described = record.header.corpus
        if described is None and record.header.command[1:2] == ("model",):
            text = "write them with 'maxpool-check model MODEL.onnx --cases FILE.yaml', and run that"
            raise BadBundle(f"{path} is of a model, whose cases are in no file; {text}")
        first = {execution.case: execution for execution in reversed(list(record.executions))}
        missing = [case for case in first if case not in known]
        changed = [case for case in first if case in known and not _is_of(first[case], known[case])]
        for ids, what in ((missing, "not in"), (changed, "different in")):
            if ids:
                raise BadBundle(
                    f"{path}: {plural(len(ids), 'case')} of the record {'is' if len(ids) == 1 else 'are'} {what} {corpus.name}: "
                    f"{', '.join(ids[:_FEW])}{' ...' if len(ids) > _FEW else ''}; name the case files of the run with --cases, "
                    "or run these again"
                )
        used |= first.keys()
        if described is not None and described.version is None and described.cases > len(first):
            # Which known defects are stale depends on what the run has selected from; of the tool's own corpus, the tool knows.
            used |= known.keys()
    return [case for case in corpus.cases if case.id in used]


def _is_of(execution: Execution, case: Case) -> bool:
    """Whether a case is the one that was executed, and says the same in the same place: the record must follow from the bundle."""
    place = int(execution.origin.rpartition(":")[2])
    stated = (execution.case_sha256, execution.title, execution.clauses, place)
    return stated == (case.sha256, case.title, case.covers, case.origin.line)


def _lines(path: Path) -> bytes:
    """The lines of a record file, which may be compressed. Raises :class:`BadBundle` if they are too many."""
    with open_regular(path) as file:
        lines = decompressed(file).read(MOST_RECORD + 1)
    if len(lines) > MOST_RECORD:
        text = f"{path} has more than {MOST_RECORD // 2**20} MiB of lines"
        raise BadBundle(f"{text}; select cases with -k or --spec, and build several bundles")
    return lines


def _case_members(cases: Iterable[Case], corpus: Corpus) -> dict[str, bytes]:
    """The files that cases come from, with their tensors, and the files of defects of the corpus."""
    members: dict[str, bytes] = {}
    origins: dict[str, Path] = {}
    for case in cases:
        path = located(Path(case.origin.path))
        if path.suffix in FORMATS and case.provenance:
            text = "write a case file of it with 'maxpool-check cases import', and run that"
            raise BadBundle(f"{case.id} comes from {path}, a file of another suite; {text}")
        name = f"{CASES}{case.id.rpartition(':')[0]}{path.suffix}"
        if origins.setdefault(name, path) != path:
            raise BadBundle(f"{origins[name]} and {path} have the same name in a bundle; build two bundles")
    for name, path in origins.items():
        try:
            packed({name: b""})
        except BadArchive as error:
            text = "cannot be in a bundle; rename it, and run its cases again"
            raise BadBundle(f"{path} {text} ({error})") from error
        members[name] = path.read_bytes()
        members |= {f"{CASES}{tensor}": file.read_bytes() for tensor, file in tensors_of(path, name).items()}
    for root in map(located, corpus.roots):
        versions = root / DEFECTS / VERSIONS
        for path in [*defect_files(root), *([versions] if versions.is_file() else [])]:
            name = f"{CASES}{path.relative_to(root).as_posix()}"
            if members.setdefault(name, path.read_bytes()) != path.read_bytes():
                raise BadBundle(f"two corpora have a file {name.removeprefix(CASES)}; build two bundles")
    return members


def tensors_of(path: Path, member: str) -> Mapping[str, Path]:
    """The .npy files that a case file names, by what they are called in the folder of the cases of a bundle."""

    def named(data: Any) -> Iterator[str]:
        if isinstance(data, Mapping):
            if isinstance(data.get("npy"), str):
                yield data["npy"]
            data = list(data.values())
        for each in data if isinstance(data, list) else ():
            yield from named(each)

    folder = PurePosixPath(member.removeprefix(CASES)).parent
    return {os.path.normpath(folder / tensor): path.parent / tensor for tensor in named(document.read(path).data)}
