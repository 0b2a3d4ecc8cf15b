"""Which changes block an upgrade: by their sort, by the severity of the new result, and unless the user has accepted them."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date

from maxpool_check.comparing.acceptance import AcceptedChange
from maxpool_check.comparing.changes import BLOCKING, Change
from maxpool_check.comparing.transitions import Transition
from maxpool_check.judging.defects import Severity, worst
from maxpool_check.results.record import FAULTS, Execution, TargetDescription


@dataclass(frozen=True)
class GatePolicy:
    """What blocks: ``changes``, where the new result is none or of one of ``severities`` (None: any), unless ``accepted``.

    ``today`` is the date by which what is accepted expires.
    """

    changes: Collection[Change] = BLOCKING
    severities: Collection[Severity] | None = None
    accepted: Sequence[AcceptedChange] = ()
    today: date = date.min

    def assessed(self, transition: Transition, head: TargetDescription | None = None) -> Transition:
        """The transition with whether it blocks, and what accepts it on ``head``."""
        if not self._would_block(transition.change, transition.new):
            return replace(transition, blocks=False, accepted=None)
        case, variant = transition.execution.case, transition.execution.variant
        kinds = transition.new.kinds if transition.new is not None else ()
        accepting = (
            entry
            for entry in self.accepted
            if entry.expires >= self.today and entry.accepts(transition.change, case, variant, kinds)
        )
        accepted = next((entry for entry in accepting if head is not None and entry.is_about(head)), None)
        return replace(transition, blocks=accepted is None, accepted=accepted)

    def _would_block(self, change: Change, new: Execution | None) -> bool:
        if change not in self.changes:
            return False
        if self.severities is None or new is None or new.verdict not in FAULTS:
            return True
        return worst([new]) in self.severities


@dataclass(frozen=True)
class Assessed(Collection[Transition]):
    """Transitions to a target with whether each of them blocks; made again at each iteration."""

    transitions: Collection[Transition]
    policy: GatePolicy
    head: TargetDescription

    def __len__(self) -> int:
        return len(self.transitions)

    def __contains__(self, transition: object) -> bool:
        return any(transition == each for each in self)

    def __iter__(self) -> Iterator[Transition]:
        return (self.policy.assessed(each, self.head) for each in self.transitions)
