"""How much there is of each group of results, and of each severity: the numbers that all reports of a run share."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TypeVar

from maxpool_check.judging.defects import Severity
from maxpool_check.reporting.findings import Finding
from maxpool_check.results.record import Execution, Verdict
from maxpool_check.words import plural

_Key = TypeVar("_Key", bound=Enum)


class ResultGroup(str, Enum):
    """What an execution that does not conform is, in the order of reports; the value is its noun."""

    DIVERGENCE = "divergence"
    """Values, indices or shapes are wrong, or a graph is executed that the document excludes."""
    CRASH = "crash"
    """The process died, or did not end."""
    REFUSAL = "refusal"
    """A graph is refused that the document allows and for which there are kernels."""
    LIMIT = "limit"
    """A graph is refused that the document allows, which the runtime does not implement."""
    INCONSISTENCY = "inconsistency"
    """The document allows each result, but they differ from variant to variant."""

    def counted(self, count: int, adjective: str = "") -> str:
        """``1 crash``, ``2 known crashes``."""
        nouns = {ResultGroup.CRASH: "crashes", ResultGroup.INCONSISTENCY: "inconsistencies"}.get(self, "")
        blank = " " if adjective else ""
        return plural(count, adjective + blank + self.value, nouns and adjective + blank + nouns)


@dataclass(frozen=True)
class Tally:
    """How much there is of something: defects, of which so many are new, with their executions and cases.

    A defect is a finding: a known defect, or results that are wrong in the same way, on one target. ``new`` are those that
    fail the run. ``cases`` are counted once, however many executions show the defects.
    """

    defects: int
    new: int
    executions: int
    cases: int


def group_of(execution: Execution, finding: Finding) -> ResultGroup:
    """The group of an execution of a finding: a defect may show itself in several."""
    match execution.verdict:
        case Verdict.REFUSES:
            return ResultGroup.LIMIT if finding.severity is Severity.LIMIT else ResultGroup.REFUSAL
        case Verdict.CRASHES | Verdict.TIMES_OUT:
            return ResultGroup.CRASH
        case Verdict.INCONSISTENT:
            return ResultGroup.INCONSISTENCY
    return ResultGroup.DIVERGENCE


def tallies(
    findings: Iterable[Finding], keys: type[_Key], key: Callable[[Execution, Finding], _Key]
) -> dict[_Key, Tally]:
    """The tally of each key of an execution and its finding that occurs, in the order of the keys."""
    shares: dict[_Key, dict[int, tuple[Finding, list[Execution]]]] = {each: {} for each in keys}
    for number, finding in enumerate(findings):
        for execution in finding.executions:
            shares[key(execution, finding)].setdefault(number, (finding, []))[1].append(execution)
    return {each: _tally(list(share.values())) for each, share in shares.items() if share}


def _tally(shares: Sequence[tuple[Finding, Sequence[Execution]]]) -> Tally:
    executions = [execution for _, share in shares for execution in share]
    new = sum(finding.is_unexpected for finding, _ in shares)
    return Tally(len(shares), new, len(executions), len({execution.case for execution in executions}))


def by_group(findings: Iterable[Finding]) -> dict[ResultGroup, Tally]:
    """The tally of each group that occurs."""
    return tallies(findings, ResultGroup, group_of)


def by_severity(findings: Iterable[Finding]) -> dict[Severity, Tally]:
    """The tally of each severity that occurs, the worst first."""
    return tallies(findings, Severity, lambda _, finding: finding.severity)


def in_words(groups: dict[ResultGroup, Tally], adjective: str = "") -> str:
    """``318 known divergences in 12 defects, 557 known refusals in 3 defects``."""
    return ", ".join(
        f"{group.counted(tally.executions, adjective)} in {plural(tally.defects, 'defect')}"
        for group, tally in groups.items()
    )
