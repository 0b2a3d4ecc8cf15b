"""The rows of the benchmark: what is measured, against what, and what is wanted."""

from __future__ import annotations

import json
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import onnx
import onnxruntime
import yaml
from onnx.reference import ReferenceEvaluator

from maxpool_check.corpus.collection import collect
from maxpool_check.reference.evaluator import evaluate
from tests.bench import work
from tests.bench.command_rows import commands
from tests.bench.evaluator_rows import evaluator
from tests.bench.measuring import Figure, Finished, calls, each, process, python, ratio
from tests.bench.row import Row, Size

HERE = Path(__file__).parent


def measured(size: Size, folder: Path) -> Iterator[Row]:
    """Every row, each as soon as it is measured. Files are written to the folder."""
    cases = work.case_files(folder / "cases", size.cases)
    for rows in (_floor, commands, evaluator, _reference, _others, _loading, _start, _growth):
        yield from rows(size, folder, cases)


def _floor(size: Size, folder: Path, cases: Path) -> Iterator[Row]:
    models = work.ready_requests(cases, folder / "requests.pickle")

    def ours() -> Finished:
        return work.run(cases, folder / "record.jsonl", size.cases)

    def floor() -> float:
        return process(python(HERE / "floor.py", models)).seconds

    yield Row(
        "run", f"`run` of {size.cases} cases, with a record and JSON / the floor: a bare loop that makes a "
        "session of ready bytes for each request, and runs it",
        ratio(lambda: ours().seconds, floor, size.repetitions),
        limit=1.25, note="process start and imports on both sides",
    )  # fmt: skip
    yield Row(
        "run", "the same, processor time of all processes of `run` / the floor, by the clock",
        ratio(lambda: ours().processor, floor, size.repetitions),
        note="half of it is what a machine of two cores could do at best",
    )  # fmt: skip

    def two() -> float:
        with ThreadPoolExecutor(2) as pool:
            return max(pool.map(lambda _: floor(), range(2)))

    yield Row(
        "run", "two floors at the same time / one", ratio(two, floor, size.repetitions),
        note="more than 1 where cores share what they work with: a run is two processes at the same time",
    )  # fmt: skip


def _reference(size: Size, folder: Path, cases: Path) -> Iterator[Row]:
    for X, window, limit in (
        (work.pooled_input(size.large), (3, 2, 1), -100),
        (work.pooled_input((1, 1, 8, 8)), (3, 1, 0), None),
    ):
        theirs, ours = ReferenceEvaluator(onnx.load_from_string(work.model(X, *window))), work.pooling(X, *window)
        yield Row(
            "evaluator", f"onnx.reference.ReferenceEvaluator / the evaluator: float32 {_by(X.shape)}, with Indices",
            ratio(
                calls(lambda X=X, theirs=theirs: theirs.run(None, {"X": X})),
                calls(lambda X=X, ours=ours: evaluate(X, ours), 10),
                size.repetitions,
            ),
            limit=limit,
        )  # fmt: skip


def _others(size: Size, folder: Path, cases: Path) -> Iterator[Row]:
    def ours() -> float:
        """The seconds of a case, in all its variants."""
        return work.run(cases, folder / "record.jsonl", size.cases).seconds / size.cases

    alone: list[float] = []
    count = 0

    def backend() -> float:
        nonlocal count
        done = process(python(HERE / "backend.py"))
        found = json.loads(done.stdout)
        count = found["cases"]
        alone.append(found["seconds"] / count)
        return done.seconds / count

    what = "ONNX's backend test runner, a case / `run`, a case"
    if size.backend:
        whole = ratio(backend, ours, size.repetitions)
        yield Row(
            "run", what, whole, limit=-100,
            note=f"process start and loading on both sides: {count} cases there, {size.cases} here; running "
            f"them alone takes {statistics.median(alone) * 1e3:.1f} ms a case there",
        )  # fmt: skip
    else:
        yield Row("run", what, None, limit=-100, note="not measured: left out")
    what = "Polygraphy's `run --onnxrt`, a model / `run`, a case"
    try:
        program = _polygraphy(folder / "polygraphy") if size.installs else None
        why = "left out"
    except (OSError, subprocess.CalledProcessError) as error:
        program, why = None, f"it could not be installed ({error})"
    if program is None:
        yield Row("run", what, None, limit=-500, note=f"not measured: {why}")
        return
    X = work.pooled_input((1, 2, 8, 8))
    model = folder / "model.onnx"
    model.write_bytes(work.model(X, 3, 1, 0))
    version = process((program, "--version")).stdout.split("Version:")[1].split()[0]

    def polygraphy() -> float:
        return process((program, "run", model, "--onnxrt")).seconds

    yield Row(
        "run", what, ratio(polygraphy, ours, size.repetitions), limit=-500,
        note=f"Polygraphy {version}; process start on both sides, of one model there, of {size.cases} cases here",
    )  # fmt: skip
    models = work.ready_requests(cases, folder / "requests.pickle")
    yield Row(
        "run", "Polygraphy's `run --onnxrt`, a model / the floor, a case",
        ratio(polygraphy, lambda: process(python(HERE / "floor.py", models)).seconds / size.cases, size.repetitions),
        note="what could be had at most",
    )  # fmt: skip


def _polygraphy(environment: Path) -> Path:
    uv = shutil.which("uv", path=str(Path(sys.executable).parent)) or "uv"
    wanted = ("polygraphy", f"onnxruntime=={onnxruntime.__version__}", "onnx")
    for words in (
        ("venv", "--quiet", "--python", sys.executable, environment),
        ("pip", "install", "--quiet", "--python", environment / "bin" / "python", *wanted),
    ):
        subprocess.run([uv, *map(str, words)], check=True, capture_output=True)
    return environment / "bin" / "polygraphy"


def _loading(size: Size, folder: Path, cases: Path) -> Iterator[Row]:
    texts = [file.read_text() for file in sorted(cases.iterdir())]
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    ours = calls(lambda: collect([cases]))
    yield Row(
        "loading", f"reading and checking {size.cases} cases / PyYAML's {loader.__name__} alone on the same file",
        ratio(ours, calls(lambda: [yaml.load(text, loader) for text in texts]), size.repetitions),
    )  # fmt: skip
    # Of the processor: by the clock on the wall, it would be a figure of what else the machine does.
    alone = calls(lambda: collect([cases]), clock=time.process_time)
    what = f"reading and checking {size.cases} cases, processor time"
    yield Row("loading", what, each(alone, size.repetitions), "s", 0.5)


def _start(size: Size, folder: Path, cases: Path) -> Iterator[Row]:
    nothing = python("-c", "pass")
    ours = python("-c", "from maxpool_check.commands.main import main; main(['--help'])")
    click = python("-c", "import click; click.Group(help='nothing')(['--help'])")
    times = size.repetitions * 5
    for what, command, other, limit in (
        ("`maxpool-check --help` / a click command without options", ours, click, 1.3),
        ("a click command without options / a start of the interpreter", click, nothing, None),
    ):
        yield Row(
            "start", what,
            ratio(lambda command=command: process(command).seconds, lambda other=other: process(other).seconds, times),
            limit=limit,
        )  # fmt: skip


def _growth(size: Size, folder: Path, cases: Path) -> Iterator[Row]:
    smallest, *others = size.growth
    folders = {count: work.case_files(folder / f"cases-{count}", count) for count in size.growth}
    memory: dict[int, list[float]] = {count: [] for count in size.growth}

    def run(count: int) -> Callable[[], float]:
        def timed() -> float:
            done = work.run(folders[count], folder / "record.jsonl", count)
            memory[count].append(done.megabytes)
            return done.seconds / count

        return timed

    for count in others:
        # A long run is its own average.
        repetitions = 1 if count > 10_000 else size.repetitions // 2 + 1
        found = ratio(run(count), run(smallest), repetitions, warm=False)
        yield Row("growth", f"`run` of {count} cases, a case / of {smallest}, a case", found, limit=1.1)
    for count in size.growth:
        yield Row("growth", f"the largest process of `run` of {count} cases", Figure(tuple(memory[count])), "MB", 500)


def _by(shape: tuple[int, ...]) -> str:
    return "x".join(map(str, shape))
