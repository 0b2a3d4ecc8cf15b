"""What others' tools read of each target: its results as statements of in-toto, and what it ran in as a bill of materials.

in-toto's ``test-result`` knows tests that passed, passed with warnings, and failed; what it cannot say (refused, undefined, not
expressible, known defects) is in a predicate of our own.
"""

import hashlib
import uuid
from collections.abc import Iterator
from datetime import datetime
from typing import TYPE_CHECKING, Any

import msgspec

from maxpool_check import inert
from maxpool_check.evidence.bundling.contents import CASES, Contents, TargetResults, names_with
from maxpool_check.results.details import Distribution
from maxpool_check.results.record import ExitCode, Verdict

if TYPE_CHECKING:
    from cyclonedx.model.component import Component

_STATEMENT = "https://in-toto.io/Statement/v1"
_TEST_RESULT = "https://in-toto.io/attestation/test-result/v0.1"
_OWN = "urn:maxpool-check:attestation:conformance:v1"
"""The type of our own predicate; ``docs/evidence.md`` describes it."""

_NAMESPACE = uuid.UUID("6f0ad6b2-1a3c-5f54-9c1e-6d2f0a0c7d11")
"""What serial numbers of bills of materials are made in: they follow from the content."""


def attestations(contents: Contents) -> Iterator[tuple[str, bytes]]:
    """The two statements of each target, about what was tested, as far as the record has its digest, and the record itself."""

    def of_member(name: str) -> dict[str, Any]:
        return _digest(name, hashlib.sha256(contents.members[name]).hexdigest())

    cases = [of_member(name) for name in names_with(contents.members, CASES)]
    for results in contents.results:
        target, record = results.target, of_member(results.member)
        tested = {
            each.wheel or each.name: each.wheel_sha256
            for environment in target.environments
            for each in environment.distributions
            if each.name == target.distribution and each.wheel_sha256 is not None
        } | target.program
        for kind, type_, predicate in (
            ("test-result", _TEST_RESULT, _test_result(results, cases)),
            ("maxpool-check", _OWN, _conformance(results, record)),
        ):
            subject = [*(_digest(*each) for each in tested.items()), record]
            statement = {"_type": _STATEMENT, "subject": subject, "predicateType": type_, "predicate": predicate}
            yield f"attestations/{results.name}.{kind}.json", f"{inert.dumps(statement, indent=1)}\n".encode()


def _digest(name: str, sha256: str) -> dict[str, Any]:
    return {"name": name, "digest": {"sha256": sha256}}


def _test_result(results: TargetResults, configuration: list[dict[str, Any]]) -> dict[str, Any]:
    """The predicate ``test-result/v0.1``; a test is a case.

    What fails in a way that a known defect explains has failed. A case of which nothing was compared is in no list.
    """
    header, cases = results.record.header, results.by_result
    is_complete = results.report.exit_code not in (ExitCode.INCOMPLETE, ExitCode.NOTHING_COMPARED)
    passes = is_complete and cases["passed"] and not cases["failed"]
    tool = [_digest(f"maxpool-check {header.tool}", header.tool_files.sha256)] if header.tool_files else []
    return {
        "result": "FAILED" if not passes else "WARNED" if cases["warned"] else "PASSED",
        "configuration": [*tool, *configuration],
        **{f"{result}Tests": cases[result] for result in ("passed", "warned", "failed")},
    }


def _conformance(results: TargetResults, record: dict[str, Any]) -> dict[str, Any]:
    """Our own predicate: every verdict with its cases, known defects, and what was judged by.

    The cases that conform are most, and are in the other predicate.
    """
    header, target, executions = results.record.header, results.target, results.executions
    sha256 = header.tool_files and header.tool_files.sha256
    return {
        "tool": {"name": "maxpool-check", "version": header.tool, "sha256": sha256},
        "target": {name: getattr(target, name) for name in ("name", "distribution", "version", "provider")},
        "record": record,
        "startedOn": header.started,
        "result": results.report.result[0],
        "exitCode": int(results.report.exit_code),
        "documents": {name: {"edition": each.name, "sha256": each.sha256} for name, each in header.editions.items()},
        "policies": header.profile,
        "cases": len(results.cases),
        "verdicts": {
            verdict.value: {"executions": executions[verdict]}
            | ({} if verdict is Verdict.CONFORMS else {"cases": results.cases_with(verdict=verdict)})
            for verdict in Verdict
            if executions[verdict]
        },
        "limits": results.cases_with(limit=True),
        "unexpected": results.cases_with(unexpected=True),
        "knownDefects": [
            {**_fields(entry, "id", "title", "severity", "status"), "cases": results.cases_with(known=entry.id)}
            for entry in results.report.known
        ],
    }


def _fields(value: Any, *names: str) -> dict[str, Any]:
    return {name: msgspec.to_builtins(getattr(value, name)) for name in names}


def bills(contents: Contents) -> Iterator[tuple[str, bytes]]:
    """The environment of each target in the form of CycloneDX, with the time of its record."""
    # Only those who build or verify bundles wait for it.
    from cyclonedx.model.bom import Bom, BomMetaData
    from cyclonedx.output.json import JsonV1Dot6

    for results in contents.results:
        target, header = results.target, results.record.header
        about = {"distribution": target.distribution, "provider": target.provider}
        root = _component("application", target.name, "target", target.version, **about)
        bill = Bom(
            serial_number=uuid.uuid5(_NAMESPACE, f"{header.cases_sha256} {header.started} {target.name}"),
            metadata=BomMetaData(component=root, timestamp=datetime.fromisoformat(header.started)),
        )
        top = [_component("file", name, f"program/{name}", sha256=digest) for name, digest in target.program.items()]
        for number, environment in enumerate(target.environments):
            reference, digest = f"environment-{number}", environment.executable_sha256
            top.append(_component("platform", environment.implementation, reference, environment.version, digest))
            parts = {each.name: _distribution(each, f"{reference}/{each.name}") for each in environment.distributions}
            for each in environment.distributions:
                bill.components.add(parts[each.name])
                bill.register_dependency(parts[each.name], [parts[name] for name in each.requires if name in parts])
            bill.register_dependency(top[-1], parts.values())
        bill.components.update(top)
        bill.register_dependency(root, top)
        content = f"{JsonV1Dot6(bill).output_as_string(indent=1)}\n".encode()
        yield f"environments/{results.name}.cdx.json", content


def _distribution(distribution: Distribution, reference: str) -> "Component":
    """A distribution: the digest is that of its wheel; its shared libraries are components of their own inside it."""
    from packageurl import PackageURL

    # A name of npm may be in a scope.
    scope, _, name = distribution.name.rpartition("/")
    ecosystem = "pypi" if distribution.integrity is None else "npm"
    properties = {**_fields(distribution, "wheel", "integrity"), "installed_files_sha256": distribution.files_sha256}
    properties["changed_files"] = ", ".join(distribution.changed)
    names = distribution.name, reference, distribution.version, distribution.wheel_sha256
    component = _component("library", *names, **properties)
    component.purl = PackageURL(ecosystem, scope or None, name, distribution.version)
    component.components.update(
        _component("file", file, f"{reference}/{file}", sha256=digest)
        for file, digest in sorted(distribution.libraries.items())
    )
    return component


def _component(
    kind: str, name: str, reference: str, version: str = "", sha256: str | None = None, **properties: str | None
) -> "Component":
    from cyclonedx.model import HashAlgorithm, HashType, Property
    from cyclonedx.model.component import Component, ComponentType

    # Records have other words in the place of a digest that is not stated.
    is_known = sha256 is not None and len(sha256) == 64
    named = {f"maxpool-check:{each.replace('_', '-')}": value for each, value in properties.items() if value}
    return Component(
        type=ComponentType(kind),
        name=name,
        version=version or None,
        bom_ref=reference,
        hashes=[HashType(alg=HashAlgorithm.SHA_256, content=str(sha256))] if is_known else [],
        properties=[Property(name=each, value=value) for each, value in named.items()],
    )
