"""The history of a runtime, as JSON."""

from collections.abc import Mapping
from typing import Any, TextIO

from maxpool_check import inert
from maxpool_check.reporting.history import HistoryReport, Release


def write(report: HistoryReport, file: TextIO) -> None:
    """Write one JSON document."""
    document = {
        "schema": "maxpool-check/history/1",
        "exit_code": report.exit_code,
        "target": report.target,
        "distribution": report.distribution,
        "releases": [_release(release) for release in report.releases],
        "changes": [
            {
                "from": step.old,
                "to": step.new,
                "summary": step.changes.counts,
                "groups": [
                    {
                        "change": group.change, "before": group.kinds[0], "after": group.kinds[1],
                        "defects": group.defects, "cases": group.cases,
                    }
                    for group in step.changes.groups
                ],
            }
            for step in report.steps
        ],
        "errors": [{"message": error} for error in report.errors],
    }  # fmt: skip
    file.write(inert.dumps(document, indent=1) + "\n")


def _release(release: Release) -> Mapping[str, Any]:
    if release.record is None:
        return {"version": release.version, "skipped": release.skipped}
    digest = release.record.header.cases_sha256
    return {
        "version": release.version,
        "cases_sha256": digest,
        "verdicts": release.verdicts,
        "defects": release.defects,
        "kinds": release.kinds,
    }
