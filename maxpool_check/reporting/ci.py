"""What the reports for continuous integration have in common: suites of JUnit, and the places and runs of SARIF."""

import hashlib
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO
from urllib.parse import quote

from maxpool_check.reporting.json import write_object
from maxpool_check.reporting.junit import element, start
from maxpool_check.reporting.sarif import SCHEMA


@dataclass(frozen=True)
class JUnitSuite:
    """A suite of JUnit. ``tests`` can be iterated twice: the counts come before the tests."""

    name: str
    properties: Mapping[str, str]
    tests: Iterable[ET.Element]

    @property
    def counts(self) -> Counter[str]:
        """The number of tests, failures, errors and skipped ones."""
        counts = Counter[str]()
        for test in self.tests:
            counts.update(["tests", *(child.tag for child in test if child.tag in ("failure", "error", "skipped"))])
        return counts


def write_suites(file: TextIO, suites: Sequence[JUnitSuite], problems: Sequence[str]) -> None:
    """Write JUnit: each suite test by test, and one more with an error for each problem of the command itself."""
    run = Counter(tests=1, error=len(problems)) if problems else Counter[str]()
    counts = [suite.counts for suite in suites]
    file.write(start("testsuites", "maxpool-check", sum(counts, run)))
    for suite, numbers in zip(suites, counts, strict=True):
        file.write(start("testsuite", suite.name, numbers))
        listed = element("properties")
        listed.extend(element("property", name=name, value=value) for name, value in suite.properties.items())
        file.write(ET.tostring(listed, "unicode"))
        file.writelines(ET.tostring(test, "unicode") for test in suite.tests)
        file.write("</testsuite>")
    if problems:
        file.write(start("testsuite", "run", run))
        test = element("testcase", name="complete", classname="run")
        test.extend(element("error", message=" ".join(problem.split()), type="incomplete") for problem in problems)
        file.write(ET.tostring(test, "unicode") + "</testsuite>")
    file.write("</testsuites>\n")


def case_test(case: str, origin: str) -> ET.Element:
    """The test of a case, at its file and line."""
    file, _, name = case.rpartition(":")
    path, _, line = origin.rpartition(":")
    return element("testcase", name=name, classname=file.replace("/", "."), file=path, line=line)


@dataclass(frozen=True)
class Log:
    """A run of SARIF. ``rules`` has the description of each rule, ``results`` is written one by one."""

    name: str
    tool: str
    rules: Mapping[str, str]
    results: Iterator[dict[str, Any]]
    problems: Sequence[str] = ()


def write_logs(file: TextIO, logs: Iterable[Log]) -> None:
    """Write SARIF: a run for each log."""
    file.write(f'{{"$schema": "{SCHEMA}", "version": "2.1.0", "runs": [')
    for number, log in enumerate(logs):
        file.write(",\n" if number else "\n")
        rules = [{"id": rule, "shortDescription": {"text": text}} for rule, text in log.rules.items()]
        notifications = [{"level": "error", "message": {"text": problem}} for problem in log.problems]
        run = {
            "tool": {"driver": {"name": "maxpool-check", "version": log.tool, "rules": rules}},
            "automationDetails": {"id": f"maxpool-check/{log.name}/"},
            "invocations": [{"executionSuccessful": not log.problems, "toolExecutionNotifications": notifications}],
            "columnKind": "unicodeCodePoints",
            "results": log.results,
        }
        write_object(file, run)
    file.write("]}\n")


def result(
    rule: str, level: str, text: str, origin: str, properties: Mapping[str, Any], *identity: str
) -> dict[str, Any]:
    """A result of SARIF at the line of a case; ``identity`` is what stays the same as long as it is the same result."""
    path, _, line = origin.rpartition(":")
    uri = Path(path).as_uri() if Path(path).is_absolute() else quote(Path(path).as_posix())
    location: dict[str, Any] = {"artifactLocation": {"uri": uri}}
    if int(line):
        # A model has no lines.
        location["region"] = {"startLine": int(line)}
    return {
        "ruleId": rule,
        "level": level,
        "message": {"text": text},
        "locations": [{"physicalLocation": location}],
        "partialFingerprints": {"maxpoolCheck/v1": hashlib.sha256(" ".join([*identity, rule]).encode()).hexdigest()},
        "properties": dict(properties),
    }
