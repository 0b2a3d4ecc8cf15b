"""Whether an upgrade may pass: SAFE, REVIEW or BLOCK."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

from maxpool_check.comparing.transitions import Change, Transition, TransitionGroup, groups, transitions
from maxpool_check.judging.defects import Severity
from maxpool_check.results.record import ExitCode, KnownEntry, Record, TargetDescription, Verdict
from maxpool_check.words import plural

BLOCKING = (Change.REGRESSED, Change.NEWLY_REFUSED, Change.CRASH_NEW)
"""The changes that block by default."""

UNOBSERVABLE = frozenset({Change.SAME, Change.NOT_COMPARED})


class Decision(str, Enum):
    """The decision of a gate."""

    SAFE = "SAFE"
    """Nothing observable has changed."""
    REVIEW = "REVIEW"
    """A person should review a change: also a fixed defect, for production may rely on it."""
    BLOCK = "BLOCK"
    """Something has become worse."""


@dataclass(frozen=True)
class GateResult:
    """The decision and its reason; ``compared`` is the number of executions on both sides."""

    decision: Decision
    compared: int
    reason: str

    def __str__(self) -> str:
        return f"{self.decision.value} {self.reason}"


def decide(changes: Sequence[Transition], blocking: Collection[Change] = BLOCKING) -> GateResult:
    """The decision on all transitions between two targets."""
    counts = Counter(transition.change for transition in changes)
    total = sum(counts.values()) - counts[Change.NOT_COMPARED]
    # What only one side executed is no comparison.
    compared = total - counts[Change.MISSING] - counts[Change.ADDED]
    observed = [change for change in Change if counts[change] and change not in UNOBSERVABLE]
    # Changes that block come first.
    observed.sort(key=lambda change: change not in blocking)
    if not observed:
        return GateResult(Decision.SAFE, compared, f"no observable change in {plural(compared, 'execution')}")
    reason = ", ".join(f"{counts[change]} {change.value}" for change in observed)
    decision = Decision.BLOCK if observed[0] in blocking else Decision.REVIEW
    return GateResult(decision, compared, f"{reason} of {plural(total, 'execution')}")


@dataclass(frozen=True)
class TargetComparison:
    """What has changed from one target to another.

    ``errors`` say why it is incomplete; ``left_out`` names the cases that could not be compared. ``defects`` are the known
    defects of both targets by id.
    """

    old: TargetDescription
    new: TargetDescription
    transitions: Sequence[Transition]
    gate: GateResult
    errors: Sequence[str] = ()
    left_out: Sequence[str] = ()
    defects: Mapping[str, KnownEntry] = field(default_factory=dict)

    @property
    def groups(self) -> list[TransitionGroup]:
        """The observable changes by defect, or by kinds, the worst first."""
        ranks = {name: Severity(entry.severity).rank for name, entry in self.defects.items() if entry.severity}
        return groups(self.transitions, ranks)

    @property
    def decision(self) -> Decision | None:
        """The decision; None if the comparison is incomplete or empty."""
        return self.gate.decision if self.gate.compared and not self.errors else None

    @property
    def exit_code(self) -> ExitCode:
        """The exit code of this comparison alone."""
        if self.errors:
            return ExitCode.INCOMPLETE
        if not self.gate.compared:
            return ExitCode.NOTHING_COMPARED
        return ExitCode.UNEXPECTED if self.gate.decision is Decision.BLOCK else ExitCode.AS_EXPECTED

    def __str__(self) -> str:
        """The decision and its reason, or why there is none."""
        if self.errors:
            return f"INCOMPLETE {self.errors[0].splitlines()[0]}"
        if not self.gate.compared:
            return "NOTHING COMPARED no execution was judged on both sides"
        return f"{self.gate}" + (f"; {plural(len(self.left_out), 'case')} left out" if self.left_out else "")


_SEVERITY = (ExitCode.AS_EXPECTED, ExitCode.UNEXPECTED, ExitCode.NOTHING_COMPARED, ExitCode.INCOMPLETE)


def worst(comparisons: Sequence[TargetComparison]) -> TargetComparison:
    """The comparison that decides on all of them: incomplete, then empty, then by the decision."""
    decisions = list(Decision)
    return max(comparisons, key=lambda each: (_SEVERITY.index(each.exit_code), decisions.index(each.gate.decision)))


def compare_targets(
    old: Record,
    new: Record,
    names: tuple[str, str],
    blocking: Collection[Change] = BLOCKING,
    *,
    intersection: bool = False,
) -> TargetComparison:
    """Compare a target of one record with a target of another. Raises :class:`Incomparable`; see :func:`transitions`."""
    changes = transitions(old, new, *names, intersection=intersection)
    errors, descriptions = [], []
    for label, record, name in zip(("old", "new"), (old, new), names, strict=True):
        descriptions += [target for target in record.header.targets if target.name == name]
        if record.footer is None:
            errors.append(f"the {label} record is incomplete: its run did not end")
        elif any(execution.target == name and execution.verdict == Verdict.ERROR for execution in record.executions):
            errors.append(f"some executions failed on {name}; the {label} record has the errors")
    compared = {(each.execution.case, each.execution.variant) for each in changes}
    executions = (execution for execution in new.executions if execution.target == names[1])
    left_out = dict.fromkeys(each.case for each in executions if (each.case, each.variant) not in compared)
    before, after = descriptions
    known = [entry for record in (old, new) if record.footer is not None for entry in record.footer.known]
    defects = {entry.id: entry for entry in known}
    return TargetComparison(before, after, changes, decide(changes, blocking), errors, list(left_out), defects)
