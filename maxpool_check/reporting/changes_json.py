"""What has changed between two targets, as JSON with every transition, written one by one."""

from typing import Any, TextIO

import msgspec

from maxpool_check import inert
from maxpool_check.comparing.gate import TargetComparison
from maxpool_check.comparing.transitions import Transition
from maxpool_check.reporting.changes import ComparisonReport
from maxpool_check.reporting.json import target_data, write_object
from maxpool_check.results.record import Execution

_SIDE = ("verdict", "kinds", "known", "message", "opset", "digests", "interpretations", "cells", "differences")


def write(report: ComparisonReport, file: TextIO) -> None:
    """Write one JSON document."""
    schema = inert.dumps(f"maxpool-check/{report.command}/1")
    file.write(f'{{"schema": {schema}, "exit_code": {report.exit_code.value}, "comparisons": [')
    for number, comparison in enumerate(report.comparisons):
        file.write(",\n" if number else "\n")
        write_object(file, _members(comparison))
    errors = [{"message": error} for error in report.errors]
    file.write(f'],\n"errors": {inert.dumps(errors)}}}\n')


def _members(comparison: TargetComparison) -> dict[str, Any]:
    return {
        "old": target_data(comparison.old),
        "new": target_data(comparison.new),
        "decision": comparison.decision,
        "message": str(comparison),
        "compared": comparison.gate.compared,
        "left_out": comparison.left_out,
        "summary": {change.value: count for change, count in comparison.summary.counts.items()},
        "wrong_in_both": comparison.summary.wrong_in_both,
        "tools": comparison.tools,
        "unused": comparison.unused,
        "transitions": map(_transition, comparison.transitions),
    }


def _transition(transition: Transition) -> dict[str, Any]:
    return {
        **_fields(transition.execution, "case", "variant", "title", "origin"),
        "change": transition.change,
        "blocks": transition.blocks,
        "accepted": _accepted(transition),
        "old": transition.old and _fields(transition.old, *_SIDE),
        "new": transition.new and _fields(transition.new, *_SIDE),
    }


def _accepted(transition: Transition) -> dict[str, str] | None:
    """Who has accepted a change, why, and until when."""
    entry = transition.accepted
    return (
        None
        if entry is None
        else {"author": entry.author, "reason": entry.reason, "expires": entry.expires.isoformat()}
    )


def _fields(execution: Execution, *names: str) -> dict[str, Any]:
    return {name: msgspec.to_builtins(getattr(execution, name)) for name in names}
