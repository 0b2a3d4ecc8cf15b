"""JUnit XML, as CI systems read it: suites of tests, of which each item is one, written one by one."""

import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Sequence
from typing import TextIO

from maxpool_check import inert
from maxpool_check.reporting.items import Checks, Item
from maxpool_check.words import shortened

_COUNTED = {"errors": "error", "failures": "failure", "skipped": "skipped"}
_LONGEST = 300
"""A longer message is cut; the text has all of it."""


def write(checks: Checks, file: TextIO) -> None:
    """Write suites test by test, and one more with an error for each problem of the command itself."""
    counts, seconds = [], []
    for suite in checks.suites:
        numbers, time = Counter[str](), 0.0
        for item in suite.items():
            numbers.update(("tests", item.state))
            time += item.seconds or 0.0
        counts.append(numbers)
        seconds.append(time)
    run = Counter(tests=1, error=len(checks.problems)) if checks.problems else Counter[str]()
    file.write(_start("testsuites", "maxpool-check", sum(counts, run), checks.seconds or sum(seconds)))
    for suite, numbers, time in zip(checks.suites, counts, seconds, strict=True):
        timestamp = {"timestamp": suite.timestamp} if suite.timestamp else {}
        file.write(_start("testsuite", suite.name, numbers, time, **timestamp))
        file.write(ET.tostring(_properties(suite.properties), "unicode"))
        file.writelines(ET.tostring(_test(item), "unicode") for item in suite.items())
        file.write("</testsuite>")
    if checks.problems:
        test = _element("testcase", name="complete", classname="run")
        messages = (" ".join(problem.split()) for problem in checks.problems)
        test.extend(_element("error", message=message, type="incomplete") for message in messages)
        file.write(_start("testsuite", "run", run) + ET.tostring(test, "unicode") + "</testsuite>")
    file.write("</testsuites>\n")


def _start(tag: str, name: str, counts: Counter[str], seconds: float = 0.0, **attributes: str) -> str:
    """The start tag of a suite with its counts of tests, errors, failures and skipped ones, and its time."""
    numbers = {attribute: str(counts[state]) for attribute, state in _COUNTED.items()}
    suite = _element(tag, name=name, tests=str(counts["tests"]), **numbers, time=f"{seconds:.3f}", **attributes)
    return ET.tostring(suite, "unicode", short_empty_elements=False).removesuffix(f"</{tag}>")


def _properties(values: Sequence[tuple[str, str]]) -> ET.Element:
    listed = _element("properties")
    listed.extend(_element("property", name=name, value=value) for name, value in values)
    return listed


def _test(item: Item) -> ET.Element:
    path, _, line = item.origin.rpartition(":")
    place = {"file": path, "line": line} if path else {}
    if line == "0":
        # A model has no lines.
        del place["line"]
    time = {"time": f"{item.seconds:.3f}"} if item.seconds is not None else {}
    test = _element("testcase", name=item.name, classname=item.group, **place, **time)
    if item.properties:
        test.append(_properties(item.properties))
    if item.state != "passed":
        message = shortened(inert.xml(item.message), _LONGEST, end=False)
        test.append(_element(item.state, item.text() or None, message=message, type=item.kind))
    if output := item.output():
        test.append(_element("system-out", output))
    return test


def _element(tag: str, text: str | None = None, **attributes: str) -> ET.Element:
    """An element whose text and attributes are :func:`inert <maxpool_check.inert.xml>`."""
    made = ET.Element(tag, {name: inert.xml(value) for name, value in attributes.items()})
    made.text = text and inert.xml(text)
    return made
