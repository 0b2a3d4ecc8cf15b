"""The JSON document of a run, for scripts."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TextIO

import msgspec

from maxpool_check import inert
from maxpool_check.judging.faults import hypothesis
from maxpool_check.reporting.run_report import RunReport
from maxpool_check.results.record import Execution, TargetDescription, Verdict

SCHEMA = "maxpool-check/run/1"


_FIELDS = (
    "case", "target", "variant", "verdict", "kinds", "known", "unexpected", "status", "limit", "information", "counts",
    "cells", "causes", "message", "spec", "opset", "translation", "layout", "interpretations", "title", "origin",
)  # fmt: skip
_CELL_FIELDS = ("at", "output", "expected", "got", "kind", "window")


def write(report: RunReport, file: TextIO) -> None:
    """Write one JSON document for a whole run, each result on a line of its own."""
    record = report.record
    document = {
        "schema": SCHEMA,
        "exit_code": report.exit_code,
        "complete": record.footer is not None and not record.footer.errors,
        "summary": {"cases": record.header.cases, "executions": len(record.executions)} | report.totals,
        "profile": record.header.profile,
        "targets": [{**target_data(target), "summary": report.counts[target.name]} for target in record.header.targets],
        "results": map(result_data, record.executions),
        "known": msgspec.to_builtins(report.known),
        "errors": [{"message": message} for message in report.problems] if record.footer else [],
    }
    write_object(file, document)
    file.write("\n")


def target_data(target: TargetDescription) -> dict[str, Any]:
    """A target as a member of a JSON document. What it is made of is in the record."""
    members: dict[str, Any] = msgspec.to_builtins(target)
    return {name: value for name, value in members.items() if name not in ("environments", "program")}


def result_data(execution: Execution) -> dict[str, Any]:
    """An execution as a member of a JSON document."""
    return {name: getattr(execution, name) for name in _FIELDS} | {
        "cells": [{name: getattr(cell, name) for name in _CELL_FIELDS} for cell in execution.cells],
        "causes": [{**msgspec.to_builtins(cause), "message": hypothesis(cause.kind)} for cause in execution.causes],
    }


def write_object(file: TextIO, members: Mapping[str, Any]) -> None:
    """Write a JSON object, one member a line; an iterator becomes a list, one item a line, and is never held in memory."""
    separator = "{\n"
    for name, value in members.items():
        file.write(f"{separator}{inert.dumps(name)}: ")
        if isinstance(value, Iterator):
            file.write("[")
            for number, item in enumerate(value):
                file.write(f"{',' if number else ''}\n{inert.dumps(item)}")
            file.write("]")
        else:
            file.write(inert.dumps(value))
        separator = ",\n"
    file.write("}")


def failure(exit_code: int, errors: Sequence[dict[str, Any]]) -> str:
    """The document of a run that failed before its first execution."""
    document = {
        "schema": SCHEMA,
        "exit_code": exit_code,
        "complete": False,
        "summary": {"cases": 0, "executions": 0} | dict.fromkeys(Verdict, 0),
        "profile": {},
        "targets": [],
        "results": [],
        "known": [],
        "errors": list(errors),
    }
    return inert.dumps(document, indent=1)
