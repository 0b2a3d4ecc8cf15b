"""The narrowest entries by which a person accepts what a record shows: divergences, or changes of a gate."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date

from packaging.version import InvalidVersion, Version

from maxpool_check.judging.accepted import Acceptance
from maxpool_check.judging.defects import fingerprint
from maxpool_check.judging.kinds import DESCRIPTIONS, DivergenceKind
from maxpool_check.judging.target_selector import KERNELS, TRANSFORM, TargetSelector
from maxpool_check.results.changes import Change
from maxpool_check.results.record import Execution, TargetDescription


@dataclass(frozen=True)
class Candidate:
    """A result that a record shows, to be accepted.

    ``kinds`` are the kinds of ``execution``, or none where it is no longer executed; ``change`` is the change of a gate, None for
    a divergence of a run.
    """

    execution: Execution
    kinds: tuple[str, ...]
    change: Change | None = None


def narrowest(
    shown: Iterable[Candidate], target: TargetDescription, author: str, reason: str, expires: date
) -> list[Acceptance]:
    """The entries that accept these results on a target of this version, and nothing else.

    Each names exact cases, kinds and variants. Raises ``ValueError`` for a kind that this version of the tool does not know.
    """
    by_case: dict[tuple[Change | None, frozenset[DivergenceKind], str], list[Execution]] = {}
    for each in shown:
        kinds = frozenset(map(DivergenceKind, each.kinds))
        by_case.setdefault((each.change, kinds, each.execution.case), []).append(each.execution)
    alike: dict[tuple[Change | None, frozenset[DivergenceKind], frozenset[str]], dict[str, list[Execution]]] = {}
    for (change, kinds, case), executions in by_case.items():
        variants = frozenset(execution.variant for execution in executions)
        alike.setdefault((change, kinds, variants), {})[case] = executions
    entries = []
    for (change, kinds, variants), cases in alike.items():
        is_open = target.version and any(DESCRIPTIONS[kind].open for kind in kinds)
        prints = frozenset(fingerprint(each, case) for case, executions in cases.items() for each in executions)
        outputs = {target.version: prints} if is_open else {}
        entries.append(
            Acceptance(_selector(target), tuple(cases), variants, kinds, author, reason, expires, change, outputs)
        )
    return entries


def _selector(target: TargetDescription) -> TargetSelector:
    """The target by its name, with its provider and its options, and by the version that was tested, if it can be compared."""
    is_whole = target.name.startswith((*KERNELS, TRANSFORM))
    runtime = target.name if is_whole else re.sub(r"==[^@?]+", "", target.name, count=1)
    try:
        return TargetSelector.of(runtime, f"=={Version(target.version)}")
    except InvalidVersion:
        return TargetSelector.of(runtime)
