"""Real runtimes through their adapters: right geometry, what is known of each, what it refuses, a reproduction."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import onnx
import onnxruntime
import pytest
import yaml

from maxpool_check.targets.name import parse
from tests.conftest import CASES, command
from tests.models import zoo
from tests.models.writing import saved

TABLE = yaml.safe_load(Path(__file__).with_name("runtimes.yaml").read_text())
NAMES = {**TABLE["versions"], "INSTALLED": onnxruntime.__version__, "CASES": CASES, "TORCH_PYTHON": "{TORCH_PYTHON}"}
OPENVINO, OPENCV, NCNN, WEB = (NAMES[name] for name in ("OPENVINO", "OPENCV", "NCNN", "WEB"))
LARGE = (pytest.mark.runtimes,)
MARKS = {"here": (), "network": (pytest.mark.network,), "large": LARGE}
NEEDED = {
    "npm": "needs npm",
    "cc": "compiles generated C with cc",
    "clang": "tinygrad's CPU device compiles with clang",
}
for name, reason in NEEDED.items():
    MARKS[name] = (*LARGE, pytest.mark.skipif(shutil.which(name) is None, reason=reason))


def of(target, row, marks="here"):
    """A row of the table about a target, as a parameter."""
    name = target.format_map(NAMES).format_map(NAMES)
    return pytest.param(name, row, id=name, marks=MARKS[marks])


def rows(part):
    return [of(row.pop("target"), row, row.pop("marks", "here")) for row in TABLE[part]]


def there(target):
    """A target with the Python that the environment names for it; skips where there is none."""
    if "{TORCH_PYTHON}" in target and "TORCH_PYTHON" not in os.environ:
        pytest.skip("TORCH_PYTHON names no Python that has PyTorch")
    return target.format_map(os.environ)


def run(target, *patterns):
    paths = {CASES / f"{pattern.partition(':')[0]}.yaml" for pattern in patterns}
    selected = [word for pattern in patterns for word in ("-k", pattern)]
    done = command("run", *paths, *selected, "-t", target, "--known", "none", "--timeout", "60", "-q", "-o", "-")
    assert done.code in (0, 1), done.err
    (described,) = json.loads(done.out.splitlines()[0])["targets"]
    return described, {f"{each['case']} {each['variant']}": each for each in done.results}


@pytest.mark.parametrize(("target", "row"), rows("runtimes"))
def test_a_runtime_is_as_it_is_known(target, row):
    target, right, more = there(target), row.get("right", ""), row.get("more", ())
    about, options, cases = (row.get(name, {}) for name in ("about", "options", "cases"))
    options = {name: value.format_map(NAMES) if isinstance(value, str) else value for name, value in options.items()}
    described, results = run(target, *right.split(), *(name.partition(" ")[0] for name in cases))
    assert {name: described[name] for name in about} == about
    assert {name: described["session_options"][name] for name in options} == options
    assert {name: " ".join((results[name]["verdict"], *results[name]["kinds"])) for name in cases} == cases
    for name, text in row.get("texts", {}).items():
        assert text in f"{results[name]['message']};{results[name]['translation']}"
    named = {name.partition(" ")[0] for name in cases}
    others = [each for each in results.values() if each["case"] not in named]
    if right:
        assert {each["verdict"] for each in others} <= {"conforms", "not-expressible", "undefined", *more}
        assert sum(each["verdict"] == "conforms" for each in others) > row.get("most", 5)
    if "backend" in options:
        assert f"--iree-hal-target-backends={options['backend']}" in described["session_options"]["flags"]
    if right and "opset" in target:
        # What is in its own language is handed on as it is.
        own = [each["translation"] for each in results.values() if each["spec"] == described["speaks"]]
        assert (own != [], any(own)) == (True, False)
    if "frontend" in target:
        assert {each["opset"] for each in others if each["verdict"] == "conforms"} == {8}
        assert [parse(name).takes_models for name in (target, OPENVINO)] == [True, False]
    # Indices that count otherwise are right when converted.
    converted = {"plane": "Indices counted in each plane, converted to the whole tensor",
                 "image-channels-last": "converted to the whole tensor with the channels first",
                 "whole-channels-last": "converted to the whole tensor with the channels first"}  # fmt: skip
    if text := converted.get(described["indices"]):
        indices = [each for each in others if (each["variant"], each["verdict"]) == ("indices", "conforms")]
        assert len(indices) > 5
        assert all(text in str(each["translation"]) for each in indices)


@pytest.mark.network
@pytest.mark.parametrize(("threads", "verdict"), [("2", "conforms"), ("1", "diverges")])
def test_openvino_refuses_at_run_time_what_one_thread_returns(cli, threads, verdict):
    words = ("-k", "no-window", "--variants", "y-only", "-t", f"{OPENVINO}?opset=14&threads={threads}")
    done = cli("run", CASES / "contexts/dynamic.yaml", *words, "--known", "none", "-q", "-o", "-")
    assert [each["verdict"] for each in done.results] == [verdict]


@pytest.mark.network
def test_an_engine_of_opencv_is_overridden_by_nothing_and_takes_models(cli, tmp_path):
    forced = cli("targets", "list", OPENCV, OPENCV_FORCE_DNN_ENGINE="1")
    forced.check(3, "OPENCV_FORCE_DNN_ENGINE overrides the engine; unset it")
    # One with the tensors around MaxPool as outputs.
    done = cli("model", saved(zoo.plain(), tmp_path, "model.onnx"), "-t", OPENCV)
    assert (done.err, "not run as a model" in done.out) == ("", False)


REVIEWED = [of(target, (), marks) for marks, every in TABLE["reviewed"].items() for (target,) in every]


@pytest.mark.parametrize(("target", "_texts"), REVIEWED)
def test_a_reviewed_release_is_as_expected_on_the_second_edition_of_sonnx(cli, target, _texts):
    done = cli("run", CASES, "--spec", "sonnx@2026-10", "-t", there(target), "--timeout", "60")
    assert done.code == 0, done.out + done.err


REFUSED = [of(target, texts, marks) for marks, every in TABLE["refused"].items() for target, *texts in every]


@pytest.mark.parametrize(("target", "texts"), REFUSED)
def test_an_option_or_a_device_that_there_is_not(cli, target, texts):
    target = there(target)
    done = cli("targets", "list", "--json", target, CC="no-such-clang")
    if done.code == 0 and any(name in target for name in ("@GPU", "@NPU", "onnxruntime-gpu")):
        pytest.skip("this machine has it")
    assert done.code == 3
    (described,) = done.json["targets"]
    assert f"{target} cannot be started: " in described["message"]
    assert [text for text in texts if text not in described["message"]] == []
    # Its environment is in order.
    assert "damaged" not in described["message"]


@pytest.mark.network
@pytest.mark.parametrize(("target", "row"), rows("reproductions"))
def test_a_reproduction_is_written_and_tried(cli, tmp_path, target, row):
    target, folder = there(target), tmp_path / "r"
    words = ("repro", row["case"], "-t", target, "-o", folder, "--variant", row.get("variant", "y-only"), "-p", CASES)
    done = cli(*words, MAXPOOL_CHECK_TIMEOUT="60").check(0, "repro.py exits with 1 in a clean environment")
    issue = folder / "ISSUE.md"
    assert issue.exists() != ("is repaired in" in done.out)
    assert row.get("issue", "") in (issue.read_text() if issue.exists() else "")
    assert row.get("script", "") in (folder / "repro.py").read_text()
    if target == WEB:
        assert "onnxruntime-web@1.30.0 of npm" in done.out
        assert (folder / "run.mjs").exists()
        assert not (folder / "node_modules").exists()
    elif target == NCNN:
        assert "Pooling3D" in issue.read_text()
    elif "frontend" in target:
        assert [each.version for each in onnx.load(folder / "model.onnx").opset_import] == [22]
    # Where the runtime is not installed, nothing can be told.
    words = [sys.executable, "-S", folder / "repro.py"]
    alone = subprocess.run(words, capture_output=True, text=True, cwd=folder, check=False)
    assert alone.returncode == 125, alone.stdout + alone.stderr
