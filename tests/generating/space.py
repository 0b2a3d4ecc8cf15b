"""What a document allows: its small geometries, from which cases are drawn, and which bins, alone and together.

Nothing of this is written down. The document resolves each geometry of a menu that has something of everything, and the
geometry counts under the bins it has there; every other bin is tried, too. Bins that nothing has are impossible.
"""

import math
from collections import defaultdict
from dataclasses import dataclass
from functools import cache, cached_property, reduce
from itertools import product
from operator import and_

import numpy as np

from maxpool_check.corpus.features import BINS, bins_of
from maxpool_check.corpus.quantities import Features
from maxpool_check.reference.dtypes import FLOATS, NAMES
from maxpool_check.reference.geometry import AutoPad, effective_kernel
from maxpool_check.reference.numbering import StorageOrder
from maxpool_check.reference.pooling import Function, Pooling
from maxpool_check.specifications import specification
from maxpool_check.specifications.roles import NotExpressible, Role, RoundingType, attributes_of_roles, meanings

# The factors that a geometry decides.
GEOMETRIC = ("rank", "kernel", "stride", "dilation", "pads", "auto_pad", "rounding")
# The bins of every factor, the usual ones first: generated cases depend on their order.
ORDERED = {
    **{factor: tuple(bin_ for bin_ in bins if bin_ is not None) for factor, bins in BINS.items()},
    "channels": ("1", "many", "16"),
    "kernel": ("1", "even", "uneven", "whole"),
    "stride": ("1", "overlap", "tile", "gap", "uneven"),
    "pads": ("0", "same", "axes", "begin", "end", "uneven", "large", "crop-begin", "crop-end", "crop"),
    "activation": ("none", "relu", "clip", "leakyrelu"),
    "values": (
        "distinct", "ties", "constant", "fraction", "wide", "negative", "extremes", "lowest", "neg-inf", "all-neg-inf",
        "inf", "zeros", "subnormal", "nan", "nan-planes",
    ),
}  # fmt: skip
# Many runtimes have no more spatial axes.
MOST_AXES = 3
# The cells of a plane: room for values that differ, and not more than a geometry needs.
PLANE = range(4, 101)
# The sizes that stand for a bin: the first that a document allows.
SIZES = {"batch": {"1": (1,), "many": (2,)}, "channels": {"1": (1,), "many": (3, 4), "16": (16,)}}
# What attributes mean beside the geometry, by factor and bin.
BESIDE_GEOMETRY = {
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


@dataclass(frozen=True)
class Drawn:
    """One geometry. ``sizes`` are the spatial ones of X; the pads are not used unless ``auto_pad`` is explicit."""

    sizes: tuple[int, ...]
    kernel: tuple[int, ...]
    stride: tuple[int, ...]
    dilation: tuple[int, ...]
    begin: tuple[int, ...]
    end: tuple[int, ...]
    auto_pad: AutoPad
    rounding: RoundingType

    def attributes(self, document, more):
        """The document's attributes, in the order of generated files; ``more`` is what they mean beside the geometry.

        Where the document has a number of windows, as many as fit between the pads. Raises :class:`NotExpressible`.
        """
        axes = zip(self.sizes, self.kernel, self.stride, self.begin, self.end, strict=True)
        roles = {
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


def pooling(document, drawn, dtype, batch_and_channels=None, more=None):
    """The pooling of a geometry, None if the document excludes it; ``more`` is what the attributes mean beside it."""
    shape = document.layout.arranged((*(batch_and_channels or (1, document.channel_multiple)), *drawn.sizes))
    try:
        resolved = document.resolve(drawn.attributes(document, more or {}), dtype, shape)
    except NotExpressible:
        return None
    return resolved if isinstance(resolved, Pooling) else None


class Part(Features):
    """The quantities of a geometry, or of a tensor, that is of no case."""

    is_accepted = True

    def __init__(self, geometry, meanings, X):
        self._quantities, self.known = {}, {}
        self.geometry, self.meaning, self.tensor = geometry, meanings.__getitem__, X


def values(X):
    """The bin of the values of X, N x C x D1 x ... x Dn."""
    return bins_of(Part((), {}, X), ["values"])["values"]


def catalogue(document, dtype):
    """The small geometries of a document, without windows larger than the padded input, or without a cell of X.

    They are found by their bins of :data:`GEOMETRIC`, in that order.
    """
    by_bins = {}
    for drawn in menu(document):
        resolved = pooling(document, drawn, dtype) if math.prod(drawn.sizes) in PLANE else None
        if resolved is None or resolved.has_large_pads or resolved.has_empty_windows:
            continue
        if any(axis.exceeds_padded_input for axis in resolved.geometry):
            continue
        roles = {Role.AUTO_PAD: drawn.auto_pad, Role.ROUNDING: drawn.rounding}
        bins = bins_of(Part(resolved.geometry, roles, np.zeros(0)), GEOMETRIC)
        by_bins.setdefault(tuple(bins[factor] for factor in GEOMETRIC), {})[drawn] = None
    return {bins: tuple(geometries) for bins, geometries in by_bins.items()}


def menu(document):
    roundings = meanings(document, Role.ROUNDING) or (RoundingType.FLOOR,)
    for rank in range(1, MOST_AXES + 1):
        if rank not in document.ranks:
            continue
        ones, twos, alternating = (1,) * rank, (2,) * rank, (1, 2, 1)[:rank]
        dilations = dict.fromkeys([ones, twos, alternating] if Role.DILATION in document.roles else [ones])
        others = [(4,)] if rank == 1 else [(2, 3, 2)[:rank], (3, 1, 2)[:rank]]
        for kernel in [ones, twos, (3,) * rank, *others]:
            strides = sorted({ones, twos, kernel, (max(kernel) + 1,) * rank, alternating})
            for stride, dilation, (auto_pad, begin, end) in product(strides, dilations, pads(document, kernel)):
                for sizes, rounding in product(sizes_of(kernel, stride, dilation, begin, end), roundings):
                    yield Drawn(sizes, kernel, stride, dilation, begin, end, auto_pad, rounding)


def pads(document, kernel):
    rank = len(kernel)
    zeros, ones, axes, others = (0,) * rank, (1,) * rank, (0, 1, 0)[:rank], (1, 0, 1)[:rank]
    if Role.START in document.roles:
        crops = (zeros, (-1,) * rank, (0, -1, 0)[:rank])
        for begin, end in product(crops, crops):
            yield AutoPad.EXPLICIT, begin, end
        return
    most = tuple(size - 1 for size in kernel)
    begins_and_ends = [
        (zeros, zeros), (ones, ones), (axes, axes), (others, others), (ones, zeros), (zeros, ones), (axes, others),
        (others, axes), (ones, (2,) * rank), (most, zeros), (zeros, most), (most, most),
    ]  # fmt: skip
    for begin, end in dict.fromkeys(begins_and_ends):
        if all(max(amounts) < size for size, *amounts in zip(kernel, begin, end, strict=True)):
            yield AutoPad.EXPLICIT, begin, end
    # In the order of the bins, which generated cases depend on.
    for auto_pad in (AutoPad.SAME_UPPER, AutoPad.SAME_LOWER, AutoPad.VALID):
        if auto_pad in meanings(document, Role.AUTO_PAD):
            yield auto_pad, zeros, zeros


def sizes_of(kernel, stride, dilation, begin, end):
    """Sizes of X that the kernel is as large as, and others for a few windows, without and with a remainder."""
    axes = zip(kernel, dilation, begin, end, strict=True)
    fits = [max(1, effective_kernel(k, d) - b - e) for k, d, b, e in axes]
    sizes = [kernel]
    for windows in (0, 1, 2):
        for more in (0, 1, 2):
            sizes.append(tuple(n + windows * s + more for n, s in zip(fits, stride, strict=True)))
        sizes.append((sizes[-3][0] + 1, *sizes[-3][1:]))
    return list(dict.fromkeys(sizes))


WIDE = ("int16", "uint16", "int32", "uint32", "int64", "uint64")
FLOATS_ONLY = ("nan-planes", "nan", "all-neg-inf", "neg-inf", "inf", "zeros", "subnormal", "fraction")


def has(dtype, name):
    """Whether a tensor of the dtype can be in this bin of ``values``."""
    if name in ("wide", "negative"):
        return dtype in WIDE if name == "wide" else not dtype.startswith("uint")
    return name not in FLOATS_ONLY or dtype in FLOATS


@dataclass(frozen=True)
class Space:
    """The bins that a document allows; ``factors`` leaves out what does not vary in it."""

    document: object
    factors: dict
    dtypes: tuple[str, ...]
    sizes: dict
    geometries: dict

    def possible(self, together):
        """Whether a case of the document can have these bins, of some factors or of all."""
        if any(name not in self.factors for name in together):
            return False
        if "dtype" in together and "values" in together and not has(together["dtype"], together["values"]):
            return False
        # Is there an entry of the catalogue that has all the bins of a geometry?
        return (
            reduce(and_, (self.having.get((name, together[name]), 0) for name in GEOMETRIC if name in together), -1)
            != 0
        )

    def drawn(self, together):
        """The geometries with these bins, one of each factor that varies."""
        return [
            drawn
            for bins, geometries in self.geometries.items()
            if all(together.get(name, bin_) == bin_ for name, bin_ in zip(GEOMETRIC, bins, strict=True))
            for drawn in geometries
        ]

    @cached_property
    def having(self):
        """For each bin of a geometry the entries of the catalogue that have it, each a bit."""
        having = defaultdict(int)
        for number, bins in enumerate(self.geometries):
            for factor_and_bin in zip(GEOMETRIC, bins, strict=True):
                having[factor_and_bin] |= 1 << number
        return having


@cache
def space(name):
    """The space of a document: every bin is tried, and what the document excludes is left out."""
    document = specification(name)
    dtypes = tuple(dtype for dtype in NAMES if dtype in document.dtypes)
    ones, zeros = (1,) * min(document.ranks), (0,) * min(document.ranks)
    kernel = (*ones[1:], 2)
    smallest = Drawn(kernel, kernel, ones, ones, zeros, zeros, AutoPad.EXPLICIT, RoundingType.FLOOR)

    def is_allowed(more, batch=1, channels=document.channel_multiple):
        shape = (batch, channels, *smallest.sizes)
        # A document of single images has no other batch.
        is_kept = document.layout.sizes(document.layout.arranged(shape)) == shape
        return is_kept and pooling(document, smallest, dtypes[0], (batch, channels), more) is not None

    geometries = catalogue(document, dtypes[0])
    sizes = {
        (factor, bin_): next(size for size in candidates if is_allowed({}, **{factor: size}))
        for factor, choices in SIZES.items()
        for bin_, candidates in choices.items()
        if any(is_allowed({}, **{factor: size}) for size in candidates)
    }
    allowed = {factor: {bin_ for name, bin_ in sizes if name == factor} for factor in SIZES}
    allowed |= {factor: {bins[number] for bins in geometries} for number, factor in enumerate(GEOMETRIC)}
    for factor, roles in BESIDE_GEOMETRY.items():
        allowed[factor] = {bin_ for bin_, more in roles.items() if is_allowed(more)}
    allowed["dtype"] = set(dtypes)
    allowed["values"] = {bin_ for bin_ in ORDERED["values"] if any(has(dtype, bin_) for dtype in dtypes)}
    factors = {factor: tuple(bin_ for bin_ in bins if bin_ in allowed[factor]) for factor, bins in ORDERED.items()}
    return Space(document, {name: bins for name, bins in factors.items() if len(bins) > 1}, dtypes, sizes, geometries)
