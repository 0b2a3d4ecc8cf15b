"""What a run ends with: counts of its executions, and the exit code."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from maxpool_check.results.record import COMPARED, Execution, ExitCode, KnownEntry, KnownStatus, Status, Verdict


@dataclass
class RunSummary:
    """Counts of the executions of a run; ``verdicts`` by target and verdict."""

    executions: int = 0
    verdicts: dict[str, Counter[str]] = field(default_factory=dict)
    unexpected: bool = False
    informative: bool = False

    def add(self, execution: Execution) -> None:
        """Count one execution."""
        self.executions += 1
        self.verdicts.setdefault(execution.target, Counter())[execution.verdict.value] += 1
        self.unexpected |= execution.unexpected
        self.informative |= bool(execution.information) or execution.status == Status.INCONSISTENT

    def exit_code(self, known: Sequence[KnownEntry], errors: Sequence[str], *, strict: bool) -> ExitCode:
        """The exit code of the run. ``strict``: differences that a document allows and inconsistencies are unexpected, too."""
        verdicts = self.verdicts.values()
        if errors or any(Verdict.ERROR.value in counts for counts in verdicts):
            return ExitCode.INCOMPLETE
        compared = {verdict.value for verdict in COMPARED}
        if not verdicts or any(not counts.keys() & compared for counts in verdicts):
            # Another target does not make up for a target without any comparison.
            return ExitCode.NOTHING_COMPARED
        is_stale = any(entry.status in (KnownStatus.STALE, KnownStatus.EXPIRED) for entry in known)
        if is_stale or (strict and self.informative) or self.unexpected:
            return ExitCode.UNEXPECTED
        return ExitCode.AS_EXPECTED
