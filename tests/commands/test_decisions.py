"""The decision on a record: the command that wrote it and those that read it agree."""

import pytest

from tests.conftest import KERNELS, SMALL
from tests.models import zoo
from tests.models.test_deployed import STRIDED, unloadable
from tests.models.writing import saved, written

NAMES = ("right", "keeps_the_seed", "pads_with_zero", "refuses_everything", "misspells_a_name")
RIGHT, SEED, ZERO, REFUSING, MISSPELT = (f"python:{KERNELS}:{name}" for name in NAMES)
EXCLUDED = "g (float[1,3,8,8] x) => (float[n,c,h,w] y) { y = MaxPool <kernel_shape = [2, 2], strides = [0, 1]> (x) }"
NONE = "g (float[1,3,8,8] x) => (float[n,c,h,w] y) { y = Relu (x) }"
INPUTS = {
    "corpus": lambda folder: (folder / "small.yaml").write_text(SMALL) and folder / "small.yaml",
    "pools": lambda folder: saved(zoo.sppf(), folder),
    "plain": lambda folder: saved(zoo.plain(), folder),
    "excluded": lambda folder: saved(written(EXCLUDED, onnx=17), folder),
    "none": lambda folder: saved(written(NONE, onnx=17), folder),
    "unloadable": unloadable,
    "strided": lambda folder: saved(written(STRIDED, {"W": (12, 3, 3, 3), "V": (12, 12, 1, 1)}, onnx=17), folder),
}
RELEASES = "--base onnxruntime==1.23.2 --head onnxruntime==1.32.0"
UPGRADE = f"--base {RIGHT} --head"
WRITERS = [
    ("run corpus", f"-t {RIGHT} --known none", "CONFORMS", 0),
    ("run corpus", f"-t {RIGHT} -t {SEED}", "UNEXPECTED", 1),
    ("run corpus", f"-t {RIGHT} -t {MISSPELT}", "INCOMPLETE", 3),
    ("run corpus", "-t xmos", "INCOMPLETE", 3),
    ("gate corpus", f"{UPGRADE} python:{KERNELS}:talks", "SAFE", 0),
    ("gate corpus", f"--base {SEED} --head {RIGHT}", "REVIEW", 0),
    ("gate corpus", f"--base {SEED} --head {RIGHT} --fail-on any", "BLOCK", 1),
    ("gate corpus", f"{UPGRADE} {SEED}", "BLOCK", 1),
    ("gate corpus", f"{UPGRADE} {MISSPELT}", "INCOMPLETE", 3),
    ("gate corpus", f"{UPGRADE} xmos", "INCOMPLETE", 3),
    ("model pools", f"-t {RIGHT}", "CONFORMS", 0),
    ("model pools", f"-t {RIGHT} -t {REFUSING}", "REFUSED", 1),
    ("model pools", f"{UPGRADE} {ZERO}", "BLOCK", 1),
    ("model pools", f"--base {ZERO} --head {RIGHT}", "REVIEW", 0),
    # Wrong on special values alone, which count if they are to.
    ("model plain", f"{UPGRADE} {SEED}", "SAFE", 0),
    ("model plain", f"{UPGRADE} {SEED} --strict", "BLOCK", 1),
    ("model plain", f"-t {RIGHT} --spec sonnx", "OUTSIDE PROFILE", 1),
    ("model plain", f"-t {MISSPELT}", "INCOMPLETE", 3),
    ("model excluded", f"-t {RIGHT}", "EXCLUDED", 1),
    ("model none", f"-t {RIGHT}", "NOTHING COMPARED", 4),
    ("model unloadable", "-t onnxruntime", "INCOMPLETE", 3),
    ("model unloadable", "-t onnxruntime --allow-incomplete", "CONFORMS ON FINITE VALUES", 0),
    ("model unloadable", f"-t onnxruntime -t {RIGHT}", "INCOMPLETE", 3),
    pytest.param("model unloadable", f"{RELEASES} --allow-incomplete", "SAFE", 0, marks=pytest.mark.network),
    pytest.param("model unloadable", RELEASES, "INCOMPLETE", 3, marks=pytest.mark.network),
    # The head runs it at no level, and refuses the node alone as well.
    pytest.param("model strided", RELEASES, "BLOCK", 1, marks=pytest.mark.network),
]


def result(done):
    """The word and the sentence that a command ended with."""
    lines = [line for line in done.out.splitlines() if line and not line.startswith(("Next: ", "Your model?  "))]
    return lines[-1].split("  maxpool-check ")[0]


@pytest.mark.parametrize(("what", "words", "word", "code"), WRITERS)
def test_every_command_that_reads_a_record_agrees_with_the_one_that_wrote_it(cli, tmp_path, what, words, word, code):
    command, name = what.split()
    path, record = INPUTS[name](tmp_path), tmp_path / "record.jsonl"
    wrote = cli(command, path, *words.split(), "-o", record).check(code, f"\n{word}  ")
    shown = cli("report", record).check(0, err="")
    assert result(shown) == result(wrote)
    assert cli("report", record, "--report", "json").json["exit_code"] == code
    accepted = cli("defects", "accept", record, "--author", "A", "--reason", "R", "-o", tmp_path / "known.yaml")
    assert (accepted.code == 2) == (code in (3, 4)), accepted
    if command != "gate" and "--base" not in words:
        return
    sides = words.split()[:4]
    options = words.split()[4:] if command == "gate" else []
    again = cli("gate", record, record, *sides, *options)
    if "xmos" in words:
        # A record does not have a target that did not start.
        again.check(2, "no target 'xmos'")
    else:
        assert (result(again).split()[0], again.code) == (word, code)
        assert ("defects accept" in again.out) == (code == 1)


GRAPHS = """spec: onnx-22
defaults: {input: {dtype: float32, shape: [1, 1, 5, 5], random: {seed: 1, values: distinct}}}
cases:
  - {id: same, graph: [{op: Neg}, {op: MaxPool}],
     attributes: {kernel_shape: [1, 1], strides: [2, 2], auto_pad: SAME_UPPER}}
  - {id: plain, graph: [{op: Neg}, {op: MaxPool}], attributes: {kernel_shape: [2, 2]}}
"""


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (f"run -t {RIGHT} --known none", "no execution could be compared with a document\n"),
        (
            f"run -t onnx-reference -t {RIGHT} --known none",
            f"no execution on {RIGHT} could be compared with a document; on the others: 1 new",
        ),
        (
            f"run -t onnxruntime -t {RIGHT} --known none",
            f"no execution on {RIGHT} could be compared with a document; on the others: 8 of 8 comparisons conform",
        ),
        (
            f"gate --base onnxruntime --head {RIGHT} --head onnx-reference",
            (
                f"onnxruntime to {RIGHT}: no execution was judged on both sides; "
                "onnxruntime to onnx-reference: BLOCK 1 regressed, 4 missing of 8 executions"
            ),
        ),
    ],
)
def test_what_compares_nothing_is_named_and_hides_nothing(cli, tmp_path, words, sentence):
    (tmp_path / "graphs.yaml").write_text(GRAPHS)
    command, *others = words.split()
    done = cli(command, tmp_path / "graphs.yaml", *others, COLUMNS="300").check(4)
    assert f"\nNOTHING COMPARED  {sentence}" in done.out
    markdown = cli(command, tmp_path / "graphs.yaml", *others, "--report", "markdown").out
    assert sentence.strip() in " ".join(markdown.replace("\\", "").split())
