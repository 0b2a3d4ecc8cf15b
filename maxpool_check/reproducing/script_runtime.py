"""What a script needs to know of a runtime, whichever it is."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from maxpool_check.targets.target import TargetProfile


class CannotWrite(ValueError):
    """A reproduction that cannot be written, and why."""


@dataclass(frozen=True)
class ScriptRuntime:
    """How a script runs MaxPool on one runtime.

    ``title`` names it for people. ``requirements`` are exact; ``interpreter`` is the Python that has the runtime if there is
    no released version to install. ``imports`` are lines; ``setup`` and ``call`` are lines and an expression that give the
    outputs in order, of the ``model`` and its ``inputs`` if it ``takes_models``, otherwise of ``X`` and the ``{arguments}``.
    ``modules`` are what they use. ``levels`` are the levels of graph optimization that ``setup`` understands as ``level``.
    ``files`` are copied beside the script, by name. ``npm_package`` is what must be installed there with npm, ``NAME@VERSION``.
    """

    title: str
    version: str
    requirements: tuple[str, ...] = ()
    imports: tuple[str, ...] = ()
    setup: tuple[str, ...] = ()
    call: str = ""
    arguments: str = ""
    smallest: str = ""
    """The call of the smallest MaxPool, with which every runtime must succeed, if it takes no models."""
    smallest_axes: int = 1
    """The spatial axes of its X."""
    takes_models: bool = True
    levels: tuple[str, ...] = ()
    printed_version: str = ""
    """The version of the runtime that executes the script, as an expression; empty if the runtime does not have it."""
    runs_in_own_process: bool = False
    """Whether ``setup`` starts a process, so that a crash does not end the script."""
    interpreter: str | None = None
    files: Mapping[str, Path] = field(default_factory=dict)
    npm_package: str | None = None

    @property
    def named(self) -> str:
        """Its title and version."""
        return f"{self.title} {self.version}".strip()

    @property
    def is_kernel(self) -> bool:
        """Whether it is a user's own kernel."""
        return not self.requirements


@dataclass(frozen=True, eq=False)
class ScriptCall:
    """What a script has a runtime execute: a request, with how it names the inputs and settings.

    ``inputs`` are those of the model as an expression, ``level`` and ``threads`` the settings of a session as expressions.
    """

    profile: TargetProfile
    attributes: Mapping[str, Any]
    X: np.ndarray
    outputs: tuple[str, ...]
    is_graph: bool
    inputs: str = '{"X": X}'
    level: str | None = None
    threads: str | None = None


def based(profile: TargetProfile, title: str, *besides: str) -> dict[str, Any]:
    """The fields that all runtimes have alike; ``besides`` are further requirements."""
    target, name = profile.description, profile.name
    distribution, release = target.distribution, target.version
    if name.tool is not None:
        distribution, _, release = str(target.session_options["runs_on"]).rpartition(" ")
    requirements = [f"numpy=={target.numpy}", *besides, f"{distribution}=={release}"]
    return {
        "title": title, "version": release, "interpreter": name.options.get("python"),
        "requirements": tuple(sorted({each for each in requirements if not each.endswith("==-")})),
    }  # fmt: skip


def onnx_package() -> str:
    """The requirement of onnx, which builds models."""
    return f"onnx=={version('onnx')}"


def bfloat16_package(X: np.ndarray) -> list[str]:
    """What X requires besides numpy."""
    return [f"ml_dtypes=={version('ml_dtypes')}"] if X.dtype.name == "bfloat16" else []
