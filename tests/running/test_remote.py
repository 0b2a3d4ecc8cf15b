"""Runs in several processes, here and on a cluster: the same record as in one."""

import os
import signal
import socket
import sys
import time

import pytest

from maxpool_check.results.record import Execution
from maxpool_check.running import pool
from maxpool_check.running.executors import CHUNK
from tests.conftest import all_end, children, eventually, misbehaving, untimed
from tests.conftest import run_record as record
from tests.running.test_run import many


@pytest.mark.parametrize("count", [1, CHUNK, CHUNK + 1, 4 * CHUNK + 1])
def test_where_chunks_begin_and_end_changes_nothing(tmp_path, kernel_target, count):
    folder = many(tmp_path, count)
    here, elsewhere = (record(folder, kernel_target("right"), jobs=jobs) for jobs in (1, 2))
    assert len(here.executions) == count
    assert untimed(elsewhere.executions) == untimed(here.executions)
    assert (elsewhere.footer.summary, elsewhere.footer.errors) == (here.footer.summary, ())


def test_deaths_are_counted_in_the_order_of_the_cases_over_all_chunks(tmp_path, kernel_target):
    folder = many(tmp_path, 2 * CHUNK)
    here, elsewhere = (record(folder, misbehaving("dies"), kernel_target("right"), jobs=jobs) for jobs in (1, 2))
    assert untimed(elsewhere.executions) == untimed(here.executions)
    assert elsewhere.footer.errors == here.footer.errors
    assert [execution.verdict for execution in elsewhere.executions[:41:2]] == ["crashes"] * 20 + ["error"]


def test_the_first_unexpected_verdict_ends_the_same_run_in_several_processes(tmp_path):
    folder = many(tmp_path, 3 * CHUNK)
    before = children(os.getpid())
    here, elsewhere = (record(folder, misbehaving("dies"), exit_first=True, jobs=jobs) for jobs in (1, 2))
    assert untimed(elsewhere.executions) == untimed(here.executions)
    assert len(here.executions) == 1
    assert eventually(lambda: children(os.getpid()) <= before)


def test_a_target_that_cannot_be_started_elsewhere_is_told(small, kernel_target):
    run = record(small, kernel_target("absent"), kernel_target("right"), jobs=2)
    assert run.footer.exit_code == 3
    assert "no function 'absent'" in run.footer.errors[0]
    assert run.footer.summary == {kernel_target("right"): {"conforms": 10, "undefined": 2}}


def test_processes_that_are_gone_are_an_error_and_the_record_says_how_far_it_came(tmp_path, kernel_target):
    before = children(os.getpid())

    def kill(line):
        if isinstance(line, Execution) and line.case == "x:case-3":
            for pid in children(os.getpid()) - before:
                os.kill(pid, signal.SIGKILL)

    run = record(many(tmp_path, 8 * CHUNK), kernel_target("right"), jobs=2, sink=kill)
    assert run.footer.exit_code == 3
    assert "the worker processes are gone" in run.footer.errors[0]
    assert CHUNK <= len(run.executions) == run.footer.executions < 8 * CHUNK
    assert eventually(lambda: children(os.getpid()) <= before)


@pytest.mark.parametrize("again", [False, True])
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_ctrl_c_ends_every_process_whatever_it_waits_for(begun, small, kernel_target, tmp_path, jobs, again):
    arguments = ["run", small, "-t", kernel_target("hangs"), "-j", jobs, "-o", tmp_path / "r.jsonl", "--timeout", "300"]
    process = begun(*arguments)

    def workers():
        return children(*children(process.pid))

    assert eventually(lambda: (tmp_path / "r.jsonl").exists() and workers())
    time.sleep(2)
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


def test_a_cluster_gives_the_same_record_though_one_of_its_workers_is_killed(tmp_path, kernel_target, cluster):
    folder = many(tmp_path, 8 * CHUNK)
    pids = [worker.pid for worker in cluster.workers.values()]
    killed = []

    def kill(line):
        if isinstance(line, Execution) and line.case == f"x:case-{2 * CHUNK}" and not killed:
            killed.append(pids[0])
            os.kill(pids[0], signal.SIGKILL)

    targets = kernel_target("right"), kernel_target("y_alone")
    here = record(folder, *targets)
    elsewhere = record(folder, *targets, sink=kill, dask=cluster.scheduler_address)
    assert killed
    assert untimed(elsewhere.executions) == untimed(here.executions)
    assert elsewhere.header.targets == here.header.targets
    assert (elsewhere.footer.summary, elsewhere.footer.exit_code) == (here.footer.summary, here.footer.exit_code)


def test_a_cluster_keeps_no_target_after_the_run(small, kernel_target, cluster):
    pids = [worker.pid for worker in cluster.workers.values()]
    run = record(small, kernel_target("right"), dask=cluster.scheduler_address)
    assert run.footer.exit_code == 0
    assert eventually(lambda: not children(*pids))


def test_a_scheduler_that_is_not_there(cli, small, kernel_target, monkeypatch):
    monkeypatch.setattr(pool, "CONNECT_SECONDS", 1)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{free.getsockname()[1]}"
    done = cli("run", small, "-t", kernel_target("right"), "--dask", address)
    assert done.code == 3
    assert f"the dask scheduler {address} cannot be reached" in done.err
    assert "Traceback" not in done.err


def test_dask_that_is_not_installed(cli, small, kernel_target, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    done = cli("run", small, "-t", kernel_target("right"), "--dask", "tcp://127.0.0.1:1")
    assert done.code == 3
    assert "pip install 'maxpool-check[dask]'" in done.err
    assert "Traceback" not in done.err


def test_jobs_are_of_this_machine(cli, small, kernel_target):
    done = cli("run", small, "-t", kernel_target("right"), "--dask", "tcp://127.0.0.1:1", "-j", "2")
    assert done.code == 2
    assert "-j is for this machine" in done.err
