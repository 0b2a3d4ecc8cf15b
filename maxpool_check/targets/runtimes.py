"""The runtimes that can be tested, and the tools that rewrite models: ``runtimes.yaml``."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import yaml


@dataclass(frozen=True)
class Runtime:
    """One runtime: its ``distribution`` on the package index, the worker's ``adapter``, and a description.

    ``ecosystem`` is that of its distribution: ``python``, or ``npm``, which has no installed release beside the tool.

    ``extra`` is the extra of maxpool-check that installs it; empty if it is a dependency or installed by the user.
    ``specs`` are the documents, or families of them, that it claims to implement; empty where it names none of ours.
    ``providers`` are those that its options choose from, where a target does not name the provider.
    ``besides`` are distributions that its adapter needs in the environment of a release.
    ``computes``: it computes outputs; what does not decides shapes alone, or whether a graph is valid.
    ``fixed_sizes``: it generates code for tensors of known sizes, and refuses models that leave sizes open.
    """

    distribution: str
    adapter: str
    about: str
    extra: str = ""
    specs: tuple[str, ...] = ()
    providers: tuple[str, ...] = ()
    ecosystem: str = "python"
    besides: tuple[str, ...] = ()
    computes: bool = True
    fixed_sizes: bool = False

    @property
    def install(self) -> str:
        """The command that installs it beside the tool, or what to name where there is none."""
        if self.ecosystem == "npm":
            return f"name a release, {self.distribution}==VERSION"
        return f"pip install 'maxpool-check[{self.extra}]'" if self.extra else f"pip install {self.distribution}"


@dataclass(frozen=True)
class RewritingTool:
    """A tool that rewrites models: its ``distribution`` on the package index, and a description.

    ``options`` are the values of each option of its targets.
    """

    distribution: str
    about: str
    options: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


_TABLE: dict[str, dict[str, dict[str, Any]]] = yaml.load(
    Path(__file__).with_name("runtimes.yaml").read_bytes(), getattr(yaml, "CSafeLoader", yaml.SafeLoader)
)
# The name is also that of the distribution and of the adapter, if these have no other.
_ROWS = {
    kind: {name: {"distribution": name, "adapter": name, **row} for name, row in rows.items()}
    for kind, rows in _TABLE.items()
}

RUNTIMES: Mapping[str, Runtime] = msgspec.convert(_ROWS["runtimes"], dict[str, Runtime])
"""Every runtime, by its name in a target."""

TOOLS: Mapping[str, RewritingTool] = msgspec.convert(_ROWS["tools"], dict[str, RewritingTool])
"""Every tool that rewrites models, by its name in a target."""

OF_NPM = frozenset(each.distribution for each in RUNTIMES.values() if each.ecosystem == "npm")
"""The distributions of npm."""
