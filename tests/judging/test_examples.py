"""Every kind has an example, in which the judge finds that kind, and no others than the example names."""

import pytest

from maxpool_check.judging.examples import example_of
from maxpool_check.judging.judge import judge
from maxpool_check.judging.kinds import DESCRIPTIONS, DivergenceKind
from maxpool_check.results.outcomes import Returned
from maxpool_check.results.variants import OPTIMIZATION_OFF, WITH_INDICES, Variant


def judged(example):
    """The judgement on an example. The outputs of a graph without optimization are right."""
    oracle, variant, outcomes = example.oracle, example.variant, {}
    if example.base is not None:
        outcomes[variant.base if variant.variation else WITH_INDICES] = Returned(example.base)
    outcomes[variant] = example.actual
    if example.graph.context.has_nodes:
        outcomes[Variant(variant.outputs, OPTIMIZATION_OFF)] = Returned(oracle.expected)
    return judge(oracle, outcomes)[variant]


@pytest.mark.parametrize("kind", DivergenceKind, ids=lambda kind: kind.value)
def test_the_judge_finds_the_kind(kind):
    example = example_of(kind)
    judgement = judged(example)
    if DESCRIPTIONS[kind].cause_only:
        assert set(judgement.kinds) == set(example.kinds), judgement.message
        assert (kind, example.actual.outputs["Y"].size) in {(cause.kind, cause.cells) for cause in judgement.causes}
        return
    assert set(judgement.kinds) == {kind, *example.kinds}, judgement.message
    in_part = (DivergenceKind.Y_NAN_ORDER_DEPENDENT, DivergenceKind.TRUNCATED_DIVISION)
    if DESCRIPTIONS[kind].hypothesis and kind not in in_part:
        # A mistake in the whole result explains all of it.
        assert judgement.causes[0].kind is kind
        assert judgement.causes[0].cells == example.actual.outputs["Y"].size
