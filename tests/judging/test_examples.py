"""Every kind has an example, and of each the judge says that kind and no other than those it names."""

import pytest

from maxpool_check.judging.examples import EXAMPLES
from maxpool_check.judging.kinds import DESCRIPTIONS, DivergenceKind


def test_every_kind_is_described_and_has_an_example():
    assert set(DESCRIPTIONS) == set(EXAMPLES) == set(DivergenceKind)


@pytest.mark.parametrize("kind", DivergenceKind, ids=lambda kind: kind.value)
def test_the_judge_says_so(kind):
    example = EXAMPLES[kind]
    judgement = example.judged()
    assert set(judgement.kinds) == {kind, *example.kinds}, judgement.message


@pytest.mark.parametrize("kind", [k for k in DivergenceKind if DESCRIPTIONS[k].hypothesis], ids=lambda kind: kind.value)
def test_a_mistake_in_the_whole_answer_is_said_to_explain_all_of_it(kind):
    judgement = EXAMPLES[kind].judged()
    if kind not in (DivergenceKind.Y_NAN_ORDER_DEPENDENT, DivergenceKind.TRUNCATED_DIVISION):
        assert judgement.causes[0].kind is kind
        assert judgement.causes[0].cells == EXAMPLES[kind].came.outputs["Y"].size
