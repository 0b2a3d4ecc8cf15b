"""Which cases kill a kernel, by the judge in this process: quick, and only for kernels that survive and return.

A kernel gets what the adapter of ``python:`` targets gives it, and the judge gets what that adapter returns. The command
line measures the same with a process for each kernel: ``kill_matrix.measure``.
"""

from __future__ import annotations

import copy
import json
import sys
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from pathlib import Path
from unittest import mock

import numpy as np

from maxpool_check.corpus.case import Case
from maxpool_check.judging.oracle import Oracle
from maxpool_check.judging.verdicts import judge
from maxpool_check.results.outcomes import NotExecuted, Outcome, RefusedByTarget, Returned
from maxpool_check.results.record import FAULTS, TargetDescription
from maxpool_check.results.variants import DEFAULT_VARIANTS
from maxpool_check.specifications.refused import Refused
from maxpool_check.targets import requests
from maxpool_check.targets.name import parse
from maxpool_check.targets.protocol import Request
from maxpool_check.targets.target import TargetProfile
from maxpool_check.targets.worker.python_adapter import PythonFunction
from tests.conftest import shipped
from tests.mutants.kill_matrix import CORRECT, DEATHS, FOLDER, POLICIES, Kernel, kernels

Task = tuple[Case, Oracle | Refused, list[requests.VariantPlan]]
"""A case, what its outputs are judged by, and its requests."""

Fault = tuple[str, str]
"""The id of a case and the name of a variant."""


LARGE = 2**17
"""Cases with so many cells take most of the time, and few kernels need them."""

KILLERS = Path(__file__).parents[1] / "data/killers.json"
"""Two cases that killed each kernel when the file was written: they are tried first. ``python -m tests.mutants.in_process`` writes it."""


def faults(kernel: Kernel, chosen: Iterable[Task] | None = None) -> Iterator[Fault]:
    """The executions of a kernel that are faults, in the order of the corpus, or of the ``chosen`` cases."""
    with mock.patch.object(sys, "path", list(sys.path)):
        adapter = PythonFunction({"function": [str(FOLDER / f"{kernel.module}.py"), kernel.name]})
    for case, oracle, plans in tasks() if chosen is None else chosen:
        outcomes = {
            plan.variant: requests.result(plan, [outcome(adapter, each) for each in plan.requests], profile()).outcome
            for plan in plans
        }
        for variant, judgement in judge(oracle, outcomes).items():
            if judgement.verdict in FAULTS:
                yield case.id, variant.name


def any_kills(kernel: Kernel, count: int) -> list[str]:
    """Some cases that kill a kernel, no more than ``count``."""
    hints = set(killers().get(str(kernel), []))
    return first_kills(kernel, count, sorted(mixed(), key=lambda task: task[0].id not in hints))


@lru_cache(1)
def killers() -> dict[str, list[str]]:
    """The cases that are tried first, by kernel; without them it takes longer to find those that kill it."""
    found: dict[str, list[str]] = json.loads(KILLERS.read_text()) if KILLERS.exists() else {}
    return found


@lru_cache(1)
def mixed() -> list[Task]:
    """The cases in another order, which kills sooner: the first of each file, the second of each; the large ones at last."""
    seen: Counter[str] = Counter()
    places = []
    for task in tasks():
        file = task[0].id.partition(":")[0]
        places.append((task[0].X.size >= LARGE, seen[file], len(places)))
        seen[file] += 1
    return [tasks()[number] for *_, number in sorted(places)]


def first_kills(kernel: Kernel, count: int, chosen: Iterable[Task] | None = None) -> list[str]:
    """The first cases that kill a kernel, no more than ``count``."""
    kills: dict[str, None] = {}
    for case, variant in faults(kernel, chosen):
        if not is_excused((case, variant)):
            kills[case] = None
        if len(kills) == count:
            break
    return list(kills)


def is_excused(fault: Fault) -> bool:
    """Whether the first correct kernel has the fault too: then it is no kill of any other."""
    return fault in _faults_of_the_correct(fault[0])


@cache
def _faults_of_the_correct(case: str) -> frozenset[Fault]:
    return frozenset(faults(_first_correct(), [task for task in tasks() if task[0].id == case]))


@cache
def _first_correct() -> Kernel:
    return next(kernel for kernel in kernels() if kernel.module == CORRECT)


@lru_cache(1)
def tasks() -> list[Task]:
    """All cases of the corpus that a kernel can execute."""
    planned = ((case, requests.plan(case, DEFAULT_VARIANTS, profile())) for case in shipped().cases)
    return [(case, case.oracle(), plans) for case, plans in planned if any(plan.parts for plan in plans)]


@lru_cache(1)
def profile() -> TargetProfile:
    """A kernel as a target."""
    name = f"python:{Path(__file__)}:kernel"
    description = TargetDescription(
        name=name, distribution="python", version="0", provider="CPUExecutionProvider", providers=(), session_options={},
        python="", numpy="", newest_opset=None, speaks="attributes",
    )  # fmt: skip
    return TargetProfile(parse(name), description)


def outcome(adapter: PythonFunction, request: Request) -> Outcome:
    """What the adapter of ``python:`` targets returns for a request."""
    message = {"attributes": copy.deepcopy(dict(request.attributes)), "outputs": list(request.outputs)}
    with warnings.catch_warnings():
        # In a process of its own a kernel's warnings go to stderr.
        warnings.simplefilter("ignore")
        reply = adapter.run(message, {"X": np.array(request.X, order="C")})
    if reply["type"] == "refusal":
        return RefusedByTarget(reply["status"], reply["message"])
    if reply["type"] == "unable":
        return NotExecuted(reply["message"])
    return Returned({name: np.asarray(value) for name, value in reply["outputs"].items()})


if __name__ == "__main__":
    found = {
        str(kernel): any_kills(kernel, 2) for kernel in kernels() if kernel.module not in (CORRECT, POLICIES, DEATHS)
    }
    KILLERS.write_text(json.dumps(found, indent=1) + "\n")
