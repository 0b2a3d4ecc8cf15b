"""A whole run: starts targets, executes cases, and writes every line of the record."""

import contextlib
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timezone
from functools import partial
from itertools import chain

import msgspec

from maxpool_check.corpus.case import Case
from maxpool_check.corpus.collection import defect_files, shipped_root
from maxpool_check.judging.naming import Observations, contradictions
from maxpool_check.judging.target_selector import OUTPUTS
from maxpool_check.results.details import RunSettings
from maxpool_check.results.outputs import RecordedOutputs, StoredOutput
from maxpool_check.results.record import Execution, Line, RunFooter, RunHeader, target_of
from maxpool_check.results.summary import RunSummary
from maxpool_check.running.decisions import Decisions, RunPlan
from maxpool_check.running.executors import CaseResults, ExecutionConfig, Executor, LocalExecutor, RemoteExecutor
from maxpool_check.running.header import digest_of_files, header, now
from maxpool_check.running.outputs import NO_RESULT, missing_results
from maxpool_check.running.pool import PoolLost, pool_of


def run(
    plan: RunPlan,
    write: Callable[[Line], None],
    progress: Callable[[int], None] = lambda _: None,
    executor: LocalExecutor | None = None,
) -> None:
    """Run the plan and pass each line of its record to ``write``.

    ``progress`` gets the number of finished cases. ``executor`` was started early for this plan, and its workers are ended here;
    who started it closes it. A target that cannot be started is an error in the footer. An interruption ends every worker and
    leaves no footer. Raises :class:`PoolLost` before the first line if there are no processes to run in.
    """
    # Without cases no target is started.
    targets = tuple(plan.targets) if plan.cases else ()
    config = ExecutionConfig(targets, plan.seconds, plan.memory, frozenset(plan.variants), plan.transcript)
    with contextlib.ExitStack() as stack:
        running: Executor
        if (executor is None or not plan.cases) and (plan.dask is not None or plan.jobs > 1):
            pool = stack.enter_context(pool_of(partial(LocalExecutor, config, inspects=False), plan.jobs, plan.dask))
            running = RemoteExecutor(config, pool)
        else:
            running = executor if executor is not None and plan.cases else LocalExecutor(config)
        stack.callback(running.close if executor is None or running is not executor else executor.end)
        settings = RunSettings(
            variants=tuple(variant.name for variant in sorted(plan.variants)),
            strict=plan.strict,
            whole=plan.corpus.whole,
            catalogue_sha256=digest_of_files(defect_files(shipped_root())) if plan.explains else None,
        )
        # While the targets start.
        head = header(
            plan.cases, (), plan.known_files, plan.command, plan.corpus, references=plan.references, settings=settings
        )
        head = msgspec.structs.replace(head, targets=tuple(running.descriptions))
        write(head)
        results = running.results(plan.cases)
        write_results(plan, head, results, lambda: running.given_up, write, running.errors, progress)


def write_results(
    plan: RunPlan,
    head: RunHeader,
    results: Iterator[tuple[Case, CaseResults]],
    given_up: Callable[[], Mapping[str, str]],
    write: Callable[[Line], None],
    errors: Sequence[str] = (),
    progress: Callable[[int], None] = lambda _: None,
) -> None:
    """Pass each line of a record behind its header to ``write``, by the results of each case, in order.

    ``errors`` say why targets did not start, ``given_up`` why others were given up so far, by name.
    """
    today = datetime.fromisoformat(head.started).astimezone(timezone.utc).date()
    decisions = Decisions(plan, head.targets, today)
    summary, ended_early, errors = RunSummary(), False, [*errors]
    observations: dict[str, Observations] = defaultdict(Observations)
    missing: dict[str, dict[str, None]] = defaultdict(dict)
    outputs = RecordedOutputs()
    try:
        for number, (case, case_results) in enumerate(results, 1):
            for output in chain.from_iterable(outputs.new(each.outputs) for each in case_results.values()):
                write(output)
            for execution in decisions.take(case, case_results):
                observations[execution.target].add(number - 1, execution)
                summary.add(execution)
                if execution.target.startswith(OUTPUTS) and execution.message == NO_RESULT:
                    missing[execution.target][case.id] = None
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
    known = decisions.known_entries(given_up(), ended_early=ended_early)
    errors += missing_results(missing, len(plan.cases))
    errors += [f"{name} was given up: {why}" for name, why in given_up().items()]
    write(
        RunFooter(
            finished=now(),
            executions=summary.executions,
            summary={target: dict(counts) for target, counts in summary.verdicts.items()},
            known=tuple(known),
            errors=tuple(errors),
            exit_code=summary.exit_code(known, errors, strict=plan.strict),
            contradicted=contradictions(observations, ((case.id, case.oracle) for case in plan.cases)),
            outputs_left_out=len(outputs.left_out),
        )
    )


class TargetRecorders:
    """Writes the lines of a run to one record for each target, as if each target had a run of its own."""

    def __init__(self, recorders: Mapping[str, Callable[[Line], None]]) -> None:
        """``recorders`` are those of all targets, by name: each adds a line."""
        self._recorders = recorders
        self._outputs: dict[str, StoredOutput] = {}
        self._written = {name: set[str]() for name in recorders}

    def write(self, line: Line) -> None:
        """Add one line to the records that it concerns. Raises ``OSError``."""
        if isinstance(line, StoredOutput):
            self._outputs[line.sha256] = line
            return
        if isinstance(line, Execution):
            record, written = self._recorders[line.target], self._written[line.target]
            for sha256 in (self._outputs.keys() & line.digests.values()) - written:
                record(self._outputs[sha256])
                written.add(sha256)
            record(line)
            return
        for name, record in self._recorders.items():
            if isinstance(line, RunHeader):
                targets = tuple(target for target in line.targets if target.name == name)
                record(msgspec.structs.replace(line, targets=targets))
            else:
                record(self._footer(line, name))

    def _footer(self, footer: RunFooter, name: str) -> RunFooter:
        """The footer of a target; errors that name no target concern all. The exit code is that of the run."""
        counts = footer.summary.get(name)
        return msgspec.structs.replace(
            footer,
            executions=sum(counts.values()) if counts else 0,
            summary={name: counts} if counts else {},
            known=tuple(entry for entry in footer.known if entry.target == name),
            errors=tuple(error for error in footer.errors if target_of(error, self._recorders) in (None, name)),
            contradicted={name: footer.contradicted[name]} if name in footer.contradicted else {},
        )
