"""A run as JUnit XML, as CI systems read it: one suite a target, one test an execution."""

from __future__ import annotations

from junitparser import Error, Failure, JUnitXml, Skipped, TestCase, TestSuite

from maxpool_check.reporting.text import details
from maxpool_check.running.record import Execution, Record


def render(record: Record) -> str:
    """The XML. A known divergence is skipped, with its reason; a known one that no longer occurs fails."""
    document = JUnitXml("maxpool-check")
    footer = record.footer
    reasons = {(entry.target, entry.id): entry.reason for entry in (footer.known if footer else ())}
    for target in record.header.targets:
        suite = TestSuite(_clean(target.name))
        for name, value in (
            ("distribution", target.distribution), ("version", target.version), ("provider", target.provider),
            ("cases_sha256", record.header.cases_sha256),
        ):  # fmt: skip
            suite.add_property(name, _clean(value))
        for execution in record.executions:
            if execution.target == target.name:
                reason = reasons.get((target.name, execution.known or ""), "")
                suite.add_testcase(_test(execution, reason))
        for entry in footer.known if footer else ():
            if entry.target == target.name and entry.status in ("repaired", "expired"):
                stale = TestCase(_clean(entry.id), "known-divergences")
                stale.result = [Failure(_clean(entry.message), entry.status)]
                suite.add_testcase(stale)
        document.add_testsuite(suite)
    problems = ["the run did not end"] if footer is None else list(footer.errors)
    if problems:
        suite = TestSuite("run")
        test = TestCase("complete", "run")
        test.result = [Error(_clean(problem), "incomplete") for problem in problems]
        suite.add_testcase(test)
        document.add_testsuite(suite)
    document.update_statistics()
    text: bytes = document.tostring()
    return text.decode() + "\n"


def _test(execution: Execution, reason: str) -> TestCase:
    file, _, name = execution.case.rpartition(":")
    test = TestCase(_clean(f"{name} [{execution.question}]"), _clean(file.replace("/", ".")))
    path, _, line = execution.origin.rpartition(":")
    for attribute, value in (("file", path), ("line", line)):
        test._elem.set(attribute, _clean(value))
    message = _clean(" ".join(execution.message.split()))
    if execution.verdict == "error":
        test.result = [Error(message, "error")]
    elif execution.status == "expected":
        test.result = [Skipped(_clean(f"known as {execution.known}: {' '.join(reason.split())}"), "known")]
    elif execution.status:
        failure = Failure(message, ",".join(execution.kinds))
        failure.text = _clean("\n".join([execution.title, *details(execution)]))
        test.result = [failure]
    elif execution.verdict in ("undefined", "not-expressible"):
        test.result = [Skipped(message, execution.verdict)]
    return test


def _clean(text: str) -> str:
    """Text without what XML cannot hold: all but its production Char."""
    return "".join(char if _is_char(ord(char)) else "?" for char in text)


def _is_char(code: int) -> bool:
    return code in (9, 10, 13) or 0x20 <= code < 0xD800 or 0xE000 <= code < 0xFFFE or 0x10000 <= code
