"""A run as SARIF 2.1.0: one run a target, one rule a defect or a kind, one result a case."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, TextIO
from urllib.parse import quote, urlsplit

from maxpool_check.judging.defects import Severity
from maxpool_check.judging.kinds import DESCRIPTIONS
from maxpool_check.reporting.case_results import CaseResult, case_results
from maxpool_check.reporting.json import write_object
from maxpool_check.reporting.run_report import RunReport
from maxpool_check.results.record import KnownEntry, TargetDescription, Verdict

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"

_DESCRIPTIONS = {kind.value: description for kind, description in DESCRIPTIONS.items()}
_WARNINGS = frozenset({Severity.REFUSES_VALID, Severity.LIMIT, Severity.INCONSISTENCY})
"""The severities of results that are not wrong."""


def write(report: RunReport, file: TextIO) -> None:
    """Write the log. Known defects are included, suppressed with their reasons.

    What fails the run comes first: GitHub shows the first 5000 results.
    """
    file.write(f'{{"$schema": "{SCHEMA}", "version": "2.1.0", "runs": [')
    for number, target in enumerate(report.record.header.targets):
        file.write(",\n" if number else "\n")
        write_object(file, _run(report, target))
    file.write("]}\n")


def _run(report: RunReport, target: TargetDescription) -> dict[str, Any]:
    record = report.record
    problems = [*report.problems]
    rules: dict[str, dict[str, Any]] = {}
    for execution in record.executions:
        if execution.target == target.name and execution.verdict == Verdict.ERROR:
            problems.append(f"{execution.case}: {execution.message}")
    known = {entry.id: entry for entry in report.known if entry.target == target.name}
    for case in _cases(report, target):
        rules.setdefault(_rule_id(case), _rule(case, known))
    outdated = [entry for entry in report.outdated if entry.target == target.name]
    driver = {"name": "maxpool-check", "version": record.header.tool, "rules": list(rules.values())}
    return {
        "tool": {"driver": driver},
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
        "results": _results(report, target),
    }


def _notifications(texts: Iterable[str]) -> list[dict[str, Any]]:
    return [{"level": "error", "message": {"text": text}} for text in texts]


def _cases(report: RunReport, target: TargetDescription) -> Iterator[CaseResult]:
    """The cases that a target does not execute as their document says."""
    executions = (each for each in report.record.executions if each.target == target.name and each.status)
    return case_results(executions)


def _results(report: RunReport, target: TargetDescription) -> Iterator[dict[str, Any]]:
    reasons = report.reasons(target.name)
    for is_unexpected in (True, False):
        for case in _cases(report, target):
            if case.worst.unexpected is is_unexpected:
                yield _result(case, reasons)


def _rule_id(case: CaseResult) -> str:
    """The id of the known defect that the worst execution shows, or its worst kind."""
    return case.worst.known or case.worst_kind or case.worst.verdict.value


def _rule(case: CaseResult, known: Mapping[str, KnownEntry]) -> dict[str, Any]:
    name = _rule_id(case)
    if case.worst.known is not None:
        return _defect_rule(name, known.get(name))
    if name not in _DESCRIPTIONS:
        return {"id": name}
    about = _DESCRIPTIONS[name]
    return {"id": name, "shortDescription": {"text": about.sentence}, "help": {"text": about.clause}}


def _defect_rule(name: str, entry: KnownEntry | None) -> dict[str, Any]:
    """The rule of a known defect: its title, mechanism and issue; a record whose run did not end has its id alone."""
    if entry is None:
        return {"id": name}
    mechanism = " ".join(entry.reason.split())
    rule: dict[str, Any] = {"id": name, "shortDescription": {"text": entry.title or mechanism or name}}
    if mechanism:
        rule |= {"fullDescription": {"text": mechanism}, "help": {"text": mechanism}}
    if entry.issue and urlsplit(entry.issue).scheme in ("http", "https"):
        rule["helpUri"] = quote(entry.issue, safe=":/?#[]@!$&'()*+,;=%")
    return rule


def _result(case: CaseResult, reasons: Mapping[str, str]) -> dict[str, Any]:
    worst, rule = case.worst, _rule_id(case)
    path, _, line = worst.origin.rpartition(":")
    digest = hashlib.sha256(f"{worst.target} {worst.case} {rule}".encode())
    uri = Path(path).as_uri() if Path(path).is_absolute() else quote(Path(path).as_posix())
    location: dict[str, Any] = {"artifactLocation": {"uri": uri}}
    if int(line):
        # A model has no lines.
        location["region"] = {"startLine": int(line)}
    name = {"name": worst.case.rpartition(":")[2], "fullyQualifiedName": worst.case}
    result: dict[str, Any] = {
        "ruleId": rule,
        "level": _level(case),
        "message": {"text": "\n".join([f"{worst.case}: {worst.title}", *case.lines])},
        "locations": [{"physicalLocation": location, "logicalLocations": [name]}],
        "partialFingerprints": {"maxpoolCheck/v1": digest.hexdigest()},
        "properties": {
            "case": worst.case,
            "spec": worst.spec,
            "verdict": worst.verdict,
            "severity": case.severity,
            "variants": {execution.variant: execution.verdict for execution in case.executions},
            "kinds": case.kinds,
            "clauses": case.clauses,
            # Of the properties, viewers show and filter the tags.
            **({"tags": case.clauses} if case.clauses else {}),
        },
    }
    if all(execution.status == "expected" for execution in case.executions):
        reason = "; ".join(f"{defect}: {reasons.get(defect, '')}" for defect in case.defects)
        result["suppressions"] = [{"kind": "external", "status": "accepted", "justification": reason}]
    return result


def _level(case: CaseResult) -> str:
    if case.worst.status in ("expected", "special"):
        return "note"
    return "warning" if case.severity in _WARNINGS else "error"
