"""What has changed between two targets, as every format of ``compare`` and ``gate`` shows it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from maxpool_check.comparing.gate import TargetComparison, TransitionGroup, worst
from maxpool_check.comparing.transitions import Change, Transition
from maxpool_check.judging.comparison import MOST_CELLS
from maxpool_check.reporting.tensors import coordinates
from maxpool_check.results.details import AllowedDifference, Cell
from maxpool_check.results.record import Execution, ExitCode

MOST_NAMES = 10
"""How many cases of a group that blocks are named, unless all are asked for."""

MEANINGS = {change: change.meaning for change in Change}


@dataclass(frozen=True)
class ComparisonReport:
    """Comparisons and how to show them; ``command`` is ``compare`` or ``gate``.

    ``problems`` say why there is no comparison, and ``undecided`` is the exit code then.
    """

    command: str
    comparisons: Sequence[TargetComparison]
    width: int = 100
    color: bool = False
    verbose: bool = False
    problems: Sequence[str] = ()
    undecided: ExitCode = ExitCode.NOTHING_COMPARED

    @property
    def exit_code(self) -> ExitCode:
        """The exit code of the worst comparison."""
        return worst(self.comparisons).exit_code if self.comparisons else self.undecided

    @property
    def errors(self) -> list[str]:
        """Why a comparison is incomplete, or why there is none."""
        return [*self.problems, *(error for comparison in self.comparisons for error in comparison.errors)]

    @property
    def result(self) -> str:
        """The decision on all comparisons with its reason, or why there is none."""
        if self.comparisons:
            return str(worst(self.comparisons))
        reasons = "; ".join(problem.splitlines()[0] for problem in self.problems)
        return f"{self.undecided.name.replace('_', ' ')} {reasons}"


def by_case(comparison: TargetComparison) -> Iterator[tuple[str, list[Transition]]]:
    """The transitions of each case."""
    for case, alike in groupby(comparison.transitions, key=lambda each: each.execution.case):
        yield case, list(alike)


def cause(change: Change, causes: Sequence[str]) -> str:
    """What is so before and after, in words: ``conforms -> ORT-SEED-KEPT``."""
    before, after = (each or "conforms" for each in causes)
    if change in (Change.MISSING, Change.ADDED):
        return before if change is Change.MISSING else after
    return before if before == after else f"{before} -> {after}"


def group_cause(group: TransitionGroup) -> str:
    """The known defects before and after, or the kinds where there is none."""
    sides = zip(group.defects, group.kinds, strict=True)
    return cause(group.change, [defect or ", ".join(kinds) for defect, kinds in sides])


def transition_cause(transition: Transition) -> str:
    """The known defects of an execution before and after, or its kinds where there is none."""
    sides = (transition.old, transition.new)
    return cause(transition.change, [(side.known or ", ".join(side.kinds)) if side else "" for side in sides])


def titles(names: Sequence[str | None], comparison: TargetComparison) -> list[str]:
    """Severity, title and mechanism of the known defects among some ids: they explain a change, and excuse none."""
    entries = (comparison.defects.get(name) for name in dict.fromkeys(names) if name is not None)
    lines = []
    for entry in entries:
        if entry is not None and entry.title:
            lines += [
                f"{entry.id} ({entry.severity}): {entry.title}",
                *([entry.reason] if entry.reason != entry.title else []),
            ]
    return lines


def details(transition: Transition) -> list[str]:
    """Both results, with their first wrong or differing cells."""
    lines = []
    old, new = transition.old, transition.new
    # An inconsistent result has cells, too.
    pair = (old, new) if old and new and transition.change is Change.CONFORMING_BUT_DIFFERENT else None
    pair = None if pair and any(side.cells for side in pair) else pair
    for label, execution in (("old", old), ("new", new)):
        if execution is None:
            lines.append(f"{label}: not executed")
            continue
        kinds = f" ({', '.join(execution.kinds)})" if execution.kinds else ""
        message = "" if execution.cells else " ".join(execution.message.split())
        # The cause is often at the end, behind the place in the runtime's source.
        shown = f": {message if len(message) <= 300 else f'{message[:120]} ... {message[-175:]}'}" if message else ""
        lines.append(f"{label}: {execution.verdict.value}{kinds}{shown}")
        cells: tuple[Cell | AllowedDifference, ...] = () if pair else (*execution.cells, *execution.differences)
        for cell in cells:
            right = f"expected {cell.expected}" if isinstance(cell, Cell) else f"reference {cell.reference}"
            lines.append(f"  {cell.output}{coordinates(cell.at)}: {right}, got {cell.got}")
        total = sum(execution.counts.values())
        if total > len(cells) > 0:
            lines.append(f"  ... {total} wrong cells in total")
    return [*lines, *(_allowed(*pair) if pair else [])]


def _allowed(old: Execution, new: Execution) -> list[str]:
    """The first cells in which two conforming results differ, with what each side returned."""
    references = {(each.output, each.at): each.reference for each in (*old.differences, *new.differences)}
    lines = []
    for (output, at), reference in references.items():
        before, after = (_value(side, output, at, reference) for side in (old, new))
        if before is not None and after is not None and before != after:
            lines.append(f"  {output}{coordinates(at)}: reference {reference}, old {before}, new {after}")
    if lines:
        return lines[:MOST_CELLS]
    outputs = [name for name in {**old.digests, **new.digests} if old.digests.get(name) != new.digests.get(name)]
    return [f"  {', '.join(outputs)}: other bits, in none of the cells that the records hold"]


def _value(execution: Execution, output: str, at: tuple[int, ...], reference: str) -> str | None:
    """What an execution returned in a cell, which is the reference's value if no difference is listed; None if unknown."""
    listed = [each for each in execution.differences if each.output == output]
    for each in listed:
        if each.at == at:
            return each.got
    # The list holds the first ones, in the order of the cells.
    sizes = execution.layout.sizes
    is_complete = len(listed) < MOST_CELLS or sizes(at) < sizes(listed[-1].at)
    return reference if is_complete and reference != "-" else None
