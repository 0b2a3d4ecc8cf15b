"""Cases on targets as one result each, for CI systems: a test or an alert is a case, whatever its variants."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from maxpool_check.judging.defects import Severity, worst
from maxpool_check.reporting.executions import ExecutionView
from maxpool_check.reporting.markup import clipped
from maxpool_check.results.record import NOT_EXECUTED, Execution, Verdict

_LONGEST = 1000
"""A longer line is cut."""


@dataclass(frozen=True)
class CaseResult:
    """The executions of a case on a target."""

    executions: Sequence[Execution]

    @cached_property
    def worst(self) -> Execution:
        """The execution that stands for the case: one that fails the run, then the worst severity."""
        return min(self.executions, key=self._rank)

    @property
    def severity(self) -> Severity:
        """The severity of the worst execution."""
        return worst([self.worst])

    @property
    def kinds(self) -> list[str]:
        """The kinds of all executions."""
        return list(dict.fromkeys(kind for execution in self.executions for kind in execution.kinds))

    @property
    def defects(self) -> list[str]:
        """The ids of the known defects that executions show."""
        return list(dict.fromkeys(each.known for each in self.executions if each.known is not None))

    @property
    def clauses(self) -> list[str]:
        """The clauses that the case is about."""
        return list(dict.fromkeys(clause for execution in self.executions for clause in execution.clauses))

    @property
    def lines(self) -> list[str]:
        """The verdict on each variant, then the details; what several show is written once, with the names of all."""
        verdicts: dict[str, list[str]] = {}
        blocks: dict[tuple[str, ...], list[str]] = {}
        for execution in self.executions:
            known = f" (known as {execution.known})" if execution.known is not None else ""
            if execution.unexplained:
                known = f" (new: {', '.join(execution.unexplained)}; the rest is {', '.join(execution.explained_by)})"
            kinds = f": {', '.join(execution.kinds)}" if execution.kinds else ""
            verdicts.setdefault(f"{execution.verdict}{kinds}{known}", []).append(execution.variant)
            for block in dict.fromkeys(_blocks(ExecutionView(execution).lines())):
                blocks.setdefault(block, []).append(execution.variant)
        lines = [f"{', '.join(variants)}: {verdict}" for verdict, variants in verdicts.items()]
        sections: dict[tuple[str, ...], list[str]] = {tuple(each.variant for each in self.executions): []}
        for block, variants in blocks.items():
            sections.setdefault(tuple(variants), []).extend(block)
        (_, of_all), *others = sections.items()
        lines += of_all
        for names, block_lines in others:
            lines += [f"{', '.join(names)}:", *(f"  {line}" for line in block_lines)]
        return clipped(lines, len(lines), _LONGEST)

    def _rank(self, execution: Execution) -> tuple[int, int]:
        if execution.verdict is Verdict.ERROR:
            return 0, 0
        if execution.status:
            return 1 if execution.unexpected else 2, worst([execution]).rank
        # What was compared counts, where other variants could not be.
        return (4 if execution.verdict in (Verdict.UNDEFINED, Verdict.UNKNOWN, *NOT_EXECUTED) else 3), 0


def case_results(executions: Iterable[Execution]) -> Iterator[CaseResult]:
    """The cases on each target in the order of a record, where the variants of a case on a target follow each other."""
    current: dict[str, list[Execution]] = {}
    for execution in executions:
        variants = current.setdefault(execution.target, [])
        if variants and variants[0].case != execution.case:
            yield CaseResult(variants)
            variants = current[execution.target] = []
        variants.append(execution)
    yield from map(CaseResult, current.values())


def _blocks(lines: Iterable[str]) -> Iterator[tuple[str, ...]]:
    """The lines, each with the indented ones that follow it."""
    block: list[str] = []
    for line in filter(None, lines):
        if block and not line.startswith(" "):
            yield tuple(block)
            block = []
        block.append(line)
    if block:
        yield tuple(block)
