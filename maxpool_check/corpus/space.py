"""Which bins a document allows, alone and together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import combinations, product
from typing import Any

from maxpool_check.corpus.bins import FACTORS, OUTPUTS, has
from maxpool_check.corpus.geometries import GEOMETRIC, Catalogue, Drawn, catalogue, pooling
from maxpool_check.reference import dtypes
from maxpool_check.specifications import specification
from maxpool_check.specifications.specification import Specification

Together = tuple[tuple[str, str], ...]
"""Some factors, each with a bin, in the order of :data:`~maxpool_check.corpus.bins.FACTORS`."""

SIZES: Mapping[str, Mapping[str, tuple[int, ...]]] = {
    "batch": {"1": (1,), "many": (2,)},
    "channels": {"1": (1,), "many": (3, 4), "16": (16,)},
}
"""The sizes that stand for a bin: the first that a document allows."""

ATTRIBUTES: Mapping[str, Mapping[str, Mapping[str, Any]]] = {
    "storage_order": {"row": {}, "column": {"storage_order": 1}},
    "index_type": {"int64": {}, "int32": {"index_element_type": "i32"}},
    "index_axis": {"whole": {}, "image": {"axis": 1}, "plane": {"axis": 2}},
    "activation": {
        "none": {},
        "relu": {"activation": "Relu"},
        "clip": {"activation": "Clip", "activation_params": [-1, 1]},
        "leakyrelu": {"activation": "LeakyRelu", "activation_params": [0.125]},
    },
}
"""The attributes that stand for a bin, beside those of the geometry."""


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
        left = -1
        for name in GEOMETRIC:
            if name in together:
                left &= self._having.get((name, together[name]), 0)
        return left != 0

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
            for own, found in self.geometries.items()
            if all(together.get(name, mine) == mine for name, mine in zip(GEOMETRIC, own, strict=True))
            for drawn in found
        )

    @cached_property
    def _having(self) -> Mapping[tuple[str, str], int]:
        """For each bin of a geometry the entries of the catalogue that have it, each a bit."""
        having: dict[tuple[str, str], int] = {}
        for number, own in enumerate(self.geometries):
            for one in zip(GEOMETRIC, own, strict=True):
                having[one] = having.get(one, 0) | 1 << number
        return having


@cache
def space(name: str) -> Space:
    """The space of a document, found by asking the document."""
    document = specification(name)
    smallest = Drawn((2, 2), (2, 2), (1, 1), (1, 1), (0, 0), (0, 0), "explicit", "floor")
    accepted = [dtype for dtype in dtypes.NAMES if pooling(document, smallest, dtype) is not None]
    dtype = accepted[0]
    geometries = catalogue(document, dtype)
    sizes = {
        (factor, one): size
        for factor, choices in SIZES.items()
        for one, candidates in choices.items()
        for size in _first(document, smallest, dtype, factor, candidates)
    }
    allowed: dict[str, list[str]] = {"dtype": accepted, "values": list(FACTORS["values"].bins)}
    for factor in SIZES:
        allowed[factor] = [one for name, one in sizes if name == factor]
    for number, factor in enumerate(GEOMETRIC):
        allowed[factor] = [one for one in FACTORS[factor].bins if any(own[number] == one for own in geometries)]
    for factor, choices_of in ATTRIBUTES.items():
        allowed[factor] = [
            one
            for one, more in choices_of.items()
            if set(more) <= set(document.attributes) and pooling(document, smallest, dtype, **more) is not None
        ]
    allowed["values"] = [one for one in allowed["values"] if any(has(name, one) for name in accepted)]
    allowed[OUTPUTS] = list(FACTORS[OUTPUTS].bins) if document.indices else []
    factors = {factor: tuple(allowed[factor]) for factor in FACTORS if len(allowed[factor]) > 1}
    return Space(document, factors, tuple(accepted), sizes, geometries)


def _first(document: Specification, drawn: Drawn, dtype: str, factor: str, candidates: tuple[int, ...]) -> list[int]:
    for size in candidates:
        own = {"batch": 1, "channels": 4, factor: size}
        shape = (own["batch"], own["channels"], *drawn.sizes)
        # A document of single images has no other batch.
        is_kept = document.layout.sizes(document.layout.arranged(shape)) == shape
        if is_kept and pooling(document, drawn, dtype, **own) is not None:
            return [size]
    return []
