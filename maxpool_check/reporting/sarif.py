"""A run as SARIF 2.1.0: one run a target, one rule a kind, one result for each kind of an execution."""

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TextIO
from urllib.parse import quote

from maxpool_check.judging.kinds import DESCRIPTIONS
from maxpool_check.reporting.json import write_object
from maxpool_check.reporting.run_report import RunReport
from maxpool_check.reporting.text import details
from maxpool_check.results.record import Execution, TargetDescription, Verdict

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def write(report: RunReport, file: TextIO) -> None:
    """Write the log. Known defects are included, suppressed with their reasons."""
    file.write(f'{{"$schema": "{SCHEMA}", "version": "2.1.0", "runs": [')
    for number, target in enumerate(report.record.header.targets):
        file.write(",\n" if number else "\n")
        write_object(file, _run(report, target))
    file.write("]}\n")


def _run(report: RunReport, target: TargetDescription) -> dict[str, Any]:
    record, reasons = report.record, report.reasons(target.name)
    problems = [*report.problems]
    for execution in record.executions:
        if execution.target == target.name and execution.verdict == Verdict.ERROR:
            problems.append(f"{execution.case}: {execution.message}")
    outdated = [entry for entry in report.outdated if entry.target == target.name]
    rules = [
        {"id": kind.value, "shortDescription": {"text": about.sentence}, "help": {"text": about.clause}}
        for kind, about in DESCRIPTIONS.items()
    ]
    return {
        "tool": {"driver": {"name": "maxpool-check", "version": record.header.tool, "rules": rules}},
        "automationDetails": {"id": f"maxpool-check/{target.name}/"},
        "invocations": [
            {
                "executionSuccessful": not problems,
                "toolExecutionNotifications": _notifications(problems),
                "toolConfigurationNotifications": _notifications(
                    f"{entry.id} is {entry.status}: {entry.message}" for entry in outdated
                ),
            }
        ],
        "columnKind": "unicodeCodePoints",
        "results": (
            _result(execution, kind, reasons)
            for execution in record.executions
            if execution.target == target.name and execution.status
            for kind in execution.kinds
        ),
    }


def _notifications(texts: Iterable[str]) -> list[dict[str, Any]]:
    return [{"level": "error", "message": {"text": text}} for text in texts]


def _result(execution: Execution, kind: str, reasons: Mapping[str, str]) -> dict[str, Any]:
    path, _, line = execution.origin.rpartition(":")
    digest = hashlib.sha256(f"{execution.target} {execution.case} {execution.variant} {kind}".encode())
    lines = [f"{execution.case} ({execution.variant}): {execution.title}", *details(execution)]
    uri = Path(path).as_uri() if Path(path).is_absolute() else quote(Path(path).as_posix())
    location: dict[str, Any] = {"artifactLocation": {"uri": uri}}
    if int(line):
        # A model has no lines.
        location["region"] = {"startLine": int(line)}
    result: dict[str, Any] = {
        "ruleId": kind,
        "level": {"expected": "note", "inconsistent": "warning", "special": "note"}.get(execution.status, "error"),
        "message": {"text": "\n".join(lines)},
        "locations": [{"physicalLocation": location}],
        "partialFingerprints": {"maxpoolCheck/v1": digest.hexdigest()},
        "properties": {"verdict": execution.verdict, "variant": execution.variant, "case": execution.case},
    }
    if execution.status == "expected":
        reason = f"{execution.known}: {reasons.get(execution.known or '', '')}"
        result["suppressions"] = [{"kind": "external", "status": "accepted", "justification": reason}]
    return result
