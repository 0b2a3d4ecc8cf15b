"""Which candidates for the cause of wrong outputs are named: the other executions of the target decide.

A mistake concerns every execution to which it could apply. It is contradicted by one with other outputs: a right one that
the mistake would change, or a wrong one that it does not explain. Runtimes have a kernel for each dtype, so that executions
of a dtype say nothing about those of another.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from maxpool_check.judging.comparison import MOST_COINCIDENCES
from maxpool_check.judging.hypotheses import would_change
from maxpool_check.judging.kinds import DESCRIPTIONS, DivergenceKind, KindGroup
from maxpool_check.judging.oracle import Oracle
from maxpool_check.reference.geometry import floor_output
from maxpool_check.results.details import Cause
from maxpool_check.results.record import Execution, Verdict

_ONE_SIDED = frozenset(kind for kind, about in DESCRIPTIONS.items() if about.one_sided)
"""A target that always makes the same of two choices is right wherever it is the right one."""

_CAUSE_ONLY = frozenset(kind for kind, about in DESCRIPTIONS.items() if about.cause_only)

_LEAST_PART = 3
"""A mistake that is a cause alone is named if it explains one of so many wrong executions; some can be contradicted by none."""

_OF_UNKNOWN_PADS = frozenset({DivergenceKind.AUTO_PAD_IGNORED})
"""A target that ignores auto_pad may use pads beside it, which the geometry lacks."""

_Shown = tuple[tuple[tuple[bool, bool], frozenset[str] | None], ...]
"""The candidates of a case's executions, by whether one is translated and has Indices: None if it conforms."""

Contradictions = dict[str, dict[str, str]]
"""By kind and dtype, a case whose outputs are not those of the mistake."""


class Observations:
    """The compared executions of one target, by the numbers of their cases.

    ``candidates`` are the mistakes that explain some execution, by dtype.
    """

    def __init__(self) -> None:
        self.candidates: dict[str, set[str]] = defaultdict(set)
        self._of_cases: list[_Shown] = []
        # Very many cases show few different things: they share them.
        self._different: dict[_Shown, _Shown] = {}

    def add(self, number: int, execution: Execution) -> None:
        """Remember an execution of the case of a number."""
        if not execution.digests:
            return
        form, by_form = (bool(execution.translation), "Indices" in execution.digests), dict(self.of_case(number))
        if execution.verdict is Verdict.CONFORMS:
            by_form.setdefault(form, None)
        elif execution.verdict is Verdict.DIVERGES:
            by_form[form] = kinds = frozenset(cause.kind for cause in execution.causes)
            self.candidates[_dtype(execution)] |= kinds
        shown = tuple((form, by_form[form]) for form in sorted(by_form))
        self._of_cases += [()] * (number + 1 - len(self._of_cases))
        self._of_cases[number] = self._different.setdefault(shown, shown)

    def of_case(self, number: int) -> _Shown:
        """What was remembered of a case."""
        return self._of_cases[number] if number < len(self._of_cases) else ()


def contradictions(
    observations: Mapping[str, Observations], cases: Iterable[tuple[str, Callable[[], object]]]
) -> dict[str, Contradictions]:
    """The candidates of each target that other executions of it contradict, with the first such case.

    ``cases`` are the ids of all cases, each with what gives its oracle, or something else if it has none. Mistakes in rewriting
    a graph concern no other.
    """
    results: dict[str, Contradictions] = {target: defaultdict(dict) for target in observations}
    left = {
        target: {
            dtype: {kind for kind in kinds if DESCRIPTIONS[DivergenceKind(kind)].group is not KindGroup.GRAPH}
            for dtype, kinds in observed.candidates.items()
        }
        for target, observed in observations.items()
    }
    for number, (case, oracle_of) in enumerate(cases):
        if not any(kinds for by_dtype in left.values() for kinds in by_dtype.values()):
            break
        for target, observed in observations.items():
            executions = observed.of_case(number) if any(left[target].values()) else ()
            for (is_translated, has_indices), explained in executions:
                oracle = oracle_of()
                if not isinstance(oracle, Oracle) or not _is_comparable(oracle, is_translated=is_translated):
                    continue
                dtype = oracle.X.dtype.name
                candidates = left[target].get(dtype, set())
                not_contradicted = _ONE_SIDED if explained is None else explained | _OF_UNKNOWN_PADS
                for kind in sorted(candidates - not_contradicted):
                    if would_change(oracle, DivergenceKind(kind), indices=has_indices):
                        results[target][kind][dtype] = case
                        candidates.remove(kind)
    return {target: dict(result) for target, result in results.items()}


def _is_comparable(oracle: Oracle, *, is_translated: bool) -> bool:
    """Whether other outputs than those of a mistake contradict it."""
    if oracle.pooling.alternatives:
        # The document can be interpreted in several ways, and other outputs are right as well.
        return False
    placement = oracle.pooling.placement
    plain = placement is not None and not placement.is_same and placement.rounding is floor_output
    # The target may have been given other attributes, with which a mistake gives something else.
    return plain or not is_translated


def named_causes(
    executions: Sequence[Execution], contradicted: Mapping[str, Mapping[str, str]]
) -> list[tuple[Cause, ...]]:
    """For each wrong execution of one target, its causes: of those never contradicted, the one that explains most.

    Several for an output: none of them explains more executions than the others. A mistake that explains nothing but a few
    wrong cells, or nothing but shapes, is a coincidence.
    """
    possible = [
        [cause for cause in execution.causes if _dtype(execution) not in contradicted.get(cause.kind, ())]
        for execution in executions
    ]
    frequency = Counter(cause.kind for causes in possible for cause in causes)
    coincidental = _coincidental([{cause.kind for cause in causes} for causes in possible], frequency)
    proven = {
        cause.kind
        for execution, causes in zip(executions, possible, strict=True)
        for cause in causes
        if cause.cells
        and cause.kind not in coincidental
        and (
            not execution.counts
            or sum(execution.counts.values()) > MOST_COINCIDENCES
            or DESCRIPTIONS[DivergenceKind(cause.kind)].group is KindGroup.GRAPH
        )
    }
    return [_most_frequent([cause for cause in causes if cause.kind in proven], frequency) for causes in possible]


def likely(kinds: Sequence[str]) -> list[str]:
    """Of mistakes that explain the same, those that are more than causes, if there are any."""
    return [kind for kind in kinds if kind not in _CAUSE_ONLY] or [*kinds]


def _coincidental(explained: Sequence[Collection[str]], frequency: Mapping[str, int]) -> set[str]:
    """The mistakes that are causes alone, and explain too little of what no more frequent mistake explains."""
    coincidental, left = set(), set(range(len(explained)))
    for kind in sorted(frequency, key=lambda kind: (-frequency[kind], kind in _CAUSE_ONLY)):
        own = {number for number in left if kind in explained[number]}
        if kind in _CAUSE_ONLY and _LEAST_PART * len(own) < len(explained):
            coincidental.add(kind)
        else:
            left -= own
    return coincidental


def _dtype(execution: Execution) -> str:
    return execution.input.pooled.dtype if execution.input else ""


def _most_frequent(causes: Sequence[Cause], frequency: Mapping[str, int]) -> tuple[Cause, ...]:
    def best(*outputs: str | None) -> list[Cause]:
        candidates = [cause for cause in causes if cause.output in outputs]
        most = max((frequency[cause.kind] for cause in candidates), default=0)
        kinds = likely([cause.kind for cause in candidates if frequency[cause.kind] == most])
        return [cause for cause in candidates if cause.kind in kinds]

    of_y = best(None, "Y")
    return (*of_y, *([] if any(cause.output is None for cause in of_y) else best("Indices")))
