"""When workers are started, and that none is left."""

import json
import os

import pytest

from tests.conftest import children, eventually, misbehaving


@pytest.mark.parametrize(
    "words",
    [["absent.yaml"], ["--no-such-option"], ["corpus:sonnx/float.yaml", "-t", misbehaving("dies"), "-q"], ["-h"]],
)
def test_nothing_is_left_of_a_run_that_needs_no_worker(cli, words):
    before = children(os.getpid())
    cli("run", *words, forked=False)
    assert eventually(lambda: children(os.getpid()) <= before)


def test_no_target_is_started_for_files_that_are_not_there(cli, tmp_path):
    kernel = tmp_path / "kernel.py"
    kernel.write_text(
        f"from pathlib import Path\nPath({str(tmp_path)!r}, 'started').touch()\ndef kernel(X, attributes): ...\n"
    )
    for path, is_started in (("absent.yaml", False), ("corpus:sonnx/float.yaml", True)):
        cli("run", path, "-t", f"python:{kernel}:kernel", "-q")
        assert (tmp_path / "started").exists() == is_started


def test_a_runtime_that_is_not_installed_is_named(cli):
    done = cli("run", "corpus:sonnx/float.yaml", "-t", "tract", "--report", "json")
    (message,) = json.loads(done.out)["errors"]
    assert done.code == 3
    assert "tract is not installed in this environment" in message["message"]
