"""The kernels that are wrong on purpose: cases that notice none of them test nothing.

``wrong_kernels/kernels.yaml`` has a sentence for each, which says how it is wrong, and where such a defect was seen, and the
mutation that makes it so. Most take X and the attributes of ONNX, as a kernel of a user does: ``python:FILE:MODULE__NAME``, with
this file, runs them like any other target. Those of a module with a language take X and the attributes of its documents as a
case has them, and the name of the document. They show what no translation keeps: defaults, names, and what a document refuses.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from maxpool_check.evidence.wrong_kernels import correct
from maxpool_check.evidence.wrong_kernels.languages import GRAPH, LANGUAGES
from maxpool_check.evidence.wrong_kernels.mutations import Kernel, check_mutation

CORRECT, POLICIES, DEATHS = "correct", "policies", "deaths"
"""Modules: kernels that no case may notice, kernels that differ by policy alone, kernels that end their process."""

WITH_MEMORY = "outputs"
"""The module whose kernels may give another result when they are called again."""


@dataclass(frozen=True)
class WrongKernel:
    """A function that is wrong in one way, unless it is one of those that are there to be compared with.

    ``specs`` are the documents whose own attributes it takes; without any, it takes those of ONNX, for cases of all documents.
    """

    module: str
    name: str
    sentence: str
    specs: tuple[str, ...] = ()
    mutation: Mapping[str, Any] = field(default_factory=dict, compare=False, repr=False)

    def __str__(self) -> str:
        return f"{self.module}:{self.name}"

    @property
    def target(self) -> str:
        """Its name as a target."""
        return f"python:{Path(__file__)}:{self.module}__{self.name}"

    @property
    def is_correct(self) -> bool:
        """Whether no case may find fault with it."""
        return CORRECT in (self.module, self.name)

    @property
    def model(self) -> "WrongKernel":
        """The correct kernel that takes the same attributes: a fault that this one has too is no kill."""
        return next(each for each in all_kernels() if each.is_correct and each.specs == self.specs)

    def function(self) -> Callable[..., Any]:
        """A function of X and the attributes, and of the name of the document if it has ``specs``; it remembers no call of another."""
        if self.module == CORRECT:
            return getattr(correct, self.name)
        kernel = self._kernel()
        return kernel if self.specs else lambda X, attributes: kernel(X, attributes)

    def _kernel(self) -> Any:
        if self.module == CORRECT:
            return Kernel({}, GRAPH, {})
        others = {name: kernel_named(name)._kernel() for name in _others(self.mutation)}
        return Kernel(self.mutation, LANGUAGES.get(self.module, GRAPH), others)


def _others(mutation: Mapping[str, Any]) -> list[str]:
    """The names of the kernels that a mutation mentions."""
    mixed = mutation.get("outputs", {}).get("mixed", {})
    return [name for name in (mutation.get("base"), mixed.get("other")) if name]


@cache
def all_kernels() -> tuple[WrongKernel, ...]:
    """Every kernel, the correct ones and those that differ by policy too. ``ValueError`` for a mistake in their file."""
    kernels = [WrongKernel(CORRECT, each.__name__, each.__doc__ or "") for each in correct.KERNELS]
    kernels += _read(Path(__file__).parent / "wrong_kernels/kernels.yaml")
    names = {str(kernel) for kernel in kernels}
    for kernel in kernels:
        if unknown := set(_others(kernel.mutation)) - names:
            raise ValueError(f"{kernel}: no such kernel: {unknown}")
    if len(names) < len(kernels):
        raise ValueError("a kernel is there twice")
    return tuple(sorted(kernels, key=lambda kernel: kernel.module))


def _read(path: Path) -> Iterator[WrongKernel]:
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    for module, entries in yaml.load(path.read_bytes(), loader).items():
        for entry in entries:
            (name, sentence), *others = entry.items()
            if unknown := dict(others).keys() - {"in", "how"}:
                raise ValueError(f"{module}:{name}: no such keys: {unknown}")
            mutation = dict(others).get("how", {})
            check_mutation(mutation)
            for each in dict(others).get("in", [module]):
                yield WrongKernel(each, name, sentence, LANGUAGES.get(each, GRAPH).specs, mutation)


@cache
def wrong_kernels() -> tuple[WrongKernel, ...]:
    """The kernels that cases must notice."""
    return tuple(kernel for kernel in all_kernels() if not kernel.is_correct and kernel.module != POLICIES)


def kernel_named(name: str) -> WrongKernel:
    """The kernel ``MODULE:NAME``. Raises ``LookupError``."""
    return {str(kernel): kernel for kernel in all_kernels()}[name]


def __getattr__(name: str) -> Callable[..., Any]:
    """The function of a kernel, ``MODULE__NAME``, for those that load this file as a target."""
    kernels = {str(kernel).replace(":", "__"): kernel for kernel in all_kernels()} if "__" in name.strip("_") else {}
    if name not in kernels:
        raise AttributeError(name)
    return kernels[name].function()
