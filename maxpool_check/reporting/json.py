"""The JSON document of a run, for scripts."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from maxpool_check.reporting import streamed
from maxpool_check.reporting.findings import VERDICTS, explained, summary
from maxpool_check.results.record import Execution, Record

SCHEMA = "maxpool-check/run/1"


def render(record: Record, exit_code: int) -> str:
    """One JSON document for a whole run."""
    return "".join(parts(record, exit_code))


def parts(record: Record, exit_code: int) -> Iterator[str]:
    """The document in parts: a run may have more executions than there is room for."""
    by_target = summary(record.executions)
    totals = {verdict: sum(counts[verdict] for counts in by_target.values()) for verdict in VERDICTS}
    footer = record.footer
    document = {
        "schema": SCHEMA,
        "exit_code": exit_code,
        "complete": footer is not None,
        "summary": {"cases": record.header.cases, "executions": len(record.executions), **totals},
        "profile": record.header.profile,
        "targets": [
            {**msgspec.to_builtins(target), "summary": by_target.get(target.name, dict.fromkeys(VERDICTS, 0))}
            for target in record.header.targets
        ],
        "results": map(_result, record.executions),
        "known": msgspec.to_builtins(footer.known) if footer else [],
        "errors": [{"message": message} for message in footer.errors] if footer else [],
    }
    return streamed.parts(document)


def failure(exit_code: int, errors: Sequence[dict[str, Any]]) -> str:
    """The document of a run that did not come to ask anything."""
    document = {
        "schema": SCHEMA,
        "exit_code": exit_code,
        "complete": False,
        "summary": {"cases": 0, "executions": 0, **dict.fromkeys(VERDICTS, 0)},
        "profile": {},
        "targets": [],
        "results": [],
        "known": [],
        "errors": list(errors),
    }
    return json.dumps(document, indent=1)


def _result(execution: Execution) -> dict[str, Any]:
    return {
        "case": execution.case,
        "target": execution.target,
        "variant": execution.variant,
        "verdict": execution.verdict,
        "kinds": list(execution.kinds),
        "known": execution.known,
        "unexpected": execution.unexpected,
        "status": execution.status,
        "limit": execution.limit,
        "information": list(execution.information),
        "counts": execution.counts,
        "cells": [
            {
                "at": list(cell.at),
                "output": cell.output,
                "expected": cell.expected,
                "got": cell.got,
                "kind": cell.kind,
                "window": [list(taps) for taps in cell.window],
            }
            for cell in execution.cells
        ],
        "causes": [
            {"kind": cause.kind, "output": cause.output, "cells": cause.cells, "message": explained(cause)}
            for cause in execution.causes
        ],
        "message": execution.message,
        "spec": execution.spec,
        "opset": execution.opset,
        "translation": list(execution.translation),
        "layout": execution.layout,
        "interpretations": execution.interpretations,
        "title": execution.title,
        "origin": execution.origin,
    }
