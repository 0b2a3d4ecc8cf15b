"""The kernels that are wrong on purpose: cases that notice none of them test nothing.

``wrong_kernels/kernels.yaml`` names them in order. Each has a sentence, which says how it is wrong, and where such a defect was
seen; it is a mutation in that file or a function of ``wrong_kernels/wrong.py``. Most take X and the attributes of ONNX, as a
kernel of a user does: ``python:FILE:MODULE__NAME``, with this file, runs them like any other target. Those of a module with a
language take X and the attributes of its documents as a case has them, and the name of the document. They show what no
translation keeps: defaults, names, and what a document refuses.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, partial
from inspect import signature
from pathlib import Path
from typing import Any

import yaml

from maxpool_check.evidence.wrong_kernels import correct, wrong
from maxpool_check.evidence.wrong_kernels.languages import GRAPH, LANGUAGES
from maxpool_check.evidence.wrong_kernels.mutations import Kernel, mistakes_of
from maxpool_check.evidence.wrong_kernels.scan import step_of

CORRECT, POLICIES, DEATHS = "correct", "policies", "deaths"
"""Modules: kernels that no case may notice, kernels that differ by policy alone, kernels that end their process."""

WITH_MEMORY = "outputs"
"""The module whose kernels may give another result when they are called again."""


@dataclass(frozen=True)
class WrongKernel:
    """A function that is wrong in one way, unless it is one of those that are there to be compared with.

    ``specs`` are the documents whose own attributes it takes; without any, it takes those of ONNX, for cases of all documents.
    ``how`` is its mutation or its function.
    """

    module: str
    name: str
    sentence: str
    specs: tuple[str, ...] = ()
    how: Mapping[str, Any] | Callable[..., Any] = field(default_factory=dict, compare=False, repr=False)

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
        kernel: Callable[..., Any]
        language = LANGUAGES.get(self.module, GRAPH)
        if isinstance(self.how, Mapping):
            base = kernel_named(self.how["base"]).function() if "base" in self.how else None
            kernel = Kernel(self.how, language, base)
        elif step := step_of(self.how):
            kernel = partial(language.correct, **{step: self.how})
        elif "language" in signature(self.how).parameters:
            kernel = partial(self.how, language)
        else:
            return partial(self.how, memory={}) if "memory" in signature(self.how).parameters else self.how
        return kernel if self.specs else lambda X, attributes: kernel(X, attributes, "")


@cache
def all_kernels() -> tuple[WrongKernel, ...]:
    """Every kernel, the correct ones and those that differ by policy too. ``ValueError`` for a mistake in their file."""
    kernels = [WrongKernel(CORRECT, each.__name__, each.__doc__ or "", how=each) for each in correct.KERNELS]
    kernels += _read(Path(__file__).parent / "wrong_kernels/kernels.yaml")
    names = {str(kernel) for kernel in kernels}
    for kernel in kernels:
        if isinstance(kernel.how, Mapping) and kernel.how.get("base", str(kernel)) not in names:
            raise ValueError(f"{kernel}: no such kernel: {kernel.how['base']}")
    if len(names) < len(kernels):
        raise ValueError("a kernel is there twice")
    named = {kernel.how for kernel in kernels if callable(kernel.how)}
    if unnamed := [name for name, each in vars(wrong).items() if "__" in name.strip("_") and each not in named]:
        raise ValueError(f"kernels.yaml does not name the functions {', '.join(unnamed)} of wrong.py")
    return tuple(sorted(kernels, key=lambda kernel: kernel.module))


def _read(path: Path) -> Iterator[WrongKernel]:
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    for heading, entries in yaml.load(path.read_bytes(), loader).items():
        for entry in entries:
            if isinstance(entry, list):
                yield from (_written(heading, heading, name) for name in entry)
                continue
            (name, sentence), *others = entry.items()
            if unknown := dict(others).keys() - {"in", "how"}:
                raise ValueError(f"{heading}:{name}: no such keys: {unknown}")
            mutation = dict(others).get("how", {})
            if mistakes := mistakes_of(mutation):
                raise ValueError(f"{heading}:{name}: mutations.py does not have {', '.join(map(str, mistakes))}")
            for module in dict(others).get("in", [heading]):
                if sentence is None:
                    yield _written(heading, module, name)
                else:
                    yield WrongKernel(module, name, sentence, LANGUAGES.get(module, GRAPH).specs, mutation)


def _written(heading: str, module: str, name: str) -> WrongKernel:
    """The kernel that is a function of ``wrong.py``."""
    full_name = f"{heading}__{name}"
    function = getattr(wrong, full_name, None)
    if function is None:
        raise ValueError(f"{module}:{name}: there is no function {full_name} in wrong.py")
    if step_of(function) is None and not {"X", "attributes"} <= signature(function).parameters.keys():
        raise ValueError(f"{full_name}{signature(function)}: no step of the scan has these parameters")
    return WrongKernel(module, name, " ".join(function.__doc__.split()), LANGUAGES.get(module, GRAPH).specs, function)


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
