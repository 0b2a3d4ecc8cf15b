"""Models that are broken, or made to harm whoever reads them."""

from onnx import helper

from tests.models.writing import written
from tests.models.zoo import plain

HOSTILE_NAMES = (
    "\x1b[31mred\x1b[0m",
    "\x1b]8;;https://example.com\x1b\\link\x1b]8;;\x1b\\",
    "two\nlines",
    "::error::not from us",
    "<script>alert(1)</script>",
    "](https://example.com) **bold** | cell",
    "[bold red]rich[/]",
    "\u202egnp.exe",
    "../../outside",
    "",
    "\u0000zero",
    "'quoted' \"twice\" `thrice` $HOME",
    "\ud7ff\ufffe\U0001f44d",
    "long" * 5000,
)


def cyclic():
    """A MaxPool and a Relu that take each other's output."""
    model = written(
        "g (float[1,3,8,8] X) => (float[1,3,h,w] Y) { A = Relu (X) Y = MaxPool <kernel_shape = [2, 2]> (A) }"
    )
    model.graph.node[0].input[:] = ["Y"]
    return model


def bad_opset():
    """A model of an operator set that nobody has written."""
    model = plain()
    model.opset_import[0].version = 999
    return model


def hostile_names():
    """A chain of Relu and MaxPool for each name, which their nodes and tensors, the graph and the producer have."""
    names = HOSTILE_NAMES
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
