"""Whether an upgrade may pass: SAFE, REVIEW or BLOCK."""

from collections.abc import Collection, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property

from maxpool_check.comparing.acceptance import unused
from maxpool_check.comparing.changes import UNOBSERVABLE, Change
from maxpool_check.comparing.policy import Assessed, GatePolicy
from maxpool_check.comparing.summary import ChangeSummary, TransitionGroup, summarize
from maxpool_check.comparing.transitions import Transition, transitions
from maxpool_check.results.record import ExitCode, KnownEntry, Record, RunHeader, TargetDescription
from maxpool_check.words import plural


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


def decide(changes: Iterable[Transition], policy: GatePolicy | None = None) -> GateResult:
    """The decision on all transitions between two targets."""
    return decide_by(summarize(map((policy or GatePolicy()).assessed, changes)))


def decide_by(summary: ChangeSummary) -> GateResult:
    """The decision on transitions that were assessed and counted."""
    counts = summary.counts
    total = sum(counts.values()) - counts[Change.NOT_COMPARED]
    # What only one side executed is no comparison.
    compared = total - counts[Change.MISSING] - counts[Change.ADDED]
    observed = [change for change in Change if counts[change] and change not in UNOBSERVABLE]
    # Changes that block come first.
    observed.sort(key=lambda change: not summary.blocking.get(change))
    if not observed:
        return GateResult(Decision.SAFE, compared, f"no observable change in {plural(compared, 'execution')}")
    reason = ", ".join(f"{counts[change]} {change.value}{_accepted(summary, change)}" for change in observed)
    decision = Decision.BLOCK if summary.blocking else Decision.REVIEW
    return GateResult(decision, compared, f"{reason} of {plural(total, 'execution')}")


def _accepted(summary: ChangeSummary, change: Change) -> str:
    count = summary.accepted.get(change, 0)
    if not count:
        return ""
    return " (accepted)" if count == summary.counts[change] else f" ({count} accepted)"


@dataclass(frozen=True)
class TargetComparison:
    """What has changed from one target to another.

    ``transitions`` may be read from the records at each iteration; ``policy`` has decided which of them block. ``errors`` say why
    it is incomplete; ``left_out`` names the cases that could not be compared. ``defects`` are the known defects of both targets
    by id, ``headers`` those of both records.
    """

    old: TargetDescription
    new: TargetDescription
    headers: tuple[RunHeader, RunHeader]
    transitions: Collection[Transition]
    policy: GatePolicy = field(default_factory=GatePolicy)
    errors: Sequence[str] = ()
    left_out: Sequence[str] = ()
    defects: Mapping[str, KnownEntry] = field(default_factory=dict)

    @cached_property
    def summary(self) -> ChangeSummary:
        """The changes, counted and in groups."""
        return summarize(self.transitions)

    @cached_property
    def gate(self) -> GateResult:
        """The decision on all transitions, and its reason."""
        return decide_by(self.summary)

    @cached_property
    def unused(self) -> list[str]:
        """What the user has accepted and is of no use: entries that have expired, or that nothing shows any more."""
        policy = self.policy
        if not policy.accepted:
            return []
        cases = {each.execution.case for each in self.transitions}
        return unused(policy.accepted, self.summary.used, self.new, cases, policy.today)

    @property
    def tools(self) -> list[str]:
        """What to know if the records are of different versions of the tool."""
        old, new = (
            f"{header.tool} (SHA-256 {header.tool_files.sha256[:16]})" if header.tool_files else header.tool
            for header in self.headers
        )
        return [f"the records are of different versions of maxpool-check: {old} and {new}"] if old != new else []

    @property
    def groups(self) -> Sequence[TransitionGroup]:
        """The observable changes by defect, or by kinds, the worst first."""
        return self.summary.groups

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
    policy: GatePolicy | None = None,
    *,
    intersection: bool = False,
    cases: Container[str] | None = None,
) -> TargetComparison:
    """Compare a target of one record with a target of another. Raises :class:`Incomparable`; see :func:`transitions`."""
    policy = policy or GatePolicy()
    changes = transitions(old, new, *names, intersection=intersection, cases=cases)
    errors, descriptions = [], []
    for label, record, name, failed in zip(("old", "new"), (old, new), names, changes.failed, strict=True):
        descriptions += [target for target in record.header.targets if target.name == name]
        if record.footer is None:
            errors.append(f"the {label} record is incomplete: its run did not end")
        elif failed:
            errors.append(f"some executions failed on {name}; the {label} record has the errors")
    before, after = descriptions
    entries = [entry for record in (old, new) if record.footer is not None for entry in record.footer.known]
    known = {entry.id: entry for entry in entries}
    return TargetComparison(
        before,
        after,
        headers=(old.header, new.header),
        transitions=Assessed(changes, policy, after),
        policy=policy,
        errors=errors,
        left_out=changes.left_out,
        defects=known,
    )
