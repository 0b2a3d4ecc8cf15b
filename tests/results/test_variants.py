"""The variants beside the two in which every case is executed."""

import pytest

from maxpool_check.judging.kinds import DivergenceKind
from maxpool_check.results.variants import (
    ALL_VARIANTS,
    DEFAULT_VARIANTS,
    NHWC_MAXPOOL,
    VARIATIONS,
    parse_variants,
    variant_named,
)
from tests.conftest import CASES, run_record

CORPUS = """\
spec: onnx-22
defaults:
  attributes: {kernel_shape: [2, 2]}
cases:
  - {id: batch, input: {dtype: float32, shape: [2, 3, 3, 4], random: {seed: 4, values: distinct}}}
  - {id: ties, input: {dtype: float32, shape: [2, 3, 3, 4], fill: 5}}
  - {id: one, input: {dtype: float32, data: [[[[1, 2], [3, 4]]]]}}
"""


@pytest.fixture
def execute(tmp_path, kernel_target):
    (tmp_path / "small.yaml").write_text(CORPUS)

    def run(name, variants):
        name = name if name == "onnxruntime" else kernel_target(name)
        record = run_record(tmp_path, name, variants=parse_variants(variants))
        return {(execution.case.partition(":")[2], execution.variant): execution for execution in record.executions}

    return run


@pytest.mark.parametrize(
    ("text", "variants"),
    [
        ("default", DEFAULT_VARIANTS),
        ("all", ALL_VARIANTS),
        ("twice", [*map(variant_named, ("indices-twice", "y-only-twice", "indices", "y-only"))]),
        ("y-only-oldest-opset, indices", [*map(variant_named, ("y-only-oldest-opset", "y-only", "indices"))]),
    ],
)
def test_a_list_names_variants_and_variations_and_includes_what_they_are_compared_with(text, variants):
    assert parse_variants(text) == set(variants)
    with pytest.raises(ValueError, match="unknown variant 'thrice'; known: all, default, twice"):
        parse_variants(f"{text},thrice")


@pytest.mark.parametrize(
    "variation", [each for each in VARIATIONS if each.subject], ids=lambda variation: variation.name
)
def test_what_a_variation_shows_has_kinds(variation):
    kinds = {kind.value for kind in DivergenceKind}
    assert f"y-depends-on-{variation.subject}" in kinds
    # NhwcMaxPool has no Indices.
    assert variation is NHWC_MAXPOOL or f"indices-depend-on-{variation.subject}" in kinds


def test_the_right_kernel_gives_the_same_in_every_variant(execute):
    executions = execute("right", "all")
    assert {execution.verdict for execution in executions.values()} == {"conforms", "not-expressible"}
    for case, variant, words in (
        ("one", "y-only-optimization-off", "it has no setting for optimization-off"),
        ("batch", "indices-twice", ""),
    ):
        execution = executions[case, variant]
        assert (execution.message, execution.verdict == "conforms") == (words, not words)


def test_a_kernel_that_gives_other_outputs_the_second_time_is_unstable(execute):
    assert execute("alternates", "twice")["one", "y-only-twice"].kinds == ("unstable",)


def test_onnx_runtime_runs_every_variant(execute):
    executions = execute("onnxruntime", "all")
    assert {execution.verdict for execution in executions.values()} == {"conforms"}
    assert executions["one", "y-only-oldest-opset"].opset == 7
    assert executions["one", "indices-oldest-opset"].opset == 9


def test_an_older_operator_set_is_executed_with_its_own_nodes_or_not_at_all():
    """Clip had attributes for its bounds before operator set 11: a model of today's form is no valid one there."""
    record = run_record(CASES / "nhwc/activation.yaml", "onnxruntime", variants=parse_variants("oldest-opset"))
    oldest = [execution for execution in record.executions if execution.variant == "y-only-oldest-opset"]
    assert not [execution for execution in oldest if "INVALID_GRAPH" in execution.message]
    clips = [each for each in oldest if "has its MaxPool, and another Clip" in each.message]
    assert {execution.verdict for execution in clips} == {"not-expressible"}
    assert "conforms" in {execution.verdict for execution in oldest}
