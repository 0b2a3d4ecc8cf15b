"""What optimisers need to change the models of ``graphs/model.py``, whose nodes are a chain."""

import numpy as np
from onnx import AttributeProto, helper, numpy_helper

MAX_POOL = "MaxPool"


def nodes_of(model, op):
    """The nodes of an operator outside of other nodes."""
    return [node for node in model.graph.node if node.op_type == op]


def chains(model, *ops):
    """Adjacent nodes of these operators; a bar stands between operators of which any will do."""
    found = [[node] for node in model.graph.node if node.op_type in ops[0].split("|")]
    for op in ops[1:]:
        found = [
            [*chain, node]
            for chain in found
            for node in model.graph.node
            if node.op_type in op.split("|") and node.input and node.input[0] == chain[-1].output[0]
        ]
    return found


def producer(model, node):
    """The operator of the node that makes the first input of a node, or None."""
    return next((each.op_type for each in model.graph.node if each.output[:1] == node.input[:1]), None)


def constant(model, name):
    """The value of an initializer, None if the name is none."""
    return next((numpy_helper.to_array(value) for value in model.graph.initializer if value.name == name), None)


def set_constant(model, name, value):
    """Replace an initializer, or add it."""
    kept = [tensor for tensor in model.graph.initializer if tensor.name != name]
    del model.graph.initializer[:]
    model.graph.initializer.extend([*kept, numpy_helper.from_array(np.asarray(value), name)])


def attribute(node, name, default=None):
    """The value of an attribute."""
    values = [helper.get_attribute_value(each) for each in node.attribute if each.name == name]
    return values[0] if values else default


def set_attribute(node, name, value):
    """Set an attribute; None removes it."""
    kept = [each for each in node.attribute if each.name != name]
    if value is not None:
        kind = AttributeProto.INTS if isinstance(value, list) else None
        kept.append(helper.make_attribute(name, value, attr_type=kind))
    del node.attribute[:]
    node.attribute.extend(kept)


def drop(model, *nodes):
    """Let nodes return their first input."""
    for node in nodes:
        node.op_type = "Identity"
        del node.input[1:], node.output[1:], node.attribute[:]
    forget_types(model)


def exchange(model, first, second):
    """Let two adjacent nodes change places."""
    mine, other = type(first).FromString(first.SerializeToString()), type(second).FromString(second.SerializeToString())
    for node, source in ((first, other), (second, mine)):
        node.op_type = source.op_type
        node.input[1:], node.output[1:] = source.input[1:], source.output[1:]
        del node.attribute[:]
        node.attribute.extend(source.attribute)
    if MAX_POOL in (first.op_type, second.op_type):
        forget_types(model)


def forget_types(model):
    """Remove the declared types of the outputs: a change may have given them others."""
    for output in model.graph.output:
        output.ClearField("type")


def pads_of(model, node):
    """The amounts of a Pad of all axes, None if they are not known."""
    amounts = attribute(node, "pads")
    if amounts is None:
        amounts = constant(model, node.input[1])
    return None if amounts is None or len(node.input) > 3 else [int(amount) for amount in amounts]


def pad_value(model, node):
    """The value that a Pad adds, None if it is not known."""
    if len(node.input) > 2:
        value = constant(model, node.input[2])
        return None if value is None else float(value)
    return float(attribute(node, "value", 0.0))


def spatial(amounts):
    """The amounts of the spatial axes, first at the begin, then at the end."""
    rank = len(amounts) // 2
    return [*amounts[2:rank], *amounts[rank + 2 :]]


def sizes_of_input(model):
    """The declared sizes of X, with None for those that are not known; an empty list if X is an initializer."""
    for value in model.graph.input:
        if value.name == "X":
            return [size.dim_value or None for size in value.type.tensor_type.shape.dim]
    return []


def around(model):
    """MaxPool with a Transpose before it, and one behind that undoes the first."""
    for first, pool, last in chains(model, "Transpose", MAX_POOL, "Transpose"):
        permutation, inverse = attribute(first, "perm"), attribute(last, "perm")
        if permutation is not None and [permutation[axis] for axis in inverse] == list(range(len(permutation))):
            yield first, pool, last


def fold(model, first, pool, last, *names):
    """Remove Transposes of planes around a MaxPool, and permute its attributes, all or those of these names."""
    permutation = attribute(first, "perm")
    rank = len(permutation) - 2
    order = [permutation.index(axis) - 2 for axis in range(2, rank + 2)]
    for name in names or ("kernel_shape", "strides", "dilations", "pads"):
        values = attribute(pool, name)
        if values is not None:
            halves = [values[start : start + rank] for start in range(0, len(values), rank)]
            set_attribute(pool, name, [half[axis] for half in halves for axis in order])
    drop(model, first, last)
