"""The verdicts on the executions of a case, of one node or of a graph of several."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from maxpool_check.judging import verdicts
from maxpool_check.judging.graph_oracle import GraphOracle
from maxpool_check.judging.kinds import DivergenceKind
from maxpool_check.judging.oracle import Oracle
from maxpool_check.judging.rewrites import rewrite_kinds
from maxpool_check.judging.verdicts import Judgement
from maxpool_check.results.outcomes import Failed, Outcome, RefusedByTarget, Returned
from maxpool_check.results.record import Cause, Verdict
from maxpool_check.results.variants import OPTIMIZATION_OFF, Variant
from maxpool_check.specifications.refused import Refused

_RIGHT = (Verdict.CONFORMS, Verdict.UNDEFINED, Verdict.INCONSISTENT)


def judge(oracle: Oracle | Refused, outcomes: Mapping[Variant, Outcome]) -> dict[Variant, Judgement]:
    """Judge the outcomes of one case on one target; ``Refused``: the document excludes the graph.

    The outputs of a graph of several nodes are judged as those of its MaxPool. What is wrong with optimization alone is
    compared with mistakes in rewriting the graph. An exception of the judge is an ``error`` of that execution alone.
    """
    if not isinstance(oracle, GraphOracle):
        return verdicts.judge(oracle, outcomes)
    elsewhere: dict[Variant, Judgement] = {}
    of_maxpool: dict[Variant, Outcome] = {}
    Y: np.ndarray | None = None
    for variant, outcome in outcomes.items():
        of_maxpool[variant] = outcome
        if not isinstance(outcome, Returned):
            continue
        try:
            wrong = list(oracle.wrong_outputs(outcome.outputs, variant.outputs))
            if wrong:
                message = "; ".join(each.message for each in wrong)
                elsewhere[variant] = Judgement(Verdict.DIVERGES, tuple(sorted({each.kind for each in wrong})), message)
            else:
                outputs = oracle.of_maxpool(outcome.outputs, Y)
                Y = outputs.get("Y") if Y is None else Y
                of_maxpool[variant] = replace(outcome, outputs=outputs)
        except Exception as error:
            of_maxpool[variant] = Failed.internal(error)
    rest = {variant: outcome for variant, outcome in of_maxpool.items() if variant not in elsewhere}
    judgements = {**elsewhere, **verdicts.judge(oracle, rest)}
    return {
        variant: _with_rewrites(oracle, variant, outcomes, judgements)
        if judgements[variant].kinds
        else judgements[variant]
        for variant in outcomes
    }


def _with_rewrites(
    oracle: GraphOracle, variant: Variant, outcomes: Mapping[Variant, Outcome], judgements: Mapping[Variant, Judgement]
) -> Judgement:
    """The judgement on a wrong execution, with the mistakes in rewriting the graph that explain it.

    Runtimes rewrite graphs without optimization, too, so that it does not rule them out.
    """
    judgement, outcome = judgements[variant], outcomes[variant]
    plain = Variant(variant.outputs, OPTIMIZATION_OFF)
    unoptimized = outcomes.get(plain)
    is_right_without = unoptimized is not None and judgements[plain].verdict in _RIGHT
    if isinstance(outcome, RefusedByTarget) and isinstance(unoptimized, Returned):
        return replace(judgement, kinds=(DivergenceKind("graph-not-loadable"),))
    if judgement.verdict is not Verdict.DIVERGES or not isinstance(outcome, Returned):
        return judgement
    kinds = rewrite_kinds(oracle, outcome.outputs, variant.outputs)
    causes = [Cause(kind=kind, output=None, cells=oracle.output.size) for kind in kinds]
    if is_right_without:
        if len(kinds) != 1:
            # None is named before other executions decide, but one of them it is.
            general = "constant-folded-wrongly" if oracle.graph.context.initializer else "rewritten-wrongly"
            kinds = tuple(sorted({*judgement.kinds, DivergenceKind(general)}))
        return replace(judgement, kinds=kinds, causes=tuple(causes))
    # A mistake in MaxPool itself may explain the outputs as well.
    causes += judgement.causes
    return replace(judgement, kinds=kinds if kinds and len(causes) == 1 else judgement.kinds, causes=tuple(causes))
