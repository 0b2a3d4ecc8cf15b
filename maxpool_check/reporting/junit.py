"""A run as JUnit XML, as CI systems read it: one suite a target, one test an execution."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections import Counter
from typing import TextIO

from maxpool_check.reporting.run_report import RunReport
from maxpool_check.reporting.text import details
from maxpool_check.results.record import Execution, TargetDescription, Verdict

_NO_CHAR = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_COUNTED = {"errors": "error", "failures": "failure", "skipped": "skipped"}


def write(report: RunReport, file: TextIO) -> None:
    """Write the XML. A known divergence is skipped, with its reason; one that no longer occurs fails."""
    record = report.record
    counts: dict[str, Counter[str]] = {target.name: Counter() for target in record.header.targets}
    for execution in record.executions:
        if execution.target in counts:
            counts[execution.target].update(("tests", _result(execution)))
    for entry in report.outdated:
        if entry.target in counts:
            counts[entry.target].update(("tests", "failure"))
    run = Counter(tests=1, error=len(report.problems)) if report.problems else Counter[str]()
    file.write(_start("testsuites", "maxpool-check", sum(counts.values(), run)))
    for target in record.header.targets:
        file.write(_start("testsuite", target.name, counts[target.name]))
        _write_suite(report, target, file)
        file.write("</testsuite>")
    if report.problems:
        file.write(_start("testsuite", "run", run))
        test = _element("testcase", name="complete", classname="run")
        test.extend(_element("error", message=problem, type="incomplete") for problem in report.problems)
        file.write(ET.tostring(test, "unicode") + "</testsuite>")
    file.write("</testsuites>\n")


def _write_suite(report: RunReport, target: TargetDescription, file: TextIO) -> None:
    properties = _element("properties")
    for name in ("distribution", "version", "provider"):
        properties.append(_element("property", name=name, value=getattr(target, name)))
    properties.append(_element("property", name="cases_sha256", value=report.record.header.cases_sha256))
    file.write(ET.tostring(properties, "unicode"))
    reasons = {entry.id: entry.reason for entry in report.known if entry.target == target.name}
    for execution in report.record.executions:
        if execution.target == target.name:
            file.write(ET.tostring(_test(execution, reasons.get(execution.known or "", "")), "unicode"))
    for entry in report.outdated:
        if entry.target == target.name:
            test = _element("testcase", name=entry.id, classname="known-divergences")
            test.append(_element("failure", message=entry.message, type=entry.status.value))
            file.write(ET.tostring(test, "unicode"))


def _result(execution: Execution) -> str:
    """The element in the test of an execution; ``passed`` if there is none."""
    if execution.verdict == Verdict.ERROR:
        return "error"
    if execution.status == "expected" or execution.verdict in (Verdict.UNDEFINED, Verdict.NOT_EXPRESSIBLE):
        return "skipped"
    return "failure" if execution.status else "passed"


def _test(execution: Execution, reason: str) -> ET.Element:
    file, _, name = execution.case.rpartition(":")
    path, _, line = execution.origin.rpartition(":")
    classname = file.replace("/", ".")
    test = _element("testcase", name=f"{name} [{execution.variant}]", classname=classname, file=path, line=line)
    message, result = " ".join(execution.message.split()), _result(execution)
    if execution.status == "expected" and result == "skipped":
        message = f"known as {execution.known}: {' '.join(reason.split())}"
        test.append(_element(result, message=message, type="known"))
    elif result == "failure":
        text = "\n".join([execution.title, *details(execution)])
        test.append(_element(result, text, message=message, type=",".join(execution.kinds)))
    elif result != "passed":
        test.append(_element(result, message=message, type=execution.verdict.value))
    return test


def _start(tag: str, name: str, counts: Counter[str]) -> str:
    numbers = {attribute: str(counts[result]) for attribute, result in _COUNTED.items()}
    element = _element(tag, name=name, tests=str(counts["tests"]), **numbers, time="0")
    return ET.tostring(element, "unicode", short_empty_elements=False).removesuffix(f"</{tag}>")


def _element(tag: str, text: str | None = None, **attributes: str) -> ET.Element:
    """An element without what XML cannot hold: all but its production Char."""
    element = ET.Element(tag, {name: _NO_CHAR.sub("?", value) for name, value in attributes.items()})
    element.text = text and _NO_CHAR.sub("?", text)
    return element
