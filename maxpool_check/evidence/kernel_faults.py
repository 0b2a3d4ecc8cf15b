"""The faults of a kernel, by the judge in this process: quick, and only for kernels that survive and return.

A kernel gets what the adapter of ``python:`` targets gives it, and the judge gets what that adapter returns.
"""

import copy
import sys
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache

import numpy as np

from maxpool_check.corpus.case import Case
from maxpool_check.evidence.kernels import FOLDER, WrongKernel, correct_kernel
from maxpool_check.judging.oracle import Oracle
from maxpool_check.judging.verdicts import judge
from maxpool_check.results.outcomes import NotExecuted, Outcome, RefusedByTarget, Returned
from maxpool_check.results.record import FAULTS, TargetDescription
from maxpool_check.results.variants import DEFAULT_VARIANTS
from maxpool_check.specifications.refused import Refused
from maxpool_check.targets import requests
from maxpool_check.targets.name import parse
from maxpool_check.targets.plans import VariantPlan
from maxpool_check.targets.protocol import Request
from maxpool_check.targets.target import TargetProfile
from maxpool_check.targets.worker.python_adapter import PythonFunction


@dataclass(frozen=True)
class KernelTask:
    """A case, what its outputs are judged by, and its requests to a kernel."""

    case: Case
    oracle: Oracle | Refused
    plans: tuple[VariantPlan, ...]


def tasks(cases: Iterable[Case]) -> Iterator[KernelTask]:
    """Those of the cases that a kernel can execute, in order."""
    for case in cases:
        plans = requests.plan(case, DEFAULT_VARIANTS, kernel_profile())
        if any(plan.parts for plan in plans):
            yield KernelTask(case, case.oracle(), tuple(plans))


def faulty_variants(function: PythonFunction, task: KernelTask) -> list[str]:
    """The variants in which the execution of a case is a fault of the kernel."""
    outcomes = {
        plan.variant: requests.result(
            plan, [outcome(function, each) for each in plan.requests], kernel_profile()
        ).outcome
        for plan in task.plans
    }
    judgements = judge(task.oracle, outcomes)
    return [variant.name for variant, judgement in judgements.items() if judgement.verdict in FAULTS]


def load(kernel: WrongKernel) -> PythonFunction:
    """A kernel, as the worker of its target loads it; the modules of this process are as before."""
    with _modules_of_kernels():
        return PythonFunction({"function": [str(kernel.path), kernel.name]})


@contextmanager
def _modules_of_kernels() -> Iterator[None]:
    """Lets kernels import each other by name, without a trace: a user may have a module of that name."""
    names = {path.stem for path in FOLDER.glob("*.py")}
    path, others = list(sys.path), {name: sys.modules.pop(name) for name in names if name in sys.modules}
    try:
        yield
    finally:
        sys.path[:] = path
        for name in names:
            sys.modules.pop(name, None)
        sys.modules.update(others)


@cache
def kernel_profile() -> TargetProfile:
    """A kernel as a target."""
    description = TargetDescription(
        name=correct_kernel().target, distribution="python", version="0", provider="CPUExecutionProvider", providers=(),
        session_options={}, python="", numpy="", newest_opset=None, speaks="attributes",
    )  # fmt: skip
    return TargetProfile(parse(description.name), description)


def outcome(function: PythonFunction, request: Request) -> Outcome:
    """What the adapter of ``python:`` targets returns for a request."""
    message = {"attributes": copy.deepcopy(dict(request.attributes)), "outputs": list(request.outputs)}
    with warnings.catch_warnings():
        # In a process of its own a kernel's warnings go to stderr.
        warnings.simplefilter("ignore")
        reply = function.run(message, {"X": np.array(request.X, order="C")})
    if reply["type"] == "refusal":
        return RefusedByTarget(reply["status"], reply["message"])
    if reply["type"] == "unable":
        return NotExecuted(reply["message"])
    return Returned({name: np.asarray(value) for name, value in reply["outputs"].items()})
