"""Which targets a defect is about: a runtime and its versions."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from urllib.parse import parse_qsl, urlencode

from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from maxpool_check.results.target_names import DEFAULT_PROVIDERS, KERNELS, TRANSFORM, parts_of, tool_and_runtime

_LONGEST = 1000


@dataclass(frozen=True)
class TargetSelector:
    """A runtime, by its name in a target or its distribution, its versions, and a provider; None: ``DEFAULT_PROVIDERS``.

    ``options`` are those that a target must have, whatever else it has. ``is_tool``: the name is that of a tool that rewrites
    models, on any runtime. ``exact`` is the name of one target, which is then all that is selected. ``others`` are further runtimes
    of which the same holds.
    """

    name: str
    versions: SpecifierSet = field(default_factory=SpecifierSet)
    provider: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    is_tool: bool = False
    exact: str | None = None
    others: tuple[str, ...] = ()

    @classmethod
    def parse(cls, text: str) -> "TargetSelector":
        """``onnxruntime < 1.29``, ``onnxruntime >=1.21,<1.29 @Provider``, or what :meth:`of` takes.

        ``ValueError`` for anything else.
        """
        if text.startswith((*KERNELS, TRANSFORM)):
            return cls.of(text)
        if len(text) > _LONGEST:
            raise ValueError(f"expected at most {_LONGEST} characters, found {len(text)}")
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

    @classmethod
    def of_any(cls, runtimes: Sequence[str], versions: str = "") -> "TargetSelector":
        """The selector of any of these runtimes, each as in :meth:`of`: of several, distributions alone.

        Raises ``ValueError``.
        """
        selectors = [cls.of(runtime, versions) for runtime in runtimes]
        if len(selectors) > 1 and any(each.runtime != each.name for each in selectors):
            raise ValueError(
                f"expected a list of runtimes alone, without providers and options, found {', '.join(runtimes)}"
            )
        return replace(selectors[0], others=tuple(each.name for each in selectors[1:]))

    @classmethod
    def of(cls, runtime: str, versions: str = "") -> "TargetSelector":
        """The selector of ``RUNTIME[@PROVIDER][?key=value]`` or ``transform:TOOL[?key=value]``, or of one whole target.

        The whole target is a ``python:``, ``command:`` or ``transform:`` one; ``versions`` are as ``>=1.21,<1.29``.
        Raises ``ValueError``.
        """
        if len(runtime) > _LONGEST:
            raise ValueError(f"expected at most {_LONGEST} characters, found {len(runtime)}")
        try:
            specifiers = SpecifierSet(versions)
        except InvalidSpecifier as error:
            raise ValueError(f"expected versions, as '>=1.21,<1.29', found '{versions}'") from error
        if runtime.startswith(KERNELS) or (runtime.startswith(TRANSFORM) and ":on:" in runtime):
            return cls(runtime.partition(":")[0], specifiers, exact=runtime)
        named, _, options = runtime.partition("?")
        name, _, provider = named.removeprefix(TRANSFORM).partition("@")
        if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", name) or not (provider or "x").isalnum():
            raise ValueError(
                f"expected a runtime, as 'onnxruntime', 'openvino?opset=14' or 'transform:onnxsim', found '{runtime}'"
            )
        is_tool = runtime.startswith(TRANSFORM)
        return cls(canonicalize_name(name), specifiers, provider or None, dict(parse_qsl(options)), is_tool)

    @property
    def runtime(self) -> str:
        """The selector without its versions."""
        if self.exact is not None:
            return self.exact
        provider = f"@{self.provider}" if self.provider else ""
        options = f"?{urlencode(self.options)}" if self.options else ""
        return f"{TRANSFORM if self.is_tool else ''}{self.name}{provider}{options}"

    @property
    def bounds(self) -> str:
        """The versions as text: ``<1.29, >=1.21``; empty for all of them."""
        return ", ".join(sorted(map(str, self.versions)))

    def __str__(self) -> str:
        if self.exact is not None:
            return self.exact
        if self.is_tool or self.options:
            return f"{self.runtime} {self.bounds}".strip()
        return f"{self.name} {self.bounds}".strip() + (f" @{self.provider}" if self.provider else "")

    def covers(self, distribution: str, version: str, provider: str, target: str = "") -> bool:
        """Whether it selects a target; ``target`` is its name in ``-t``."""
        return self.is_about(distribution, provider, target) and self.has(version)

    def is_about(self, distribution: str, provider: str, target: str = "") -> bool:
        """As :meth:`covers`, whatever the version."""
        if self.exact is not None:
            return target == self.exact
        tool, runtime = tool_and_runtime(target)
        if bool(tool) != self.is_tool:
            # A tool may have the distribution of a runtime, which others are about.
            return False
        match = parts_of(tool or runtime)
        names = {canonicalize_name(distribution), canonicalize_name(match["name"]) if match else ""}
        options = dict(parse_qsl(match["options"] or "")) if match else {}
        providers = (provider,) if self.is_tool else (self.provider,) if self.provider else DEFAULT_PROVIDERS
        return (
            bool(names & {self.name, *self.others})
            and provider in providers
            and self.options.items() <= options.items()
        )

    def has(self, version: str) -> bool:
        """Whether a version is among those selected."""
        try:
            return self.versions.contains(Version(version), prereleases=True)
        except InvalidVersion:
            return not self.versions
