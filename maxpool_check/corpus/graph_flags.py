"""Flags of the nodes around MaxPool, for conditions that the names of operators cannot say."""

from collections.abc import Callable, Mapping

import numpy as np

from maxpool_check.corpus.case import Case
from maxpool_check.graphs.node import Inexact, Node, tensor
from maxpool_check.reference.dtypes import name_of
from maxpool_check.reference.pooling import Pooling

_CONSTANT = "constant"


def _in_front(case: Case, op: str, *, of_cast: bool = False) -> Node | None:
    """The node whose output MaxPool takes, or a Cast in front of it, if it is of this operator."""
    before = case.context.before
    if of_cast:
        before = before[:-1] if before and before[-1].op == "Cast" else ()
    return before[-1] if before and before[-1].op == op else None


def _behind(case: Case, *ops: str) -> bool:
    """Whether these are the first nodes that the Y of MaxPool goes through."""
    after = case.context.after
    return tuple(node.op for node in after[: len(ops)]) == ops


def _zero_pads(case: Case, *, of_cast: bool = False) -> tuple[list[int], list[int]] | None:
    """What a Pad in front adds at the beginning and at the end of each spatial axis.

    None unless it adds zeros, to spatial axes alone, as many as the model says: what pads of MaxPool might say as well.
    """
    pad = _in_front(case, "Pad", of_cast=of_cast)
    if (
        pad is None
        or pad.fields.get("mode", _CONSTANT) != _CONSTANT
        or pad.constants == "input"
        or "axes" in pad.fields
    ):
        return None
    pads = pad.integers("pads")
    begins, ends = pads[: len(pads) // 2], pads[len(pads) // 2 :]
    value = tensor(pad.fields.get("constant_value", 0), name_of(case.X.dtype), "constant_value")
    is_spatial = not any((*begins[:2], *ends[:2])) and any(pads) and min(pads) >= 0
    return (begins[2:], ends[2:]) if is_spatial and not value.any() else None


def _are_large(case: Case, pads: tuple[list[int], list[int]]) -> bool:
    """Whether these pads, added to MaxPool's own, are not smaller than its kernel."""
    return isinstance(case.resolved, Pooling) and any(
        max(axis.begin + begin, axis.end + end) >= axis.kernel
        for axis, begin, end in zip(case.resolved.geometry, *pads, strict=True)
    )


def _has_zero_pad(case: Case, *, large: bool, of_cast: bool = False) -> bool:
    pads = _zero_pads(case, of_cast=of_cast)
    return pads is not None and _are_large(case, pads) == large


def _has_int8_zero_point(case: Case) -> bool:
    node = _in_front(case, "DequantizeLinear")
    if node is None or "x_zero_point" not in node.fields:
        return False
    *_, quantized, _ = (case.X.tensor(), *case.context.flow(case.X.tensor()))
    return quantized.dtype == np.int8


def _has_negative_scale(case: Case) -> bool:
    node = _in_front(case, "DequantizeLinear")
    return node is not None and bool((np.asarray(node.fields.get("x_scale", 1), np.float64) < 0).any())


def _nodes(case: Case, op: str) -> list[Node]:
    """The nodes of an operator before MaxPool."""
    return [node for node in case.context.before if node.op == op]


def _scales_negatively(case: Case) -> bool:
    after = case.context.after
    scales = [node.fields.get("y_scale", 1) for node in after if node.op == "QuantizeLinear"]
    return any((np.asarray(scale, np.float64) < 0).any() for scale in scales)


def _casts_to_int64(case: Case) -> bool:
    after = case.context.after
    return any(node.op == "Cast" and node.fields.get("to") == "int64" for node in after)


def _crops(case: Case) -> bool:
    after = case.context.after
    pads = [*_nodes(case, "Pad"), *(node for node in after if node.op == "Pad")]
    return any(min(node.integers("pads")) < 0 for node in pads)


def _pads_with_infinity(case: Case) -> bool:
    values = [node.fields.get("constant_value", 0) for node in _nodes(case, "Pad")]
    return any(not np.isfinite(np.asarray(value, np.float64)).all() for value in values)


def _exact(flag: Callable[[Case], bool]) -> Callable[[Case], bool]:
    def of(case: Case) -> bool:
        try:
            return flag(case)
        except Inexact:
            return False

    return of


GRAPH: Mapping[str, Callable[[Case], bool]] = {
    name: _exact(flag)
    for name, flag in {
        # Directly in front of MaxPool: a Pad of zeros, on spatial axes alone, as many as the model says. With the pads of
        # MaxPool they are smaller than the kernel, or not.
        "small-zero-pad-in-front": lambda case: _has_zero_pad(case, large=False),
        "large-zero-pad-in-front": lambda case: _has_zero_pad(case, large=True),
        # The same in front of a Cast that is directly in front of MaxPool.
        "small-zero-pad-in-front-of-cast": lambda case: _has_zero_pad(case, large=False, of_cast=True),
        "quantize-behind": lambda case: _behind(case, "QuantizeLinear"),
        "no-quantize-behind": lambda case: not _behind(case, "QuantizeLinear"),
        "cast-in-front": lambda case: _in_front(case, "Cast") is not None,
        "cast-behind": lambda case: _behind(case, "Cast"),
        "two-casts-behind": lambda case: _behind(case, "Cast", "Cast"),
        # A DequantizeLinear in front has a zero point of int8.
        "int8-zero-point-in-front": _has_int8_zero_point,
        "negative-scale-in-front": _has_negative_scale,
        "negative-scale-behind": _scales_negatively,
        # Some Pad before MaxPool has this mode, axes, or value.
        "pad-of-mode-wrap": lambda case: any(node.fields.get("mode") == "wrap" for node in _nodes(case, "Pad")),
        "pad-with-axes": lambda case: any("axes" in node.fields for node in _nodes(case, "Pad")),
        "pad-of-infinity": _pads_with_infinity,
        # A Pad before or behind MaxPool has negative pads.
        "pad-that-crops": _crops,
        "leaky-relu": lambda case: "LeakyRelu" in case.context.operators,
        "cast-to-int64-behind": _casts_to_int64,
        "unsqueeze-axes-as-input": lambda case: any(node.constants == "input" for node in _nodes(case, "Unsqueeze")),
        # Sizes of X are known at run time only; the nodes are in a function of the model.
        "dynamic-sizes": lambda case: case.context.dimensions is not None,
        "function": lambda case: case.context.inside == "function",
    }.items()
}
"""The flags of ``graph``: what they say of a graph of several nodes."""
