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
    Execution,
    ExitCode,
    KnownEntry,
    Record,
    RunFooter,
    TargetDescription,
    Verdict,
)
from maxpool_check.results.summary import RunSummary

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
    targets = [(member, record, target) for member, record in records.items() for target in record.header.targets]
    names = member_names([target.name for _, _, target in targets])
    results = []
    for name, (member, record, target) in zip(names, targets, strict=True):
        own = _of_target(record, target)
        counts = Counter(execution.verdict for execution in own.executions)
        results.append(TargetResults(name, member, own, target, counts))
    return results


def _of_target(record: Record, target: TargetDescription) -> Record:
    """What a record says of one of its targets."""
    if len(record.header.targets) == 1:
        return record
    executions = tuple(execution for execution in record.executions if execution.target == target.name)
    named = {sha256 for execution in executions for sha256 in execution.digests.values()}
    return replace(
        record,
        header=msgspec.structs.replace(record.header, targets=(target,)),
        executions=executions,
        footer=record.footer and _footer(record, record.footer, target.name, executions),
        outputs={sha256: output for sha256, output in record.outputs.items() if sha256 in named},
    )


def _footer(record: Record, footer: RunFooter, target: str, executions: Sequence[Execution]) -> RunFooter:
    """What a run with this target alone would have ended with."""
    others = tuple(f"{each.name} was given up" for each in record.header.targets if each.name != target)
    errors = tuple(error for error in footer.errors if not error.startswith(others))
    known = tuple(entry for entry in footer.known if entry.target == target)
    summary = RunSummary()
    for execution in executions:
        summary.add(execution)
    return msgspec.structs.replace(
        footer,
        executions=len(executions),
        summary={name: counts for name, counts in footer.summary.items() if name == target},
        known=known,
        errors=errors,
        exit_code=int(summary.exit_code(known, errors, strict=record.header.effective_settings.strict)),
        contradicted={name: causes for name, causes in footer.contradicted.items() if name == target},
    )
