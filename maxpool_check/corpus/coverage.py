"""What executions cover of the bins that their documents allow."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations, groupby

from maxpool_check.corpus.bins import OUTPUTS, Bins, bins, outputs_bin
from maxpool_check.corpus.case import Case
from maxpool_check.corpus.space import Space, Together, space
from maxpool_check.results.record import COMPARED, Execution
from maxpool_check.results.variants import variant_named


@dataclass(frozen=True)
class FactorCoverage:
    """The combinations of bins of one factor, or of several. ``uncovered`` are those that no execution has."""

    factors: tuple[str, ...]
    possible: int
    uncovered: tuple[Together, ...]

    @property
    def covered(self) -> int:
        """The number of combinations that some execution has."""
        return self.possible - len(self.uncovered)


@dataclass(frozen=True)
class DocumentCoverage:
    """What is covered of one document; ``groups`` by the number of factors."""

    name: str
    cases: int
    executions: int
    groups: Mapping[int, Sequence[FactorCoverage]]

    def total(self, size: int) -> str:
        """How many combinations of so many factors are covered: ``5 of 7``."""
        groups = self.groups[size]
        return f"{sum(group.covered for group in groups)} of {sum(group.possible for group in groups)}"


@dataclass(frozen=True)
class ExecutedBins:
    """The bins of the executions that were compared, with their cases; ``changed``: cases that differ from the record's."""

    executions: Sequence[tuple[Case, Bins]]
    changed: Sequence[str]

    def coverage_of(self, name: str, strength: int) -> DocumentCoverage:
        """What they cover of a document, up to so many factors at a time."""
        pairs = [(case, values) for case, values in self.executions if case.spec == name]
        executed = [values for _, values in pairs]
        groups = {size: _coverage(space(name), executed, size) for size in range(1, strength + 1)}
        return DocumentCoverage(name, len({case.id for case, _ in pairs}), len(pairs), groups)


def executed_bins(executions: Iterable[Execution], cases: Iterable[Case], target: str) -> ExecutedBins:
    """The bins of the executions on a target that were compared with these cases.

    A case that its document excludes has none: nothing is executed. Cases that have changed since do not count.
    """
    by_id = {case.id: case for case in cases}
    bins_of = cache(lambda name: bins(by_id[name]))
    pairs: list[tuple[Case, Bins]] = []
    changed: dict[str, None] = {}
    for execution in executions:
        case = by_id.get(execution.case)
        if case is None or execution.target != target or execution.verdict not in COMPARED:
            continue
        if case.sha256 != execution.case_sha256:
            changed[case.id] = None
        elif bins_of(case.id):
            pairs.append((case, {**bins_of(case.id), OUTPUTS: outputs_bin(variant_named(execution.variant))}))
    return ExecutedBins(pairs, list(changed))


def _coverage(allowed: Space, executed: Iterable[Bins], strength: int) -> list[FactorCoverage]:
    """What bins cover of the possible combinations, ``strength`` factors at a time; every group of factors."""
    covered: set[Together] = set()
    for values in executed:
        pairs = [(factor, values[factor]) for factor in allowed.factors if factor in values]
        covered.update(combinations(pairs, strength))
    groups = []
    for factors, grouped in groupby(allowed.combinations(strength), lambda pairs: tuple(factor for factor, _ in pairs)):
        possible = list(grouped)
        uncovered = tuple(combination for combination in possible if combination not in covered)
        groups.append(FactorCoverage(factors, len(possible), uncovered))
    return groups
