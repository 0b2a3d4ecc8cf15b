"""Workers that are started before they are needed."""

import contextlib
import json
import os
import sys

import pytest

from maxpool_check.targets.adapters import adapter
from maxpool_check.targets.launching import end_ahead, launch_ahead
from maxpool_check.targets.process import Worker
from tests.conftest import all_end, children, misbehaving

OPTIONS = {"provider": None, "provider_options": {}, "distribution": "onnxruntime"}


@pytest.fixture
def started_ahead():
    def start():
        before = children(os.getpid())
        # In the test itself: pytest changes the environment between its steps.
        launch_ahead("onnxruntime")
        (process,) = children(os.getpid()) - before
        return process

    yield start
    end_ahead()


def start(memory=None):
    return contextlib.closing(Worker(adapter(sys.executable, "onnxruntime"), OPTIONS, isolated=False, memory=memory))


def test_a_worker_that_was_started_ahead_is_used_once(started_ahead):
    ahead = started_ahead()
    with start() as first, start() as second:
        assert first.pid == ahead != second.pid
        assert first.description == second.description
        end_ahead()
        assert first.alive
    assert all_end({ahead})


def test_a_worker_with_another_environment_is_another_process(started_ahead, monkeypatch):
    ahead = started_ahead()
    with start(memory=2**33) as limited:
        assert limited.pid != ahead
    monkeypatch.setenv("PYTHONPATH", "/nowhere")
    with start() as other:
        assert other.pid != ahead
    end_ahead()
    assert all_end({ahead})


def test_only_an_installed_runtime_is_started_ahead():
    before = children(os.getpid())
    for name in ("onnxruntime==1.23.2", "onnxruntime-web", "command:true", "no-such-runtime"):
        launch_ahead(name)
    assert children(os.getpid()) == before


@pytest.mark.parametrize(
    "words",
    [["absent.yaml"], ["--no-such-option"], ["corpus:sonnx/float.yaml", "-t", misbehaving("dies"), "-q"], ["-h"]],
)
def test_nothing_is_left_of_a_run_that_needs_no_worker(cli, words):
    before = children(os.getpid())
    cli("run", *words)
    assert children(os.getpid()) == before


def test_a_runtime_that_is_not_installed_is_named(cli):
    done = cli("run", "corpus:sonnx/float.yaml", "-t", "tract", "--format", "json")
    (message,) = json.loads(done.out)["errors"]
    assert done.code == 3
    assert "tract is not installed in this environment" in message["message"]
