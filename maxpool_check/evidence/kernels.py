"""The kernels that are wrong on purpose: cases that notice none of them test nothing.

Each is a function of ``wrong_kernels/MODULE.py``. Its docstring says how it is wrong, and where such a defect was seen. Most
take X and the attributes of ONNX, as a kernel of a user does: ``python:FILE:NAME`` runs them like any other target. Those
of a module with ``SPECS`` take X and the attributes of these documents as a case has them, and the name of the document:
``(X, attributes, spec)``. They show what no translation keeps: defaults, names, and what a document refuses.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TypeGuard

FOLDER = Path(__file__).parent / "wrong_kernels"
CORRECT, POLICIES, DEATHS = "correct", "policies", "deaths"
"""Modules: kernels that no case may notice, kernels that differ by policy alone, kernels that end their process."""

WITH_MEMORY = "outputs"
"""The module whose kernels may give another result when they are called again."""

_STEPS = ("scan", "documents")
"""Modules that the others are made of."""

_PARAMETERS = (["X", "attributes"], ["X", "attributes", "spec"])


@dataclass(frozen=True)
class WrongKernel:
    """A function that is wrong in one way, unless it is one of those that are there to be compared with.

    ``specs`` are the documents whose own attributes it takes; without any, it takes those of ONNX, for cases of all documents.
    """

    module: str
    name: str
    sentence: str
    specs: tuple[str, ...] = ()

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

    @property
    def is_correct(self) -> bool:
        """Whether no case may find fault with it."""
        return CORRECT in (self.module, self.name)

    @property
    def model(self) -> "WrongKernel":
        """The correct kernel that takes the same attributes: a fault that this one has too is no kill."""
        return next(each for each in all_kernels() if each.is_correct and each.specs == self.specs)


@cache
def all_kernels() -> tuple[WrongKernel, ...]:
    """Every kernel of the folder, the correct ones and those that differ by policy too."""
    return tuple(kernel for path in _modules() for kernel in _kernels(path))


@cache
def wrong_kernels() -> tuple[WrongKernel, ...]:
    """The kernels that cases must notice."""
    return tuple(kernel for kernel in all_kernels() if not kernel.is_correct and kernel.module != POLICIES)


def _modules() -> list[Path]:
    return sorted(path for path in FOLDER.glob("*.py") if path.stem not in _STEPS)


def _kernels(path: Path) -> Iterator[WrongKernel]:
    """The public functions of X and attributes of a module."""
    statements = ast.parse(path.read_text(encoding="utf-8")).body
    specs = next((ast.literal_eval(node.value) for node in statements if _is_assignment_of(node, "SPECS")), ())
    for node in statements:
        if not isinstance(node, ast.FunctionDef) or node.name.startswith("_"):
            continue
        if [argument.arg for argument in node.args.args] in _PARAMETERS:
            sentence = " ".join((ast.get_docstring(node) or "").split())
            yield WrongKernel(path.stem, node.name, sentence, tuple(specs))


def _is_assignment_of(node: ast.stmt, name: str) -> TypeGuard[ast.Assign]:
    return isinstance(node, ast.Assign) and [ast.unparse(target) for target in node.targets] == [name]
