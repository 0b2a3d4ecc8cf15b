"""Which targets a known divergence is about, as a requirement."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

DEFAULT_PROVIDERS = ("CPUExecutionProvider", "CPU")
"""The providers of an entry without one: ONNX Runtime's on the CPU, and the name for runtimes without providers."""


@dataclass(frozen=True)
class TargetSelector:
    """A distribution, its versions, and a provider; None: ``DEFAULT_PROVIDERS``."""

    distribution: str
    versions: SpecifierSet
    provider: str | None

    @classmethod
    def parse(cls, text: str) -> TargetSelector:
        """``onnxruntime < 1.29``, ``onnxruntime >=1.21,<1.29 @Provider``; ``ValueError`` for anything else."""
        requirement, at, provider = text.partition("@")
        try:
            parsed = Requirement(requirement.strip())
        except InvalidRequirement as error:
            raise ValueError(
                f"expected a distribution and versions, as 'onnxruntime < 1.29', found '{text}'"
            ) from error
        if parsed.extras or parsed.marker or parsed.url or not (provider.strip() if at else "x").isalnum():
            raise ValueError(f"expected a distribution, versions and at most one provider, found '{text}'")
        return cls(canonicalize_name(parsed.name), parsed.specifier, provider.strip() or None)

    def __str__(self) -> str:
        versions = ", ".join(sorted(map(str, self.versions)))
        return f"{self.distribution} {versions}".strip() + (f" @{self.provider}" if self.provider else "")

    def narrowed(self, bound: str, releases: Sequence[str]) -> TargetSelector:
        """The same for the versions within a bound as well, ``<1.29.0`` or ``>=1.29.0``.

        Its own bound in that direction is dropped if it makes no difference for any of the releases.
        """
        both = replace(self, versions=SpecifierSet(",".join([*map(str, self.versions), bound])))
        others = [str(specifier) for specifier in self.versions if specifier.operator[0] != bound[0]]
        shorter = replace(self, versions=SpecifierSet(",".join([*others, bound])))
        versions = [Version(release) for release in releases]
        same = list(shorter.versions.filter(versions, True)) == list(both.versions.filter(versions, True))
        return shorter if same else both

    def covers(self, distribution: str, version: str, provider: str) -> bool:
        """Whether it selects a target."""
        if canonicalize_name(distribution) != self.distribution or provider not in (
            (self.provider,) if self.provider else DEFAULT_PROVIDERS
        ):
            return False
        try:
            return self.versions.contains(Version(version), prereleases=True)
        except InvalidVersion:
            return not self.versions
