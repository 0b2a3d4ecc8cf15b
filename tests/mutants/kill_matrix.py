"""Which cases kill which wrong-on-purpose kernel, by the command line.

A case kills a kernel where its execution is a fault, and the same execution of the first correct kernel is not.
"""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from maxpool_check.corpus.case import Case
from maxpool_check.corpus.collection import collect
from maxpool_check.corpus.features import bins
from maxpool_check.evidence.kernels import CORRECT, POLICIES, WrongKernel
from maxpool_check.reference.pooling import Pooling
from maxpool_check.results.record import FAULTS, Verdict
from maxpool_check.results.storage import read
from maxpool_check.specifications import SPECIFICATIONS

ROOT = Path(__file__).parents[2]
CASES = ROOT / "cases"
TOGETHER = 16
"""Targets of one run: the reference computes each case once for all of them, and each target is a process."""


@dataclass(frozen=True)
class Matrix:
    """``kills``: for each kernel the cases that kill it; ``cases``: all that were executed, in order."""

    cases: tuple[str, ...]
    kills: dict[WrongKernel, tuple[str, ...]]

    def kills_in(self, *modules: str) -> dict[WrongKernel, tuple[str, ...]]:
        """The kernels of some modules."""
        return {kernel: cases for kernel, cases in self.kills.items() if kernel.module in modules}

    @property
    def wrong(self) -> dict[WrongKernel, tuple[str, ...]]:
        """The kernels that must be noticed."""
        return {kernel: cases for kernel, cases in self.kills.items() if kernel.module not in (CORRECT, POLICIES)}

    def noticed(self, least: int, most: int | None = None) -> dict[WrongKernel, tuple[str, ...]]:
        """The wrong kernels that at least ``least`` and at most ``most`` cases kill."""
        return {
            kernel: cases
            for kernel, cases in self.wrong.items()
            if least <= len(cases) and (most is None or len(cases) <= most)
        }

    @property
    def idle(self) -> tuple[str, ...]:
        """The cases that kill nothing."""
        killing = {case for cases in self.wrong.values() for case in cases}
        return tuple(case for case in self.cases if case not in killing)

    def without_a_reason(self, cases: Sequence[Case]) -> tuple[str, ...]:
        """The idle ones of some cases, which have bins, and no pair of bins that only they have in their document."""
        idle = set(self.idle)
        pairs = {case.id: {(case.spec, *pair) for pair in _pairs(case)} for case in cases}
        count = Counter(pair for pairs_of_case in pairs.values() for pair in pairs_of_case)
        return tuple(
            case.id
            for case in cases
            if case.id in idle and pairs[case.id] and all(count[pair] > 1 for pair in pairs[case.id])
        )


def _pairs(case: Case) -> Iterator[tuple[tuple[str, str], ...]]:
    case_bins = bins(case) if isinstance(case.resolved, Pooling) else {}
    return itertools.combinations(sorted(case_bins.items()), 2)


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


def render(matrix: Matrix, cases: Sequence[Case] = ()) -> str:
    """The matrix as text; of ``cases``, those are listed that kill nothing and have no other reason to be there."""
    width = max(len(str(kernel)) for kernel in matrix.kills)
    lines = [f"{'kernel':{width}}  cases  the first that kill it"]
    for kernel, killing in matrix.kills.items():
        lines.append(f"{kernel!s:{width}}  {len(killing):5}  {', '.join(killing[:3])}")
    lines += ["", f"{len(matrix.idle)} of {len(matrix.cases)} cases kill no kernel"]
    lines += [f"  {case}" for case in matrix.idle]
    unneeded = matrix.without_a_reason(cases)
    lines += ["", f"{len(unneeded)} of them have no pair of bins for themselves either"]
    lines += [f"  {case}" for case in unneeded]
    for title, listed in (
        ("correct kernels that were flagged", {k: c for k, c in matrix.kills_in(CORRECT).items() if c}),
        ("killed by one case", matrix.noticed(1, 1)),
        ("survivors", matrix.noticed(0, 0)),
    ):
        lines += ["", f"{title}: {len(listed)}"]
        for kernel, killing in listed.items():
            lines.append(f"  {kernel}  {' '.join(killing[:3])}\n    {kernel.sentence}")
    lines += ["", summary(matrix)]
    return "\n".join(lines)


def summary(matrix: Matrix) -> str:
    """The matrix in a line."""
    correct, policy = matrix.kills_in(CORRECT), matrix.kills_in(POLICIES)
    return (
        f"{len(matrix.wrong)} wrong kernels: {len(matrix.noticed(2))} killed twice or more, "
        f"{len(matrix.noticed(1, 1))} once, {len(matrix.noticed(0, 0))} never; {sum(map(bool, correct.values()))} of "
        f"{len(correct)} correct kernels flagged; {sum(map(bool, policy.values()))} of {len(policy)} "
        "kernels noticed that differ by policy alone"
    )
