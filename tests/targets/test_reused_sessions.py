"""Sessions of ONNX Runtime that are used for several models of the same bytes."""

import json

import msgspec
import numpy as np
import onnxruntime
import pytest

from maxpool_check.graphs.model import maxpool_model
from maxpool_check.results.storage import read
from maxpool_check.targets.worker.onnxruntime_adapter import Runtime
from tests.conftest import untimed

REUSED = "onnxruntime?sessions=reused"

CASES = """\
spec: onnx-22
about: Models of the same bytes.
cases:
"""

CASE = """\
  - id: case-{number}
    title: One of several with the same model
    input: {{dtype: float32, shape: [1, 1, 3, 3], random: {{seed: {number}, values: distinct}}}}
    attributes: {{kernel_shape: [2, 2]}}
"""

# Its sessions are right once.
SITE = """\
import onnxruntime

run = onnxruntime.InferenceSession.run


def right_once(session, names, inputs, *more):
    outputs = run(session, names, inputs, *more)
    if hasattr(session, "has_run"):
        with open(LOG, "a") as file:
            file.write("wrong\\n")
        DIES
        return [output - 1 for output in outputs]
    session.has_run = True
    return outputs


onnxruntime.InferenceSession.run = right_once
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "same.yaml").write_text(CASES + "".join(CASE.format(number=number) for number in range(4)))
    return tmp_path


def run(cli, folder, name, *words, **variables):
    done = cli("run", folder / "same.yaml", "-q", "-o", folder / name, *words, **variables)
    return done, read(folder / name)


def test_a_reused_session_has_the_same_results_and_the_record_says_so(cli, folder):
    _, usual = run(cli, folder, "usual.jsonl")
    done, reused = run(cli, folder, "reused.jsonl", "-t", REUSED)
    assert done.code == 0, done.err
    same = tuple(msgspec.structs.replace(each, target="onnxruntime") for each in untimed(reused.executions))
    assert same == untimed(usual.executions) != ()
    assert "reuse_sessions" not in usual.header.targets[0].session_options
    assert reused.header.targets[0].session_options["reuse_sessions"] == "1"


@pytest.mark.parametrize("death", ["", "import os; os._exit(9)"])
def test_what_does_not_conform_is_executed_again_in_a_session_of_its_own(cli, folder, death):
    log = folder / "log"
    log.touch()
    site = folder / "site"
    site.mkdir()
    (site / "sitecustomize.py").write_text(SITE.replace("LOG", repr(str(log))).replace("DIES", death or "pass"))
    done, record = run(cli, folder, "record.jsonl", "-t", REUSED, PYTHONPATH=str(site))
    assert log.read_text().count("wrong") >= 3
    assert {each.verdict.value for each in record.executions} == {"conforms"}
    assert done.code == 0


@pytest.mark.parametrize("is_fresh", [False, True])
def test_only_requests_that_are_not_fresh_share_a_session(monkeypatch, is_fresh):
    made = []

    class Counted(onnxruntime.InferenceSession):
        def __init__(self, *arguments, **options):
            super().__init__(*arguments, **options)
            made.append(self)

    monkeypatch.setattr(onnxruntime, "InferenceSession", Counted)
    adapter = Runtime({"reuse_sessions": True})
    X = np.arange(4, dtype=np.float32).reshape(1, 1, 2, 2)
    for kernel in (1, 2, 1, 2):
        model = maxpool_model(22, {"kernel_shape": [kernel] * 2}, "float32", X.shape, ("Y",))
        tensor = {"dtype": "float32", "shape": [1, 1, 2, 2]}
        request = {"model": model, "outputs": ["Y"], "inputs": {"X": tensor}, "fresh": is_fresh}
        outcome = adapter.run(request, {"X": X})
        assert outcome["outputs"]["Y"].max() == 3
    assert len(made) == (4 if is_fresh else 2)


@pytest.mark.parametrize("target", ["openvino?sessions=reused", "onnxruntime?sessions=new"])
def test_a_target_without_sessions_is_refused(cli, folder, target):
    done = cli("run", folder / "same.yaml", "-t", target, "--report", "json")
    (error,) = json.loads(done.out)["errors"]
    assert done.code == 2
    assert "sessions=reused is for ONNX Runtime in Python alone" in error["message"]
