"""A run as JUnit XML, as CI systems read it: one suite a target, one test an execution."""

import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Iterator
from typing import TextIO

from maxpool_check import inert
from maxpool_check.reporting.run_report import RunReport
from maxpool_check.reporting.text import details
from maxpool_check.results.record import NOT_EXECUTED, Execution, TargetDescription, Verdict

_COUNTED = {"errors": "error", "failures": "failure", "skipped": "skipped"}


def write(report: RunReport, file: TextIO) -> None:
    """Write the XML. A known defect is skipped, with its reason; one that no longer occurs fails."""
    record = report.record
    counts: dict[str, Counter[str]] = {target.name: Counter() for target in record.header.targets}
    for execution in record.executions:
        if execution.target in counts:
            counts[execution.target].update(("tests", _result(execution)))
    for entry in report.outdated:
        if entry.target in counts:
            counts[entry.target].update(("tests", "failure"))
    run = Counter(tests=1, error=len(report.problems)) if report.problems else Counter[str]()
    file.write(start("testsuites", "maxpool-check", sum(counts.values(), run)))
    for target in record.header.targets:
        file.write(start("testsuite", target.name, counts[target.name]))
        file.writelines(ET.tostring(each, "unicode") for each in _elements(report, target))
        file.write("</testsuite>")
    if report.problems:
        file.write(start("testsuite", "run", run))
        test = element("testcase", name="complete", classname="run")
        test.extend(element("error", message=problem, type="incomplete") for problem in report.problems)
        file.write(ET.tostring(test, "unicode") + "</testsuite>")
    file.write("</testsuites>\n")


def _elements(report: RunReport, target: TargetDescription) -> Iterator[ET.Element]:
    """What the suite of a target holds."""
    properties = {name: getattr(target, name) for name in ("distribution", "version", "provider")}
    properties["cases_sha256"] = report.record.header.cases_sha256
    listed = element("properties")
    listed.extend(element("property", name=name, value=value) for name, value in properties.items())
    yield listed
    reasons = report.reasons(target.name)
    for execution in report.record.executions:
        if execution.target == target.name:
            yield _test(execution, reasons.get(execution.known or "", ""))
    for entry in report.outdated:
        if entry.target == target.name:
            test = element("testcase", name=entry.id, classname="known-divergences")
            test.append(element("failure", message=entry.message, type=entry.status.value))
            yield test


def _result(execution: Execution) -> str:
    """The element in the test of an execution; ``passed`` if there is none."""
    if execution.verdict == Verdict.ERROR:
        return "error"
    if execution.status in ("expected", "inconsistent", "special") or execution.verdict in (
        Verdict.UNDEFINED,
        *NOT_EXECUTED,
    ):
        return "skipped"
    return "failure" if execution.status else "passed"


def _test(execution: Execution, reason: str) -> ET.Element:
    file, _, name = execution.case.rpartition(":")
    path, _, line = execution.origin.rpartition(":")
    classname = file.replace("/", ".")
    test = element("testcase", name=f"{name} [{execution.variant}]", classname=classname, file=path, line=line)
    message, result, text = " ".join(execution.message.split()), _result(execution), None
    kind = execution.verdict.value
    if execution.status == "expected" and result == "skipped":
        message, kind = f"known as {execution.known}: {reason}", "known"
    elif execution.status == "special":
        message, kind = f"wrong on special values alone, {', '.join(execution.kinds)}: {message}", "special"
    elif result == "failure":
        text, kind = "\n".join([execution.title, *details(execution)]), ",".join(execution.kinds)
    if result != "passed":
        test.append(element(result, text, message=message, type=kind))
    return test


def start(tag: str, name: str, counts: Counter[str]) -> str:
    """The start tag of a suite with its counts of tests, errors, failures and skipped ones."""
    numbers = {attribute: str(counts[result]) for attribute, result in _COUNTED.items()}
    suite = element(tag, name=name, tests=str(counts["tests"]), **numbers, time="0")
    return ET.tostring(suite, "unicode", short_empty_elements=False).removesuffix(f"</{tag}>")


def element(tag: str, text: str | None = None, **attributes: str) -> ET.Element:
    """An element whose text and attributes are :func:`inert <maxpool_check.inert.xml>`."""
    made = ET.Element(tag, {name: inert.xml(value) for name, value in attributes.items()})
    made.text = text and inert.xml(text)
    return made
