"""Which cases kill a kernel, by the judge in this process: quick, and only for kernels that survive and return.

``test_kill_matrix.measure`` measures the same with a process for each kernel.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from maxpool_check.evidence.kernels import DEATHS, WrongKernel, wrong_kernels
from maxpool_check.evidence.kills import LARGE, KernelTask, LoadedKernel, faulty_variants, task_of
from tests.conftest import shipped

KILLERS = Path(__file__).parents[1] / "data/killers.json"
"""Two cases that killed each kernel when ``python -m tests.mutants.in_process`` wrote it: they are tried first."""

Fault = tuple[str, str]
"""The id of a case and the name of a variant."""


def faults(kernel: WrongKernel, chosen: Iterable[KernelTask] | None = None) -> Iterator[Fault]:
    """The executions of a kernel that are faults, in the order of the corpus, or of the ``chosen`` cases."""
    function = LoadedKernel(kernel)
    for task in tasks(kernel.specs) if chosen is None else chosen:
        for variant in faulty_variants(function, task):
            yield task.case.id, variant


def any_kills(kernel: WrongKernel, count: int) -> list[str]:
    """Some cases that kill a kernel, no more than ``count``."""
    hints = set(killers().get(str(kernel), []))
    return first_kills(kernel, count, sorted(mixed(kernel.specs), key=lambda task: task.case.id not in hints))


@cache
def killers() -> dict[str, list[str]]:
    """The cases that are tried first, by kernel; without them it takes longer to find those that kill it."""
    return json.loads(KILLERS.read_text()) if KILLERS.exists() else {}


@cache
def mixed(specs: tuple[str, ...] = ()) -> list[KernelTask]:
    """The cases in an order that kills sooner: the first of each file, the second of each; the large ones at last."""
    seen: Counter[str] = Counter()

    def place(task: KernelTask) -> tuple[bool, int]:
        file = task.case.id.partition(":")[0]
        seen[file] += 1
        return task.case.X.size >= LARGE, seen[file]

    return sorted(tasks(specs), key=place)


def first_kills(kernel: WrongKernel, count: int, chosen: Iterable[KernelTask] | None = None) -> list[str]:
    """The first cases that kill a kernel, no more than ``count``."""
    kills: dict[str, None] = {}
    for case, variant in faults(kernel, chosen):
        if not is_excused(kernel, (case, variant)):
            kills[case] = None
        if len(kills) == count:
            break
    return list(kills)


def is_excused(kernel: WrongKernel, fault: Fault) -> bool:
    """Whether the correct kernel has the fault too: then it is no kill of any other."""
    return fault in _faults_of_the_correct(kernel.model, fault[0])


@cache
def _faults_of_the_correct(model: WrongKernel, case: str) -> frozenset[Fault]:
    return frozenset(faults(model, [task for task in tasks(model.specs) if task.case.id == case]))


@cache
def tasks(specs: tuple[str, ...] = ()) -> list[KernelTask]:
    """All cases of the corpus that a kernel of these documents can execute."""
    return [task for case in shipped().cases if (task := task_of(case, specs)) is not None]


if __name__ == "__main__":
    found = {str(kernel): any_kills(kernel, 2) for kernel in wrong_kernels() if kernel.module != DEATHS}
    KILLERS.write_text(json.dumps(found, indent=1) + "\n")
