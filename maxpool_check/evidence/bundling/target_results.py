"""What the records of a bundle say of each target, counted by verdict and by case."""

import hashlib
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import msgspec

from maxpool_check.reporting.run_report import RunReport
from maxpool_check.results.record import (
    COMPARED,
    FAULTS,
    ExitCode,
    KnownEntry,
    Line,
    Record,
    TargetDescription,
    Verdict,
)
from maxpool_check.results.storage import record_of
from maxpool_check.results.summary import RunSummary
from maxpool_check.running.run import TargetRecorders

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
    def cases(self) -> Mapping[str, frozenset[Verdict]]:
        """The verdicts of each case that was executed, in order."""
        verdicts: dict[str, set[Verdict]] = {}
        for execution in self.record.executions:
            verdicts.setdefault(execution.case, set()).add(execution.verdict)
        return {case: frozenset(each) for case, each in verdicts.items()}

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

    @property
    def known(self) -> Sequence[KnownEntry]:
        """The known defects that the run expected of the target, or that explain what it showed."""
        return self.record.footer.known if self.record.footer else ()

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


def target_results(records: Mapping[str, Record]) -> list[TargetResults]:
    """The results of every target, in the order of the records, which are given by their members."""
    names = iter(member_names([target.name for record in records.values() for target in record.header.targets]))
    results = []
    for member, record in records.items():
        own = _by_target(record)
        for target in record.header.targets:
            counts = Counter(execution.verdict for execution in own[target.name].executions)
            results.append(TargetResults(next(names), member, own[target.name], target, counts))
    return results


class _Lines(list[Line]):
    """The lines of a record in memory."""

    def write(self, line: Line) -> None:
        self.append(line)


def _by_target(record: Record) -> dict[str, Record]:
    """What a record says of each of its targets: what it would be if the run had had this target alone."""
    lines = {target.name: _Lines() for target in record.header.targets}
    recorders = TargetRecorders(lines)
    every: list[Line] = [record.header, *record.outputs.values(), *record.executions]
    for line in [*every, record.footer] if record.footer is not None else every:
        recorders.write(line)
    records = {name: record_of(each) for name, each in lines.items()}
    for name, own in records.items():
        if own.footer is not None and len(records) > 1:
            summary = RunSummary()
            for execution in own.executions:
                summary.add(execution)
            strict = record.header.effective_settings.strict
            code = int(summary.exit_code(own.footer.known, own.footer.errors, strict=strict))
            records[name] = replace(own, footer=msgspec.structs.replace(own.footer, exit_code=code))
    return records
