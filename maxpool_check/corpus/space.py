"""What a document allows: its small geometries, from which cases are drawn, and which bins, alone and together.

Nothing of this is written down. The document resolves each geometry of a menu that has something of everything, and the
geometry counts under the bins it has there; every other bin is tried, too. Bins that nothing has are impossible.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, reduce
from itertools import combinations, product
from operator import and_
from types import MappingProxyType
from typing import Any

import numpy as np

from maxpool_check.corpus.bins import FACTORS, OUTPUTS, geometric, has
from maxpool_check.corpus.case import Case
from maxpool_check.corpus.tensors import Recipe
from maxpool_check.reference import dtypes
from maxpool_check.reference.geometry import AutoPad, effective_kernel
from maxpool_check.reference.numbering import StorageOrder
from maxpool_check.reference.pooling import Function, Pooling
from maxpool_check.specifications import DEFAULT, SPECIFICATIONS, specification
from maxpool_check.specifications.roles import NotExpressible, Role, RoundingType, attributes_of_roles, meanings
from maxpool_check.specifications.specification import Specification

Sizes = tuple[int, ...]

GEOMETRIC = ("rank", "kernel", "stride", "dilation", "pads", "auto_pad", "rounding")
"""The factors that a geometry decides."""

GENERATED_AXES, MOST_AXES = 3, 5
"""The most spatial axes of generated cases, and of a bin: many runtimes have no more than three."""

PLANE = range(4, 101)
"""The cells of a plane: room for values that differ, and not more than a geometry needs."""

_ALTERNATING = (1, 2, 1, 2, 1)

Together = tuple[tuple[str, str], ...]
"""Some factors, each with a bin, in the order of :data:`~maxpool_check.corpus.bins.FACTORS`."""

SIZES: Mapping[str, Mapping[str, tuple[int, ...]]] = {
    "batch": {"1": (1,), "many": (2,)},
    "channels": {"1": (1,), "many": (3, 4), "16": (16,)},
}
"""The sizes that stand for a bin: the first that a document allows."""

BESIDE_GEOMETRY: Mapping[str, Mapping[str, Mapping[Role, Any]]] = {
    "storage_order": {"row": {}, "column": {Role.STORAGE_ORDER: StorageOrder.COLUMN_MAJOR}},
    "index_type": {"int64": {}, "int32": {Role.INDEX_TYPE: "int32"}},
    "index_axis": {"whole": {}, "image": {Role.INDEX_AXIS: 1}, "plane": {Role.INDEX_AXIS: 2}},
    "activation": {
        "none": {},
        "relu": {Role.ACTIVATION: Function.RELU},
        "clip": {Role.ACTIVATION: Function.CLIP, Role.ACTIVATION_PARAMETERS: [-1, 1]},
        "leakyrelu": {Role.ACTIVATION: Function.LEAKY_RELU, Role.ACTIVATION_PARAMETERS: [0.125]},
    },
}
"""What attributes mean beside the geometry, by factor and bin."""


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
    dtype = dtypes.NUMPY["float32" if "float32" in document.dtypes else document.dtypes[0]]
    required = {
        name: value
        for name, value in drawn.attributes(document).items()
        if value != document.attributes[name].default_for(len(drawn.sizes))
    }
    X = np.arange(1, 1 + math.prod(shape)).astype(dtype).reshape(shape)
    title = "A window of two cells"
    return Case("smallest", document.name, Recipe.of(X), required, ("Y",), document.policies, title)


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
        resolved = document.resolve(drawn.attributes(document, more), dtype, shape)
    except NotExpressible:
        return None
    return resolved if isinstance(resolved, Pooling) else None


def catalogue(document: Specification, dtype: str, most_axes: int) -> Catalogue:
    """The small geometries of a document, without windows larger than the padded input, or without a cell of X."""
    by_bins: dict[tuple[str, ...], dict[Drawn, None]] = {}
    # A document that has three spatial axes may have more: its pooling decides.
    ranks = [rank for rank in range(1, most_axes + 1) if min(rank, GENERATED_AXES) in document.ranks]
    for drawn in _menu(document, ranks):
        resolved = pooling(document, drawn, dtype) if math.prod(drawn.sizes) in PLANE else None
        if resolved is None or resolved.has_large_pads or resolved.has_empty_windows:
            continue
        if any(axis.exceeds_padded_input for axis in resolved.geometry):
            continue
        bins = geometric(resolved.geometry, drawn.auto_pad, drawn.rounding)
        by_bins.setdefault(tuple(bins[factor] for factor in GEOMETRIC), {})[drawn] = None
    return {bins: tuple(geometries) for bins, geometries in by_bins.items()}


def _menu(document: Specification, ranks: Sequence[int]) -> Iterator[Drawn]:
    roundings = meanings(document, Role.ROUNDING) or (RoundingType.FLOOR,)
    for rank in ranks:
        ones, twos = (1,) * rank, (2,) * rank
        dilations = [ones, twos, _ALTERNATING[:rank]] if rank > 1 else [ones, twos]
        if Role.DILATION not in document.roles:
            dilations = [ones]
        others = [(4,)] if rank == 1 else [(2, 3, 2, 1, 1)[:rank], (3, 1, 2, 1, 1)[:rank]]
        for kernel in [ones, twos, (3,) * rank, *others]:
            strides = sorted({ones, twos, kernel, (max(kernel) + 1,) * rank, _ALTERNATING[:rank]})
            for stride, dilation, (auto_pad, begin, end) in product(strides, dilations, _pads(document, kernel)):
                for sizes, rounding in product(_sizes(kernel, stride, dilation, begin, end), roundings):
                    yield Drawn(sizes, kernel, stride, dilation, begin, end, auto_pad, rounding)


def _pads(document: Specification, kernel: Sizes) -> Iterator[tuple[AutoPad, Sizes, Sizes]]:
    rank = len(kernel)
    if Role.START in document.roles:
        crops = ((0,) * rank, (-1,) * rank, (0, -1, 0)[:rank])
        for begin, end in product(crops, crops):
            yield AutoPad.EXPLICIT, begin, end
        return
    auto_pads = meanings(document, Role.AUTO_PAD)
    zeros, ones, axes, others = (0,) * rank, (1,) * rank, (0, 1, 0, 1, 0)[:rank], (1, 0, 1, 0, 1)[:rank]
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


@dataclass(frozen=True)
class Space:
    """The bins that a document allows.

    ``factors`` leaves out what does not vary in it. ``dtypes`` are its element types, ``sizes`` the batch and the channels
    of each bin, ``geometries`` the geometries that have some bins.
    """

    document: Specification
    factors: Mapping[str, tuple[str, ...]]
    dtypes: tuple[str, ...]
    sizes: Mapping[tuple[str, str], int]
    geometries: Catalogue

    def possible(self, together: Mapping[str, str]) -> bool:
        """Whether a case of the document can have these bins, of some factors or of all."""
        if any(name not in self.factors for name in together):
            return False
        if "dtype" in together and "values" in together and not has(together["dtype"], together["values"]):
            return False
        # Is there an entry of the catalogue that has all the bins of a geometry?
        candidates = [self._having.get((name, together[name]), 0) for name in GEOMETRIC if name in together]
        return reduce(and_, candidates, -1) != 0

    def combinations(self, strength: int) -> Iterator[Together]:
        """Every possible combination of bins of so many factors."""
        for names in combinations(self.factors, strength):
            for chosen in product(*(self.factors[name] for name in names)):
                together = tuple(zip(names, chosen, strict=True))
                if self.possible(dict(together)):
                    yield together

    def drawn(self, together: Mapping[str, str]) -> tuple[Drawn, ...]:
        """The geometries with these bins, one of each factor that varies."""
        return tuple(
            drawn
            for bins, geometries in self.geometries.items()
            if all(together.get(name, bin_) == bin_ for name, bin_ in zip(GEOMETRIC, bins, strict=True))
            for drawn in geometries
        )

    @cached_property
    def _having(self) -> Mapping[tuple[str, str], int]:
        """For each bin of a geometry the entries of the catalogue that have it, each a bit."""
        having: dict[tuple[str, str], int] = {}
        for number, bins in enumerate(self.geometries):
            for factor_and_bin in zip(GEOMETRIC, bins, strict=True):
                having[factor_and_bin] = having.get(factor_and_bin, 0) | 1 << number
        return having


@cache
def space(name: str, most_axes: int = GENERATED_AXES) -> Space:
    """The space of a document: every bin is tried, and what the document excludes is left out.

    ``most_axes`` limits the spatial axes, to that of generated cases by default.
    """
    document = specification(name)
    drawn = smallest_geometry(document)
    accepted = tuple(dtype for dtype in dtypes.NAMES if dtype in document.dtypes)

    def is_allowed(more: Mapping[Role, Any], batch: int = 1, channels: int = document.channel_multiple) -> bool:
        shape = (batch, channels, *drawn.sizes)
        # A document of single images has no other batch.
        is_kept = document.layout.sizes(document.layout.arranged(shape)) == shape
        return is_kept and pooling(document, drawn, accepted[0], (batch, channels), more) is not None

    geometries = catalogue(document, accepted[0], most_axes)
    sizes: dict[tuple[str, str], int] = {}
    allowed = {"dtype": accepted, OUTPUTS: FACTORS[OUTPUTS].bins if document.indices else ()}
    for factor, choices in SIZES.items():
        for bin_, candidates in choices.items():
            fitting = [size for size in candidates if is_allowed({}, **{factor: size})]
            sizes |= {(factor, bin_): fitting[0]} if fitting else {}
        allowed[factor] = tuple(bin_ for bin_ in choices if (factor, bin_) in sizes)
    for number, factor in enumerate(GEOMETRIC):
        present = {bins[number] for bins in geometries}
        allowed[factor] = tuple(bin_ for bin_ in FACTORS[factor].bins if bin_ in present)
    for factor, roles in BESIDE_GEOMETRY.items():
        allowed[factor] = tuple(bin_ for bin_, more in roles.items() if is_allowed(more))
    allowed["values"] = tuple(bin_ for bin_ in FACTORS["values"].bins if any(has(dtype, bin_) for dtype in accepted))
    factors = {factor: allowed[factor] for factor in FACTORS if len(allowed[factor]) > 1}
    return Space(document, factors, accepted, sizes, geometries)
