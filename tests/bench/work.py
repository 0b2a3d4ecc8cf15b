"""What is measured with: case files, the models they make, and the commands of others."""

from __future__ import annotations

import json
import pickle
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from maxpool_check.corpus.collection import collect
from maxpool_check.reference.geometry import floor_output, padded_axis
from maxpool_check.reference.policies import Policies
from maxpool_check.reference.pooling import Pooling
from maxpool_check.targets.onnx_model import build
from tests.bench.measuring import Finished, process, python

A_FILE = 10_000
"""The most cases in one file."""

DTYPES = ("float16", "float32", "float64", "int8", "uint8")
VALUES = ("distinct", "ties", "normal")
GEOMETRIES = tuple(
    {"kernel_shape": kernel, "strides": strides, "pads": pads, "dilations": dilations}
    for kernel in ([2, 2], [3, 3], [3, 2])
    for strides in ([1, 1], [2, 2], [2, 1])
    for pads in ([0, 0, 0, 0], [1, 1, 1, 1], [0, 0, 1, 1])
    for dilations in ([1, 1], [2, 1])
)


def case_files(folder: Path, count: int) -> Path:
    """Write so many small cases, all of which the document defines, as files below a new folder."""
    folder.mkdir()
    for begin in range(0, count, A_FILE):
        lines = ["spec: onnx-22", "about: Small cases to measure with.", "cases:"]
        lines += [line for number in range(begin, min(begin + A_FILE, count)) for line in _case(number)]
        (folder / f"cases-{begin // A_FILE}.yaml").write_text("\n".join(lines) + "\n")
    return folder


def _case(number: int) -> Iterator[str]:
    attributes = json.dumps(GEOMETRIES[number % len(GEOMETRIES)])
    random = f"{{seed: {number}, values: {VALUES[number % len(VALUES)]}}}"
    yield f"  - id: case-{number}"
    yield "    title: A small case to measure with"
    yield f"    input: {{dtype: {DTYPES[number % len(DTYPES)]}, shape: [1, 2, 8, 8], random: {random}}}"
    yield f"    attributes: {attributes}"


def ready_models(folder: Path, path: Path) -> Path:
    """Write what the cases of a folder come to for ONNX Runtime: model, names of outputs, X; two of each case."""
    requests = [
        (build(22, case.attributes, case.X.dtype.name, case.X.shape, outputs), outputs, case.X)
        for case in collect([folder]).cases
        for outputs in (("Y", "Indices"), ("Y",))
    ]
    path.write_bytes(pickle.dumps(requests))
    return path


def run(folder: Path, record: Path, count: int) -> Finished:
    """``maxpool-check run`` of so many cases, with a record and JSON. All of them must have been asked, twice."""
    words = ("run", folder, "--no-known", "-q", "-o", record, "--format", "json")
    done = process(python("-m", "maxpool_check", *words), allowed=(0, 1))
    found = json.loads(done.stdout)["summary"]
    if (found["cases"], found["executions"]) != (count, 2 * count):
        raise RuntimeError(f"{count} cases came to {found}")
    return done


def pooled_input(shape: tuple[int, ...]) -> np.ndarray:
    """X of normal values."""
    return np.random.default_rng(0).standard_normal(shape).astype(np.float32)


def pooling(X: np.ndarray, kernel: int, stride: int, pad: int) -> Pooling:
    """A pooling of X, the same on each axis."""
    return Pooling(tuple(padded_axis(n, kernel, stride, 1, pad, pad, floor_output) for n in X.shape[2:]), Policies())


def model(X: np.ndarray, kernel: int, stride: int, pad: int) -> bytes:
    """The same, with Indices, as an ONNX model."""
    axes = X.ndim - 2
    attributes = {"kernel_shape": [kernel] * axes, "strides": [stride] * axes, "pads": [pad] * 2 * axes}
    return build(22, attributes, X.dtype.name, X.shape, ("Y", "Indices"))
