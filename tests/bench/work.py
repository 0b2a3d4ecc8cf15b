"""What is measured with: case files, the models they make, and the commands of others."""

from __future__ import annotations

import json
import pickle
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from maxpool_check.corpus.collection import collect
from maxpool_check.graphs.model import maxpool_model
from maxpool_check.reference.geometry import floor_output, padded_axis
from maxpool_check.reference.policies import Policies
from maxpool_check.reference.pooling import Pooling
from maxpool_check.results.outcomes import Crashed, TimedOut
from maxpool_check.results.variants import DEFAULT_VARIANTS
from maxpool_check.targets.name import parse
from maxpool_check.targets.protocol import Request
from maxpool_check.targets.requests import plan
from maxpool_check.targets.session import TargetSession
from maxpool_check.targets.target import Target
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


def ready_requests(folder: Path, path: Path, target: str = "onnxruntime") -> Path:
    """Write the requests that the cases of a folder come to on a target, for the floor to execute.

    Only bytes and numbers, for other versions of NumPy and of Python to read. Left out are graphs that a document
    excludes, which may damage the memory of the process, and what the target does not survive: the floor is one process.
    """
    with TargetSession(Target(parse(target))) as session:
        requests = [
            (
                request.model,
                request.outputs,
                {name: _plain(value) for name, value in request.inputs.items()},
                request.setting,
            )
            for case in collect([folder]).cases
            for variant in plan(case, DEFAULT_VARIANTS, session.profile)
            for request in variant.requests
            if not request.excluded and not _dies_of(session, request)
        ]
    path.write_bytes(pickle.dumps(requests, protocol=4))
    return path


def _dies_of(session: TargetSession, request: Request) -> bool:
    """Whether the target does not survive a request."""
    (number,) = session.submit([request])
    return isinstance(session.outcome(number), (Crashed, TimedOut))


def _plain(tensor: np.ndarray) -> tuple[str, tuple[int, ...], bytes]:
    return tensor.dtype.name, tensor.shape, tensor.tobytes()


def run(folder: Path, record: Path, count: int) -> Finished:
    """``maxpool-check run`` of so many cases, with a record and JSON. All of them must have been run, with Indices and of Y alone."""
    words = ("run", folder, "--known", "none", "-q", "-o", record, "--report", "json")
    done = process(python("-m", "maxpool_check", *words), allowed=(0, 1))
    found = json.loads(done.stdout)["summary"]
    if found["cases"] != count or found["conforms"] != found["executions"] or found["executions"] < 2 * count:
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
    return maxpool_model(22, attributes, X.dtype.name, X.shape, ("Y", "Indices"))
