"""Why results are missing: what targets refused, what they were not given, and what was not judged, by reason."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from maxpool_check.reporting.findings import Finding
from maxpool_check.reporting.markup import short
from maxpool_check.reporting.tallies import ResultGroup, group_of
from maxpool_check.results.record import Execution, Record, Verdict

_WIDTH = 120  # Messages that begin alike are one reason.


@dataclass(frozen=True)
class ReasonGroup:
    """A reason with its executions. ``label`` is ``limit`` or ``refusal`` of a refusal, ``defect`` the id of a known one."""

    label: str
    defect: str
    text: str
    executions: Sequence[Execution]

    @property
    def cases(self) -> int:
        """The number of its cases."""
        return len({execution.case for execution in self.executions})


def refusals(findings: Iterable[Finding]) -> list[ReasonGroup]:
    """What was refused, the most frequent reason first: a known defect, or what the runtime says."""
    groups: dict[tuple[str, str, str], list[Execution]] = defaultdict(list)
    for finding in findings:
        for execution in finding.executions:
            group = group_of(execution, finding)
            if group in (ResultGroup.REFUSAL, ResultGroup.LIMIT):
                name, text = ("", execution.message) if finding.defect is None else (finding.defect.id, finding.title)
                groups[group.value, name, short(text, _WIDTH)].append(execution)
    return _ordered(groups)


def not_judged(record: Record, target: str) -> Mapping[Verdict, list[ReasonGroup]]:
    """What a target was not given and what was not judged, the most frequent reason first; all verdicts on it are keys."""
    groups: dict[Verdict, dict[tuple[str, str, str], list[Execution]]] = {
        verdict: defaultdict(list)
        for verdict in (Verdict.NOT_EXPRESSIBLE, Verdict.NOT_CLAIMED, Verdict.UNKNOWN, Verdict.UNDEFINED)
    }
    for execution in record.executions:
        if execution.target == target and execution.verdict in groups:
            groups[execution.verdict]["", "", short(execution.message, _WIDTH)].append(execution)
    return {verdict: _ordered(by_reason) for verdict, by_reason in groups.items()}


def _ordered(groups: Mapping[tuple[str, str, str], Sequence[Execution]]) -> list[ReasonGroup]:
    return sorted(
        (ReasonGroup(*key, executions) for key, executions in groups.items()),
        key=lambda each: (-len(each.executions), each.text),
    )


def by_file(cases: Sequence[str]) -> list[str]:
    """A line for each case file with the names of its cases."""
    names: dict[str, list[str]] = defaultdict(list)
    for case in cases:
        file, _, name = case.rpartition(":")
        names[file].append(name)
    return [f"{file}: {', '.join(listed)}" for file, listed in names.items()]
