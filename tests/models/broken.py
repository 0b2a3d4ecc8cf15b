"""Models that are broken, or made to harm whoever reads them."""

from onnx import AttributeProto, FunctionProto, helper

from tests.models.writing import written
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


def pooled(nodes):
    return written(f"g (float[1,3,8,8] X) => (float[1,3,h,w] Y) {{ {nodes} }}")


def cyclic():
    """A MaxPool and a Relu that take each other's output."""
    model = pooled(f"[relu] A = Relu (X) [pool] Y = {POOL} (A)")
    model.graph.node[0].input[:] = ["Y"]
    return model


def undefined_input():
    """A MaxPool of a tensor that nothing makes."""
    return pooled(f"[pool] Y = {POOL} (nobody)")


def duplicate_outputs():
    """A model in which two MaxPools make the same tensor."""
    return pooled(f"[a] Y = {POOL} (X) [b] Y = {POOL} (X)")


def duplicate_names():
    """A model whose nodes all have the same name; onnx finds nothing wrong with it, and ONNX Runtime refuses it."""
    model = pooled(f"A = {POOL} (X) B = Relu (A) Y = {POOL} (B)")
    for node in model.graph.node:
        node.name = "pool"
    return model


def huge_dimensions():
    """A MaxPool of a tensor that no machine can hold."""
    model = pooled(f"[relu] A = Relu (X) [pool] Y = {POOL} (A)")
    for dimension in model.graph.input[0].type.tensor_type.shape.dim[2:]:
        dimension.dim_value = 2**40
    return model


def huge_window():
    """A MaxPool with a kernel and pads of such a size."""
    return with_attributes({"kernel_shape": [2**40] * 2, "pads": [2**40] * 4})


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


def calling(functions):
    """A model that calls the first of these functions of one input and output, each a list of nodes."""
    model = written("g (float[1,3,8,8] X) => (float[1,3,h,w] Y) { [call] Y = local.f0 (X) }", onnx=22, local=1)
    for number, nodes in enumerate(functions):
        function = FunctionProto(name=f"f{number}", domain="local", input=["x"], output=["y"], node=nodes)
        function.opset_import.extend(model.opset_import)
        model.functions.append(function)
    model.ir_version = 10
    return model


def recursive_functions():
    """Two functions that call each other."""
    return calling([[helper.make_node(name, ["x"], ["y"], domain="local")] for name in ("f1", "f0")])


def exploding_functions():
    """Thirty functions, each of which calls the next one twice, and at their end a MaxPool: 2 ** 29 of them."""
    functions = [
        [helper.make_node(f"f{n + 1}", [a], [b], domain="local") for a, b in (("x", "m"), ("m", "y"))]
        for n in range(29)
    ]
    return calling([*functions, [helper.make_node("MaxPool", ["x"], ["y"], "pool", kernel_shape=[1, 1])]])


def with_attributes(attributes):
    """A model whose MaxPool has these attributes alone."""
    model = plain()
    del model.graph.node[2].attribute[:]
    for name, value in attributes.items():
        # An empty list has no type of its own.
        kind = AttributeProto.INTS if value == [] else None
        model.graph.node[2].attribute.append(helper.make_attribute(name, value, attr_type=kind))
    return model


def bad_attributes():
    """Models by what is wrong with the attributes of their MaxPool."""
    mistakes = {
        "kernel_shape missing": {"strides": [2, 2]},
        "kernel_shape empty": {"kernel_shape": []},
        "kernel_shape of floats": {"kernel_shape": [2.0, 2.0]},
        "strides a string": {"kernel_shape": [2, 2], "strides": "two"},
        "attribute unknown": {"kernel_shape": [2, 2], "kernel_size": 2},
        "ceil_mode a list": {"kernel_shape": [2, 2], "ceil_mode": [1]},
    }
    return {mistake: with_attributes(attributes) for mistake, attributes in mistakes.items()}
