"""The primary members of a bundle, read: records, cases, clauses."""

import contextlib
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TypeVar

import msgspec

from maxpool_check.corpus.case import Case
from maxpool_check.corpus.case_file import read_cases
from maxpool_check.corpus.collection import DEFECTS, SUFFIXES, defect_files, is_defect_file
from maxpool_check.corpus.defect_file import read_all_defects
from maxpool_check.corpus.defect_versions import FILE_NAME as VERSIONS
from maxpool_check.corpus.defect_versions import DefectVersions, read_versions
from maxpool_check.evidence.bundling.archive import write_members
from maxpool_check.evidence.bundling.bundle import (
    CASES,
    DESCRIPTION,
    KILLS,
    PROOF,
    BundleDescription,
    BundledRecord,
    names_with,
    primary,
)
from maxpool_check.evidence.bundling.target_results import TargetResults, target_results
from maxpool_check.evidence.kernels import WrongKernel
from maxpool_check.evidence.kills import Kills
from maxpool_check.evidence.proof import Proof
from maxpool_check.evidence.references import ReferenceLog, references
from maxpool_check.evidence.tracing.trace import Trace, TraceScope, trace
from maxpool_check.judging.defects import Defect
from maxpool_check.results.record import Record
from maxpool_check.results.storage import read
from maxpool_check.running.header import digest_of_files

_MOST_IN_MEMORY = 100_000
"""A record of more executions stays in its file."""

_SUFFIXES = (*SUFFIXES, ".json")
VERSIONS_MEMBER = f"{CASES}{DEFECTS}/{VERSIONS}"
"""Which versions show the defects of the files beside it."""

_T = TypeVar("_T")


class BadBundle(ValueError):
    """Members of which no bundle can be made, or that are none; the message says which and why."""


class KillList(msgspec.Struct, frozen=True, kw_only=True):
    """``kills.json``: wrong kernels with what each does wrong, and for each clause the cases that notice each of them."""

    schema: str
    kernels: dict[str, str]
    clauses: dict[str, dict[str, tuple[str, ...]]]

    @property
    def kills(self) -> Kills:
        """The kills. ``KeyError`` for a kernel that the list does not describe, :class:`BadBundle` for a name of another form."""
        kernels = {name: WrongKernel(*_split(name), sentence) for name, sentence in self.kernels.items()}
        return {
            clause: {kernels[name]: cases for name, cases in by_kernel.items()}
            for clause, by_kernel in self.clauses.items()
        }


class IncompleteRecord(BadBundle):
    """A record of a run that did not end."""


@dataclass(frozen=True)
class Contents:
    """The primary members of a bundle, and what they say: ``records`` by name; the ``cases`` that these have, by id.

    The cases are in the order of their files; their origins are members. ``files_cases`` are all cases of these files.
    ``known_sha256`` is the digest of the files of ``defects`` as a run has it, None if there are none; ``versions`` says which
    versions show them.
    """

    members: Mapping[str, bytes]
    description: BundleDescription
    records: Mapping[str, Record]
    cases: Mapping[str, Case]
    defects: tuple[Defect, ...]
    kills: Kills
    proof: Proof
    files_cases: tuple[Case, ...]
    known_sha256: str | None
    versions: DefectVersions

    @cached_property
    def references(self) -> ReferenceLog:
        """The results of the cases by both references."""
        return references(self.cases.values())

    @cached_property
    def trace(self) -> Trace:
        """The trace of the cases and of all clauses of their documents."""
        scope = TraceScope(tuple(self.cases.values()), {case.spec for case in self.cases.values()})
        return trace(scope, self.records, self.kills)

    @cached_property
    def results(self) -> list[TargetResults]:
        """The results of every target, in the order of the records."""
        return target_results([(each, self.records[each.name]) for each in self.bundled])

    @property
    def bundled(self) -> tuple[BundledRecord, ...]:
        """What the description says of each record."""
        return self.description.records


@contextlib.contextmanager
def opened(members: Mapping[str, bytes]) -> Iterator[Contents]:
    """Read the primary members; the others are ignored.

    Raises :class:`BadBundle`, ``CorpusError`` for cases and defects that cannot be read, and ``BadRecord``.
    """
    description = _decoded(members, DESCRIPTION, BundleDescription)
    kept = primary(members)
    for each in description.records:
        if each.member not in kept:
            raise BadBundle(f"{DESCRIPTION} names {each.member}, which is missing")
    with tempfile.TemporaryDirectory(prefix="maxpool-check-") as temporary:
        folder = Path(temporary)
        write_members(kept, folder)
        records = {each.name: _in_memory(read(folder / each.member)) for each in description.records}
        recorded = {execution.case for record in records.values() for execution in record.executions}
        files = [name for name in names_with(kept, CASES) if name.endswith(_SUFFIXES) and name != VERSIONS_MEMBER]
        of_defects = [name for name in files if is_defect_file(folder / name)]
        of_cases = [name for name in files if name not in of_defects]
        files_cases = tuple(_cases(folder, of_cases, description.max_cells))
        cases = {case.id: case for case in files_cases if case.id in recorded}
        known_files = defect_files(folder / CASES)
        yield Contents(
            kept, description, records, cases, tuple(read_all_defects(known_files)), _kills(kept), _proof(kept), files_cases,
            digest_of_files(known_files), read_versions(folder / CASES),
        )  # fmt: skip


def _kills(members: Mapping[str, bytes]) -> Kills:
    """The kills of a bundle. Raises :class:`BadBundle`."""
    try:
        return _decoded(members, KILLS, KillList).kills
    except KeyError as error:
        raise BadBundle(f"{KILLS}: the kernel {error} is not described") from error


def _proof(members: Mapping[str, bytes]) -> Proof:
    """The log of the comparison of both references over small geometries. Raises :class:`BadBundle`."""
    return _decoded(members, PROOF, Proof)


def _decoded(members: Mapping[str, bytes], name: str, type_: type[_T]) -> _T:
    """A member of JSON. Raises :class:`BadBundle`."""
    if name not in members:
        raise BadBundle(f"{name} is missing")
    try:
        return msgspec.json.decode(members[name], type=type_)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise BadBundle(f"{name}: {error}") from error
    except RecursionError as error:
        raise BadBundle(f"{name}: nested too deeply") from error


def _split(name: str) -> tuple[str, str]:
    module, separator, kernel = name.partition(":")
    if not separator or ":" in kernel:
        raise BadBundle(f"{KILLS}: '{name}' is not MODULE:NAME of a kernel")
    return module, kernel


def _in_memory(record: Record) -> Record:
    """The record, in memory if it is not large: it is read many times."""
    return replace(record, executions=tuple(record.executions)) if len(record.executions) <= _MOST_IN_MEMORY else record


def _cases(folder: Path, members: Iterable[str], most_cells: int) -> Iterator[Case]:
    """All cases of some members, which become their origins."""
    for name in members:
        for case in read_cases(folder / name, folder / CASES, most_cells):
            yield replace(case, origin=replace(case.origin, path=name))
