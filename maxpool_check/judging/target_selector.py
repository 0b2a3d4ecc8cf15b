"""Names of targets, whichever there are: those of a record may be others than here; and which of them a defect is about."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from urllib.parse import parse_qsl, urlencode

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

TRANSFORM = "transform:"
"""How the names of targets begin whose models a tool rewrites."""

OUTPUTS = "outputs:"
"""How the names of targets begin whose outputs were made elsewhere, and are in a file."""

RESULTS = "results:"
"""How the names of such targets begin in older records: they do not name the file, and cannot be executed again."""

KERNELS = ("python:", "command:", OUTPUTS, RESULTS)
"""How the names of targets begin that are kernels of the user's own, or their outputs."""

DEFAULT_PROVIDERS = ("CPUExecutionProvider", "CPU", "")
"""The providers of a name without one: ONNX Runtime's on the CPU, the name for runtimes without providers, and none."""

_LONGEST = 1000

_PARTS = re.compile(r"(?P<name>[A-Za-z0-9._-]+)(==(?P<version>[^@?]+))?(@(?P<provider>[^?]+))?(\?(?P<options>.*))?")


def parts_of(text: str) -> re.Match[str] | None:
    """The ``name``, ``version``, ``provider`` and ``options`` in the name of a runtime or a tool; None if it is none."""
    return _PARTS.fullmatch(text)


def tool_and_runtime(text: str) -> tuple[str, str]:
    """The name of the tool in the name of a target, empty where there is none, and that of the runtime."""
    tool, _, runtime = text.removeprefix(TRANSFORM).partition(":on:")
    return (tool, runtime) if text.startswith(TRANSFORM) else ("", text)


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
        if (length := max(len(runtime), len(versions))) > _LONGEST:
            raise ValueError(f"expected at most {_LONGEST} characters, found {length}")
        try:
            specifiers = SpecifierSet(versions)
        except InvalidSpecifier as error:
            raise ValueError(f"expected versions, as '>=1.21,<1.29', found '{versions}'") from error
        if runtime.startswith(KERNELS) or (runtime.startswith(TRANSFORM) and ":on:" in runtime):
            return cls(runtime.partition(":")[0], specifiers, exact=runtime)
        match = parts_of(runtime.removeprefix(TRANSFORM))
        if not match or match["version"] or not match["name"][0].isalnum() or not (match["provider"] or "x").isalnum():
            raise ValueError(
                f"expected a runtime, as 'onnxruntime', 'openvino?opset=14' or 'transform:onnxsim', found '{runtime}'"
            )
        is_tool, options = runtime.startswith(TRANSFORM), dict(parse_qsl(match["options"] or ""))
        return cls(canonicalize_name(match["name"]), specifiers, match["provider"], options, is_tool)

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
        if target.startswith(("command:", OUTPUTS)):
            # What a program says of itself must not choose what excuses it.
            return False
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
