"""Which cases of a clause notice the wrong kernels that violate it: a clause whose cases notice none is not tested.

Kernels are judged in this process: quick, and only for kernels that survive and return. A kernel gets what the adapter
of ``python:`` targets gives it, and the judge gets what that adapter returns. A kernel in the language of a document
gets a case of it as it is; only a graph of several nodes is beyond all kernels.
"""

import contextlib
import copy
import warnings
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import cache
from itertools import islice
from typing import Any

import numpy as np

from maxpool_check.corpus.case import Case
from maxpool_check.evidence.kernels import DEATHS, WITH_MEMORY, WrongKernel, kernel_named, wrong_kernels
from maxpool_check.judging.graph_oracle import GraphOracle
from maxpool_check.judging.judge import judge
from maxpool_check.reference.dtypes import name_of
from maxpool_check.results.outcomes import NotExecuted, Outcome, RefusedByTarget, Returned
from maxpool_check.results.record import FAULTS, TargetDescription
from maxpool_check.results.variants import DEFAULT_VARIANTS
from maxpool_check.running.runner import ExecutionConfig, LocalRunner
from maxpool_check.specifications.clauses import Clause, ClauseStatus
from maxpool_check.specifications.specification import Refused
from maxpool_check.targets.jobs import Job
from maxpool_check.targets.name import parse
from maxpool_check.targets.protocol import Request
from maxpool_check.targets.requests import jobs_of
from maxpool_check.targets.target import TargetProfile
from maxpool_check.targets.translation import Translation
from maxpool_check.targets.worker import python_adapter

LARGE = 2**17
"""Cases with so many cells take most of the time, and few kernels need them."""

Kills = Mapping[str, Mapping[WrongKernel, tuple[str, ...]]]
"""For each clause the kernels that violate it, and the ids of cases of this clause that notice them."""


class LoadedKernel(python_adapter.Runtime):
    """A kernel in this process, with the adapter that it has in a worker."""

    def __init__(self, kernel: WrongKernel) -> None:
        self.function, self.takes = kernel.function(), ("spec",) if kernel.specs else ()


@dataclass(frozen=True)
class KernelTask:
    """A case, what its outputs are judged by, and its requests to a kernel."""

    case: Case
    oracle: GraphOracle | Refused
    jobs: tuple[Job, ...]


def task_of(case: Case, specs: Collection[str] = ()) -> KernelTask | None:
    """A case for kernels of these ``specs``; None if they cannot execute it."""
    if not case.context.is_alone or (specs and case.spec not in specs):
        return None
    if specs:
        unchanged = Translation.unchanged(case.specification, case.attributes, case.X.shape)
        plain = [each for each in case.variants(DEFAULT_VARIANTS) if each.variation is None and not each.in_domain]
        asked = {each: Request(case.X.tensor(), each.outputs, b"", case.attributes, spec=case.spec) for each in plain}
        jobs = [Job(each, request, unchanged) for each, request in asked.items()]
    else:
        jobs = jobs_of(case, DEFAULT_VARIANTS, kernel_profile())
    return KernelTask(case, case.oracle(), tuple(jobs)) if any(job.request is not None for job in jobs) else None


def faulty_variants(function: LoadedKernel, task: KernelTask) -> Iterator[str]:
    """The variants in which the execution of a case is a fault of the kernel, each executed only when it is asked for."""
    for job in task.jobs:
        if job.request is None:
            continue
        finished = job.finished(outcome(function, job.request), 0.0, kernel_profile())
        if judge(task.oracle, {job.variant: finished.outcome})[job.variant].verdict in FAULTS:
            yield job.variant.name


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
    message["inputs"] = {"X": {"dtype": name_of(request.X.dtype)}}
    with warnings.catch_warnings():
        # In a process of its own a kernel's warnings go to stderr.
        warnings.simplefilter("ignore")
        reply = function.run(message, {"X": np.array(request.X, order="C")})
    if reply["type"] == "refusal":
        return RefusedByTarget(reply["status"], reply["message"])
    if reply["type"] == "unable":
        return NotExecuted(reply["message"])
    return Returned({name: np.asarray(value) for name, value in reply["outputs"].items()})


def kills_by_clause(cases: Iterable[Case], clauses: Iterable[Clause], most: int = 3) -> Kills:
    """For each testable clause the wrong kernels that violate it, each with up to ``most`` cases of this clause that notice it.

    A case notices a kernel where its execution is a fault, and that of the correct kernel is not. Cases are tried in an
    order that notices soon: the smallest case of each file comes first, then the second of each, and so on; very large
    ones come last.
    """
    ranks, places = Counter[str](), {}
    for case in sorted(cases, key=lambda case: (case.X.size, case.id)):
        file = case.id.rpartition(":")[0]
        places[case.X.size >= LARGE, ranks[file], case.X.size, case.id] = case
        ranks[file] += 1
    by_clause: dict[str, list[Case]] = defaultdict(list)
    for _, case in sorted(places.items()):
        for name in case.covers:
            by_clause[name].append(case)
    executed = _ExecutedKernels()
    return {
        clause.id: {
            kernel: tuple(case.id for case in islice(executed.kills(kernel, by_clause[clause.id]), most))
            for kernel in violating(clause)
        }
        for clause in clauses
        if clause.status is ClauseStatus.TESTABLE
    }


def violating(clause: Clause) -> tuple[WrongKernel, ...]:
    """The wrong kernels that violate a clause."""
    patterns = clause.violated_by
    return tuple(kernel for kernel in wrong_kernels() if any(is_named(kernel, pattern) for pattern in patterns))


def is_named(kernel: WrongKernel, pattern: str) -> bool:
    """Whether a pattern names a kernel: ``MODULE`` or ``MODULE:NAME``, with ``*``."""
    return fnmatchcase(str(kernel) if ":" in pattern else kernel.module, pattern)


def to_json(kills: Kills) -> dict[str, Any]:
    """The kills as JSON: what each kernel does wrong, and for each clause the cases that notice each kernel."""
    kernels = sorted({kernel for by_kernel in kills.values() for kernel in by_kernel}, key=str)
    return {
        "schema": "maxpool-check/kills/1",
        "kernels": {str(kernel): kernel.sentence for kernel in kernels},
        "clauses": {
            clause_id: {str(kernel): list(killing) for kernel, killing in by_kernel.items()}
            for clause_id, by_kernel in kills.items()
        },
    }


class _ExecutedKernels:
    """Executes kernels on cases, each pair once."""

    def __init__(self) -> None:
        self._task, self._function = cache(task_of), cache(LoadedKernel)
        self._excused: dict[tuple[WrongKernel, str], frozenset[str]] = {}
        self._kills: dict[tuple[WrongKernel, str], bool] = {}

    def kills(self, kernel: WrongKernel, cases: Sequence[Case]) -> Iterator[Case]:
        """The cases that notice a kernel, each executed only when it is asked for."""
        if kernel.module == DEATHS and cases:
            # As in process, for a kernel that ends its process.
            with contextlib.closing(LocalRunner(ExecutionConfig((parse(kernel.target),)))) as runner:
                for run in runner.runs(cases):
                    faults = [each.variant for each in run.executions if each.verdict in FAULTS]
                    if self._is_kill(run.case, kernel, faults):
                        yield run.case
            return
        for case in cases:
            key = kernel, case.id
            if key not in self._kills:
                self._kills[key] = self._is_kill(case, kernel, self._faults(kernel, case))
            if self._kills[key]:
                yield case

    def _is_kill(self, case: Case, kernel: WrongKernel, faults: Iterable[str]) -> bool:
        """Whether one of the faults, variants of a case, is none of the correct kernel."""
        key = kernel.model, case.id
        for fault in faults:
            if key not in self._excused:
                self._excused[key] = frozenset(self._faults(kernel.model, case))
            if fault not in self._excused[key]:
                return True
        return False

    def _faults(self, kernel: WrongKernel, case: Case) -> Iterator[str]:
        task = self._task(case, kernel.specs)
        if task is None:
            return iter(())
        if kernel.module != WITH_MEMORY and not kernel.is_correct:
            # It is told nothing of the outputs that are wanted: with all of them, all is said.
            task = replace(task, jobs=task.jobs[:1])
        return faulty_variants(self._function(kernel), task)
