"""Workers that are started before they are needed."""

import contextlib
import json
import os
import sys

import click
import pytest

from maxpool_check.commands import early_workers
from maxpool_check.targets.adapters import adapter
from maxpool_check.targets.launching import end_early, launch_early
from maxpool_check.targets.process import Worker
from tests.conftest import all_end, children, misbehaving

OPTIONS = {"provider": None, "provider_options": {}, "distribution": "onnxruntime"}


@pytest.fixture
def started_early():
    def start():
        before = children(os.getpid())
        # In the test itself: pytest changes the environment between its steps.
        launch_early("onnxruntime")
        (process,) = children(os.getpid()) - before
        return process

    yield start
    end_early()


def start(memory=None):
    return contextlib.closing(Worker(adapter(sys.executable, "onnxruntime"), OPTIONS, isolated=False, memory=memory))


def test_a_worker_that_was_started_early_is_used_once(started_early):
    early = started_early()
    with start() as first, start() as second:
        assert first.pid == early != second.pid
        assert first.description == second.description
        end_early()
        assert first.alive
    assert all_end({early})


def test_a_worker_with_another_environment_is_another_process(started_early, monkeypatch):
    early = started_early()
    with start(memory=2**33) as limited:
        assert limited.pid != early
    monkeypatch.setenv("PYTHONPATH", "/nowhere")
    with start() as other:
        assert other.pid != early
    end_early()
    assert all_end({early})


def test_only_an_installed_runtime_is_started_early():
    before = children(os.getpid())
    for name in ("onnxruntime==1.23.2", "onnxruntime-web", "command:true", "no-such-runtime"):
        launch_early(name)
    assert children(os.getpid()) == before


@pytest.mark.parametrize(
    "words",
    [["absent.yaml"], ["--no-such-option"], ["corpus:sonnx/float.yaml", "-t", misbehaving("dies"), "-q"], ["-h"]],
)
def test_nothing_is_left_of_a_run_that_needs_no_worker(cli, words):
    before = children(os.getpid())
    cli("run", *words, forked=False)
    assert children(os.getpid()) == before


@pytest.mark.parametrize(
    ("words", "started"),
    [
        (["absent.yaml"], 0),
        (["-q", "corpus:sonnx", "absent"], 0),
        (["corpus:sonnx/float.yaml", "-k", "absent"], 1),
        (["-q", "corpus"], 1),
    ],
)
def test_no_worker_is_started_for_files_that_are_not_there(monkeypatch, words, started):
    names = []
    monkeypatch.setattr(early_workers, "launch_early", names.append)
    with click.Context(click.Command("run")) as context:
        early_workers.start_workers(context, words)
    assert names == ["onnxruntime"] * started


def test_no_target_is_started_for_files_that_are_not_there(cli, tmp_path):
    kernel = tmp_path / "kernel.py"
    kernel.write_text(
        f"from pathlib import Path\nPath({str(tmp_path)!r}, 'started').touch()\ndef kernel(X, attributes): ...\n"
    )
    for path, is_started in (("absent.yaml", False), ("corpus:sonnx/float.yaml", True)):
        cli("run", path, "-t", f"python:{kernel}:kernel", "-q")
        assert (tmp_path / "started").exists() == is_started


def test_a_runtime_that_is_not_installed_is_named(cli):
    done = cli("run", "corpus:sonnx/float.yaml", "-t", "tract", "--format", "json")
    (message,) = json.loads(done.out)["errors"]
    assert done.code == 3
    assert "tract is not installed in this environment" in message["message"]
