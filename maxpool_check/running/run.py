"""A whole run: starts targets, executes cases, and writes every line of the record."""

from __future__ import annotations

import contextlib
import hashlib
import platform
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from importlib.metadata import version
from pathlib import Path

import maxpool_check
from maxpool_check.corpus.case import Case
from maxpool_check.corpus.collection import Corpus
from maxpool_check.judging.known import KnownDivergence
from maxpool_check.results.record import Line, RunFooter, RunHeader, TargetDescription
from maxpool_check.results.summary import RunSummary
from maxpool_check.results.variants import DEFAULT_VARIANTS, Variant
from maxpool_check.running.decisions import Decisions, completeness
from maxpool_check.running.executors import ExecutionConfig, LocalExecutor
from maxpool_check.running.pool import PoolLost, pool_of
from maxpool_check.running.remote import RemoteExecutor
from maxpool_check.specifications import SPECIFICATIONS
from maxpool_check.targets.name import TargetName


@dataclass(frozen=True)
class RunPlan:
    """The cases of a corpus to run, the targets, and the known divergences.

    ``seconds`` is the time limit of one execution, ``memory`` limits a worker, in bytes. ``jobs`` is the number of
    processes on this machine; ``dask`` is the address of a scheduler whose workers are used instead. ``exit_first`` ends
    the run at the first unexpected verdict; ``strict`` counts differences that a document allows as unexpected.
    """

    corpus: Corpus
    cases: Sequence[Case]
    targets: Sequence[TargetName]
    known: Sequence[KnownDivergence] = ()
    known_files: Sequence[Path] = ()
    seconds: float = 10.0
    memory: int | None = None
    jobs: int = 1
    exit_first: bool = False
    strict: bool = False
    variants: Collection[Variant] = DEFAULT_VARIANTS
    dask: str | None = None

    @property
    def config(self) -> ExecutionConfig:
        """The configuration of an executor; without cases it starts no target."""
        targets = tuple(self.targets) if self.cases else ()
        return ExecutionConfig(targets, self.seconds, self.memory, frozenset(self.variants))


def run(
    plan: RunPlan,
    write: Callable[[Line], None],
    progress: Callable[[int], None] = lambda _: None,
    executor: LocalExecutor | None = None,
) -> None:
    """Run the plan and pass each line of its record to ``write``.

    ``progress`` gets the number of finished cases. ``executor`` was started early for this plan. A target that cannot be
    started is an error in the footer. An interruption ends every worker and leaves no footer. Raises :class:`PoolLost`
    before the first line if there are no processes to run in.
    """
    with contextlib.ExitStack() as stack:
        running: LocalExecutor | RemoteExecutor
        if (executor is None or not plan.cases) and (plan.dask is not None or plan.jobs > 1):
            running = RemoteExecutor(plan.config, stack.enter_context(pool_of(plan.jobs, plan.dask)))
        else:
            running = executor if executor is not None and plan.cases else LocalExecutor(plan.config)
            stack.callback(running.close)
        descriptions = running.descriptions
        write(header(plan.cases, descriptions, plan.known_files))
        is_complete = completeness(plan.corpus.cases, plan.cases, plan.corpus.whole)
        decisions = Decisions(descriptions, plan.known, is_complete, plan.variants)
        summary, errors, ended_early = RunSummary(), list(running.errors), False
        results = running.results(plan.cases, decisions.given_up)
        try:
            for number, (case, case_results) in enumerate(zip(plan.cases, results, strict=True), 1):
                for execution in decisions.take(case, case_results):
                    summary.add(execution)
                    write(execution)
                    ended_early = plan.exit_first and execution.unexpected
                    if ended_early:
                        break
                if ended_early:
                    break
                progress(number)
        except PoolLost as lost:
            ended_early = True
            errors.append(str(lost))
    known = decisions.known_entries(ended_early=ended_early)
    errors += [f"{name} was given up: {why}" for name, why in decisions.given_up.items()]
    write(
        RunFooter(
            finished=_now(),
            executions=summary.executions,
            summary={target: dict(counts) for target, counts in summary.verdicts.items()},
            known=tuple(known),
            errors=tuple(errors),
            exit_code=summary.exit_code(known, errors, strict=plan.strict),
        )
    )


def header(cases: Sequence[Case], targets: Sequence[TargetDescription], known_files: Sequence[Path]) -> RunHeader:
    """The first line of a record: everything that an output or a verdict can depend on."""
    digest = hashlib.sha256()
    for case in cases:
        digest.update(f"{case.id} {case.sha256}\n".encode())
    used = {case.spec for case in cases}
    return RunHeader(
        tool=maxpool_check.__version__,
        started=_now(),
        python=platform.python_version(),
        # The release without what a distributor adds.
        system=f"{platform.system()} {platform.release().partition('-')[0]}",
        cpu=_cpu(),
        libraries={name: version(name) for name in ("numpy", "ml_dtypes", "onnx")},
        targets=tuple(targets),
        profile={name: document.policies.names() for name, document in SPECIFICATIONS.items() if name in used},
        cases=len(cases),
        cases_sha256=digest.hexdigest(),
        known_sha256=_digest_of(known_files),
    )


def _cpu() -> str:
    """The name of the processor."""
    name = platform.processor() or "unknown"
    with contextlib.suppress(OSError):
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        name = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), name)
    return f"{name} ({platform.machine()})"


def _digest_of(files: Sequence[Path]) -> str | None:
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest() if files else None


def _now() -> str:
    return datetime.now(timezone.utc).isoformat(timespec="seconds")
