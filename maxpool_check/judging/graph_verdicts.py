"""The verdicts on the executions of a case, of one node or of a graph of several."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from maxpool_check.graphs.context import BEHIND
from maxpool_check.judging import verdicts
from maxpool_check.judging.comparison import compare
from maxpool_check.judging.graph_oracle import GraphOracle
from maxpool_check.judging.judgement import Judgement, judged
from maxpool_check.judging.kinds import DivergenceKind
from maxpool_check.judging.oracle import Oracle
from maxpool_check.judging.rewrites import rewrite_kinds
from maxpool_check.results.details import Cause
from maxpool_check.results.outcomes import Failed, Outcome, RefusedByTarget, Returned
from maxpool_check.results.record import Verdict
from maxpool_check.results.shapes import WrongShape
from maxpool_check.results.variants import OPTIMIZATION_OFF, Y_ALONE, Variant
from maxpool_check.specifications.refused import Refused

_CONVERSIONS = ("Cast", "QuantizeLinear", "DequantizeLinear")

_AT_EVERY_LEVEL = {DivergenceKind(name) for name in ("node-dropped", "cast-moved", "quantisation-moved")}
"""What runtimes rewrite at every level: they insert casts and remove pairs of them."""

_RIGHT = (Verdict.CONFORMS, Verdict.UNDEFINED, Verdict.INCONSISTENT)


def judge(oracle: Oracle | Refused, outcomes: Mapping[Variant, Outcome]) -> dict[Variant, Judgement]:
    """Judge the outcomes of one case on one target; ``Refused``: the document excludes the graph.

    The outputs of a graph of several nodes are judged as those of its MaxPool. What is wrong with optimization alone is
    compared with mistakes in rewriting the graph. An exception of the judge is an ``error`` of that execution alone.
    """
    if not isinstance(oracle, GraphOracle):
        return verdicts.judge(oracle, outcomes)
    judgements: dict[Variant, Judgement] = {}
    by_alternative: dict[GraphOracle, dict[Variant, Outcome]] = {}
    Y: np.ndarray | None = None
    for variant, outcome in outcomes.items():
        fitting = oracle
        if isinstance(outcome, Returned):
            try:
                alternative = _alternative(oracle, variant, outcome)
                if not isinstance(alternative, GraphOracle):
                    judgements[variant] = alternative
                    continue
                fitting = alternative
                outputs = fitting.of_maxpool(outcome.outputs, Y if fitting is oracle else None)
                Y = outputs.get("Y") if Y is None and fitting is oracle else Y
                outcome = replace(outcome, outputs=outputs)
            except Exception as error:
                outcome = Failed.internal(error)
        by_alternative.setdefault(fitting, {})[variant] = outcome
    for fitting, group in by_alternative.items():
        judgements |= verdicts.judge(fitting, group)
    return {
        variant: judged(_with_rewrites, oracle, variant, outcomes, judgements)
        if judgements[variant].kinds
        else judgements[variant]
        for variant in outcomes
    }


def _alternative(oracle: GraphOracle, variant: Variant, outcome: Returned) -> GraphOracle | Judgement:
    """The oracle of the interpretation in which the outputs are right, or nearest; or what is wrong outside MaxPool."""
    outputs, names = outcome.outputs, variant.outputs
    fitting = [each for each in oracle.graphs if not any(each.wrong_outputs(outputs, names))]
    if fitting and not oracle.is_wrong_behind(outputs):
        if len(fitting) == 1:
            return fitting[0]
        return min(fitting, key=lambda each: compare(each, each.of_maxpool(outputs), names).distance)
    if fitting:
        # Its own cells show more than what the nodes behind it make of them.
        plain = Variant(names) if "Y" in names else Variant(Y_ALONE)
        of_maxpool = replace(outcome, outputs={**outputs, "Y": outputs[BEHIND]})
        judgement = verdicts.judge(oracle.plain, {plain: of_maxpool})[plain]
        # Its Y is another output of the graph.
        shapes = {BEHIND if name == "Y" else name: shape for name, shape in judgement.shapes.items()}
        return replace(judgement, message=f"behind MaxPool: {judgement.message}", shapes=shapes)
    wrong = list(oracle.wrong_outputs(outcome.outputs, variant.outputs))
    message = "; ".join(each.message for each in wrong)
    shapes = {
        each.output: WrongShape(expected=oracle.output.shape, got=outputs[each.output].shape)
        for each in wrong
        if each.kind is DivergenceKind.SHAPE
    }
    return Judgement(Verdict.DIVERGES, tuple(sorted({each.kind for each in wrong})), message, shapes=shapes)


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
    if judgement.kinds == (DivergenceKind.Y_SIGNED_ZERO,) and not is_right_without:
        # A node beside MaxPool, such as a Relu that returns -0, is a simpler cause than another order of nodes.
        return judgement
    kinds = rewrite_kinds(oracle, outcome.outputs, variant.outputs)
    causes = [Cause(kind=kind, output=None, cells=oracle.output.size) for kind in kinds]
    if is_right_without:
        if len(kinds) != 1:
            # None is named before other executions decide, but one of them it is.
            general = "constant-folded-wrongly" if oracle.graph.context.initializer else "rewritten-wrongly"
            kinds = tuple(sorted({*judgement.kinds, DivergenceKind(general)}))
        return replace(judgement, kinds=kinds, causes=tuple(causes))
    context = oracle.graph.context
    converts = any(node.op in _CONVERSIONS for node in (*context.before, *context.after))
    if unoptimized is not None and not (converts and set(kinds) <= _AT_EVERY_LEVEL):
        return judgement
    # A mistake in MaxPool itself may explain the outputs as well.
    causes += judgement.causes
    is_named = len(causes) == 1 and bool(kinds)
    return replace(judgement, kinds=kinds if is_named else judgement.kinds, causes=tuple(causes))
