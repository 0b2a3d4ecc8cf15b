"""From outcomes to verdicts: the only place that decides."""

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from maxpool_check.graphs.context import BEHIND
from maxpool_check.judging.comparison import compare
from maxpool_check.judging.graph_oracle import GraphOracle
from maxpool_check.judging.hypotheses import is_kind
from maxpool_check.judging.kinds import DivergenceKind
from maxpool_check.judging.rewrites import rewrite_kinds
from maxpool_check.judging.verdicts import (
    Judgement,
    judge_accepted,
    judge_excluded,
    judge_inferred,
    judge_outputs,
    judge_variation,
)
from maxpool_check.results import outcomes as results
from maxpool_check.results.details import Cause, WrongShape
from maxpool_check.results.outcomes import Failed, Outcome, RefusedByTarget, Returned
from maxpool_check.results.record import Verdict
from maxpool_check.results.variants import NHWC_MAXPOOL, OPTIMIZATION_OFF, PAIRS, Y_ALONE, Variant
from maxpool_check.specifications.specification import Refused

_CONVERSIONS = ("Cast", "QuantizeLinear", "DequantizeLinear")

_AT_EVERY_LEVEL = {DivergenceKind.NODE_DROPPED, DivergenceKind.CAST_MOVED, DivergenceKind.QUANTISATION_MOVED}
"""What runtimes rewrite at every level: they insert casts and remove pairs of them."""

_RIGHT = (Verdict.CONFORMS, Verdict.UNDEFINED, Verdict.INCONSISTENT)

_Fitted = dict[Variant, tuple[GraphOracle, Mapping[str, np.ndarray]]]
"""By variant, the interpretation of the graph in which its outputs are right, or nearest, and the outputs."""


def judge(oracle: GraphOracle | Refused, outcomes: Mapping[Variant, Outcome]) -> dict[Variant, Judgement]:
    """Judge the outcomes of one case on one target; ``Refused``: the document excludes the graph.

    The outputs of a graph are judged as those of its MaxPool. Then variants are compared with those that they must agree with,
    and what is wrong with optimization alone with mistakes in rewriting the graph. An exception of the judge is an ``error`` of
    that execution alone.
    """
    fitted: _Fitted = {}
    by_document: dict[Variant, Judgement] = {}
    for variant, outcome in outcomes.items():
        equal = next((each for each in fitted if _is_equal(variant, outcome, each, outcomes[each])), None)
        if equal is not None:
            by_document[variant], fitted[variant] = by_document[equal], fitted[equal]
        else:
            by_document[variant] = _judged(_judge_outcome, oracle, variant, outcome, fitted)
    if isinstance(oracle, Refused):
        return by_document
    judgements = dict(by_document)
    for base, varied in [*PAIRS, *((variant.base, variant) for variant in outcomes if variant.variation is not None)]:
        if base not in fitted or varied not in fitted:
            continue
        (fitting, expected), (other, actual) = fitted[base], fitted[varied]
        if fitting is other and expected is not actual:
            pair = by_document[base], by_document[varied]
            judgements[varied] = _judged(judge_variation, fitting, varied, *pair, expected, actual)
    if oracle.graph.context.is_alone:
        return judgements
    return {
        variant: _judged(_with_rewrites, oracle, variant, outcomes, judgements) if judgement.kinds else judgement
        for variant, judgement in judgements.items()
    }


def _is_equal(variant: Variant, outcome: Outcome, other: Variant, earlier: Outcome) -> bool:
    """Whether two variants have the same outputs in every bit, so that the judgement on one is that on the other."""
    if not isinstance(outcome, Returned) or not isinstance(earlier, Returned):
        return False
    return variant.outputs == other.outputs and outcome.digests == earlier.digests


def _judge_outcome(oracle: GraphOracle | Refused, variant: Variant, outcome: Outcome, fitted: _Fitted) -> Judgement:
    match outcome:
        case results.Crashed(how, stderr):
            return Judgement(Verdict.CRASHES, (DivergenceKind.CRASH,), f"{how}{': ' if stderr else ''}{stderr}")
        case results.TimedOut(seconds):
            return Judgement(Verdict.TIMES_OUT, (DivergenceKind.TIMEOUT,), f"no result within {seconds:g} s")
        case results.NotExecuted(why):
            return Judgement(Verdict.NOT_EXPRESSIBLE, message=why)
        case results.NotClaimed(why):
            return Judgement(Verdict.NOT_CLAIMED, message=why)
        case Failed():
            return Judgement.of_failure(outcome)
        case RefusedByTarget(status, message):
            return _judge_refusal(oracle, variant, status, f"{status}: {message}")
        case results.Inferred(inferred):
            return judge_inferred(oracle, variant, inferred)
        case results.Accepted():
            return judge_accepted(oracle)
        case Returned(outputs):
            return _judge_returned(oracle, variant, outputs, fitted)


def _judge_refusal(oracle: GraphOracle | Refused, variant: Variant, status: str, message: str) -> Judgement:
    if isinstance(oracle, Refused):
        return Judgement(Verdict.CONFORMS, message=message)
    if oracle.pooling.refusable:
        return Judgement(Verdict.CONFORMS, message=f"{message} (allowed by {oracle.pooling.refusable})")
    if oracle.has_undefined:
        return Judgement(Verdict.UNDEFINED, message=message)
    # No runtime has to offer another operator than that of the document.
    is_other = variant.in_domain or variant.variation is NHWC_MAXPOOL
    limit = status == "NOT_IMPLEMENTED" or oracle.pooling.has_large_pads or is_other or oracle.X.size == 0
    return Judgement(Verdict.REFUSES, (DivergenceKind.REFUSES_VALID,), message, limit=limit)


def _judge_returned(
    oracle: GraphOracle | Refused, variant: Variant, outputs: Mapping[str, np.ndarray], fitted: _Fitted
) -> Judgement:
    """The judgement on the outputs of a graph; adds what they are compared by to ``fitted``."""
    if isinstance(oracle, Refused):
        result = ", ".join(f"{name} {list(value.shape)}" for name, value in outputs.items())
        return judge_excluded(
            oracle, f"returned {result or 'no output'}", outputs["Y"].shape if "Y" in outputs else None
        )
    names = variant.outputs
    if oracle.is_closed and oracle.gives(outputs, names):
        fitted[variant] = oracle, oracle.expected
        return Judgement(Verdict.CONFORMS)
    graphs = [each for each in oracle.graphs if not any(each.wrong_outputs(outputs, names))]
    if graphs and oracle.is_wrong_behind(outputs):
        # Its own cells show more than what the nodes behind it make of them.
        judgement = judge_outputs(oracle.plain, names if "Y" in names else Y_ALONE, {**outputs, "Y": outputs[BEHIND]})
        # Its Y is another output of the graph.
        shapes = {BEHIND if name == "Y" else name: shape for name, shape in judgement.shapes.items()}
        return replace(judgement, message=f"behind MaxPool: {judgement.message}", shapes=shapes)
    if not graphs:
        return _judge_outside(oracle, names, outputs)
    fitting = graphs[0]
    if len(graphs) > 1:
        fitting = min(graphs, key=lambda each: compare(each, each.of_maxpool(outputs), names).distance)
    fitted[variant] = fitting, outputs
    judgement = judge_outputs(fitting, names, fitting.of_maxpool(outputs))
    if place := fitting.wrong_place(outputs) if judgement.verdict is Verdict.DIVERGES else "":
        judgement = replace(judgement, message=f"{judgement.message}; of the output of the graph, {place}")
    return judgement


def _judge_outside(oracle: GraphOracle, names: tuple[str, ...], outputs: Mapping[str, np.ndarray]) -> Judgement:
    """The judgement on outputs that are wrong outside the cells of MaxPool."""
    wrong = list(oracle.wrong_outputs(outputs, names))
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
        return replace(judgement, kinds=(DivergenceKind.GRAPH_NOT_LOADABLE,))
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
            is_constant = oracle.graph.context.initializer
            general = DivergenceKind.CONSTANT_FOLDED_WRONGLY if is_constant else DivergenceKind.REWRITTEN_WRONGLY
            kinds = tuple(sorted({*judgement.kinds, general}))
        return replace(judgement, kinds=kinds, causes=tuple(causes))
    context = oracle.graph.context
    converts = any(node.op in _CONVERSIONS for node in (*context.before, *context.after))
    if unoptimized is not None and not (converts and set(kinds) <= _AT_EVERY_LEVEL):
        return judgement
    # A mistake in MaxPool itself may explain the outputs as well.
    is_named = len(kinds) == 1 and not any(map(is_kind, judgement.causes))
    return replace(judgement, kinds=kinds if is_named else judgement.kinds, causes=(*causes, *judgement.causes))


def _judged(function: Callable[..., Judgement], *arguments: object) -> Judgement:
    """The result of a function of the judge about one execution; an exception is an ``error`` of that execution alone."""
    try:
        return function(*arguments)
    except Exception as error:
        return Judgement.of_failure(Failed.internal(error))
