"""The models of graphs are valid, and give on a real runtime what the reference computes."""

import numpy as np
import onnx
import onnxruntime
import pytest

from maxpool_check.corpus.collection import collect
from maxpool_check.graphs.model import build, maxpool_model
from maxpool_check.graphs.operators import NEWEST
from maxpool_check.judging.judge import judge
from maxpool_check.results.outcomes import Returned
from maxpool_check.results.record import Verdict
from maxpool_check.results.variants import INDICES_ONLY, WITH_INDICES
from tests.conftest import ROOT


def test_the_newest_operator_set_is_that_of_onnx():
    assert onnx.defs.onnx_opset_version() == NEWEST


def test_lists_that_onnx_cannot_type():
    for name, value, domain, expected in (
        ("pads", [True, False], "", (onnx.AttributeProto.INTS, [1, 0])),
        ("activation_params", [], "com.ms.internal.nhwc", (onnx.AttributeProto.FLOATS, [])),
    ):
        model = maxpool_model(11, {name: value}, "float32", (1, 1, 1), ("Y",), domain=domain)
        (attribute,) = onnx.load_from_string(model).graph.node[0].attribute
        assert (attribute.type, [*attribute.ints, *attribute.floats]) == expected


@pytest.mark.parametrize("case", collect([ROOT / "tests/data/contexts.yaml"]).cases, ids=lambda case: case.name)
def test_a_real_runtime_gives_what_the_reference_computes_and_one_wrong_cell_is_noticed(case):
    oracle, made = case.oracle(), build(case.graph, case.outputs)
    loaded = onnx.load_from_string(made.model)
    onnx.checker.check_model(loaded, full_check=True)
    onnx.shape_inference.infer_shapes(loaded, check_type=True, strict_mode=True)
    variant = INDICES_ONLY if case.outputs == ("Indices",) else WITH_INDICES
    names = (*case.outputs, *case.context.side_outputs)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    for level in ("ORT_ENABLE_ALL", "ORT_DISABLE_ALL"):
        options.graph_optimization_level = getattr(onnxruntime.GraphOptimizationLevel, level)
        session = onnxruntime.InferenceSession(made.model, options, providers=["CPUExecutionProvider"])
        inputs = {} if case.context.initializer else {"X": case.X.tensor()}
        outputs = dict(zip(names, session.run(list(names), {**inputs, **made.inputs}), strict=True))
        assert judge(oracle, {variant: Returned(outputs)})[variant].verdict is Verdict.CONFORMS
    for output, tensor in outputs.items():
        for cell in range(0, tensor.size, max(1, tensor.size // 4)):
            wrong = tensor.copy()
            wrong.reshape(-1)[cell] += np.array(1, tensor.dtype)
            judgement = judge(oracle, {variant: Returned({**outputs, output: wrong})})[variant]
            # Another of several equal maxima may be named as well.
            is_tie = output == "Indices" and judgement.information
            assert judgement.verdict is Verdict.DIVERGES or is_tie, (output, cell)
