"""What a record found, grouped by what is wrong rather than by case."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import get_args

from maxpool_check.judging.kinds import DESCRIPTIONS, Kind
from maxpool_check.running.record import Execution, Record, Verdict

FAULTS = ("diverges", "refuses", "crashes", "times-out", "unstable")
VERDICTS: tuple[str, ...] = get_args(Verdict)


@dataclass(frozen=True)
class Finding:
    """Executions of one target that are wrong in the same way, the smallest case first."""

    target: str
    kinds: tuple[str, ...]
    status: str
    known: str | None
    executions: tuple[Execution, ...]

    @property
    def smallest(self) -> Execution:
        """The one to look at."""
        return self.executions[0]

    @property
    def cases(self) -> list[str]:
        """The cases, each once."""
        return list(dict.fromkeys(execution.case for execution in self.executions))

    @property
    def limit(self) -> bool:
        """Whether all of them are refusals that the runtime declares as its limits."""
        return all(execution.limit for execution in self.executions)


def findings(record: Record) -> list[Finding]:
    """The faults of a record: unexpected ones first, then those that touch most cases."""
    groups: dict[tuple[str, tuple[str, ...], str, str | None], list[Execution]] = defaultdict(list)
    for execution in record.executions:
        if execution.verdict in FAULTS:
            key = (execution.target, execution.kinds, execution.status, execution.known)
            groups[key].append(execution)
    found = [Finding(*key, tuple(sorted(group, key=_size))) for key, group in groups.items()]
    targets = [target.name for target in record.header.targets]
    return sorted(
        found, key=lambda one: (targets.index(one.target), one.status == "expected", -len(one.cases), one.kinds)
    )


def sentence(kind: str) -> str:
    """What a kind means; a record of another version may have one that is not known here."""
    try:
        return DESCRIPTIONS[Kind(kind)].sentence
    except ValueError:
        return "A kind that this version does not know."


def profiles(record: Record) -> list[tuple[list[str], dict[str, str]]]:
    """The policies that answers were judged by, each with the documents that have them."""
    found: list[tuple[list[str], dict[str, str]]] = []
    for spec, policies in record.header.profile.items():
        for specs, same in found:
            if same == policies:
                specs.append(spec)
                break
        else:
            found.append(([spec], policies))
    return found


def summary(executions: Iterable[Execution]) -> dict[str, dict[str, int]]:
    """The number of executions by target and verdict, every verdict named."""
    counts: dict[str, dict[str, int]] = {}
    for execution in executions:
        of_target = counts.setdefault(execution.target, dict.fromkeys(VERDICTS, 0))
        of_target[execution.verdict] += 1
    return counts


def _size(execution: Execution) -> tuple[int, int, str]:
    # A case with cells to show says more than one without, and the question with Indices more than the one without.
    cells = math.prod(execution.input.shape) if execution.input else 0
    return (0 if execution.cells else 1, cells, execution.case)
