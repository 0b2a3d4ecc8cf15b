"""The pages of the documentation as tests read them: their blocks of code in order, and how to run each as a reader does.

What is written in HTML comments in front of a block: ``given: NAME...``, files that the reader has (``GIVEN``); ``needs:
PROGRAM``, it is left out where that is not installed.
A block ```LANGUAGE FILE is a file that the reader saves. ``sh`` holds commands, ``console`` one command with its output.
All blocks of a page are run in one folder, in order. In quoted output, a line of three dots stands for lines that are left out.

A table behind ``table: NAME`` is the table of words of that name.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
from onnx import helper, numpy_helper

from maxpool_check.explaining.glossary import tables
from tests.conftest import ROOT, Finished, command, environment, run_pytest
from tests.models import zoo
from tests.packages import CONSTRAINTS

README = ROOT / "README.md"
PAGES = {path.name: path for path in (README, *sorted((ROOT / "maxpool_check/docs").glob("*.md")))}

_BLOCK = re.compile(
    r"(?P<comments>(?:^<!--(?:(?!-->)[^`])*-->\n)*)^```(?P<language>\w+)(?: (?P<file>\S+))?\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
_COMMENT = re.compile(r"<!-- (?P<name>given|needs): (?P<value>[^>]+) -->")
LEFT_OUT = "..."
"""The line of quoted output that stands for lines that are left out."""

_SHELL = re.compile(r"[|<>&;$*`]")
_JUDGING = ("run", "gate", "model", "fuzz", "explain", "defects", "history", "bisect", "repro")
"""The commands that exit with 1 for what they find."""


@dataclass(frozen=True)
class Block:
    """A block of code of a page, and what is said of it: ``given`` files, a program it ``needs``."""

    page: str
    language: str
    file: str | None
    text: str
    given: tuple[str, ...] = ()
    needs: str = ""

    @property
    def commands(self):
        """The command lines of a block of commands, those that are continued in one."""
        if self.language == "console":
            return [self.text.partition("\n")[0].removeprefix("$ ")]
        lines = self.text.replace("\\\n", "").splitlines()
        return [line for line in lines if shlex.split(line, comments=True)]

    @property
    def output(self):
        """The output that a block shows of its command."""
        return self.text.partition("\n")[2]


def blocks(name):
    """The blocks of a page, in order."""
    found = []
    for match in _BLOCK.finditer(PAGES[name].read_text()):
        said = {each["name"]: each["value"] for each in _COMMENT.finditer(match["comments"])}
        given, needs = (said.get(each, "") for each in ("given", "needs"))
        found.append(Block(name, match["language"], match["file"], match["text"], tuple(given.split()), needs))
    return found


_TABLE = re.compile(r"^(?P<marker><!-- table: (?P<name>\w+) -->\n)(?:\|.*\n)+", re.MULTILINE)


def with_tables(name):
    """The text of a page whose tables of words are those of the code, and the names of these tables."""
    text = PAGES[name].read_text()
    names = [match["name"] for match in _TABLE.finditer(text)]
    return _TABLE.sub(lambda match: f"{match['marker']}{tables()[match['name']].markdown()}\n", text), names


CASE_FILE = (ROOT / "tests/data/pooling.yaml").read_text()
"""A file of a reader's own corpus: ONNX Runtime 1.23.2 computes one of its cases wrongly, 1.31.1 none."""


def _case_files(folder):
    (folder / "cases").mkdir()
    (folder / "cases/pooling.yaml").write_text(CASE_FILE)


def _inputs(folder):
    np.savez(folder / "inputs.npz", X=np.random.default_rng(0).normal(size=(2, 3, 24, 24)).astype(np.float32))


def _test_of_another_suite(folder):
    values = {"X": np.arange(4, dtype=np.float32).reshape(1, 1, 2, 2), "Y": np.array([[[[3]]]], np.float32)}
    X, Y = (helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, each.shape) for name, each in values.items())
    graph = helper.make_graph([helper.make_node("MaxPool", ["X"], ["Y"], kernel_shape=[2, 2])], "pool", [X], [Y])
    data = folder / "imported-models/test_pool/test_data_set_0"
    data.mkdir(parents=True)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)]), data.parent / "model.onnx")
    for name, path in (("X", "input_0.pb"), ("Y", "output_0.pb")):
        (data / path).write_bytes(numpy_helper.from_array(values[name], name).SerializeToString())


def _checkout(folder):
    left_out = shutil.ignore_patterns(".*", "build", "dist", "reports", "__pycache__")
    shutil.copytree(ROOT, folder, ignore=left_out, dirs_exist_ok=True)


def _kernel_in_c(folder):
    (kernel,) = (block.text for block in blocks("export.md") if block.file == "kernel.c")
    (folder / "kernel.c").write_text(kernel)


GIVEN = {
    "Makefile": _checkout,
    "cases/": _case_files,
    "my.onnx": lambda folder: onnx.save(zoo.dynamic(), folder / "my.onnx"),
    "resnet50v2.onnx": lambda folder: onnx.save(zoo.resnet_v2(), folder / "resnet50v2.onnx"),
    "inputs.npz": _inputs,
    "imported-models/": _test_of_another_suite,
    "kernel.c": _kernel_in_c,
}
"""What pages say that their readers have."""


def execute(line, folder):
    """Run a command line of a page: in this process where it calls maxpool-check or pytest, otherwise with a shell."""
    words = shlex.split(line, comments=True)
    if words[0] == "maxpool-check" and not _SHELL.search(re.sub(r"'[^']*'|\"[^\"$]*\"", "", line.partition(" #")[0])):
        return command(*words[1:], cwd=folder)
    if words[0] == "pytest":
        return run_pytest(folder, *words[1:])
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", line],
        capture_output=True, text=True, cwd=folder, env=environment(PATH=path, PIP_CONSTRAINT=CONSTRAINTS, HOST="localhost"), timeout=1800, check=False,
    )  # fmt: skip
    return Finished(done.returncode, done.stdout, done.stderr)


def allowed_codes(line):
    """The exit codes that a command of a page may have: 1 only where it says what was found."""
    words = shlex.split(line, comments=True)
    judges = words[0] == "pytest" or (words[0] == "maxpool-check" and words[1:2] and words[1] in _JUDGING)
    return (0, 1) if judges else (0,)


def without_versions(text):
    """The output without what depends on the machine: Python's version, seconds, and how much of the whole corpus conforms."""
    text = re.sub(r"Python \d+\.\d+\.\d+", "Python X", text)
    text = re.sub(r"executions in \d+ s, \d{4}-\d\d-\d\d", "executions in N s, DATE", text)
    return re.sub(r"\d{4,}( of \d{4,} comparisons conform)", r"N\1", text)


def as_quoted(out, quoted):
    """The output of a command, shortened as a page quotes it: as many lines in front of its three dots, and as many behind."""
    if LEFT_OUT not in quoted.splitlines():
        return out
    lines, shown = out.splitlines(keepends=True), quoted.splitlines(keepends=True)
    first = shown.index(f"{LEFT_OUT}\n")
    return "".join([*lines[:first], shown[first], *lines[len(lines) - (len(shown) - first - 1) :]])
