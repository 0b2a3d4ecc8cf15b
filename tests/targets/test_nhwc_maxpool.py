"""Bytes as com.microsoft.NhwcMaxPool of ONNX Runtime: what is executed, and that its optimizer gets there."""

import onnx
import onnxruntime
import pytest

from maxpool_check.corpus.collection import collect
from maxpool_check.graphs.model import build
from maxpool_check.results.variants import variant_named
from maxpool_check.targets.name import parse
from maxpool_check.targets.requests import plan
from maxpool_check.targets.session import TargetSession
from maxpool_check.targets.target import Target
from tests.conftest import CASES, run_record

VARIANT = "y-only-nhwc-maxpool"
STEP = "as com.microsoft.NhwcMaxPool, X transposed to channels last, Y back"
CORPUS = """\
spec: onnx-22
defaults:
  outputs: [Y]
  attributes: {kernel_shape: [2]}
cases:
  - id: bytes
    title: Two channels
    input: {dtype: uint8, data: [[[9, 1, 5], [2, 8, 3]]]}
    attributes: {pads: [1, 0], storage_order: 1}
  - id: same
    title: SAME_UPPER of a dilated window
    input: {dtype: int8, data: [[[1, 2, 3, 4, 5]]]}
    attributes: {dilations: [2], auto_pad: SAME_UPPER}
  - id: last-window
    title: A last window that begins in the end padding, which operator sets to 21 keep
    input: {dtype: int8, data: [[[1, 2, 3]]]}
    attributes: {kernel_shape: [2], strides: [3], pads: [0, 1], ceil_mode: 1}
  - id: floats
    title: Floats
    input: {dtype: float32, data: [[[1, 2, 3]]]}
"""


@pytest.fixture
def executions(tmp_path):
    (tmp_path / "bytes.yaml").write_text(CORPUS)

    def run(target):
        found = run_record(tmp_path, target).executions
        return {each.case.partition(":")[2]: each for each in found if each.variant == VARIANT}

    return run


def test_bytes_are_executed_as_the_operator_where_it_must_mean_the_same(executions):
    found = executions("onnxruntime")
    assert {name: each.verdict for name, each in found.items()} == {
        "bytes": "conforms",
        "same": "diverges",
        "last-window": "not-expressible",
    }
    assert list(found["bytes"].translation) == [STEP]
    assert list(found["same"].kinds) == ["same-ignores-dilation"]
    assert "does not say whose it follows" in found["last-window"].message


def test_other_targets_have_no_such_variant(executions, kernel_target):
    assert executions("onnx-reference") == executions(kernel_target("right")) == {}


def test_the_node_has_the_attributes_of_both_operators(tmp_path):
    (tmp_path / "bytes.yaml").write_text(CORPUS)

    case = collect([tmp_path / "bytes.yaml"]).cases[0]
    with TargetSession(Target(parse("onnxruntime"))) as session:
        (planned,) = plan(case, [variant_named(VARIANT)], session.profile)
    model = onnx.load_from_string(planned.requests[0].model)
    (node,) = model.graph.node
    assert (node.domain, node.op_type, list(node.output)) == ("com.microsoft", "NhwcMaxPool", ["Y"])
    assert {attribute.name for attribute in node.attribute} == {"kernel_shape", "pads"}
    assert [size.dim_value for size in model.graph.input[0].type.tensor_type.shape.dim] == [1, 3, 2]


def test_the_optimizer_gets_there_from_the_graphs_of_the_corpus(tmp_path):
    for case in collect([CASES / "contexts/nhwc-maxpool.yaml"]).cases:
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4
        options.optimized_model_filepath = str(tmp_path / "optimized.onnx")
        model = build(case.graph, ("Y",)).model
        onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        operators = [node.op_type for node in onnx.load(tmp_path / "optimized.onnx").graph.node]
        # Between a pair of quantisation it is the pair that is removed, after the Transposes have been looked at.
        reached = "MaxPool" if case.id.endswith("between-quantised-pair") else "NhwcMaxPool"
        assert [name for name in operators if "MaxPool" in name] == [reached], case.id
