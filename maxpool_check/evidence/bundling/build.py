"""Builds bundles of evidence: the primary members from records and their cases, then what follows from them."""

import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import metadata
from importlib.resources import files
from operator import itemgetter
from pathlib import Path, PurePosixPath
from typing import Any

import maxpool_check
from maxpool_check import inert
from maxpool_check.corpus import document
from maxpool_check.corpus.case import Case
from maxpool_check.corpus.collection import DEFECTS, FORMATS, Corpus, defect_files, located
from maxpool_check.corpus.defect_versions import FILE_NAME as VERSIONS
from maxpool_check.evidence.bundling.archive import BadArchive, packed
from maxpool_check.evidence.bundling.bundle import (
    CASES,
    CLAUSES,
    DESCRIPTION,
    KILLS,
    MANIFEST,
    PROOF,
    RECORDS,
    REFERENCE,
    WRONG_KERNELS,
    BundleDescription,
    BundledRecord,
    ToolDescription,
    compressed,
    manifest,
    member_names,
)
from maxpool_check.evidence.bundling.contents import BadBundle, IncompleteRecord
from maxpool_check.evidence.bundling.derived import derived
from maxpool_check.evidence.kills import Kills, kills_by_clause, to_json
from maxpool_check.files import open_regular
from maxpool_check.results.record import Execution, Record
from maxpool_check.results.storage import decompressed
from maxpool_check.running.header import tool_files
from maxpool_check.specifications.clauses import Clause, clauses
from maxpool_check.words import plural

MOST_RECORD = 2**28
"""The longest record, in bytes without compression."""

_FEW = 10  # In a sentence.
MOST_KILLS = 1
"""So many cases that notice a wrong kernel are named in a bundle, for each clause that it violates."""

_LIBRARIES = ("cyclonedx-python-lib", "jinja2", "msgspec", "numpy")


def build(records: Sequence[tuple[Path, Record]], corpus: Corpus, max_cells: int) -> dict[str, bytes]:
    """The members of the bundle of records, whose cases are in ``corpus``; its manifest too.

    Raises :class:`BadBundle` for records and cases that do not fit, and ``OSError``.
    """
    check_targets(records)
    used = check_cases(records, corpus)
    targets = ["_".join(target.name for target in record.header.targets) for _, record in records]
    members: dict[str, bytes] = {}
    described = []
    for name, (path, record) in sorted(zip(member_names(targets), records, strict=True), key=itemgetter(0)):
        lines = _lines(path)
        member = f"{RECORDS}{name}.jsonl.gz"
        members[member] = compressed(lines)
        described.append(
            BundledRecord(
                name=name,
                member=member,
                sha256=hashlib.sha256(lines).hexdigest(),
                targets=tuple(target.name for target in record.header.targets),
                cases=record.header.cases,
                executions=len(record.executions),
            )
        )
    members |= _case_members(used, corpus)
    members |= tool_members()
    members[KILLS] = written(kills_by_clause(used, clauses_of_cases(used), MOST_KILLS))
    members[PROOF] = proof_member()
    members[DESCRIPTION] = BundleDescription(
        tool=present_tool(),
        libraries=present_libraries(),
        records=tuple(described),
        cases=len(used),
        max_cells=max_cells,
    ).json()
    members |= derived(members)
    return {**members, MANIFEST: manifest(members)}


def clauses_of_cases(cases: Iterable[Case]) -> list[Clause]:
    """The clauses of the documents of cases."""
    documents = {case.spec for case in cases}
    return [clause for clause in clauses().values() if documents & {*clause.documents}]


def written(kills: Kills) -> bytes:
    """The member that has the wrong kernels that cases notice."""
    return f"{inert.dumps(to_json(kills), indent=1)}\n".encode()


def proof_member() -> bytes:
    """The log of the proof that comes with the tool."""
    return files("maxpool_check.evidence").joinpath("proof.json").read_bytes()


def present_libraries() -> dict[str, str]:
    """The versions of the libraries that write members."""
    return {name: metadata.version(name) for name in _LIBRARIES}


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
                raise BadBundle(
                    f"{path}: {target.name} decides {target.decides} only, and a bundle is evidence of values; leave it out"
                )
            if (other := first.setdefault(target.name, path)) != path:
                raise BadBundle(
                    f"{other} and {path} are both of {target.name}; a bundle has one record of a target: build two bundles, "
                    "or run all cases in one run"
                )


def check_cases(records: Iterable[tuple[Path, Record]], corpus: Corpus) -> list[Case]:
    """The cases of records, in the order of the corpus. Raises :class:`BadBundle` if it has others."""
    known = {case.id: case for case in corpus.cases}
    used: set[str] = set()
    for path, record in records:
        if record.header.corpus is None and record.header.command[1:2] == ("model",):
            raise BadBundle(
                f"{path} is of a model, whose cases are in no file; write them with 'maxpool-check model MODEL.onnx --case FILE.yaml', "
                "and run that"
            )
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
        raise BadBundle(
            f"{path} has more than {MOST_RECORD // 2**20} MiB of lines; select cases with -k or --spec, and build several bundles"
        )
    return lines


def _case_members(cases: Iterable[Case], corpus: Corpus) -> dict[str, bytes]:
    """The files that cases come from, with their tensors, and the files of defects of the corpus."""
    members: dict[str, bytes] = {}
    origins: dict[str, Path] = {}
    for case in cases:
        path = located(Path(case.origin.path))
        if path.suffix in FORMATS and case.provenance:
            raise BadBundle(
                f"{case.id} comes from {path}, a file of another suite; write a case file of it with 'maxpool-check import', "
                "and run that"
            )
        name = f"{CASES}{case.id.rpartition(':')[0]}{path.suffix}"
        if name not in origins:
            _check_name(name, path)
        if origins.setdefault(name, path) != path:
            raise BadBundle(f"{origins[name]} and {path} have the same name in a bundle; build two bundles")
    for name, path in origins.items():
        members[name] = path.read_bytes()
        for tensor in _tensors(document.read(path).data):
            members[os.path.normpath(PurePosixPath(name).parent / tensor)] = (path.parent / tensor).read_bytes()
    for root in corpus.roots:
        files_of_defects = defect_files(located(root))
        versions = located(root) / DEFECTS / VERSIONS
        for path in [*files_of_defects, *([versions] if versions.is_file() else [])]:
            name = f"{CASES}{path.relative_to(located(root)).as_posix()}"
            if members.setdefault(name, path.read_bytes()) != path.read_bytes():
                raise BadBundle(f"two corpora have a file {name.removeprefix(CASES)}; build two bundles")
    return members


def _check_name(name: str, path: Path) -> None:
    """Raise :class:`BadBundle` for a file whose name no archive can have."""
    try:
        packed({name: b""})
    except BadArchive as error:
        raise BadBundle(f"{path} cannot be in a bundle; rename it, and run its cases again ({error})") from error


def _tensors(data: Any) -> Iterator[str]:
    """The names of .npy files in a case file."""
    if isinstance(data, Mapping):
        if isinstance(data.get("npy"), str):
            yield data["npy"]
        data = list(data.values())
    if isinstance(data, list):
        for each in data:
            yield from _tensors(each)


def tool_members() -> dict[str, bytes]:
    """The files of the tool that a bundle holds, to be read beside it in years: they need not be executed."""
    return {
        f"{member}{path.name}": path.read_bytes()
        for member, package, suffix in (
            (CLAUSES, "maxpool_check.specifications.clauses", ".yaml"),
            (REFERENCE, "maxpool_check.reference", ".py"),
            (WRONG_KERNELS, "maxpool_check.evidence.wrong_kernels", ".py"),
        )
        for path in sorted(files(package).iterdir(), key=lambda path: path.name)
        if path.name.endswith(suffix)
    }
