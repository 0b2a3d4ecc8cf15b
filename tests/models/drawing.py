"""Models that are drawn at random, with pools in chains, and what they compute by numpy: onnx's evaluator with loops for MaxPool."""

import random

import numpy as np
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator
from onnx.reference.op_run import OpRun

from tests.models.writing import versions

OPSET = 19
SIZE = 8


class MaxPool(OpRun):
    """MaxPool over two axes by loops: the maximum, and its first place in row-major order."""

    op_domain = ""

    def _run(self, x, kernel_shape=None, strides=None, dilations=None, pads=None, auto_pad=None, **_):
        strides, dilations = strides or [1, 1], dilations or [1, 1]
        reach = [(k - 1) * d + 1 for k, d in zip(kernel_shape, dilations, strict=True)]
        begin, end = (pads or [0] * 4)[:2], (pads or [0] * 4)[2:]
        if auto_pad == "SAME_UPPER":
            sizes = [-(-n // s) for n, s in zip(x.shape[2:], strides, strict=True)]
            total = [max(0, (m - 1) * s + r - n) for m, s, r, n in zip(sizes, strides, reach, x.shape[2:], strict=True)]
            begin, end = [each // 2 for each in total], [each - each // 2 for each in total]
        sizes = [
            (n + a + b - r) // s + 1 for n, a, b, r, s in zip(x.shape[2:], begin, end, reach, strides, strict=True)
        ]
        Y = np.zeros((*x.shape[:2], *sizes), x.dtype)
        indices = np.zeros(Y.shape, np.int64)
        for at in np.ndindex(Y.shape):
            rows = [at[2] * strides[0] - begin[0] + tap * dilations[0] for tap in range(kernel_shape[0])]
            columns = [at[3] * strides[1] - begin[1] + tap * dilations[1] for tap in range(kernel_shape[1])]
            window = [
                (*at[:2], row, column)
                for row in rows for column in columns
                if 0 <= row < x.shape[2] and 0 <= column < x.shape[3]
            ]  # fmt: skip
            best = max(window, key=lambda cell: (x[cell], -window.index(cell)))
            Y[at], indices[at] = x[best], np.ravel_multi_index(best, x.shape)
        return (Y, indices) if len(self.onnx_node.output) > 1 else (Y,)


def by_numpy(model, inputs):
    """The outputs of a model, by name."""
    values = ReferenceEvaluator(model, new_ops=[MaxPool]).run(None, inputs)
    return dict(zip((value.name for value in model.graph.output), values, strict=True))


def drawn(seed):
    """A model: a chain of exact nodes with one to three pools, the Indices of some used, and some tensors as outputs, with its input."""
    choose = random.Random(seed)
    dtype, channels = choose.choice([np.float32] * 4 + [np.float16]), choose.choice([1, 3, 16])
    draw = _Drawing(choose, np.dtype(dtype), [1, channels, SIZE, SIZE])
    for _ in range(choose.randint(0, 2)):
        draw.exact()
    for _ in range(choose.randint(1, 3)):
        draw.pool()
        for _ in range(choose.randint(0, 2)):
            draw.exact()
    return draw.model(), {"x": draw.input(seed)}


class _Drawing:
    def __init__(self, choose, dtype, shape):
        self.choose, self.dtype, self.shape = choose, dtype, shape
        self.start, self.nodes, self.constants, self.outputs = list(shape), [], [], {}
        self.name, self.type = "x", helper.np_dtype_to_tensor_dtype(dtype)

    def new(self, name):
        names = {each for node in self.nodes for each in node.output} | {each.name for each in self.constants}
        # Also such as a tool would give.
        candidates = (name, *(f"{name}{number}" for number in range(2, 100)))
        return next(each for each in candidates if each not in names)

    def add(self, op, *constants, name=None, outputs=(), **attributes):
        names = []
        for value in constants:
            names.append(self.new("c"))
            self.constants.append(numpy_helper.from_array(np.asarray(value), names[-1]))
        output = self.new(name or self.choose.choice(["y", "t", "y_indices", "x_float32"]))
        made = [output, *outputs]
        self.nodes.append(helper.make_node(op, [self.name, *names], made, f"n_{output}", **attributes))
        self.name = output

    def exact(self):
        """A node that has one exact result."""
        kind = self.choose.choice(["Relu", "Clip", "Transpose", "Slice", "Pad", "Concat", "QDQ", "QDQ", "Cast", "Neg"])
        if kind in ("Relu", "Neg"):
            self.add(kind)
        elif kind == "Clip":
            self.add("Clip", np.array(-1, self.dtype), np.array(1.5, self.dtype))
        elif kind == "Transpose":
            self.add("Transpose", perm=[0, 1, 3, 2])
            self.shape[2:] = self.shape[:1:-1]
        elif kind == "Slice" and min(self.shape[2:]) > 3:
            self.add("Slice", np.array([1]), np.array([2**31]), np.array([2]))
            self.shape[2] -= 1
        elif kind == "Pad":
            self.add("Pad", np.array([0, 0, 1, 1, 0, 0, 1, 1]), np.array(0, self.dtype))
            self.shape[2:] = [size + 2 for size in self.shape[2:]]
        elif kind == "Concat":
            name = self.new("c")
            self.constants.append(numpy_helper.from_array(np.zeros(self.shape, self.dtype), name))
            before, self.name = self.name, self.new("y")
            self.nodes.append(helper.make_node("Concat", [before, name], [self.name], f"n_{self.name}", axis=1))
            self.shape[1] *= 2
        elif kind == "Cast" and self.dtype == np.float32:
            self.add("Cast", to=TensorProto.FLOAT16)
            self.add("Cast", to=TensorProto.FLOAT)
        elif kind == "QDQ" and self.dtype == np.float32:
            scale, zero = np.array(0.25, np.float32), np.array(128, np.uint8)
            self.add("QuantizeLinear", scale, zero)
            self.add("DequantizeLinear", scale, zero)

    def pool(self):
        """A MaxPool, perhaps with Indices that are an output or flow into a MaxUnpool."""
        kernel = self.choose.choice([2, 2, 3])
        attributes = {"kernel_shape": [kernel, kernel], "strides": [self.choose.choice([1, 2])] * 2}
        dilation = self.choose.choice([1, 1, 1, 2])
        if dilation > 1:
            attributes["dilations"] = [2, 2]
        if self.choose.random() < 0.3:
            attributes["auto_pad"] = "SAME_UPPER"
        elif self.choose.random() < 0.4:
            attributes["pads"] = [1, 1, 1, 1]
        probe = np.zeros((1, 1, *self.shape[2:]), np.float32)
        node = helper.make_node("MaxPool", ["x"], ["y"], **attributes)
        try:
            sizes = (
                MaxPool(node, {"log": lambda *_: None, "opsets": {"": OPSET}, "verbose": 0, "new_ops": None})
                .run(probe)[0]
                .shape[2:]
            )
        except Exception:
            sizes = (0, 0)
        if min(sizes, default=0) < 1:
            attributes = {"kernel_shape": [1, 1]}
            sizes = self.shape[2:]
        before, use = list(self.shape), self.choose.choice(["", "", "output", "unpool"])
        indices = [self.new("i")] if use else []
        self.add("MaxPool", name="p", outputs=indices, **attributes)
        self.shape[2:] = sizes
        if use == "output":
            self.outputs[indices[0]] = (TensorProto.INT64, list(self.shape))
        if use == "unpool" and attributes.get("strides") == [kernel, kernel] and len(attributes) == 2:
            shape, output = self.new("c"), self.new("u")
            self.constants.append(numpy_helper.from_array(np.array(before), shape))
            taken = [self.name, indices[0], shape]
            steps = {"kernel_shape": [kernel] * 2, "strides": [kernel] * 2}
            self.nodes.append(helper.make_node("MaxUnpool", taken, [output], f"n_{output}", **steps))
            self.outputs[output] = (self.type, before)

    def model(self):
        """The model so far."""
        self.outputs[self.name] = (self.type, list(self.shape))
        outputs = [helper.make_tensor_value_info(name, *each) for name, each in self.outputs.items()]
        graph = helper.make_graph(
            self.nodes, "drawn", [helper.make_tensor_value_info("x", self.type, self.start)], outputs, self.constants
        )
        return helper.make_model(graph, opset_imports=versions(onnx=OPSET), ir_version=9)

    def input(self, seed):
        """Values around zero, in steps that quantization does not keep."""
        return np.random.default_rng(seed).normal(0, 1, self.start).astype(self.dtype)
