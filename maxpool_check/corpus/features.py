"""What is particular about a case: quantities, and the flags of a defect's conditions, which features.yaml defines by them."""

import operator
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from maxpool_check.corpus.case import Case
from maxpool_check.graphs.node import Inexact, Node, tensor
from maxpool_check.reference.dtypes import is_float, is_subnormal, lowest, name_of
from maxpool_check.reference.geometry import Axis, Geometry, ceil_output, clipped_ceil_output, same_padding
from maxpool_check.reference.pooling import Pooling
from maxpool_check.specifications.roles import Role


class Features:
    """The quantities of one case; computed when a rule is about them. ``known`` are the rules that were applied to it."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self._quantities: dict[str, np.ndarray] = {}
        # Many defects have the same flags.
        self.known: dict[Rule, bool] = {}

    def __getitem__(self, name: str) -> np.ndarray:
        """The numbers, or words, of a quantity. Raises ``Inexact`` if a node before MaxPool has no exact result."""
        if name not in self._quantities:
            row = name.removeprefix("row-")
            if row in _OF_AXES:
                values: Any = [_OF_AXES[row](axis) for axis in (self.geometry if row == name else self.geometry[-1:])]
            else:
                values = _OF_CASES[name](self)
            # Pads and strides may need more than 64 bits.
            self._quantities[name] = values if isinstance(values, np.ndarray) else np.array([*values], object)
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
    def geometry(self) -> Geometry:
        """The spatial axes; none if the document excludes the case."""
        return self.case.resolved.geometry if isinstance(self.case.resolved, Pooling) else ()

    def given(self, *roles: Role) -> list[Any]:
        """What the attributes of these roles mean, those that the case gives alone; lists as their entries."""
        result: list[Any] = []
        for name, attribute in self.case.specification.attributes.items():
            if attribute.role in roles and name in self.case.attributes:
                value = self.case.attributes[name]
                result += value if isinstance(value, (list, tuple)) else [attribute.values.get(value, value)]
        return result

    def integers(self, *roles: Role) -> list[int]:
        """The integers among the values of attributes."""
        return [value for value in self.given(*roles) if isinstance(value, int)]

    @property
    def before(self) -> tuple[Node, ...]:
        """The nodes before MaxPool."""
        return self.case.context.before

    @property
    def after(self) -> tuple[Node, ...]:
        """The nodes behind MaxPool."""
        return self.case.context.after


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
    if not _of(of.before[-1:], "DequantizeLinear", "x_zero_point"):
        return []
    *_, quantized, _ = (case.X.tensor(), *case.context.flow(case.X.tensor()))
    return [quantized.dtype.name]


def _same_padding(axis: Axis, dilation: int) -> int:
    """The cells beside X that the windows of SAME cover; negative where they do not reach the ends of X."""
    return same_padding(axis.size, axis.kernel, axis.stride, dilation)


_OF_AXES: Mapping[str, Callable[[Axis], Any]] = {
    **{field.name: operator.attrgetter(field.name) for field in fields(Axis)},
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
"""Quantities that each spatial axis has. ``row-`` before the name: of the last axis alone."""

_OF_CASES: Mapping[str, Callable[[Features], Any]] = {
    "tensor-axes": lambda of: [of.tensor.ndim],
    "images": lambda of: of.tensor.shape[:1] if of.tensor.ndim > 2 else (),
    "channels": lambda of: of.tensor.shape[1:2],
    "cells": lambda of: [of.tensor.size],
    "value": lambda of: of.tensor,
    "lowest": lambda of: np.asarray(lowest(of.tensor.dtype)),
    "subnormal": lambda of: is_subnormal(of.tensor) if is_float(of.tensor.dtype) else (),
    "sign-of-zero": lambda of: (
        np.signbit(of.tensor[of.tensor == 0].astype(np.float64)) if is_float(of.tensor.dtype) else ()
    ),
    # What the attributes say that the case gives, whether or not the document accepts them.
    "given-stride": lambda of: of.integers(Role.STRIDE),
    "given-dilation": lambda of: of.integers(Role.DILATION),
    "given-pad": lambda of: [
        *of.integers(Role.PADS, Role.PADS_BY_AXIS, Role.BEGIN, Role.END),
        *(-start for start in of.integers(Role.START)),
    ],
    "given-auto-pad": lambda of: of.given(Role.AUTO_PAD),
    "given-rounding": lambda of: of.given(Role.ROUNDING),
    "given-storage-order": lambda of: of.given(Role.STORAGE_ORDER),
    # The nodes around MaxPool.
    "operator": lambda of: of.case.context.operators,
    "last-in-front": lambda of: [node.op for node in of.before[-1:]],
    "first-behind": lambda of: [node.op for node in of.after[:1]],
    "second-behind": lambda of: [node.op for node in of.after[1:2]],
    "zero-pad": lambda of: [_zero_pad(of.case, of.before) is not None],
    "zero-pad-of-cast": lambda of: [_zero_pad(of.case, _before_cast(of.before)) is not None],
    "cells-of-zero-pad-beyond-kernel": lambda of: _beyond_kernel(of, of.before),
    "cells-of-zero-pad-of-cast-beyond-kernel": lambda of: _beyond_kernel(of, _before_cast(of.before)),
    "dtype-of-zero-point-in-front": _dtypes_of_zero_points,
    "scale-in-front": lambda of: _numbers(_of(of.before[-1:], "DequantizeLinear", "x_scale", 1)),
    "scale-behind": lambda of: _numbers(_of(of.after, "QuantizeLinear", "y_scale", 1)),
    "mode-of-pad": lambda of: _of(of.before, "Pad", "mode"),
    "pad-with-axes": lambda of: ["axes" in node.fields for node in of.before if node.op == "Pad"],
    "infinity-of-pad": lambda of: ~np.isfinite(_numbers(_of(of.before, "Pad", "constant_value", 0))),
    "cells-of-pad": lambda of: [
        cells for node in (*of.before, *of.after) if node.op == "Pad" for cells in node.integers("pads")
    ],
    "cast-behind": lambda of: _of(of.after, "Cast", "to"),
    "constants-of-unsqueeze": lambda of: [node.constants for node in of.before if node.op == "Unsqueeze"],
    "size-of-run-time": lambda of: [of.case.context.dimensions is not None],
    "inside": lambda of: [of.case.context.inside],
}
"""Quantities of the tensor that enters MaxPool, of the attributes, and of the nodes around MaxPool."""

_QUANTIFIERS: Mapping[str, Callable[[np.ndarray], bool]] = {
    "some": lambda is_so: bool(is_so.any()),
    "no": lambda is_so: not is_so.any(),
    "every": lambda is_so: is_so.size > 0 and bool(is_so.all()),
}

_COMPARISONS: Mapping[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    ">": operator.gt,
    ">=": operator.ge,
    "multiple-of": lambda numbers, of: (numbers > 0) & (numbers % of == 0),
}

_NUMBER = re.compile(r"-?([0-9.]+|inf)")

Rule = Callable[[Features], bool]
"""Whether something is so of a case."""


def _rule(rule: Any, flags: Mapping[str, Rule]) -> Rule:
    """A rule of features.yaml, in which these flags may be named."""
    match rule:
        case list():
            rules = [_rule(each, flags) for each in rule]
            return lambda of: all(each(of) for each in rules)
        case {"any": alternatives}:
            rules = [_rule(each, flags) for each in alternatives]
            return lambda of: any(each(of) for each in rules)
        case {"not": other}:
            denied = _rule(other, flags)
            return lambda of: not denied(of)
        case str() if rule in flags:
            return flags[rule]
    quantifier, name, *comparison = rule.split()
    holds = _QUANTIFIERS[quantifier]
    if not comparison:
        return lambda of: holds(of[name])
    compare, other = _COMPARISONS[comparison[0]], comparison[1]
    if other in _OF_AXES or other in _OF_CASES:
        return lambda of: holds(compare(of[name], of[other]))
    value = float(other) if _NUMBER.fullmatch(other) else other
    return lambda of: holds(compare(of[name], value))


def _rules(group: str) -> dict[str, Rule]:
    """The flags of a group of features.yaml, in its order."""
    flags: dict[str, Rule] = {}
    for name, rule in _FILE[group].items():
        flags[name] = partial(_holds, _rule(rule, flags))
    return flags


def _holds(rule: Rule, of: Features) -> bool:
    if rule not in of.known:
        try:
            with np.errstate(invalid="ignore"):  # of signalling NaN
                of.known[rule] = rule(of)
        except Inexact:
            of.known[rule] = False
    return of.known[rule]


_FILE = yaml.load(Path(__file__).with_suffix(".yaml").read_bytes(), getattr(yaml, "CSafeLoader", yaml.SafeLoader))

GEOMETRY = _rules("geometry")
"""The flags of ``geometry``."""

VALUES = _rules("values")
"""The flags of ``values``, about the tensor that enters MaxPool."""

GRAPH = _rules("graph")
"""The flags of ``graph``, about the nodes of a graph of several nodes."""
