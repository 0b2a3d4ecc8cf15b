"""Cases that are drawn for kits: for each dtype and number of spatial axes, every pair of bins that a geometry can have.

The planes of a tensor have different values: distinct ones below zero, ties, special ones. Of a few draws, the first is taken in which
every tap of a window decides some window, otherwise the one in which most do.
"""

import math
from collections.abc import Iterator
from itertools import combinations, count, product
from pathlib import Path

import ml_dtypes
import numpy as np

from maxpool_check.corpus.case import Case
from maxpool_check.corpus.case_file import read_cases
from maxpool_check.corpus.random_tensors import draw, stream
from maxpool_check.corpus.writing import input_of
from maxpool_check.evidence.wrong_kernels.scan import PooledAxis, first_maximum, scan
from maxpool_check.exporting.kit_export import case_file_of
from maxpool_check.exporting.vectors import vector
from maxpool_check.reference.dtypes import NUMPY, highest, is_float, lowest
from maxpool_check.reference.geometry import AutoPad
from maxpool_check.specifications.roles import Role, RoundingType
from maxpool_check.specifications.specification import Refused
from tests.generating.space import BESIDE_GEOMETRY, Drawn, pooling, space

FILE = "kit"
"""What the ids of drawn cases begin with."""

MOST_CELLS = 400
DRAWS = 12
CHANNELS = (1, 2, 3, 4, 5, 8)
WIDE = ("int16", "uint16", "int32", "uint32", "int64", "uint64")
PLAIN = {"kernel_shape": [1], "strides": [1], "dilations": [1], "auto_pad": "VALID", "ceil_mode": 0, "storage_order": 0}
LARGER = [
    # Rows that a loop over whole vectors has a body and a tail of, and windows of many taps: size, kernel, stride, padding of the last axis.
    (70, 3, 1, 1), (67, 2, 2, 0), (37, 3, 2, 1), (19, 9, 1, 4), (33, 33, 1, 0), (64, 16, 16, 0),
]  # fmt: skip
SQUARES = [(7, 7, 7, 0), (9, 5, 2, 2), (8, 8, 8, 0), (11, 4, 3, 0)]
"""The same of each of two axes."""


def values(kind, dtype, seed, size):
    """The cells of a plane."""
    numbers = draw("distinct", seed, (size,), dtype, False)
    is_chosen = stream(seed + 1, size) % np.uint64(4) == 0
    match kind:
        case "negative":
            return numbers if dtype.kind == "u" else numbers - np.array(size // 2 + 1).astype(dtype)
        case "lowest":
            return np.where(is_chosen, numbers, lowest(dtype))
        case "extremes":
            return np.where(
                stream(seed + 2, size) % np.uint64(3) == 0, highest(dtype), values("lowest", dtype, seed, size)
            )
        case "neg-inf":
            return np.where(is_chosen, values("negative", dtype, seed, size), np.array(-np.inf).astype(dtype))
        case "nan":
            return np.where(is_chosen, np.array(np.nan).astype(dtype), numbers)
        case "neighbours":
            # Numbers that differ by one in their last bit, and that no shorter type has.
            bits = 2 ** ml_dtypes.finfo(dtype).nmant
            return (bits + numbers.astype(np.float64) - numbers.astype(np.float64).min()).astype(dtype)
        case "subnormal":
            return (numbers.astype(np.float64) * float(ml_dtypes.finfo(dtype).smallest_subnormal)).astype(dtype)
        case "zeros":
            return np.where(is_chosen, np.array(0.0).astype(dtype), np.array(-0.0).astype(dtype))
    return draw(kind, seed, (size,), dtype, False)


def choice(at, number, options):
    """One of some options: of a case and of a factor, which does not depend on those of other factors."""
    return options[int(stream(1000 * at + number, 1)[0] % np.uint64(len(options)))]


def kinds(dtype, at):
    """The kinds of values of the planes, in order; every seventh tensor of floats has NaN."""
    of_floats = ["neg-inf", "special", "lowest", "extremes", "neighbours", "subnormal", "zeros"]
    special = of_floats if is_float(dtype) else ["lowest", "extremes", "special"]
    third = "nan" if is_float(dtype) and at % 7 == 6 else special[at % len(special)]
    order = ["negative", "ties", third, "distinct"]
    first = choice(at, 1, (0, 0, 1, 2, 3))
    return order[first:] + order[:first]


def geometries(allowed, rank):
    """Some entries of the catalogue of geometries, which have every pair of bins together."""
    entries = [bins for bins in allowed.geometries if bins[0] == rank]
    pairs = {bins: set(combinations(enumerate(bins), 2)) for bins in entries}
    left = set().union(*pairs.values())
    while left:
        best = max(entries, key=lambda bins: len(pairs[bins] & left))
        left -= pairs[best]
        yield allowed.geometries[best]


def deciding_taps(X, geometry):
    """How many taps of a window decide some window; X is N x C x D1 x ... x Dn."""
    taps = set()

    def pick(values, inside):
        chosen = first_maximum(values, inside)
        taps.update(chosen[np.broadcast_to(inside.any(-1), chosen.shape)].tolist())
        return chosen

    axes = [PooledAxis(a.size, a.kernel, a.stride, a.dilation, a.begin, a.end, a.output) for a in geometry]
    plain = {name: value * len(axes) if isinstance(value, list) else value for name, value in PLAIN.items()}
    scan(X, plain, checks=None, axes=lambda _: axes, pick=pick)
    return len(taps)


def tensor(dtype, number, shape, geometry):
    """The draw in which most taps decide a window."""
    of_planes, best = kinds(dtype, number), (-1, None)
    for attempt in range(DRAWS):
        seed = 1000 * number + 50 * attempt
        planes = [
            values(of_planes[plane % len(of_planes)], dtype, seed + 5 * plane, math.prod(shape[2:]))
            for plane in range(math.prod(shape[:2]))
        ]
        X = np.stack(planes).astype(dtype).reshape(shape)
        best = max(best, (deciding_taps(X, geometry), X), key=lambda each: each[0])
        if best[0] == math.prod(axis.kernel for axis in geometry):
            break
    return best[1]


def larger(allowed, rank):
    """Geometries with long rows and with windows of many taps; the axes in front have one cell, the one before a row two."""
    axes, has_pads = int(rank[0]), Role.START not in allowed.document.roles
    one = (1,) * (axes - 1)
    before = (*one[1:], 2)[: axes - 1]
    rows = [((*before, n), (*one, k), (*one, s), p) for n, k, s, p in LARGER]
    squares = [(*(one[1:] + (each,) * 2 for each in (n, k, s)), p) for n, k, s, p in SQUARES if axes > 1]
    for sizes, kernel, stride, pad in rows + squares:
        pads = tuple(pad if has_pads and k > 1 else 0 for k in kernel)
        yield Drawn(sizes, kernel, stride, (1,) * axes, pads, pads, AutoPad.EXPLICIT, RoundingType.FLOOR)


def wrong_attributes(attributes):
    """Attributes with one mistake: a list that is too long or too short, or has a number that is too small; a value that nothing has."""
    for name, value in attributes.items():
        if isinstance(value, list):
            wrong = [[0, *value[1:]], [*value[:-1], -1], [*value, 1], value[:-1]]
        else:
            wrong = ["SAME"] if isinstance(value, str) else [-1, 2]
        yield from ({**attributes, name: each} for each in wrong)


def entries(spec) -> Iterator[dict]:
    """The cases of a document as fields of a case file."""
    allowed, number = space(spec), count(1)
    document, factors = allowed.document, [name for name in BESIDE_GEOMETRY if name in allowed.factors]
    for rank, name in product(sorted({bins[0] for bins in allowed.geometries}), allowed.dtypes):
        chosen = [list(drawn) for drawn in geometries(allowed, rank)] + [[each] for each in larger(allowed, rank)]
        last = None
        # Half of the geometries for the six wide integers: few kernels take one of them alone.
        for drawn in chosen[:: 1 + (name in WIDE)]:
            at = next(number)
            geometry, channels = choice(at, 2, drawn), choice(at, 3, CHANNELS)
            while channels > 1 and channels * math.prod(geometry.sizes) > MOST_CELLS:
                channels //= 2
            channels = -(-channels // document.channel_multiple) * document.channel_multiple
            batch = (
                choice(at, 4, (1, 1, 1, 3))
                if "batch" in allowed.factors and channels * math.prod(geometry.sizes) <= 100
                else 1
            )
            more = {}
            for place, factor in enumerate(factors):
                # C has no attributes that are fractions. Half of the cases have what is usual.
                options = [each for bin_, each in BESIDE_GEOMETRY[factor].items() if bin_ != "leakyrelu"]
                more |= choice(at, 10 + place, [options[0]] * len(options) + options)
            resolved = pooling(document, geometry, name, (batch, channels), more)
            if resolved is None:
                continue
            X = tensor(NUMPY[name], at, (batch, channels, *geometry.sizes), resolved.geometry)
            last = {
                "id": f"{name}-{rank}-{at}", "title": f"drawn, {name}, {rank}",
                "input": input_of(document.layout.from_core(X)), "attributes": geometry.attributes(document, more),
            }  # fmt: skip
            yield last
        X = np.zeros(document.layout.arranged((1, document.channel_multiple, *[4] * int(rank[0]))), NUMPY[name])
        for attributes in wrong_attributes(last["attributes"]):
            refused = document.resolve(attributes, name, X.shape)
            if isinstance(refused, Refused) and not refused.is_open:
                title = f"drawn, {name}, {rank}, refused"
                fields = {"input": input_of(X), "attributes": attributes, "expect": {"refuse": refused.reason.value}}
                yield {"id": f"{name}-{rank}-{next(number)}", "title": title, **fields}


def cases(spec, folder: Path) -> list[Case]:
    """The drawn cases of a document, from a case file that is written below ``folder``; of Y alone where the numbers in Indices are open."""
    path = folder / FILE / f"{spec}.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    fields = list(entries(spec))
    path.write_text(case_file_of(spec, "drawn for kits", fields))
    are_open = [len(vector(case, MOST_CELLS * 64)["results"]) > 1 for case in read_cases(path, folder)]
    of_y = [{**each, "outputs": ["Y"]} if is_open else each for each, is_open in zip(fields, are_open, strict=True)]
    path.write_text(case_file_of(spec, "drawn for kits", of_y))
    return read_cases(path, folder)
