"""The models of graphs: each form of a context is a valid model, and gives on a real runtime what the reference computes."""

import numpy as np
import onnx
import onnxruntime
import pytest

from maxpool_check.corpus.collection import collect
from maxpool_check.graphs.model import build
from maxpool_check.judging.judge import judge
from maxpool_check.results.outcomes import Returned
from maxpool_check.results.record import Verdict
from maxpool_check.results.variants import INDICES_ONLY, WITH_INDICES

CORPUS = """
spec: onnx-22
defaults:
  input: {dtype: float32, shape: [2, 3, 5, 4], random: {seed: 1, values: distinct}}
  attributes: {kernel_shape: [2, 3], strides: [2, 1]}
cases:
  - {id: alone, opset: 23}
  - {id: initializer, input: {as: initializer}}
  - {id: dynamic, graph: {nodes: [{op: Relu}, {op: MaxPool}], shape: dynamic}}
  - {id: named, graph: {nodes: [{op: MaxPool}, {op: Neg}], shape: [N, 3, H, 4]}}
  - {id: if, graph: {nodes: [{op: Neg}, {op: MaxPool}, {op: Relu}], inside: If}}
  - {id: loop, graph: {nodes: [{op: Neg}, {op: MaxPool}, {op: Relu}], inside: Loop}}
  - {id: function, graph: {nodes: [{op: Pad, pads: [0, 0, 1, 0, 0, 0, 1, 0]}, {op: MaxPool}, {op: Relu}], inside: function}}
  - {id: constant, graph: [{op: Pad, pads: [0, 0, 1, 0, 0, 0, 1, 0], constant_value: 7, as: constant}, {op: MaxPool}]}
  - {id: input, graph: [{op: Pad, pads: [0, 0, 1, 0, 0, 0, 1, 0], constant_value: 7, as: input}, {op: MaxPool}]}
  - {id: consumers, graph: [{op: Neg, consumers: 2}, {op: MaxPool, consumers: 2}, {op: Abs}]}
  - {id: observed, graph: [{op: MaxPool, consumers: 2}]}
  - {id: numbers, outputs: [Indices], graph: [{op: Neg}, {op: MaxPool}]}
  - {id: unpool, graph: [{op: MaxPool}, {op: MaxUnpool, kernel_shape: [2, 2], strides: [2, 2]}],
     input: {shape: [1, 2, 4, 4]}, attributes: {kernel_shape: [2, 2], strides: [2, 2]}}
  - {id: twice, graph: [{op: MaxPool, kernel_shape: [2, 2]}, {op: MaxPool}, {op: MaxPool, kernel_shape: [1, 2]}]}
  - {id: moved, graph: [{op: Transpose, perm: [0, 1, 3, 2]}, {op: MaxPool}, {op: Transpose, perm: [0, 2, 3, 1]}]}
  - {id: part, graph: [{op: MaxPool}, {op: Split, axis: 1, split: [1, 2], output: 1}, {op: Flatten}]}
  - {id: joined, graph: [{op: MaxPool}, {op: Pad, pads: [0, 0, 0, 1, 0, 0, 0, 1], constant_value: 3}, {op: Neg}]}
  - {id: cast, graph: [{op: Cast, to: float16}, {op: MaxPool}, {op: Cast, to: float32}]}
  - {id: quantized, graph: [{op: QuantizeLinear, y_scale: 0.5, y_zero_point: {dtype: int8, data: 3}}, {op: MaxPool},
                            {op: DequantizeLinear, x_scale: -0.25, x_zero_point: {dtype: int8, data: 0}}]}
  - {id: global, graph: [{op: MaxPool}, {op: GlobalMaxPool}]}
"""


@pytest.fixture(scope="module")
def cases(tmp_path_factory):
    path = tmp_path_factory.mktemp("cases") / "graphs.yaml"
    path.write_text(CORPUS)
    return {case.name: case for case in collect([path]).cases}


NAMES = [line.split("{id: ")[1].partition(",")[0].rstrip("}") for line in CORPUS.splitlines() if "{id: " in line]


def outputs_of(case, *, optimized):
    made = build(case.graph, case.outputs)
    options = onnxruntime.SessionOptions()
    if not optimized:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(made.model, options, providers=["CPUExecutionProvider"])
    inputs = {} if case.context.initializer else {"X": case.X.tensor()}
    names = (*case.outputs, *case.context.side_outputs)
    return dict(zip(names, session.run(list(names), {**inputs, **made.inputs}), strict=True))


@pytest.mark.parametrize("name", NAMES)
def test_the_model_is_valid(cases, name):
    model = onnx.load_from_string(build(cases[name].graph, cases[name].outputs).model)
    onnx.checker.check_model(model, full_check=True)
    assert onnx.shape_inference.infer_shapes(model, check_type=True, strict_mode=True)


@pytest.mark.parametrize("optimized", [False, True])
@pytest.mark.parametrize("name", NAMES)
def test_a_real_runtime_gives_what_the_reference_computes(cases, name, optimized):
    case = cases[name]
    variant = INDICES_ONLY if case.outputs == ("Indices",) else WITH_INDICES
    outputs = outputs_of(case, optimized=optimized)
    assert judge(case.oracle(), {variant: Returned(outputs)})[variant].verdict is Verdict.CONFORMS


@pytest.mark.parametrize("name", NAMES)
def test_one_wrong_cell_of_any_output_is_noticed(cases, name):
    case = cases[name]
    variant = INDICES_ONLY if case.outputs == ("Indices",) else WITH_INDICES
    outputs, oracle = outputs_of(case, optimized=False), case.oracle()
    for output, tensor in outputs.items():
        # All of a few cells, and some of many.
        for cell in range(0, tensor.size, max(1, tensor.size // 12)):
            wrong = tensor.copy()
            wrong.reshape(-1)[cell] += np.array(1, tensor.dtype)
            judgement = judge(oracle, {variant: Returned({**outputs, output: wrong})})[variant]
            # Another of several equal maxima may be named as well.
            is_tie = output == "Indices" and judgement.information
            assert judgement.verdict is Verdict.DIVERGES or is_tie, (output, cell)
