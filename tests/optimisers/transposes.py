"""Optimisers that are wrong about a Transpose beside MaxPool, or about the order of channels."""

import numpy as np
from onnx import helper, numpy_helper

from tests.optimisers.editing import (
    MAX_POOL,
    attribute,
    before,
    behind,
    drop,
    exchange,
    insert_behind,
    named,
    nodes_of,
    pairs,
    set_attribute,
    sizes_of_input,
)


def around(model):
    """MaxPool with a Transpose before it, and one behind that undoes the first."""
    for first, pool in pairs(model, ["Transpose"], [MAX_POOL]):
        for last in behind(model, pool):
            if last.op_type == "Transpose" and attribute(first, "perm") is not None:
                permutation, inverse = attribute(first, "perm"), attribute(last, "perm")
                if [permutation[axis] for axis in inverse] == list(range(len(permutation))):
                    yield first, pool, last


def permute_attributes(pool, permutation, names=("kernel_shape", "strides", "dilations", "pads")):
    """Put the attributes of MaxPool in the order of the axes before a Transpose that leaves batch and channels."""
    rank = len(permutation) - 2
    order = [permutation.index(axis) - 2 for axis in range(2, rank + 2)]
    for name in names:
        values = attribute(pool, name)
        if values is not None:
            halves = [values[start : start + rank] for start in range(0, len(values), rank)]
            set_attribute(pool, name, [half[axis] for half in halves for axis in order])


@named("transpose-folded-wrongly")
def drop_both(model):
    """Two Transposes that undo each other are removed, and the attributes stay."""
    for first, _, last in around(model):
        drop(model, first)
        drop(model, last)
    return model


@named("transpose-folded-wrongly")
def drop_last(model):
    """The Transpose behind MaxPool is removed."""
    for _, last in pairs(model, [MAX_POOL], ["Transpose"]):
        drop(model, last)
    return model


@named("transpose-folded-wrongly")
def drop_first(model):
    """The Transpose before MaxPool is removed."""
    for first, _ in pairs(model, ["Transpose"], [MAX_POOL]):
        drop(model, first)
    return model


@named("transpose-folded-wrongly")
def move_behind(model):
    """A Transpose before MaxPool moves behind it, and the attributes stay."""
    for first, pool in list(pairs(model, ["Transpose"], [MAX_POOL])):
        exchange(model, first, pool)
    return model


def forget_pads(model):
    """Transposes are removed, kernel and strides permuted, and pads and dilations are not."""
    for first, pool, last in around(model):
        if attribute(first, "perm")[:2] == [0, 1]:
            permute_attributes(pool, attribute(first, "perm"), ("kernel_shape", "strides"))
            drop(model, first)
            drop(model, last)
    return model


def forget_indices(model):
    """Transposes are removed rightly for Y, and Indices count in the tensor before them."""
    for first, pool, last in around(model):
        if attribute(first, "perm")[:2] == [0, 1]:
            permute_attributes(pool, attribute(first, "perm"))
            drop(model, first)
            drop(model, last)
    return model


def compose_in_the_wrong_order(model):
    """Two Transposes in a row become one, composed in the wrong order."""
    for first, second in pairs(model, ["Transpose"], ["Transpose"]):
        permutations = attribute(first, "perm"), attribute(second, "perm")
        set_attribute(second, "perm", [permutations[1][axis] for axis in permutations[0]])
        drop(model, first)
    return model


def forget_perm(model):
    """A Transpose reverses all axes."""
    for node in nodes_of(model, "Transpose"):
        set_attribute(node, "perm", None)
    return model


@named("blocked-layout")
def leave_blocks(model):
    """The output of MaxPool stays in blocks of eight channels."""
    sizes = sizes_of_input(model)
    for pool in nodes_of(model, MAX_POOL):
        producer = before(model, pool)
        if not sizes or not sizes[1] or sizes[1] % 8 or (producer is not None and producer.op_type != "Conv"):
            continue
        model.graph.initializer.append(numpy_helper.from_array(np.array([0, sizes[1] // 8, 8, -1], np.int64), "blocks"))

        def blocked(source, target):
            return [
                helper.make_node("Shape", [source], ["shape_of_blocks"]),
                helper.make_node("Reshape", [source, "blocks"], ["in_blocks"]),
                helper.make_node("Transpose", ["in_blocks"], ["in_kernel_layout"], perm=[0, 1, 3, 2]),
                helper.make_node("Reshape", ["in_kernel_layout", "shape_of_blocks"], [target]),
            ]

        insert_behind(model, pool, blocked)
    return model


def plane_indices_into_unpool(model):
    """MaxUnpool gets Indices that count in each plane."""
    sizes = sizes_of_input(model)
    for unpool in nodes_of(model, "MaxUnpool"):
        if not sizes or None in sizes:
            continue
        model.graph.initializer.append(numpy_helper.from_array(np.array(np.prod(sizes[2:]), np.int64), "plane"))
        node = helper.make_node("Mod", [unpool.input[1], "plane"], ["in_plane"])
        model.graph.node.insert(list(model.graph.node).index(unpool), node)
        unpool.input[1] = "in_plane"
    return model
