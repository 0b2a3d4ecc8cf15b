"""``maxpool-check repro``, and what it writes, run by others."""

import io
import os
import re
import shlex
import subprocess
import sys
import tokenize
from pathlib import Path

import numpy as np
import pytest

from maxpool_check.corpus.collection import collect
from tests.conftest import KERNELS, known_defect
from tests.exporting.backends import failures

network, long = pytest.mark.network, pytest.mark.long
SEED, RIGHT = (f"python:{KERNELS}:{name}" for name in ("keeps_the_seed", "right"))
FILES = {"ISSUE.md", "case.yaml", "model.onnx", "repro.py", "test_data_set_0"}


def run_script(folder, **changed):
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", **changed}
    return subprocess.run(
        [sys.executable, "repro.py"],
        cwd=folder, env=environment, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip


def is_short(folder):
    """Whether the script has few lines of code, however they are broken: without comments, docstring and header."""
    text = (folder / "repro.py").read_text()
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return len(text.splitlines()) <= 60 and sum(token.type == tokenize.NEWLINE for token in tokens) <= 27


def names(folder):
    return {path.name for path in folder.iterdir()}


@network
@pytest.mark.parametrize(
    ("case", "variant", "words"),
    [
        pytest.param("documents/onnx-22:same-upper", "indices", "[[[3. 2.]]]", marks=long),
        ("edge/neg-inf:one-cell", "y-only", "got Y:\n[[[-3.402"),
        pytest.param("documents/sonnx:ceil", "y-only", "expected a refusal, got", marks=long),
        pytest.param("edge/empty-batch:no-channel", "indices", "expected outputs, got a refusal", marks=long),
        pytest.param("edge/nan:with-neg-inf", "y-only", "Y alone:\n", marks=long),
        ("contexts/pad:zero-opset-22", "y-only", "wrong at: ORT_ENABLE_BASIC"),
    ],
)
def test_a_divergence_of_the_installed_release(case, variant, words, cli, tmp_path):
    file = case.partition(":")[0]
    done = cli("repro", case, "-p", f"corpus:{file}", "-o", tmp_path / "r", "--variant", variant).check(0)
    assert words in done.out.replace("\n  ", "\n")
    again = run_script(tmp_path / "r")
    assert again.returncode == 1
    issue, is_repaired = tmp_path / "r/ISSUE.md", case.startswith("contexts/pad")
    assert (issue.exists(), "is repaired in onnxruntime 1.32.0" in done.out) == (not is_repaired, is_repaired)
    assert is_repaired or again.stdout.strip() in issue.read_text()
    assert is_short(tmp_path / "r") or not words.startswith("got")
    cli("cases", "lint", tmp_path / "r/case.yaml").check(0, err="")
    # A model that is wrong at one level of optimization, or depends on what is requested, passes as it is.
    is_wrong_itself = "Y alone" not in words and "contexts" not in case
    if (tmp_path / "r/test_data_set_0/output_0.pb").exists() and is_wrong_itself:
        data = tmp_path / "data/repro"
        data.mkdir(parents=True)
        (data / "test_maxpool").symlink_to(tmp_path / "r", target_is_directory=True)
        # ONNX's own runner sees the same.
        failed, ran = failures(data)
        assert failed == ran != set()


@network
def test_a_defect_by_its_id_in_the_oldest_operator_set_that_shows_it(cli, tmp_path):
    cli("repro", "ORT-NO-WINDOW", "-t", "onnxruntime", "-o", tmp_path / "r").check(0, "truncated-division")
    assert names(tmp_path / "r") == FILES
    assert {*re.findall("opset_import: .*", (tmp_path / "r/repro.py").read_text())} == {'opset_import: ["" : 8]>'}
    for path in (tmp_path / "r").glob("*.onnx"):
        path.unlink()
    assert run_script(tmp_path / "r").returncode == 1


@pytest.mark.parametrize(
    ("kernel", "case", "words"),
    [
        ("keeps_the_seed", "small:neg-inf", "got Y:\n[[[-3.402"),
        pytest.param("pads_with_zero", "small:padded", "got Y:\n[[[0.]]]", marks=long),
        ("accepts_everything", "small:stride-0", "expected a refusal, got"),
        ("dies_of_a_signal", "small:stride-0", "killed by SIGFPE"),
        pytest.param("hangs", "small:one-column", "there was no result within 6 s", marks=long),
        ("gives_no_indices", "small:ordinary", "got Indices:\nNone"),
        ("talks", "small:ordinary", None),
        ("right", "small:empty", None),
    ],
)
def test_kernels_that_are_wrong_in_one_way(kernel, case, words, cli, small, kernel_target, tmp_path):
    folder = tmp_path / "r"
    done = cli("repro", case, "-t", kernel_target(kernel), "-p", small, "-o", folder, MAXPOOL_CHECK_TIMEOUT="6")
    if words is None:
        assert (done.code, folder.exists(), "not reproduced" in done.out) == (1, False, True)
        return
    assert words in done.check(0).out.replace("\n  ", "\n")
    assert names(folder) == FILES | {"kernels.py"}
    assert is_short(folder) or not words.startswith("got")
    again = run_script(folder)
    assert again.returncode == 1
    # The kernel, put right, is found to be: the script asks the file beside it.
    source = (folder / "kernels.py").read_text()
    (folder / "kernels.py").write_text(f"{source}\n\n{kernel} = right\n")
    assert run_script(folder).returncode == 0
    (shrunk,) = collect([folder / "case.yaml"]).cases
    (whole,) = [one for one in collect([small]).cases if one.id == case]
    assert shrunk.X.size <= whole.X.size


def test_a_program_that_is_wrong(cli, small, tmp_path):
    text = (Path(__file__).parents[2] / "maxpool_check/docs/examples/maxpool.py").read_text()
    program, folder, right = tmp_path / "program.py", tmp_path / "r", "values[cell] > values[best]"
    assert right in text
    program.write_text(text.replace(right, "values[cell] < values[best]"))
    target = f"command:{sys.executable} {program}"
    done = cli("repro", "small:ordinary", "-t", target, "-p", small, "-o", folder).check(0)
    assert "got Y:\n[[[1.]]]" in done.out.replace("\n  ", "\n")
    assert run_script(folder).returncode == 1
    # The last line says how a fix is tested.
    name, *step = shlex.split(done.out.splitlines()[-1].removeprefix("Next: "))
    assert (name, cli(*step).code) == ("maxpool-check", 1)
    program.write_text(text)
    assert cli(*step).code == 0
    assert run_script(folder).returncode == 0


def test_a_folder_of_somebody_else_is_left_alone(cli, small, tmp_path):
    repro, folder = ["repro", "small:neg-inf", "-t", SEED, "-p", small, "-o"], tmp_path / "r"
    folder.mkdir()
    assert cli(*repro, folder).code == 0, "an empty one is taken"
    (folder / "__pycache__").mkdir()
    before = (folder / "repro.py").read_bytes()
    assert cli(*repro, folder).code == 0, "its own is written again"
    assert names(folder) == FILES | {"kernels.py"}
    assert (folder / "repro.py").read_bytes() == before
    # The script says so where its runtime cannot be imported.
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken/numpy.py").write_text("raise ImportError('no numpy here')\n")
    done = run_script(folder, PYTHONPATH=str(tmp_path / "broken"))
    assert done.returncode == 125
    first, run, install = done.stdout.splitlines()
    assert (first, run) == ("cannot tell: no numpy here", "Run it with: uv run repro.py")
    assert install == f"or first: pip install numpy=={np.__version__}"
    (folder / "notes.txt").write_text("mine")
    cli(*repro, folder).check(2, "contains something other")
    assert (folder / "notes.txt").read_text() == "mine"
    assert cli(*repro, folder / "notes.txt").code == 2


def test_a_script_that_does_not_show_it_writes_nothing(cli, small, tmp_path):
    kernel = tmp_path / "kernel.py"
    kernel.write_text(
        "import sys\n"
        "def maxpool(X, attributes):\n"
        "    if sys.argv[0] == 'repro.py': raise KeyboardInterrupt\n"
        "    return X, X.astype(int)\n"
    )
    folder = tmp_path / "out/r"
    folder.mkdir(parents=True)
    repro = cli("repro", "small:neg-inf", "-t", f"python:{kernel}:maxpool", "-p", small, "-o", folder)
    repro.check(1, "not reproduced")
    assert (names(tmp_path / "out"), names(folder)) == ({"r"}, set())


def test_a_defect_without_an_example_is_reproduced_by_its_first_case(cli, small, tmp_path):
    known = small / "known-divergences.yaml"
    for cases, code, message in (
        ("small:neg-inf", 1, "not reproduced: small:neg-inf on "),
        ("small:neg-*", 2, "the defect OWN has no example"),
    ):
        known.write_text(known_defect("OWN", [cases], ["y-lowest-for-neg-inf"]))
        cli("repro", "OWN", "-p", small, "-t", RIGHT, "-o", tmp_path / "repro").check(code, message)


def test_a_smaller_case_shows_the_same_defect(cli, tmp_path):
    # Without the dilation another kernel is wrong, whose defect is another.
    case = "attributes: {kernel_shape: [2, 2], dilations: [2, 2], pads: [1, 1, 1, 1]}"
    (tmp_path / "own.yaml").write_text(
        f"cases: [{{id: masked, input: {{dtype: float32, shape: [1, 1, 7, 7], fill: -.inf}}, {case}}}]\n"
    )
    words = ("-t", "onnxruntime==1.23.2", "--variant", "y-only", "-o", tmp_path / "repro")
    cli("repro", f"{tmp_path / 'own.yaml'}:masked", *words).check(0, "ORT-SEED-KEPT is repaired in onnxruntime 1.29.0")
    run = cli("run", tmp_path / "repro/case.yaml", "-t", "onnxruntime==1.23.2", "--report", "json").json
    assert {each["defect"] for each in run["faults"]} == {"ORT-SEED-KEPT"}
