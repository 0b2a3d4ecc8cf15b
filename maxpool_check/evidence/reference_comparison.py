"""Compares an evaluator with the definition, on one pooling or on all small ones.

The definition looks at one window at a time, so its result for a window alone is kept and used wherever the window occurs. That
it is the same in company is compared as well: the definition computes every axis, and every tenth pair, as a whole on one plane.
"""

import hashlib
import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache, partial

import msgspec
import numpy as np

from maxpool_check.evidence.small_geometries import Table, alone, planes, table
from maxpool_check.reference import definition, evaluator
from maxpool_check.reference.dtypes import FLOATS, INTEGERS, NUMPY, bits, highest, is_float, lowest
from maxpool_check.reference.geometry import Axis, Geometry
from maxpool_check.reference.numbering import Layout, Numbering, StorageOrder
from maxpool_check.reference.policies import Nan, Policies
from maxpool_check.reference.pooling import Pooled, Pooling

MOST_MISMATCHES = 100
"""So many mismatches are listed; all are counted."""

Evaluate = Callable[[np.ndarray, Pooling], Pooled]
"""A program that pools X, of shape N x C x D1 x ... x Dn."""


@dataclass(frozen=True)
class PoolingSetting:
    """What a pooling has beside its geometry. NaN occur unless ``nan`` is ``UNSPECIFIED``, which is like ``IGNORED``."""

    nan: Nan
    storage_order: StorageOrder
    padding_value: float | None = None

    @property
    def has_nan(self) -> bool:
        """Whether NaN occur."""
        return self.nan is not Nan.UNSPECIFIED

    def pooling(self, geometry: Geometry) -> Pooling:
        """The pooling of a geometry."""
        numbering = Numbering(self.storage_order)
        return Pooling(geometry, Policies(nan=self.nan), numbering, padding_value=self.padding_value)


SETTINGS = (
    PoolingSetting(Nan.AS_NEG_INF, StorageOrder.ROW_MAJOR, -np.inf),
    PoolingSetting(Nan.PROPAGATES_LAST, StorageOrder.COLUMN_MAJOR),
)
"""NaN that lose and that win, in both storage orders, with a value of the padding and without."""

WITHOUT_NAN = PoolingSetting(Nan.UNSPECIFIED, StorageOrder.COLUMN_MAJOR, -np.inf)

ALL_SETTINGS = (
    *SETTINGS,
    WITHOUT_NAN,
    PoolingSetting(Nan.IGNORED, StorageOrder.ROW_MAJOR),
    PoolingSetting(Nan.PROPAGATES_FIRST, StorageOrder.ROW_MAJOR),
)
"""The other interpretations of NaN as well. They differ in the order of values, which is the same in all dimensions."""

EVERY = 10
"""Of so many pairs, one is computed by the definition as a whole."""


class Counts(msgspec.Struct, frozen=True, kw_only=True):
    """How many evaluations were compared with the definition, and how many output cells they have in all."""

    evaluations: int = 0
    cells: int = 0
    mismatches: int = 0

    def __add__(self, other: "Counts") -> "Counts":
        return Counts(**{name: getattr(self, name) + getattr(other, name) for name in self.__struct_fields__})


@dataclass
class EvaluatorComparison:
    """Compares an evaluator with the definition, and counts. ``digest`` is that of all that the evaluator returned."""

    evaluate: Evaluate = evaluator.evaluate
    counts: Counts = field(default_factory=Counts)
    mismatches: list[str] = field(default_factory=list)
    digest: "hashlib._Hash" = field(default_factory=hashlib.sha256)

    def on_one_plane(self, geometry: Geometry) -> None:
        """Compare the whole results on one plane, with ties, -inf and both zeros."""
        sizes = tuple(axis.size for axis in geometry)
        pattern = np.array([2, 1, -np.inf, 2, 0, -0.0, 3, -np.inf, 3], np.float32)
        self.as_a_whole(np.resize(pattern, math.prod(sizes)).reshape(1, 1, *sizes), WITHOUT_NAN.pooling(geometry))

    def as_a_whole(self, X: np.ndarray, pooling: Pooling) -> None:
        """Compare the whole results for a tensor."""
        self._compare(X, pooling, _packed(definition.evaluate(X, pooling)))

    def by_windows(self, geometry: Geometry, settings: Sequence[PoolingSetting] = SETTINGS) -> None:
        """Compare the results in each setting with those of the definition for each window alone."""
        sizes = tuple(axis.size for axis in geometry)
        windows = list(itertools.product(*map(_windows, geometry)))
        for setting in settings:
            X, pooling = _inputs(sizes, setting.has_nan), setting.pooling(geometry)
            shape = (4, *X.shape[:2], *pooling.output_sizes)
            results = [_of_window(window, setting) for window in windows]
            self._compare(X, pooling, np.stack(results, -1).reshape(shape) if results else np.zeros(shape, np.int64))

    def _compare(self, X: np.ndarray, pooling: Pooling, expected: np.ndarray) -> None:
        pooled = self.evaluate(X, pooling)
        packed = _packed(pooled)
        agree = (
            packed.shape == expected.shape
            and packed.tobytes() == expected.tobytes()
            and (pooled.Y.dtype, _indices(pooled).dtype) == (X.dtype, np.dtype(pooling.numbering.dtype))
            and pooled.maxima.tobytes() == pooled.Y.tobytes()
        )
        self.counts += Counts(evaluations=1, cells=pooled.Y.size, mismatches=not agree)
        self.digest.update(packed.tobytes())
        if not agree and len(self.mismatches) < MOST_MISMATCHES:
            numbering = pooling.numbering
            self.mismatches.append(
                f"{'; '.join(map(str, pooling.geometry))}: {X.dtype.name}, NaN {pooling.policies.nan.value}, "
                f"{numbering.storage_order.value}, {numbering.layout.value}, {numbering.dtype} "
                f"from axis {numbering.axis}, value of the padding {pooling.padding_value}"
            )


def _indices(pooled: Pooled) -> np.ndarray:
    assert pooled.Indices is not None
    return pooled.Indices


def _packed(pooled: Pooled) -> np.ndarray:
    """All that a reference returns, as int64: the bits of Y, Indices, and which cells are empty and undefined."""
    Y = bits(pooled.Y).reshape(pooled.Y.shape)
    return np.stack([part.astype(np.int64) for part in (Y, _indices(pooled), pooled.empty, pooled.undefined)])


@cache
def _inputs(sizes: tuple[int, ...], has_nan: bool) -> np.ndarray:
    """The planes of these sizes as a tensor of two images."""
    every = planes(math.prod(sizes))
    if not has_nan:
        every = every[~np.isnan(every).any(axis=1)]
    # An even number of them: the first one twice, if need be.
    every = np.concatenate([every, every[: len(every) % 2]])
    return every.reshape(2, len(every) // 2, *sizes)


@cache
def _windows(axis: Axis) -> tuple[Axis, ...]:
    """Each window of an axis as an axis of one window; equal windows are the same axis."""
    each = [alone(axis, i) for i in range(axis.output)]
    return tuple(_FIRST.setdefault(table(window), window) for window in each)


_FIRST: dict[Table, Axis] = {}
"""The first axis of one window that was seen, for each table."""


@cache
def _of_window(window: Geometry, setting: PoolingSetting) -> np.ndarray:
    """What the definition returns for one window."""
    X = _inputs(tuple(axis.size for axis in window), setting.has_nan)
    return _packed(definition.evaluate(X, setting.pooling(window))).reshape(4, -1)


def compare_values(compared: EvaluatorComparison) -> None:
    """Every pattern of special values in all windows of up to three cells, and in none."""
    axis = Axis(size=3, kernel=3, stride=1, dilation=1, begin=3, end=3, output=7)
    for name in FLOATS + INTEGERS:
        dtype = NUMPY[name]
        special: Sequence[float] = [np.nan, -np.nan, -np.inf, -1.0, -0.0, 0.0, 1.0, np.inf]
        if not is_float(dtype):
            special = sorted({int(lowest(dtype)), int(lowest(dtype)) + 1, 0, 1, int(highest(dtype))})
        X = np.array(list(itertools.product(special, repeat=3)), dtype).reshape(1, -1, 3)
        padding_values = (None, -np.inf if is_float(dtype) else int(lowest(dtype)))
        tensors = [X]
        if is_float(dtype):
            # Without -inf the evaluator has another way; and how many cells there are decides which instructions are used.
            finite = X.compress((X != -np.inf).all(axis=(0, 2)), axis=1)
            signalling = _with_signalling_nan(finite)
            tensors += [_with_signalling_nan(X), finite, *np.split(signalling, signalling.shape[1], axis=1)]
        for each, nan, padding_value in itertools.product(tensors, Nan, padding_values):
            compared.as_a_whole(each, Pooling((axis,), Policies(nan=nan), padding_value=padding_value))


def _with_signalling_nan(X: np.ndarray) -> np.ndarray:
    """X with a payload in each NaN that makes it a signalling one, of the same sign; some instructions take those for others."""
    patterns, infinity = np.ascontiguousarray(X).view(f"u{X.itemsize}").copy(), bits(np.array([np.inf], X.dtype))[0]
    sign = patterns.dtype.type(1) << patterns.dtype.type(8 * X.itemsize - 1)
    patterns[np.isnan(X)] = patterns[np.isnan(X)] & sign | infinity + patterns.dtype.type(1)
    return patterns.view(X.dtype)


def compare_numbers(compared: EvaluatorComparison) -> None:
    """The index of every cell of small tensors, in every numbering."""
    spatial = [sizes for rank in (1, 2, 3) for sizes in itertools.product((1, 2, 3), repeat=rank)]
    for batch, channels, sizes in itertools.product((1, 2), (1, 2, 3), spatial):
        X = np.zeros((batch, channels, *sizes), np.int8)
        geometry = tuple(Axis(size, 1, 1, 1, 0, 0, size) for size in sizes)
        for order, layout, dtype in itertools.product(StorageOrder, Layout, ("int64", "int32")):
            for axis in range(X.ndim if layout is Layout.CHANNELS_FIRST else 1):
                compared.as_a_whole(X, Pooling(geometry, Policies(), Numbering(order, layout, axis, dtype)))


def compare_row(
    compared: EvaluatorComparison, number: int, axes_of: Sequence[Sequence[Axis]], seconds: Iterable[int] | None = None
) -> None:
    """The table of that number as the first axis, with all tables, or some, as the second."""
    for second in range(len(axes_of)) if seconds is None else seconds:
        geometry = _pair(number, second, axes_of)
        compared.by_windows(geometry)
        if (number + second) % EVERY == 0:
            compared.on_one_plane(geometry)


def _pair(number: int, second: int, axes_of: Sequence[Sequence[Axis]]) -> Geometry:
    """Of the axes that have the same table, another one is taken each time: each is once in each place."""
    first_axes, second_axes = axes_of[number], axes_of[second]
    return first_axes[second % len(first_axes)], second_axes[number % len(second_axes)]


@dataclass
class TunedComparison:
    """Compares the evaluator as it takes large tensors: some planes at a time, and one plane in parts of some windows.

    All windows are also reduced tap by tap, as short windows of large tensors, and by doubling runs, as long windows.
    """

    planes: tuple[EvaluatorComparison, ...] = field(
        default_factory=lambda: (*_in_parts(2**10, 2**12), *_reduced_in_parts(2**10))
    )
    windows: tuple[EvaluatorComparison, ...] = field(
        default_factory=lambda: (*_in_parts(1, 2**6), *_reduced_in_parts(2**6))
    )

    def axis(self, axis: Axis) -> None:
        """Compare the results in one dimension."""
        self._compare((axis,), ALL_SETTINGS)

    def row(self, number: int, axes_of: Sequence[Sequence[Axis]]) -> None:
        """The table of that number as the first axis, with every tenth as the second."""
        for second in range(-number % EVERY, len(axes_of), EVERY):
            self._compare(_pair(number, second, axes_of), SETTINGS)

    def _compare(self, geometry: Geometry, settings: Sequence[PoolingSetting]) -> None:
        for compared in self.planes:
            compared.by_windows(geometry, settings)
        for compared in self.windows:
            compared.on_one_plane(geometry)

    @property
    def counts(self) -> Counts:
        """The counts of all of them."""
        return sum((each.counts for each in (*self.planes, *self.windows)), Counts())

    @property
    def mismatches(self) -> list[str]:
        """Those of all of them."""
        return [mismatch for each in (*self.planes, *self.windows) for mismatch in each.mismatches]


def _in_parts(*sizes: int) -> tuple[EvaluatorComparison, ...]:
    return tuple(EvaluatorComparison(partial(evaluator.evaluate, part_size=size)) for size in sizes)


def _reduced_in_parts(size: int) -> tuple[EvaluatorComparison, ...]:
    """One that reduces all windows tap by tap, and one that reduces them by doubling runs."""
    tuned = (partial(evaluator.evaluate, part_size=size, few_taps=0, doubling=each) for each in (math.inf, 0))
    return tuple(map(EvaluatorComparison, tuned))
