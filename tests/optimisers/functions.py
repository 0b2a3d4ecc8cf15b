"""Optimisers that are wrong about functions of each value beside MaxPool."""

from tests.optimisers.editing import MAX_POOL, behind, drop, exchange, named, nodes_of, pairs


def _moved_behind(model, *ops):
    for node, pool in list(pairs(model, ops, [MAX_POOL])):
        exchange(model, node, pool)
    return model


def _moved_before(model, *ops):
    for pool, node in list(pairs(model, [MAX_POOL], ops)):
        exchange(model, pool, node)
    return model


@named("relu-moved")
def relu_behind(model):
    """A Relu before MaxPool moves behind it, and with it the ties that it makes."""
    return _moved_behind(model, "Relu")


@named("relu-moved")
def relu_before(model):
    """A Relu behind MaxPool moves before it, where it makes ties."""
    return _moved_before(model, "Relu")


@named("relu-moved")
def neg_behind(model):
    """A Neg before MaxPool moves behind it."""
    return _moved_behind(model, "Neg")


@named("relu-moved")
def neg_before(model):
    """A Neg behind MaxPool moves before it."""
    return _moved_before(model, "Neg")


@named("relu-moved")
def abs_behind(model):
    """An Abs before MaxPool moves behind it."""
    return _moved_behind(model, "Abs")


@named("relu-moved")
def clip_moved(model):
    """A Clip before MaxPool moves behind it, and with it the ties that it makes."""
    return _moved_behind(model, "Clip")


@named("relu-moved")
def leaky_relu_behind(model):
    """A LeakyRelu moves behind MaxPool, though its slope may be negative."""
    return _moved_behind(model, "LeakyRelu")


@named("cast-moved")
def cast_behind(model):
    """A Cast before MaxPool moves behind it."""
    return _moved_behind(model, "Cast")


@named("cast-moved")
def cast_before(model):
    """A Cast behind MaxPool moves before it."""
    return _moved_before(model, "Cast")


@named("quantisation-moved")
def dequantize_behind(model):
    """A DequantizeLinear moves behind MaxPool, though its scale may be negative."""
    return _moved_behind(model, "DequantizeLinear")


@named("quantisation-moved")
def quantize_before(model):
    """A QuantizeLinear moves before MaxPool, where it makes ties."""
    return _moved_before(model, "QuantizeLinear")


def neg_pair_dropped(model):
    """A Neg on both sides of MaxPool is removed."""
    for first, pool in pairs(model, ["Neg"], [MAX_POOL]):
        for last in behind(model, pool):
            if last.op_type == "Neg":
                drop(model, first)
                drop(model, last)
    return model


def cast_pair_dropped(model):
    """A Cast and a Cast back are removed, in a row or around MaxPool, though the first may round."""
    for first in nodes_of(model, "Cast"):
        followers = behind(model, first)
        followers += [last for pool in followers if pool.op_type == MAX_POOL for last in behind(model, pool)]
        for last in followers:
            if first.op_type == last.op_type == "Cast":
                drop(model, first)
                drop(model, last)
    return model


def quantisation_pair_dropped(model):
    """A QuantizeLinear and a DequantizeLinear in a row are removed."""
    for first, last in list(pairs(model, ["QuantizeLinear"], ["DequantizeLinear"])):
        drop(model, first)
        drop(model, last)
    return model


def quantisation_around_dropped(model):
    """A DequantizeLinear before MaxPool and a QuantizeLinear behind are removed, whatever their scales."""
    for first, pool in list(pairs(model, ["DequantizeLinear"], [MAX_POOL])):
        for last in behind(model, pool):
            if last.op_type == "QuantizeLinear":
                drop(model, first)
                drop(model, last)
    return model


def zero_point_forgotten(model):
    """A DequantizeLinear has no zero point."""
    for node in nodes_of(model, "DequantizeLinear"):
        del node.input[2:]
    return model


@named("node-dropped")
def relu_dropped(model):
    """A Relu is removed, as if all cells were positive."""
    for node in nodes_of(model, "Relu"):
        drop(model, node)
    return model


@named("node-dropped")
def neg_dropped(model):
    """A Neg is removed, as if all cells were zeros without a sign."""
    for node in nodes_of(model, "Neg"):
        drop(model, node)
    return model


def function_in_place(model):
    """A function behind MaxPool overwrites the maxima, which are also an output of the graph."""
    outputs = [output.name for output in model.graph.output]
    for pool, node in list(pairs(model, [MAX_POOL], ["Relu", "Neg", "Abs", "Clip"])):
        name = pool.output[0]
        if name in outputs:
            pool.output[0] = node.input[0] = "maxima"
            overwritten = model.graph.node.add(op_type="Identity")
            overwritten.input.append(node.output[0])
            overwritten.output.append(name)
    return model
