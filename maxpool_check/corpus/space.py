"""Which bins a document allows, alone and together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property, reduce
from itertools import combinations, product
from operator import and_
from typing import Any

from maxpool_check.corpus.bins import FACTORS, OUTPUTS, has
from maxpool_check.corpus.geometries import GEOMETRIC, Catalogue, Drawn, catalogue, pooling, smallest_geometry
from maxpool_check.reference import dtypes
from maxpool_check.reference.activation import Function
from maxpool_check.reference.numbering import StorageOrder
from maxpool_check.specifications import specification
from maxpool_check.specifications.roles import Role
from maxpool_check.specifications.specification import Specification

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
def space(name: str) -> Space:
    """The space of a document: every bin is tried, and what the document excludes is left out."""
    document = specification(name)
    smallest = smallest_geometry(document)
    accepted = tuple(dtype for dtype in dtypes.NAMES if dtype in document.dtypes)

    def is_allowed(more: Mapping[Role, Any], batch: int = 1, channels: int = document.channel_multiple) -> bool:
        shape = (batch, channels, *smallest.sizes)
        # A document of single images has no other batch.
        is_kept = document.layout.sizes(document.layout.arranged(shape)) == shape
        return is_kept and pooling(document, smallest, accepted[0], (batch, channels), more) is not None

    geometries = catalogue(document, accepted[0])
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
    for factor, meanings in BESIDE_GEOMETRY.items():
        allowed[factor] = tuple(bin_ for bin_, more in meanings.items() if is_allowed(more))
    allowed["values"] = tuple(bin_ for bin_ in FACTORS["values"].bins if any(has(dtype, bin_) for dtype in accepted))
    factors = {factor: allowed[factor] for factor in FACTORS if len(allowed[factor]) > 1}
    return Space(document, factors, accepted, sizes, geometries)
