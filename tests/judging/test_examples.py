"""Every kind has an example, in which the judge finds that kind, and no others than the example names."""

import pytest

from maxpool_check.judging.examples import EXAMPLES
from maxpool_check.judging.kinds import DESCRIPTIONS, DivergenceKind


def test_every_kind_is_described_and_has_an_example():
    assert set(DESCRIPTIONS) == set(EXAMPLES) == set(DivergenceKind)


@pytest.mark.parametrize("kind", DivergenceKind, ids=lambda kind: kind.value)
def test_the_judge_finds_the_kind(kind):
    example = EXAMPLES[kind]
    judgement = example.judgement
    assert set(judgement.kinds) == {kind, *example.kinds}, judgement.message


@pytest.mark.parametrize("kind", [k for k in DivergenceKind if DESCRIPTIONS[k].hypothesis], ids=lambda kind: kind.value)
def test_a_mistake_in_the_whole_result_explains_all_of_it(kind):
    judgement = EXAMPLES[kind].judgement
    if kind not in (DivergenceKind.Y_NAN_ORDER_DEPENDENT, DivergenceKind.TRUNCATED_DIVISION):
        assert judgement.causes[0].kind is kind
        assert judgement.causes[0].cells == EXAMPLES[kind].actual.outputs["Y"].size
