"""What several tests use: the command line, and a small corpus."""

import contextlib
import functools
import io
import json
import os
import pty
import shlex
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path
from unittest import mock

import msgspec
import pytest

from maxpool_check.commands.main import main
from maxpool_check.corpus import case_file, document
from maxpool_check.corpus.collection import collect
from maxpool_check.results.record import Execution, Line
from maxpool_check.results.storage import record_of
from maxpool_check.running.run import RunPlan, run
from maxpool_check.targets.name import parse
from tests import forked_workers

ROOT = Path(__file__).parents[1]
CASES = ROOT / "cases"
KERNELS = ROOT / "tests/kernels.py"
MISBEHAVING_WORKERS = ROOT / "tests/misbehaving_workers.py"
NOT_INHERITED = ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "MAKEFLAGS", "MAKELEVEL", "MFLAGS")
SLOW = frozenset((ROOT / "tests/slow.txt").read_text().splitlines())
"""The functions of the tests that ``make test`` leaves out."""


def known_defect(name, cases, kinds, runtime="python", reason="r", **fields):
    """A file of one defect that is expected of cases, as YAML; ``fields`` are those of what is expected."""
    expected = json.dumps({"cases": cases, "kinds": kinds, **fields})
    about = f"title: {json.dumps(reason)}, severity: wrong-on-finite, mechanism: {json.dumps(reason)}"
    return f"defects:\n  - {{id: {name}, runtime: {json.dumps(runtime)}, {about}, expect: [{expected}]}}\n"


# Before the tests are selected by their markers.
@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    for item in items:
        if item.nodeid.partition("[")[0] in SLOW:
            item.add_marker("slow")


def pytest_make_parametrize_id(val):
    """Name a test without the folder of the checkout, so that it has one name in all of them."""
    return val.replace(f"{ROOT}/", "") if isinstance(val, str) and str(ROOT) in val else None


@dataclass(frozen=True)
class Finished:
    code: int
    out: str
    err: str

    @property
    def json(self):
        return json.loads(self.out)

    @property
    def results(self):
        """The executions of the record that ``-q -o -`` wrote, with what a record leaves out."""
        lines = [msgspec.json.decode(line, type=Line) for line in self.out.splitlines() if line.startswith("{")]
        executions = [line for line in lines if isinstance(line, Execution)]
        return [{name: getattr(each, name) for name in (*each.__struct_fields__, "unexpected")} for each in executions]

    def check(self, code, *texts, out=None, err=None):
        """Hold it to an exit code, and to texts: of stderr where that is 2, and else of stdout; also where they are broken.

        ``out`` and ``err`` are texts of these, of which an empty one says that nothing is written there.
        """
        assert self.code == code, self.out + self.err
        streams = ((self.out, out), (self.err, err))
        for stream, text in [*((self.err if code == 2 else self.out, text) for text in texts), *streams]:
            assert not text or text in stream or text in " ".join(stream.split()), stream
        assert [stream for stream, text in streams if stream and text == ""] == []
        return self


def environment(**changed):
    kept = {name: value for name, value in os.environ.items() if name not in NOT_INHERITED}
    return {**kept, "COLUMNS": "100", **changed}


def command(*arguments, cwd=ROOT, forked=True, **changed):
    """Run ``maxpool-check`` in this process. Its workers are forked, or start as for a user."""

    def run():
        with pytest.raises(SystemExit) as left:
            main([str(argument) for argument in arguments])
        return left.value.code

    with workers_forked() if forked else contextlib.nullcontext():
        return _finished(run, cwd, changed)


def run_pytest(folder, *arguments):
    """Run ``pytest``, with the plugin, in this process and this folder, which has no tests in Python."""
    words = ["-p", "no:cacheprovider", "-p", "no:faulthandler", "--rootdir", folder, *arguments]
    with workers_forked():
        return _finished(lambda: pytest.main([str(word) for word in words]), folder, {})


def _finished(run, cwd, changed):
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", newline="", write_through=True) for _ in range(2))
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
    handlers = {number: signal.getsignal(number) for number in numbers}
    with (
        cases_read_once(),
        pytest.MonkeyPatch.context() as patch,
        mock.patch.dict(os.environ, environment(**changed), clear=True),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        patch.chdir(cwd)
        code = run()
    for number, handler in handlers.items():
        signal.signal(number, handler)
    return Finished(code, *(stream.buffer.getvalue().decode() for stream in (out, err)))


@contextlib.contextmanager
def workers_forked():
    """Workers are forked and environments inspected once meanwhile: see ``forked_workers``."""
    with (
        mock.patch("maxpool_check.targets.process.launch", forked_workers.launch),
        mock.patch("maxpool_check.targets.inspection.contents_json", forked_workers.inspect),
    ):
        yield


_CASES_OF = case_file.cases_of


@functools.cache
def _shipped_cases(path, root, most_cells):
    return [*_CASES_OF(document.read(path), path, root, most_cells)]


@contextlib.contextmanager
def cases_read_once():
    """Of ``cases/``, which no test changes, each process reads a file once."""

    def cases_of(document, path, root, most_cells, name=None):
        if CASES not in path.absolute().parents:
            return _CASES_OF(document, path, root, most_cells, name)
        found = _shipped_cases(path.absolute(), root.absolute(), most_cells)
        return [case.described(origin=replace(case.origin, path=name or str(path))) for case in found]

    with mock.patch.object(case_file, "cases_of", cases_of):
        yield


def program(*arguments):
    """The words of ``maxpool-check`` in a process of its own."""
    return [sys.executable, "-m", "maxpool_check", *map(str, arguments)]


def reports_in(folder, *formats):
    """The options that write reports into a folder, each named as its format."""
    return [word for name in formats for word in ("--report", f"{name}={folder / name}")]


def on_a_terminal(columns, *arguments, stream="stdout", **changed):
    """The lines that ``maxpool-check`` prints on a terminal of this width, to stdout or stderr."""
    leader, follower = pty.openpty()
    variables, shown = environment(COLUMNS=str(columns), **changed), b""
    streams = {"stdout": subprocess.DEVNULL, stream: follower}
    with subprocess.Popen(program(*arguments), **streams, cwd=ROOT, env=variables) as process:
        os.close(follower)
        # Reading fails when the program has ended.
        with contextlib.suppress(OSError):
            while chunk := os.read(leader, 65536):
                shown += chunk
        os.close(leader)
    assert process.returncode == 0
    return shown.decode().splitlines()


@functools.cache
def shipped():
    """The corpus of ``cases/``, read once."""
    with cases_read_once():
        return collect([CASES])


@pytest.fixture
def cli():
    return command


@pytest.fixture
def process():
    """Runs ``maxpool-check`` as a user does, in a process of its own."""

    def run(*arguments, **changed):
        words, variables = program(*arguments), environment(**changed)
        done = subprocess.run(words, capture_output=True, text=True, cwd=ROOT, env=variables, timeout=300, check=False)
        return Finished(done.returncode, done.stdout, done.stderr)

    return run


def run_record(folder, *targets, sink=lambda line: None, specs=(), most=None, whole=True, **options):
    """The record, in memory, of the cases of a folder, or the first of them, on targets; kernels claim the documents ``specs`` too."""
    corpus, lines = replace(collect([folder]), whole=whole), []
    cases = corpus.cases if most is None else corpus.cases[:most]
    plan = RunPlan(corpus, cases, [parse(target).claiming(specs) for target in targets], **options)
    with workers_forked():
        run(plan, lambda line: (lines.append(line), sink(line)))
    return record_of(lines)


def untimed(executions):
    """Executions without their seconds, which no two runs have in common."""
    return tuple(msgspec.structs.replace(execution, seconds=0.0) for execution in executions)


INHERITED = (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT)


@pytest.fixture
def begun():
    """Starts ``maxpool-check``, as one that Ctrl-C interrupts, and ends what a test has left of it."""
    processes = []

    def begin(*arguments, **changed):
        process = subprocess.Popen(
            program(*arguments), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT, env=environment(**changed),
            # Whoever runs the tests in the background has these ignored, and children inherit that.
            preexec_fn=lambda: [signal.signal(number, signal.SIG_DFL) for number in INHERITED],
        )  # fmt: skip
        processes.append(process)
        return process

    yield begin
    for process in processes:
        # It ends what it has started, if it is asked to.
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.communicate(timeout=60)
        process.kill()
        process.communicate()


def living():
    """The processes of this machine that are no zombies: (id, parent, group) of each. From /proc: Linux."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        # It may have ended meanwhile.
        with contextlib.suppress(OSError):
            state, parent, group, *_ = path.read_text().rpartition(")")[2].split()
            found += [(int(path.parent.name), int(parent), int(group))] if state != "Z" else []
    return found


def eventually(condition, seconds=300):
    """Whether a condition comes to hold: a process that was killed takes a moment to be gone."""
    deadline = time.monotonic() + seconds
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.05)
    return condition()


def children(*parents):
    """The processes that some processes have started and that live."""
    return {pid for pid, parent, _ in living() if parent in parents}


def all_end(processes):
    """Whether all of some processes come to an end."""
    return eventually(lambda: not processes & {pid for pid, _, _ in living()})


@pytest.fixture
def cluster():
    """A dask cluster of two processes of one thread each, with a port of its own for what is shown over HTTP."""
    from distributed import LocalCluster

    with LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address="127.0.0.1:0") as cluster:
        yield cluster


@pytest.fixture
def kernel_target():
    """The target name of a kernel of ``kernels.py``."""
    return lambda name: f"python:{KERNELS}:{name}"


def misbehaving(name):
    """The target name of a program of ``misbehaving_workers.py``, which starts faster than a kernel."""
    return f"command:{sys.executable} -S {MISBEHAVING_WORKERS} {name}"


def replying(reply, **ready):
    """The target name of a program that says this of itself, and sends these fields in reply to every request."""
    fields = "".join(f", {json.dumps(name)}: {json.dumps(value)}" for name, value in ready.items())
    return f"{misbehaving('replies')} {shlex.quote(json.dumps(reply))} {shlex.quote(fields)}"


SMALL = (ROOT / "tests/data/small.yaml").read_text()


@pytest.fixture
def small(tmp_path):
    """A folder with a few cases that tell the kernels apart."""
    folder = tmp_path / "corpus"
    folder.mkdir()
    (folder / "small.yaml").write_text(SMALL)
    return folder
