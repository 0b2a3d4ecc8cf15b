"""Runs: kernels that are wrong on purpose, what is known, memory; processes, here and on a cluster, and their ends."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
import tracemalloc
from dataclasses import replace
from pathlib import Path

import distributed
import pytest

from maxpool_check.corpus import stored_cases
from maxpool_check.corpus.collection import collect
from maxpool_check.judging.defects import Conditions, Defect, Effect, Severity
from maxpool_check.judging.graph_oracle import GraphOracle
from maxpool_check.judging.kinds import DivergenceKind
from maxpool_check.judging.target_selector import TargetSelector
from maxpool_check.judging.wrong_cells import WrongCells
from maxpool_check.results.record import Execution
from maxpool_check.results.storage import Recorder, read
from maxpool_check.running import pool
from maxpool_check.running.run import TargetRecorders
from maxpool_check.running.runner import CASES_AHEAD, CELLS_AHEAD, CHUNK, ExecutionConfig, LocalRunner
from maxpool_check.targets.name import parse
from maxpool_check.targets.process import Worker
from tests.conftest import KERNELS, ROOT, SMALL, all_end, children, environment, eventually, misbehaving, untimed
from tests.conftest import run_record as record


def many(tmp_path, count, size=4):
    folder = tmp_path / "many"
    folder.mkdir()
    (folder / "x.yaml").write_text(
        f"cases:\n  - matrix: {{n: {[*range(count)]}}}\n    id: case-$n\n    outputs: [Y]\n"
        f"    input: {{dtype: float32, shape: [1, 1, {size}], fill: $n}}\n    attributes: {{kernel_shape: [2]}}\n"
    )
    return folder


def kernel(name):
    return f"python:{KERNELS}:{name}"


def faults(executions):
    """What is wrong, by case and variant, without the corpus's name."""
    return {
        (each.case.partition(":")[2], each.variant): (str(each.verdict), *each.kinds)
        for each in executions
        if each.verdict not in ("conforms", "undefined")
    }


def both(*fault, cases):
    return {(case, variant): fault for case in cases.split() for variant in ("indices", "y-only")}


def indices(*fault, cases):
    return {(case, "indices"): fault for case in cases.split()}


VALID = "ordinary padded neg-inf one-column"
WRONG = {
    "right": {},
    "keeps_the_seed": {("neg-inf", "indices"): ("diverges", "indices-sentinel", "y-lowest-for-neg-inf"),
                       ("neg-inf", "y-only"): ("diverges", "y-lowest-for-neg-inf")},
    "counts_in_the_plane": indices("diverges", "indices-plane-relative", cases="ordinary neg-inf"),
    "pads_with_zero": both("diverges", "y-pad-value-leak", cases="padded"),
    "accepts_everything": both("diverges", "accepts-invalid", cases="stride-0"),
    "gives_no_indices": indices("diverges", "missing-output", cases=f"{VALID} empty"),
    "refuses_everything": both("refuses", "refuses-valid", cases=VALID),
    "dies_of_a_signal": both("crashes", "crash", cases="stride-0"),
    "hangs": both("times-out", "timeout", cases="one-column"),
    "y_alone": indices("not-expressible", cases=f"{VALID} empty"),
    "talks": {},
    "changes_its_input": both("error", cases=f"{VALID} empty"),
    "forgets_its_shape": indices("diverges", "dtype", "shape", cases=f"{VALID} empty")
                         | {(case, "y-only"): ("diverges", "shape") for case in (*VALID.split(), "empty")},
    # It cannot be started: the others are executed all the same.
    "absent": {},
}  # fmt: skip


@pytest.fixture(scope="module")
def wrong(tmp_path_factory):
    """The record of a run on all of these kernels."""
    folder = tmp_path_factory.mktemp("small")
    (folder / "small.yaml").write_text(SMALL)
    return record(folder, *map(kernel, WRONG), seconds=6)


@pytest.mark.parametrize("name", WRONG)
def test_a_kernel_that_is_wrong_on_purpose(wrong, name):
    executions = [each for each in wrong.executions if each.target == kernel(name)]
    assert faults(executions) == WRONG[name]
    assert len(executions) == (0 if name == "absent" else 12)


def test_a_run_of_many_targets_says_what_became_of_each(wrong):
    assert wrong.footer.exit_code == 3
    (error,) = wrong.footer.errors
    assert "no function 'absent'" in error
    assert wrong.footer.summary[kernel("right")] == {"conforms": 10, "undefined": 2}
    # A death costs one request and no more.
    assert wrong.footer.summary[kernel("dies_of_a_signal")] == {"conforms": 8, "crashes": 2, "undefined": 2}
    crash = next(each for each in wrong.executions if each.verdict == "crashes")
    assert crash.message == "killed by SIGFPE: about to divide"


@pytest.mark.parametrize(("count", "targets"), [
    (1, [kernel("right")]),
    (CHUNK + 1, [kernel("keeps_the_seed"), kernel("y_alone")]),
    (4 * CHUNK + 1, [kernel("right")]),
    (8, [misbehaving("dies"), kernel("absent")]),
    # Deaths are counted in the order of the cases over all chunks.
    pytest.param(2 * CHUNK, [misbehaving("dies"), kernel("right")], marks=pytest.mark.long),
])  # fmt: skip
def test_neither_processes_nor_chunks_change_the_record(tmp_path, count, targets):
    folder = many(tmp_path, count)
    here, elsewhere = (record(folder, *targets, jobs=jobs) for jobs in (1, 2))
    assert untimed(elsewhere.executions) == untimed(here.executions)
    assert (elsewhere.footer.summary, elsewhere.footer.errors) == (here.footer.summary, here.footer.errors)
    assert len(here.executions) == count * sum("absent" not in target for target in targets)
    assert here.executions[0].case == "x:case-0"


@pytest.mark.parametrize(
    ("count", "name", "summary", "exit_code"),
    [
        (25, "dies", {"crashes": 20, "error": 5}, 3),
        # Not in a row.
        (45, "dies_every_other_time", {"crashes": 23, "conforms": 22}, 1),
    ],
)
def test_twenty_deaths_in_a_row_end_the_target_and_not_the_others(tmp_path, count, name, summary, exit_code):
    run = record(many(tmp_path, count), misbehaving(name), kernel("right"))
    assert run.footer.summary == {misbehaving(name): summary, kernel("right"): {"conforms": count}}
    assert run.footer.exit_code == exit_code
    assert ("20 deaths in a row" in str(run.footer.errors)) == (exit_code == 3)


@pytest.mark.network
def test_one_target_held_to_nothing_is_not_made_green_by_another(tmp_path):
    # 1.20.1 loads no operator set that has bfloat16.
    (tmp_path / "x.yaml").write_text(
        "cases:\n  - id: a\n    input: {dtype: bfloat16, shape: [1, 1, 2], fill: 5}\n"
        "    attributes: {kernel_shape: [2]}\n"
    )
    known = entry(["refuses-valid"], "x:a", "onnxruntime")
    run = record(tmp_path, kernel("right"), "onnxruntime==1.20.1", known=[known])
    assert run.footer.exit_code == 4
    assert run.footer.summary["onnxruntime==1.20.1"] == {"not-expressible": 2}
    # What was never compared is not repaired either.
    assert [entry.status for entry in run.footer.known] == ["not-executed"]


@pytest.mark.parametrize("jobs", [1, 2])
def test_an_execution_has_the_seconds_of_its_requests(tmp_path, jobs):
    (tmp_path / "x.yaml").write_text(
        "cases:\n  - matrix: {s: [1, 4]}\n    id: stride-$s\n    outputs: [Y]\n"
        "    input: {dtype: float32, shape: [1, 1, 4], fill: 1}\n    attributes: {kernel_shape: [1], strides: [$s]}\n"
    )
    first, second = (each.seconds for each in record(tmp_path, kernel("takes_its_time"), jobs=jobs).executions)
    assert first > 0.05
    assert second > 0.35
    assert (first, second) == (round(first, 3), round(second, 3))


def test_a_strict_run_counts_what_the_document_allows(tmp_path):
    (tmp_path / "x.yaml").write_text(
        "cases:\n  - id: tie\n    input: {dtype: float32, data: [[[7, 7]]]}\n    attributes: {kernel_shape: [2]}\n"
    )
    codes = [record(tmp_path, kernel("names_the_last_tie"), strict=strict).footer.exit_code for strict in (False, True)]
    assert codes == [0, 1]


def entry(kinds, case="small:neg-inf", when="python"):
    kinds, cases = frozenset(map(DivergenceKind, kinds)), (case,) if case else ()
    effect = Effect("e", TargetSelector.of(when), kinds, cases)
    return Defect("e", when, "MaxPool is wrong", Severity.WRONG_ON_SPECIAL, "why", (effect,))


SEED = ["indices-sentinel", "y-lowest-for-neg-inf"]


@pytest.mark.parametrize(
    ("name", "known", "exit_code", "statuses", "entries"),
    [
        ("keeps_the_seed", entry(SEED), 0, ["expected", "expected"], ["expected"]),
        # Each variant is held to the kinds that it can show.
        ("keeps_the_seed", entry(SEED[1:]), 1, ["new", "expected"], ["expected"]),
        ("keeps_the_seed", entry(["y-not-in-input"]), 1, ["changed", "changed"], ["stale"]),
        ("keeps_the_seed", entry([*SEED, "shape"]), 1, ["changed", "changed"], ["stale"]),
        # What is repaired must be removed.
        ("right", entry(SEED), 1, [], ["stale"]),
        ("pads_with_zero", entry(SEED), 1, ["new", "new"], ["stale"]),
        ("right", entry(SEED, when="onnxruntime"), 0, [], []),
    ],
)
def test_what_is_known_and_what_is_not(small, name, known, exit_code, statuses, entries):
    run = record(small, kernel(name), known=[known])
    wrong = [each for each in run.executions if each.kinds]
    assert [each.status for each in wrong] == statuses
    assert [each.unexpected for each in wrong] == [status != "expected" for status in statuses]
    assert ([each.status for each in run.footer.known], run.footer.exit_code) == (entries, exit_code)
    if entries == ["stale"]:
        assert "small:neg-inf" in run.footer.known[0].message
    if statuses == ["new", "expected"]:
        assert (wrong[0].explained_by, wrong[0].unexplained) == (("e",), ("indices-sentinel",))


@pytest.mark.parametrize(
    ("most", "whole", "complete", "not_complete"),
    [(None, True, ["small:*", "*:neg-inf", ""], ["other:*"]), (None, False, ["small:neg-*"], ["*:neg-inf", ""]),
     (2, True, ["small:ordinary"], ["small:*", "small:neg-inf", ""])],
)  # fmt: skip
def test_what_a_part_of_a_corpus_can_be_held_to(small, most, whole, complete, not_complete):
    for patterns, status in ((complete, "stale"), (not_complete, "not-executed")):
        for pattern in patterns:
            run = record(small, RIGHT, most=most, whole=whole, known=[entry(SEED, pattern)])
            assert [each.status for each in run.footer.known] == [status]


@pytest.mark.parametrize("order", [1, -1])
def test_the_defect_with_more_conditions_comes_first(small, order):
    wide = replace(entry(SEED, ""), id="wide")
    few = replace(entry(SEED, ""), id="few", conditions=Conditions(values=("neg-inf",)))
    known = [replace(each, effects=tuple(replace(of, defect=each.id) for of in each.effects)) for each in (wide, few)]
    run = record(small, kernel("keeps_the_seed"), known=known[::order])
    assert {each.known for each in run.executions if each.known} == {"few"}


@pytest.mark.parametrize("jobs", [1, 2])
def test_very_many_cases_are_run_as_few_are(tmp_path, monkeypatch, jobs):
    folder = many(tmp_path, 250)
    (folder / "small.yaml").write_text(SMALL)
    few = record(folder, kernel("keeps_the_seed"))
    monkeypatch.setattr(stored_cases, "MOST_IN_MEMORY", 50)
    assert not isinstance(collect([folder]).cases, tuple)
    run = record(folder, kernel("keeps_the_seed"), jobs=jobs)
    assert untimed(run.executions) == untimed(few.executions)
    assert (run.header.cases_sha256, run.header.corpus) == (few.header.cases_sha256, few.header.corpus)
    assert (run.footer.summary, run.footer.contradicted) == (few.footer.summary, few.footer.contradicted)


GRAPHS = """\
defaults: {attributes: {kernel_shape: [1, 2]}, input: {dtype: float32, data: [[[[-1, 2, 3, 4]]]]}}
cases:
  - {id: function-before, title: T, graph: [{op: Relu}, {op: MaxPool}]}
  - {id: moved, title: T, graph: [{op: MaxPool}, {op: Transpose, perm: [0, 1, 3, 2]}]}
  - {id: alone, title: T}
"""


def test_outputs_that_a_graph_lacks_are_missing(tmp_path):
    (tmp_path / "graphs.yaml").write_text(GRAPHS)
    run = record(tmp_path, misbehaving("leaves_out_the_outputs_of_graphs"))
    wrong = faults(run.executions)
    assert set(wrong.values()) == {("diverges", "missing-output")}
    assert both("", cases="function-before moved alone").keys() <= wrong.keys()
    assert run.footer.executions == len(run.executions)


def test_an_exception_of_the_judge_is_an_error_of_one_execution(cli, small, monkeypatch, tmp_path):
    gives = GraphOracle.gives

    def stumbles(oracle, outputs, names):
        if oracle.X.shape == (1, 2, 3, 4) and "Indices" in names:
            raise IndexError("out of range")
        return gives(oracle, outputs, names)

    monkeypatch.setattr(GraphOracle, "gives", stumbles)
    arguments = ("run", small, "-t", kernel("right"), "--known", "none", "-o", tmp_path / "record.jsonl")
    cli(*arguments, "-vv").check(3, "in stumbles", "conforms")
    (error,) = [each for each in read(tmp_path / "record.jsonl").executions if each.verdict == "error"]
    assert (error.case, error.variant) == ("small:ordinary", "indices")
    assert error.message.startswith("internal error: IndexError: out of range")
    assert "in stumbles" in error.traceback
    # A traceback has paths of this machine: it is recorded on request.
    assert cli(*arguments).code == 3
    assert not any(each.traceback for each in read(tmp_path / "record.jsonl").executions)


def test_an_exception_in_making_the_evidence_is_an_error_of_one_execution(small, monkeypatch):
    windows = WrongCells.windows.func

    def stumbles(wrong_cells):
        if "Indices" in wrong_cells.outputs:
            raise IndexError("out of range")
        return windows(wrong_cells)

    plain = faults(record(small, kernel("pads_with_zero")).executions)
    monkeypatch.setattr(WrongCells, "windows", property(stumbles))
    shown = faults(record(small, kernel("pads_with_zero")).executions)
    errors = {at for at, (verdict, *_) in shown.items() if verdict == "error"}
    assert errors == {(case, variant) for case, variant in plain if variant.startswith("indices")}
    assert {at: fault for at, fault in shown.items() if at not in errors} == {
        at: fault for at, fault in plain.items() if at not in errors
    }


def test_each_target_of_a_run_has_the_record_of_a_run_of_its_own(small):
    kernels = map(kernel, ("right", "pads_with_zero", "y_alone", "gives_objects", "absent"))
    # The name of each of these programs begins that of the next.
    programs = ("command:no-such-kernel", "command:no-such-kernel --fast", "command:no-such-kernel --fast x")
    targets = [*kernels, *programs, "onnxruntime"]
    with contextlib.ExitStack() as stack:
        recorders = {target: stack.enter_context(Recorder(None)) for target in targets}
        record(small, *targets, sink=TargetRecorders({name: each.write for name, each in recorders.items()}).write)
        for target, recorder in recorders.items():
            alone, own = record(small, target), recorder.record
            assert untimed(own.executions) == untimed(alone.executions)
            assert own.header.targets == alone.header.targets
            assert own.header.cases_sha256 == alone.header.cases_sha256
            for name in ("executions", "summary", "known", "errors", "contradicted"):
                assert getattr(own.footer, name) == getattr(alone.footer, name), (target, name)


@pytest.mark.parametrize("name", ["record.jsonl", "record.jsonl.gz"])
def test_of_a_record_no_more_than_a_part_is_held(tmp_path, name):
    golden = read(ROOT / "tests/data/golden/record.jsonl")
    target = golden.header.targets[0].name
    fields = {"target": target, "variant": "indices", "verdict": "conforms", "spec": "onnx-22", "origin": "x.yaml:1"}

    def peak(count):
        tracemalloc.start()
        with Recorder(tmp_path / name) as recorder:
            recorder.write(golden.header)
            for number in range(count):
                recorder.write(Execution(case=f"x:{number}", title="", case_sha256="", **fields))
        stored = read(tmp_path / name).executions
        assert len(stored) == sum(1 for _ in stored) == count
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return most

    peak(100)
    assert peak(44_000) < 1.5 * peak(22_000)


@pytest.mark.parametrize(("size", "most"), [(4, CASES_AHEAD), (CELLS_AHEAD, 1)])
def test_cases_are_not_executed_far_ahead_of_what_is_judged(tmp_path, size, most):
    corpus = collect([many(tmp_path, most + 10, size)])
    taken = []

    def cases():
        for case in corpus.cases:
            taken.append(case)
            yield case

    with contextlib.closing(LocalRunner(ExecutionConfig((parse(kernel("right")),)))) as runner:
        ahead = [len(taken) - number for number, _ in enumerate(runner.runs(cases()), 1)]
    assert (max(ahead), len(ahead)) == (most, most + 10)


RIGHT = kernel("right")


@pytest.fixture
def family(tmp_path):
    """The file that workers write the numbers of processes to; those that live at the end of the test are killed."""
    path = tmp_path / "family"
    path.touch()
    yield path
    for pid in pids(path):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def pids(path):
    return set(map(int, path.read_text().split()))


@pytest.mark.parametrize(("number", "jobs"), [(signal.SIGHUP, 1), (signal.SIGQUIT, 2), (signal.SIGKILL, 1),
                                              (signal.SIGKILL, 2)])  # fmt: skip
def test_no_process_outlives_the_tool(begun, tmp_path, family, number, jobs):
    target = misbehaving("has_a_family")
    process = begun("run", many(tmp_path, 3), "-t", target, "-j", jobs, "--timeout", "300", FAMILY=str(family))
    assert eventually(lambda: len(pids(family)) >= 2)
    process.send_signal(number)
    _, err = process.communicate(timeout=300)
    assert all_end(pids(family))
    assert process.returncode == (130 if number != signal.SIGKILL else -signal.SIGKILL)
    assert ("interrupted" in err) == (number != signal.SIGKILL)
    assert "Traceback" not in err


@pytest.mark.parametrize(("jobs", "again"), [("1", False), ("2", True)])
def test_ctrl_c_ends_every_process_whatever_it_waits_for(begun, small, kernel_target, tmp_path, jobs, again):
    arguments = ["run", small, "-t", kernel_target("hangs"), "-j", jobs, "-o", tmp_path / "r.jsonl", "--timeout", "300"]
    process = begun(*arguments)

    def workers():
        return children(*children(process.pid))

    assert eventually(lambda: (tmp_path / "r.jsonl").exists() and workers())
    time.sleep(1)
    executing = workers()
    process.send_signal(signal.SIGINT)
    # Also while Python itself ends.
    while again and process.poll() is None:
        process.send_signal(signal.SIGINT)
        time.sleep(0.01)
    _, err = process.communicate(timeout=300)
    assert process.returncode == 130
    assert "Traceback" not in err
    assert all_end(executing)


def test_a_tool_that_ignores_sighup_goes_on(small):
    shell = ["/bin/sh", "-c", 'trap "" HUP; exec "$@"', "sh"]
    words = ["run", small, "-k", "small:padded", "-t", kernel("takes_its_time")]
    command = [*shell, sys.executable, "-m", "maxpool_check", *words]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, cwd=ROOT, env=environment())
    assert eventually(lambda: children(process.pid))
    process.send_signal(signal.SIGHUP)
    process.communicate(timeout=300)
    assert process.returncode == 0


def test_a_daemon_of_a_worker_ends_with_the_run(cli, tmp_path, family):
    # It gives no outputs.
    cli("run", many(tmp_path, 3), "-t", misbehaving("leaves_a_daemon"), FAMILY=str(family)).check(4)
    assert len(pids(family)) == 1
    assert all_end(pids(family))


def test_a_worker_ends_with_the_process_that_guards_it(family, monkeypatch):
    monkeypatch.setenv("FAMILY", str(family))
    worker = Worker(parse(misbehaving("has_a_family")).program, {}, isolated=False)
    with contextlib.closing(worker):
        worker.write(b"{}\n")
        worker.flush()
        assert eventually(lambda: len(pids(family)) == 2)
        daemon = {pid for pid in pids(family) if os.getsid(pid) != pid}
        os.kill(worker.pid, signal.SIGKILL)
        assert all_end(pids(family) - daemon)


@pytest.mark.parametrize("module", [False, True])
def test_nothing_is_imported_from_the_users_folder(tmp_path, module):
    cases, folder = many(tmp_path, 3), tmp_path / "hostile"
    folder.mkdir()
    # What Python itself imports for -m, it takes from there.
    for name in ("struct", "signal", "json", "worker") if module else (*sys.stdlib_module_names, "numpy", "worker"):
        (folder / f"{name}.py").write_text(f"raise SystemExit('{name} was imported from the current folder')")
    program = [sys.executable, "-m", "maxpool_check"] if module else [Path(sys.executable).with_name("maxpool-check")]
    targets = (
        ["-t", RIGHT] if module else ["-t", RIGHT, "-t", "onnxruntime", "-t", f"onnxruntime?python={sys.executable}"]
    )
    command = [*program, "run", cases, *targets, "-j", "2"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, env=environment(), check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "current folder" not in done.stdout + done.stderr


def test_processes_that_are_gone_are_an_error_and_the_record_says_how_far_it_came(tmp_path):
    before = children(os.getpid())

    def kill(line):
        if isinstance(line, Execution) and line.case == "x:case-3":
            for pid in children(os.getpid()) - before:
                os.kill(pid, signal.SIGKILL)

    run = record(many(tmp_path, 8 * CHUNK), RIGHT, jobs=2, sink=kill)
    assert run.footer.exit_code == 3
    assert "the worker processes are gone" in run.footer.errors[0]
    assert CHUNK <= len(run.executions) == run.footer.executions < 8 * CHUNK
    assert eventually(lambda: children(os.getpid()) <= before)


def test_a_cluster_gives_the_same_record_though_one_of_its_workers_is_killed(tmp_path, kernel_target, cluster):
    folder = many(tmp_path, 8 * CHUNK)
    workers = [worker.pid for worker in cluster.workers.values()]
    killed = []

    def kill(line):
        if isinstance(line, Execution) and line.case == f"x:case-{2 * CHUNK}" and not killed:
            killed.append(workers[0])
            os.kill(workers[0], signal.SIGKILL)

    targets = RIGHT, kernel_target("y_alone")
    here = record(folder, *targets)
    elsewhere = record(folder, *targets, sink=kill, dask=cluster.scheduler_address)
    assert killed
    assert untimed(elsewhere.executions) == untimed(here.executions)
    assert elsewhere.header.targets == here.header.targets
    assert (elsewhere.footer.summary, elsewhere.footer.exit_code) == (here.footer.summary, here.footer.exit_code)
    # No target is kept after the run.
    assert eventually(lambda: not children(*(worker.pid for worker in cluster.workers.values())))


def test_a_cluster_that_cannot_be_used_is_said(cli, small, monkeypatch):
    monkeypatch.setattr(pool, "CONNECT_SECONDS", 1)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{free.getsockname()[1]}"
    words = ("run", small, "-t", RIGHT, "--dask", address)
    unreachable = cli(*words).check(3, err=f"the dask scheduler {address} cannot be reached")
    cli(*words, "-j", "2").check(2, "-j is for this machine")
    with distributed.LocalCluster(n_workers=0, dashboard_address=None) as empty:
        address = empty.scheduler_address
        cli("run", small, "-t", RIGHT, "--dask", address).check(
            3, err=f"no workers; start one with: dask worker {address}"
        )
    monkeypatch.setitem(sys.modules, "distributed", None)
    uninstalled = cli(*words).check(3, err="pip install 'maxpool-check[dask]'")
    assert "Traceback" not in unreachable.err + uninstalled.err
