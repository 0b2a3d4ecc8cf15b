"""How the cases of a record differ from those of a corpus: a report stays true of the cases that have not changed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from maxpool_check.corpus.case import Case
from maxpool_check.results.record import Execution

_MOST_IDS = 10  # In a sentence.


@dataclass(frozen=True)
class CorpusDifference:
    """Ids of cases: those only in the corpus, those with other digests, and those only in the record."""

    missing: tuple[str, ...]
    changed: tuple[str, ...]
    removed: tuple[str, ...]

    def __str__(self) -> str:
        groups = (("not in the record", self.missing), ("changed since the record", self.changed))
        parts = []
        for words, ids in (*groups, ("in the record only", self.removed)):
            if ids:
                parts.append(
                    f"{len(ids)} {words}: {', '.join(ids[:_MOST_IDS])}{' ...' if len(ids) > _MOST_IDS else ''}"
                )
        return "; ".join(parts) or "the record holds every case as it is"


def corpus_difference(executions: Iterable[Execution], cases: Iterable[Case]) -> CorpusDifference:
    """Compare the cases of a record with those of a corpus, by id and digest."""
    recorded = {execution.case: execution.case_sha256 for execution in executions}
    current = {case.id: case.sha256 for case in cases}
    return CorpusDifference(
        tuple(case for case in current if case not in recorded),
        tuple(case for case, digest in current.items() if recorded.get(case, digest) != digest),
        tuple(case for case in recorded if case not in current),
    )
