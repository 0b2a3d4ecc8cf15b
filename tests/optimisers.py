"""Optimisers of ONNX models that are wrong on purpose, and some that are right: functions that change a model.

The models are those of ``graphs/model.py``.
"""

from typing import NamedTuple

import numpy as np
from onnx import AttributeProto, TensorProto, helper, numpy_helper

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
    kept = [tensor for tensor in model.graph.initializer if tensor.name != name]
    del model.graph.initializer[:]
    model.graph.initializer.extend([*kept, numpy_helper.from_array(np.asarray(value), name)])


def attribute(node, name, default=None):
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
    """The number that a Pad adds, None if it is not known, and "" if it copies cells."""
    if attribute(node, "mode", b"constant") != b"constant":
        return ""
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


def type_of_input(model):
    """The declared element type of X."""
    return next(value.type.tensor_type.elem_type for value in model.graph.input if value.name == "X")


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


def nothing(model):
    """The model stays as it is."""


def remove_identities(model):
    """An Identity or Dropout is removed, unless it makes an output of the graph."""
    outputs = {output.name for output in model.graph.output}
    for node in [*nodes_of(model, "Identity"), *nodes_of(model, "Dropout")]:
        if node.output[0] in outputs:
            continue
        for other in model.graph.node:
            other.input[:] = [node.input[0] if name == node.output[0] else name for name in other.input]
        model.graph.node.remove(node)


def fold_neg_inf(model):
    """A Pad of -inf, smaller than the kernel, becomes pads of a MaxPool without Indices."""
    for pad, pool in chains(model, "Pad", MAX_POOL):
        amounts = pads_of(model, pad)
        if amounts is None or pad_value(model, pad) != float("-inf") or len(pool.output) > 1:
            continue
        rank, pads = len(amounts) // 2, spatial(amounts)
        limits = attribute(pool, "kernel_shape") * 2
        is_small = all(0 <= amount < limit for amount, limit in zip(pads, limits, strict=True))
        if is_small and not any(amounts[:2] + amounts[rank : rank + 2]) and attribute(pool, "pads") is None:
            set_attribute(pool, "pads", pads)
            drop(model, pad)


def fold_transposes(model):
    """Transposes of planes around a MaxPool without Indices are removed, and its attributes permuted."""
    for first, pool, last in around(model):
        is_output = any(output.name == first.output[0] for output in model.graph.output)
        if attribute(first, "perm")[:2] == [0, 1] and len(pool.output) == 1 and not is_output:
            fold(model, first, pool, last)


def maker(model, name):
    """The node that makes a tensor, or None."""
    return next((node for node in model.graph.node if name in node.output), None)


def merge_pools_in_a_row(model):
    """A MaxPool without Indices takes the input of the one before it, with a window of both: right for stride 1 and small pads."""
    for second in nodes_of(model, MAX_POOL):
        first = maker(model, second.input[0])
        if first is None or first.op_type != MAX_POOL or len(second.output) > 1:
            continue
        kernels, pads = [], []
        for node in (first, second):
            kernel = attribute(node, "kernel_shape")
            plain = {"kernel_shape", "pads", "storage_order"} >= {each.name for each in node.attribute}
            own = attribute(node, "pads", [0] * 2 * len(kernel))
            kernels.append(kernel)
            pads.append(own if plain and all(pad < k for pad, k in zip(own, kernel * 2, strict=True)) else None)
        if None not in pads:
            set_attribute(second, "kernel_shape", [a + b - 1 for a, b in zip(*kernels, strict=True)])
            set_attribute(second, "pads", [a + b for a, b in zip(*pads, strict=True)])
            second.input[0] = first.input[0]


def exchange_operands_of_equal(model):
    """Equal, Max and Min give the same in either order."""
    for node in (*nodes_of(model, "Equal"), *nodes_of(model, "Max"), *nodes_of(model, "Min")):
        node.input[:] = node.input[::-1]


RIGHT = (nothing, remove_identities, fold_neg_inf, fold_transposes, merge_pools_in_a_row, exchange_operands_of_equal)


class Wrong(NamedTuple):
    """An optimiser; ``kind`` is the kind that its mistake has in ``judging/rewrites.py``, if it has one."""

    mistake: str
    optimise: object
    kind: str | None = None


def moved(first, second):
    return lambda model: [exchange(model, *nodes) for nodes in chains(model, first, second)]


def dropped(*ops, which=(0, -1)):
    """Of adjacent nodes, the first and the last are removed, or others."""

    def optimise(model):
        for nodes in chains(model, *ops):
            if [node.op_type for node in nodes] == list(ops):
                drop(model, *(nodes[number] for number in which))

    return optimise


def without_third_input(op):
    return lambda model: [node.input.pop() for node in nodes_of(model, op) if len(node.input) == 3]


def function_in_place(model):
    outputs = [output.name for output in model.graph.output]
    for pool, node in chains(model, MAX_POOL, "Relu|Neg|Abs|Clip"):
        name = pool.output[0]
        if name in outputs:
            pool.output[0] = node.input[0] = "maxima"
            model.graph.node.append(helper.make_node("Identity", [node.output[0]], [name]))


def folded(of=lambda begin, end: begin + end, keep=True, where=lambda model, pad: True):
    """A Pad becomes pads, made of the spatial amounts at its begin and end, and added to MaxPool's own if they are kept."""

    def optimise(model):
        for pad, pool in chains(model, "Pad", MAX_POOL):
            amounts = pads_of(model, pad)
            if amounts is not None and where(model, pad):
                rank = len(amounts) // 2 - 2
                own = attribute(pool, "pads", [0] * 2 * rank) if keep else [0] * 2 * rank
                pads = of(spatial(amounts)[:rank], spatial(amounts)[rank:])
                set_attribute(pool, "pads", [a + b for a, b in zip(own, pads, strict=True)])
                drop(model, pad)

    return optimise


def is_beyond_planes(model, pad):
    amounts = pads_of(model, pad)
    return any(amounts[:2] + amounts[len(amounts) // 2 :][:2])


def clamp_amounts(model):
    for pad in nodes_of(model, "Pad"):
        amounts = pads_of(model, pad)
        if amounts is not None and len(pad.input) > 1:
            set_constant(model, pad.input[1], np.maximum(amounts, 0))


def slice_as_pads(model):
    for node, pool in chains(model, "Slice", MAX_POOL):
        starts = constant(model, node.input[1]) if len(node.input) > 1 else attribute(node, "starts")
        if starts is not None and min(starts) > 0:
            set_attribute(pool, "pads", [0] * 2 * len(attribute(pool, "kernel_shape")))
            drop(model, node)


def exchange_concat(model):
    for node in nodes_of(model, "Concat"):
        node.input[:] = node.input[::-1]


def first_output_of_split(model):
    for node in nodes_of(model, "Split"):
        names = list(node.output)
        taken = next(name for name in names if any(name in other.input for other in model.graph.node) or name == "Y")
        node.output[:] = [taken, *[f"left_{number}" for number in range(1, len(names))]]


def drop_transposes(model):
    return [drop(model, first, last) for first, _, last in around(model)]


def fold_planes(*names):
    return lambda model: [
        fold(model, *each, *names) for each in around(model) if attribute(each[0], "perm")[:2] == [0, 1]
    ]


def compose_backwards(model):
    for first, second in chains(model, "Transpose", "Transpose"):
        permutations = attribute(first, "perm"), attribute(second, "perm")
        set_attribute(second, "perm", [permutations[1][axis] for axis in permutations[0]])
        drop(model, first)


def leave_blocks(model):
    sizes = sizes_of_input(model)
    for pool in nodes_of(model, MAX_POOL):
        if not sizes or not sizes[1] or sizes[1] % 8 or producer(model, pool) not in (None, "Conv"):
            continue
        set_constant(model, "blocks", np.array([0, sizes[1] // 8, 8, -1]))
        name, pool.output[0] = pool.output[0], "maxima"
        nodes = [
            helper.make_node("Shape", ["maxima"], ["shape_of_blocks"]),
            helper.make_node("Reshape", ["maxima", "blocks"], ["in_blocks"]),
            helper.make_node("Transpose", ["in_blocks"], ["in_kernel_layout"], perm=[0, 1, 3, 2]),
            helper.make_node("Reshape", ["in_kernel_layout", "shape_of_blocks"], [name]),
        ]
        place = list(model.graph.node).index(pool) + 1
        for node in reversed(nodes):
            model.graph.node.insert(place, node)


def plane_indices_into_unpool(model):
    sizes = sizes_of_input(model)
    for unpool in nodes_of(model, "MaxUnpool") if sizes and None not in sizes else ():
        set_constant(model, "plane", np.prod(sizes[2:]))
        node = helper.make_node("Mod", [unpool.input[1], "plane"], ["in_plane"])
        model.graph.node.insert(list(model.graph.node).index(unpool), node)
        unpool.input[1] = "in_plane"


def unpool_by_addition(model):
    sizes = sizes_of_input(model)
    for pool, unpool in chains(model, MAX_POOL, "MaxUnpool") if sizes and None not in sizes else ():
        names = ("kernel_shape", "strides", "pads")
        is_undone = all(attribute(pool, name) == attribute(unpool, name) for name in names)
        is_known = producer(model, pool) is None and model.opset_import[0].version >= 16
        if not (is_undone and is_known and type_of_input(model) == TensorProto.FLOAT):
            continue
        set_constant(model, "line", np.array([-1]))
        set_constant(model, "zeros", np.zeros(np.prod(sizes), np.float32))
        set_constant(model, "sizes_of_X", np.array(sizes))
        place = list(model.graph.node).index(unpool)
        nodes = [
            helper.make_node("Reshape", [unpool.input[0], "line"], ["maxima_in_line"]),
            helper.make_node("Reshape", [unpool.input[1], "line"], ["indices_in_line"]),
            helper.make_node(
                "ScatterElements", ["zeros", "indices_in_line", "maxima_in_line"], ["sums"], reduction="add"
            ),
            helper.make_node("Reshape", ["sums", "sizes_of_X"], [unpool.output[0]]),
        ]
        model.graph.node.remove(unpool)
        for node in reversed(nodes):
            model.graph.node.insert(place, node)


def merged(kernel_of, strides_of=lambda s1, s2: s1 * s2):

    def optimise(model):
        for first, second in chains(model, MAX_POOL, MAX_POOL):
            kernels = attribute(first, "kernel_shape"), attribute(second, "kernel_shape")
            ones = [1] * len(kernels[0])
            strides = attribute(first, "strides", ones), attribute(second, "strides", ones)
            set_attribute(second, "kernel_shape", list(map(kernel_of, *kernels, strides[0])))
            set_attribute(second, "strides", list(map(strides_of, *strides)))
            drop(model, first)

    return optimise


def without(op, name, where=lambda model: True):
    return lambda model: [set_attribute(node, name, None) for node in nodes_of(model, op) if where(model)]


def is_of_constant(model):
    return constant(model, "X") is not None


def global_for_large_window(model):
    sizes = sizes_of_input(model)
    for pool in nodes_of(model, MAX_POOL):
        if len(pool.output) > 1 or None in sizes or producer(model, pool) not in (None, "Identity"):
            continue
        kernel = attribute(pool, "kernel_shape")
        dilations = attribute(pool, "dilations", [1] * len(kernel))
        extents = [(k - 1) * d + 1 for k, d in zip(kernel, dilations, strict=True)]
        if any(extent == size for extent, size in zip(extents, sizes[2:], strict=False)):
            pool.op_type = "GlobalMaxPool"
            del pool.attribute[:]


def unknown_sizes_as_one(model):
    for pool in nodes_of(model, MAX_POOL) if None in sizes_of_input(model) else ():
        auto_pad = attribute(pool, "auto_pad", b"NOTSET")
        if auto_pad.startswith(b"SAME"):
            totals = [k - 1 for k in attribute(pool, "kernel_shape")]
            small, large = [total // 2 for total in totals], [-(-total // 2) for total in totals]
            set_attribute(pool, "auto_pad", None)
            set_attribute(pool, "pads", small + large if auto_pad == b"SAME_UPPER" else large + small)


def exchange_sides_of_same(model):
    for pool in nodes_of(model, MAX_POOL):
        if attribute(pool, "auto_pad") == b"SAME_UPPER":
            set_attribute(pool, "auto_pad", "SAME_LOWER")


def branches_of(model):
    return [branch.g for node in nodes_of(model, "If") for branch in node.attribute]


def drop_last_of_branches(model):
    for branch in branches_of(model):
        if branch.node[-1].op_type in ("Neg", "Relu"):
            branch.node[-1].op_type = "Identity"


def branches_of_another_if(model):
    for branch in branches_of(model):
        if len(branch.output) == 1:
            del branch.node[:]
            branch.node.append(helper.make_node("Identity", ["X"], [branch.output[0].name]))


def loop_without_iteration(model):
    trips = constant(model, "trips")
    if trips is not None:
        set_constant(model, "trips", trips - 1)


def function_without_strides(model):
    for function in model.functions:
        for node in function.node:
            if node.op_type == MAX_POOL:
                set_attribute(node, "strides", None)


def cast_pairs(model):
    for ops in (("Cast", "Cast"), ("Cast", MAX_POOL, "Cast")):
        dropped(*ops)(model)


def as_if_equal(model):
    for node in nodes_of(model, "Equal"):
        node.input[1] = node.input[0]


def exchange_inputs(op, first, second):
    def optimise(model):
        for node in nodes_of(model, op):
            node.input[first], node.input[second] = node.input[second], node.input[first]

    return optimise


def overwrite_what_is_shared(model):
    for op in ("Neg", "Abs", "Clip"):
        for node in nodes_of(model, op):
            name, result = node.input[0], node.output[0]
            others = [each for each in model.graph.node if each is not node and name in each.input]
            if not others or maker(model, name) is None:
                continue
            changed = type(node).FromString(node.SerializeToString())
            model.graph.node.remove(node)
            model.graph.node.insert(list(model.graph.node).index(maker(model, name)) + 1, changed)
            for other in others:
                other.input[:] = [result if each == name else each for each in other.input]


def one_pool_of_each_tensor(model):
    for pool in nodes_of(model, MAX_POOL):
        for other in nodes_of(model, MAX_POOL):
            if other.input == pool.input and len(other.output) == 1:
                for name in ("kernel_shape", "pads"):
                    set_attribute(other, name, attribute(pool, name))


def one_window_for_two(model):
    for node in (*nodes_of(model, "Max"), *nodes_of(model, "Min")):
        pools = [maker(model, name) for name in node.input]
        if len(pools) == 2 and all(pool is not None and pool.op_type == MAX_POOL for pool in pools):
            for name in ("kernel_shape", "pads"):
                largest = [max(pair) for pair in zip(*(attribute(pool, name) for pool in pools), strict=True)]
                for pool in pools:
                    set_attribute(pool, name, largest)


def first_of_concat_alone(model):
    for node in nodes_of(model, "Concat"):
        pools = [name for name in node.input if (made := maker(model, name)) is not None and made.op_type == MAX_POOL]
        node.input[:] = [pools[0] if name in pools else name for name in node.input]


def greater_or_equal(model):
    for node in nodes_of(model, "Greater"):
        node.op_type = "GreaterOrEqual"


FOLDED, MERGED, TRANSPOSED = "pad-folded-into-pads", "max-pools-merged", "transpose-folded-wrongly"
MOVED, QUANTISED = "relu-moved", "quantisation-moved"

WRONG = (
    Wrong("A Neg is removed, as if all cells were zeros without a sign.", dropped("Neg"), "node-dropped"),
    Wrong("A Relu is removed, as if all cells were positive.", dropped("Relu"), "node-dropped"),
    Wrong("A Relu before MaxPool moves behind it, and with it the ties that it makes.", moved("Relu", MAX_POOL), MOVED),
    Wrong("A Relu behind MaxPool moves before it, where it makes ties.", moved(MAX_POOL, "Relu"), MOVED),
    Wrong("A Neg before MaxPool moves behind it.", moved("Neg", MAX_POOL), MOVED),
    Wrong("A Neg behind MaxPool moves before it.", moved(MAX_POOL, "Neg"), MOVED),
    Wrong("An Abs before MaxPool moves behind it.", moved("Abs", MAX_POOL), MOVED),
    Wrong("A Clip before MaxPool moves behind it, and with it the ties that it makes.", moved("Clip", MAX_POOL), MOVED),
    Wrong("A LeakyRelu moves behind MaxPool, though its slope may be negative.", moved("LeakyRelu", MAX_POOL), MOVED),
    Wrong("A Cast before MaxPool moves behind it.", moved("Cast", MAX_POOL), "cast-moved"),
    Wrong("A Cast behind MaxPool moves before it.", moved(MAX_POOL, "Cast"), "cast-moved"),
    Wrong("A DequantizeLinear of negative scale moves behind MaxPool.", moved("DequantizeLinear", MAX_POOL), QUANTISED),
    Wrong("A QuantizeLinear moves before MaxPool, where it makes ties.", moved(MAX_POOL, "QuantizeLinear"), QUANTISED),
    Wrong("A Neg on both sides of MaxPool is removed.", dropped("Neg", MAX_POOL, "Neg")),
    Wrong("A Cast and a Cast back are removed, though the first may round.", cast_pairs),
    Wrong("A QuantizeLinear and a DequantizeLinear are removed.", dropped("QuantizeLinear", "DequantizeLinear")),
    Wrong("Both are removed around MaxPool, of any scales.", dropped("DequantizeLinear", MAX_POOL, "QuantizeLinear")),
    Wrong("A DequantizeLinear has no zero point.", without_third_input("DequantizeLinear")),
    Wrong("A function behind MaxPool overwrites maxima that are an output of the graph.", function_in_place),
    Wrong("A Pad of zeros becomes pads.", folded(where=lambda *pad: pad_value(*pad) == 0), FOLDED),
    Wrong("A Pad of numbers becomes pads.", folded(where=lambda *pad: pad_value(*pad) not in (0, "")), FOLDED),
    Wrong("A Pad that copies cells becomes pads.", folded(where=lambda *pad: pad_value(*pad) == ""), FOLDED),
    Wrong("A Pad of batch or channels becomes pads of the spatial axes alone.", folded(where=is_beyond_planes), FOLDED),
    Wrong("Of a Pad, the cells at the begin alone become pads.", folded(lambda begin, end: begin + [0] * len(end))),
    Wrong("A Pad becomes pads with the axes exchanged.", folded(lambda begin, end: begin[::-1] + end[::-1])),
    Wrong("A Pad becomes pads, and those that MaxPool had are lost.", folded(keep=False)),
    Wrong("A Pad adds zeros, whatever its value.", without_third_input("Pad")),
    Wrong("A Pad that should remove cells removes none.", clamp_amounts),
    Wrong("A Pad moves before the Neg, Abs or Relu that it follows.", moved("Neg|Abs|Relu", "Pad")),
    Wrong("A Slice before MaxPool is removed.", dropped("Slice", MAX_POOL, which=[0]), "node-dropped"),
    Wrong("A Slice of the first cells becomes pads that would be negative, and are made 0.", slice_as_pads),
    Wrong("A Slice before MaxPool moves behind it.", moved("Slice", MAX_POOL)),
    Wrong("The inputs of a Concat change places.", exchange_concat),
    Wrong("The first output of a Split is taken for the others.", first_output_of_split),
    Wrong("Two Transposes that undo each other are removed, and the attributes stay.", drop_transposes, TRANSPOSED),
    Wrong("The Transpose behind MaxPool is removed.", dropped(MAX_POOL, "Transpose", which=[1]), TRANSPOSED),
    Wrong("The Transpose before MaxPool is removed.", dropped("Transpose", MAX_POOL, which=[0]), TRANSPOSED),
    Wrong("A Transpose moves behind MaxPool, and the attributes stay.", moved("Transpose", MAX_POOL), TRANSPOSED),
    Wrong("Transposes are folded, pads and dilations not permuted.", fold_planes("kernel_shape", "strides")),
    Wrong("Transposes are folded rightly for Y, and Indices count in the tensor before them.", fold_planes()),
    Wrong("Two Transposes in a row become one, composed in the wrong order.", compose_backwards),
    Wrong("A Transpose reverses all axes.", without("Transpose", "perm")),
    Wrong("The output of MaxPool stays in blocks of eight channels.", leave_blocks, "blocked-layout"),
    Wrong("MaxUnpool gets Indices that count in each plane.", plane_indices_into_unpool),
    Wrong("MaxUnpool adds up cells that have the same index.", unpool_by_addition),
    Wrong("Two MaxPools become one as if the first had stride 1.", merged(lambda k, m, _: k + m - 1), MERGED),
    Wrong("They become one whose window has the size of both together.", merged(lambda k, m, _: k + m)),
    Wrong(
        "They become one with the stride of the second alone.",
        merged(lambda k1, k2, s1: k1 + (k2 - 1) * s1, lambda _s1, s2: s2),
    ),
    Wrong("MaxPool loses its dilations.", without(MAX_POOL, "dilations")),
    Wrong("MaxPool loses ceil_mode.", without(MAX_POOL, "ceil_mode")),
    Wrong("MaxPool loses auto_pad.", without(MAX_POOL, "auto_pad")),
    Wrong("MaxPool loses storage_order.", without(MAX_POOL, "storage_order")),
    Wrong("MaxPool of a constant is computed without its pads.", without(MAX_POOL, "pads", is_of_constant)),
    Wrong("MaxPool of a constant is computed without its strides.", without(MAX_POOL, "strides", is_of_constant)),
    Wrong("A MaxPool over the whole of some axis becomes a GlobalMaxPool.", global_for_large_window),
    Wrong("The pads of SAME are computed as if an unknown size were 1.", unknown_sizes_as_one),
    Wrong("SAME_UPPER becomes SAME_LOWER.", exchange_sides_of_same),
    Wrong("The last function of the branches of an If is removed.", drop_last_of_branches),
    Wrong("The branches of an If return their input.", branches_of_another_if),
    Wrong("A Loop of one iteration is taken for one of none.", loop_without_iteration),
    Wrong("The nodes of a function lose the optional attributes of MaxPool.", function_without_strides),
    Wrong("X is taken to be equal to its maxima.", as_if_equal),
    Wrong("The branches of a Where are exchanged.", exchange_inputs("Where", 1, 2)),
    Wrong("The operands of a Sub are exchanged.", exchange_inputs("Sub", 0, 1)),
    Wrong("A Sub behind MaxPool moves before it, and takes X from itself.", moved(MAX_POOL, "Sub")),
    Wrong("An Add or a Mul behind MaxPool moves before it.", moved(MAX_POOL, "Add|Mul")),
    Wrong("A function overwrites the tensor that MaxPool takes, too.", overwrite_what_is_shared),
    Wrong("MaxPools of one tensor are taken for one, whatever their windows.", one_pool_of_each_tensor),
    Wrong("The Max or Min of two MaxPools becomes a MaxPool of the larger window.", one_window_for_two),
    Wrong("MaxPools that a Concat joins are taken for the first of them.", first_of_concat_alone),
    Wrong("A Greater becomes a GreaterOrEqual.", greater_or_equal),
)
