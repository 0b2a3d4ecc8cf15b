"""A run as JUnit XML, as CI systems read it: one suite a target, one test a case, whose variants are in its text."""

import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from typing import TextIO

from maxpool_check import inert
from maxpool_check.reporting.case_results import CaseResult, case_results, shortened
from maxpool_check.reporting.run_report import RunReport
from maxpool_check.results.record import NOT_EXECUTED, Record, TargetDescription, Verdict

_COUNTED = {"errors": "error", "failures": "failure", "skipped": "skipped"}
_LONGEST = 300
"""A longer message is cut; the text has all of it."""


def write(report: RunReport, file: TextIO) -> None:
    """Write the XML. A known defect is skipped, with its reason; one that no longer occurs fails."""
    record = report.record
    counts: dict[str, Counter[str]] = {target.name: Counter() for target in record.header.targets}
    seconds = dict.fromkeys(counts, 0.0)
    for case in case_results(record.executions):
        if (target := case.worst.target) in counts:
            counts[target].update(("tests", _result(case)))
            seconds[target] += _seconds(case)
    for entry in report.outdated:
        if entry.target in counts:
            counts[entry.target].update(("tests", "failure"))
    run = Counter(tests=1, error=len(report.problems)) if report.problems else Counter[str]()
    total = _wall_seconds(record) or sum(seconds.values())
    file.write(start("testsuites", "maxpool-check", sum(counts.values(), run), total))
    for each in record.header.targets:
        file.write(
            start("testsuite", each.name, counts[each.name], seconds[each.name], timestamp=record.header.started)
        )
        file.writelines(ET.tostring(child, "unicode") for child in _elements(report, each))
        file.write("</testsuite>")
    if report.problems:
        file.write(start("testsuite", "run", run))
        test = element("testcase", name="complete", classname="run")
        test.extend(element("error", message=problem, type="incomplete") for problem in report.problems)
        file.write(ET.tostring(test, "unicode") + "</testsuite>")
    file.write("</testsuites>\n")


def _elements(report: RunReport, target: TargetDescription) -> Iterator[ET.Element]:
    """What the suite of a target holds."""
    properties = [(name, getattr(target, name)) for name in ("distribution", "version", "provider")]
    yield _properties([*properties, ("cases_sha256", report.record.header.cases_sha256)])
    reasons = report.reasons(target.name)
    executions = (each for each in report.record.executions if each.target == target.name)
    for case in case_results(executions):
        yield _test(case, reasons.get(case.worst.known or "", ""))
    for entry in report.outdated:
        if entry.target == target.name:
            test = element("testcase", name=entry.id, classname="known-divergences")
            test.append(element("failure", message=entry.message, type=entry.status.value))
            yield test


def _properties(values: list[tuple[str, str]]) -> ET.Element:
    listed = element("properties")
    listed.extend(element("property", name=name, value=value) for name, value in values)
    return listed


def _result(case: CaseResult) -> str:
    """The element in the test of a case; ``passed`` if there is none: a variant was compared and none is wrong."""
    worst = case.worst
    if worst.verdict == Verdict.ERROR:
        return "error"
    if worst.status in ("expected", "inconsistent", "special") or worst.verdict in (
        Verdict.UNDEFINED,
        Verdict.UNKNOWN,
        *NOT_EXECUTED,
    ):
        return "skipped"
    return "failure" if worst.status else "passed"


def _test(case: CaseResult, reason: str) -> ET.Element:
    worst = case.worst
    file, _, name = worst.case.rpartition(":")
    path, _, line = worst.origin.rpartition(":")
    time = f"{_seconds(case):.3f}"
    test = element("testcase", name=name, classname=file.replace("/", "."), file=path, line=line, time=time)
    test.append(
        _properties(
            [
                ("spec", worst.spec),
                *(("clause", clause) for clause in case.clauses),
                *(("defect", defect) for defect in case.defects),
                *([("kinds", ", ".join(case.kinds))] if case.kinds else []),
            ]
        )
    )
    result, message, kind = _result(case), " ".join(worst.message.split()), worst.verdict.value
    if result == "passed":
        return test
    lines = [worst.title, *case.lines]
    if worst.status == "expected" and result == "skipped":
        message, kind = f"known as {worst.known}: {reason}", "known"
        # GitLab shows the text alone.
        lines.insert(1, message)
    elif worst.status == "special":
        message, kind = f"wrong on special values alone, {', '.join(worst.kinds)}: {message}", "special"
    elif result == "failure":
        kind = ",".join(worst.kinds)
    test.append(element(result, "\n".join(lines), message=shortened(inert.xml(message), _LONGEST), type=kind))
    return test


def _seconds(case: CaseResult) -> float:
    return sum(execution.seconds for execution in case.executions)


def _wall_seconds(record: Record) -> float:
    """How long the run took, in whole seconds; 0 if it took less or did not end, or if its times are none."""
    if record.footer is None:
        return 0.0
    try:
        started, finished = map(datetime.fromisoformat, (record.header.started, record.footer.finished))
        return max(0.0, (finished - started).total_seconds())
    except (ValueError, TypeError):
        # Of two times, one has a zone.
        return 0.0


def start(tag: str, name: str, counts: Counter[str], seconds: float = 0.0, **attributes: str) -> str:
    """The start tag of a suite with its counts of tests, errors, failures and skipped ones, and its time."""
    numbers = {attribute: str(counts[result]) for attribute, result in _COUNTED.items()}
    suite = element(tag, name=name, tests=str(counts["tests"]), **numbers, time=f"{seconds:.3f}", **attributes)
    return ET.tostring(suite, "unicode", short_empty_elements=False).removesuffix(f"</{tag}>")


def element(tag: str, text: str | None = None, **attributes: str) -> ET.Element:
    """An element whose text and attributes are :func:`inert <maxpool_check.inert.xml>`."""
    made = ET.Element(tag, {name: inert.xml(value) for name, value in attributes.items()})
    made.text = text and inert.xml(text)
    return made
