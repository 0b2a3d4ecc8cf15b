"""Measures how fast the tool is, against what it stands on and what others offer, and writes a table.

``python -m tests.bench [--tiny] [--models] [-o FILE]``: ``--tiny`` measures next to nothing, to see that it can be measured;
``--models`` measures the table of models again, and leaves the other one of the file as it is.
"""

import argparse
import datetime
import itertools
import json
import os
import pickle
import platform
import statistics
import subprocess
import sys
import tempfile
import time
import timeit
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import onnx
import onnxruntime
import yaml
from distributed import LocalCluster

from maxpool_check.corpus.collection import collect
from maxpool_check.graphs.model import maxpool_model
from maxpool_check.models.parts import with_outputs
from maxpool_check.reference.evaluator import evaluate
from maxpool_check.reference.geometry import floor_output, padded_axis
from maxpool_check.reference.policies import Policies
from maxpool_check.reference.pooling import Pooling
from maxpool_check.results.outcomes import Crashed, TimedOut
from maxpool_check.results.variants import DEFAULT_VARIANTS
from maxpool_check.targets.name import parse
from maxpool_check.targets.requests import jobs_of
from maxpool_check.targets.session import TargetSession
from maxpool_check.targets.target import Target
from tests.conftest import CASES, ROOT
from tests.models.zoo import light, vgg16

POOLS = (
    ((1, 64, 112, 112), 3, 2, 1, 1.5),
    ((32, 512, 7, 7), 7, 1, 0, 1.5),
    ((1, 32, 112, 112), 3, 8, 0, 1.5),
    ((1, 16, 128, 128), 8, 8, 0, 1.5),
    ((1, 1, 2**20), 1000, 1, 0, 0.1),
    ((1, 8, 48_000), 1001, 1, 500, 0.1),
    ((1, 1, 1024, 1024), 64, 1, 0, 0.1),
)
"""Shape, kernel, stride and pad, the same on each axis, and the limit: of networks, a global one, with gaps, long windows."""

BASE, HEAD, RESNET = "onnxruntime==1.31.1", "onnxruntime==1.32.0", light("resnet50")
"""The releases that a gate compares, the environments of both made before; and a model."""

HEAD_OF_PAGE = """\
# Benchmark

Made by `make bench`, never edited by hand. [CONTRIBUTING.md](../CONTRIBUTING.md#the-benchmark) says how to read it.

"""
MODELS = "\n## Models\n\n"

SESSION = "import sys, onnxruntime; onnxruntime.InferenceSession(sys.argv[1], providers=['CPUExecutionProvider'])"
LAUNCH = """
import json, os, subprocess, sys, time
start = time.perf_counter()
started = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL)
_, status, usage = os.wait4(started.pid, 0)
seconds, cpu = time.perf_counter() - start, usage.ru_utime + usage.ru_stime
print(json.dumps([os.waitstatus_to_exitcode(status), seconds, cpu, usage.ru_maxrss / 1000]))
"""
"""Measures a command. Its own memory counts, too, and is small: a process begins as a copy of the one that starts it."""

VARIABLES = {**os.environ, "PYTHONDONTWRITEBYTECODE": ""}
"""Those of a user: Python keeps what it compiles, and none is of dask, which sets how memory is freed."""

CASE = """\
  - id: case-{number}
    title: A small case to measure with
    input: {{dtype: {dtype}, shape: [1, 2, 8, 8], random: {{seed: {number}, values: normal}}}}
    attributes: {{kernel_shape: [{kernel}, 3], strides: [{stride}, 1], pads: [{pad}, 0, 0, 1]}}
"""


class Used(NamedTuple):
    """What a command took: seconds by the clock and of the processor, with its processes, and the MB of its largest process."""

    wall: float
    cpu: float
    memory: float = 0


def row(what, pairs, limit=None, unit="x"):
    """A row in Markdown of what was measured, each time beside its floor.

    ``limit`` is a most of the times by the clock over those of the floor; with the unit ``s`` or ``MB`` of what the command
    itself took. The unit ``x + 1 s`` allows a second more.
    """
    ratios = [[getattr(one, name) / getattr(floor, name) for one, floor in pairs] for name in ("wall", "cpu")]
    of_unit = {"x": ratios[0], "s": [one.wall for one, _ in pairs], "MB": [one.memory for one, _ in pairs]}
    of_unit["x + 1 s"] = [(one.wall - 1) / floor.wall for one, floor in pairs]
    clock, processor = (" to ".join(f"{f(each):.3g}" for f in (min, statistics.median, max)) for each in ratios)
    wanted = met = ""
    if limit is not None:
        wanted, found = f"at most {limit:g} {unit}", [value <= limit for value in of_unit[unit]]
        met = {len(found): "yes", 0: "no"}.get(sum(found), f"{sum(found)} of {len(found)}")
    taken = " / ".join(f"{statistics.median(each.wall for each in sides):.3g} s" for sides in zip(*pairs, strict=True))
    return f"| {what} | {clock} | {processor} | {taken} | {max(of_unit['MB']):.3g} | {wanted} | {met} |"


def paired(one, floor, repetitions):
    """Both, each pair back to back, so that what else runs slows both; the first pair does not count."""
    if repetitions > 1:
        one(), floor()
    return [(one(), floor()) for _ in range(repetitions)]


def calls(function, count):
    """What gives the median processor time of so many calls in a row, in one thread."""
    return lambda: Used(*2 * [statistics.median(timeit.repeat(function, "", time.thread_time, count, 1))])


def process(*words):
    """What a command takes, from its start to its end. With 1, the tool says what it has found."""
    launched = [sys.executable, "-c", LAUNCH, *map(str, words)]
    code, *used = json.loads(subprocess.check_output(launched, cwd=ROOT, env=VARIABLES))
    if code not in (0, 1):
        raise RuntimeError(f"{' '.join(map(str, words))} ended with {code}")
    return Used(*used)


python = partial(process, sys.executable)
tool = partial(python, "-m", "maxpool_check")


def case_files(folder, count):
    """The folder of so many small cases, all of which the document defines; it is made once in a folder."""
    folder /= f"cases-{count}"
    if folder.exists():
        return folder
    folder.mkdir()
    drawn = itertools.cycle(itertools.product((2, 3, 4), (1, 2, 3), (0, 1), ("float16", "float32", "float64")))
    for start in range(0, count, 10_000):
        cases = zip(range(start, min(start + 10_000, count)), drawn, strict=False)
        texts = [CASE.format(number=n, kernel=k, stride=s, pad=p, dtype=dtype) for n, (k, s, p, dtype) in cases]
        (folder / f"cases-{start}.yaml").write_text("".join(["spec: onnx-22\nabout: Small cases.\ncases:\n", *texts]))
    return folder


def ready_requests(folder, path):
    """Write the requests that the cases of a folder come to on a target, for the floor.

    Left out are graphs that a document excludes, which may damage the memory of the process, and what the target does not survive.
    """
    found = []
    with TargetSession(Target(parse("onnxruntime"))) as session:
        jobs = [job for case in collect([folder]).cases for job in jobs_of(case, DEFAULT_VARIANTS, session.profile)]
        requests = [job.request for job in jobs if job.request is not None]
        for request in requests:
            outcome = None if request.excluded else session.outcome(*session.submit([request]))
            if outcome is not None and not isinstance(outcome, (Crashed, TimedOut)):
                found.append((request.model, request.outputs, request.inputs, request.setting))
    path.write_bytes(pickle.dumps(found))
    return path


def of_runs(size, folder):
    """Runs of small cases and of the corpus, beside a bare loop that makes a session of ready bytes for each request."""
    record, loop = folder / "record.jsonl", "a bare loop of the same requests"

    def against_loop(cases, repetitions, command):
        requests = ready_requests(cases, folder / "requests.pickle")
        return paired(command, lambda: python(Path(__file__).with_name("floor.py"), requests), repetitions)

    def run(count, *words):
        # All must conform, with Indices and of Y alone.
        used = tool("run", case_files(folder, count), "-q", "-o", record, *words)
        footer = json.loads(record.read_bytes().splitlines()[-1])
        if footer["exit_code"] or footer["executions"] < 2 * count:
            raise RuntimeError(f"{count} cases came to {footer}")
        return used

    for count, repetitions in ((size.cases, 2 * size.repetitions + 1), (size.many, 1)):
        pairs = against_loop(case_files(folder, count), repetitions, partial(run, count))
        yield row(f"`run` of {count} cases / {loop}", pairs, 1.75)
    yield row(f"the same: the largest process with {size.many} cases", pairs, 150, "MB")
    pairs = against_loop(size.corpus, size.repetitions // 2 + 1, lambda: tool("run", size.corpus, "-q", "-o", record))
    yield row(f"`run` of `cases/` / {loop}", pairs, 3)
    pairs = paired(partial(run, 1), lambda: python("-c", "import onnxruntime"), size.repetitions)
    yield row("`run` of one case / an import of ONNX Runtime", pairs, 0.5, "s")
    yield row(
        f"`run` of {size.most} cases / of {size.many}", paired(partial(run, size.most), partial(run, size.many), 1)
    )
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0") as cluster:
        pairs = paired(
            partial(run, size.many, "--dask", cluster.scheduler_address), partial(run, size.many, "-j", "2"), 1
        )
    yield row(f"`run --dask` of {size.many} cases, without what the cluster itself takes / `run -j 2`", pairs)


def of_commands(size):
    """Other commands, with the start of the process and imports on both sides."""
    few = size.repetitions // 2 + 1
    gate = ("gate", size.corpus, "--base", BASE, "--head", HEAD, "--spec", "all")
    pairs = paired(lambda: tool(*gate), lambda: tool("run", size.corpus, "-q", "-t", HEAD), few)
    yield row(f"`gate` from {BASE} to {HEAD} / `run` of one of them", pairs, 2)
    pairs = paired(lambda: tool("model", RESNET, "-q"), lambda: python("-c", SESSION, RESNET), few)
    yield row("`model` on ResNet-50 / ONNX Runtime that makes a session of it", pairs, 3, "s")


def of_models(size, folder):
    """``model``, beside a bare process that runs the file and a look at its MaxPool nodes at each level of optimization."""
    onnx.save(vgg16(), folder / "vgg16.onnx")
    names = ("resnet50", "densenet121", "vgg19")
    for path in (*map(light, names[: 1 if size.tiny else None]), *([] if size.tiny else [folder / "vgg16.onnx"])):
        look, model = folder / f"look-{path.name}", onnx.load(path)
        around = [
            name for node in model.graph.node if node.op_type == "MaxPool" for name in (node.input[0], *node.output)
        ]
        onnx.save(with_outputs(model, around, {}), look)
        floor = partial(python, Path(__file__).with_name("model_floor.py"), path, look)
        pairs = paired(partial(tool, "model", path, "-q"), floor, size.repetitions // 2 + 1)
        yield row(f"`model` on {path.stem} / a bare process of two sessions a level", pairs, 2, "x + 1 s")


def of_the_evaluator(size, shape, k, s, p, limit, dtype, nan):
    """Time of the processor in one thread, on both sides."""
    shape = (*shape[:2], *[min(n, k + 2) for n in shape[2:]]) if size.tiny else shape
    axes, random = len(shape) - 2, np.random.default_rng(0)
    X = np.where(random.random(shape) < nan, np.nan, random.standard_normal(shape)).astype(dtype)
    attributes = {"kernel_shape": [k] * axes, "strides": [s] * axes, "pads": [p] * 2 * axes}
    model = maxpool_model(22, attributes, dtype, shape, ("Y", "Indices"))
    pooling = Pooling(tuple(padded_axis(n, k, s, 1, p, p, floor_output) for n in shape[2:]), Policies())
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    ours = calls(lambda: evaluate(X, pooling), size.calls)
    name = f"{dtype} {'x'.join(map(str, shape))}, k={k}, s={s}, p={p}{', 1 % NaN' if nan else ''}"
    pairs = paired(ours, calls(lambda: session.run(["Y", "Indices"], {"X": X}), size.calls), size.repetitions)
    yield row(f"the evaluator / ONNX Runtime's own kernel with Indices: {name}", pairs, limit)


def table(size, rows):
    """A table, with the machine and the day that it was measured on."""
    busy, lines = os.getloadavg()[0], []
    for line in rows:
        print(line, flush=True)
        lines.append(line)
    versions = ", ".join(f"{each.__name__} {each.__version__}" for each in (np, onnx, onnxruntime, yaml))
    return f"""\
- {datetime.datetime.now(datetime.timezone.utc).date()}, {os.cpu_count()} cores, {busy:.1f} of them busy when it began; \
{platform.platform()}, Python {platform.python_version()}, {versions}
- Repetitions: {size.repetitions}, {2 * size.repetitions + 1} of the first row, fewer of long commands. Ratios are the lowest, the median
  and the highest; processor time is that of all processes, MB are those of the largest

| one / its floor | by the clock | of the processor | seconds of both | MB | wanted | met |
|---|---:|---:|---:|---:|---|---|
{chr(10).join(lines)}
"""


def main():
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description="Measure, and write tables.")
    parser.add_argument("--tiny", action="store_true", help="next to nothing, to see that it can be measured")
    parser.add_argument("--models", action="store_true", help="the table of models alone")
    parser.add_argument("-o", "--output", type=Path, default=ROOT / "reports/benchmark.md")
    parser.set_defaults(cases=1000, many=10_000, most=100_000, calls=5, repetitions=5)
    size = parser.parse_args()
    if size.tiny:
        vars(size).update(cases=4, many=8, most=12, calls=1, repetitions=1)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if size.models:
            first = size.output.read_text().partition(MODELS)[0]
        else:
            size.corpus = case_files(folder, size.cases) if size.tiny else CASES
            pools = itertools.product(POOLS, ("float32", "float64"), (0, 0.01))
            evaluators = (of_the_evaluator(size, *pool, dtype, nan) for pool, dtype, nan in pools)
            first = HEAD_OF_PAGE + table(size, itertools.chain(of_runs(size, folder), of_commands(size), *evaluators))
        size.output.write_text(first + MODELS + table(size, of_models(size, folder)))


if __name__ == "__main__":
    main()
