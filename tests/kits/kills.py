"""Which cases notice each wrong kernel: by Y alone, or only with Indices. Measured in this process, case by case."""

from collections.abc import Iterable, Mapping

from maxpool_check.evidence.kernels import DEATHS, WITH_MEMORY, WrongKernel
from maxpool_check.evidence.kills import KernelTask, LoadedKernel, kernel_profile, outcome
from maxpool_check.judging.judge import judge
from maxpool_check.results.outcomes import Returned
from maxpool_check.results.record import FAULTS
from tests.conftest import CASES
from tests.mutants.test_kill_matrix import measure

BY_Y, WITH_INDICES = "y-only", "indices"

Kills = Mapping[str, str]
"""The cases that notice a kernel, and in which variant."""


class Kernels:
    """Runs kernels on cases; what a correct kernel returns of a case is computed once."""

    def __init__(self) -> None:
        self._right = {}

    def kills(self, kernel: WrongKernel, tasks: Iterable[KernelTask], function: LoadedKernel | None = None) -> Kills:
        """The cases that notice a kernel, which may be a ``function`` that is not in the list of wrong kernels."""
        found, loaded = {}, function or LoadedKernel(kernel)
        for task in tasks:
            # One with a memory is made anew: what it does must not depend on the cases before.
            called = LoadedKernel(kernel) if kernel.module == WITH_MEMORY else loaded
            variants = [
                job.variant.name
                for job, right, is_excused in self._of_the_correct(kernel.model, task)
                if not is_excused
                and not _equal(mine := outcome(called, job.request), right)
                and _is_fault(task, job, mine)
            ]
            if variants:
                found[task.case.id] = BY_Y if BY_Y in variants else WITH_INDICES
        return found

    def _of_the_correct(self, model: WrongKernel, task: KernelTask) -> list:
        """The requests of a case, what the correct kernel returns, and whether that is a fault: then it is no kill of any other."""
        key = str(model), task.case.id
        if key not in self._right:
            function = LoadedKernel(model)
            returned = [(job, outcome(function, job.request)) for job in task.jobs if job.request is not None]
            self._right[key] = [(job, right, _is_fault(task, job, right)) for job, right in returned]
        return self._right[key]


def _equal(mine, right) -> bool:
    return type(mine) is type(right) and (
        mine.digests == right.digests if isinstance(mine, Returned) else mine == right
    )


def _is_fault(task, job, mine) -> bool:
    finished = job.finished(mine, 0.0, kernel_profile()).outcome
    return judge(task.oracle, {job.variant: finished})[job.variant].verdict in FAULTS


def deadly(kernels: Iterable[WrongKernel]) -> dict[str, Kills]:
    """The refusals that notice the kernels that end their process."""
    found = measure([kernel for kernel in kernels if kernel.module == DEATHS], path=CASES / "refusals")
    return {str(kernel): dict.fromkeys(cases, BY_Y) for kernel, cases in found.items()}
