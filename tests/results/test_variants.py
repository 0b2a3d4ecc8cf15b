"""The variants beside the two in which every case is executed."""

import pytest

from maxpool_check.corpus.collection import collect
from maxpool_check.results.variants import (
    ALL_VARIANTS,
    DEFAULT_VARIANTS,
    INDICES_ONLY,
    LEVELS,
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
def execute(tmp_path, kernel_target):
    (tmp_path / "small.yaml").write_text(CORPUS)

    def run(name, variants):
        name = name if "=" in name or name == "onnxruntime" else kernel_target(name)
        record = run_record(tmp_path, name, variants=parse_variants(variants))
        return {(execution.case.partition(":")[2], execution.variant): execution for execution in record.executions}

    return run


def test_a_list_names_variants_and_variations_and_includes_what_they_are_compared_with():
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
        if variation.y_alone:
            assert [(variant.outputs, variant.base) for variant in varied] == [(("Y",), Y_ONLY)]
            continue
        alone = [("Indices",)] if variation in LEVELS else []
        assert [variant.outputs for variant in varied] == [("Y", "Indices"), ("Y",), *alone]
        assert [variant.base for variant in varied] == [WITH_INDICES, Y_ONLY, *([INDICES_ONLY] if alone else [])]
    assert variants_of(("Y",), selected=parse_variants("twice")) == (Y_ONLY, variant_named("y-only-twice"))


def test_the_right_kernel_gives_the_same_in_every_variant(execute):
    executions = execute("right", "all")
    assert {execution.verdict for execution in executions.values()} == {"conforms", "not-expressible"}
    split = {
        key for key, execution in executions.items() if execution.verdict == "conforms" and "batch-split" in key[1]
    }
    assert split == {
        (case, f"{outputs}-batch-split") for case in ("batch", "ties") for outputs in ("indices", "y-only")
    }
    assert executions["batch", "indices-channels-permuted"].verdict == "conforms"
    assert executions["one", "y-only-batch-split"].message == "a batch of 1 cannot be split"
    assert executions["one", "y-only-channels-permuted"].message == "there are no two channels to exchange"
    assert executions["one", "y-only-optimization-off"].message == "it has no setting for optimization-off"


def test_an_answer_that_changes_is_unstable(execute):
    executions = execute("alternates", "twice")
    again = [execution for key, execution in executions.items() if key[1].endswith("twice")]
    assert again
    assert {execution.verdict for execution in again} == {"unstable"}
    assert all("unstable" in execution.kinds for execution in again)


def test_an_image_must_not_depend_on_the_others_of_its_batch(execute):
    executions = execute("repeats_the_first_image", "batch-split")
    assert set(executions["batch", "indices-batch-split"].kinds) == {"y-depends-on-batch", "indices-depend-on-batch"}
    assert executions["batch", "y-only-batch-split"].kinds == ("y-depends-on-batch",)
    assert executions["ties", "indices-batch-split"].kinds == ("indices-depend-on-batch",)
    cell = executions["batch", "y-only-batch-split"].cells[0]
    assert cell.at[0] == 1


def test_equal_channels_are_treated_equally(execute):
    executions = execute("knows_its_first_channel", "channels-permuted")
    # Any of equal maxima conforms; that it is another in another order does not.
    assert executions["ties", "indices"].verdict == "conforms"
    assert executions["ties", "indices-channels-permuted"].kinds == ("indices-depend-on-channels",)
    assert executions["batch", "indices-channels-permuted"].verdict == "conforms"


@pytest.mark.parametrize("target_name", ["onnxruntime"])
def test_onnx_runtime_runs_every_variant(execute, target_name):
    executions = execute(target_name, "all")
    assert {execution.verdict for execution in executions.values()} == {"conforms", "not-expressible"}
    left = {key for key, execution in executions.items() if execution.verdict == "not-expressible"}
    assert left == {
        ("one", f"{outputs}-{variation}")
        for outputs in ("indices", "y-only")
        for variation in ("batch-split", "channels-permuted")
    }
    assert executions["one", "y-only-oldest-opset"].opset == 7
    assert executions["one", "indices-oldest-opset"].opset == 9


@pytest.mark.network
def test_what_depends_on_the_graph_optimisations_is_found():
    variants = parse_variants("y-only-optimization-off")
    record = run_record(CASES / "edge/sixteen-channels.yaml", "onnxruntime==1.31.1", variants=variants)
    base, varied = [execution for execution in record.executions if execution.case.endswith(":neg-inf-one-cell")]
    assert (base.variant, base.kinds) == ("y-only", ("y-lowest-for-neg-inf",))
    # The level that is wrong diverges from the reference; the right one does not.
    assert (varied.variant, varied.verdict, varied.kinds) == ("y-only-optimization-off", "conforms", ())


def test_an_older_operator_set_is_asked_with_its_own_nodes_or_not_at_all():
    """Clip had attributes for its bounds before operator set 11: a model of today's form is no valid one there."""
    corpus = collect([CASES / "nhwc/activation.yaml"])
    record = run_record(CASES / "nhwc/activation.yaml", "onnxruntime", variants=parse_variants("oldest-opset"))
    clips = {case.id for case in corpus.cases if case.attributes.get("activation") == "Clip"}
    oldest = [execution for execution in record.executions if execution.variant == "y-only-oldest-opset"]
    assert clips
    assert not [execution for execution in oldest if "INVALID_GRAPH" in execution.message]
    messages = {
        execution.message for execution in oldest if execution.case in clips and execution.verdict == "not-expressible"
    }
    assert any("has its MaxPool, and another Clip" in message for message in messages)
    assert {execution.verdict for execution in oldest if execution.case not in clips} >= {"conforms"}
