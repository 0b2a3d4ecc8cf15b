"""What a bundle of evidence is made of: its primary members, as bytes and as what they say; and its manifest."""

import contextlib
import hashlib
import re
import tempfile
from collections import Counter, defaultdict
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
from maxpool_check.corpus.tensors import MOST_CELLS
from maxpool_check.evidence.bundling.archive import MOST_UNPACKED, decompressed
from maxpool_check.evidence.kills import Kills, kills_by_clause
from maxpool_check.evidence.references import ReferenceLog, references
from maxpool_check.evidence.tracing.trace import Trace, TraceScope, trace
from maxpool_check.files import write_files
from maxpool_check.judging.defects import Defect
from maxpool_check.reporting.run_report import RunReport
from maxpool_check.results.details import ToolFiles
from maxpool_check.results.record import COMPARED, FAULTS, ExitCode, Line, Record, TargetDescription, Verdict
from maxpool_check.results.storage import read, record_of
from maxpool_check.results.summary import RunSummary
from maxpool_check.running.header import digest_of_files
from maxpool_check.running.run import TargetRecorders
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


_FAILED = FAULTS | {Verdict.ERROR}

_LONGEST = 50
"""A name of a member has 100 characters at most."""


@dataclass(frozen=True)
class TargetResults:
    """The results of one target: ``name`` is that of its files in the bundle, ``member`` its record.

    ``record`` is what the record would be if its run had had this target alone. ``executions`` are numbers by verdict.
    """

    name: str
    member: str
    record: Record
    target: TargetDescription
    executions: Counter[Verdict]

    @cached_property
    def report(self) -> RunReport:
        """The report of its record."""
        return report_of(self.record)

    @cached_property
    def cases(self) -> Mapping[str, set[Verdict]]:
        """The verdicts of each case that was executed, in order."""
        verdicts: dict[str, set[Verdict]] = defaultdict(set)
        for execution in self.record.executions:
            verdicts[execution.case].add(execution.verdict)
        return verdicts

    @cached_property
    def by_result(self) -> Mapping[str, list[str]]:
        """The cases by their results.

        ``failed``: something is wrong, refused, or an error, whether or not a known defect explains it. ``warned``: variants differ, which
        no document forbids. ``passed``: something was compared, and conforms. ``others``: nothing was compared.
        """
        results: dict[str, list[str]] = {"failed": [], "warned": [], "passed": [], "others": []}
        for case, verdicts in self.cases.items():
            compared = verdicts & COMPARED
            is_warned = Verdict.INCONSISTENT in verdicts
            result = "failed" if verdicts & _FAILED else "warned" if is_warned else "passed" if compared else "others"
            results[result].append(case)
        return results

    def cases_with(self, **fields: object) -> list[str]:
        """The cases that have an execution with these fields, in order."""
        found = (each for each in self.record.executions if all(getattr(each, name) == fields[name] for name in fields))
        return list(dict.fromkeys(execution.case for execution in found))


def member_names(texts: Sequence[str]) -> list[str]:
    """A name for the members of each target or record, whatever the order: ``onnxruntime==1.31.1`` is onnxruntime-1.31.1."""
    short = [
        re.sub("[^A-Za-z0-9._-]+", "-", text.replace("==", "-")).strip("-.")[:_LONGEST] or "target" for text in texts
    ]
    return [
        f"{name}-{hashlib.sha256(text.encode()).hexdigest()[:8]}" if short.count(name) > 1 else name
        for name, text in zip(short, texts, strict=True)
    ]


def report_of(record: Record) -> RunReport:
    """The report of a record, as the pages of a bundle show it."""
    return RunReport(record, record.footer.exit_code if record.footer else ExitCode.INCOMPLETE)


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
        targets = [target.name for record in self.records.values() for target in record.header.targets]
        names, results = iter(member_names(targets)), []
        for member, record in self.records.items():
            lines = {target.name: list[Line]() for target in record.header.targets}
            recorders = TargetRecorders({name: each.append for name, each in lines.items()})
            for line in (record.header, *record.outputs.values(), *record.executions, record.footer):
                if line is not None:
                    recorders.write(line)
            for target in record.header.targets:
                own, summary = record_of(lines[target.name]), RunSummary()
                for execution in own.executions:
                    summary.add(execution)
                if own.footer is not None and len(lines) > 1:
                    strict = record.header.effective_settings.strict
                    code = int(summary.exit_code(own.footer.known, own.footer.errors, strict=strict))
                    own = replace(own, footer=msgspec.structs.replace(own.footer, exit_code=code))
                counts = Counter(execution.verdict for execution in own.executions)
                results.append(TargetResults(next(names), member, own, target, counts))
        return results


@contextlib.contextmanager
def opened(members: Mapping[str, bytes], most_cells: int = MOST_CELLS) -> Iterator[Contents]:
    """Read the primary members; what others say is ignored. ``most_cells`` is the limit of a case, if the bundle has no lower one.

    Raises :class:`BadBundle`, ``BadArchive``, ``BadRecord``, and ``CorpusError`` for cases and defects that cannot be read.
    """
    if DESCRIPTION not in members:
        raise BadBundle(f"{DESCRIPTION} is missing")
    try:
        description = msgspec.json.decode(members[DESCRIPTION], type=BundleDescription)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        why = "nested too deeply" if isinstance(error, RecursionError) else error
        raise BadBundle(f"{DESCRIPTION}: {why}") from error
    kept = primary(members)
    with tempfile.TemporaryDirectory(prefix="maxpool-check-") as temporary:
        folder = Path(temporary)
        write_files(folder, kept)
        records = _records(kept, folder)
        if [*records] != record_members([*records.values()]):
            raise BadBundle(f"{RECORDS} has other files than those of its targets")
        recorded = {execution.case for record in records.values() for execution in record.executions}
        corpus: list[Case] = []
        for name in names_with(kept, CASES):
            is_data = name == VERSIONS_MEMBER or not name.endswith((*SUFFIXES, ".json"))
            if not is_data and not is_defect_file(folder / name):
                cases = read_cases(folder / name, folder / CASES, min(description.max_cells, most_cells))
                corpus += (replace(case, origin=replace(case.origin, path=name)) for case in cases)
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


def records_in(members: Mapping[str, bytes]) -> dict[str, Record]:
    """The records of a bundle by their members. Raises :class:`BadBundle`, ``BadArchive`` and ``BadRecord``."""
    kept = {name: members[name] for name in names_with(members, RECORDS)}
    with tempfile.TemporaryDirectory(prefix="maxpool-check-") as folder:
        write_files(Path(folder), kept)
        return _records(kept, Path(folder))


def _records(members: Mapping[str, bytes], folder: Path) -> dict[str, Record]:
    """The records among the members of a bundle, which are files in the folder, too."""
    records, left = dict[str, Record](), MOST_UNPACKED
    for member in names_with(members, RECORDS):
        left -= len(decompressed(member, members[member], left))
        record = read(folder / member)
        footer = record.footer and msgspec.structs.replace(record.footer, conclusion=msgspec.UNSET)
        # They are read many times. What 'gate' concluded depends on what its user accepts, and nothing here follows from it.
        records[member] = replace(record, executions=tuple(record.executions), footer=footer)
    if not records:
        raise BadBundle(f"{RECORDS} is missing: it has no records")
    return records


def record_members(records: Sequence[Record]) -> list[str]:
    """The members of records, each named after its targets."""
    targets = ["_".join(target.name for target in record.header.targets) for record in records]
    return [f"{RECORDS}{name}.jsonl.gz" for name in member_names(targets)]


def page_name(member: str) -> str:
    """What the page of a record is called, by the member."""
    return member.removeprefix(RECORDS).removesuffix(".jsonl.gz")


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
