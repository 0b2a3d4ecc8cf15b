"""Small geometries of a document, by their bins: from these, cases are drawn.

The document decides what it allows together: it resolves each geometry of a menu that has something of everything, and
the geometry counts under the bins it has there. Bins that zeros has are impossible.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from types import MappingProxyType
from typing import Any

import numpy as np

from maxpool_check.corpus.bins import geometric
from maxpool_check.corpus.case import Case
from maxpool_check.reference.dtypes import NUMPY
from maxpool_check.reference.geometry import AutoPad, effective_kernel
from maxpool_check.reference.numbering import StorageOrder
from maxpool_check.reference.pooling import Pooling
from maxpool_check.specifications import DEFAULT, SPECIFICATIONS, specification
from maxpool_check.specifications.inverse import NotExpressible, attributes_of_roles, has_role, meanings
from maxpool_check.specifications.refused import Refused
from maxpool_check.specifications.roles import Role, RoundingType
from maxpool_check.specifications.specification import Specification

Sizes = tuple[int, ...]

GEOMETRIC = ("rank", "kernel", "stride", "dilation", "pads", "auto_pad", "rounding")
"""The factors that a geometry decides."""

PLANE = range(4, 101)
"""The cells of a plane: room for values that differ, and not more than a geometry needs."""


@dataclass(frozen=True)
class Drawn:
    """One geometry. ``sizes`` are the spatial ones of X; the pads are not used unless ``auto_pad`` is explicit."""

    sizes: Sizes
    kernel: Sizes
    stride: Sizes
    dilation: Sizes
    begin: Sizes
    end: Sizes
    auto_pad: AutoPad
    rounding: RoundingType

    def attributes(self, document: Specification, more: Mapping[Role, Any] = MappingProxyType({})) -> dict[str, Any]:
        """The document's attributes, in the order of generated files; ``more`` is what they mean beside the geometry.

        Where the document has a number of windows, as many as fit between the pads. Raises :class:`NotExpressible`.
        """
        axes = zip(self.sizes, self.kernel, self.stride, self.begin, self.end, strict=True)
        roles: dict[Role, Any] = {
            Role.COUNT: [(n + b + e - k) // s + 1 for n, k, s, b, e in axes],
            Role.KERNEL: list(self.kernel),
            Role.STRIDE: list(self.stride),
            Role.DILATION: list(self.dilation),
            Role.ROUNDING: self.rounding,
            Role.AUTO_PAD: self.auto_pad,
            Role.STORAGE_ORDER: StorageOrder.ROW_MAJOR,
        }
        if self.auto_pad is AutoPad.EXPLICIT:
            roles |= {Role.BEGIN: list(self.begin), Role.END: list(self.end)}
        attributes = attributes_of_roles(document, {**roles, **more})
        order = list(Role)
        return dict(sorted(attributes.items(), key=lambda entry: order.index(document.attributes[entry[0]].role)))


def smallest_geometry(document: Specification) -> Drawn:
    """One window of two cells, which are all of X; over two spatial axes, where the document has them."""
    rank = max((rank for rank in document.ranks if rank <= 2), default=document.ranks[0])
    kernel, ones, zeros = (*(1,) * (rank - 1), 2), (1,) * rank, (0,) * rank
    return Drawn(kernel, kernel, ones, ones, zeros, zeros, AutoPad.EXPLICIT, RoundingType.FLOOR)


def smallest(language: str) -> Case:
    """A case of one window of two cells, to see whether a target returns anything; ``language``: what the target takes.

    A language that is no document stands for the default one.
    """
    document = specification(language if language in SPECIFICATIONS else DEFAULT)
    drawn = smallest_geometry(document)
    shape = document.layout.arranged((1, document.channel_multiple, *drawn.sizes))
    dtype = NUMPY["float32" if "float32" in document.dtypes else document.dtypes[0]]
    required = {
        name: value
        for name, value in drawn.attributes(document).items()
        if value != document.attributes[name].default_for(len(drawn.sizes))
    }
    X = np.arange(1, 1 + math.prod(shape)).astype(dtype).reshape(shape)
    title = "A window of two cells"
    return Case("smallest", document.name, X, required, ("Y",), document.policies, title)


Catalogue = Mapping[tuple[str, ...], tuple[Drawn, ...]]
"""Geometries by their bins of :data:`GEOMETRIC`, in that order."""


def pooling(
    document: Specification,
    drawn: Drawn,
    dtype: str,
    batch_and_channels: tuple[int, int] | None = None,
    more: Mapping[Role, Any] = MappingProxyType({}),
) -> Pooling | None:
    """The pooling of a geometry, None if the document excludes it; ``more`` is what the attributes mean beside it."""
    shape = document.layout.arranged((*(batch_and_channels or (1, document.channel_multiple)), *drawn.sizes))
    try:
        return document.pooling(drawn.attributes(document, more), dtype, shape, document.policies)
    except (NotExpressible, Refused):
        return None


def catalogue(document: Specification, dtype: str) -> Catalogue:
    """The small geometries of a document, without those that have a window without a cell: there it gives no result."""
    by_bins: dict[tuple[str, ...], dict[Drawn, None]] = {}
    for drawn in _menu(document):
        resolved = pooling(document, drawn, dtype) if math.prod(drawn.sizes) in PLANE else None
        if resolved is None or resolved.has_large_pads:
            continue
        if all(axis.window(i) for axis in resolved.geometry for i in range(axis.output)):
            bins = geometric(resolved.geometry, drawn.auto_pad, drawn.rounding)
            by_bins.setdefault(tuple(bins[factor] for factor in GEOMETRIC), {})[drawn] = None
    return {bins: tuple(geometries) for bins, geometries in by_bins.items()}


def _menu(document: Specification) -> Iterator[Drawn]:
    roundings = meanings(document, Role.ROUNDING) or (RoundingType.FLOOR,)
    for rank in sorted({1, 2, 3} & set(document.ranks)):
        ones, twos = (1,) * rank, (2,) * rank
        dilations = [ones, twos, (1, 2, 1)[:rank]] if rank > 1 else [ones, twos]
        if not has_role(document, Role.DILATION):
            dilations = [ones]
        others = [(4,)] if rank == 1 else [(2, 3, 2)[:rank], (3, 1, 2)[:rank]]
        for kernel in [ones, twos, (3,) * rank, *others]:
            strides = sorted({ones, twos, kernel, (max(kernel) + 1,) * rank, (1, 2, 1)[:rank]})
            for stride, dilation, (auto_pad, begin, end) in product(strides, dilations, _pads(document, kernel)):
                for sizes, rounding in product(_sizes(kernel, stride, dilation, begin, end), roundings):
                    yield Drawn(sizes, kernel, stride, dilation, begin, end, auto_pad, rounding)


def _pads(document: Specification, kernel: Sizes) -> Iterator[tuple[AutoPad, Sizes, Sizes]]:
    rank = len(kernel)
    if has_role(document, Role.START):
        crops = ((0,) * rank, (-1,) * rank, (0, -1, 0)[:rank])
        for begin, end in product(crops, crops):
            yield AutoPad.EXPLICIT, begin, end
        return
    auto_pads = meanings(document, Role.AUTO_PAD)
    zeros, ones, axes, others = (0,) * rank, (1,) * rank, (0, 1, 0)[:rank], (1, 0, 1)[:rank]
    most = tuple(size - 1 for size in kernel)
    begins_and_ends = [
        (zeros, zeros), (ones, ones), (axes, axes), (others, others), (ones, zeros), (zeros, ones), (axes, others),
        (others, axes), (ones, (2,) * rank), (most, zeros), (zeros, most), (most, most),
    ]  # fmt: skip
    for begin, end in dict.fromkeys(begins_and_ends):
        if all(max(pads) < size for size, *pads in zip(kernel, begin, end, strict=True)):
            yield AutoPad.EXPLICIT, begin, end
    # In the order of the bins, which generated cases depend on.
    for auto_pad in (AutoPad.SAME_UPPER, AutoPad.SAME_LOWER, AutoPad.VALID):
        if auto_pad in auto_pads:
            yield auto_pad, zeros, zeros


def _sizes(kernel: Sizes, stride: Sizes, dilation: Sizes, begin: Sizes, end: Sizes) -> list[Sizes]:
    """Sizes of X that the kernel is as large as, and others for a few windows, without and with a remainder."""
    axes = zip(kernel, dilation, begin, end, strict=True)
    fits = [max(1, effective_kernel(k, d) - b - e) for k, d, b, e in axes]
    sizes = [kernel]
    for windows in (0, 1, 2):
        for more in (0, 1, 2):
            sizes.append(tuple(n + windows * s + more for n, s in zip(fits, stride, strict=True)))
        sizes.append((sizes[-3][0] + 1, *sizes[-3][1:]))
    return list(dict.fromkeys(sizes))
