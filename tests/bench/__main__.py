"""Measures how fast the tool is, against what it stands on and what others offer, and writes a table.

``python -m tests.bench [--tiny] [-o FILE]``: ``--tiny`` measures next to nothing, to see that it can be measured.
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
import tracemalloc
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import yaml
from onnx.reference import ReferenceEvaluator

from maxpool_check.corpus.collection import collect
from maxpool_check.graphs.model import maxpool_model
from maxpool_check.reference.evaluator import evaluate
from maxpool_check.reference.geometry import floor_output, padded_axis
from maxpool_check.reference.policies import Policies
from maxpool_check.reference.pooling import Pooling
from maxpool_check.results.outcomes import Crashed, TimedOut
from maxpool_check.results.variants import DEFAULT_VARIANTS
from maxpool_check.targets.name import parse
from maxpool_check.targets.requests import plan
from maxpool_check.targets.session import TargetSession
from maxpool_check.targets.target import Target
from tests.conftest import CASES, ROOT
from tests.models.zoo import light

POOLS = (
    ((1, 64, 112, 112), 3, 2, 1),
    ((1, 64, 224, 224), 2, 2, 0),
    ((32, 512, 7, 7), 7, 1, 0),
    ((1, 32, 112, 112), 3, 8, 0),
    ((1, 16, 128, 128), 8, 8, 0),
    ((1, 1, 2**20), 3, 1, 1),
    ((1, 1, 2**20), 1000, 1, 0),
)
"""Shape, kernel, stride and pad, the same on each axis: of networks, a global one, with gaps, and in one dimension."""

BASE, HEAD = "onnxruntime==1.31.1", "onnxruntime==1.32.0"
"""The releases that a gate compares, the environments of both made before."""

SESSION = "import sys, onnxruntime; onnxruntime.InferenceSession(sys.argv[1], providers=['CPUExecutionProvider'])"
HELP = "from maxpool_check.commands.main import main; main(['--help'])"
CLICK = "import click; click.Group(help='nothing')(['--help'])"
CASE = """\
  - id: case-{number}
    title: A small case to measure with
    input: {{dtype: {dtype}, shape: [1, 2, 8, 8], random: {{seed: {number}, values: normal}}}}
    attributes: {{kernel_shape: [{kernel}, 3], strides: [{stride}, 1], pads: [{pad}, 0, 0, 1]}}
"""


def row(what, values, limit=None):
    """A row in Markdown of what was measured in each repetition. ``limit`` is a most, or a least if it is negative."""
    wanted = met = ""
    if limit is not None:
        wanted = f"{'at most' if limit > 0 else 'at least'} {abs(limit):g} x"
        found = {value <= limit if limit > 0 else value >= -limit for value in values}
        met = "unclear" if len(found) > 1 else "yes" if found == {True} else "no"
    median, low, high = (f"{f(values):.3g}" for f in (statistics.median, min, max))
    return f"| {what} | {median} x | {low} to {high} | {len(values)} | {wanted} | {met} |"


def ratio(one, other, repetitions):
    """The one's time over the other's, each pair back to back, so that what else runs slows both; the first does not count."""
    if repetitions > 1:
        one(), other()
    return tuple(one() / other() for _ in range(repetitions))


def calls(function, count=1):
    """What gives the median processor time of so many calls in a row."""
    return lambda: statistics.median(timeit.repeat(function, timer=time.thread_time, number=1, repeat=count))


def process(*words):
    """Run a command: the seconds from its start to its end, and what it prints. With 1, the tool says what it has found."""
    # Python compiles what it imports, as for a user.
    variables = {**os.environ, "PYTHONDONTWRITEBYTECODE": ""}
    start = time.perf_counter()
    done = subprocess.run(list(map(str, words)), capture_output=True, text=True, cwd=ROOT, env=variables, check=False)
    seconds = time.perf_counter() - start
    if done.returncode not in (0, 1):
        raise RuntimeError(
            f"{' '.join(map(str, words))} ended with {done.returncode}:\n{done.stdout[-2000:]}{done.stderr}"
        )
    return seconds, done.stdout


def python(*words):
    return process(sys.executable, *words)


def tool(*words):
    return python("-m", "maxpool_check", *words)


def case_files(folder, count):
    """Write so many small cases, all of which the document defines, into files of a new folder."""
    folder.mkdir()
    drawn = itertools.cycle(itertools.product((2, 3, 4), (1, 2, 3), (0, 1), ("float16", "float32", "float64")))
    for start in range(0, count, 10_000):
        cases = zip(range(start, min(start + 10_000, count)), drawn, strict=False)
        texts = [CASE.format(number=n, kernel=k, stride=s, pad=p, dtype=dtype) for n, (k, s, p, dtype) in cases]
        (folder / f"cases-{start}.yaml").write_text("".join(["spec: onnx-22\nabout: Small cases.\ncases:\n", *texts]))
    return folder


def ready_requests(folder, path, target="onnxruntime"):
    """Write the requests that the cases of a folder come to on a target, for the floor.

    Left out are graphs that a document excludes, which may damage the memory of the process, and what the target does not survive.
    """
    found = []
    with TargetSession(Target(parse(target))) as session:
        plans = [plan(case, DEFAULT_VARIANTS, session.profile) for case in collect([folder]).cases]
        requests = [request for variants in plans for variant in variants for request in variant.requests]
        for request in requests:
            outcome = None if request.excluded else session.outcome(*session.submit([request]))
            if outcome is not None and not isinstance(outcome, (Crashed, TimedOut)):
                found.append((request.model, request.outputs, request.inputs, request.setting))
    path.write_bytes(pickle.dumps(found))
    return path


def floor(requests, target="onnxruntime"):
    """The seconds of ONNX Runtime alone."""
    return process(Target(parse(target)).python, Path(__file__).with_name("floor.py"), requests)[0]


def run_all(folder, record, count):
    """The seconds of ``run`` for each of so many cases: all must have been run, with Indices and of Y alone."""
    seconds, out = tool("run", folder, "--known", "none", "-q", "-o", record, "--report", "json")
    found = json.loads(out)["summary"]
    if found["cases"] != count or found["conforms"] != found["executions"] or found["executions"] < 2 * count:
        raise RuntimeError(f"{count} cases came to {found}")
    return seconds / count


def of_commands(size, folder):
    """Whole commands, with the start of the process and imports on both sides."""
    few, record, cases = size.repetitions // 2 + 1, folder / "record.jsonl", case_files(folder / "cases", size.cases)
    requests = ready_requests(cases, folder / "small.pickle")

    def run():
        return run_all(cases, record, size.cases)

    what = "a bare loop that makes a session of ready bytes for each request, and runs it"
    times = ratio(run, lambda: floor(requests) / size.cases, size.repetitions)
    yield row(f"`run` of {size.cases} cases, with a record and JSON / the floor: {what}", times, 1.25)
    corpus, name = (cases, "the small cases") if size.tiny else (CASES, "`cases/`")
    words, every = ("run", corpus, "-q", "-o", record), ready_requests(corpus, folder / "corpus.pickle")
    times = ratio(lambda: tool(*words)[0], lambda: floor(every), few)
    yield row(f"`run` of {name}, compiled before / the floor", times, 1.3)
    ready = {target: ready_requests(corpus, folder / f"{target}.pickle", target) for target in (BASE, HEAD)}
    words = ("gate", corpus, "--base", BASE, "--head", HEAD, "--spec", "all")
    times = ratio(lambda: tool(*words)[0], lambda: sum(floor(ready[target], target) for target in ready), few)
    yield row(f"`gate` from {BASE} to {HEAD} on {name} / the floors of both", times, 1.3)
    path = light("resnet50")
    times = ratio(lambda: tool("model", path, "-q")[0], lambda: python("-c", SESSION, path)[0], few)
    yield row("`model` on ResNet-50 / ONNX Runtime that makes a session of it", times)
    times = ratio(lambda: python("-c", HELP)[0], lambda: python("-c", CLICK)[0], 5 * size.repetitions)
    yield row("`maxpool-check --help` / a click command without options", times, 1.3)
    for count in size.growth:
        longer = case_files(folder / f"cases-{count}", count)
        times = ratio(lambda longer=longer, count=count: run_all(longer, record, count), run, 1)
        yield row(f"`run` of {count} cases, a case / of {size.cases}, a case", times, 1.1)


def of_the_evaluator(size, shape, k, s, p, dtype, nan):
    """Time of the processor in one thread, on both sides; memory as numpy counts it."""
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
    times = ratio(ours, calls(lambda: session.run(["Y", "Indices"], {"X": X}), size.calls), size.repetitions)
    yield row(f"the evaluator / ONNX Runtime's own kernel with Indices: {name}", times, 1.5)
    if dtype == "float32" and not nan:
        tracemalloc.start()
        evaluate(X, pooling)
        yield row(f"memory of the evaluator / X: {name}", (tracemalloc.get_traced_memory()[1] / X.nbytes,), 3)
        tracemalloc.stop()
    if dtype == "float32" and not nan and k == 3 and s == 2:
        reference = ReferenceEvaluator(onnx.load_from_string(model))
        times = ratio(calls(lambda: reference.run(None, {"X": X})), ours, size.repetitions)
        yield row(f"onnx.reference.ReferenceEvaluator / the evaluator: {name}", times, -100)


def rows(size, folder):
    """Every row, each as soon as it is measured. Files are written to the folder."""
    yield from of_commands(size, folder)
    for pool, dtype, nan in itertools.product(POOLS, ("float32", "float64"), (0, 0.01)):
        yield from of_the_evaluator(size, *pool, dtype, nan)


def main():
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description="Measure, and write a table.")
    parser.add_argument("--tiny", action="store_true", help="next to nothing, to see that it can be measured")
    parser.add_argument("-o", "--output", type=Path, default=ROOT / "reports/benchmark.md")
    parser.set_defaults(cases=1000, growth=(10_000, 100_000), calls=5, repetitions=5)
    size = parser.parse_args()
    if size.tiny:
        vars(size).update(cases=4, growth=(8,), calls=1, repetitions=1)
    busy, lines = os.getloadavg()[0], []
    with tempfile.TemporaryDirectory() as folder:
        for line in rows(size, Path(folder)):
            print(line, flush=True)
            lines.append(line)
    versions = ", ".join(f"{each.__name__} {each.__version__}" for each in (np, onnx, onnxruntime, yaml))
    size.output.write_text(f"""\
# Benchmark

Made by `make bench` on {datetime.datetime.now(datetime.timezone.utc).date()}, never edited by hand. \
[CONTRIBUTING.md](../CONTRIBUTING.md#the-benchmark) says how to read it.

- {os.cpu_count()} cores, {busy:.1f} of them busy when it began; {platform.platform()}, Python {platform.python_version()}, {versions}
- Repetitions: {size.repetitions}; five times as many for short commands, fewer for long ones

| one / other | median | lowest to highest | repetitions | wanted | met |
|---|---:|---:|---:|---|---|
{chr(10).join(lines)}
""")


if __name__ == "__main__":
    main()
