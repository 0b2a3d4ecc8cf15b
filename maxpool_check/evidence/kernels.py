"""The kernels that are wrong on purpose: a case that cannot notice any of them is no test.

Each is a function of ``wrong_kernels/MODULE.py`` that takes X and the attributes of ONNX, as a kernel of a user does:
``python:FILE:NAME`` runs it like any other target. Its docstring says how it is wrong, and where such a defect was seen.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).parent / "wrong_kernels"
CORRECT, POLICIES, DEATHS = "correct", "policies", "deaths"
"""Modules: kernels that no case may notice, kernels that differ by policy alone, kernels that end their process."""

_STEPS = "scan"
"""The module that the others are made of."""

_PARAMETERS = ["X", "attributes"]


@dataclass(frozen=True)
class WrongKernel:
    """A function ``(X, attributes)`` that is wrong in one way, unless its module is ``correct`` or ``policies``."""

    module: str
    name: str
    sentence: str

    def __str__(self) -> str:
        return f"{self.module}:{self.name}"

    @property
    def path(self) -> Path:
        """The file of its module."""
        return FOLDER / f"{self.module}.py"

    @property
    def target(self) -> str:
        """Its name as a target."""
        return f"python:{self.path}:{self.name}"


@cache
def all_kernels() -> tuple[WrongKernel, ...]:
    """Every kernel of the folder, the correct ones and those that differ by policy too."""
    return tuple(kernel for path in _modules() for kernel in _kernels(path))


@cache
def wrong_kernels() -> tuple[WrongKernel, ...]:
    """The kernels that cases must notice."""
    return tuple(kernel for kernel in all_kernels() if kernel.module not in (CORRECT, POLICIES))


@cache
def correct_kernel() -> WrongKernel:
    """The kernel whose faults are no kills of any other."""
    return next(kernel for kernel in all_kernels() if kernel.module == CORRECT)


def _modules() -> list[Path]:
    return sorted(path for path in FOLDER.glob("*.py") if path.stem != _STEPS)


def _kernels(path: Path) -> Iterator[WrongKernel]:
    """The public functions of X and attributes of a module."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if not isinstance(node, ast.FunctionDef) or node.name.startswith("_"):
            continue
        if [argument.arg for argument in node.args.args] == _PARAMETERS:
            yield WrongKernel(path.stem, node.name, " ".join((ast.get_docstring(node) or "").split()))
