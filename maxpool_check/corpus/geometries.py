"""Small geometries of a document, by their bins: from these, cases are drawn backwards.

What a document allows together is not written down here. The document is asked: each geometry of a menu that has
something of everything, in the document's own attributes, counts under the bins it has there. What none has is impossible.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

from maxpool_check.corpus.bins import CEIL, CEIL_TORCH, FLOOR, geometric
from maxpool_check.reference.geometry import effective_kernel
from maxpool_check.reference.pooling import Pooling
from maxpool_check.specifications.refused import Refused
from maxpool_check.specifications.specification import Specification

Sizes = tuple[int, ...]

GEOMETRIC = ("rank", "kernel", "stride", "dilation", "pads", "auto_pad", "rounding")
"""The factors that a geometry decides."""

PLANE = range(4, 101)
"""The cells of a plane: room for values that differ, and not more than a geometry needs."""


@dataclass(frozen=True)
class Drawn:
    """One geometry as it is asked for. ``sizes`` are the spatial ones of X; ``auto_pad`` may have the pads ignored."""

    sizes: Sizes
    kernel: Sizes
    stride: Sizes
    dilation: Sizes
    begin: Sizes
    end: Sizes
    auto_pad: str
    rounding: str

    def attributes(self, document: Specification) -> dict[str, Any]:
        """The document's own attributes, all of them that a geometry needs."""
        if "K_h" in document.attributes:
            return self._placed()
        explicit = self.auto_pad == "explicit"
        auto_pad = self.auto_pad.replace("-", "_")
        said = {
            "kernel_shape": self.kernel,
            "kernel": self.kernel,
            "window_shape": self.kernel,
            "strides": self.stride,
            "window_movement_strides": self.stride,
            "dilations": self.dilation,
            "pads": (*self.begin, *self.end) if explicit else None,
            "pads_begin": self.begin if explicit else None,
            "pads_end": self.end if explicit else None,
            "padding_below": self.begin,
            "padding_above": self.end,
            "rounding_type": self.rounding.replace("-", "_"),
            "ceil_mode": int(self.rounding != FLOOR),
            "auto_pad": auto_pad if "kernel" in document.attributes else "NOTSET" if explicit else auto_pad.upper(),
            "storage_order": 0,
        }
        return {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in said.items()
            if name in document.attributes and value is not None
        }

    def _placed(self) -> dict[str, int]:
        """Windows by their start and number, as many as fit between the pads."""
        axes = zip(self.sizes, self.kernel, self.stride, self.begin, self.end, strict=True)
        (rows, columns) = ((n + b + e - k) // s + 1 for n, k, s, b, e in axes)
        names = ("Y_h", "Y_w", "K_h", "K_w", "W_r0", "W_c0", "W_vert", "W_hori")
        values = (rows, columns, *self.kernel, *(-pad for pad in self.begin), *self.stride)
        return dict(zip(names, values, strict=True))


Catalogue = Mapping[tuple[str, ...], tuple[Drawn, ...]]
"""Geometries by their bins of :data:`GEOMETRIC`, in that order."""


def pooling(
    document: Specification, drawn: Drawn, dtype: str, *, batch: int = 1, channels: int = 4, **more: Any
) -> Pooling | None:
    """What the document makes of a geometry, None if it excludes it; ``more`` are attributes beside the geometry's."""
    shape = document.layout.arranged((batch, channels, *drawn.sizes))
    try:
        return document.pooling({**drawn.attributes(document), **more}, dtype, shape, document.policies)
    except Refused:
        return None


def catalogue(document: Specification, dtype: str) -> Catalogue:
    """The small geometries of a document. None has a window without a cell: there it gives no result."""
    found: dict[tuple[str, ...], dict[Drawn, None]] = {}
    for drawn in _menu(document):
        if math.prod(drawn.sizes) not in PLANE:
            continue
        meaning = pooling(document, drawn, dtype)
        if meaning is None or meaning.has_large_pads:
            continue
        if any(not axis.window(i) for axis in meaning.geometry for i in range(axis.output)):
            continue
        own = geometric(meaning.geometry, drawn.attributes(document))
        found.setdefault(tuple(own[factor] for factor in GEOMETRIC), {})[drawn] = None
    return {own: tuple(drawn) for own, drawn in found.items()}


def _menu(document: Specification) -> Iterator[Drawn]:
    is_placed = "K_h" in document.attributes
    dilations = ("1", "2", "uneven") if "dilations" in document.attributes else ("1",)
    auto_pads = (
        ("explicit", "same-upper", "same-lower", "valid") if "auto_pad" in document.attributes else ("explicit",)
    )
    roundings = [FLOOR]
    roundings += [CEIL] if {"ceil_mode", "rounding_type"} & set(document.attributes) else []
    roundings += [CEIL_TORCH] if "rounding_type" in document.attributes else []
    for rank in (2,) if is_placed else (1, 2, 3):
        for kernel in _kernels(rank):
            for stride, dilation, (auto_pad, begin, end) in product(
                _strides(kernel),
                [one for name, one in _dilations(rank).items() if name in dilations],
                _crops(rank) if is_placed else _pads(kernel, auto_pads),
            ):
                for sizes, rounding in product(_sizes(kernel, stride, dilation, begin, end), roundings):
                    yield Drawn(sizes, kernel, stride, dilation, begin, end, auto_pad, rounding)


def _kernels(rank: int) -> list[Sizes]:
    even = [(size,) * rank for size in (1, 2, 3)]
    return [*even, (4,)] if rank == 1 else [*even, (2, 3, 2)[:rank], (3, 1, 2)[:rank]]


def _strides(kernel: Sizes) -> list[Sizes]:
    rank = len(kernel)
    return sorted({(1,) * rank, (2,) * rank, kernel, (max(kernel) + 1,) * rank, (1, 2, 1)[:rank]})


def _dilations(rank: int) -> dict[str, Sizes]:
    return {"1": (1,) * rank, "2": (2,) * rank, **({"uneven": (1, 2, 1)[:rank]} if rank > 1 else {})}


def _pads(kernel: Sizes, auto_pads: tuple[str, ...]) -> Iterator[tuple[str, Sizes, Sizes]]:
    rank = len(kernel)
    none, one, axes, others = (0,) * rank, (1,) * rank, (0, 1, 0)[:rank], (1, 0, 1)[:rank]
    most = tuple(size - 1 for size in kernel)
    begins_and_ends = [
        (none, none), (one, one), (axes, axes), (others, others), (one, none), (none, one), (axes, others), (others, axes),
        (one, (2,) * rank), (most, none), (none, most), (most, most),
    ]  # fmt: skip
    for begin, end in dict.fromkeys(begins_and_ends):
        if all(max(pads) < size for size, *pads in zip(kernel, begin, end, strict=True)):
            yield "explicit", begin, end
    for auto_pad in auto_pads[1:]:
        yield auto_pad, none, none


def _crops(rank: int) -> Iterator[tuple[str, Sizes, Sizes]]:
    crops = ((0,) * rank, (-1,) * rank, (0, -1, 0)[:rank])
    for begin, end in product(crops, crops):
        yield "explicit", begin, end


def _sizes(kernel: Sizes, stride: Sizes, dilation: Sizes, begin: Sizes, end: Sizes) -> list[Sizes]:
    """Sizes of X that the kernel is as large as, and others for a few windows, without and with a remainder."""
    axes = list(zip(kernel, stride, dilation, begin, end, strict=True))
    fits = [max(1, effective_kernel(k, d) - b - e) for k, _, d, b, e in axes]
    found = [kernel]
    for windows in (0, 1, 2):
        for more in (0, 1, 2):
            found.append(tuple(n + windows * s + more for n, (_, s, *_) in zip(fits, axes, strict=True)))
        found.append((found[-3][0] + 1, *found[-3][1:]))
    return list(dict.fromkeys(found))
