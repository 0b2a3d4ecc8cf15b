"""The rows of the evaluator: its time over that of ONNX Runtime's own kernel with Indices, and its memory over X."""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnxruntime

from maxpool_check.graphs.model import maxpool_model
from maxpool_check.reference.dtypes import is_float
from maxpool_check.reference.evaluator import evaluate
from maxpool_check.reference.geometry import floor_output, padded_axis
from maxpool_check.reference.policies import Policies
from maxpool_check.reference.pooling import Pooling
from tests.bench.measuring import Figure, Timed, calls, each, ratio
from tests.bench.row import Row, Size

DTYPES = ("float16", "float32", "float64", "int8", "uint8")
"""Those that ONNX Runtime's kernel for the CPU has."""


@dataclass(frozen=True)
class Pool:
    """A pooling that is the same on each axis."""

    shape: tuple[int, ...]
    kernel: int
    stride: int = 1
    pad: int = 0
    dilation: int = 1

    def __str__(self) -> str:
        shape = "x".join(map(str, self.shape))
        return f"{shape}, k={self.kernel}, s={self.stride}, p={self.pad}" + f", d={self.dilation}" * (self.dilation > 1)

    def tiny(self) -> Pool:
        """The same of a tensor with hardly a cell more than a window."""
        reach = (self.kernel - 1) * self.dilation + 1
        shape = (1, 2, *[min(size, reach + 2) for size in self.shape[2:]])
        return Pool(shape, self.kernel, self.stride, self.pad, self.dilation)

    @property
    def pooling(self) -> Pooling:
        """What the evaluator computes."""
        k, s, d, p = self.kernel, self.stride, self.dilation, self.pad
        return Pooling(tuple(padded_axis(n, k, s, d, p, p, floor_output) for n in self.shape[2:]), Policies())

    def input(self, name: str, *, has_nan: bool = False) -> np.ndarray:
        """Normal values, of which one in a hundred is NaN, or any integers."""
        random, dtype = np.random.default_rng(0), np.dtype(name)
        if not is_float(dtype):
            return random.integers(np.iinfo(dtype).min, np.iinfo(dtype).max + 1, self.shape).astype(dtype)
        values = random.standard_normal(self.shape)
        if has_nan:
            values[random.random(self.shape) < 0.01] = np.nan
        return values.astype(dtype)

    def session(self, name: str) -> onnxruntime.InferenceSession:
        """ONNX Runtime's kernel with Indices, in one thread."""
        rank = len(self.shape) - 2
        attributes = {
            "kernel_shape": [self.kernel] * rank, "strides": [self.stride] * rank, "pads": [self.pad] * 2 * rank,
            "dilations": [self.dilation] * rank,
        }  # fmt: skip
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        model = maxpool_model(22, attributes, name, self.shape, ("Y", "Indices"))
        return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


LINE = (1, 1, 2**20)

POOLS = (
    Pool((1, 64, 112, 112), 3, 2, 1),
    Pool((1, 256, 55, 55), 3, 2),
    Pool((1, 64, 224, 224), 2, 2),
    Pool((8, 32, 28, 28), 2, 2),
    Pool((8, 32, 28, 28), 3, 1, 1),
    Pool((1, 64, 56, 56), 3, 1, 2, 2),
    Pool((1, 3, 512, 512), 3, 2, 1),
    Pool((1, 256, 13, 13), 5, 1, 2),
    Pool((1, 256, 13, 13), 9, 1, 4),
    Pool((1, 256, 13, 13), 13, 1, 6),
    Pool((32, 512, 7, 7), 7),
    Pool((1, 256, 56, 56), 56, 56),
    Pool((1, 32, 112, 112), 3, 8),
    Pool((1, 16, 128, 128), 8, 8),
    Pool((1, 16, 16, 56, 56), 3, 2, 1),
    Pool((1, 32, 8, 28, 28), 2, 2),
    Pool(LINE, 2, 2),
    Pool(LINE, 3, 1, 1),
    Pool(LINE, 100),
    Pool(LINE, 1000),
)
"""Of networks (ResNet, SqueezeNet, VGG, YOLO), global ones, with gaps, in three dimensions and in one."""

WITH_NAN = (POOLS[0], POOLS[2], POOLS[10], POOLS[11], POOLS[12], POOLS[13], POOLS[16], POOLS[17])
"""Also measured with a NaN in a hundred cells: where the time of finding them is a large part."""

SMALL = (Pool((1, 1, 8, 8), 3), Pool((1, 1, 2, 2), 2))
"""Where the time is that of calling numpy and ONNX Runtime: some thirty functions of numpy here, one of ONNX Runtime."""


def evaluator(size: Size, folder: Path, cases: Path) -> Iterator[Row]:
    """Time of the processor in one thread, on both sides; memory as numpy counts it."""
    for pool in POOLS:
        yield _over_kernel(pool.tiny() if size.tiny else pool, DTYPES, size, limit=1.5)
    for pool in WITH_NAN:
        yield _over_kernel(pool.tiny() if size.tiny else pool, ("float32", "float64"), size, limit=1.5, has_nan=True)
    for pool in SMALL:
        yield _over_kernel(pool, DTYPES, size, limit=None)
        yield _call(pool, size, 1e6, "microseconds", 100)
    longest = Pool(LINE, 1000)
    yield _call(longest.tiny() if size.tiny else longest, size, 1e3, "ms", 200)
    for pool in (POOLS[0], POOLS[2], Pool((1, 64, 224, 224), 3, 1, 1), Pool(LINE, 3, 1, 1), Pool(LINE, 1000)):
        yield _memory(pool.tiny() if size.tiny else pool)


def _over_kernel(pool: Pool, names: Sequence[str], size: Size, limit: float | None, *, has_nan: bool = False) -> Row:
    """The worst of some element types; the note has the medians of all."""
    figures = {name: _ratio(pool, name, size, has_nan) for name in names}
    worst = max(figures, key=lambda name: figures[name].median)
    return Row(
        "evaluator",
        f"the evaluator / ONNX Runtime's own kernel with Indices: {pool}, {worst}{', 1 % NaN' * has_nan}",
        figures[worst], limit=limit, note=", ".join(f"{name} {figure.median:.2f}" for name, figure in figures.items()),
    )  # fmt: skip


def _ratio(pool: Pool, name: str, size: Size, has_nan: bool) -> Figure:
    X, pooling, session = pool.input(name, has_nan=has_nan), pool.pooling, pool.session(name)
    kernel = _timed(lambda: session.run(["Y", "Indices"], {"X": X}), size)
    return ratio(_timed(lambda: evaluate(X, pooling), size), kernel, size.repetitions)


def _call(pool: Pool, size: Size, factor: float, unit: str, limit: float) -> Row:
    X, pooling = pool.input("float32"), pool.pooling
    figure = each(_timed(lambda: evaluate(X, pooling), size), size.repetitions)
    scaled = Figure(tuple(value * factor for value in figure.values))
    return Row("evaluator", f"a call of the evaluator: float32 {pool}", scaled, unit, limit)


def _timed(function: Callable[[], object], size: Size) -> Timed:
    """The median of as many calls as take about a fiftieth of a second."""
    function()
    start = time.thread_time()
    function()
    count = 1 + min(size.calls, int(0.02 / max(time.thread_time() - start, 1e-6)))
    return calls(function, count, clock=time.thread_time)


def _memory(pool: Pool) -> Row:
    X, pooling = pool.input("float32"), pool.pooling
    evaluate(X, pooling)
    tracemalloc.start()
    pooled = evaluate(X, pooling)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert pooled.Indices is not None
    result = pooled.Y.nbytes + pooled.Indices.nbytes + pooled.empty.nbytes
    return Row(
        "evaluator", f"memory of the evaluator at its peak / X: float32 {pool}", Figure((peak / X.nbytes,)), limit=3,
        note=f"the result alone is {result / X.nbytes:.2f} x, what is needed beside it {(peak - result) / 2**20:.1f} MiB",
    )  # fmt: skip
