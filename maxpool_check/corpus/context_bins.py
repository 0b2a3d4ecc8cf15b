"""What is particular about the graph around a MaxPool, in bins, as ``corpus/bins.py`` has them for MaxPool alone.

A case has one bin of each factor but ``context``, of which it has all that apply: a Pad before MaxPool, a Relu behind it, and
shapes that are known at run time only are three.
"""

import re
from collections.abc import Iterator, Mapping

import numpy as np

from maxpool_check.corpus.bins import Bins, values
from maxpool_check.corpus.case import Case
from maxpool_check.graphs.context import Context
from maxpool_check.graphs.node import Node
from maxpool_check.reference.dtypes import name_of
from maxpool_check.reference.geometry import effective_kernel
from maxpool_check.reference.pooling import Pooling

CONTEXT = "context"

OPSETS = (8, 10, 11, 12, 13, 16, 18, 20, 21, 22, 23, 26)
"""Operator sets in which MaxPool or a neighbour has a new version; others count as the one before them."""

DTYPES = ("float16", "bfloat16", "float32", "float64", "int8", "uint8")

VALUES = ("distinct", "ties", "fraction", "negative", "neg-inf")

GEOMETRIES: Mapping[str, Mapping[str, object]] = {
    "dilated": {"kernel_shape": [2, 2], "dilations": [2, 1]},
    "same": {"kernel_shape": [3, 2], "strides": [2, 2], "auto_pad": "SAME_UPPER"},
    "ceil": {"kernel_shape": [2, 2], "strides": [2, 2], "ceil_mode": 1},
    "padded": {"kernel_shape": [2, 2], "strides": [2, 2], "pads": [1, 0, 0, 1]},
    "column-major": {"kernel_shape": [2, 2], "storage_order": 1},
    "strided": {"kernel_shape": [2, 3], "strides": [2, 1]},
    "plain": {"kernel_shape": [2, 2]},
}
"""The bins of the attributes, the first that applies, each with attributes that have it."""

_BLOCK = 8
"""Channels of a multiple of it have layouts of their own in runtimes."""


def context_bins(case: Case) -> list[Bins]:
    """The bins of a case with a context: for each bin of :data:`CONTEXT`, one with those of the other factors."""
    context, resolved = case.context, case.resolved
    if context.is_alone or not isinstance(resolved, Pooling):
        return []
    X = case.X.tensor().reshape((*case.X.shape[:2], -1) if case.X.ndim > 2 else (1, 1, -1))
    others = {
        "dtype": name_of(case.X.dtype),
        "values": values(X) if X.size else "",
        "geometry": _geometry(case, resolved),
        "opset": str(max((opset for opset in OPSETS if opset <= context.opset), default=0)),
    }
    return [{CONTEXT: name, **others} for name in contexts_of(context, case.outputs, case.entering)]


def contexts_of(context: Context, outputs: tuple[str, ...], entering: np.ndarray) -> list[str]:
    """The bins of :data:`CONTEXT`, without repetition; ``entering`` is the tensor that enters MaxPool."""
    sizes = context.dimensions
    is_partly = sizes is not None and any(isinstance(size, int) for size in sizes)
    presentation = {
        "two-consumers": bool(context.side_outputs),
        "x-initializer": context.initializer,
        "partly-dynamic": is_partly,
        "dynamic": sizes is not None and not is_partly,
        f"inside-{str(context.inside).lower()}": context.inside is not None,
        "indices-alone": outputs == ("Indices",),
        "blocks-of-channels": entering.shape[1] > 0 and entering.shape[1] % _BLOCK == 0,
    }
    return list(dict.fromkeys([*_neighbours(context), *(name for name, is_so in presentation.items() if is_so)]))


def _neighbours(context: Context) -> Iterator[str]:
    for node in context.before:
        yield _pad(node) if node.op == "Pad" else f"{_name(node.op)}-before"
    for node in context.after:
        yield f"{_name(node.op)}-behind"
    for op in dict.fromkeys(node.op for node in context.before):
        if any(node.op == op for node in context.after):
            yield f"{_name(op)}-around"
    yield from sorted({f"constants-{node.constants}" for node in (*context.before, *context.after)} - {_USUAL})


_USUAL = "constants-initializer"


def _pad(node: Node) -> str:
    mode, value = node.fields.get("mode", "constant"), node.fields.get("constant_value", 0)
    if mode != "constant":
        return f"pad-{mode}"
    return "pad-zero" if value == 0 else "pad-neg-inf" if value == -np.inf else "pad-number"


def _name(op: str) -> str:
    """``LeakyRelu`` as ``leaky-relu``."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "-", op).lower()


def _geometry(case: Case, pooling: Pooling) -> str:
    axes, attributes = pooling.geometry, case.attributes
    applies = {
        "dilated": any(axis.dilation > 1 for axis in axes),
        "same": str(attributes.get("auto_pad", "")).startswith("SAME"),
        "ceil": bool(attributes.get("ceil_mode")),
        "padded": any(axis.begin or axis.end for axis in axes),
        "column-major": bool(attributes.get("storage_order")),
        "strided": any(axis.stride > 1 for axis in axes),
    }
    # A dilation of one tap has no effect.
    applies["dilated"] &= any(effective_kernel(axis.kernel, axis.dilation) > axis.kernel for axis in axes)
    return next((name for name, is_so in applies.items() if is_so), "plain")
