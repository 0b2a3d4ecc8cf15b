"""What optimisers need to change the models of ``graphs/model.py``, whose nodes are a chain."""

import numpy as np
from onnx import AttributeProto, helper, numpy_helper

MAX_POOL = "MaxPool"


def named(kind):
    """Say which kind the mistake of an optimiser has."""

    def decorate(optimiser):
        optimiser.kind = kind
        return optimiser

    return decorate


def nodes_of(model, op):
    """The nodes of an operator outside of other nodes."""
    return [node for node in model.graph.node if node.op_type == op]


def before(model, node):
    """The node that makes the first input of a node, or None."""
    return next((other for other in model.graph.node if other.output and other.output[0] == node.input[0]), None)


def behind(model, node):
    """The nodes that take the first output of a node as their first input."""
    return [other for other in model.graph.node if other.input and other.input[0] == node.output[0]]


def pairs(model, first, second):
    """Adjacent nodes of two operators, or of two groups of them."""
    for node in list(model.graph.node):
        for other in behind(model, node):
            if node.op_type in first and other.op_type in second:
                yield node, other


def constant(model, name):
    """The value of an initializer, None if the name is none."""
    return next((numpy_helper.to_array(value) for value in model.graph.initializer if value.name == name), None)


def set_constant(model, name, value):
    """Replace an initializer."""
    for tensor in model.graph.initializer:
        if tensor.name == name:
            tensor.CopyFrom(numpy_helper.from_array(np.asarray(value), name))


def attribute(node, name, default=None):
    """The value of an attribute."""
    values = [helper.get_attribute_value(each) for each in node.attribute if each.name == name]
    return values[0] if values else default


def set_attribute(node, name, value):
    """Set an attribute; None removes it."""
    for number, each in reversed(list(enumerate(node.attribute))):
        if each.name == name:
            del node.attribute[number]
    if value is not None:
        kind = AttributeProto.INTS if isinstance(value, list) else None
        node.attribute.append(helper.make_attribute(name, value, attr_type=kind))


def drop(model, node):
    """Let a node return its first input."""
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


def insert_behind(model, node, nodes, output=0):
    """Insert nodes, made by a function of the name of their input and of their output, behind an output of a node."""
    name = node.output[output]
    node.output[output] = f"{name}_before_insertion"
    for number, made in enumerate(nodes(node.output[output], name)):
        model.graph.node.insert(list(model.graph.node).index(node) + 1 + number, made)


def forget_types(model):
    """Remove the declared types of the outputs: a change may have given them others."""
    for output in model.graph.output:
        output.ClearField("type")


def pads_of(model, node):
    """The amounts of a Pad of all axes, None if they are not known."""
    amounts = attribute(node, "pads") if attribute(node, "pads") is not None else None
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
