"""What has changed between two targets, in words: what every report of ``gate`` has."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from maxpool_check.comparing.gate import TargetComparison, TransitionGroup, worst
from maxpool_check.comparing.transitions import Transition
from maxpool_check.reporting.drawing import coordinates
from maxpool_check.reporting.executions import ExecutionView
from maxpool_check.results.changes import Change
from maxpool_check.results.record import Conclusion, Execution, ExitCode

NO_RECORD = "RECORD"
"""The name of a record that was not written."""


@dataclass(frozen=True)
class ComparisonReport:
    """Comparisons, made by the command ``command``.

    ``record`` are the words by which 'defects accept' accepts what blocks. ``problems`` say why there is no comparison, and ``undecided``
    is the exit code then.
    """

    command: str
    comparisons: Sequence[TargetComparison]
    record: Sequence[str] = ()
    problems: Sequence[str] = ()
    undecided: ExitCode = ExitCode.NOTHING_COMPARED

    @property
    def exit_code(self) -> ExitCode:
        """The exit code of the worst comparison."""
        return self.conclusion.exit_code

    @property
    def errors(self) -> list[str]:
        """Why a comparison is incomplete, or why there is none."""
        return [*self.problems, *(error for comparison in self.comparisons for error in comparison.errors)]

    @property
    def conclusion(self) -> Conclusion:
        """The decision on all comparisons with its reason, or why there is none."""
        if not self.comparisons:
            return Conclusion(self.undecided, "; ".join(problem.splitlines()[0] for problem in self.problems))
        deciding = worst(self.comparisons)
        if deciding.exit_code is not ExitCode.NOTHING_COMPARED or len(self.comparisons) == 1:
            return deciding.conclusion
        # It must not hide what the others show.
        others = [each for each in self.comparisons if each.exit_code is not deciding.exit_code]
        reasons = [
            f"{name_of(deciding)}: {deciding.conclusion.reason}",
            *(f"{name_of(each)}: {each}" for each in others),
        ]
        return Conclusion(deciding.exit_code, "; ".join(reasons))


def accept_command(record: Sequence[str]) -> str:
    """What a user does to accept what a record shows; ``record`` are the words that name it, the first :data:`NO_RECORD` if there is none."""
    file, *others = record
    words = shlex.join(["record.jsonl" if file == NO_RECORD else file, *others])
    line = f"maxpool-check defects accept {words} -o accepted.yaml --author NAME --reason TEXT"
    return f"add -o record.jsonl, and then {line}" if file == NO_RECORD else line


def name_of(comparison: TargetComparison) -> str:
    """The names of both targets: ``onnxruntime==1.31.1 to onnxruntime==1.32.0``."""
    return f"{comparison.old.name} to {comparison.new.name}"


def cause(change: Change, causes: Sequence[str]) -> str:
    """What is so before and after, in words: ``conforms -> ORT-SEED-KEPT``."""
    # A refusal of windows without a value is no fault.
    right = "refused" if change is Change.WRONG_TO_REFUSED else "conforms"
    before, after = causes[0] or "conforms", causes[1] or right
    if change in (Change.MISSING, Change.ADDED):
        return before if change is Change.MISSING else after
    return before if before == after else f"{before} -> {after}"


def group_cause(group: TransitionGroup) -> str:
    """The known defects before and after, or the kinds where there is none."""
    sides = zip(group.defects, group.kinds, strict=True)
    return cause(group.change, [defect or ", ".join(kinds) for defect, kinds in sides])


def titles(names: Sequence[str | None], comparison: TargetComparison) -> list[str]:
    """Severity, title and mechanism of the known defects among some ids, and what to do about the last: they excuse nothing."""
    lines = []
    for name in dict.fromkeys(names):
        entry = comparison.defects.get(name or "")
        if entry is not None and entry.title:
            lines.append(f"{entry.id} ({entry.severity}): {entry.title}")
            lines += [f"do: {entry.advice}"] if entry.advice and name == names[-1] else []
            lines += [entry.reason] if entry.reason != entry.title else []
    return lines


def result_of(execution: Execution | None) -> str:
    """The verdict with its kinds: ``diverges (shape)``."""
    if execution is None:
        return "not executed"
    return execution.verdict.value + (f" ({', '.join(execution.kinds)})" if execution.kinds else "")


def details(transition: Transition, labels: tuple[str, str] = ("old", "new")) -> list[str]:
    """Both results as lines, with what is wrong."""
    lines = []
    for label, execution in zip(labels, (transition.old, transition.new), strict=True):
        lines.append(f"{label}: {result_of(execution)}")
        lines += [f"  {line}" for line in (ExecutionView(execution).lines(settings=False) if execution else ())]
    return [*lines, *differing(transition, labels)]


def differing(transition: Transition, labels: tuple[str, str]) -> list[str]:
    """The first cells in which one of two conforming results differs from the reference, and the other not or otherwise."""
    old, new = transition.old, transition.new
    if transition.change is not Change.CONFORMING_BUT_DIFFERENT or old is None or new is None:
        return []
    lines = [
        f"{each.output}{coordinates(each.at)}: reference {each.reference}, {label} {each.got}"
        for label, own, other in ((labels[0], old, new), (labels[1], new, old))
        for each in own.differences
        if each not in other.differences
    ]
    return lines or ["other bits, in none of the cells that the records hold"]
