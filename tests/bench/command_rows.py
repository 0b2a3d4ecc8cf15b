"""The rows of whole commands, as users run them, over the floor: what ONNX Runtime alone takes for the same requests."""

from __future__ import annotations

import itertools
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from maxpool_check.targets.name import parse
from maxpool_check.targets.target import Target
from tests.bench import work
from tests.bench.measuring import Figure, Finished, each, process, python, ratio
from tests.bench.row import Row, Size
from tests.conftest import ROOT
from tests.models.zoo import light

HERE = Path(__file__).parent

BASE, HEAD = "1.23.2", "1.31.1"
"""The releases that a gate compares."""

HISTORY = "1.15..1.31,every=minor"
"""Seventeen releases."""


def tool(*words: object) -> tuple[object, ...]:
    """A command line of the tool."""
    return python("-m", "maxpool_check", *words)


def floor_of(requests: Path, interpreter: object = sys.executable) -> Finished:
    """ONNX Runtime alone, of this environment or of another interpreter's."""
    return process((interpreter, HERE / "floor.py", requests))


def commands(size: Size, folder: Path, cases: Path) -> Iterator[Row]:
    """Each command on the corpus or, where it is tiny, on the small cases."""
    corpus = cases if size.tiny else ROOT / "cases"
    if size.tests:
        yield from _tests()
    yield from _run(size, folder, corpus)
    yield from _pytest(size, folder, cases)
    yield from _model(size, folder)
    if size.installs:
        yield from _releases(size, folder, corpus)
        yield from _first_use(folder, cases)


def _run(size: Size, folder: Path, corpus: Path) -> Iterator[Row]:
    requests = work.ready_requests(corpus, folder / "corpus.pickle")
    words = ("run", corpus, "-q", "-o", folder / "record.jsonl")
    caches = (folder / f"cache-{number}" for number in itertools.count())

    def cold() -> Finished:
        return process(tool(*words), allowed=(0, 1), variables={"MAXPOOL_CHECK_CACHE": str(next(caches))})

    def warm() -> Finished:
        return process(tool(*words), allowed=(0, 1))

    name = "the small cases" if size.tiny else "`cases/`"
    yield from _over_floor(f"`run` of {name}, compiled before", warm, lambda: floor_of(requests), size, 1.3)
    yield from _over_floor(f"`run` of {name} for the first time", cold, lambda: floor_of(requests), size)


def _over_floor(
    what: str, ours: Callable[[], Finished], floor: Callable[[], Finished], size: Size, limit: float | None = None
) -> Iterator[Row]:
    """Wall time over the floor's, and processor time of all processes over the floor's."""
    pairs = _pairs(ours, floor, size.repetitions // 2 + 1)
    yield Row(
        "commands", f"{what} / the floor",
        Figure(tuple(one.seconds / other.seconds for one, other in pairs)), limit=limit,
        note="wall time; process start and imports on both sides",
    )  # fmt: skip
    yield Row(
        "commands", "the same, processor time of all processes / the floor's",
        Figure(tuple(one.processor / other.processor for one, other in pairs)),
    )  # fmt: skip


def _pairs(
    ours: Callable[[], Finished], floor: Callable[[], Finished], repetitions: int
) -> list[tuple[Finished, Finished]]:
    # Once before, which is not counted: what the tool keeps of files is there, or was removed.
    ours(), floor()
    return [(ours(), floor()) for _ in range(repetitions)]


def _pytest(size: Size, folder: Path, cases: Path) -> Iterator[Row]:
    words = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "--maxpool-check=onnxruntime", cases)

    def plugin() -> Finished:
        done = process(python(*words))
        if not re.search(rf"{size.cases} passed", done.stdout):
            raise RuntimeError(f"pytest ran something else:\n{done.stdout[-2000:]}")
        return done

    requests = work.ready_requests(cases, folder / "small.pickle")
    yield from _over_floor(
        f"`pytest --maxpool-check` of {size.cases} small cases", plugin, lambda: floor_of(requests), size
    )


def _model(size: Size, folder: Path) -> Iterator[Row]:
    resnet = light("resnet50")
    alone = "import sys, onnxruntime; onnxruntime.InferenceSession(sys.argv[1], providers=['CPUExecutionProvider'])"
    yield Row(
        "commands", "`model` on ResNet-50 / ONNX Runtime that makes a session of it",
        ratio(
            lambda: process(tool("model", resnet, "-q"), allowed=(0, 1)).seconds,
            lambda: process(python("-c", alone, resnet)).seconds,
            size.repetitions // 2 + 1,
        ),
        note="process start and imports on both sides",
    )  # fmt: skip


def _releases(size: Size, folder: Path, corpus: Path) -> Iterator[Row]:
    requests = {
        version: work.ready_requests(corpus, folder / f"{version}.pickle", f"onnxruntime=={version}")
        for version in (BASE, HEAD)
    }
    interpreters = {version: _interpreter(version) for version in requests}

    def gate() -> float:
        words = (
            "gate",
            corpus,
            "--base",
            f"onnxruntime=={BASE}",
            "--head",
            f"onnxruntime=={HEAD}",
            "--spec",
            "all",
            "-q",
        )
        return process(tool(*words), allowed=(0, 1)).seconds

    def floors() -> float:
        return sum(floor_of(file, interpreters[version]).seconds for version, file in requests.items())

    yield Row(
        "commands", f"`gate` from {BASE} to {HEAD} on all of `cases/` / the floors of both, one after the other",
        ratio(gate, floors, size.repetitions // 2 + 1), limit=1.3,
        note="with their environments there; the floors are without the requests that a release does not survive",
    )  # fmt: skip

    def history() -> float:
        words = ("history", corpus, "--versions", HISTORY, "--report", "json")
        done = process(tool(*words), allowed=(0, 3))
        found = json.loads(done.stdout)["releases"]
        if len(found) != 17 or any(release.get("skipped") for release in found):
            raise RuntimeError(f"{len(found)} releases:\n{done.stdout[:2000]}")
        return done.seconds

    yield Row(
        "commands", "`history` of 17 releases of ONNX Runtime on `cases/`", each(history, 1), "s", 60,
        "with their environments there",
    )  # fmt: skip


def _interpreter(version: str) -> str:
    """The interpreter of the isolated environment of a release."""
    return Target(parse(f"onnxruntime=={version}")).python


def _first_use(folder: Path, cases: Path) -> Iterator[Row]:
    new = folder / "first-use"
    words = ("run", cases, "-q", "-t", f"onnxruntime=={HEAD}")
    try:
        seconds = process(tool(*words), allowed=(0, 1), variables={"MAXPOOL_CHECK_CACHE": str(new)}).seconds
    except RuntimeError as error:
        yield Row("commands", "the first use of a release", None, note=f"not measured: {str(error).splitlines()[0]}")
        return
    held = sum(file.lstat().st_size for file in new.rglob("*") if file.is_file())
    shutil.rmtree(new)
    note = "the environment, whose wheels may be in the cache of uv, and a run of the small cases"
    yield Row("commands", f"the first use of onnxruntime=={HEAD}", Figure((seconds,)), "s", note=note)
    yield Row("commands", "what it keeps on disk", Figure((held / 1e6,)), "MB")


def _tests() -> Iterator[Row]:
    start = time.perf_counter()
    done = subprocess.run(["make", "test"], cwd=ROOT, capture_output=True, text=True, env=_without_ours())
    seconds = time.perf_counter() - start
    figure = Figure((seconds,)) if done.returncode == 0 else None
    if figure is None:
        print(done.stdout[-5000:], file=sys.stderr)
    note = "" if figure else f"not measured: it failed, {' '.join(done.stdout.splitlines()[-1:])}"
    yield Row("commands", "`make test`, with its environment there", figure, "s", 300, note)


def _without_ours() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "MAKE"))}
