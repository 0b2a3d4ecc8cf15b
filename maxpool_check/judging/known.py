"""Known divergences: observed, reviewed and explained; executed, never excused."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from fnmatch import fnmatchcase
from functools import cached_property

from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from maxpool_check.judging.kind_groups import KindGroup
from maxpool_check.judging.kinds import DESCRIPTIONS, DivergenceKind
from maxpool_check.results.record import KnownStatus
from maxpool_check.results.variants import Variant

KERNELS = ("python:", "command:", "transform:")
"""How the names of targets begin that an entry selects by their name: kernels, and tools that rewrite models."""

DEFAULT_PROVIDERS = ("CPUExecutionProvider", "CPU")
"""The providers of an entry without one: ONNX Runtime's on the CPU, and the name for runtimes without providers."""

_LONGEST_SELECTOR = 1000


@dataclass(frozen=True)
class TargetSelector:
    """A distribution, its versions, and a provider; None: ``DEFAULT_PROVIDERS``.

    ``kernel`` is the name of a ``python:``, ``command:`` or ``transform:`` target, which is then all that it selects.
    """

    distribution: str
    versions: SpecifierSet
    provider: str | None
    kernel: str | None = None

    @classmethod
    def parse(cls, text: str) -> "TargetSelector":
        """``onnxruntime < 1.29``, ``onnxruntime >=1.21,<1.29 @Provider``, ``python:PATH.py:FUNCTION``, ``command:PROGRAM``.

        Also ``transform:TOOL==VERSION:on:RUNTIME==VERSION``. ``ValueError`` for anything else.
        """
        if len(text) > _LONGEST_SELECTOR:
            raise ValueError(f"expected at most {_LONGEST_SELECTOR} characters, found {len(text)}")
        if text.startswith(KERNELS):
            return cls(text.partition(":")[0], SpecifierSet(), None, text)
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
        if self.kernel is not None:
            return self.kernel
        versions = ", ".join(sorted(map(str, self.versions)))
        return f"{self.distribution} {versions}".strip() + (f" @{self.provider}" if self.provider else "")

    def narrowed(self, bound: str, releases: Sequence[str]) -> "TargetSelector":
        """The same for the versions within a bound as well, ``<1.29.0`` or ``>=1.29.0``.

        Its own bound in that direction is dropped if it makes no difference for any of the releases.
        """
        both = replace(self, versions=SpecifierSet(",".join([*map(str, self.versions), bound])))
        others = [str(specifier) for specifier in self.versions if specifier.operator[0] != bound[0]]
        shorter = replace(self, versions=SpecifierSet(",".join([*others, bound])))
        versions = [Version(release) for release in releases]
        same = list(shorter.versions.filter(versions, True)) == list(both.versions.filter(versions, True))
        return shorter if same else both

    def covers(self, distribution: str, version: str, provider: str, name: str = "") -> bool:
        """Whether it selects a target; ``name`` is that of ``-t``, which a kernel is selected by."""
        if self.kernel is not None or name.startswith("transform:"):
            # A tool may have the distribution of a runtime, which other entries are about.
            return name == self.kernel
        if canonicalize_name(distribution) != self.distribution or provider not in (
            (self.provider,) if self.provider else DEFAULT_PROVIDERS
        ):
            return False
        try:
            return self.versions.contains(Version(version), prereleases=True)
        except InvalidVersion:
            return not self.versions


@dataclass(frozen=True)
class KnownDivergence:
    """One reviewed entry: these cases, on these targets, diverge in exactly these kinds.

    ``variants`` are those that must all show it; None: any may.
    """

    id: str
    when: TargetSelector
    cases: tuple[str, ...]
    kinds: frozenset[DivergenceKind]
    reason: str
    issue: str | None = None
    expires: date | None = None
    variants: frozenset[Variant] | None = None

    def expired(self, today: date) -> bool:
        """Whether its date has passed."""
        return self.expires is not None and today > self.expires

    def binds(self, case: str) -> bool:
        """Whether it is about a case, by its full id."""
        return bool(self.patterns(case))

    def patterns(self, case: str) -> list[str]:
        """Those of its ``cases`` that match a case."""
        exact = [case] if case in self._exact else []
        return exact + [pattern for pattern in self._globs if pattern != case and fnmatchcase(case, pattern)]

    @cached_property
    def _exact(self) -> frozenset[str]:
        return frozenset(self.cases)

    @cached_property
    def _globs(self) -> tuple[str, ...]:
        return tuple(pattern for pattern in self.cases if is_glob(pattern))

    def expects(self, case: str, variant: Variant, kinds: Iterable[DivergenceKind]) -> bool:
        """Whether these are exactly its kinds, as far as the variant can show them."""
        # An entry for a variant holds for its variations as well.
        about = self.variants is None or bool({variant, variant.base} & self.variants)
        return about and self.binds(case) and frozenset(kinds) == {kind for kind in self.kinds if shows(variant, kind)}


def is_glob(pattern: str) -> bool:
    """Whether a pattern has wildcards."""
    return bool(set("*?[") & set(pattern))


def shows(variant: Variant, kind: DivergenceKind) -> bool:
    """Whether executions of a variant can have a kind of divergence.

    Y alone has no Indices, but is compared with the Y of the variant with Indices; variations are compared with their base.
    """
    if kind is DivergenceKind.Y_DEPENDS_ON_INDICES:
        return variant.variation is None and not variant.has_indices
    description = DESCRIPTIONS[kind]
    compared = description.group is not KindGroup.DEPENDENCE or variant.variation is not None
    return compared and (variant.has_indices or description.output != "Indices")


@dataclass
class Ledger:
    """The entries about one target, and what a run observed of them."""

    entries: Sequence[KnownDivergence]
    today: date
    _compared: dict[str, set[Variant]] = field(default_factory=dict)
    _observed: set[tuple[str, str, Variant]] = field(default_factory=set)
    _expired: set[str] = field(default_factory=set)

    def compared(self, case: str, variant: Variant) -> None:
        """Remember that an execution was compared with its document: only then can an entry be stale."""
        if self.entries:
            self._compared.setdefault(case, set()).add(variant)

    def known(self, case: str, variant: Variant, kinds: Iterable[DivergenceKind]) -> KnownDivergence | None:
        """The first entry that expects exactly these kinds of an execution; remembers all that do."""
        kinds = frozenset(kinds)
        expecting = [entry for entry in self.entries if entry.expects(case, variant, kinds)]
        valid = [entry for entry in expecting if not entry.expired(self.today)]
        self._expired.update(entry.id for entry in expecting if entry.expired(self.today))
        self._observed.update((entry.id, pattern, variant) for entry in valid for pattern in entry.patterns(case))
        return valid[0] if valid else None

    def others(self, case: str, variant: Variant) -> list[KnownDivergence]:
        """The entries about an execution, whatever their kinds: those that expect another divergence."""
        return [
            entry
            for entry in self.entries
            if entry.binds(case)
            and (entry.variants is None or variant in entry.variants)
            and not entry.expired(self.today)
        ]

    def audit(self, complete: Mapping[str, bool]) -> list[tuple[KnownDivergence, KnownStatus, str]]:
        """The status of each entry, and why. ``complete`` says for each pattern whether all its cases were executed."""
        return [(entry, *self._status(entry, complete)) for entry in self.entries]

    def _status(self, entry: KnownDivergence, complete: Mapping[str, bool]) -> tuple[KnownStatus, str]:
        stale = [text for pattern in entry.cases if complete[pattern] for text in self._unobserved(entry, pattern)]
        if entry.id in self._expired or (entry.expired(self.today) and stale):
            return KnownStatus.EXPIRED, f"since {entry.expires}; review it, then remove it or set a new date"
        if stale:
            return (
                KnownStatus.STALE,
                f"{', '.join(stale)} no longer diverges; remove it from the entry, or bound the versions of its 'when'",
            )
        if any(name == entry.id for name, _, _ in self._observed):
            return KnownStatus.EXPECTED, ""
        return KnownStatus.NOT_EXECUTED, "none of its cases was compared"

    def _unobserved(self, entry: KnownDivergence, pattern: str) -> list[str]:
        """The pattern, or the variants of it, that were compared and did not show the entry's kinds."""
        cases = [case for case in self._compared if fnmatchcase(case, pattern)] if is_glob(pattern) else [pattern]
        compared = {variant for case in cases for variant in self._compared.get(case, ())}
        observed = {variant for name, glob, variant in self._observed if (name, glob) == (entry.id, pattern)}
        if entry.variants is None:
            return [pattern] if compared and not observed else []
        return [f"{pattern} ({variant.name})" for variant in sorted((entry.variants & compared) - observed)]
