"""The judgements on a case that targets share: equal outcomes are judged once."""

from collections.abc import Hashable, Mapping, Sequence

from maxpool_check.judging.conforming import ConformingOutputs, judge
from maxpool_check.judging.judgement import Judgement
from maxpool_check.judging.oracle import Oracle
from maxpool_check.results.outcomes import Outcome, Returned
from maxpool_check.results.variants import Variant
from maxpool_check.specifications.refused import Refused


class SharedJudgements:
    """The judgements on one case: releases of a runtime mostly return the same."""

    def __init__(self) -> None:
        self._judged: dict[Hashable, Mapping[Variant, Judgement]] = {}

    def judge(
        self, oracle: Oracle | Refused, outcomes: Mapping[Variant, Outcome], known: Sequence[ConformingOutputs] = ()
    ) -> Mapping[Variant, Judgement]:
        """As :func:`~maxpool_check.judging.conforming.judge`; ``oracle`` is that of the case, for some placement of windows."""
        placement = oracle.pooling.placement if isinstance(oracle, Oracle) else None
        key = placement, tuple((variant, _identity(outcome)) for variant, outcome in outcomes.items())
        if key not in self._judged:
            self._judged[key] = judge(oracle, outcomes, known)
        return self._judged[key]


def _identity(outcome: Outcome) -> Hashable:
    """What outcomes have in common that are judged alike."""
    if not isinstance(outcome, Returned):
        return repr(outcome)
    if any(value.dtype.hasobject for value in outcome.outputs.values()):
        # The digest of texts does not depend on them.
        return object()
    return tuple(outcome.digests.items())
