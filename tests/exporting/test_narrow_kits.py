"""Kits for kernels that have less than their documents, as their authors write them by hand, right and with an author's mistakes."""

import functools
import json
import re
import subprocess

import pytest

from tests.conftest import ROOT, command

DATA = ROOT / "tests/data/narrow_kernels"
COMPILER = ["gcc", "-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror"]
SANITIZED = ["-O1", "-fsanitize=address,undefined"]
KITS = {
    "int8_images": "--dtype int8 --axes 2 --without indices,dilations",
    "uint8_lines": "--dtype uint8 --axes 1 --without dilations",
    "float16_volumes": "--dtype float16 --axes 3 --without indices",
    "float32_channels_last": "--spec ort-nhwc-11 --dtype float32 --axes 2 --without indices,activation",
    "int8_words": "--spec xmos-maxpool2d --dtype int8",
}
WRONG = {
    "int8_images": {
        "starts from -127 along a row": ("int8_t best = INT8_MIN", "int8_t best = -127"),
        "lets the padding count as 0": ("best = INT8_MIN", "best = right - left < columns.kernel ? 0 : INT8_MIN"),
        "takes the width of the window for its height": ("top + rows.kernel", "top + columns.kernel"),
        "leaves out the last column": (
            "(right > columns.size) right = columns.size",
            "(right >= columns.size) right = columns.size - 1",
        ),
        "exchanges batches and channels": ("batch * channels + channel", "channel * batches + batch"),
        "leaves out the columns behind the last eight": (
            "for (; column < columns.size; column++)",
            "for (; column < 0; column++)",
        ),
        "compares bytes without their sign": ("(line[column] > best)", "((uint8_t)line[column] > (uint8_t)best)"),
        "works out the number of windows from the input": ("j < columns.windows", "j < columns.size / columns.stride"),
    },
    "uint8_lines": {
        "compares bytes with a sign": ("cells[at] > cells[best]", "(int8_t)cells[at] > (int8_t)cells[best]"),
        "counts in each line": ("line * axis.size + best;", "best;"),
        "counts the padding": ("line * axis.size + best;", "line * axis.size + best + axis.padding_before;"),
        "counts the lines first": ("line * axis.size + best;", "best * lines + line;"),
        "names no cell where all are 0": (
            "best < 0 || cells[at] > cells[best]",
            "cells[at] > (best < 0 ? 0 : cells[best])",
        ),
        "takes the padding behind for that before": ("- axis.padding_before", "- axis.padding_behind"),
        "lets the padding count as the zero point": (
            "best < 0 ? 0 : cells[best]",
            "end - first < axis.kernel && cells[best] < 128 ? 128 : cells[best]",
        ),
        "moves a window out of the padding": ("first = 0", "end -= first, first = 0"),
    },
    "float16_volumes": {
        "loses the phase of the dilation in the padding": (
            "while (cells.first < 0) cells.first += axis->dilation",
            "if (cells.first < 0) cells.first = 0",
        ),
        "ignores the dilation of the depth": ("z += depth.dilation", "z++"),
        "takes the dilation of the height for the width": ("column += width.dilation", "column += height.dilation"),
        "starts from the lowest finite value": ("is_first = 1;", "is_first = 0;\n                    best = 0xfbffu;"),
        "flushes subnormal numbers": ("*Y++ = best", "*Y++ = (best & 0x7fff) < 0x400 ? 0 : best"),
        "compares the bits": ("? -magnitude : magnitude", "? magnitude - 0x8000 : magnitude"),
        "forgets what was before a NaN": ("!is_nan(a) && !is_nan(b) &&", "is_nan(a) || is_nan(b) ||"),
        "forgets the depth where a volume begins": ("volume * depth.size + z", "volume + z"),
    },
    "float32_channels_last": {
        "starts from 0": (
            "Y[channel] = -INFINITY;\n                int is_first = 1",
            "Y[channel] = 0;\n                int is_first = 0",
        ),
        "reads the channels first": ("(row * columns.size + column) * channels", "row * columns.size + column"),
        "gives the first batch for all": ("x + batch * rows.size * columns.size * channels", "x"),
        "exchanges the strides": ("i * rows.stride", "i * columns.stride"),
        "ignores the dilation of the rows": ("a * rows.dilation", "a"),
        "takes the padding behind for that before": ("- columns.padding_before", "- columns.padding_behind"),
        "leaves out the last window of a row": ("j < columns.windows", "j < columns.windows - 1"),
        "leaves out the channels behind the last four": (
            "for (; channel < channels; channel++)\n        if",
            "for (; channel < 0; channel++)\n        if",
        ),
    },
    "int8_words": {
        "starts from -127": ("{INT8_MIN, INT8_MIN, INT8_MIN, INT8_MIN}", "{-127, -127, -127, -127}"),
        "exchanges the first row and column": (
            "first_row = -rows.padding_before, first_column = -columns.padding_before",
            "first_row = -columns.padding_before, first_column = -rows.padding_before",
        ),
        "exchanges the strides": (
            "i * rows.stride) * of_a_row + (first_column + j * columns.stride",
            "i * columns.stride) * of_a_row + (first_column + j * rows.stride",
        ),
        "takes the first four channels for all": ("b * channels + word", "b * channels"),
        "takes a channel for a column": ("b * channels + word", "b + word"),
        "takes the height of the image for its width": ("of_a_row = columns.size", "of_a_row = rows.size"),
        "leaves out the last row of a window": ("a < rows.kernel", "a < rows.kernel - 1"),
        "compares bytes without their sign": (
            "(cells[lane] > best[lane])",
            "((uint8_t)cells[lane] > (uint8_t)best[lane])",
        ),
    },
}
PADS_NOTHING = (
    "if (rows.dilation",
    "if (rows.padding_before || rows.padding_behind || columns.padding_before || columns.padding_behind || rows.dilation",
)
SUMMARY = re.compile(
    r"computed (?P<computed>\d+) of (?P<vectors>\d+) vectors(?: and refused (?P<refused>\d+))?: "
    r"(?P<by_outputs>\d+) of (?P<mistakes>\d+) mistakes would be noticed(?:, (?P<by_refusals>\d+) more by refusals, if they are the kernel's own)?"
    r"(?:; not noticed: (?P<names>.+))?"
)
BY_KERNEL = pytest.mark.parametrize("kernel", KITS)


@pytest.fixture(scope="module")
def folder_of(tmp_path_factory):
    """Where the kit of a kernel is, compiled."""

    @functools.cache
    def folder_of(kernel):
        folder = tmp_path_factory.mktemp(kernel)
        command("cases", "export", "kit", *KITS[kernel].split(), "-o", folder / "kit").check(0)
        files = ["kit/maxpool_kit.c", DATA / "main.c"]
        subprocess.run([*COMPILER, "-Ikit", "-c", *files], cwd=folder, check=True, timeout=300)
        return folder

    return folder_of


def source(kernel, old="", new=""):
    text = (DATA / f"{kernel}.c").read_text()
    assert not old or text.count(old) == 1
    return text.replace(old, new) if old else text


def run_in_c(folder, text, *options, others=("maxpool_kit.o", "main.o")):
    """The lines that a kernel's run prints, behind the first, and the exit code; ``outputs.jsonl`` has them, too."""
    (folder / "kernel.c").write_text(text)
    words = [*COMPILER, *options, "-Ikit", "kernel.c", *others, "-lm", "-o", "kernel"]
    subprocess.run(words, cwd=folder, check=True, timeout=300)
    done = subprocess.run(["./kernel"], cwd=folder, capture_output=True, text=True, timeout=300, check=False)
    assert done.stderr == ""
    (folder / "outputs.jsonl").write_text(done.stdout)
    # Of one that dies, the last line may be a part of one.
    return [json.loads(line) for line in done.stdout.splitlines()[1:] if line.endswith("}")], done.returncode


def checked(folder, lines):
    """Hold the summary, the last line, to the others; the vectors that the kernel is unable to run, and the mistakes that go unnoticed."""
    proof = json.loads((folder / "kit/manifest.json").read_text())["proof"]
    said = SUMMARY.fullmatch(lines[-1]["message"]).groupdict(default="0")
    cases = {line["case"] for line in lines[:-1]}
    answered = {line["case"] for line in lines[:-1] if line["type"] != "unable"}
    mistakes = proof["mistakes"]
    missed = [name for name, each in mistakes.items() if answered.isdisjoint(each["by_y"] + each["with_indices"])]
    assert len(cases) == int(said["vectors"]) == proof["vectors"]
    assert len(answered) == int(said["computed"]) + int(said["refused"])
    assert len(mistakes) == int(said["mistakes"]) == int(said["by_outputs"]) + int(said["by_refusals"]) + len(missed)
    more = [f"and {len(missed) - 3} more"] if len(missed) > 3 else []
    assert said["names"] == (", ".join(missed[:3] + more) or "0")
    return cases - answered, missed


@BY_KERNEL
def test_a_right_kernel_passes_and_is_tested_for_each_mistake_of_what_it_has(folder_of, kernel):
    folder = folder_of(kernel)
    lines, code = run_in_c(folder, source(kernel), *SANITIZED, others=["kit/maxpool_kit.c", DATA / "main.c"])
    assert code == 0, [line for line in lines if line.get("conforms") is False]
    assert checked(folder, lines) == (set(), [])
    ran = command("run", folder / "kit", "-t", f"outputs:{folder / 'outputs.jsonl'}")
    ran.check(0, f"Kit: {lines[-1]['message']}")


@pytest.mark.parametrize(("kernel", "name"), [(kernel, name) for kernel in WRONG for name in WRONG[kernel]])
def test_a_wrong_kernel_fails(folder_of, kernel, name):
    lines, code = run_in_c(folder_of(kernel), source(kernel, *WRONG[kernel][name]))
    assert code == 1 or code < 0
    assert code < 0 or False in [line.get("conforms") for line in lines]


@BY_KERNEL
def test_the_judge_finds_a_wrong_kernel_wrong(folder_of, kernel):
    folder = folder_of(kernel)
    lines, _ = run_in_c(folder, source(kernel, *next(iter(WRONG[kernel].values()))))
    ran = command("run", folder / "kit", "-t", f"outputs:{folder / 'outputs.jsonl'}")
    ran.check(1, f"Kit: {lines[-1]['message']}")


def test_a_kernel_that_pads_nothing_is_told_which_mistakes_go_unnoticed(folder_of):
    folder = folder_of("int8_images")
    lines, code = run_in_c(folder, source("int8_images", *PADS_NOTHING))
    assert code == 0
    _, missed = checked(folder, lines)
    assert "padding:begin_and_end_exchanged" in missed
