"""Random tensors of cases, the same on every platform and with every version of numpy.

Their stream is SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, OOPSLA 2014), counted from
the seed. Values are derived from it by integer arithmetic and exact scaling only.
"""

import itertools
import math

import ml_dtypes
import numpy as np

from maxpool_check.corpus.problems import BadValue
from maxpool_check.reference.dtypes import highest, is_float, lowest, rounded

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)

_BLOCK = 2**15
"""So many cells are drawn together: their numbers stay in the cache of the processor."""

_MIX = ((np.uint64(30), np.uint64(0xBF58476D1CE4E5B9)), (np.uint64(27), np.uint64(0x94D049BB133111EB)))


def draw(values: str, seed: int, shape: tuple[int, ...], dtype: np.dtype, nan: bool) -> np.ndarray:
    """A tensor of ``distinct``, ``normal``, ``ties`` or ``special`` values; ``nan`` adds NaN to the special ones."""
    size = math.prod(shape)
    if values == "distinct":
        return _distinct(seed, size, dtype).reshape(shape)
    if values == "normal":
        return _normal(seed, size, dtype).reshape(shape)
    ties = np.array([0, 1, 2, 3] if dtype.kind == "u" else [-1, 0, 1, 2]).astype(dtype)
    pool = ties if values == "ties" else _special(dtype, nan)
    return pool[(stream(seed, size) % np.uint64(len(pool))).astype(np.int64)].reshape(shape)


def stream(seed: int, size: int, first: int = 0) -> np.ndarray:
    """``size`` numbers of the stream, from the one with the number ``first`` on, uniform over 64 bits."""
    # Of arrays, numpy multiplies modulo 2^64 without a warning.
    state = np.arange(first + 1, first + 1 + size, dtype=np.uint64) * _GOLDEN + np.uint64(seed % 2**64)
    for shift, factor in _MIX:
        state = (state ^ (state >> shift)) * factor
    return state ^ (state >> np.uint64(31))


def _distinct(seed: int, size: int, dtype: np.dtype) -> np.ndarray:
    """A permutation of consecutive integers, centred on zero where the dtype has a sign."""
    # A float holds every integer up to 2 ** (fraction bits + 1) exactly.
    span = 2 * 2 ** (ml_dtypes.finfo(dtype).nmant + 1) if is_float(dtype) else int(highest(dtype)) - int(lowest(dtype))
    if size > span + 1:
        raise BadValue(f"{dtype.name} has no {size} distinct consecutive integers, only {span + 1}")
    # No two numbers of the stream are equal.
    order = np.argsort(stream(seed, size))
    first = 0 if dtype.kind == "u" else -(size // 2)
    return (order + first).astype(dtype)


def _normal(seed: int, size: int, dtype: np.dtype) -> np.ndarray:
    """The sum of twelve uniform numbers less six (Irwin-Hall): nearly normal, and exact, unlike a logarithm."""
    total = np.full(size, -6 * 2**32)
    together = 12 if size <= _BLOCK else 1
    for start, i in itertools.product(range(0, size, _BLOCK), range(0, 12, together)):
        block = total[start : start + _BLOCK]
        numbers = stream(seed, together * block.size, i * size + start) >> np.uint64(32)
        block += numbers.view(np.int64).reshape(together, block.size).sum(0)
    drawn = total / 2.0**32
    if is_float(dtype):
        return rounded(drawn, dtype)
    # A standard deviation is an eighth of the range; values outside are clipped.
    low, high = float(lowest(dtype)), float(highest(dtype))
    scaled = np.rint((low + high) / 2 + drawn * (high - low) / 8)
    return np.clip(scaled, low, np.nextafter(high + 1, 0) if high > 2**53 else high).astype(dtype)


def _special(dtype: np.dtype, nan: bool) -> np.ndarray:
    if not is_float(dtype):
        return np.array(sorted({int(lowest(dtype)), int(lowest(dtype)) + 1, 0, 1, int(highest(dtype))}), dtype)
    info = ml_dtypes.finfo(dtype)
    magnitudes = [0.0, 1.0, math.inf, *map(float, (info.smallest_subnormal, info.tiny, info.max))]
    pool = [sign * magnitude for magnitude in magnitudes for sign in (1, -1)] + ([math.nan] if nan else [])
    return rounded(np.array(pool, np.float64), dtype)
