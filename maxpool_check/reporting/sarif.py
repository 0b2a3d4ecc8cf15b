"""SARIF 2.1.0: a run for each log, a result for each alert."""

import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any, TextIO
from urllib.parse import quote

from maxpool_check.reporting.items import Alert, Checks, Log
from maxpool_check.reporting.json import write_object

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS = ("error", "warning", "note")


def write(checks: Checks, file: TextIO) -> None:
    """Write the logs. What is worst comes first: GitHub shows the first 5000 results."""
    file.write(f'{{"$schema": "{SCHEMA}", "version": "2.1.0", "runs": [')
    for number, log in enumerate(checks.logs):
        file.write(",\n" if number else "\n")
        write_object(file, _run(log))
    file.write("]}\n")


def _run(log: Log) -> dict[str, Any]:
    alerts = [(alert, item.origin) for item in log.items() for alert in item.alerts()]
    alerts.sort(key=lambda each: _LEVELS.index(each[0].level))
    rules = dict.fromkeys(alert.rule for alert, _ in alerts)
    described = [{"id": rule, **log.rules.get(rule, {})} for rule in rules]
    invocation: dict[str, Any] = {
        "executionSuccessful": not log.problems,
        "toolExecutionNotifications": _notifications(log.problems),
    }
    if log.outdated:
        invocation["toolConfigurationNotifications"] = _notifications(log.outdated)
    return {
        "tool": {"driver": {"name": "maxpool-check", "version": log.tool, "rules": described}},
        "automationDetails": {"id": f"maxpool-check/{log.name}/"},
        "invocations": [invocation],
        "columnKind": "unicodeCodePoints",
        "results": (_result(alert, origin) for alert, origin in alerts),
    }


def _notifications(texts: Iterable[str]) -> list[dict[str, Any]]:
    return [{"level": "error", "message": {"text": text}} for text in texts]


def _result(alert: Alert, origin: str) -> dict[str, Any]:
    path, _, line = origin.rpartition(":")
    uri = Path(path).as_uri() if Path(path).is_absolute() else quote(Path(path).as_posix())
    physical: dict[str, Any] = {"artifactLocation": {"uri": uri}}
    if int(line):
        # A model has no lines.
        physical["region"] = {"startLine": int(line)}
    location: dict[str, Any] = {"physicalLocation": physical}
    if alert.names is not None:
        location["logicalLocations"] = [{"name": alert.names[0], "fullyQualifiedName": alert.names[1]}]
    digest = hashlib.sha256(" ".join([*alert.identity, alert.rule]).encode())
    result: dict[str, Any] = {
        "ruleId": alert.rule,
        "level": alert.level,
        "message": {"text": alert.text},
        "locations": [location],
        "partialFingerprints": {"maxpoolCheck/v1": digest.hexdigest()},
        "properties": dict(alert.properties),
    }
    if alert.suppressed is not None:
        result["suppressions"] = [{"kind": "external", "status": "accepted", "justification": alert.suppressed}]
    return result
