"""A run as SARIF 2.1.0: one run a target, one rule a kind, one result for each kind of an execution."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

from maxpool_check.judging.kinds import DESCRIPTIONS
from maxpool_check.reporting import streamed
from maxpool_check.reporting.text import details
from maxpool_check.results.record import Execution, Record, TargetDescription

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def render(record: Record) -> str:
    """The log. Known divergences are there, suppressed with their reasons."""
    return "".join(parts(record))


def parts(record: Record) -> Iterator[str]:
    """The log in parts: a run may have more executions than there is room for."""
    runs = [_run(record, target) for target in record.header.targets]
    return streamed.parts({"$schema": SCHEMA, "version": "2.1.0", "runs": runs})


def _run(record: Record, target: TargetDescription) -> dict[str, Any]:
    known = record.footer.known if record.footer else ()
    stale = [entry for entry in known if entry.target == target.name and entry.status in ("stale", "expired")]
    return {
        "tool": {
            "driver": {
                "name": "maxpool-check",
                "version": record.header.tool,
                "rules": [
                    {
                        "id": kind.value,
                        "shortDescription": {"text": about.sentence},
                        "help": {"text": about.clause},
                    }
                    for kind, about in DESCRIPTIONS.items()
                ],
            }
        },
        "automationDetails": {"id": f"maxpool-check/{target.name}/"},
        "invocations": [
            {
                "executionSuccessful": not any(_problems(record, target)),
                "toolExecutionNotifications": map(_notification, _problems(record, target)),
                "toolConfigurationNotifications": [
                    _notification(f"{entry.id} is {entry.status}: {entry.message}") for entry in stale
                ],
            }
        ],
        "columnKind": "unicodeCodePoints",
        "results": _results(record, target),
    }


def _problems(record: Record, target: TargetDescription) -> Iterator[str]:
    """What is wrong with the run, and not with the target."""
    yield from record.footer.errors if record.footer else ["the run did not end"]
    yield from (f"{one.case}: {one.message}" for one in _of(record, target) if one.verdict == "error")


def _notification(text: str) -> dict[str, Any]:
    return {"level": "error", "message": {"text": text}}


def _results(record: Record, target: TargetDescription) -> Iterator[dict[str, Any]]:
    known = record.footer.known if record.footer else ()
    reasons = {entry.id: entry.reason for entry in known if entry.target == target.name}
    for execution in _of(record, target):
        if execution.status:
            yield from (_result(execution, kind, reasons) for kind in execution.kinds)


def _of(record: Record, target: TargetDescription) -> Iterator[Execution]:
    return (one for one in record.executions if one.target == target.name)


def _result(execution: Execution, kind: str, reasons: dict[str, str]) -> dict[str, Any]:
    path, _, line = execution.origin.rpartition(":")
    digest = hashlib.sha256(f"{execution.target} {execution.case} {execution.variant} {kind}".encode())
    lines = [f"{execution.case} ({execution.variant}): {execution.title}", *details(execution)]
    result: dict[str, Any] = {
        "ruleId": kind,
        "level": "note" if execution.status == "expected" else "error",
        "message": {"text": "\n".join(lines)},
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": {
                        "uri": Path(path).as_uri() if Path(path).is_absolute() else quote(Path(path).as_posix())
                    },
                    "region": {"startLine": int(line)},
                }
            }
        ],
        "partialFingerprints": {"maxpoolCheck/v1": digest.hexdigest()},
        "properties": {"verdict": execution.verdict, "variant": execution.variant, "case": execution.case},
    }
    if execution.status == "expected":
        reason = f"{execution.known}: {' '.join(reasons.get(execution.known or '', '').split())}"
        result["suppressions"] = [{"kind": "external", "status": "accepted", "justification": reason}]
    return result
