"""A run as JUnit XML, as CI systems read it: one suite a target, one test an execution."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from junitparser import Error, Failure, JUnitXml, Skipped, TestCase, TestSuite

from maxpool_check.reporting.text import details
from maxpool_check.results.record import Execution, Record, TargetDescription

_NO_CHAR = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def render(record: Record) -> str:
    """The XML. A known divergence is skipped, with its reason; a known one that no longer occurs fails."""
    return "".join(parts(record))


def parts(record: Record) -> Iterator[str]:
    """The XML in parts: a run may have more executions than there is room for."""
    document = JUnitXml("maxpool-check")
    targets = record.header.targets
    suites = [_suite(record, target) for target in targets]
    for suite in [*suites, *_problems(record)]:
        document.append(suite)
    document.update_statistics()
    for suite, target in zip(suites, targets, strict=True):
        counts = Counter(type(one) for test in _tests(record, target) for one in (test, *test.result))
        for counted in (document, suite):
            counted.tests += counts[TestCase]
            counted.errors += counts[Error]
            counted.failures += counts[Failure]
            counted.skipped += counts[Skipped]
    # No suite of a target holds its tests: they are written where it ends.
    end = "</testsuite>"
    *before, behind = document.tostring().decode().split(end, len(suites))
    for part, target in zip(before, targets, strict=True):
        yield part
        for test in _tests(record, target):
            yield test.tostring().decode()
        yield end
    yield behind + "\n"


def _suite(record: Record, target: TargetDescription) -> TestSuite:
    suite = TestSuite(_clean(target.name))
    for name, value in (
        ("distribution", target.distribution), ("version", target.version), ("provider", target.provider),
        ("cases_sha256", record.header.cases_sha256),
    ):  # fmt: skip
        suite.add_property(name, _clean(value))
    return suite


def _problems(record: Record) -> Iterator[TestSuite]:
    """What is wrong with the run itself, if anything is."""
    problems = ["the run did not end"] if record.footer is None else list(record.footer.errors)
    if problems:
        suite = TestSuite("run")
        test = TestCase("complete", "run")
        test.result = [Error(_clean(problem), "incomplete") for problem in problems]
        suite.add_testcase(test)
        yield suite


def _tests(record: Record, target: TargetDescription) -> Iterator[TestCase]:
    """Those of one target, in the order of its executions; then the known divergences that no longer occur."""
    entries = [entry for entry in (record.footer.known if record.footer else ()) if entry.target == target.name]
    reasons = {entry.id: entry.reason for entry in entries}
    for execution in record.executions:
        if execution.target == target.name:
            yield _test(execution, reasons.get(execution.known or "", ""))
    for entry in entries:
        if entry.status in ("stale", "expired"):
            stale = TestCase(_clean(entry.id), "known-divergences")
            stale.result = [Failure(_clean(entry.message), entry.status)]
            yield stale


def _test(execution: Execution, reason: str) -> TestCase:
    file, _, name = execution.case.rpartition(":")
    test = TestCase(_clean(f"{name} [{execution.variant}]"), _clean(file.replace("/", ".")))
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
    return _NO_CHAR.sub("?", text)
