"""What is asked beside the two variants that every case is asked."""

import pytest

from maxpool_check.corpus.collection import collect
from maxpool_check.results.variants import (
    ALL_VARIANTS,
    DEFAULT_VARIANTS,
    VARIATIONS,
    WITH_INDICES,
    Y_ONLY,
    parse_variants,
    variant_named,
    variants_of,
)
from tests.conftest import CASES, run_record

CORPUS = """\
spec: onnx-22
defaults:
  attributes: {kernel_shape: [2, 2]}
cases:
  - id: batch
    title: Two images of three channels
    input: {dtype: float32, shape: [2, 3, 3, 4], random: {seed: 4, values: distinct}}
  - id: ties
    title: Equal maxima in every window
    input: {dtype: float32, shape: [2, 3, 3, 4], fill: 5}
  - id: one
    title: One image of one channel
    input: {dtype: float32, data: [[[[1, 2], [3, 4]]]]}
"""


@pytest.fixture
def asked(tmp_path, subject):
    (tmp_path / "small.yaml").write_text(CORPUS)

    def run(name, wanted):
        name = name if "=" in name or name == "onnxruntime" else subject(name)
        record = run_record(tmp_path, name, variants=parse_variants(wanted))
        return {(one.case.partition(":")[2], one.variant): one for one in record.executions}

    return run


def test_a_list_names_questions_and_variations_and_brings_what_they_are_held_to():
    assert parse_variants("default") == set(DEFAULT_VARIANTS)
    assert parse_variants("all") == set(ALL_VARIANTS)
    assert parse_variants("twice") == {
        variant_named("indices-twice"),
        variant_named("y-only-twice"),
        WITH_INDICES,
        Y_ONLY,
    }
    assert parse_variants("y-only-batch-split, indices") == {variant_named("y-only-batch-split"), Y_ONLY, WITH_INDICES}
    with pytest.raises(ValueError, match="unknown variant 'thrice'; known: all, default, twice"):
        parse_variants("twice,thrice")


def test_every_variation_is_asked_of_both_and_held_to_its_own():
    for variation in VARIATIONS:
        varied = [variant for variant in ALL_VARIANTS if variant.variation is variation]
        assert [variant.outputs for variant in varied] == [("Y", "Indices"), ("Y",)]
        assert [variant.base for variant in varied] == [WITH_INDICES, Y_ONLY]
    assert variants_of(("Y",), selected=parse_variants("twice")) == (Y_ONLY, variant_named("y-only-twice"))


def test_the_right_kernel_gives_the_same_however_it_is_asked(asked):
    found = asked("right", "all")
    assert {one.verdict for one in found.values()} == {"conforms", "not-expressible"}
    told = {key for key, one in found.items() if one.verdict == "conforms" and "batch-split" in key[1]}
    assert told == {(case, f"{of}-batch-split") for case in ("batch", "ties") for of in ("indices", "y-only")}
    assert found["batch", "indices-channels-permuted"].verdict == "conforms"
    assert found["one", "y-only-batch-split"].message == "a batch of 1 cannot be split"
    assert found["one", "y-only-channels-permuted"].message == "there are no two channels to exchange"
    assert found["one", "y-only-optimization-off"].message == "it has no setting for optimization-off"


def test_an_answer_that_changes_is_unstable(asked):
    found = asked("alternates", "twice")
    again = [one for key, one in found.items() if key[1].endswith("twice")]
    assert again
    assert {one.verdict for one in again} == {"unstable"}
    assert all("unstable" in one.kinds for one in again)


def test_an_image_must_not_depend_on_the_others_of_its_batch(asked):
    found = asked("repeats_the_first_image", "batch-split")
    assert set(found["batch", "indices-batch-split"].kinds) == {"y-depends-on-batch", "indices-depend-on-batch"}
    assert found["batch", "y-only-batch-split"].kinds == ("y-depends-on-batch",)
    assert found["ties", "indices-batch-split"].kinds == ("indices-depend-on-batch",)
    cell = found["batch", "y-only-batch-split"].cells[0]
    assert cell.at[0] == 1


def test_equal_channels_are_treated_equally(asked):
    found = asked("knows_its_first_channel", "channels-permuted")
    # Any of equal maxima conforms; that it is another in another order does not.
    assert found["ties", "indices"].verdict == "conforms"
    assert found["ties", "indices-channels-permuted"].kinds == ("indices-depend-on-channels",)
    assert found["batch", "indices-channels-permuted"].verdict == "conforms"


@pytest.mark.parametrize("target_name", ["onnxruntime"])
def test_onnx_runtime_can_be_asked_everything(asked, target_name):
    found = asked(target_name, "all")
    assert {one.verdict for one in found.values()} == {"conforms", "not-expressible"}
    left = {key for key, one in found.items() if one.verdict == "not-expressible"}
    assert left == {
        ("one", f"{of}-{variation}")
        for of in ("indices", "y-only")
        for variation in ("batch-split", "channels-permuted")
    }
    assert found["one", "y-only-oldest-opset"].opset == 7
    assert found["one", "indices-oldest-opset"].opset == 9


@pytest.mark.network
def test_what_depends_on_the_graph_optimisations_is_found():
    variants = parse_variants("y-only-optimization-off")
    record = run_record(CASES / "edge/sixteen-channels.yaml", "onnxruntime==1.31.1", variants=variants)
    base, varied = [one for one in record.executions if one.case.endswith(":neg-inf-one-cell")]
    assert (base.variant, base.kinds) == ("y-only", ("y-lowest-for-neg-inf",))
    assert (varied.variant, varied.kinds) == ("y-only-optimization-off", ("y-depends-on-optimization",))
    assert (varied.cells[0].expected, varied.cells[0].got) == ("-3.4028235e+38", "-inf")


def test_an_older_operator_set_is_asked_with_its_own_nodes_or_not_at_all():
    """Clip had attributes for its bounds before operator set 11: a model of today's form is no valid one there."""
    corpus = collect([CASES / "nhwc/activation.yaml"])
    record = run_record(CASES / "nhwc/activation.yaml", "onnxruntime", variants=parse_variants("oldest-opset"))
    clips = {case.id for case in corpus.cases if case.attributes.get("activation") == "Clip"}
    oldest = [one for one in record.executions if one.variant == "y-only-oldest-opset"]
    assert clips
    assert not [one for one in oldest if "INVALID_GRAPH" in one.message]
    messages = {one.message for one in oldest if one.case in clips and one.verdict == "not-expressible"}
    assert any("has its MaxPool, and another Clip" in message for message in messages)
    assert {one.verdict for one in oldest if one.case not in clips} >= {"conforms"}
