"""Ranges of tensors: no tensor leaves its own, whatever the inputs are in theirs; and what is then tested and said."""

import math
import re

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

from maxpool_check.models.analysis import analyse
from maxpool_check.models.inputs import random_inputs
from maxpool_check.models.model_file import read_model
from maxpool_check.models.ranges import ANY, Range
from tests.models import zoo
from tests.models.writing import saved, written

KINDS = (
    *(
        "Conv",
        "Relu",
        "BatchNormalization",
        "MaxPool",
        "AveragePool",
        "Clip",
        "Sigmoid",
        "Tanh",
        "Softmax",
        "Abs",
        "LeakyRelu",
    ),
    *("Add", "Sub", "Mul", "Div", "Concat", "Pad", "Resize", "LRN", "PRelu", "Max", "Min", "Where", "Sum", "Dropout"),
    *("Quantize", "Transpose", "Reshape", "Cast", "Exp", "MatMul", "Gemm", "GlobalAveragePool", "ReduceMean", "Split"),
)


class Drawn:
    """A graph of random operators with random weights, on X [1, 3, 8, 8]; MaxPool at its end."""

    def __init__(self, seed, kinds=KINDS, length=6):
        self.random, self.nodes, self.weights = np.random.default_rng(seed), [], []
        self.name, self.shape, self.older = "X", [1, 3, 8, 8], ["X"]
        for kind in self.random.choice(kinds, length):
            self.add(str(kind))
        if len(self.shape) == 4:
            self.node("MaxPool", kernel_shape=[2, 2], pads=[0, 0, 1, 1])

    def constant(self, values):
        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(np.asarray(values), name))
        return name

    def normal(self, *shape):
        return (self.random.normal(size=shape) * 10.0 ** self.random.integers(-2, 2)).astype(np.float32)

    def node(self, op, *inputs, outputs=1, **attributes):
        names = [f"t{len(self.nodes)}_{number}" for number in range(outputs)]
        self.nodes.append(helper.make_node(op, [self.name, *inputs], names, **attributes))
        self.name = names[0]
        self.older += names

    def add(self, kind):  # noqa: C901  # an operator has a line or two
        channels, rank = self.shape[1], len(self.shape)
        scalar = lambda: self.constant(self.normal(1)[0])  # noqa: E731
        if rank != 4 and kind in (
            "Conv",
            "BatchNormalization",
            "MaxPool",
            "AveragePool",
            "LRN",
            "Resize",
            "Pad",
            "GlobalAveragePool",
        ):
            return
        match kind:
            case "Conv":
                self.node(
                    "Conv", self.constant(self.normal(4, channels, 3, 3)), self.constant(self.normal(4)), pads=[1] * 4
                )
                self.shape[1] = 4
            case "BatchNormalization":
                values = [
                    self.normal(channels),
                    self.normal(channels),
                    self.normal(channels),
                    np.abs(self.normal(channels)),
                ]
                self.node(kind, *map(self.constant, values))
            case "MaxPool" | "AveragePool":
                self.node(kind, kernel_shape=[3, 3], pads=[1] * 4)
            case "Clip":
                self.node(kind, self.constant(np.float32(-0.5)), self.constant(np.float32(4)))
            case "Add" | "Sub" | "Mul" | "Max" | "Min" | "Sum":
                self.node(kind, self.name if self.random.random() < 0.3 else scalar())
            case "Div":
                self.node(kind, self.constant(np.float32(self.random.choice([-3.5, 0.25, 0.0]))))
            case "Concat":
                self.node(kind, self.name, axis=1)
                self.shape[1] *= 2
            case "Pad":
                self.node(
                    kind, self.constant(np.array([0, 0, 1, 1] * 2)), *([scalar()] if self.random.random() < 0.5 else [])
                )
                self.shape = [*self.shape[:2], self.shape[2] + 2, self.shape[3] + 2]
            case "Resize":
                mode = str(self.random.choice(["nearest", "linear"]))
                self.node(kind, "", self.constant(np.array([1, 1, 2, 2], np.float32)), mode=mode)
                self.shape = [*self.shape[:2], self.shape[2] * 2, self.shape[3] * 2]
            case "LRN":
                self.node(kind, size=3, alpha=0.1, beta=0.75, bias=2.0)
            case "PRelu":
                self.node(kind, self.constant(self.normal(channels, 1, 1)) if rank == 4 else scalar())
            case "Where":
                condition = self.constant(self.random.random(self.shape[-1:]) < 0.5)
                self.nodes.append(
                    helper.make_node(kind, [condition, self.name, scalar()], [name := f"t{len(self.nodes)}_0"])
                )
                self.name = name
            case "Quantize":
                dtype = self.random.choice([np.int8, np.uint8])
                zero = self.constant(np.array(self.random.integers(0, 100), dtype))
                scale = self.constant(np.float32(self.random.choice([0.01, 0.5, 3])))
                self.node("QuantizeLinear", scale, zero)
                self.node("DequantizeLinear", scale, zero)
            case "Transpose":
                self.node(kind, perm=[*range(rank - 2), rank - 1, rank - 2])
                self.shape[-2:] = self.shape[:-3:-1]
            case "Reshape":
                self.node(kind, self.constant(np.array([1, -1])))
                self.shape = [1, math.prod(self.shape)]
            case "Cast":
                self.node(kind, to=int(self.random.choice([TensorProto.INT32, TensorProto.FLOAT16])))
                self.node(kind, to=TensorProto.FLOAT)
            case "MatMul":
                self.node(kind, self.constant(self.normal(self.shape[-1], 5)))
                self.shape[-1] = 5
            case "Gemm":
                if rank == 2:
                    weights = self.constant(self.normal(4, self.shape[1]))
                    self.node(kind, weights, self.constant(self.normal(4)), transB=1, alpha=0.5, beta=2.0)
                    self.shape[1] = 4
            case "GlobalAveragePool":
                self.node(kind)
                self.shape[2:] = [1, 1]
            case "ReduceMean":
                self.node(kind, self.constant(np.array([rank - 1])))
                self.shape[-1] = 1
            case "Split" if self.shape[-2] > 1:
                self.node(kind, outputs=2, axis=rank - 2, num_outputs=2)
                self.shape[-2] = -(-self.shape[-2] // 2)
            case "Split" | "Gemm":
                pass
            case _:
                self.node(kind)

    @property
    def model(self):
        X = helper.make_tensor_value_info("X", TensorProto.FLOAT, [1, 3, 8, 8])
        output = helper.make_empty_tensor_value_info(self.name)
        graph = helper.make_graph(self.nodes, "drawn", [X], [output], self.weights)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)


def tensors_of(model, name, X):
    """Every tensor that a plain session without optimization computes."""
    seen = onnx.ModelProto()
    seen.CopyFrom(model)
    del seen.graph.output[:]
    names = [name for node in model.graph.node for name in node.output if name]
    seen.graph.output.extend(map(helper.make_empty_tensor_value_info, names))
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(seen.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return dict(zip(names, session.run(names, {name: X}), strict=True))


def inputs_in(of, shape, seed):
    """Random values, and the extreme ones, of a range."""
    random, (low, high) = np.random.default_rng(seed), (of.low, of.high)
    if not of.is_finite:
        special = np.array([0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 3e38, -3e38, 1e-40], np.float32)
        yield from (random.choice(special, shape), random.normal(size=shape).astype(np.float32))
        yield from (np.full(shape, value, np.float32) for value in special)
        return
    yield from (np.full(shape, value, np.float32) for value in (low, high, (low + high) / 2))
    yield random.uniform(low, high, shape).astype(np.float32)
    yield from (random.choice(np.array([low, high], np.float32), shape) for _ in range(3))


def check(model, path, of, seed):
    """That no tensor of a model leaves its range; the ranges."""
    constants = {tensor.name for tensor in model.graph.initializer}
    (value,) = (each for each in model.graph.input if each.name not in constants)
    name, shape = value.name, [axis.dim_value or 1 for axis in value.type.tensor_type.shape.dim]
    found = analyse(read_model(saved(model, path)), input_ranges={name: of}).ranges
    unsure = set()
    for node in model.graph.node:
        # A range holds if the operators in front are right, and of NaN ONNX Runtime makes a maximum that is in no cell.
        is_maximum = node.op_type in ("MaxPool", "GlobalMaxPool", "ReduceMax") and not found[node.input[0]].is_finite
        if is_maximum or unsure & {*node.input}:
            unsure |= {*node.output}
    with np.errstate(all="ignore"):
        for X in inputs_in(of, shape, seed):
            for tensor, values in {**tensors_of(model, name, X), name: X}.items():
                if tensor not in unsure and values.dtype != object and values.dtype.kind in "fiu":
                    assert found[tensor].holds(values), (tensor, found[tensor], values.min(), values.max())
    return found


RANGES = (Range(0, 1), Range(-3.5, 2.25), Range(0, 255), Range(-1e20, 1e30), ANY)


@pytest.mark.parametrize("seed", range(10))
def test_no_tensor_of_a_drawn_model_leaves_its_range(seed, tmp_path):
    drawn = Drawn(seed)
    check(drawn.model, tmp_path, RANGES[seed % len(RANGES)], seed)


@pytest.mark.parametrize("seed", range(10, 120))
def test_no_tensor_of_many_drawn_models_leaves_its_range(seed, tmp_path):
    drawn = Drawn(seed)
    check(drawn.model, tmp_path, RANGES[seed % len(RANGES)], seed)


@pytest.mark.parametrize("of", RANGES)
@pytest.mark.parametrize("name", ["squeezenet", "bvlc_alexnet", "resnet50"])
def test_no_tensor_of_a_light_model_leaves_its_range(name, of, tmp_path):
    model = onnx.load(zoo.light(name))
    found = check(model, tmp_path, of, 1)
    pools = [node.input[0] for node in model.graph.node if node.op_type == "MaxPool"]
    assert of.largest > 1e4 or all(found[pool].is_finite for pool in pools)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in ("Exp", "Gemm")])
def test_each_rule_bounds_what_it_makes(kind, tmp_path):
    """An operator that has a rule does not make everything of a range: most of a network would then be unbounded."""
    for seed in range(4):
        drawn = Drawn(seed, kinds=(kind,), length=1)
        found = check(drawn.model, tmp_path, Range(0.5, 2), seed)
        assert kind == "Div" or all(each.is_finite for each in found.values()), found


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("y = Clip (x, min, max)", ANY),
        ("y = Relu (x)", Range(0, math.inf, nan=True)),
        ("a = Relu (x) y = Neg (a)", Range(-math.inf, 0, nan=True)),
        ("a = Relu (x) y = Pad (a, pads)", Range(0, math.inf, nan=True)),
        ("y = Abs (x)", Range(0, math.inf, nan=True)),
    ],
)
def test_nothing_is_assumed_of_an_input(text, expected, tmp_path):
    model = written(
        f"g (float[1,1,4,4] x, float min, float max) => (float[1,1,a,b] y) {{ {text} }}",
        {"pads": np.array([0] * 8)},
        onnx=18,
    )
    assert analyse(read_model(saved(model, tmp_path))).ranges["y"] == expected


CHAIN = """g (float[1,3,16,16] X) => (float[1,4,h,w] Y) {
    c = Conv <kernel_shape = [3, 3]> (X, W)
    n = BatchNormalization (c, scale, bias, mean, variance)
    r = Relu (n)
    [pool] Y = MaxPool <kernel_shape = [2, 2]> (r)
}"""
INTEGERS = """g (float[1,3,16,16] X) => (int8[1,3,h,w] Y) {
    r = Relu (X)
    q = QuantizeLinear (r, s, z)
    [pool] Y = MaxPool <kernel_shape = [2, 2]> (q)
}"""
NORM = {name: np.linspace(0.5, 2, 4, dtype=np.float32) for name in ("scale", "bias", "mean", "variance")}


def quantized(zero):
    return written(INTEGERS, {"s": np.float32(0.02), "z": np.array(zero, np.int8)}, onnx=13)


@pytest.fixture
def kernel(tmp_path):
    """A kernel that ignores NaN, and is wrong where a window has nothing but -128."""
    path = tmp_path / "kernel.py"
    path.write_text(
        "import maxpool_check, numpy as np\n"
        "def odd(X, attributes):\n"
        "    is_float = X.dtype.kind == 'f'\n"
        "    made = maxpool_check.maxpool(np.nan_to_num(X, nan=-1.0) if is_float else X, **attributes)\n"
        "    return made.Y if is_float else np.where(made.Y == -128, 0, made.Y).astype(X.dtype), made.Indices\n"
    )
    return f"python:{path}:odd"


@pytest.mark.parametrize(
    ("model", "words", "result"),
    [
        (lambda: written(CHAIN, {"W": (4, 3, 3, 3), **NORM}, onnx=15), (), "CONFORMS ON FINITE VALUES"),
        (lambda: written(CHAIN, {"W": (4, 3, 3, 3), **NORM}, onnx=15), ("--input-range", "X=0:1"), "CONFORMS  "),
        (lambda: quantized(-128), ("--input-range", "X=-1:1"), "WRONG"),
        (lambda: quantized(0), ("--input-range", "X=-1:1"), "CONFORMS  "),
    ],
)
def test_only_what_can_reach_a_node_is_tested(model, words, result, cli, kernel, tmp_path):
    done = cli("model", saved(model(), tmp_path), "-t", kernel, *words)
    assert done.code == (result == "WRONG")
    assert f"\n{result}" in done.out
    says_more = result == "CONFORMS ON FINITE VALUES"
    assert ("Next: add --input-range X=0:1" in done.out) == says_more
    assert ("NaN and -inf are not excluded, since nothing is known of 'X'" in done.out) == says_more


def test_the_input_that_makes_a_node_wrong_is_named_with_what_the_model_returns(cli, tmp_path):
    text = "g (float[1,1,8,8] X) => (float[1,1,h,w] Y) { [pool] Y = MaxPool <kernel_shape = [3, 3], pads = [1, 1, 1, 1]> (X) }"
    path = saved(written(text, onnx=12), tmp_path)
    done = cli("model", path, "-t", "onnxruntime", COLUMNS="250").check(0)
    X = np.full((1, 1, 8, 8), -np.inf, np.float32)
    (Y,) = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"]).run(None, {"X": X})
    returned = f"the model then returns Y float32 [1, 1, 8, 8]: {Y.min():.4g} to {Y.max():.4g}"
    assert f"pool on onnxruntime, wrong for X with -inf in every cell; {returned}" in done.out
    assert "pool on onnxruntime, wrong for X with NaN in every seventh cell; the model then returns" in done.out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--input-range Z=0:1", "--input-range names Z; the inputs are X"),
        ("--input-range X", "'X' is not NAME=LOW:HIGH, such as images=0:1"),
        ("--input-range X=1:0", "is not NAME=LOW:HIGH"),
        ("--input-range X=nan:1", "is not NAME=LOW:HIGH"),
        ("--input-range X=0:1 --input-range X=0:2", "--input-range gives 'X' twice"),
        ("--input-range X=0:1 --inputs in.npz", "--inputs has values of 'X' outside of --input-range X=[0, 1]"),
    ],
)
def test_wrong_ranges(words, message, cli, tmp_path):
    path = saved(quantized(0), tmp_path)
    np.savez(tmp_path / "in.npz", X=np.full((1, 3, 16, 16), 2, np.float32))
    words = words.replace("in.npz", str(tmp_path / "in.npz")).split()
    cli("model", path, "-t", "onnxruntime", *words).check(2, message)


def test_random_inputs_are_in_their_range(tmp_path):
    analysis = analyse(read_model(saved(quantized(0), tmp_path)), input_ranges={"X": Range(5, 6)})
    (X,) = random_inputs(analysis.model, analysis.tested.types, analysis.input_ranges).values()
    assert 5 <= X.min() < 5.2 < 5.8 < X.max() <= 6


def test_nan_is_tested_behind_a_relu(cli, kernel, tmp_path):
    """Relu keeps NaN; no value below zero is among those that are tested with it."""
    text = "g (float[1,2,8,8] X) => (float[1,2,h,w] Y) { r = Relu (X) [pool] Y = MaxPool <kernel_shape = [2, 2]> (r) }"
    path, record = saved(written(text, onnx=17), tmp_path), tmp_path / "record.jsonl"
    done = cli("model", path, "-t", kernel, "-o", record).check(0)
    assert re.search("conforms except on .*NaN", done.out)
    cli("model", path, "-t", kernel, "--strict").check(1)
    (case,) = (each.case for each in analyse(read_model(path)).nodes[0].cases if each.case.id.endswith("/alone/nan"))
    X = case.X.tensor()
    assert np.isnan(X).any()
    assert np.nanmin(X) >= 0


def test_a_known_defect_that_no_test_shows_leaves_no_plain_conforms(cli, tmp_path):
    """On so few cells ONNX Runtime keeps NaN where they are tested; with a range none can get there."""
    text = "g (float[1,1,4,4] X) => (float[1,1,h,w] Y) { [pool] Y = MaxPool <kernel_shape = [2, 2]> (X) }"
    words = ("model", saved(written(text, onnx=12), tmp_path), "-t", "onnxruntime")
    done = cli(*words).check(0)
    assert "ORT-NAN-POSITION  NaN " in done.out
    assert "\nCONFORMS ON FINITE VALUES  of 1 MaxPool node, 1 conforms on onnxruntime" in done.out
    assert "Next: add --input-range X=0:1" in done.out
    assert (
        "\nCONFORMS  of 1 MaxPool node, 1 conforms on onnxruntime" in cli(*words, "--input-range", "X=0:1").check(0).out
    )


def test_a_network_of_convolutions_conforms_with_a_range_of_its_input(cli):
    words = ("model", zoo.light("resnet50"), "-t", "onnxruntime")
    assert "\nCONFORMS ON FINITE VALUES  of 1 MaxPool node" in cli(*words).check(0).out
    done = cli(*words, "--input-range", "gpu_0/data_0=0:1").check(0)
    assert "\nCONFORMS  of 1 MaxPool node, 1 conforms on onnxruntime" in done.out


@pytest.mark.parametrize(
    ("text", "weights", "of", "shape"),
    [
        ("y = Gemm (X, W, C)", {"W": np.array([[1, 0]] * 3), "C": np.array([[10, -10]])}, Range(0, 1), [2, 3]),
        (
            "b = DequantizeLinear (q, one) y = Conv (X, W, b)",
            {"W": np.array([50, 0]).reshape(2, 1, 1, 1), "q": np.array([100, -100], np.int32), "one": np.array(1)},
            Range(0, 1),
            [1, 1, 4, 4],
        ),
        ("y = AveragePool <kernel_shape = [2, 2]> (X)", {}, Range(-1.2e38, 1.2e38), [1, 1, 4, 4]),
        ("y = GlobalAveragePool (X)", {}, Range(0, 3e38), [1, 1, 4, 4]),
        ("y = ReduceMean <axes = [2, 3]> (X)", {}, Range(0, 3e38), [1, 1, 4, 4]),
        ("b = Cast <to = 9> (X) y = Cast <to = 1> (b)", {}, Range(0, 0.5), [1, 1, 4, 4]),
        (
            "y = Gemm <beta = -2.0> (X, W, C)",
            {"W": np.array([[1, 0]] * 3), "C": np.array([[10, -10]])},
            Range(0, 1),
            [2, 3],
        ),
        ("y = Clip (X, three, one)", {"three": np.array(3), "one": np.array(1)}, Range(0, 5), [1, 1, 4, 4]),
        ("y = LRN <size = 3, alpha = 1.0, beta = 0.75, bias = 0.5> (X)", {}, Range(-1e25, 1e25), [1, 4, 4, 4]),
    ],
)
def test_no_tensor_of_a_model_that_was_once_claimed_too_narrow_leaves_its_range(text, weights, of, shape, tmp_path):
    weights = {name: each if each.dtype == np.int32 else each.astype(np.float32) for name, each in weights.items()}
    model = written(f"g (float{shape} X) => (float y) {{ {text} }}".replace(" ", " "), weights, onnx=17)
    model.graph.output[0].type.tensor_type.ClearField("shape")
    check(model, tmp_path, of, 1)


def test_the_operator_behind_which_nothing_is_known_is_named(cli, tmp_path):
    text = "g (float[1,1,8,8] X) => (float[1,1,h,w] Y) { [bends] e = Erf (X) [pool] Y = MaxPool <kernel_shape = [2, 2]> (e) }"
    done = cli("model", saved(written(text, onnx=17), tmp_path), "-t", "onnxruntime", "--input-range", "X=0:1").check(0)
    assert "\nCONFORMS ON FINITE VALUES" in done.out
    assert "NaN and -inf are not excluded, since nothing is known behind Erf 'bends'" in done.out
