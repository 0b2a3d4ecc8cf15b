"""Models as users have them: every function gives one that ONNX Runtime runs, unless it says otherwise."""

from functools import partial
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper

from tests.models.writing import initializers, saved, versions, written

LIGHT = ("resnet50", "squeezenet", "densenet121", "inception_v2", "bvlc_alexnet")
CONV_WEIGHTS = {"W": (8, 3, 3, 3), "V": (4, 8, 1, 1)}


def light(name):
    """The path of one of the models that come with onnx; their weights are computed by their own nodes."""
    return Path(onnx.__file__).parent / f"backend/test/data/light/light_{name}.onnx"


def resnet_v2():
    """The beginning of Keras' ResNet50V2 as tf2onnx writes it.

    Between its first Conv and the MaxPool stands a Pad of zeros and no Relu, so that a zero of the Pad wins over
    negative values, which it would not as ``pads`` of the MaxPool.
    """
    prefix, nodes = "resnet50v2/", []
    weights = {"kernel": (16, 3, 7, 7), "bias": np.linspace(-8, 2, 16, dtype=np.float32), "block_kernel": (8, 16, 1, 1)}
    norm = ("gamma", "beta", "mean", "variance")
    weights |= dict.fromkeys(norm[:3], (16,)) | {"variance": np.linspace(0.5, 2, 16, dtype=np.float32)}
    weights |= {f"pads_of_{amount}": np.array([0, 0, amount, amount] * 2) for amount in (3, 1)}

    def add(op, name, *inputs, **attributes):
        source = nodes[-1].output[0] if nodes else "input_1"
        nodes.append(helper.make_node(op, [source, *inputs], [f"{prefix}{name}:0"], f"{prefix}{name}", **attributes))

    add("Transpose", "conv1_pad/Pad__7", perm=[0, 3, 1, 2])
    add("Pad", "conv1_pad/Pad", "pads_of_3")
    add("Conv", "conv1_conv/BiasAdd", "kernel", "bias", dilations=[1, 1], strides=[2, 2], kernel_shape=[7, 7], group=1)
    add("Pad", "pool1_pad/Pad", "pads_of_1")
    add("MaxPool", "pool1_pool/MaxPool", strides=[2, 2], kernel_shape=[3, 3])
    add("BatchNormalization", "conv2_block1_preact_bn/FusedBatchNormV3", *norm, epsilon=1.001e-5)
    add("Relu", "conv2_block1_preact_relu/Relu")
    add("Conv", "conv2_block1_1_conv/Conv2D", "block_kernel", strides=[1, 1], kernel_shape=[1, 1], group=1)
    add("GlobalAveragePool", "avg_pool/Mean")

    sizes = {"input_1": ["unk__99", 64, 64, 3], nodes[-1].output[0]: ["unk__100", 8, 1, 1]}
    source, target = (helper.make_tensor_value_info(name, TensorProto.FLOAT, each) for name, each in sizes.items())
    graph = helper.make_graph(nodes, "tf2onnx", [source], [target], list(initializers(weights)))
    imports = versions(onnx=22)
    oldest = helper.find_min_ir_version_for(imports)
    return helper.make_model(graph, producer_name="tf2onnx", opset_imports=imports, ir_version=oldest)


def vgg16(size=240):
    """VGG-16 with a small classifier: 65 MB of weights, and MaxPool after blocks of Conv and Relu."""
    nodes, weights, X, channels = [], {}, "X", 3
    for block, (wide, count) in enumerate(((64, 2), (128, 2), (256, 3), (512, 3), (512, 3))):
        for number in range(count):
            name = f"conv{block}_{number}"
            weights[f"{name}_w"] = (wide, channels, 3, 3)
            nodes.append(helper.make_node("Conv", [X, f"{name}_w"], [name], pads=[1] * 4, kernel_shape=[3, 3]))
            nodes.append(helper.make_node("Relu", [name], [f"{name}_relu"]))
            X, channels = f"{name}_relu", wide
        nodes.append(helper.make_node("MaxPool", [X], [f"pool{block}"], kernel_shape=[2, 2], strides=[2, 2]))
        X = f"pool{block}"
    weights["classes"] = (512 * (size // 32) ** 2, 60)
    nodes += [helper.make_node("Flatten", [X], ["flat"]), helper.make_node("MatMul", ["flat", "classes"], ["Y"])]
    random = np.random.default_rng(0)
    scaled = {
        name: (random.standard_normal(shape) * (2 / np.prod(shape[1:] if len(shape) > 2 else shape[:1])) ** 0.5).astype(
            np.float32
        )
        for name, shape in weights.items()
    }
    sizes = {"X": [1, 3, size, size], "Y": [1, 60]}
    source, target = (helper.make_tensor_value_info(name, TensorProto.FLOAT, each) for name, each in sizes.items())
    graph = helper.make_graph(nodes, "vgg16", [source], [target], list(initializers(scaled)))
    imports = versions(onnx=17)
    return helper.make_model(graph, opset_imports=imports, ir_version=helper.find_min_ir_version_for(imports))


def plain(opset=22, batch=1, height=24, width=24):
    """Conv, Relu, MaxPool, Conv: what many of the others are made of."""
    text = f"""plain (float[{batch},3,{height},{width}] X) => (float[{batch},4,h,w] Y) {{
        [conv] A = Conv <pads = [1, 1, 1, 1]> (X, W)
        [relu] B = Relu (A)
        [pool] C = MaxPool <kernel_shape = [3, 3], strides = [2, 2], pads = [1, 1, 1, 1]> (B)
        [last] Y = Conv (C, V)
    }}"""
    return written(text, CONV_WEIGHTS, onnx=opset)


def exposed(**sizes):
    """`plain` with LeakyRelu, behind which any value can be, instead of Relu."""
    model = plain(**sizes)
    model.graph.node[1].op_type = "LeakyRelu"
    return model


def quantized(folder, activation="uint8", form="QDQ"):
    """The path of `plain`, quantised by ONNX Runtime; ``activation`` is uint8 or int8."""
    from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static

    class Images(CalibrationDataReader):
        def __init__(self):
            self.images = iter(np.random.default_rng(7).normal(size=(4, 1, 3, 24, 24)).astype(np.float32))

        def get_next(self):
            return next(({"X": image} for image in self.images), None)

    path, types = folder / f"{form}_{activation}.onnx", {"uint8": QuantType.QUInt8, "int8": QuantType.QInt8}
    options = {"quant_format": QuantFormat[form], "activation_type": types[activation], "weight_type": QuantType.QInt8}
    quantize_static(saved(plain(opset=21), folder, "float.onnx"), path, Images(), **options)
    return path


# Two MaxPools of NHWC tensors as tf2onnx writes them: between Transposes, the second with the pads of SAME.
NHWC = """tf2onnx (float[unk__1,23,20,8] X) => (float[unk__2,h,w,8] Y) {
    [pool__5] A = Transpose <perm = [0, 3, 1, 2]> (X)
    [pool] B = MaxPool <strides = [2, 2], kernel_shape = [2, 2]> (A)
    [pool__6] C = Transpose <perm = [0, 2, 3, 1]> (B)
    [dense] D = MatMul (C, W)
    [same__7] E = Transpose <perm = [0, 3, 1, 2]> (D)
    [same] F = MaxPool <strides = [2, 1], kernel_shape = [3, 2], pads = [1, 0, 1, 1]> (E)
    [same__8] Y = Transpose <perm = [0, 2, 3, 1]> (F)
}"""
nhwc = partial(written, NHWC, {"W": (8, 8)}, onnx=13)
# A float32 model whose MaxPool alone is of float16.
HALF_BETWEEN_CASTS = """casts (float[1,3,24,24] X) => (float[1,4,h,w] Y) {
    [conv] A = Conv (X, W)
    [to_half] B = Cast <to = 10> (A)
    [pool] C = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (B)
    [from_half] D = Cast <to = 1> (C)
    [last] Y = Conv (D, V)
}"""
half_between_casts = partial(written, HALF_BETWEEN_CASTS, CONV_WEIGHTS)
# A MaxPool in each branch of an If; both pool a tensor of the graph around them.
IN_IF = """in_if (float[1,3,24,24] X) => (float[1,8,h,w] Y) {
    [conv] A = Conv (X, W)
    [mean] M = ReduceMean <keepdims = 0> (X)
    zero = Constant <value_float = 0.0> ()
    [is_bright] condition = Greater (M, zero)
    [choice] Y = If (condition) <
        then_branch = bright () => (float[1,8,h,w] P) {
            [pool] P = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (A) },
        else_branch = dark () => (float[1,8,h,w] Q) {
            [relu] R = Relu (A)
            [pool] Q = MaxPool <kernel_shape = [3, 3], strides = [2, 2], pads = [1, 1, 1, 1]> (R) }>
}"""
in_if = partial(written, IN_IF, {"W": (8, 3, 3, 3)})
# A MaxPool in the body of a Loop that halves its state three times, and adds a tensor of the graph around it.
IN_LOOP = """in_loop (float[1,3,32,32] X) => (float[1,3,h,w] Y) {
    [bias] B = ReduceMax <keepdims = 1> (X)
    trips = Constant <value = int64 {3}> ()
    always = Constant <value = bool {1}> ()
    [loop] Y = Loop (trips, always, X) <body = body (int64 trip, bool on, float[1,3,h,w] S) => (bool go, float[1,3,h,w] T) {
        [pool] P = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (S)
        [add] T = Sub (P, B)
        go = Identity (on) }>
}"""
in_loop = partial(written, IN_LOOP)
# A MaxPool in the body of a Scan over the frames of a film.
IN_SCAN = """in_scan (float[frames,1,3,16,16] X) => (float[frames,1,3,8,8] Y) {
    [scan] Y = Scan <num_scan_inputs = 1, body = body (float[1,3,16,16] F) => (float[1,3,8,8] P) {
        [neg] N = Neg (F)
        [pool] P = MaxPool <kernel_shape = [3, 3], strides = [2, 2], pads = [1, 1, 0, 0]> (N) }> (X)
}"""
in_scan = partial(written, IN_SCAN)
# A MaxPool in a function of the model that is called twice, with tensors of different shapes and other strides.
IN_FUNCTION = """in_function (float[1,3,24,24] X) => (float[1,3,h,w] Y) {
    [first] A = local.pooled <strides = [2, 2]> (X)
    [second] Y = local.pooled <strides = [1, 1]> (A)
}
<domain: "local", opset_import: ["" : 22]>
pooled <strides> (x) => (y) {
    [conv] a = Neg (x)
    [pool] y = MaxPool <kernel_shape = [3, 3], strides: ints = @strides> (a)
}"""
in_function = partial(written, IN_FUNCTION, onnx=22, local=1)
# A MaxPool whose Indices a MaxUnpool takes.
UNPOOL = """unpool (float[1,3,16,16] X) => (float[1,3,16,16] Y) {
    [pool] P, I = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (X)
    [scale] S = Mul (P, P)
    [unpool] Y = MaxUnpool <kernel_shape = [2, 2], strides = [2, 2]> (S, I)
}"""
unpool = partial(written, UNPOOL)
# A MaxPool whose Indices are an output of the model, in column-major order.
INDICES_OUTPUT = """indices (float[1,2,9,12] X) => (float[1,2,h,w] Y, int64[1,2,h,w] I) {
    [relu] R = Relu (X)
    [pool] Y, I = MaxPool <kernel_shape = [3, 3], strides = [2, 2], pads = [1, 1, 1, 1], storage_order = 1> (R)
}"""
indices_output = partial(written, INDICES_OUTPUT)


def sppf():
    """The spatial pyramid of YOLO: three MaxPools in a row, and the Concat of what goes in and comes out of each."""
    pool = "MaxPool <kernel_shape = [5, 5], strides = [1, 1], pads = [2, 2, 2, 2], ceil_mode = 0, dilations = [1, 1]>"
    text = f"""main_graph (float[batch,3,height,width] images) => (float[batch,4,h,w] output0) {{
        C = Conv (images, W)
        S = Sigmoid (C)
        A = Mul (C, S)
        [m] P = {pool} (A)
        [m_1] Q = {pool} (P)
        [m_2] R = {pool} (Q)
        all = Concat <axis = 1> (A, P, Q, R)
        output0 = Conv (all, V)
    }}"""
    model = written(text, {"W": (8, 3, 3, 3), "V": (4, 32, 1, 1)}, onnx=17)
    for node in model.graph.node:
        if node.name.startswith("m"):
            node.name = f"/model.9/{node.name}/MaxPool"
    return model


# ONNX Runtime's own MaxPool of quantised NHWC tensors, behind a QuantizeLinear.
NHWC_MAX_POOL = """nhwc_max_pool (float[1,12,12,4] X) => (float[1,h,w,4] Y) {
    scale = Constant <value_float = 0.05> ()
    zero = Constant <value = uint8 {128}> ()
    [quantize] Q = QuantizeLinear (X, scale, zero)
    [pool] P = com.microsoft.NhwcMaxPool <kernel_shape = [3, 3], strides = [2, 2], pads = [1, 1, 1, 1]> (Q)
    [dequantize] Y = DequantizeLinear (P, scale, zero)
}"""
nhwc_max_pool = partial(written, NHWC_MAX_POOL, onnx=13, microsoft=1)
# Three MaxPools and a GlobalMaxPool, and no node has a name.
UNNAMED = """unnamed (float[1,3,32,32] X) => (float[1,3,1,1] Y) {
    A = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (X)
    B = Relu (A)
    C = MaxPool <kernel_shape = [3, 3], auto_pad = "SAME_UPPER"> (B)
    D = MaxPool <kernel_shape = [2, 2], dilations = [2, 2]> (C)
    Y = GlobalMaxPool (D)
}"""
unnamed = partial(written, UNNAMED)


def dynamic():
    """A model of which batch, height and width are symbols."""
    return plain(batch="batch", height="height", width="width")


# A MaxPool of a tensor whose rank alone the run shows: the shape that it is given goes through NonZero.
UNKNOWN_SHAPE = """unknown_shape (float[2,3,12,12] X) => (float Y) {
    [shape] S = Shape (X)
    [positions] Z = NonZero (S)
    flat = Constant <value = int64[1] {-1}> ()
    [flatten] F = Reshape (Z, flat)
    [sizes] D = Gather (S, F)
    [reshape] R = Reshape (X, D)
    [pool] P = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (R)
    [sum] Y = ReduceSum <keepdims = 0> (P)
}"""
unknown_shape = partial(written, UNKNOWN_SHAPE)
# A MaxPool behind an operator of somebody's own domain, which ONNX Runtime does not know and refuses.
CUSTOM_OPERATOR = """custom (float[1,3,12,12] X) => (float Y) {
    [denoise] D = example.custom.Denoise <strength = 3> (X)
    [pool] P = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (D)
    [sum] Y = ReduceSum <keepdims = 0> (P)
}"""
custom_operator = partial(written, CUSTOM_OPERATOR, **{"onnx": 22, "example.custom": 1})
