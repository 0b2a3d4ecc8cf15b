"""Which cases kill which wrong-on-purpose kernel, by the command line.

A case kills a kernel where it finds fault with it and with none of the right ones.
"""

from __future__ import annotations

import ast
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

from maxpool_check.corpus.bins import bins
from maxpool_check.corpus.case import Case
from maxpool_check.corpus.collection import collect
from maxpool_check.reference.pooling import Pooling
from maxpool_check.results.record import FAULTS
from maxpool_check.results.storage import read

FOLDER = Path(__file__).parent
ROOT = FOLDER.parents[1]
CASES = ROOT / "cases"
CORRECT, POLICIES = "correct", "policies"
NO_KERNELS = ("__init__", "__main__", "kill_matrix", "scan")
TOGETHER = 16
"""Targets of one run: the reference answers once for all of them, and each is a process."""


@dataclass(frozen=True)
class Kernel:
    """A function ``(X, attributes)``; its module is its class."""

    module: str
    name: str
    sentence: str

    def __str__(self) -> str:
        return f"{self.module}:{self.name}"

    @property
    def target(self) -> str:
        """Its name as a target."""
        return f"python:{FOLDER / self.module}.py:{self.name}"


def kernels() -> list[Kernel]:
    """Every kernel of the folder: the public functions of X and attributes."""
    return list(_kernels())


def _kernels() -> Iterator[Kernel]:
    for path in sorted(FOLDER.glob("*.py")):
        if path.stem in NO_KERNELS:
            continue
        for node in ast.parse(path.read_text()).body:
            if not isinstance(node, ast.FunctionDef) or node.name.startswith("_"):
                continue
            if [argument.arg for argument in node.args.args] == ["X", "attributes"]:
                yield Kernel(path.stem, node.name, " ".join((ast.get_docstring(node) or "").split()))


@dataclass(frozen=True)
class Matrix:
    """``kills``: for each kernel the cases that find fault with it; ``cases``: all that were asked, in order."""

    cases: tuple[str, ...]
    kills: dict[Kernel, tuple[str, ...]]

    def of(self, *modules: str) -> dict[Kernel, tuple[str, ...]]:
        """The kernels of some modules."""
        return {kernel: cases for kernel, cases in self.kills.items() if kernel.module in modules}

    @property
    def wrong(self) -> dict[Kernel, tuple[str, ...]]:
        """The kernels that must be noticed."""
        return {kernel: cases for kernel, cases in self.kills.items() if kernel.module not in (CORRECT, POLICIES)}

    def noticed(self, least: int, most: int | None = None) -> dict[Kernel, tuple[str, ...]]:
        """The wrong kernels that so many cases kill."""
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
        having = Counter(pair for found in pairs.values() for pair in found)
        return tuple(
            case.id
            for case in cases
            if case.id in idle and pairs[case.id] and all(having[pair] > 1 for pair in pairs[case.id])
        )


def _pairs(case: Case) -> Iterator[tuple[tuple[str, str], ...]]:
    found = bins(case) if isinstance(case.resolved, Pooling) else {}
    return itertools.combinations(sorted(found.items()), 2)


def measure(chosen: Sequence[Kernel], jobs: int = 2) -> Matrix:
    """Ask every kernel every case, in as many processes as ``jobs``. The right kernels are asked as well."""
    right = next(kernel for kernel in kernels() if kernel.module == CORRECT)
    others = [kernel for kernel in dict.fromkeys(chosen) if kernel != right]
    # Kernels of one module take equally long: every run gets some of each.
    count = max(jobs, -(-len(others) // TOGETHER))
    batches = [others[start::count] for start in range(count)]
    batches[0].append(right)
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(jobs) as threads:
        paths = [Path(folder) / f"{number}.jsonl" for number in range(len(batches))]
        found = list(threads.map(_faults, batches, paths))
    excused = found[0][right]
    faults = {kernel: cases for one in found for kernel, cases in one.items()}
    cases = tuple(case.id for case in collect([CASES]).cases)
    kills = {
        kernel: tuple(dict.fromkeys(case for case, variant in faults[kernel] if (case, variant) not in excused))
        for kernel in dict.fromkeys(chosen)
    }
    return Matrix(cases, kills)


Faults = dict[tuple[str, str], None]
"""Cases and variants, in the order they were asked."""


def _faults(batch: Sequence[Kernel], record: Path) -> dict[Kernel, Faults]:
    """One run of the command line over the whole corpus."""
    targets = [word for kernel in batch for word in ("-t", kernel.target)]
    command = [
        sys.executable,
        "-P",
        "-m",
        "maxpool_check",
        "run",
        str(CASES),
        "-q",
        "--no-known",
        "--exit-zero",
        "--timeout",
        "60",
    ]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
    done = subprocess.run(
        [*command, "-o", str(record), *targets], capture_output=True, text=True, env=environment, check=False
    )
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)} ended with {done.returncode}:\n{done.stderr}")
    by_target = {kernel.target: kernel for kernel in batch}
    faults: dict[Kernel, Faults] = {kernel: {} for kernel in batch}
    verdicts = {verdict.value for verdict in FAULTS}
    run = read(record)
    if run.footer is None or run.footer.errors:
        raise RuntimeError(f"a run did not complete: {run.footer and run.footer.errors}")
    for execution in run.executions:
        # None of them hangs: a time-out is of the machine, and no kill.
        if execution.verdict in ("error", "times-out"):
            raise RuntimeError(f"{execution.target}: {execution.case}: {execution.message}")
        if execution.verdict in verdicts:
            faults[by_target[execution.target]][execution.case, execution.variant] = None
    return faults


def render(matrix: Matrix, cases: Sequence[Case] = ()) -> str:
    """The matrix for people; ``cases`` are those to look at for a reason to be there."""
    width = max(len(str(kernel)) for kernel in matrix.kills)
    lines = [f"{'kernel':{width}}  cases  the first that kill it"]
    for kernel, killing in matrix.kills.items():
        lines.append(f"{kernel!s:{width}}  {len(killing):5}  {', '.join(killing[:3])}")
    lines += ["", f"{len(matrix.idle)} of {len(matrix.cases)} cases kill no kernel", *(f"  {c}" for c in matrix.idle)]
    unneeded = matrix.without_a_reason(cases)
    lines += ["", f"{len(unneeded)} of them have no pair of bins for themselves either", *(f"  {c}" for c in unneeded)]
    for title, found in (
        ("right kernels that were flagged", {k: c for k, c in matrix.of(CORRECT).items() if c}),
        ("killed by one case", matrix.noticed(1, 1)),
        ("survivors", matrix.noticed(0, 0)),
    ):
        lines += ["", f"{title}: {len(found)}"]
        for kernel, killing in found.items():
            lines.append(f"  {kernel}  {' '.join(killing[:3])}\n    {kernel.sentence}")
    lines += ["", summary(matrix)]
    return "\n".join(lines)


def summary(matrix: Matrix) -> str:
    """The matrix in a line."""
    flagged = sum(bool(cases) for cases in matrix.of(CORRECT).values())
    policy = matrix.of(POLICIES)
    return (
        f"{len(matrix.wrong)} wrong kernels: {len(matrix.noticed(2))} killed twice or more, "
        f"{len(matrix.noticed(1, 1))} once, {len(matrix.noticed(0, 0))} never; {flagged} of "
        f"{len(matrix.of(CORRECT))} right kernels flagged; {sum(map(bool, policy.values()))} of {len(policy)} "
        "kernels noticed that differ by policy alone"
    )
