"""Which cases kill which wrong-on-purpose kernel, by the command line.

A case kills a kernel where its execution is a fault, and the same execution of the first correct kernel is not.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from maxpool_check.corpus.collection import collect
from maxpool_check.evidence.kernels import CORRECT, POLICIES, WrongKernel
from maxpool_check.results.record import FAULTS, Verdict
from maxpool_check.results.storage import read
from maxpool_check.specifications import SPECIFICATIONS
from tests.conftest import CASES, ROOT

TOGETHER = 16
"""Targets of one run: the reference computes each case once for all of them, and each target is a process."""


@dataclass(frozen=True)
class Matrix:
    """``kills``: for each kernel the cases that kill it; ``cases``: all that were executed, in order."""

    cases: tuple[str, ...]
    kills: dict[WrongKernel, tuple[str, ...]]

    def kills_in(self, *modules: str) -> dict[WrongKernel, tuple[str, ...]]:
        """The kernels of some modules that are killed."""
        return {kernel: cases for kernel, cases in self.kills.items() if kernel.module in modules and cases}

    @property
    def wrong(self) -> dict[WrongKernel, tuple[str, ...]]:
        """The kernels that must be noticed."""
        return {kernel: cases for kernel, cases in self.kills.items() if kernel.module not in (CORRECT, POLICIES)}

    def noticed(self, least: int, most: int) -> dict[WrongKernel, tuple[str, ...]]:
        """The wrong kernels that at least ``least`` and at most ``most`` cases kill."""
        return {kernel: cases for kernel, cases in self.wrong.items() if least <= len(cases) <= most}


def measure(chosen: Sequence[WrongKernel], jobs: int = 2, paths: Sequence[Path] = (CASES,)) -> Matrix:
    """Execute every case of ``paths`` on every kernel and on the first correct one, in ``jobs`` runs at a time."""
    correct = chosen[0].model
    others = [kernel for kernel in dict.fromkeys(chosen) if kernel != correct]
    # Kernels of one module take equally long: every run gets some of each.
    count = max(min(jobs, len(others)), -(-len(others) // TOGETHER), 1)
    batches = [others[start::count] for start in range(count)]
    batches[0].append(correct)
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(jobs) as threads:
        records = [Path(folder) / f"{number}.jsonl" for number in range(count)]
        by_batch = list(threads.map(lambda batch, record: _faults(batch, record, paths), batches, records))
    faults = {kernel: executions for batch in by_batch for kernel, executions in batch.items()}
    excused = faults[correct]
    kills = {
        kernel: tuple(dict.fromkeys(case for case, variant in faults[kernel] if (case, variant) not in excused))
        for kernel in dict.fromkeys(chosen)
    }
    return Matrix(tuple(case.id for case in collect(paths).cases), kills)


Faults = dict[tuple[str, str], None]
"""Case and variant of each fault, in the order of the record."""


def _faults(batch: Sequence[WrongKernel], record: Path, paths: Sequence[Path]) -> dict[WrongKernel, Faults]:
    """The faults of some kernels in one run of the command line."""
    targets = [word for kernel in batch for word in ("-t", kernel.target)]
    targets += [word for document in SPECIFICATIONS for word in ("--spec", document)]
    command = [
        sys.executable, "-P", "-m", "maxpool_check", "run", *map(str, paths), *targets,
        "-q", "--known", "none", "--timeout", "60", "-o", str(record),
    ]  # fmt: skip
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    if done.returncode not in (0, 1):
        raise RuntimeError(f"{' '.join(command)} ended with {done.returncode}:\n{done.stderr}")
    by_target = {kernel.target: kernel for kernel in batch}
    faults: dict[WrongKernel, Faults] = {kernel: {} for kernel in batch}
    run = read(record)
    if run.footer is None or run.footer.errors:
        raise RuntimeError(f"a run did not complete: {run.footer and run.footer.errors}")
    for execution in run.executions:
        # None of them hangs: a time-out is of the machine, and no kill.
        if execution.verdict in (Verdict.ERROR, Verdict.TIMES_OUT):
            raise RuntimeError(f"{execution.target}: {execution.case}: {execution.message}")
        if execution.verdict in FAULTS:
            faults[by_target[execution.target]][execution.case, execution.variant] = None
    return faults


def render(matrix: Matrix) -> str:
    """The matrix as text, with the cases that kill nothing."""
    killing = {case for cases in matrix.wrong.values() for case in cases}
    idle = [case for case in matrix.cases if case not in killing]
    lines = [f"{kernel!s:40}  {len(cases):5}  {', '.join(cases[:3])}" for kernel, cases in matrix.kills.items()]
    lines += ["", f"{len(idle)} of {len(matrix.cases)} cases kill no kernel", *(f"  {case}" for case in idle)]
    for title, listed in (
        ("correct kernels that were flagged", matrix.kills_in(CORRECT)),
        ("kernels noticed that differ by policy alone", matrix.kills_in(POLICIES)),
        ("killed by one case", matrix.noticed(1, 1)),
        ("survivors", matrix.noticed(0, 0)),
    ):
        lines += ["", f"{title}: {len(listed)}"]
        lines += [f"  {kernel}  {' '.join(cases[:3])}\n    {kernel.sentence}" for kernel, cases in listed.items()]
    return "\n".join(lines)
