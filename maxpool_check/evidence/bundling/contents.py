"""What a bundle of evidence is made of: its primary members, as bytes and as what they say; and its manifest."""

import contextlib
import hashlib
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import msgspec

from maxpool_check.corpus.case import Case
from maxpool_check.corpus.case_file import read_cases
from maxpool_check.corpus.collection import DEFECTS, SUFFIXES, defect_files, is_defect_file
from maxpool_check.corpus.defect_file import read_all_defects
from maxpool_check.corpus.defect_versions import FILE_NAME as VERSIONS
from maxpool_check.corpus.defect_versions import DefectVersions, read_versions
from maxpool_check.evidence.bundling.archive import MOST_UNPACKED, decompressed, write_members
from maxpool_check.evidence.bundling.target_results import TargetResults, member_names, target_results
from maxpool_check.evidence.kills import Kills, kills_by_clause
from maxpool_check.evidence.references import ReferenceLog, references
from maxpool_check.evidence.tracing.trace import Trace, TraceScope, trace
from maxpool_check.judging.defects import Defect
from maxpool_check.results.details import ToolFiles
from maxpool_check.results.record import Record
from maxpool_check.results.storage import read
from maxpool_check.running.header import digest_of_files
from maxpool_check.specifications.clauses import clauses

SCHEMA = "maxpool-check/evidence/1"

DESCRIPTION, MANIFEST, SIGNATURE = "bundle.json", "MANIFEST.sha256", "MANIFEST.sha256.sig"
RECORDS, CASES = "records/", "cases/"
"""The folders of the records, and of the case files and defects that belong to them."""
VERSIONS_MEMBER = f"{CASES}{DEFECTS}/{VERSIONS}"
"""Which versions show the defects of the files beside it."""

MOST_KILLS = 1
"""So many cases that notice a wrong kernel are named in a bundle, for each clause that it violates."""


class BadBundle(ValueError):
    """Members of which no bundle can be made, or that are none; the message says which and why."""


class IncompleteRecord(BadBundle):
    """A record of a run that did not end."""


class ToolDescription(msgspec.Struct, frozen=True, kw_only=True):
    """The tool that made a bundle."""

    version: str
    files: ToolFiles


class BundleDescription(msgspec.Struct, frozen=True, kw_only=True):
    """The first member: what made the bundle.

    ``libraries`` are the versions of those that write members: another version may write other bytes. ``max_cells`` is the limit of
    cells with which the cases were read.
    """

    schema: str = SCHEMA
    tool: ToolDescription
    libraries: dict[str, str]
    max_cells: int

    def json(self) -> bytes:
        """The member; the same bytes for the same description."""
        return msgspec.json.format(msgspec.json.encode(self), indent=1) + b"\n"


@dataclass(frozen=True)
class Contents:
    """What the primary members say: ``records`` by their members; the ``cases`` that these have, by id.

    The cases are in the order of their files; their origins are members. ``corpus`` are all cases of the files.
    ``known_sha256`` is the digest of the files of ``defects`` as a run has it, None if there are none; ``versions`` says which
    versions show them. ``folder`` holds the members while the contents are open.
    """

    members: Mapping[str, bytes]
    description: BundleDescription
    records: Mapping[str, Record]
    cases: Mapping[str, Case]
    corpus: Sequence[Case]
    defects: Sequence[Defect]
    known_sha256: str | None
    versions: DefectVersions
    folder: Path

    @cached_property
    def references(self) -> ReferenceLog:
        """The results of the cases by both references."""
        return references(self.cases.values())

    @cached_property
    def kills(self) -> Kills:
        """The wrong kernels that the cases notice, for each clause of their documents."""
        documents = {case.spec for case in self.cases.values()}
        of_cases = [clause for clause in clauses().values() if documents & {*clause.documents}]
        return kills_by_clause(self.cases.values(), of_cases, MOST_KILLS)

    @cached_property
    def trace(self) -> Trace:
        """The trace of the cases and of all clauses of their documents."""
        scope = TraceScope(tuple(self.cases.values()), {case.spec for case in self.cases.values()})
        return trace(scope, {page_name(member): record for member, record in self.records.items()}, self.kills)

    @cached_property
    def results(self) -> list[TargetResults]:
        """The results of every target, in the order of the records."""
        return target_results(self.records)


@contextlib.contextmanager
def opened(members: Mapping[str, bytes]) -> Iterator[Contents]:
    """Read the primary members; what others say is ignored.

    Raises :class:`BadBundle`, ``BadArchive``, ``BadRecord``, and ``CorpusError`` for cases and defects that cannot be read.
    """
    description = _described(members)
    kept = primary(members)
    with tempfile.TemporaryDirectory(prefix="maxpool-check-") as temporary:
        folder, left = Path(temporary), MOST_UNPACKED
        write_members(kept, folder)
        records: dict[str, Record] = {}
        for member in names_with(kept, RECORDS):
            left -= len(decompressed(member, kept[member], left))
            record = read(folder / member)
            # They are read many times.
            records[member] = replace(record, executions=tuple(record.executions))
        if not records:
            raise BadBundle(f"{RECORDS} is missing: it has no records")
        if [*records] != (expected := record_members([*records.values()])):
            raise BadBundle(f"{RECORDS} has other files than those of its targets, {', '.join(expected)}")
        recorded = {execution.case for record in records.values() for execution in record.executions}
        corpus = tuple(_cases(folder, names_with(kept, CASES), description.max_cells))
        known_files = defect_files(folder / CASES)
        yield Contents(
            members,
            description,
            records,
            {case.id: case for case in corpus if case.id in recorded},
            corpus,
            tuple(read_all_defects(known_files)),
            digest_of_files(known_files),
            read_versions(folder / CASES),
            folder,
        )


def record_members(records: Sequence[Record]) -> list[str]:
    """The members of records, each named after its targets."""
    targets = ["_".join(target.name for target in record.header.targets) for record in records]
    return [f"{RECORDS}{name}.jsonl.gz" for name in member_names(targets)]


def page_name(member: str) -> str:
    """What the page of a record is called, by the member."""
    return member.removeprefix(RECORDS).removesuffix(".jsonl.gz")


def _described(members: Mapping[str, bytes]) -> BundleDescription:
    """What a bundle says of itself. Raises :class:`BadBundle`."""
    if DESCRIPTION not in members:
        raise BadBundle(f"{DESCRIPTION} is missing")
    try:
        return msgspec.json.decode(members[DESCRIPTION], type=BundleDescription)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise BadBundle(f"{DESCRIPTION}: {error}") from error
    except RecursionError as error:
        raise BadBundle(f"{DESCRIPTION}: nested too deeply") from error


def _cases(folder: Path, members: Iterable[str], most_cells: int) -> Iterator[Case]:
    """All cases of the case files among some members, which become their origins."""
    for name in members:
        is_data = name == VERSIONS_MEMBER or not name.endswith((*SUFFIXES, ".json"))
        if not is_data and not is_defect_file(folder / name):
            for case in read_cases(folder / name, folder / CASES, most_cells):
                yield replace(case, origin=replace(case.origin, path=name))


def primary(members: Mapping[str, bytes]) -> dict[str, bytes]:
    """The members that are evidence themselves, from which, and from the tool, the others follow."""
    return {
        name: content for name, content in members.items() if name == DESCRIPTION or name.startswith((RECORDS, CASES))
    }


def manifest(members: Mapping[str, bytes]) -> bytes:
    """The manifest of members, in the form that ``sha256sum -c`` reads: all but itself and its signature."""
    names = sorted(name for name in members if name not in (MANIFEST, SIGNATURE))
    return "".join(f"{hashlib.sha256(members[name]).hexdigest()}  {name}\n" for name in names).encode()


def names_with(names: Iterable[str], folder: str) -> list[str]:
    """The names in a folder, in order."""
    return sorted(name for name in names if name.startswith(folder))
