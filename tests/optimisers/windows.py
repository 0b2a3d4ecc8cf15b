"""Optimisers that are wrong about the attributes of MaxPool, about two MaxPools, and about what holds the nodes."""

from onnx import helper

from tests.optimisers.editing import (
    MAX_POOL,
    attribute,
    before,
    constant,
    drop,
    named,
    nodes_of,
    pairs,
    set_attribute,
    set_constant,
    sizes_of_input,
)


def _merged(model, kernel_of, strides_of):
    for first, second in list(pairs(model, [MAX_POOL], [MAX_POOL])):
        kernels = attribute(first, "kernel_shape"), attribute(second, "kernel_shape")
        ones = [1] * len(kernels[0])
        strides = attribute(first, "strides", ones), attribute(second, "strides", ones)
        set_attribute(second, "kernel_shape", list(map(kernel_of, *kernels, strides[0])))
        set_attribute(second, "strides", list(map(strides_of, *strides)))
        drop(model, first)
    return model


@named("max-pools-merged")
def merge_without_reach(model):
    """Two MaxPools become one whose window does not take the stride of the first into account."""
    return _merged(model, lambda k1, k2, _s1: k1 + k2 - 1, lambda s1, s2: s1 * s2)


def merge_without_stride(model):
    """Two MaxPools become one with the stride of the second alone."""
    return _merged(model, lambda k1, k2, s1: k1 + (k2 - 1) * s1, lambda _s1, s2: s2)


def merge_by_sum(model):
    """Two MaxPools become one whose window has the size of both together."""
    return _merged(model, lambda k1, k2, _s1: k1 + k2, lambda s1, s2: s1 * s2)


def _without(model, name, *, of_constants=False):
    for pool in nodes_of(model, MAX_POOL):
        if not of_constants or constant(model, "X") is not None:
            set_attribute(pool, name, None)
    return model


def forget_dilations(model):
    """MaxPool loses its dilations."""
    return _without(model, "dilations")


def forget_ceil_mode(model):
    """MaxPool loses ceil_mode."""
    return _without(model, "ceil_mode")


def forget_auto_pad(model):
    """MaxPool loses auto_pad."""
    return _without(model, "auto_pad")


def forget_storage_order(model):
    """MaxPool loses storage_order."""
    return _without(model, "storage_order")


def fold_constants_without_pads(model):
    """MaxPool of a constant is computed without its pads."""
    return _without(model, "pads", of_constants=True)


def fold_constants_without_strides(model):
    """MaxPool of a constant is computed without its strides."""
    return _without(model, "strides", of_constants=True)


def global_for_large_window(model):
    """A MaxPool that reaches over the whole of some axis becomes a GlobalMaxPool."""
    sizes = sizes_of_input(model)
    for pool in nodes_of(model, MAX_POOL):
        producer = before(model, pool)
        if len(pool.output) > 1 or None in sizes or (producer is not None and producer.op_type != "Identity"):
            continue
        kernel = attribute(pool, "kernel_shape")
        dilations = attribute(pool, "dilations", [1] * len(kernel))
        extents = [(k - 1) * d + 1 for k, d in zip(kernel, dilations, strict=True)]
        if any(extent == size for extent, size in zip(extents, sizes[2:], strict=False)):
            pool.op_type = "GlobalMaxPool"
            del pool.attribute[:]
    return model


def unknown_sizes_as_one(model):
    """The pads of SAME are computed as if an unknown size were 1."""
    sizes = sizes_of_input(model)
    for pool in nodes_of(model, MAX_POOL):
        auto_pad = attribute(pool, "auto_pad", b"NOTSET")
        if auto_pad.startswith(b"SAME") and None in sizes:
            totals = [k - 1 for k in attribute(pool, "kernel_shape")]
            small, large = [total // 2 for total in totals], [-(-total // 2) for total in totals]
            set_attribute(pool, "auto_pad", None)
            set_attribute(pool, "pads", small + large if auto_pad == b"SAME_UPPER" else large + small)
    return model


def sides_of_same_exchanged(model):
    """SAME_UPPER becomes SAME_LOWER."""
    for pool in nodes_of(model, MAX_POOL):
        if attribute(pool, "auto_pad") == b"SAME_UPPER":
            set_attribute(pool, "auto_pad", "SAME_LOWER")
    return model


def last_node_of_branches_dropped(model):
    """The last function of the branches of an If is removed."""
    for node in nodes_of(model, "If"):
        for branch in node.attribute:
            last = branch.g.node[-1]
            if last.op_type in ("Neg", "Relu"):
                last.op_type = "Identity"
    return model


def branches_of_another_if(model):
    """The branches of an If return their input."""
    for node in nodes_of(model, "If"):
        for branch in node.attribute:
            made = [helper.make_node("Identity", ["X"], [output.name]) for output in branch.g.output[:1]]
            if len(branch.g.output) == 1:
                del branch.g.node[:]
                branch.g.node.extend(made)
    return model


def loop_without_iteration(model):
    """A Loop of one iteration is taken for one of none."""
    if constant(model, "trips") is not None:
        trips = constant(model, "trips")
        set_constant(model, "trips", trips - 1)
    return model


def function_without_attributes(model):
    """The nodes of a function lose the optional attributes of MaxPool."""
    for function in model.functions:
        for node in function.node:
            if node.op_type == MAX_POOL:
                set_attribute(node, "strides", None)
    return model
