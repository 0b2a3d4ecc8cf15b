"""Models that are broken, or made to harm whoever reads them."""

from onnx import AttributeProto, FunctionProto, GraphProto, NodeProto, TensorProto, helper

from tests.models.writing import saved, written
from tests.models.zoo import plain

POOL = "MaxPool <kernel_shape = [2, 2], strides = [2, 2]>"
HOSTILE_NAMES = (
    "\x1b[31mred\x1b[0m",
    "\x1b]0;title\x07",
    "\x1b]8;;https://example.com\x1b\\link\x1b]8;;\x1b\\",
    "two\nlines",
    "back\rhome",
    "::error::not from us",
    "<script>alert(1)</script>",
    "](https://example.com) **bold** | cell",
    "[bold red]rich[/]",
    "\u202egnp.exe",
    "../../outside",
    "/absolute/pool",
    "",
    "\u0000zero",
    "--option",
    "'quoted' \"twice\" `thrice` $HOME",
    "\ud7ff\ufffe\U0001f44d",
    "long" * 5000,
)


def truncated(folder):
    """The path of a model that ends in its middle."""
    whole = plain().SerializeToString()
    path = folder / "truncated.onnx"
    path.write_bytes(whole[: len(whole) // 2])
    return path


def not_onnx(folder):
    """The paths of files that are no models: text, nothing, JSON, zeros, a page; and of a folder."""
    contents = {
        "text": b"Not a model.\n",
        "empty": b"",
        "json": b'{"irVersion": "8", "graph": {}}',
        "zeros": bytes(4096),
        "page": b"<!DOCTYPE html><title>404</title>",
    }
    paths = [folder / f"{name}.onnx" for name in contents]
    for path, content in zip(paths, contents.values(), strict=True):
        path.write_bytes(content)
    (folder / "folder.onnx").mkdir()
    return [*paths, folder / "folder.onnx"]


def cyclic():
    """A MaxPool and a Relu that take each other's output."""
    model = written(f"g (float[1,3,8,8] X) => (float[1,3,4,4] Y) {{ [relu] A = Relu (X) [pool] Y = {POOL} (A) }}")
    model.graph.node[0].input[:] = ["Y"]
    return model


def undefined_input():
    """A MaxPool of a tensor that nothing makes."""
    return written(f"g (float[1,3,8,8] X) => (float[1,3,4,4] Y) {{ [pool] Y = {POOL} (nobody) }}")


def huge_dimensions(size=2**40):
    """A MaxPool of a tensor that no machine can hold, or with negative sizes."""
    model = written(f"g (float[1,3,8,8] X) => (float[1,3,h,w] Y) {{ [relu] A = Relu (X) [pool] Y = {POOL} (A) }}")
    for dimension in model.graph.input[0].type.tensor_type.shape.dim[2:]:
        dimension.dim_value = size
    return model


def huge_initializer():
    """A MaxPool of an initializer that says it has 2**60 values and has none."""
    model = written(f"g () => (float[1,3,h,w] Y) {{ [pool] Y = {POOL} (T) }}")
    model.graph.initializer.add(name="T", data_type=TensorProto.FLOAT, dims=[1, 2**20, 2**20, 2**20])
    return model


def huge_window(size=2**40):
    """A MaxPool with a kernel and pads of such a size; ``size`` may be negative or 0."""
    model = plain()
    pool = model.graph.node[2]
    del pool.attribute[:]
    pool.attribute.extend(helper.make_attribute(name, [size] * n) for name, n in (("kernel_shape", 2), ("pads", 4)))
    return model


def deep(folder, depth=60):
    """The path of a model with a MaxPool inside of so many Ifs.

    More than 31 of them exceed the depth that protobuf reads and writes, so that bytes are put together here.
    """

    def field(number, content):
        length, count = b"", len(content)
        while count > 127:
            length, count = length + bytes([count & 127 | 128]), count >> 7
        return bytes([number << 3 | 2]) + length + bytes([count]) + content

    def graph(node, level, *inputs):
        shell = GraphProto(name=f"level_{level}", input=inputs)
        shell.output.append(helper.make_tensor_value_info(f"Y{level}", TensorProto.FLOAT, [1, 3, None, None]))
        return shell.SerializeToString() + field(GraphProto.NODE_FIELD_NUMBER, node)

    def branch(name, content):
        shell = AttributeProto(name=name, type=AttributeProto.GRAPH)
        return field(
            NodeProto.ATTRIBUTE_FIELD_NUMBER, shell.SerializeToString() + field(AttributeProto.G_FIELD_NUMBER, content)
        )

    node = helper.make_node("MaxPool", ["X"], ["Y0"], "pool", kernel_shape=[2, 2]).SerializeToString()
    for level in range(depth):
        other = helper.make_node("AveragePool", ["X"], [f"Y{level}"], kernel_shape=[2, 2]).SerializeToString()
        choice = helper.make_node("If", ["condition"], [f"Y{level + 1}"], f"if_{level + 1}").SerializeToString()
        node = choice + branch("then_branch", graph(node, level)) + branch("else_branch", graph(other, level))
    model = plain()
    model.ClearField("graph")
    inputs = (
        helper.make_tensor_value_info("X", TensorProto.FLOAT, [1, 3, 8, 8]),
        helper.make_tensor_value_info("condition", TensorProto.BOOL, []),
    )
    path = folder / f"deep_{depth}.onnx"
    path.write_bytes(model.SerializeToString() + field(model.GRAPH_FIELD_NUMBER, graph(node, depth, *inputs)))
    return path


def many(count=10000, pools=20):
    """A chain of so many nodes: MaxPools at equal distances, and Relus."""
    model = written("many (float[1,2,8,8] X) => (float[1,2,8,8] Y) { Y = Identity (X) }")
    del model.graph.node[:]
    for number in range(count):
        is_pool = number % (count // pools) == count // pools - 1
        attributes = {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]} if is_pool else {}
        source, target = f"T{number}" if number else "X", f"T{number + 1}" if number < count - 1 else "Y"
        model.graph.node.append(
            helper.make_node("MaxPool" if is_pool else "Relu", [source], [target], f"node_{number}", **attributes)
        )
    return model


def hostile_names(names=HOSTILE_NAMES):
    """A chain of Relu and MaxPool for each name, which their nodes and tensors, the graph and the producer have."""
    model = written("g (float[rows,3,16,16] X) => (float[rows,3,16,16] Y) { Y = Identity (X) }")
    graph = model.graph
    del graph.node[:]
    model.producer_name = model.doc_string = graph.name = graph.doc_string = "\n".join(names)
    graph.input[0].type.tensor_type.shape.dim[0].dim_param = names[0]
    source = "X"
    for number, name in enumerate(names):
        targets = [f"{name}#{number}", f"{name}~{number}"] if number < len(names) - 1 else [f"{name}#{number}", "Y"]
        pool = {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}
        graph.node.append(helper.make_node("Relu", [source], targets[:1], f"relu of {name}", doc_string=name))
        graph.node.append(helper.make_node("MaxPool", targets[:1], targets[1:], name, doc_string=name, **pool))
        source = targets[1]
    return model


def _calling(functions):
    """A model that calls the first of these functions of one input and output, each a list of nodes."""
    model = written("g (float[1,3,8,8] X) => (float[1,3,h,w] Y) { [call] Y = local.f0 (X) }", onnx=22, local=1)
    for number, nodes in enumerate(functions):
        function = FunctionProto(name=f"f{number}", domain="local", input=["x"], output=["y"], node=nodes)
        function.opset_import.extend(model.opset_import)
        model.functions.append(function)
    model.ir_version = 10
    return model


def recursive_function():
    """A function that calls itself behind a MaxPool."""
    pool = helper.make_node("MaxPool", ["x"], ["p"], "pool", kernel_shape=[2, 2])
    return _calling([[pool, helper.make_node("f0", ["p"], ["y"], "again", domain="local")]])


def recursive_functions():
    """Two functions that call each other."""
    return _calling([[helper.make_node(name, ["x"], ["y"], domain="local")] for name in ("f1", "f0")])


def exploding_functions(count=30):
    """So many functions, each of which calls the next one twice, and at their end a MaxPool: 2 ** (count - 1) of them."""
    functions = [
        [helper.make_node(f"f{n + 1}", [a], [b], domain="local") for a, b in (("x", "m"), ("m", "y"))]
        for n in range(count - 1)
    ]
    pool = helper.make_node("MaxPool", ["x"], ["y"], "pool", kernel_shape=[3, 3], pads=[1, 1, 1, 1])
    return _calling([*functions, [pool]])


def bad_opset():
    """A model of an operator set that nobody has written."""
    model = plain()
    model.opset_import[0].version = 999
    return model


def no_opset():
    """A model that imports no operator set."""
    model = plain()
    del model.opset_import[:]
    return model


def duplicate_names():
    """A model whose nodes all have the same name; onnx finds nothing wrong with it, and ONNX Runtime refuses it."""
    model = written(f"g (float[1,3,8,8] X) => (float[1,3,h,w] Y) {{ A = {POOL} (X) B = Relu (A) Y = {POOL} (B) }}")
    for node in model.graph.node:
        node.name = "pool"
    return model


def duplicate_outputs():
    """A model in which two MaxPools make the same tensor."""
    return written(f"g (float[1,3,8,8] X) => (float[1,3,4,4] Y) {{ [a] Y = {POOL} (X) [b] Y = {POOL} (X) }}")


def bad_attributes():
    """Models by what is wrong with the attributes of their MaxPool."""
    mistakes = {
        "kernel_shape missing": {"strides": [2, 2]},
        "kernel_shape empty": {
            "kernel_shape": helper.make_attribute("kernel_shape", [], attr_type=AttributeProto.INTS)
        },
        "kernel_shape of floats": {"kernel_shape": [2.0, 2.0]},
        "kernel_shape of three axes": {"kernel_shape": [2, 2, 2]},
        "strides a string": {"kernel_shape": [2, 2], "strides": "two"},
        "strides of 0": {"kernel_shape": [2, 2], "strides": [0, 0]},
        "pads too short": {"kernel_shape": [2, 2], "pads": [1, 1, 1]},
        "pads negative": {"kernel_shape": [2, 2], "pads": [-1, 0, 0, 0]},
        "auto_pad unknown": {"kernel_shape": [2, 2], "auto_pad": "SAME"},
        "attribute unknown": {"kernel_shape": [2, 2], "kernel_size": 2},
        "ceil_mode a list": {"kernel_shape": [2, 2], "ceil_mode": [1]},
    }
    models = {}
    for mistake, attributes in mistakes.items():
        models[mistake] = model = plain()
        del model.graph.node[2].attribute[:]
        for name, value in attributes.items():
            attribute = value if isinstance(value, AttributeProto) else helper.make_attribute(name, value)
            model.graph.node[2].attribute.append(attribute)
    return models


def saved_all(folder):
    """The paths of all models of this module that are no files yet."""
    makers = (cyclic, undefined_input, huge_dimensions, huge_initializer, huge_window, many, hostile_names)
    makers += (recursive_function, recursive_functions, exploding_functions, bad_opset, no_opset)
    makers += (duplicate_names, duplicate_outputs)
    return [saved(maker(), folder, f"{maker.__name__}.onnx") for maker in makers]
