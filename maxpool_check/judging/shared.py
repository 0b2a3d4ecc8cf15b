"""The judgements on a case that executions share: equal outcomes are judged once, on all targets, and in earlier runs."""

from collections.abc import Mapping, Sequence

import msgspec

from maxpool_check.judging.conforming import ConformingOutputs, judge, matching
from maxpool_check.judging.judgement import Judgement
from maxpool_check.judging.oracle import Oracle
from maxpool_check.result_cache import ResultCache, key_of
from maxpool_check.results.outcomes import Outcome, Returned
from maxpool_check.results.variants import Variant
from maxpool_check.specifications.refused import Refused

_DECODER = msgspec.json.Decoder(dict[str, Judgement])


class SharedJudgements:
    """The judgements on one case: releases of a runtime mostly return the same, and so do runs of the same release."""

    def __init__(self, case_sha256: str = "", cache: ResultCache | None = None, *, reads_cache: bool = False) -> None:
        """``cache`` gets the judgements on outputs that do not conform, by the digest of the case; ``reads_cache``: it also has them."""
        self._judged: dict[object, Mapping[Variant, Judgement]] = {}
        self._case_sha256, self._cache, self._reads_cache = case_sha256, cache, reads_cache

    def judge(
        self, oracle: Oracle | Refused, outcomes: Mapping[Variant, Outcome], known: Sequence[ConformingOutputs] = ()
    ) -> Mapping[Variant, Judgement]:
        """As :func:`~maxpool_check.judging.conforming.judge`; ``oracle`` is that of the case, for some placement of windows."""
        identities = [(variant.name, _identity(outcome)) for variant, outcome in outcomes.items()]
        if any(identity is None for _, identity in identities):
            return judge(oracle, outcomes, known)
        placement = oracle.pooling.placement if isinstance(oracle, Oracle) else None
        # The windows are those of the case, or explicit pads where it has SAME_*.
        key = (placement is not None and placement.is_same, *identities)
        if key not in self._judged:
            self._judged[key] = self._new(oracle, outcomes, known, key)
        return self._judged[key]

    def _new(
        self,
        oracle: Oracle | Refused,
        outcomes: Mapping[Variant, Outcome],
        known: Sequence[ConformingOutputs],
        key: tuple[object, ...],
    ) -> Mapping[Variant, Judgement]:
        returned = {variant for variant, outcome in outcomes.items() if isinstance(outcome, Returned)}
        if self._cache is None or returned <= matching(outcomes, known).keys():
            return judge(oracle, outcomes, known)
        in_cache = key_of("judgements", self._case_sha256, repr(key))
        if self._reads_cache and (found := self._cache.get(in_cache)) is not None:
            named = _DECODER.decode(found)
            return {variant: named[variant.name] for variant in outcomes}
        judgements = judge(oracle, outcomes, known)
        if not any(judgement.traceback for judgement in judgements.values()):
            self._cache.add(in_cache, msgspec.json.encode({each.name: judgements[each] for each in outcomes}))
        return judgements


def _identity(outcome: Outcome) -> str | None:
    """What outcomes have in common that are judged alike; None if only this one is judged like it."""
    if not isinstance(outcome, Returned):
        return repr(outcome)
    if any(value.dtype.hasobject for value in outcome.outputs.values()):
        # The digest of texts does not depend on them.
        return None
    return ",".join(f"{name}={digest}" for name, digest in outcome.digests.items())
