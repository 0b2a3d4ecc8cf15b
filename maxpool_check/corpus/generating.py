"""Cases by a covering array: every possible combination of bins of so many factors is in some case.

The array is made by covertable. A row of it says which bins a case has; its geometry is drawn backwards from them, and so
are its values. The same arguments give the same text, byte for byte.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import covertable
import numpy as np
import yaml

from maxpool_check.corpus.bins import FACTORS, OUTPUTS, Bins, values
from maxpool_check.corpus.geometries import Drawn
from maxpool_check.corpus.random_values import stream
from maxpool_check.corpus.space import BESIDE_GEOMETRY, Space, space
from maxpool_check.corpus.tensors import SizeLimits, tensor
from maxpool_check.reference.layout import Layout
from maxpool_check.specifications.roles import Role

_CELLS = 200
"""A tensor has no more cells, where the bins let it."""

_MOST_SET = 8
"""How many single cells are overwritten at most."""

_DISTINCT = 128
"""So many consecutive integers are in every dtype, and its extremes are not among them."""

_TRIES = 1000


@dataclass(frozen=True)
class Generated:
    """One case as it is written, and the bins it was drawn for: of every factor that varies but ``outputs``."""

    id: str
    title: str
    input: Mapping[str, Any]
    attributes: Mapping[str, Any]
    bins: Bins


def generate(name: str, strength: int, seed: int) -> list[Generated]:
    """The cases of a document, in the order of their ids. ``strength`` factors at a time are covered."""
    allowed = space(name)
    return sorted((_case(allowed, row, seed) for row in _array(allowed, strength, seed)), key=lambda case: case.id)


def written(name: str, strength: int, seed: int) -> str:
    """The cases as a case file."""
    cases = generate(name, strength, seed)
    what = {1: "bin", 2: "pair of bins"}.get(strength, f"combination of bins of {strength} factors")
    head = [
        f"# maxpool-check generate --spec {name} --strength {strength} --seed {seed}",
        "# Written by this command; not to be edited.",
        f"spec: {name}",
        f"about: Every {what} that {space(name).document.title} allows, in some case. An id and a title name what is not usual.",
        "cases:",
    ]
    return "\n".join([*head, *(line for case in cases for line in _lines(case))]) + "\n"


def _array(allowed: Space, strength: int, seed: int) -> list[Bins]:
    factors = {name: list(bins) for name, bins in allowed.factors.items() if name != OUTPUTS}

    def holds(row: Mapping[str, str]) -> bool | None:
        # Nothing is known of a row that is not whole, but that it can still become one.
        return (True if len(row) == len(factors) else None) if allowed.possible(row) else False

    constraint = {"operator": "fn", "requires": [], "evaluate": holds}
    rows: list[Bins] = covertable.make(factors, strength=strength, salt=str(seed), constraints=[constraint])
    return [{name: row[name] for name in factors} for row in rows]


def _case(allowed: Space, row: Bins, seed: int) -> Generated:
    unusual = {factor: bin_ for factor, bin_ in row.items() if bin_ != FACTORS[factor].usual}
    name = "-".join(FACTORS[factor].prefix + bin_ for factor, bin_ in unusual.items())
    own = zlib.crc32(f"{seed} {name}".encode())
    batch, channels = (
        allowed.sizes[factor, row.get(factor, next(bin_ for name, bin_ in allowed.sizes if name == factor))]
        for factor in ("batch", "channels")
    )
    drawn = _drawn(allowed, row, batch * channels, own)
    more: dict[Role, Any] = {}
    for factor, choices in BESIDE_GEOMETRY.items():
        more |= choices[row[factor]] if factor in row else {}
    dtype = row.get("dtype", allowed.dtypes[0])
    return Generated(
        id=name,
        title=", ".join(
            bin_ if factor in ("rank", "dtype") else f"{factor.replace('_', ' ')} {bin_}"
            for factor, bin_ in unusual.items()
        ),
        input={"dtype": dtype}
        | _input(dtype, row["values"], (batch, channels, *drawn.sizes), allowed.document.layout, own),
        attributes=drawn.attributes(allowed.document, more),
        bins=row,
    )


def _drawn(allowed: Space, row: Bins, planes: int, seed: int) -> Drawn:
    """One of the geometries with these bins, as small as need be."""
    geometries = allowed.drawn(row)
    small = [drawn for drawn in geometries if planes * math.prod(drawn.sizes) <= _CELLS]
    if not small:
        return min(geometries, key=lambda drawn: math.prod(drawn.sizes))
    return small[int(stream(seed, 1)[0] % np.uint64(len(small)))]


def _input(dtype: str, values_bin: str, shape: tuple[int, ...], layout: Layout, seed: int) -> dict[str, Any]:
    """An input whose values are in this bin: the first of a few draws, for small tensors of chance need more than one."""
    for own in range(seed, seed + _TRIES):
        form = _FORMS[values_bin](_Draw(dtype, shape, layout, own))
        X = layout.to_core(tensor({"dtype": dtype, **form}, Path(), Path(), SizeLimits()))
        if values(X) == values_bin:
            return form
    raise AssertionError(f"no {dtype} tensor of shape {shape} with values {values_bin} in {_TRIES} draws")


@dataclass(frozen=True)
class _Draw:
    """What an input is drawn for. ``shape`` is N x C x D1 x ... x Dn."""

    dtype: str
    shape: tuple[int, ...]
    layout: Layout
    seed: int

    def filled(self, value: float | str, *others: float | str, from_plane: int = 0) -> dict[str, Any]:
        """One value everywhere, and others in single cells."""
        return {"shape": self._arranged(self.shape), "fill": value} | self._set(others, from_plane)

    def random(self, which: str, *others: float | str) -> dict[str, Any]:
        """Random values, and others in single cells."""
        drawn = {"seed": self.seed, "values": which}
        return {"shape": self._arranged(self.shape), "random": drawn} | self._set(others, 0)

    def distinct(self) -> dict[str, Any]:
        """No two equal in a plane."""
        if math.prod(self.shape) <= _DISTINCT:
            return self.random("distinct")
        # Each plane for itself: together they have more cells than a small dtype has numbers.
        order = np.argsort(
            stream(self.seed, math.prod(self.shape)).reshape(*self.shape[:2], -1), axis=-1, kind="stable"
        )
        return {"data": self.layout.from_core(order.reshape(self.shape)).tolist()}

    def _set(self, others: Sequence[float | str], from_plane: int) -> dict[str, Any]:
        """A quarter of the cells, or a few; none in the planes before one."""
        first = from_plane * math.prod(self.shape[2:])
        size = math.prod(self.shape) - first
        if not others or not size:
            return {}
        order = first + np.argsort(stream(self.seed, size), kind="stable")[: max(1, min(_MOST_SET, size // 4))]
        cells = [np.unravel_index(int(cell), self.shape) for cell in sorted(order)]
        return {
            "set": [
                {"at": self._arranged([int(position) for position in cell]), "to": others[i % len(others)]}
                for i, cell in enumerate(cells)
            ]
        }

    def _arranged(self, core: Sequence[int]) -> list[int]:
        return list(self.layout.arranged(core))


_FORMS = {
    "distinct": lambda draw: draw.distinct(),
    "ties": lambda draw: draw.random("ties"),
    "constant": lambda draw: draw.filled(3),
    "fraction": lambda draw: draw.random("normal"),
    "wide": lambda draw: draw.random("normal"),
    "negative": lambda draw: draw.filled(-9, -1, -8, -2, -7),
    "extremes": lambda draw: draw.filled("lowest", "highest"),
    "lowest": lambda draw: draw.filled("lowest"),
    "neg-inf": lambda draw: draw.filled(-math.inf, -1, 2, -3),
    "all-neg-inf": lambda draw: draw.filled(-math.inf),
    "inf": lambda draw: draw.random("normal", math.inf),
    "zeros": lambda draw: draw.filled(0.0, -0.0),
    "subnormal": lambda draw: draw.filled("smallest_subnormal", 0.0),
    "nan": lambda draw: draw.random("normal", math.nan),
    "nan-planes": lambda draw: draw.filled(math.nan, -1, 2, from_plane=1),
}
"""How an input with the values of a bin is written."""


def _lines(case: Generated) -> Iterator[str]:
    yield f"  - id: {case.id}"
    yield f"    title: {case.title}"
    yield f"    input: {_flow(case.input)}"
    yield f"    attributes: {_flow(case.attributes)}"


def _flow(value: Mapping[str, Any]) -> str:
    return yaml.safe_dump(dict(value), default_flow_style=True, sort_keys=False, width=math.inf).strip()
