"""Outputs that were judged before: who returns the same bits gets the same judgement, without the reference."""

from collections.abc import Collection, Iterator, Mapping, Sequence

import msgspec
import numpy as np

from maxpool_check.judging import graph_verdicts, verdicts
from maxpool_check.judging.graph_oracle import GraphOracle
from maxpool_check.judging.judgement import Judgement
from maxpool_check.judging.kinds import DivergenceKind
from maxpool_check.judging.oracle import Oracle
from maxpool_check.reference.dtypes import digest
from maxpool_check.results.details import AllowedDifference
from maxpool_check.results.outcomes import Outcome, Returned
from maxpool_check.results.record import Verdict
from maxpool_check.results.variants import Y_AND_INDICES, Variant
from maxpool_check.specifications.refused import Refused

_MOST = 8
"""So many interpretations of one case are judged ahead."""

_ALLOWED = (Verdict.CONFORMS, Verdict.UNDEFINED)


class AllowedJudgement(msgspec.Struct, frozen=True, array_like=True):
    """A judgement on outputs that a document allows: what such a one can say."""

    verdict: Verdict
    interpretations: dict[str, tuple[str, ...]]
    information: tuple[DivergenceKind, ...]
    message: str
    differences: tuple[AllowedDifference, ...]

    def judgement(self) -> Judgement:
        """The whole judgement."""
        return Judgement(
            self.verdict,
            interpretations=self.interpretations,
            information=self.information,
            message=self.message,
            differences=self.differences,
        )


class ConformingOutputs(msgspec.Struct, frozen=True, array_like=True):
    """Outputs that a document allows, by their digests, and the judgement on them by the names of those requested."""

    digests: dict[str, bytes]
    judgements: dict[str, AllowedJudgement]

    def of(self, variant: Variant) -> dict[str, str] | None:
        """The digests of what a variant returns; None if the judgement on it is not known."""
        if ",".join(variant.outputs) not in self.judgements:
            return None
        return {name: value.hex() for name, value in self.digests.items() if _is_returned(name, variant.outputs)}


def conforming_outputs(oracle: Oracle, requested: Collection[tuple[str, ...]]) -> list[ConformingOutputs]:
    """The reference's outputs, those of the other interpretations that a document allows, and how they are judged.

    ``requested`` has the names of the outputs that the variants of a case request.
    """
    found: list[ConformingOutputs] = []
    for outputs in _candidates(oracle):
        digests = {name: bytes.fromhex(digest(tensor)) for name, tensor in outputs.items()}
        if len(found) == _MOST or any(each.digests == digests for each in found):
            continue
        judgements = {}
        for names in requested:
            returned = Returned({name: tensor for name, tensor in outputs.items() if _is_returned(name, names)})
            judgement = graph_verdicts.judge(oracle, {Variant(names): returned})[Variant(names)]
            allowed = AllowedJudgement(
                judgement.verdict,
                dict(judgement.interpretations),
                judgement.information,
                judgement.message,
                judgement.differences,
            )
            if judgement.verdict in _ALLOWED and allowed.judgement() == judgement:
                judgements[",".join(names)] = allowed
        if judgements:
            found.append(ConformingOutputs(digests, judgements))
    return found


def _is_returned(name: str, requested: Collection[str]) -> bool:
    """Whether an output is returned where these are requested: further outputs of a graph always are."""
    return name in requested or name not in Y_AND_INDICES


def _candidates(oracle: Oracle) -> Iterator[dict[str, np.ndarray]]:
    if isinstance(oracle, GraphOracle):
        yield from (graph.expected for graph in oracle.graphs)
        return
    for alternative in oracle.alternatives:
        for interpretation in (alternative.pooled, *alternative.interpretations):
            pooled = interpretation.arranged(alternative.pooling.layout)
            assert pooled.Indices is not None
            yield {"Y": pooled.Y, "Indices": pooled.Indices.astype(alternative.dtype("Indices"))}


def matching(outcomes: Mapping[Variant, Outcome], known: Sequence[ConformingOutputs]) -> dict[Variant, int]:
    """The variants whose outputs have the bits of ``known`` ones, each with the number of these."""
    return {
        variant: number
        for variant, outcome in outcomes.items()
        for number, conforming in enumerate(known)
        if isinstance(outcome, Returned) and outcome.digests == conforming.of(variant)
    }


def judge(
    oracle: Oracle | Refused, outcomes: Mapping[Variant, Outcome], known: Sequence[ConformingOutputs] = ()
) -> dict[Variant, Judgement]:
    """Judge the outcomes of one case on one target.

    Outputs with the bits of ``known`` ones need not be compared with the oracle, but other outputs of the same case do.
    """
    matches = matching(outcomes, known)
    judgements = {
        variant: known[number].judgements[",".join(variant.outputs)].judgement() for variant, number in matches.items()
    }
    if not isinstance(oracle, GraphOracle):
        return verdicts.judge(oracle, outcomes, judgements)
    # The variants of a graph are judged together, which changes nothing where all have the bits of the same outputs.
    if len(matches) == len(outcomes) and len(set(matches.values())) == 1:
        return judgements
    return graph_verdicts.judge(oracle, outcomes)
