"""``maxpool-check repro``, and what it writes, run by others."""

import io
import os
import subprocess
import sys
import tokenize
from pathlib import Path

import numpy as np
import onnx
import pytest

from maxpool_check.corpus.collection import collect
from tests.conftest import KERNELS
from tests.exporting.backends import failures

network = pytest.mark.network

MOST_LINES = 26
"""The most lines of code of a script, one whose Y and Indices are both wrong."""

FILES = {"ISSUE.md", "case.yaml", "expected.npz", "model.onnx", "repro.py", "test_data_set_0"}


def run_script(folder, *python, **changed):
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", **changed}
    return subprocess.run(
        [*(python or [sys.executable]), "repro.py"],
        cwd=folder, env=environment, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip


def lines(folder):
    """How many lines of code the script has, however they are broken: without comments, docstring and header."""
    text = (folder / "repro.py").read_text()
    assert len(text.splitlines()) <= 60
    return sum(token.type == tokenize.NEWLINE for token in tokenize.generate_tokens(io.StringIO(text).readline)) - 1


def names(folder):
    return {path.name for path in folder.iterdir()}


@network
@pytest.mark.long
def test_the_neg_inf_of_a_release_and_the_one_that_repaired_it(cli, tmp_path):
    folder = tmp_path / "made/here"
    arguments = ["-t", "onnxruntime==1.23.2", "--variant", "indices", "-o", folder]
    done = cli("repro", "sonnx/float:float-example-3", *arguments)
    assert done.code == 0, done.err
    assert names(folder) == FILES
    assert lines(folder) <= MOST_LINES
    assert "float64 X[1, 1, 1, 1]" in done.out
    assert "from X[1, 1, 3, 3]" in done.out
    assert "known as ORT-SEED-KEPT" in done.out
    assert "; fixed in 1.29.0." in (folder / "ISSUE.md").read_text()
    for words in ("expected Y:\n", "[[[[-inf]]]]", "got Y:\n", "[[[[-1.7976931348623157e+308]]]]", "[[[[-2]]]]"):
        assert words in done.out.replace("\n  ", "\n")
        assert words in (folder / "ISSUE.md").read_text()
    # The installed release has neither of them.
    repaired = run_script(folder)
    assert repaired.returncode == 0, repaired.stdout
    # No one is left behind in the folder above, either.
    assert names(tmp_path / "made") == {"here"}
    assert cli("run", folder / "case.yaml", "-t", "onnxruntime==1.23.2", "-q").code == 1
    assert cli("run", folder / "case.yaml", "-t", "onnxruntime", "-q").code == 0
    backend(folder, tmp_path, passes=True)


@network
@pytest.mark.long
def test_a_crash(cli, tmp_path):
    done = cli("repro", "refusals/attributes:strides-zero-rows", "-t", "onnxruntime==1.23.2", "-o", tmp_path / "r")
    assert done.code == 0, done.err
    assert "expected a refusal, but the process was killed by SIGFPE" in done.out
    assert "MaxPool (strides=[0]) kills the process with SIGFPE instead of being refused" in done.out
    assert not (tmp_path / "r/test_data_set_0/output_0.pb").exists()
    refused = run_script(tmp_path / "r")
    assert refused.returncode == 0
    assert "refused, as it must be" in refused.stdout


@network
@pytest.mark.parametrize(
    ("case", "variant", "words"),
    [
        pytest.param("documents/onnx-22:same-upper", "indices", "[[[3. 2.]]]", marks=pytest.mark.long),
        ("edge/neg-inf:one-cell", "y-only", "got Y:\n[[[-3.402"),
        pytest.param("documents/sonnx:ceil", "y-only", "expected a refusal, got", marks=pytest.mark.long),
        pytest.param(
            "edge/empty-batch:no-channel", "indices", "expected outputs, got a refusal", marks=pytest.mark.long
        ),
        pytest.param("edge/nan:with-neg-inf", "y-only", "Y alone:\n", marks=pytest.mark.long),
        pytest.param("edge/nan:padded-border", "y-only", "expected Y:\n[[[nan", marks=pytest.mark.long),
        pytest.param("edge/bfloat16:neg-inf", "y-only", "expected outputs, got a refusal", marks=pytest.mark.long),
        pytest.param("contexts/pad:zero-opset-22", "y-only", "wrong at: ORT_ENABLE_BASIC", marks=pytest.mark.long),
    ],
)
def test_a_divergence_of_the_installed_release(case, variant, words, cli, tmp_path):
    file = case.partition(":")[0]
    done = cli("repro", case, "-p", f"corpus:{file}", "-o", tmp_path / "r", "--variant", variant)
    assert done.code == 0, done.err
    assert words in done.out.replace("\n  ", "\n")
    again = run_script(tmp_path / "r")
    assert again.returncode == 1
    assert again.stdout.strip() in (tmp_path / "r/ISSUE.md").read_text()
    if words.startswith("got"):
        assert lines(tmp_path / "r") <= MOST_LINES
    read = cli("cases", "lint", tmp_path / "r/case.yaml")
    assert (read.code, read.err) == (0, "")
    # A model that is wrong at one level of optimization, or depends on what is requested, passes as it is.
    is_wrong_itself = "bfloat16" not in case and "Y alone" not in words and "contexts" not in case
    if (tmp_path / "r/test_data_set_0/output_0.pb").exists() and is_wrong_itself:
        backend(tmp_path / "r", tmp_path, passes=False)


def backend(folder, tmp_path, *, passes):
    """ONNX's own runner loads the folder as a test, and sees the same of the installed ONNX Runtime."""
    data = tmp_path / "data/repro"
    data.mkdir(parents=True)
    (data / "test_maxpool").symlink_to(folder, target_is_directory=True)
    onnx.checker.check_model(str(folder / "model.onnx"))
    failed, ran = failures("onnxruntime", data)
    assert ran
    assert failed == (set() if passes else ran)


@pytest.mark.parametrize(
    ("kernel", "case", "words"),
    [
        ("keeps_the_seed", "small:neg-inf", "got Y:\n[[[-3.402"),
        pytest.param("counts_in_the_plane", "small:ordinary", "got Indices:\n[[[0]\n", marks=pytest.mark.long),
        pytest.param("pads_with_zero", "small:padded", "got Y:\n[[[0.]]]", marks=pytest.mark.long),
        ("accepts_everything", "small:stride-0", "expected a refusal, got"),
        pytest.param("refuses_everything", "small:ordinary", "not today", marks=pytest.mark.long),
        ("dies_of_a_signal", "small:stride-0", "killed by SIGFPE"),
        pytest.param("dies_always", "small:ordinary", "ended with exit code 7", marks=pytest.mark.long),
        pytest.param("hangs", "small:one-column", "there was no result within 6 s", marks=pytest.mark.long),
        pytest.param("forgets_its_shape", "small:ordinary", "got Indices, int32:", marks=pytest.mark.long),
        pytest.param("gives_nothing", "small:ordinary", "got Y:\nNone", marks=pytest.mark.long),
        ("gives_no_indices", "small:ordinary", "got Indices:\nNone"),
        ("talks", "small:ordinary", None),
        ("right", "small:ordinary", None),
        ("right", "small:empty", None),
    ],
)
def test_kernels_that_are_wrong_in_one_way(kernel, case, words, cli, small, kernel_target, tmp_path):
    folder = tmp_path / "r"
    done = cli("repro", case, "-t", kernel_target(kernel), "-p", small, "-o", folder, MAXPOOL_CHECK_TIMEOUT="6")
    if words is None:
        assert (done.code, folder.exists()) == (1, False)
        assert "not reproduced" in done.out
        return
    assert done.code == 0, done.out + done.err
    assert words in done.out.replace("\n  ", "\n")
    assert names(folder) == FILES | {"kernels.py"}
    if words.startswith("got"):
        assert lines(folder) <= MOST_LINES
    again = run_script(folder)
    assert again.returncode == 1
    # The kernel, put right, is found to be: the script asks the file beside it.
    source = (folder / "kernels.py").read_text()
    (folder / "kernels.py").write_text(f"{source}\n\n{kernel} = right\n")
    assert run_script(folder).returncode == 0
    assert run_script(folder, sys.executable, "-S").returncode == 125
    (shrunk,) = collect([folder / "case.yaml"]).cases
    (whole,) = [one for one in collect([small]).cases if one.id == case]
    assert shrunk.X.size <= whole.X.size


PROGRAM = Path(__file__).parents[2] / "maxpool_check/docs/examples/maxpool.py"


@pytest.mark.parametrize(
    ("right", "wrong", "words", "repaired"),
    [
        ("values[cell] > values[best]", "values[cell] < values[best]", "got Y:\n[[[1.]]]", ""),
        # It says that it counts in each plane, and does not.
        pytest.param(
            '"protocol": 1, "dist', '"protocol": 1, "indices": "plane", "dist', "got Indices:\n[[[0]\n  [1]]]",
            "Indices.append(0)", marks=pytest.mark.long,
        ),
        pytest.param(
            "    attributes, X = ", "    import os; os.kill(os.getpid(), 11)\n    attributes, X = ",
            "the process was killed by SIGSEGV", "", marks=pytest.mark.long,
        ),
    ],
)  # fmt: skip
def test_a_program_that_is_wrong(right, wrong, words, repaired, cli, small, tmp_path):
    program, folder, text = tmp_path / "program.py", tmp_path / "r", PROGRAM.read_text()
    assert right in text
    program.write_text(text.replace(right, wrong))
    done = cli("repro", "small:ordinary", "-t", f"command:{sys.executable} {program}", "-p", small, "-o", folder)
    assert done.code == 0, done.out + done.err
    assert words in done.out.replace("\n  ", "\n")
    assert run_script(folder).returncode == 1
    program.write_text(text.replace("Indices.append(-1 if best is None else best)", repaired) if repaired else text)
    assert run_script(folder).returncode == 0


def test_a_runtime_that_cannot_be_imported(cli, tmp_path, small, kernel_target):
    folder = tmp_path / "r"
    assert cli("repro", "small:neg-inf", "-t", kernel_target("keeps_the_seed"), "-p", small, "-o", folder).code == 0
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken/numpy.py").write_text("raise ImportError('no numpy here')\n")
    done = run_script(folder, PYTHONPATH=str(tmp_path / "broken"))
    assert done.returncode == 125
    first, run, install = done.stdout.splitlines()
    assert (first, run) == ("cannot tell: no numpy here", "Run it with: uv run repro.py")
    assert install == f"or first: pip install numpy=={np.__version__}"


def test_a_folder_of_somebody_else_is_left_alone(cli, small, kernel_target, tmp_path):
    arguments = ["repro", "small:neg-inf", "-t", kernel_target("keeps_the_seed"), "-p", small, "-o"]
    folder = tmp_path / "r"
    folder.mkdir()
    assert cli(*arguments, folder).code == 0, "an empty one is taken"
    (folder / "__pycache__").mkdir()
    before = (folder / "repro.py").read_bytes()
    assert cli(*arguments, folder).code == 0, "its own is written again"
    assert names(folder) == FILES | {"kernels.py"}
    assert (folder / "repro.py").read_bytes() == before
    (folder / "notes.txt").write_text("mine")
    refused = cli(*arguments, folder)
    assert refused.code == 2
    assert "contains something other" in refused.err
    assert (folder / "notes.txt").read_text() == "mine"
    (tmp_path / "file").write_text("mine")
    assert cli(*arguments, tmp_path / "file").code == 2


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
    done = cli("repro", "small:neg-inf", "-t", f"python:{kernel}:maxpool", "-p", small, "-o", folder)
    assert done.code == 1
    assert "not reproduced" in done.out
    assert (names(tmp_path / "out"), names(folder)) == ({"r"}, set())


def test_without_shrinking_the_case_is_what_it_was(cli, small, kernel_target, tmp_path):
    arguments = ["-t", kernel_target("keeps_the_seed"), "-p", small, "-o", tmp_path / "r", "--no-shrink"]
    assert cli("repro", "small:neg-inf", *arguments, "--variant", "y-only").code == 0
    (written,) = collect([tmp_path / "r/case.yaml"]).cases
    (case,) = [one for one in collect([small]).cases if one.id == "small:neg-inf"]
    assert written.sha256 == case.sha256


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["-t", f"python:{KERNELS}:keeps_the_seed", "--also", "nope"], "unknown runtime 'nope'"),
        (["-t", f"python:{KERNELS}:right", "--variant", "twice"], "has no variant 'twice'; it has indices, y-only"),
        (["-t", "nope"], "unknown runtime 'nope'"),
    ],
)
def test_what_cannot_be_asked_for(arguments, words, cli, small, tmp_path):
    done = cli("repro", "small:neg-inf", "-p", small, "-o", tmp_path / "r", *arguments)
    assert done.code == 2
    assert words in done.err
    assert not (tmp_path / "r").exists()


def test_a_defect_without_an_example_is_reproduced_by_its_first_case(cli, small, kernel_target, tmp_path):
    entry = "{id: OWN, when: 'python', cases: [CASES], kinds: [y-lowest-for-neg-inf], reason: seen}"
    known = small / "known-divergences.yaml"
    words = ("repro", "OWN", "-p", small, "-t", kernel_target("right"), "-o", tmp_path / "repro")
    known.write_text(f"known: [{entry.replace('CASES', 'small:neg-inf')}]\n")
    done = cli(*words)
    assert (done.code, done.out.startswith("not reproduced: small:neg-inf on ")) == (1, True), done.out + done.err
    known.write_text(f"known: [{entry.replace('CASES', 'small:neg-*')}]\n")
    done = cli(*words)
    assert (done.code, "the defect OWN has no example" in done.err) == (2, True), done.err
