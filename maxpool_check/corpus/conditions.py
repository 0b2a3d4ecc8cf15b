"""Which cases and variants meet the conditions of a defect, and which cases are therefore expected to show it."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, lru_cache, partial
from typing import Any

import numpy as np
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from maxpool_check.corpus.case import Case
from maxpool_check.corpus.graph_flags import GRAPH
from maxpool_check.graphs.node import Inexact
from maxpool_check.graphs.operators import NEWEST
from maxpool_check.judging.defects import Conditions, Defect, ExpectedDivergence
from maxpool_check.reference.dtypes import is_float, is_subnormal, lowest, name_of
from maxpool_check.reference.geometry import AutoPad, Axis, Geometry, ceil_output, clipped_ceil_output, same_padding
from maxpool_check.reference.numbering import StorageOrder
from maxpool_check.reference.pooling import Pooling
from maxpool_check.results.variants import LEVELS, Variant
from maxpool_check.specifications import documents
from maxpool_check.specifications.roles import Role, RoundingType
from maxpool_check.specifications.specification import Refused

_ALL = "all"
"""The level of optimization of a variant that does not name one."""

_LEVELS = {variation: variation.name.removeprefix("optimization-") for variation in LEVELS}

LEVEL_NAMES = (*_LEVELS.values(), _ALL)
"""The levels of optimization that ``optimization`` may name."""


class Features:
    """What conditions are about, of one case; computed when it is asked for."""

    def __init__(self, case: Case) -> None:
        self.case = case

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
    def pooling(self) -> Pooling | None:
        """The pooling of the case; None if its document excludes it."""
        return self.case.resolved if isinstance(self.case.resolved, Pooling) else None

    @property
    def geometry(self) -> Geometry:
        """The spatial axes; none if the document excludes the case."""
        return self.pooling.geometry if self.pooling is not None else ()

    def meanings(self, role: Role) -> list[Any]:
        """What the attributes of a role mean, those that the case gives alone; lists as their entries."""
        result: list[Any] = []
        for name, attribute in self.case.specification.attributes.items():
            if attribute.role is role and name in self.case.attributes:
                value = self.case.attributes[name]
                is_hashable = not isinstance(value, (list, tuple))
                meaning = attribute.values.get(value, value) if is_hashable else value
                result += [meaning] if is_hashable else list(meaning)
        return result

    def numbers(self, *roles: Role) -> list[int]:
        """The integers among the values of attributes."""
        return [value for role in roles for value in self.meanings(role) if isinstance(value, int)]

    @cached_property
    def pads(self) -> list[int]:
        """The pads that the case gives."""
        starts = [-start for start in self.numbers(Role.START)]
        return [*self.numbers(Role.PADS, Role.PADS_BY_AXIS, Role.BEGIN, Role.END), *starts]


_Flag = Callable[[Features], bool]


def _same_padding(axis: Axis, dilation: int) -> int:
    return same_padding(axis.size, axis.kernel, axis.stride, dilation)


def _has_blocks(block: int, of: Features) -> bool:
    return of.tensor.ndim == 4 and _has_channels(block, of.tensor)


def _has_no_blocks(block: int, of: Features) -> bool:
    return not _has_blocks(block, of)


GEOMETRY: Mapping[str, _Flag] = {
    # Some window reaches into the padding.
    "padding": lambda of: any(bool((axis.taps()[1] < axis.kernel).any()) for axis in of.geometry),
    "dilation": lambda of: any(dilation > 1 for dilation in of.numbers(Role.DILATION)),
    "dilation-over-31-bits": lambda of: any(dilation >= 2**31 for dilation in of.numbers(Role.DILATION)),
    "no-dilation": lambda of: all(dilation == 1 for dilation in of.numbers(Role.DILATION)),
    "strides": lambda of: any(stride > 1 for stride in of.numbers(Role.STRIDE)),
    # Some window reaches into the padding at the ends of rows, or neighbouring windows of a row are more than 2 cells apart.
    "rows-padded-or-stride-above-2": lambda of: (
        bool(of.geometry)
        and (of.geometry[-1].stride > 2 or bool((of.geometry[-1].taps()[1] < of.geometry[-1].kernel).any()))
    ),
    # The padding of some axis is not the same at both ends.
    "unequal-pads": lambda of: any(axis.begin != axis.end for axis in of.geometry),
    # One window that is X itself.
    "global": lambda of: (
        bool(of.geometry)
        and all(axis.begin == axis.end == 0 and axis.kernel == axis.size for axis in of.geometry)
        and all(axis.dilation == 1 for axis in of.geometry)
    ),
    # Two spatial axes and a multiple of 8 or 16 channels: what vectors of so many numbers hold channel by channel.
    **{f"blocks-of-{block}-channels": partial(_has_blocks, block) for block in (8, 16)},
    **{f"no-blocks-of-{block}-channels": partial(_has_no_blocks, block) for block in (8, 16)},
    "several-images": lambda of: of.tensor.ndim > 2 and of.tensor.shape[0] > 1,
    "blocks-of-8-channels-or-no-dilation": lambda of: _has_blocks(8, of) or GEOMETRY["no-dilation"](of),
    "blocks-of-16-channels-or-no-dilation": lambda of: _has_blocks(16, of) or GEOMETRY["no-dilation"](of),
    "several-cells": lambda of: any(axis.kernel > 1 for axis in of.geometry),
    # Neighbouring windows begin in neighbouring cells, and so do neighbouring taps.
    "strides-and-dilations-of-1": lambda of: all(step == 1 for step in of.numbers(Role.STRIDE, Role.DILATION)),
    "same": lambda of: any(pad in (AutoPad.SAME_UPPER, AutoPad.SAME_LOWER) for pad in of.meanings(Role.AUTO_PAD)),
    # The padding of SAME is another than it would be without the dilation.
    "same-of-dilated-kernel": lambda of: (
        GEOMETRY["same"](of)
        and any(max(0, _same_padding(axis, 1)) != max(0, _same_padding(axis, axis.dilation)) for axis in of.geometry)
    ),
    # The windows of SAME do not reach the ends of some axis: they would have to be cropped, not padded.
    "same-crops": lambda of: (
        GEOMETRY["same"](of) and any(_same_padding(axis, axis.dilation) < 0 for axis in of.geometry)
    ),
    # SAME does not begin its windows (kernel - 1) / 2 cells before X, rounded down.
    "same-beside-half-of-kernel": lambda of: (
        GEOMETRY["same"](of) and any(axis.begin != (axis.kernel - 1) // 2 for axis in of.geometry)
    ),
    "same-lower": lambda of: AutoPad.SAME_LOWER in of.meanings(Role.AUTO_PAD),
    "valid": lambda of: AutoPad.VALID in of.meanings(Role.AUTO_PAD),
    "ceil": lambda of: any(each in (RoundingType.CEIL, RoundingType.CEIL_TORCH) for each in of.meanings(Role.ROUNDING)),
    "row-major": lambda of: StorageOrder.COLUMN_MAJOR not in of.meanings(Role.STORAGE_ORDER),
    "column-major": lambda of: StorageOrder.COLUMN_MAJOR in of.meanings(Role.STORAGE_ORDER),
    # The node says its pads, if only as zeros.
    "explicit-pads": lambda of: bool(of.pads),
    "pads-beside-auto-pad": lambda of: (
        any(of.pads) and any(pad is not AutoPad.EXPLICIT for pad in of.meanings(Role.AUTO_PAD))
    ),
    "pads-not-smaller-than-kernel": lambda of: of.pooling is not None and of.pooling.has_large_pads,
    # A window that begins in the end padding, or behind it.
    "window-beginning-in-end-padding": lambda of: any(
        axis.output > 0
        and ceil_output(axis.size, axis.kernel, axis.stride, axis.dilation, axis.begin, axis.end)
        > clipped_ceil_output(axis.size, axis.kernel, axis.stride, axis.dilation, axis.begin, axis.end)
        for axis in of.geometry
    ),
    "empty-window": lambda of: of.pooling is not None and of.pooling.has_empty_windows,
    # A window is larger than the padded input.
    "no-window": lambda of: any(axis.exceeds_padded_input for axis in of.geometry),
    # So that the size is 0, with a stride above 1.
    "no-window-of-stride": lambda of: any(
        axis.exceeds_padded_input and axis.stride > 1 and axis.output == 0 for axis in of.geometry
    ),
    "no-cells": lambda of: of.tensor.size == 0,
    "no-channels": lambda of: of.tensor.ndim > 1 and of.tensor.shape[1] == 0,
    "stride-over-31-bits": lambda of: any(stride >= 2**31 for stride in of.numbers(Role.STRIDE)),
    "stride-0": lambda of: 0 in of.numbers(Role.STRIDE),
    "negative-strides": lambda of: any(stride < 0 for stride in of.numbers(Role.STRIDE)),
    "dilation-below-1": lambda of: any(dilation < 1 for dilation in of.numbers(Role.DILATION)),
    "negative-pads": lambda of: any(pad < 0 for pad in of.pads),
}
"""The flags of ``geometry``."""


def _any(test: Callable[[np.ndarray], np.ndarray]) -> _Flag:
    return lambda of: is_float(of.tensor.dtype) and bool(test(of.tensor).any())


VALUES: Mapping[str, _Flag] = {
    "neg-inf": _any(np.isneginf),
    "pos-inf": _any(np.isposinf),
    "nan": _any(lambda X: X != X),
    "lowest": lambda of: bool((of.tensor == lowest(of.tensor.dtype)).any()),
    "negative": lambda of: bool((of.tensor < 0).any()),
    "subnormal": _any(is_subnormal),
    "zeros-of-both-signs": lambda of: (
        is_float(of.tensor.dtype) and len(set(np.signbit(of.tensor[of.tensor == 0].astype(np.float64)).tolist())) == 2
    ),
}
"""The flags of ``values``, about the tensor that enters MaxPool."""


def meets(conditions: Conditions, features: Features) -> bool:
    """Whether a case meets the conditions, in some variant."""
    case, context = features.case, features.case.context
    before = [node.op for node in context.before]
    after = [node.op for node in context.after]
    refusal = case.resolved.reason.value if isinstance(case.resolved, Refused) else None
    return (
        (not conditions.dtypes or name_of(features.tensor.dtype) in conditions.dtypes)
        and (not conditions.spatial or features.tensor.ndim - 2 in conditions.spatial)
        and (conditions.refused is None or conditions.refused == refusal)
        and set(conditions.before) <= set(before)
        and set(conditions.after) <= set(after)
        and all(not context.is_alone and GRAPH[flag](case) for flag in conditions.graph)
        and (not conditions.opset or any(_has(conditions.opset, opset) for opset in opsets(case)))
        and _has_channels(conditions.channels_multiple_of, features.tensor)
        and all(GEOMETRY[flag](features) for flag in conditions.geometry)
        and all(VALUES[flag](features) for flag in conditions.values)
        and (not conditions.any_values or any(VALUES[flag](features) for flag in conditions.any_values))
    )


def meets_both(defect: Defect, expected: ExpectedDivergence, features: Features) -> bool:
    """Whether a case meets the conditions of a defect, and those of something that is expected of it."""
    return meets(defect.conditions, features) and meets(expected.conditions, features)


def opsets(case: Case) -> range:
    """The operator sets that a case may be run in: that of its graph, or for MaxPool alone those up to its document's."""
    if not case.context.is_alone:
        return range(case.context.opset, case.context.opset + 1)
    onnx = case.specification.onnx
    return range(1, (NEWEST if onnx is None else onnx.since) + 1)


def meets_as_variant(conditions: Conditions, variant: Variant) -> bool:
    """Whether a variant meets the conditions."""
    level = _LEVELS.get(variant.variation, _ALL) if variant.variation is not None else _ALL
    return (conditions.indices is None or conditions.indices == variant.has_indices) and (
        not conditions.optimization or level in conditions.optimization
    )


def concerns(defect: Defect, case: Case) -> bool:
    """Whether the document of a case is one of those that a defect violates, by name or family."""
    return not defect.documents or case.spec in _names(defect.documents)


def resolved(defects: Iterable[Defect], cases: Sequence[Case]) -> list[ExpectedDivergence]:
    """What is expected of targets: each with its cases, and those without any with all that meet the conditions."""
    return [each for defect in with_cases(defects, cases) for each in defect.expected]


def with_cases(defects: Iterable[Defect], cases: Sequence[Case]) -> list[Defect]:
    """The same defects, each with the cases that it is expected of."""
    defects = list(defects)
    by_conditions = [defect for defect in defects if any(each.by_conditions for each in defect.expected)]
    ids: dict[tuple[int, int], list[str]] = defaultdict(list)
    # Case by case, since there may be very many.
    for case in cases if by_conditions else ():
        features = Features(case)
        for defect in by_conditions:
            if concerns(defect, case) and meets(defect.conditions, features):
                for number, expected in enumerate(defect.expected):
                    if expected.by_conditions and meets(expected.conditions, features):
                        ids[id(defect), number].append(case.id)
    return [
        replace(
            defect,
            expected=tuple(
                replace(each, cases=tuple(ids[id(defect), number])) if each.by_conditions else each
                for number, each in enumerate(defect.expected)
            ),
        )
        for defect in defects
    ]


@lru_cache
def _names(named: tuple[str, ...]) -> frozenset[str]:
    """The documents of names and families."""
    return frozenset(name for each in named for name in documents(each))


def meets_in_opset(conditions: Conditions, opset: int | None) -> bool:
    """Whether an execution in an operator set meets what conditions say of it; None: it has none, or it is not known."""
    return not conditions.opset or opset is None or _has(conditions.opset, opset)


def _has(versions: str, opset: int) -> bool:
    return SpecifierSet(versions).contains(Version(str(opset)))


def _has_channels(multiple: int | None, X: np.ndarray) -> bool:
    return multiple is None or (X.ndim > 1 and X.shape[1] > 0 and X.shape[1] % multiple == 0)
