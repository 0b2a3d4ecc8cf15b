"""Attestations of a bundle: for each target, what its record says, as statements of in-toto.

``test-result`` is the predicate that others read. It knows tests that passed, passed with warnings, and failed; what it cannot say
(refused, undefined, not expressible, known defects) is in a predicate of our own.
"""

from collections.abc import Iterator
from typing import Any

from maxpool_check import inert
from maxpool_check.evidence.bundling.bundle import CASES, names_with, sha256_of
from maxpool_check.evidence.bundling.contents import Contents
from maxpool_check.evidence.bundling.target_results import TargetResults
from maxpool_check.results.record import ExitCode, Verdict

STATEMENT = "https://in-toto.io/Statement/v1"
TEST_RESULT = "https://in-toto.io/attestation/test-result/v0.1"
OWN = "urn:maxpool-check:attestation:conformance:v1"
"""The type of our own predicate; ``docs/evidence.md`` describes it."""

FOLDER = "attestations/"


def attestations(contents: Contents) -> Iterator[tuple[str, bytes]]:
    """The two statements of each target."""
    for results in contents.results:
        yield _member(
            results, "test-result", _statement(contents, results, TEST_RESULT, _test_result(contents, results))
        )
        yield _member(results, "maxpool-check", _statement(contents, results, OWN, _conformance(contents, results)))


def _member(results: TargetResults, kind: str, statement: dict[str, Any]) -> tuple[str, bytes]:
    return f"{FOLDER}{results.name}.{kind}.json", f"{inert.dumps(statement, indent=1)}\n".encode()


def _statement(contents: Contents, results: TargetResults, kind: str, predicate: dict[str, Any]) -> dict[str, Any]:
    return {"_type": STATEMENT, "subject": _subject(contents, results), "predicateType": kind, "predicate": predicate}


def _subject(contents: Contents, results: TargetResults) -> list[dict[str, Any]]:
    """What was tested, as far as the record has its digest, and the record itself."""
    tested = {
        each.wheel or each.name: each.wheel_sha256
        for environment in results.target.environments
        for each in environment.distributions
        if each.name == results.target.distribution and each.wheel_sha256 is not None
    } | results.target.program
    return [
        *({"name": name, "digest": {"sha256": digest}} for name, digest in tested.items()),
        _descriptor(contents, results.bundled.member),
    ]


def _descriptor(contents: Contents, member: str) -> dict[str, Any]:
    return {"name": member, "digest": {"sha256": sha256_of(contents.members[member])}}


def _test_result(contents: Contents, results: TargetResults) -> dict[str, Any]:
    """The predicate ``test-result/v0.1``; a test is a case.

    What fails in a way that a known defect explains has failed. A case of which nothing was compared is in no list.
    """
    is_complete = results.record.footer is not None and results.record.footer.exit_code not in (
        ExitCode.INCOMPLETE, ExitCode.NOTHING_COMPARED,
    )  # fmt: skip
    passes = is_complete and results.passed and not results.failed
    header = results.header
    tool = (
        {"name": f"maxpool-check {header.tool}", "digest": {"sha256": header.tool_files.sha256}}
        if header.tool_files
        else None
    )
    return {
        "result": "FAILED" if not passes else "WARNED" if results.warned else "PASSED",
        "configuration": [
            *([tool] if tool else []),
            *(_descriptor(contents, name) for name in names_with(contents.members, CASES)),
        ],
        "passedTests": results.passed,
        "warnedTests": results.warned,
        "failedTests": results.failed,
    }


def _conformance(contents: Contents, results: TargetResults) -> dict[str, Any]:
    """Our own predicate: every verdict with its cases, known defects, and what was judged by."""
    header, footer = results.header, results.record.footer
    return {
        "tool": {
            "name": "maxpool-check",
            "version": header.tool,
            "sha256": header.tool_files and header.tool_files.sha256,
        },
        "target": {
            "name": results.target.name,
            "distribution": results.target.distribution,
            "version": results.target.version,
            "provider": results.target.provider,
        },
        "record": _descriptor(contents, results.bundled.member),
        "startedOn": header.started,
        "result": results.report.result[0],
        "exitCode": footer.exit_code if footer else int(ExitCode.INCOMPLETE),
        "documents": {
            name: {"edition": edition.name, "sha256": edition.sha256} for name, edition in header.editions.items()
        },
        "policies": header.profile,
        "cases": len(results.cases),
        "verdicts": {
            verdict.value: _of_verdict(results, verdict) for verdict in Verdict if results.executions[verdict]
        },
        "limits": list(results.limits),
        "unexpected": list(results.unexpected),
        "knownDefects": [
            {
                "id": entry.id,
                "title": entry.title,
                "severity": entry.severity,
                "status": entry.status.value,
                "cases": list(results.defects.get(entry.id, ())),
            }
            for entry in results.known
        ],
    }


def _of_verdict(results: TargetResults, verdict: Verdict) -> dict[str, Any]:
    """The executions with a verdict, and their cases; those that conform are most, and are in the other predicate."""
    cases = {} if verdict is Verdict.CONFORMS else {"cases": results.with_verdict(verdict)}
    return {"executions": results.executions[verdict], **cases}
