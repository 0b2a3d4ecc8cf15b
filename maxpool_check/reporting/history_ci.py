"""The history of a runtime, for continuous integration: JUnit and SARIF, by known defect or kinds."""

import xml.etree.ElementTree as ET
from collections.abc import Iterator, Sequence
from typing import Any, TextIO

import maxpool_check
from maxpool_check.reporting.ci import JUnitSuite, Log, result, write_logs, write_suites
from maxpool_check.reporting.findings import sentence
from maxpool_check.reporting.history import HistoryReport, Occurrence, Release
from maxpool_check.reporting.junit import element
from maxpool_check.reporting.text import details
from maxpool_check.words import plural


def write_junit(report: HistoryReport, file: TextIO) -> None:
    """Write JUnit: a suite for each release, a test for each known defect and for kinds that none explains.

    A test fails on the release that shows what the release before did not, and is skipped where it was so before.
    """
    suites = [
        JUnitSuite(_name(report, release), _properties(release), _tests(report, release)) for release in report.releases
    ]
    write_suites(file, suites, report.errors)


def _name(report: HistoryReport, release: Release) -> str:
    return f"{report.target} {release.version}"


def _properties(release: Release) -> dict[str, str]:
    if release.record is None:
        return {"version": release.version, "skipped": release.skipped}
    return {
        "version": release.version,
        "cases_sha256": release.record.header.cases_sha256,
        **{verdict.value: str(count) for verdict, count in sorted(release.verdicts.items())},
    }


def _tests(report: HistoryReport, release: Release) -> Sequence[ET.Element]:
    return [_test(report, release, cause) for cause in report.causes]


def _test(report: HistoryReport, release: Release, cause: str) -> ET.Element:
    occurrence = release.occurrences.get(cause)
    place = {}
    if occurrence is not None:
        path, _, line = occurrence.smallest.origin.rpartition(":")
        place = {"file": path, "line": line}
    test = element("testcase", name=cause, classname=_name(report, release), **place)
    if release.record is None:
        test.append(element("skipped", message=release.skipped, type="skipped-release"))
    elif occurrence is not None:
        message = _message(report, release, cause, occurrence)
        if _is_new(report, release, cause):
            text = "\n".join(_explained(report, cause, occurrence))
            test.append(element("failure", text, message=message, type="newly-shown"))
        else:
            test.append(element("skipped", message=message, type="shown-before"))
    return test


def _is_new(report: HistoryReport, release: Release, cause: str) -> bool:
    before = report.before(release)
    return before is not None and cause not in before.occurrences


def _message(report: HistoryReport, release: Release, cause: str, occurrence: Occurrence) -> str:
    before, shown = report.before(release), f"shown by {plural(len(occurrence.sizes), 'case')}"
    if before is None:
        return f"{shown}; no older release was executed"
    if cause not in before.occurrences:
        return f"{shown}, and by none of {before.version}"
    return f"{shown}, since {report.since(cause, release)}"


def _explained(report: HistoryReport, cause: str, occurrence: Occurrence) -> Iterator[str]:
    """The title of a known defect, and the smallest case in full."""
    if title := report.title(cause):
        yield title
    smallest = occurrence.smallest
    yield f"{smallest.case} ({smallest.variant}): {smallest.title}"
    yield from details(smallest)


def write_sarif(report: HistoryReport, file: TextIO) -> None:
    """Write SARIF: a result for each known defect, and for kinds that none explains, that the newest release shows.

    It is an error if the release before does not show it, else a warning.
    """
    executed = report.executed
    release = executed[-1] if executed else None
    header = release.record.header if release is not None and release.record is not None else None
    shown = [cause for cause in report.causes if release is not None and cause in release.occurrences]
    rules = {cause: report.title(cause) or " ".join(map(sentence, cause.split(", "))) for cause in shown}
    results = _results(report, release, shown) if release is not None else iter(())
    tool = header.tool if header is not None else maxpool_check.__version__
    write_logs(file, [Log(f"history/{report.target}", tool, rules, results, report.errors)])


def _results(report: HistoryReport, release: Release, causes: Sequence[str]) -> Iterator[dict[str, Any]]:
    for cause in causes:
        occurrence = release.occurrences[cause]
        message = f"{cause} on {release.version}: {_message(report, release, cause, occurrence)}"
        text = "\n".join([message, *_explained(report, cause, occurrence)])
        level = "error" if _is_new(report, release, cause) else "warning"
        properties = {"version": release.version, "since": report.since(cause, release), "cases": occurrence.cases}
        yield result(cause, level, text, occurrence.smallest.origin, properties, "history", report.target)
