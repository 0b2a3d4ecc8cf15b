"""The faults of a record, grouped by what is wrong rather than by case."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from maxpool_check.judging.kinds import DESCRIPTIONS, MIXED, KindGroup
from maxpool_check.results.record import FAULTS, Cause, Execution, Record

_DESCRIPTIONS = {kind.value: description for kind, description in DESCRIPTIONS.items()}
_ABOUT_ONE_OUTPUT = frozenset(kind for kind, description in _DESCRIPTIONS.items() if description.output is not None)
_DEPENDENT = _ABOUT_ONE_OUTPUT & {kind for kind, about in _DESCRIPTIONS.items() if about.group is KindGroup.DEPENDENCE}


@dataclass(frozen=True, eq=False)
class Finding:
    """Executions of one target that are wrong for the same cause, the smallest case first.

    ``kinds`` are those of the whole group: an execution without Indices shows only the kinds of Y.
    """

    target: str
    kinds: tuple[str, ...]
    status: str
    executions: tuple[Execution, ...]

    @property
    def smallest(self) -> Execution:
        """The execution to look at."""
        return self.executions[0]

    @cached_property
    def cases(self) -> list[str]:
        """The cases, without repetition."""
        return list(dict.fromkeys(execution.case for execution in self.executions))

    @property
    def known(self) -> list[str]:
        """The ids of the known divergences that expect these executions."""
        return list(dict.fromkeys(execution.known for execution in self.executions if execution.known))

    @property
    def is_expected(self) -> bool:
        """Whether known divergences expect it."""
        return self.status == "expected"

    @property
    def limit(self) -> bool:
        """Whether all executions are refusals that the runtime declares as its limits."""
        return all(execution.limit for execution in self.executions)

    @property
    def explanation(self) -> str:
        """A sentence on the mistake that explains whole results; empty if there is none."""
        for kind in self.kinds:
            count = sum(any(cause.kind == kind for cause in execution.causes) for execution in self.executions)
            if count == len(self.executions):
                return f"Every result equals {hypothesis(kind)}."
            if count:
                return f"{count} of {len(self.executions)} results equal {hypothesis(kind)}."
        return ""


def findings(record: Record) -> list[Finding]:
    """The faults of the targets in the header: by target, unexpected ones first, then those in most cases."""
    faults: dict[str, list[Execution]] = {target.name: [] for target in record.header.targets}
    for execution in record.executions:
        if execution.verdict in FAULTS and execution.target in faults:
            faults[execution.target].append(execution)
    result = [finding for target, executions in faults.items() for finding in _grouped(target, executions)]
    targets = list(faults)
    return sorted(result, key=lambda each: (targets.index(each.target), each.is_expected, -len(each.cases), each.kinds))


def _grouped(target: str, faults: Sequence[Execution]) -> list[Finding]:
    frequency = Counter(cause.kind for execution in faults for cause in execution.causes)
    groups: dict[tuple[str, bool], dict[frozenset[str], list[Execution]]] = defaultdict(lambda: defaultdict(list))
    for execution in faults:
        groups[execution.status, execution.limit][_main_kinds(execution, frequency)].append(execution)
    return [
        Finding(target, tuple(sorted(kinds)), status, tuple(sorted(executions, key=_size)))
        for (status, _), by_kinds in groups.items()
        for kinds, executions in _merged(by_kinds).items()
    ]


def _size(execution: Execution) -> tuple[bool, int, str]:
    """Sorts executions: first those with wrong cells to show, then small inputs."""
    return not execution.cells, math.prod(execution.input.shape) if execution.input else 0, execution.case


def _main_kinds(execution: Execution, frequency: Mapping[str, int]) -> frozenset[str]:
    """The kinds of a fault, with one cause for each output: the first, or one that is at least twice as frequent."""
    kinds = set(execution.kinds)
    for output in {cause.output for cause in execution.causes}:
        causes = [cause.kind for cause in execution.causes if cause.output == output]
        most_frequent = max(causes, key=lambda kind: frequency[kind])
        kinds -= set(causes)
        kinds.add(most_frequent if frequency[most_frequent] >= 2 * frequency[causes[0]] else causes[0])
    # That a wrong Y depends on something is no defect of its own.
    return frozenset((kinds - _DEPENDENT) or kinds)


def _merged(groups: Mapping[frozenset[str], list[Execution]]) -> dict[frozenset[str], list[Execution]]:
    """Puts each group whose kinds are a part of another group's into that group.

    If there are several, the defect is most likely the one that shows in the same cases, then the most frequent one.
    """
    wholes = {
        kinds: [other for other in groups if kinds < other and _ABOUT_ONE_OUTPUT.issuperset(other)] for kinds in groups
    }
    merged: dict[frozenset[str], list[Execution]] = {kinds: [] for kinds in groups if not wholes[kinds]}
    cases = {
        whole: Counter(execution.case for kinds in groups if kinds <= whole for execution in groups[kinds])
        for whole in merged
    }
    for kinds, executions in groups.items():
        own_cases = {execution.case for execution in executions}
        best = max(
            [whole for whole in wholes[kinds] if whole in merged] or [kinds],
            key=lambda whole: (sum(cases[whole][case] for case in own_cases), len(groups[whole]), sorted(whole)),
        )
        merged[best] += executions
    return merged


@dataclass(frozen=True)
class Interpretation:
    """How a target interprets a point that documents leave open, in one variant.

    ``text`` names the interpretations with which all results agree. If there is none, it names two cases whose results
    agree with different ones, or a case whose cells do.
    """

    target: str
    point: str
    variant: str
    translated: bool
    executions: int
    text: str


def interpretations(record: Record) -> list[Interpretation]:
    """What the results of a record show of open points, by target, point and variant."""
    # An execution for each result that occurs, so that the size does not grow with their number.
    groups: dict[tuple[str, str, str, bool], dict[tuple[str, ...], Execution]] = defaultdict(dict)
    numbers: Counter[tuple[str, str, str, bool]] = Counter()
    for execution in record.executions:
        for point, names in execution.interpretations.items():
            key = (execution.target, point, execution.variant, bool(execution.translation))
            numbers[key] += 1
            first = groups[key].setdefault(names, execution)
            if names == (MIXED,):
                groups[key][names] = min(first, execution, key=_size)
    return [Interpretation(*key, numbers[key], _agreement(groups[key])) for key in sorted(groups)]


def _agreement(results: Mapping[tuple[str, ...], Execution]) -> str:
    first, *others = results
    common = [name for name in first if name != MIXED and all(name in names for names in others)]
    if common:
        return " or ".join(common)
    if (MIXED,) in results:
        return f"inconsistent (differs between elements in {results[MIXED,].case})"
    different = [names for names in others if not set(names) & set(first)]
    witnesses = [f"{' or '.join(names)} in {results[names].case}" for names in (first, *different[:1])]
    return f"inconsistent ({'; '.join(witnesses)})"


def explained(cause: Cause) -> str:
    """``Y equals a MaxPool with dilation 1 in 25 of 25 cells``."""
    return f"{cause.output or 'The result'} equals {hypothesis(cause.kind)} in {cause.cells} of {cause.cells} cells"


def hypothesis(kind: str) -> str:
    """What an output equals that has a mistake of this kind; the kind itself, if this version does not know it."""
    return (_DESCRIPTIONS[kind].hypothesis or "") if kind in _DESCRIPTIONS else kind


def sentence(kind: str) -> str:
    """What a kind means."""
    return _DESCRIPTIONS[kind].sentence if kind in _DESCRIPTIONS else "A kind that this version does not know."


def profiles(record: Record) -> list[tuple[list[str], dict[str, str]]]:
    """The policies by which results were judged, each with the documents that have them."""
    result: list[tuple[list[str], dict[str, str]]] = []
    for policies in record.header.profile.values():
        if policies not in [others for _, others in result]:
            result.append(([name for name, others in record.header.profile.items() if others == policies], policies))
    return result
