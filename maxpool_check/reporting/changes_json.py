"""What has changed between two targets as one JSON document: changes from fault to fault, with the execution that shows each.

All executions are the two records.
"""

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any, TextIO

import msgspec

from maxpool_check.comparing.gate import TargetComparison, TransitionGroup
from maxpool_check.judging.defects import Severity
from maxpool_check.judging.faults import Fault
from maxpool_check.reporting.changes import ComparisonReport, details, group_cause
from maxpool_check.reporting.json import (
    ErrorData,
    ExampleData,
    example_data,
    schema_of,
    target_data,
    text_of,
    write_document,
)


class SideData(msgspec.Struct, frozen=True, kw_only=True):
    """The fault of the executions of a change on one side."""

    name: str
    """The id of the known defect, or the kinds of what none explains."""
    defect: str | None
    """The id of the known defect that names it."""
    kinds: tuple[str, ...]
    severity: Severity


class AcceptedData(msgspec.Struct, frozen=True, kw_only=True):
    """An entry of a user's file that accepts a change."""

    author: str
    reason: str
    expires: date
    """The last day on which it accepts the change."""


class ChangeData(msgspec.Struct, frozen=True, kw_only=True):
    """Executions that changed in the same way: from a fault, or from results that conform, to a fault or to results that conform."""

    change: str
    """The word of the change, as in ``docs gate``."""
    cause: str
    """The faults before and after, in words."""
    blocks: bool
    accepted: AcceptedData | None
    """The entry that accepts it."""
    before: SideData | None
    """The fault on the old side, None if there is none."""
    after: SideData | None
    """The fault on the new side, None if there is none."""
    cases: list[str]
    """The cases, the smallest first."""
    old: ExampleData | None
    """The execution of the smallest case on the old side, None if it was not executed there."""
    new: ExampleData | None
    """The execution of the smallest case on the new side, None if it was not executed there."""
    details: list[str]
    """Both results of the smallest case as lines, with the cells that differ."""


class ComparisonData(msgspec.Struct, frozen=True, kw_only=True):
    """What has changed from one target to another."""

    old: dict[str, Any]
    """The target before, as in the header of a record."""
    new: dict[str, Any]
    """The target after, as in the header of a record."""
    decision: str | None
    """SAFE, REVIEW or BLOCK; None if there is no decision."""
    message: str
    compared: int
    """How many executions there are on both sides."""
    left_out: list[str]
    """The cases that differ between the records."""
    summary: dict[str, int]
    """The number of executions of each change."""
    wrong_in_both: int
    """How many executions are the same on both sides, and wrong."""
    tools: list[str]
    """What to know of the versions of the tool that wrote the records."""
    unused: list[str]
    """The accepted changes that did not occur, or are expired."""
    changes: list[ChangeData]
    """The changes that can be observed, those that block first."""
    unchanged: list[ChangeData]
    """The faults that are the same on both sides."""


class GateDocument(msgspec.Struct, frozen=True, kw_only=True):
    """The document of a gate."""

    schema: str = "maxpool-check/gate/2"
    exit_code: int
    comparisons: list[ComparisonData]
    errors: list[ErrorData]


def write(report: ComparisonReport, file: TextIO) -> None:
    """Write the document of a gate."""
    comparisons = [_comparison(each) for each in report.comparisons]
    errors = [ErrorData(message=each) for each in report.errors]
    write_document(GateDocument(exit_code=report.exit_code, comparisons=comparisons, errors=errors), file)


def failure(exit_code: int, errors: Sequence[Mapping[str, Any]]) -> str:
    """The document of a gate that compared nothing; ``errors`` have the members of :class:`ErrorData`."""
    return text_of(GateDocument(exit_code=exit_code, comparisons=[], errors=[ErrorData(**each) for each in errors]))


def schema() -> Any:
    """The JSON Schema of the document of a gate."""
    return schema_of(GateDocument, "gate")


def _comparison(comparison: TargetComparison) -> ComparisonData:
    summary = comparison.summary
    return ComparisonData(
        old=target_data(comparison.old),
        new=target_data(comparison.new),
        decision=None if comparison.decision is None else comparison.decision.value,
        message=str(comparison),
        compared=summary.compared,
        left_out=list(comparison.left_out),
        summary={change.value: count for change, count in summary.counts.items()},
        wrong_in_both=summary.wrong_in_both,
        tools=list(comparison.tools),
        unused=list(comparison.unused),
        changes=[_change(each, comparison) for each in summary.groups],
        unchanged=[_change(each, comparison) for each in summary.unchanged],
    )


def _change(group: TransitionGroup, comparison: TargetComparison) -> ChangeData:
    smallest, entry, (before, after) = group.smallest, group.accepted, group.faults
    return ChangeData(
        change=group.change.value,
        cause=group_cause(group),
        blocks=group.blocks,
        accepted=None
        if entry is None
        else AcceptedData(author=entry.author, reason=entry.reason, expires=entry.expires),
        before=_side(before),
        after=_side(after),
        cases=group.cases,
        old=None if smallest.old is None else example_data(smallest.old, {}),
        new=None if smallest.new is None else example_data(smallest.new, {}),
        details=details(smallest, comparison.labels),
    )


def _side(fault: Fault | None) -> SideData | None:
    if fault is None:
        return None
    defect = None if fault.defect is None else fault.defect.id
    return SideData(name=fault.name, defect=defect, kinds=fault.kinds, severity=fault.severity)
