"""The quantities of a case: numbers and words that its flags and bins are rules about."""

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields
from functools import cached_property
from typing import Any

import numpy as np

from maxpool_check.corpus.case import Case
from maxpool_check.graphs.context import Context
from maxpool_check.graphs.node import Inexact, Node, tensor
from maxpool_check.reference.dtypes import highest, is_float, is_subnormal, lowest, name_of
from maxpool_check.reference.geometry import (
    AutoPad,
    Axis,
    Geometry,
    ceil_output,
    clipped_ceil_output,
    effective_kernel,
    floor_output,
    same_padding,
)
from maxpool_check.reference.pooling import Pooling
from maxpool_check.specifications.roles import Role, RoundingType, meaning_of

Rule = Callable[["Features"], bool]
"""Whether something is so of a case."""


class Features:
    """The quantities of one case, computed when a rule is about them; ``known`` are the rules that were applied to it."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self._quantities: dict[str, np.ndarray] = {}
        # Many defects have the same flags.
        self.known: dict[Rule, bool] = {}

    def __getitem__(self, name: str) -> np.ndarray:
        """The numbers, or words, of a quantity. Raises ``Inexact`` if a node before MaxPool has no exact result."""
        if name not in self._quantities:
            prefix, _, rest = name.partition("-")
            if name in OF_AXES:
                values: Any = [OF_AXES[name](axis) for axis in self.geometry]
            elif prefix == "row":
                values = self[rest][-1:]
            elif prefix == "different":
                values = [len(set(self[rest]))]
            else:
                values = OF_CASES[name](self)
            # Pads and strides may need more than 64 bits.
            is_numpy = isinstance(values, (np.ndarray, np.generic))
            self._quantities[name] = np.asarray(values) if is_numpy else np.array([*values], object)
        return self._quantities[name]

    @cached_property
    def tensor(self) -> np.ndarray:
        """The tensor that enters MaxPool, as N x C x D1 x ... x Dn where the document accepts the case."""
        try:
            entering = self.case.entering
        except Inexact:
            entering = self.case.X.tensor()
        layout = self.case.specification.layout
        return layout.to_core(entering) if entering.ndim > 2 else entering

    @property
    def is_accepted(self) -> bool:
        """Whether the document accepts the case."""
        return isinstance(self.case.resolved, Pooling)

    @cached_property
    def geometry(self) -> Geometry:
        """The spatial axes; none if the document excludes the case."""
        return self.case.resolved.geometry if isinstance(self.case.resolved, Pooling) else ()

    @property
    def pooling(self) -> Pooling:
        """The pooling of a case that the document accepts."""
        assert isinstance(self.case.resolved, Pooling)
        return self.case.resolved

    def meaning(self, role: Role) -> Any:
        """What the attribute of a role means, or its default, if the document accepts the case."""
        return meaning_of(self.case.specification, self.case.attributes, role)

    def given(self, *roles: Role) -> list[Any]:
        """What the attributes of these roles mean, those that the case gives alone; lists as their entries."""
        result: list[Any] = []
        for name, attribute in self.case.specification.attributes.items():
            if attribute.role in roles and name in self.case.attributes:
                value = self.case.attributes[name]
                result += value if isinstance(value, (list, tuple)) else [attribute.values.get(value, value)]
        return result

    def words(self, role: Role) -> list[Any]:
        """What the attribute of a role means, as words: a number that means nothing is its digits."""
        return [value if isinstance(value, str) else str(value) for value in self.given(role)]

    def integers(self, *roles: Role) -> list[int]:
        """The integers among the values of attributes."""
        return [value for value in self.given(*roles) if isinstance(value, int)]

    @property
    def context(self) -> Context:
        """The nodes around MaxPool."""
        return self.case.context


def _if_accepted(quantity: Callable[[Features], Any]) -> Callable[[Features], Any]:
    """A quantity of one number or word that a case has only if its document accepts it."""
    return lambda of: [quantity(of)] if of.is_accepted else ()


def _planes(of: Features) -> list[np.ndarray]:
    """The cells of each image and channel; none if the tensor has no spatial axes."""
    return [plane for image in of.tensor for plane in image] if of.tensor.ndim > 2 else []


def _zero_pad(case: Case, nodes: Sequence[Node]) -> Sequence[tuple[int, int]] | None:
    """What a Pad that is the last of these nodes adds at both ends of each spatial axis.

    None unless it adds zeros, to spatial axes alone, as many as the model says: what pads of MaxPool might say as well.
    """
    pad = nodes[-1] if nodes else None
    if pad is None or pad.op != "Pad" or pad.fields.get("mode", "constant") != "constant":
        return None
    if pad.constants == "input" or "axes" in pad.fields:
        return None
    pads = pad.integers("pads")
    axes = list(zip(pads[: len(pads) // 2], pads[len(pads) // 2 :], strict=False))
    value = tensor(pad.fields.get("constant_value", 0), name_of(case.X.dtype), "constant_value")
    is_spatial = axes[:2] == [(0, 0), (0, 0)] and any(pads) and min(pads) >= 0
    return axes[2:] if is_spatial and not value.any() else None


def _beyond_kernel(of: Features, nodes: Sequence[Node]) -> list[int]:
    """How many cells longer than the kernel of each axis such a Pad and MaxPool's own pads are, at the end with more."""
    pads = _zero_pad(of.case, nodes) or ()
    return [
        max(axis.begin + begin, axis.end + end) - axis.kernel
        for axis, (begin, end) in zip(of.geometry, pads, strict=False)
    ]


def _before_cast(nodes: Sequence[Node]) -> Sequence[Node]:
    return nodes[:-1] if nodes and nodes[-1].op == "Cast" else ()


def _of(nodes: Iterable[Node], op: str, field: str, default: Any = None) -> list[Any]:
    """A field of the nodes of an operator; without a default, of those that have it."""
    values = [node.fields.get(field, default) for node in nodes if node.op == op]
    return [value for value in values if value is not None]


def _numbers(values: Iterable[Any]) -> np.ndarray:
    return np.concatenate([np.zeros(0), *(np.asarray(value, np.float64).reshape(-1) for value in values)])


def _dtypes_of_zero_points(of: Features) -> list[str]:
    """The dtype of what a DequantizeLinear in front of MaxPool takes, if it has a zero point."""
    case = of.case
    if not _of(of.context.before[-1:], "DequantizeLinear", "x_zero_point"):
        return []
    *_, quantized, _ = (case.X.tensor(), *case.context.flow(case.X.tensor()))
    return [quantized.dtype.name]


def _same_padding(axis: Axis, dilation: int) -> int:
    """The cells beside X that the windows of SAME cover; negative where they do not reach the ends of X."""
    return same_padding(axis.size, axis.kernel, axis.stride, dilation)


def _rounding(axes: Geometry, auto_pad: AutoPad, rounding: RoundingType) -> str:
    """How the output sizes are rounded, and what it has to do: nothing, of a remainder, or a window behind X is dropped."""
    rest = [
        (axis, floor_output(axis.size, axis.kernel, axis.stride, axis.dilation, axis.begin, axis.end))
        for axis in axes
        if (axis.size + axis.begin + axis.end - effective_kernel(axis.kernel, axis.dilation)) % axis.stride
    ]
    # SAME_* has a size of its own.
    if not rest or auto_pad in (AutoPad.SAME_UPPER, AutoPad.SAME_LOWER):
        return rounding.value
    is_dropped = any(axis.output == whole and axis.start(whole) >= axis.size for axis, whole in rest)
    return f"{rounding.value}-{'drop' if is_dropped and rounding is not RoundingType.FLOOR else 'rest'}"


_WIDE = ("int16", "uint16", "int32", "uint32", "int64", "uint64")

OF_AXES: Mapping[str, Callable[[Axis], Any]] = {
    **{field.name: operator.attrgetter(field.name) for field in fields(Axis)},
    "half-kernel": lambda axis: axis.kernel // 2,
    "clipped": lambda axis: bool((axis.taps()[1] < axis.kernel).any()),
    "empty-window": lambda axis: bool((axis.taps()[1] == 0).any()),
    "axis-without-window": lambda axis: axis.exceeds_padded_input,
    "window-beginning-in-end-padding": lambda axis: (
        axis.output > 0
        and ceil_output(axis.size, axis.kernel, axis.stride, axis.dilation, axis.begin, axis.end)
        > clipped_ceil_output(axis.size, axis.kernel, axis.stride, axis.dilation, axis.begin, axis.end)
    ),
    "stride-of-axis-of-size-0": lambda axis: axis.stride if axis.exceeds_padded_input and not axis.output else 0,
    "cells-before-middle": lambda axis: (axis.kernel - 1) // 2,
    "cells-of-same-beside-size": lambda axis: _same_padding(axis, axis.dilation),
    "same-padding": lambda axis: max(0, _same_padding(axis, axis.dilation)),
    "same-padding-undilated": lambda axis: max(0, _same_padding(axis, 1)),
}
"""Quantities that each spatial axis has. ``row-`` before the name: of the last axis; ``different-``: how many differ."""

OF_CASES: Mapping[str, Callable[[Features], Any]] = {
    "spatial-axes": lambda of: [len(of.geometry)],
    "tensor-axes": lambda of: [of.tensor.ndim],
    "images": lambda of: of.tensor.shape[:1] if of.tensor.ndim > 2 else (),
    "channels": lambda of: of.tensor.shape[1:2],
    "cells": lambda of: [of.tensor.size],
    "value": lambda of: of.tensor,
    "lowest": lambda of: np.asarray(lowest(of.tensor.dtype)),
    "highest": lambda of: np.asarray(highest(of.tensor.dtype)),
    "first-value": lambda of: of.tensor.reshape(-1)[:1],
    "dtype": lambda of: [of.tensor.dtype.name],
    "subnormal": lambda of: is_subnormal(of.tensor) if is_float(of.tensor.dtype) else (),
    "sign-of-zero": lambda of: (
        np.signbit(of.tensor[of.tensor == 0].astype(np.float64)).astype(int) if is_float(of.tensor.dtype) else ()
    ),
    "fraction": lambda of: of.tensor != np.floor(of.tensor) if is_float(of.tensor.dtype) else (),
    # It needs all bits of an integer of 16 or more.
    "wide": lambda of: of.tensor > int(highest(of.tensor.dtype)) // 2 if of.tensor.dtype.name in _WIDE else (),
    "plane-of-nan": lambda of: [plane.size > 0 and bool((plane != plane).all()) for plane in _planes(of)],
    "plane-with-ties": lambda of: [len(np.unique(plane)) < plane.size for plane in _planes(of)],
    # What the document makes of the attributes, if it accepts the case.
    "auto_pad": _if_accepted(lambda of: of.meaning(Role.AUTO_PAD)),
    "rounding": _if_accepted(lambda of: _rounding(of.geometry, of.meaning(Role.AUTO_PAD), of.meaning(Role.ROUNDING))),
    "storage-order": _if_accepted(lambda of: of.pooling.numbering.storage_order),
    "index_type": _if_accepted(lambda of: of.pooling.numbering.dtype),
    "index-axis": _if_accepted(lambda of: of.pooling.numbering.axis),
    # What the attributes say that the case gives, whether or not the document accepts them.
    "given-stride": lambda of: of.integers(Role.STRIDE),
    "given-dilation": lambda of: of.integers(Role.DILATION),
    "given-pad": lambda of: [
        *of.integers(Role.PADS, Role.BEGIN, Role.END),
        *(-start for start in of.integers(Role.START)),
    ],
    "given-activation": lambda of: of.words(Role.ACTIVATION),
    "given-auto-pad": lambda of: of.words(Role.AUTO_PAD),
    "given-rounding": lambda of: of.words(Role.ROUNDING),
    "given-storage-order": lambda of: of.words(Role.STORAGE_ORDER),
    # The nodes around MaxPool.
    "operator": lambda of: of.context.operators,
    "last-in-front": lambda of: [node.op for node in of.context.before[-1:]],
    "first-behind": lambda of: [node.op for node in of.context.after[:1]],
    "second-behind": lambda of: [node.op for node in of.context.after[1:2]],
    "zero-pad": lambda of: [_zero_pad(of.case, of.context.before) is not None],
    "zero-pad-of-cast": lambda of: [_zero_pad(of.case, _before_cast(of.context.before)) is not None],
    "cells-of-zero-pad-beyond-kernel": lambda of: _beyond_kernel(of, of.context.before),
    "cells-of-zero-pad-of-cast-beyond-kernel": lambda of: _beyond_kernel(of, _before_cast(of.context.before)),
    "dtype-of-zero-point-in-front": _dtypes_of_zero_points,
    "scale-in-front": lambda of: _numbers(_of(of.context.before[-1:], "DequantizeLinear", "x_scale", 1)),
    "scale-behind": lambda of: _numbers(_of(of.context.after, "QuantizeLinear", "y_scale", 1)),
    "mode-of-pad": lambda of: _of(of.context.before, "Pad", "mode"),
    "pad-with-axes": lambda of: ["axes" in node.fields for node in of.context.before if node.op == "Pad"],
    "infinity-of-pad": lambda of: ~np.isfinite(_numbers(_of(of.context.before, "Pad", "constant_value", 0))),
    "cells-of-pad": lambda of: [
        cells for node in (*of.context.before, *of.context.after) if node.op == "Pad" for cells in node.integers("pads")
    ],
    "cast-behind": lambda of: _of(of.context.after, "Cast", "to"),
    "constants-of-unsqueeze": lambda of: [node.constants for node in of.context.before if node.op == "Unsqueeze"],
    "size-of-run-time": lambda of: [of.context.dimensions is not None],
    "inside": lambda of: [of.context.inside],
}
"""Quantities of the tensor that enters MaxPool, of the attributes, and of the nodes around MaxPool."""

NAMES = (*OF_AXES, *OF_CASES, *(f"{prefix}-{name}" for prefix in ("row", "different") for name in OF_AXES))
"""The names of all quantities."""

IN_WORDS = frozenset({
    "dtype", "auto_pad", "rounding", "storage-order", "index_type",
    "given-activation", "given-auto-pad", "given-rounding", "given-storage-order",
    "operator", "last-in-front", "first-behind", "second-behind", "cast-behind", "mode-of-pad",
    "dtype-of-zero-point-in-front", "constants-of-unsqueeze", "inside",
})  # fmt: skip
"""Quantities that are words, not numbers."""

YES_OR_NO = frozenset({
    "clipped", "empty-window", "axis-without-window", "window-beginning-in-end-padding",
    "subnormal", "fraction", "wide", "plane-of-nan", "plane-with-ties",
    "zero-pad", "zero-pad-of-cast", "pad-with-axes", "infinity-of-pad", "size-of-run-time",
})  # fmt: skip
"""Quantities that say whether something is so, and are compared with nothing."""
