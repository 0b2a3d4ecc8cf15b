"""Graphs in which a second branch meets what is behind MaxPool: the model, the reference and the verdict say the same."""

import collections
import functools
import itertools
from contextlib import suppress

import numpy as np
import onnx
import pytest
from onnx.reference import ReferenceEvaluator
from onnx.reference.op_run import OpRun

import maxpool_check
from maxpool_check.evidence.kernels import DEATHS, wrong_kernels
from maxpool_check.fuzzing.generation import generate
from maxpool_check.graphs.context import Context
from maxpool_check.graphs.model import build
from maxpool_check.graphs.node import Inexact, Node
from maxpool_check.graphs.reading import read_chain
from maxpool_check.judging.hypotheses import would_change
from maxpool_check.judging.judge import judge
from maxpool_check.judging.kinds import DivergenceKind
from maxpool_check.reference.dtypes import is_float, same
from maxpool_check.results.outcomes import Returned
from maxpool_check.results.record import Verdict
from maxpool_check.results.variants import Y_ONLY
from tests.judging.oracles import graph_oracle

X = np.array([[4, -2, 7, 1], [3, 9, -5, 6], [-8, -9, 5, 8], [-1, -3, -6, -7]], np.float32).reshape(1, 1, 4, 4)
SAME = {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}
OF_X = {"inputs": ["X"]}
PEAKS = [Node("Equal", OF_X), Node("Where", {"inputs": ["X", 0]})]
HEAT = [Node("Equal", OF_X), Node("Cast", {"to": "float32"}), Node("Mul", OF_X)]
SPPF = [
    Node("MaxPool", SAME, name="two"),
    Node("MaxPool", SAME, name="three"),
    Node("Concat", {"axis": 1, "inputs": ["Y", "two", "three"]}, source="X"),
]
GRADIENT = [Node("Neg", source="X"), Node("MaxPool", SAME), Node("Add", {"inputs": ["Y"]})]
TOP_HAT = [Node("Neg"), Node("MaxPool", SAME), Node("Add", OF_X)]
SUPPRESSED = [*PEAKS[:1], Node("Cast", {"to": "float32"}), Node("MaxPool", SAME), Node("Greater", {"inputs": [0]}),
              Node("Where", {"inputs": [0, "X"]})]  # fmt: skip
LESS_MAXIMUM = [Node("Sub", {"inputs": ["Y"]}, source="X")]
TWO_FUNCTIONS = [Node("Neg", name="minus"), Node("Concat", {"axis": 0, "inputs": ["Y", "minus"]}, source="Y")]
BRANCHES = [PEAKS, HEAT, SPPF, GRADIENT, TOP_HAT, SUPPRESSED, LESS_MAXIMUM, TWO_FUNCTIONS]


def oracle_of(after, x=X, before=(), **attributes):
    return graph_oracle(x, "onnx-22", Context(22, tuple(before), tuple(after)), **{**SAME, **attributes})


class MaxPool(OpRun):
    """Each MaxPool of a model, by the evaluator; that of onnx does not know all attributes."""

    def _run(self, x, **attributes):
        given = {name: each for name, each in attributes.items() if each}
        pooled = maxpool_check.maxpool(x, spec="onnx-22", **given)
        return (pooled.Y, pooled.Indices)[: len(self.onnx_node.output)]


class GlobalMaxPool(OpRun):
    """That of onnx takes the maximum over two axes, however many are spatial."""

    def _run(self, x):
        return (x.max(axis=tuple(range(2, x.ndim)), keepdims=True),)


def computed(case):
    """The outputs of the model of a case, node by node."""
    model = case.model(("Y",))
    evaluator = ReferenceEvaluator(onnx.ModelProto.FromString(model.model), new_ops=[MaxPool, GlobalMaxPool])
    with np.errstate(all="ignore"):
        return evaluator.run(None, {**({} if case.context.initializer else {"X": case.X.tensor()}), **model.inputs})


@functools.cache
def drawn():
    """Drawn cases with a branch, of Y alone."""
    cases = itertools.islice(generate("onnx-22", 3, graphs=1), 600)
    return [
        case
        for case in cases
        if any(node.named_inputs for node in case.context.after) and case.outputs[0] == "Y" and not case.context.inside
    ]


def verdict(oracle, outputs):
    return judge(oracle, {Y_ONLY: Returned(outputs)})[Y_ONLY].verdict


def test_the_model_of_a_drawn_graph_computes_what_the_reference_does():
    ops, compared = set(), 0
    for case in drawn():
        if case.oracle().nan_is_open or case.oracle().has_empty:
            continue
        try:
            results = computed(case)
        except RuntimeError as missing:
            assert "No implementation for operator" in str(missing)
            continue
        assert same(results[0], case.oracle().output).all(), (list(case.context.lines()), case.attributes)
        ops |= {node.op for node in case.context.after}
        compared += 1
    assert compared > 30
    assert ops >= {"Add", "Sub", "Mul", "Max", "Min", "Equal", "Greater", "Where", "Concat", "MaxPool"}


def test_the_reference_conforms_and_any_other_value_of_a_cell_does_not():
    mixed = 0
    for case in drawn()[:60]:
        oracle = case.oracle()
        expected = {name: tensor for name, tensor in oracle.expected.items() if name != "Indices"}
        assert verdict(oracle, expected) in (Verdict.CONFORMS, Verdict.UNDEFINED)
        mixed += oracle.graph.is_mixed
        Y = expected["Y"]
        for at in range(0, Y.size, max(1, Y.size // 3)):
            wrong = Y.copy()
            value = wrong.reshape(-1)[at]
            if oracle.has_undefined or value != value:
                continue
            wrong.reshape(-1)[at] = (
                -1
                if is_float(Y.dtype) and not np.isfinite(value)
                else value ^ 1
                if Y.dtype.kind in "iu"
                else value / 2 + 1 / 3
            )
            assert verdict(oracle, {**expected, "Y": wrong}) is Verdict.DIVERGES, (list(case.context.lines()), at)
    assert mixed > 5


def test_what_a_mistake_would_change_is_known_or_not_of_each_kind():
    known = [would_change(case.oracle(), kind, indices=False) for case in drawn()[:20] for kind in DivergenceKind]
    assert {*known} == {True, False}


def full(case):
    """The attributes of MaxPool as explicit numbers."""
    axes = case.resolved.geometry
    pads = [*(axis.begin for axis in axes), *(axis.end for axis in axes)]
    names = {"kernel_shape": "kernel", "strides": "stride", "dilations": "dilation"}
    numbers = {name: [getattr(axis, field) for axis in axes] for name, field in names.items()}
    return {
        **numbers,
        "pads": pads,
        "auto_pad": "NOTSET",
        **{each: case.attributes.get(each, 0) for each in ("ceil_mode", "storage_order")},
    }


def test_a_wrong_kernel_in_a_graph_conforms_only_where_the_output_is_right():
    kernels = [each.function() for each in wrong_kernels() if not each.specs and each.module != DEATHS][::5]
    verdicts = collections.Counter()
    for case, kernel in itertools.product(drawn()[:80], kernels):
        oracle = case.oracle()
        if oracle.has_empty or oracle.pooling.alternatives or case.context.side_outputs:
            continue
        with suppress(Inexact, ValueError, IndexError, TypeError), np.errstate(all="ignore"):
            Y, numbers, *_ = *kernel(case.entering.copy(), full(case)), None
            *_, output = oracle.graph.steps(Y, oracle.pooled.Indices if numbers is None else numbers)
            given = verdict(oracle, {**oracle.expected, "Y": output})
            is_alike = output.shape == oracle.output.shape and output.dtype == oracle.output.dtype
            zeros = is_alike and ((output == 0) & (oracle.output == 0))
            is_right = is_alike and bool((same(output, oracle.output) | zeros).all())
            assert given is not Verdict.ERROR, (list(case.context.lines()), case.attributes)
            assert is_right or given is not Verdict.CONFORMS or oracle.nan_is_open, list(case.context.lines())
            assert not is_alike or not same(output, oracle.output).all() or given is Verdict.CONFORMS
            verdicts[given] += 1
    assert min(verdicts[Verdict.CONFORMS], verdicts[Verdict.DIVERGES]) > 20


@pytest.mark.parametrize("after", BRANCHES)
def test_a_model_with_a_branch_is_read_as_what_it_was_written_of(after):
    oracle = oracle_of(after)
    model = onnx.ModelProto.FromString(build(oracle.graph, ("Y",)).model)
    onnx.checker.check_model(model, full_check=True)
    judged = next(node for node in model.graph.node if node.op_type == "MaxPool").output[0]
    chain = read_chain(
        model, {"X": X}, judged if sum(node.op_type == "MaxPool" for node in model.graph.node) > 1 else None
    )
    again = graph_oracle(X, "onnx-22", chain.context, **chain.attributes)
    assert same(again.output, oracle.output).all()
    assert same(again.sources, oracle.sources).all()


def test_a_wrong_cell_of_a_joined_tensor_is_named_in_both():
    oracle = oracle_of(SPPF)
    Y = oracle.output.copy()
    Y[0, 2, 0, 0] += 1
    (judgement,) = judge(oracle, {Y_ONLY: Returned({"Y": Y})}).values()
    assert judgement.message.startswith(
        "Y[0, 0, 0, 0] is 10.0, expected 9.0; of the output of the graph, Y[0, 2, 0, 0] is 10.0"
    )
    Y = oracle.output.copy()
    Y[0, 0, 0, 0] = 7
    (judgement,) = judge(oracle, {Y_ONLY: Returned({"Y": Y})}).values()
    assert judgement.message == "Y differs in cells that do not come from MaxPool: Y[0, 0, 0, 0] is 7.0, expected 4.0"


PADDED = np.pad(X, [(0, 0), (0, 0), (1, 1), (1, 1)])
WINDOWS = np.lib.stride_tricks.sliding_window_view(PADDED, (3, 3), axis=(2, 3))


@pytest.mark.parametrize(
    ("after", "expected", "named"),
    [
        (PEAKS, lambda Y: np.where(X == Y, X, np.float32(0)), "y-pad-value-leak"),
        (HEAT, lambda Y: X * (X == Y), "y-pad-value-leak"),
        (LESS_MAXIMUM, lambda Y: X - Y, "y-pad-value-leak"),
    ],
)
def test_padding_with_zero_is_seen_behind_a_branch(after, expected, named):
    oracle, Y = oracle_of(after), WINDOWS.max((-1, -2))
    assert (Y != oracle.plain.outputs["Y"]).any()
    (judgement,) = judge(oracle, {Y_ONLY: Returned({"Y": expected(Y) + np.float32(0)})}).values()
    assert judgement.verdict is Verdict.DIVERGES
    assert [kind.value for kind in judgement.kinds] == [named]


@pytest.mark.parametrize(
    ("after", "message"),
    [
        ([Node("Equal", OF_X)], "an output of the graph has truth values"),
        ([Node("Neg", source="X")], "does not come from the judged MaxPool"),
        ([Node("Add", {"inputs": ["Z"]})], "Add takes Z, which no node before it makes"),
        ([Node("Neg", source="Z")], "Neg takes Z, which no node before it makes"),
        ([Node("Add", {"inputs": ["X", "X"]})], "Add takes 1 input besides its first, got 2"),
        ([Node("Where", {"inputs": ["X", 0]})], "Where takes a condition first, of Equal or Greater, got float32"),
        ([Node("Add", {"inputs": [{"dtype": "int8", "data": 1}]})], "has no input of int8"),
        (
            [Node("Add", {"inputs": [[[[1, 2, 3]]]]})],
            r"Add: tensors of the shapes \[1, 1, 4, 4\] and \[1, 1, 3\] do not broadcast",
        ),
    ],
)
def test_a_branch_without_a_result_is_refused_with_its_reason(after, message):
    with pytest.raises(Inexact, match=message):
        oracle_of(after, before=[Node("Relu")] if "truth" in message else ()).check_exact()


def test_a_result_that_the_document_leaves_open_is_no_result_of_a_mixed_graph():
    zeros = X.copy()
    zeros[0, 0, :2, :2] = [[-0.0, 0.0], [-4, -5]]
    with pytest.raises(Inexact, match="leaves the output of MaxPool open"):
        oracle_of(LESS_MAXIMUM, zeros, kernel_shape=[2, 2], strides=[2, 2], pads=[0, 0, 0, 0]).check_exact()


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        ("[{op: MaxPool}, {op: Add, inputs: [{}]}]", "missing 'dtype'"),
        ("[{op: MaxPool}, {op: Add, inputs: [{dtype: float32}]}]", "missing 'data'"),
        ("[{op: MaxPool}, {op: Add, inputs: [{dtype: float32, data: [[1, 2], [3]]}]}]", "in lists of equal length"),
        ("[{op: MaxPool}, {op: Add, inputs: [[null]]}]", "must be numbers"),
        ("[{op: MaxPool}, {op: Add, inputs: [true]}]", "expected"),
        ("[{op: MaxPool}, {op: Add, inputs: X}]", "expected a list"),
        ("[{op: MaxPool}, {op: Add}]", "Add needs inputs, a list of numbers and names, such as [X]"),
        ("[{op: MaxPool}, {op: Equal}, {op: Add, inputs: [0]}]", "Equal needs inputs"),
        (
            "[{op: MaxPool}, {op: Equal, inputs: [X]}, {op: Add, inputs: [0]}]",
            "Add takes numbers; put a Cast before it",
        ),
        (
            "[{op: MaxPool}, {op: Equal, inputs: [X]}, {op: Where, inputs: [1, 0]}]",
            "Where of numbers alone has no dtype",
        ),
        ("[{op: MaxPool, name: p}, {op: Neg}]", "its output is Y"),
        ("[{op: MaxPool}, {op: Neg, name: X}]", "letters, digits, - and _, a letter first; not X, Y"),
        ("[{op: Relu, name: a}, {op: MaxPool}, {op: Neg, name: a}]", "two nodes have the name a"),
        ("[{op: Relu, name: a}, {op: Abs, from: X}, {op: MaxPool}]", "nothing takes the output of Relu"),
        ("[{op: MaxPool}, {op: Neg}, {op: Relu, from: Y}]", "nothing takes the output of Neg"),
        ("[{op: Relu, name: two}, {op: MaxPool}, {op: Add, inputs: [tow]}]", "did you mean 'two'?"),
        ("[{op: MaxPool}, {op: Add, inputs: [q]}]", "known are X, Y"),
        ("[{op: Add, inputs: [Y]}, {op: MaxPool}]", "Add takes Y, which no node before it makes"),
        ("[{op: MaxPool}, {op: Relu, inputs: [X]}]", "Relu has no field 'inputs'"),
        ("[{op: MaxPool}, {op: Relu, from: ''}]", "shorter than 1 character"),
    ],
)
def test_a_mistake_in_a_branch_is_named(tmp_path, graph, message):
    text = f"spec: onnx-22\ncases:\n  - id: a\n    title: A\n    opset: 22\n    input: {{dtype: float32, shape: [1, 1, 3, 3], fill: 1}}\n    graph: {graph}\n"
    (tmp_path / "a.yaml").write_text(f"{text}    attributes: {{kernel_shape: [3, 3], pads: [1, 1, 1, 1]}}\n")
    with pytest.raises(maxpool_check.CorpusError) as mistake:
        maxpool_check.read_cases(tmp_path / "a.yaml")
    assert message in str(mistake.value)


def test_a_neighbour_of_another_rank_is_merged_with_nothing():
    deeper = {"kernel_shape": [1, 3, 3], "pads": [0, 1, 1, 0, 1, 1]}
    oracle = oracle_of([Node("Unsqueeze", {"axes": [2]}), Node("MaxPool", deeper)])
    assert verdict(oracle, {"Y": oracle.output + 1}) is Verdict.DIVERGES
