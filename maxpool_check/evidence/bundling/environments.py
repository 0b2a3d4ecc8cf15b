"""What each target ran in: its environment as the record has it, and as a bill of materials in the form of CycloneDX."""

import uuid
from collections.abc import Iterator
from datetime import datetime
from typing import TYPE_CHECKING, Any

import msgspec

from maxpool_check import inert
from maxpool_check.evidence.bundling.contents import Contents
from maxpool_check.evidence.bundling.target_results import TargetResults
from maxpool_check.results.details import Distribution, PythonEnvironment

if TYPE_CHECKING:
    from cyclonedx.model.component import Component
    from packageurl import PackageURL

FOLDER = "environments/"

_NAMESPACE = uuid.UUID("6f0ad6b2-1a3c-5f54-9c1e-6d2f0a0c7d11")
"""What serial numbers of bills of materials are made in: they follow from the content."""


def environments(contents: Contents) -> Iterator[tuple[str, bytes]]:
    """The environment of each target, and its bill of materials."""
    for results in contents.results:
        environment = _environment(results)
        yield f"{FOLDER}{results.name}.json", f"{inert.dumps(environment, indent=1)}\n".encode()
        yield f"{FOLDER}{results.name}.cdx.json", _bill(results)


def _environment(results: TargetResults) -> dict[str, Any]:
    header, target = results.header, results.target
    parts = {
        "target": target,
        "machine": {"system": header.system, "cpu": header.cpu, "details": header.machine},
        "tool": {
            "version": header.tool,
            "python": header.python,
            "libraries": header.libraries,
            "files": header.tool_files,
        },
    }
    return {"schema": "maxpool-check/environment/1", **msgspec.to_builtins(parts)}


def _bill(results: TargetResults) -> bytes:
    """The bill of materials of a target, which has the time and the content of its record."""
    # Only those who build or verify bundles wait for it.
    from cyclonedx.model.bom import Bom, BomMetaData
    from cyclonedx.model.component import Component, ComponentType
    from cyclonedx.output.json import JsonV1Dot6

    target = results.target
    root = Component(
        name=target.name, version=target.version or None, type=ComponentType.APPLICATION, bom_ref="target",
        components=(), properties=_properties({"distribution": target.distribution, "provider": target.provider}),
    )  # fmt: skip
    bill = Bom(
        serial_number=uuid.uuid5(_NAMESPACE, f"{results.bundled.sha256} {target.name}"),
        metadata=BomMetaData(component=root, timestamp=datetime.fromisoformat(results.header.started)),
    )
    programs = [_program(name, digest) for name, digest in target.program.items()]
    parts = {
        number: {each.name: _component(each, f"environment-{number}/{each.name}") for each in environment.distributions}
        for number, environment in enumerate(target.environments)
    }
    pythons = [_python(environment, f"environment-{number}") for number, environment in enumerate(target.environments)]
    top = [*programs, *pythons]
    for component in [*top, *(each for components in parts.values() for each in components.values())]:
        bill.components.add(component)
    bill.register_dependency(root, top)
    for number, environment in enumerate(target.environments):
        components = parts[number]
        bill.register_dependency(pythons[number], components.values())
        for each in environment.distributions:
            bill.register_dependency(
                components[each.name], [components[name] for name in each.requires if name in components]
            )
    return f"{JsonV1Dot6(bill).output_as_string(indent=1)}\n".encode()


def _python(environment: PythonEnvironment, reference: str) -> "Component":
    """The interpreter of an environment."""
    from cyclonedx.model.component import Component, ComponentType

    return Component(
        name=environment.implementation, version=environment.version, type=ComponentType.PLATFORM, bom_ref=reference,
        hashes=_hashes(environment.executable_sha256),
    )  # fmt: skip


def _component(distribution: Distribution, reference: str) -> "Component":
    """A distribution: the digest is that of its wheel; its shared libraries are components of their own inside it."""
    from cyclonedx.model.component import Component, ComponentType

    about = {
        "wheel": distribution.wheel,
        "integrity": distribution.integrity,
        "installed-files-sha256": distribution.files_sha256,
    }
    return Component(
        name=distribution.name, version=distribution.version, type=ComponentType.LIBRARY, bom_ref=reference,
        purl=_purl(distribution), hashes=_hashes(distribution.wheel_sha256),
        properties=_properties(about),
        components=[
            Component(name=name, type=ComponentType.FILE, bom_ref=f"{reference}/{name}", hashes=_hashes(digest))
            for name, digest in sorted(distribution.libraries.items())
        ],
    )  # fmt: skip


def _purl(distribution: Distribution) -> "PackageURL":
    """The address of a distribution in its ecosystem; a name of npm may be in a scope."""
    from packageurl import PackageURL

    if distribution.integrity is None:
        return PackageURL("pypi", None, distribution.name, distribution.version)
    scope, _, name = distribution.name.rpartition("/")
    return PackageURL("npm", scope or None, name, distribution.version)


def _program(name: str, digest: str) -> "Component":
    """A file of a kernel."""
    from cyclonedx.model.component import Component, ComponentType

    return Component(name=name, type=ComponentType.FILE, bom_ref=f"program/{name}", hashes=_hashes(digest))


def _hashes(digest: str | None) -> Any:
    from cyclonedx.model import HashAlgorithm, HashType

    # A library that cannot be read has a word in the place of its digest.
    return [HashType(alg=HashAlgorithm.SHA_256, content=digest)] if digest is not None and len(digest) == 64 else []


def _properties(values: dict[str, str | None]) -> Any:
    from cyclonedx.model import Property

    return [Property(name=f"maxpool-check:{name}", value=value) for name, value in values.items() if value]
