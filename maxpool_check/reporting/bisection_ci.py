"""The releases where the result on a case changes, for continuous integration: JUnit and SARIF."""

import xml.etree.ElementTree as ET
from collections.abc import Iterator
from typing import Any, TextIO

import maxpool_check
from maxpool_check.comparing.bisection import Observation
from maxpool_check.reporting.bisection import BisectionReport
from maxpool_check.reporting.ci import JUnitSuite, Log, result, write_logs, write_suites
from maxpool_check.reporting.junit import element
from maxpool_check.reporting.text import details

_RULES = {
    "introduced": "A release shows what the one before it does not.",
    "fixed": "A release no longer shows what the one before it does.",
    "changed": "A release shows something else than the one before it.",
}


def write_junit(report: BisectionReport, file: TextIO) -> None:
    """Write JUnit: one suite with a test for each release that was tried, which fails where the release shows a fault."""
    properties = {
        "case": report.case,
        "case_sha256": report.case_sha256,
        "variant": report.variant,
        **({"kind": report.kind} if report.kind is not None else {}),
        "result": "; ".join(report.results),
    }
    suite = JUnitSuite(f"{report.target}: {report.case}", properties, list(_tests(report)))
    write_suites(file, [suite], report.errors)


def _tests(report: BisectionReport) -> Iterator[ET.Element]:
    changes = {boundary.first: report.sentence(boundary) for boundary in report.boundaries}
    path, _, line = report.origin.rpartition(":")
    for position, version in enumerate(report.versions):
        observation = report.tested.get(position)
        if observation is None and version not in report.skipped:
            continue
        test = element("testcase", name=f"{report.target} {version}", classname=report.case, file=path, line=line)
        if observation is None:
            test.append(element("skipped", message=report.skipped[version], type="skipped-release"))
        elif observation.is_fault:
            text = "\n".join([report.title, *details(observation.execution)])
            kind = ",".join(observation.kinds) or observation.verdict.value
            test.append(element("failure", text, message=str(observation), type=kind))
        if position in changes:
            test.append(element("system-out", changes[position]))
        yield test


def write_sarif(report: BisectionReport, file: TextIO) -> None:
    """Write SARIF: a result for each change, an error where the newer release shows a fault that the older does not."""
    log = Log(f"bisect/{report.target}", maxpool_check.__version__, _RULES, _results(report), report.errors)
    write_logs(file, [log])


def _results(report: BisectionReport) -> Iterator[dict[str, Any]]:
    for boundary in report.boundaries:
        old, new = report.tested[boundary.last], report.tested[boundary.first]
        rule, level = _rule(old, new)
        lines = [f"{report.case} ({report.variant}): {report.title}", report.sentence(boundary)]
        for position, observation in zip(boundary, (old, new), strict=True):
            if observation.is_fault:
                lines += [f"{report.versions[position]}:", *details(observation.execution)]
        properties = {
            "case": report.case, "variant": report.variant,
            "last": report.versions[boundary.last], "first": report.versions[boundary.first],
        }  # fmt: skip
        identity = (report.target, report.case, report.variant, report.versions[boundary.first])
        yield result(rule, level, "\n".join(lines), report.origin, properties, *identity)


def _rule(old: Observation, new: Observation) -> tuple[str, str]:
    """The rule of a change and its level."""
    if new.is_fault and not old.is_fault:
        return "introduced", "error"
    if old.is_fault and not new.is_fault:
        return "fixed", "note"
    return "changed", "warning"
