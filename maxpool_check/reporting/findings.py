"""The faults of a record, grouped by what is wrong rather than by case."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from maxpool_check.judging.kinds import DESCRIPTIONS, MIXED, KindGroup
from maxpool_check.results.record import FAULTS, Cause, Execution, Record, Verdict

_DESCRIPTIONS = {kind.value: description for kind, description in DESCRIPTIONS.items()}
_ABOUT_ONE_OUTPUT = frozenset(kind for kind, description in _DESCRIPTIONS.items() if description.output is not None)
_DEPENDENT = _ABOUT_ONE_OUTPUT & {kind for kind, about in _DESCRIPTIONS.items() if about.group is KindGroup.DEPENDENCE}


@dataclass(frozen=True, eq=False)
class Finding:
    """Executions of one target that are wrong for the same cause, the smallest case first.

    ``kinds`` are all that they show; an execution may show fewer: without Indices there is nothing wrong with those.
    ``known`` are the entries that expect them.
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
    def known(self) -> tuple[str, ...]:
        """The known divergences that expect these executions."""
        return tuple(dict.fromkeys(execution.known for execution in self.executions if execution.known))

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
    """The faults of the targets in the header: unexpected ones first, then those in most cases."""
    faults: dict[str, list[Execution]] = {target.name: [] for target in record.header.targets}
    for execution in record.executions:
        if execution.verdict in FAULTS and execution.target in faults:
            faults[execution.target].append(execution)
    result = [finding for target, executions in faults.items() for finding in _grouped(target, executions)]
    targets = list(faults)
    return sorted(
        result,
        key=lambda finding: (targets.index(finding.target), finding.is_expected, -len(finding.cases), finding.kinds),
    )


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
    """Puts each group whose kinds are a part of another group's to that group.

    If there are several, the defect is most likely the one that shows in the same cases, then the most frequent one.
    """

    def wholes(kinds: frozenset[str]) -> list[frozenset[str]]:
        return [other for other in groups if kinds < other and _ABOUT_ONE_OUTPUT.issuperset(other)]

    largest = [kinds for kinds in groups if not wholes(kinds)]
    cases = {
        kinds: Counter(
            execution.case for part, executions in groups.items() if part <= kinds for execution in executions
        )
        for kinds in largest
    }
    merged: dict[frozenset[str], list[Execution]] = {kinds: [] for kinds in largest}
    for kinds, executions in groups.items():
        own_cases = {execution.case for execution in executions}
        candidates = [other for other in wholes(kinds) if other in merged] or [kinds]
        best = max(
            candidates,
            key=lambda other: (sum(cases[other][case] for case in own_cases), len(groups[other]), sorted(other)),
        )
        merged[best] += executions
    return merged


@dataclass(frozen=True)
class Interpretation:
    """How a target interprets a point that documents leave open, in one variant.

    ``names`` are the interpretations with which all its results agree. If there is none, ``witnesses`` are two cases whose
    results agree with different ones, or a case whose cells do.
    """

    target: str
    point: str
    variant: str
    translated: bool
    names: tuple[str, ...]
    executions: int
    witnesses: tuple[tuple[str, tuple[str, ...]], ...]

    def __str__(self) -> str:
        if self.names:
            return " or ".join(self.names)
        return f"inconsistent ({'; '.join(_witness(case, names) for case, names in self.witnesses)})"


def _witness(case: str, names: tuple[str, ...]) -> str:
    return f"differs between elements in {case}" if names == (MIXED,) else f"{' or '.join(names)} in {case}"


def interpretations(record: Record) -> list[Interpretation]:
    """What the results of a record show of open points, by target, point and variant."""
    groups: dict[tuple[str, str, str, bool], _Observations] = {}
    for execution in record.executions:
        for point, names in execution.interpretations.items():
            key = (execution.target, point, execution.variant, bool(execution.translation))
            groups.setdefault(key, _Observations(execution.case, names)).add(execution, names)
    return [groups[key].interpretation(*key) for key in sorted(groups)]


class _Observations:
    """What some executions show of one open point. Its size does not grow with their number."""

    def __init__(self, case: str, names: tuple[str, ...]) -> None:
        self._first = case, names
        self._different: tuple[str, tuple[str, ...]] | None = None
        self._mixed: Execution | None = None
        self._common = set(names) - {MIXED}
        self._executions = 0

    def add(self, execution: Execution, names: tuple[str, ...]) -> None:
        self._executions += 1
        self._common &= set(names)
        if names == (MIXED,) and (self._mixed is None or _size(execution) < _size(self._mixed)):
            self._mixed = execution
        if self._different is None and not set(names) & set(self._first[1]):
            self._different = execution.case, names

    def interpretation(self, target: str, point: str, variant: str, translated: bool) -> Interpretation:
        names = tuple(name for name in self._first[1] if name in self._common)
        witnesses: list[tuple[str, tuple[str, ...]]] = [self._first]
        if self._mixed:
            witnesses = [(self._mixed.case, (MIXED,))]
        elif self._different:
            witnesses.append(self._different)
        return Interpretation(target, point, variant, translated, names, self._executions, tuple(witnesses))


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
    for spec, policies in record.header.profile.items():
        documents = next((specs for specs, others in result if others == policies), None)
        if documents is None:
            result.append(([spec], policies))
        else:
            documents.append(spec)
    return result


def summary(record: Record) -> dict[str, dict[Verdict, int]]:
    """The number of executions by target and verdict, every target of the header and every verdict included."""
    counts = {target.name: dict.fromkeys(Verdict, 0) for target in record.header.targets}
    for execution in record.executions:
        counts.setdefault(execution.target, dict.fromkeys(Verdict, 0))[execution.verdict] += 1
    return counts
