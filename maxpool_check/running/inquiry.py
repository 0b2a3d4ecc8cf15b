"""Asks one target one case after another, with a worker that is kept, and judges each."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from maxpool_check.corpus.case import Case
from maxpool_check.judging.oracle import Oracle
from maxpool_check.judging.verdicts import Judgement, Judged, judge
from maxpool_check.reference.pooling import Pooling
from maxpool_check.results.outcomes import Crashed, Outcome, RefusedByTarget
from maxpool_check.results.variants import DEFAULT_VARIANTS, Variant
from maxpool_check.running.slot import Slot, settled
from maxpool_check.specifications.refused import Refused
from maxpool_check.targets.protocol import Request
from maxpool_check.targets.target import Target


@dataclass(frozen=True, eq=False)
class Inquiry:
    """One case, asked of one target in every way it is asked, and judged.

    ``requests`` are the variants as the target was handed them; one that could not be asked has none. ``steps`` say how
    each was translated, in words.
    """

    case: Case
    oracle: Judged
    outcomes: Mapping[Variant, Outcome]
    judgements: Mapping[Variant, Judgement]
    requests: Mapping[Variant, Request]
    steps: Mapping[Variant, tuple[str, ...]]

    @property
    def diverging(self) -> list[Variant]:
        """The variants that show a kind, in order."""
        return [variant for variant, judgement in self.judgements.items() if judgement.kinds]

    def shows(self, variant: Variant) -> tuple[object, ...]:
        """What the variant shows, as far as a smaller case must show it too to be a case of the same fault.

        Beside the kinds: why the document excludes the graph, whether it leaves windows without a result, how the target
        refused it, or what its process died of.
        """
        judgement, outcome = self.judgements.get(variant), self.outcomes.get(variant)
        oracle = self.oracle
        return (
            judgement.verdict if judgement else None,
            judgement.kinds if judgement else (),
            (oracle.reason, oracle.attribute) if isinstance(oracle, Refused) else bool(oracle.pooled.empty.any()),
            outcome.status if isinstance(outcome, RefusedByTarget) else None,
            outcome.how if isinstance(outcome, Crashed) else None,
        )


class Inquirer:
    """The way to ask one target. Close it at the end."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self._slot = Slot(target)

    def ask(self, case: Case, wanted: Collection[Variant] = DEFAULT_VARIANTS) -> Inquiry:
        """Ask every variant of a case that is wanted. Raises ``CannotStart`` where a dead worker cannot be replaced."""
        pending = self._slot.begin(case, wanted)
        oracle = Oracle(case.X, case.resolved) if isinstance(case.resolved, Pooling) else case.resolved
        replies = settled(pending, [self._slot])
        if self._slot.failure is not None:
            raise self._slot.failure
        outcomes = {variant: reply.outcome for variant, reply in replies.items()}
        return Inquiry(
            case,
            oracle,
            outcomes,
            judge(oracle, outcomes),
            {variant: one.request for variant, one in pending.items() if one.request is not None},
            {variant: reply.steps for variant, reply in replies.items()},
        )

    def end(self) -> None:
        """Kill the worker, and ask nothing more. From any thread."""
        self._slot.end()

    def close(self) -> None:
        """End the worker."""
        self._slot.close()
