"""The faults of a kernel, by the judge in this process: quick, and only for kernels that survive and return.

A kernel gets what the adapter of ``python:`` targets gives it, and the judge gets what that adapter returns. A kernel in the
language of a document gets a case of it as it is; only a graph of several nodes is beyond all kernels.
"""

import copy
import warnings
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np

from maxpool_check.corpus.case import Case
from maxpool_check.evidence.kernels import WrongKernel, kernel_named
from maxpool_check.judging.graph_oracle import GraphOracle
from maxpool_check.judging.judge import judge
from maxpool_check.results.outcomes import NotExecuted, Outcome, RefusedByTarget, Returned
from maxpool_check.results.record import FAULTS, TargetDescription
from maxpool_check.results.variants import DEFAULT_VARIANTS
from maxpool_check.specifications.specification import Refused
from maxpool_check.targets import requests
from maxpool_check.targets.name import parse
from maxpool_check.targets.plans import PlannedRequest, VariantPlan
from maxpool_check.targets.protocol import Request
from maxpool_check.targets.target import TargetProfile
from maxpool_check.targets.translation import Translation
from maxpool_check.targets.worker import python_adapter


class LoadedKernel(python_adapter.Runtime):
    """A kernel in this process, with the adapter that it has in a worker."""

    def __init__(self, kernel: WrongKernel) -> None:
        self.function, self.takes_spec = kernel.function(), bool(kernel.specs)


@dataclass(frozen=True)
class KernelTask:
    """A case, what its outputs are judged by, and its requests to a kernel."""

    case: Case
    oracle: GraphOracle | Refused
    plans: tuple[VariantPlan, ...]


def task_of(case: Case, specs: Collection[str] = ()) -> KernelTask | None:
    """A case for kernels of these ``specs``; None if they cannot execute it."""
    if not case.context.is_alone or (specs and case.spec not in specs):
        return None
    plans = tuple(_in_its_own_language(case) if specs else requests.plan(case, DEFAULT_VARIANTS, kernel_profile()))
    return KernelTask(case, case.oracle(), plans) if any(plan.parts for plan in plans) else None


def _in_its_own_language(case: Case) -> Iterator[VariantPlan]:
    """The case as it is, once for each set of outputs."""
    unchanged = Translation.unchanged(case.specification, case.attributes, case.X.shape)
    for variant in case.variants(DEFAULT_VARIANTS):
        if variant.variation is None and not variant.in_domain:
            request = Request(case.X.tensor(), variant.outputs, b"", case.attributes, spec=case.spec)
            yield VariantPlan(case, variant, (PlannedRequest(request, unchanged),))


def faulty_variants(function: LoadedKernel, task: KernelTask) -> Iterator[str]:
    """The variants in which the execution of a case is a fault of the kernel, each executed only when it is asked for."""
    for plan in task.plans:
        outcomes = [outcome(function, each) for each in plan.requests]
        result = plan.result(outcomes, kernel_profile()).outcome
        if judge(task.oracle, {plan.variant: result})[plan.variant].verdict in FAULTS:
            yield plan.variant.name


@cache
def kernel_profile() -> TargetProfile:
    """A kernel as a target."""
    description = TargetDescription(
        name=kernel_named("correct:gathered").target, distribution="python", version="0", provider="CPUExecutionProvider", providers=(),
        session_options={}, python="", numpy="", newest_opset=None, speaks="attributes",
    )  # fmt: skip
    return TargetProfile(parse(description.name), description)


def outcome(function: LoadedKernel, request: Request) -> Outcome:
    """What the adapter of ``python:`` targets returns for a request."""
    attributes = copy.deepcopy(dict(request.attributes))
    message = {"attributes": attributes, "outputs": list(request.outputs), "spec": request.spec}
    with warnings.catch_warnings():
        # In a process of its own a kernel's warnings go to stderr.
        warnings.simplefilter("ignore")
        reply = function.run(message, {"X": np.array(request.X, order="C")})
    if reply["type"] == "refusal":
        return RefusedByTarget(reply["status"], reply["message"])
    if reply["type"] == "unable":
        return NotExecuted(reply["message"])
    return Returned({name: np.asarray(value) for name, value in reply["outputs"].items()})
