"""Which targets a known divergence is about, in the words of a requirement."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

DEFAULT_PROVIDERS = ("CPUExecutionProvider", "CPU")
"""What an entry without a provider is about: ONNX Runtime's on the CPU, and what runtimes without providers say."""


@dataclass(frozen=True)
class TargetSelector:
    """Which targets an entry is about: a distribution, its versions, a provider (None: the CPU's)."""

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
        versions = ", ".join(sorted(str(one) for one in self.versions))
        return f"{self.distribution} {versions}".strip() + (f" @{self.provider}" if self.provider else "")

    def narrowed(self, bound: str, releases: Sequence[str]) -> TargetSelector:
        """The same for fewer versions: those within a bound, ``<1.29.0`` or ``>=1.29.0``.

        A bound it has in the same direction is dropped where, for all these releases, that makes no difference.
        """
        both = replace(self, versions=SpecifierSet(",".join([*map(str, self.versions), bound])))
        kept = [str(one) for one in self.versions if one.operator[0] != bound[0]]
        shorter = replace(self, versions=SpecifierSet(",".join([*kept, bound])))

        def meant(when: TargetSelector) -> list[bool]:
            return [when.versions.contains(Version(release), prereleases=True) for release in releases]

        return shorter if meant(shorter) == meant(both) else both

    def covers(self, distribution: str, version: str, provider: str) -> bool:
        """Whether a target is meant."""
        if canonicalize_name(distribution) != self.distribution or provider not in (
            (self.provider,) if self.provider else DEFAULT_PROVIDERS
        ):
            return False
        try:
            return self.versions.contains(Version(version), prereleases=True)
        except InvalidVersion:
            return not self.versions
