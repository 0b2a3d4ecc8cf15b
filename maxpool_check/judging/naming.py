"""Which candidates for the cause of wrong outputs are named: the other executions of the target decide.

A mistake concerns every execution to which it could apply. It is contradicted by one with other outputs: a right one that
the mistake would change, or a wrong one that it does not explain. Runtimes have a kernel for each dtype, so that executions
of a dtype say nothing about those of another.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter

from maxpool_check.judging.comparison import MOST_COINCIDENCES
from maxpool_check.judging.hypotheses import would_change
from maxpool_check.judging.kinds import DESCRIPTIONS, DivergenceKind, KindGroup
from maxpool_check.judging.oracle import Oracle
from maxpool_check.reference.geometry import floor_output
from maxpool_check.results.details import Cause
from maxpool_check.results.record import Execution, Verdict

_ONE_SIDED = frozenset(
    {
        DivergenceKind.SAME_UPPER_LOWER_EXCHANGED,
        DivergenceKind.CEIL_FLOOR_EXCHANGED,
        DivergenceKind.CEIL_CLIP_EXCHANGED,
        DivergenceKind.INDICES_STORAGE_ORDER,
    }
)
"""A target that always makes the same of two choices is right wherever it is the right one."""

_OF_UNKNOWN_PADS = frozenset({DivergenceKind.AUTO_PAD_IGNORED})
"""A target that ignores auto_pad may use pads beside it, which the geometry lacks."""

Contradictions = dict[str, dict[str, str]]
"""By kind and dtype, a case whose outputs are not those of the mistake."""


@dataclass
class Observations:
    """The compared executions of one target.

    Each is the number of its case, and whether it is translated and has Indices; with the kinds of its causes, None if it conforms.
    """

    executions: dict[tuple[int, bool, bool], frozenset[str] | None] = field(default_factory=dict)

    def add(self, number: int, execution: Execution) -> None:
        """Remember an execution of the case of a number."""
        key = number, bool(execution.translation), "Indices" in execution.digests
        if execution.verdict is Verdict.CONFORMS and execution.digests:
            self.executions.setdefault(key, None)
        elif execution.verdict is Verdict.DIVERGES and execution.digests:
            self.executions[key] = frozenset(cause.kind for cause in execution.causes)


def contradictions(
    observations: Mapping[str, Observations], id_of: Callable[[int], str], oracle_of: Callable[[int], Oracle | None]
) -> dict[str, Contradictions]:
    """The candidates that other executions of the same target contradict, with the first such case, by target.

    ``id_of`` gives the id of a case by its number, and ``oracle_of`` the oracle of a case, None if it has none. Executions are
    taken case by case, so that targets share its oracle and what mistakes make of it.
    """
    results: dict[str, Contradictions] = {target: defaultdict(dict) for target in observations}
    candidates: dict[str, dict[str, set[str]]] = {target: defaultdict(set) for target in observations}
    executions = sorted(
        (
            (*key, target, kinds)
            for target, observed in observations.items()
            if any(observed.executions.values())
            for key, kinds in observed.executions.items()
        ),
        key=itemgetter(0, 1, 2),
    )
    for number, _, _, target, kinds in executions:
        if kinds and (oracle := oracle_of(number)) is not None:
            candidates[target][oracle.X.dtype.name] |= kinds
    for number, is_translated, has_indices, target, explained in executions:
        if not any(candidates[target].values()):
            continue
        oracle = oracle_of(number)
        # Where the document can be interpreted in several ways, other outputs are right as well.
        if oracle is None or oracle.pooling.alternatives:
            continue
        placement = oracle.pooling.placement
        plain = placement is not None and not placement.is_same and placement.rounding is floor_output
        if is_translated and not plain:
            # The target may have been given other attributes, with which a mistake gives something else.
            continue
        dtype = oracle.X.dtype.name
        left = candidates[target][dtype]
        for kind in sorted(left - (explained or frozenset()) - (_ONE_SIDED if explained is None else _OF_UNKNOWN_PADS)):
            if would_change(oracle, DivergenceKind(kind), indices=has_indices):
                results[target][kind][dtype] = id_of(number)
                left.remove(kind)
    return {target: dict(result) for target, result in results.items()}


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
    proven = {
        cause.kind
        for execution, causes in zip(executions, possible, strict=True)
        for cause in causes
        if cause.cells
        and (
            not execution.counts
            or sum(execution.counts.values()) > MOST_COINCIDENCES
            or DESCRIPTIONS[DivergenceKind(cause.kind)].group is KindGroup.GRAPH
        )
    }
    return [_most_frequent([cause for cause in causes if cause.kind in proven], frequency) for causes in possible]


def _dtype(execution: Execution) -> str:
    return execution.input.pooled.dtype if execution.input else ""


def _most_frequent(causes: Sequence[Cause], frequency: Mapping[str, int]) -> tuple[Cause, ...]:
    def best(candidates: Sequence[Cause]) -> list[Cause]:
        most = max((frequency[cause.kind] for cause in candidates), default=0)
        return [cause for cause in candidates if frequency[cause.kind] == most]

    of_Y = best([cause for cause in causes if cause.output != "Indices"])
    whole = any(cause.output is None for cause in of_Y)
    return (*of_Y, *([] if whole else best([cause for cause in causes if cause.output == "Indices"])))
