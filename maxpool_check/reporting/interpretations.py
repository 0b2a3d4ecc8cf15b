"""How targets interpret what documents leave open, and the policies of each document."""

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from maxpool_check.judging.cells import MIXED
from maxpool_check.reporting.findings import by_size
from maxpool_check.results.record import Execution, Record


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
                groups[key][names] = min(first, execution, key=by_size)
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


def profiles(record: Record) -> list[tuple[list[str], dict[str, str]]]:
    """The policies by which results were judged, each with the documents that have them."""
    result: list[tuple[list[str], dict[str, str]]] = []
    for policies in record.header.profile.values():
        if policies not in [others for _, others in result]:
            result.append(([name for name, others in record.header.profile.items() if others == policies], policies))
    return result
