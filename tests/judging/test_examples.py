"""Every kind has an example, in which the judge finds that kind, and no others than the example names."""

import pytest

from maxpool_check.judging.examples import example_of
from maxpool_check.judging.judge import judge
from maxpool_check.judging.kinds import DESCRIPTIONS, DivergenceKind, read_table
from maxpool_check.results.outcomes import Returned
from maxpool_check.results.variants import OPTIMIZATION_OFF, VARIATIONS, WITH_INDICES, Variant


def test_the_tables_have_every_kind_and_nothing_else():
    assert list(DESCRIPTIONS) == list(DivergenceKind) == list(read_table("examples.yaml"))
    assert [kind for kinds in read_table("kinds.yaml").values() for kind in kinds] == list(DivergenceKind)


@pytest.mark.parametrize("subject", sorted({each.subject for each in VARIATIONS if each.subject}))
def test_every_variation_that_has_a_subject_has_kinds(subject):
    names = {kind.value for kind in DivergenceKind}
    assert f"y-depends-on-{subject}" in names
    without_indices = all(each.y_alone for each in VARIATIONS if each.subject == subject)
    assert (f"indices-depend-on-{subject}" in names) != without_indices


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
    assert set(judgement.kinds) == {kind, *example.kinds}, judgement.message


@pytest.mark.parametrize("kind", [k for k in DivergenceKind if DESCRIPTIONS[k].hypothesis], ids=lambda kind: kind.value)
def test_a_mistake_in_the_whole_result_explains_all_of_it(kind):
    judgement = judged(example_of(kind))
    if kind not in (DivergenceKind.Y_NAN_ORDER_DEPENDENT, DivergenceKind.TRUNCATED_DIVISION):
        assert judgement.causes[0].kind is kind
        assert judgement.causes[0].cells == example_of(kind).actual.outputs["Y"].size
