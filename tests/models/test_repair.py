"""``model --repair`` and the remedies of the defects that come with the tool: each is tried on real releases."""

import contextlib
import hashlib
import json
import shutil

import numpy as np
import onnx
import pytest

from maxpool_check.corpus.collection import defect_files
from maxpool_check.corpus.conditions import CasesOfEffects
from maxpool_check.corpus.defect_file import read_all_defects
from maxpool_check.corpus.defect_versions import read_versions
from maxpool_check.judging.defects import WRONG, Severity
from maxpool_check.judging.kinds import DivergenceKind, read_table
from maxpool_check.models.repair import try_remedies
from maxpool_check.models.rewriting import REWRITES
from maxpool_check.results.storage import read
from maxpool_check.running.runner import ExecutionConfig, LocalRunner
from maxpool_check.targets.name import parse
from tests.conftest import CASES, KERNELS, shipped
from tests.models.writing import saved, written

RUNTIMES = ("onnxruntime", "openvino")
TARGET = "onnxruntime==1.31.1"
PADDED = "[pad] a = Pad(x, p) [pool] y = MaxPool <kernel_shape = [3, 3], strides = [2, 2]> (a)"
DILATED = "[pool] y = MaxPool <kernel_shape = [3, 3], dilations = [2, 2], auto_pad = 'SAME_UPPER'> (x)"
STRIDED = "[pool] a = MaxPool <kernel_shape = [1, 1], strides = [2, 2], auto_pad = 'SAME_UPPER'> (x) [relu] y = Relu(a)"
BOTH = f"{PADDED.replace('y =', 'b =')} {DILATED.replace('(x)', '(b)').replace('[pool]', '[other]')}"
QUANTIZED = "[pool] a, i = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (x) [quantize] y = QuantizeLinear(a, s, z)"


def model(nodes, dtype="float", more="", opset=17):
    """A model of these nodes from x to y, which has ``more`` outputs; p are pads, s and z a scale and a zero point."""
    constants = "<int64[8] p = {0, 0, 1, 1, 0, 0, 1, 1}, float s = {0.1}, uint8 z = {128}>"
    text = f"g ({dtype}[1, 2, 10, 10] x) => ({'uint8' if ' z)' in nodes else dtype}[n, c, h, w] y{more}) {constants} {{ {nodes} }}"
    return written(text.replace("'", '"'), onnx=opset)


def different(old, new):
    """The names of the nodes of a model that another does not have as they are; all else must be the same."""
    nodes = {node.SerializeToString() for node in new.graph.node}
    changed = [node.name for node in old.graph.node if node.SerializeToString() not in nodes]
    del old.graph.node[:], new.graph.node[:]
    assert old == new
    return changed


@pytest.mark.parametrize(
    ("made", "changed", "texts"),
    [
        (model(PADDED), ["pool"], ["request Indices as well", "+ [pool] y, y_indices = MaxPool"]),
        (model(QUANTIZED, more=", int64[n, c, h, w] i"), ["pool"], ["take Indices from another MaxPool"]),
        (model(STRIDED), ["pool"], ["write the pads out"]),
        (model(DILATED), ["pool"], ["write the pads out"]),
        (model(BOTH), ["pool", "other"], ["request Indices as well", "write the pads out", "has 2 nodes rewritten"]),
    ],
    ids=["pad", "quantized", "strided", "dilated", "both"],
)
def test_the_first_remedy_that_works_is_written_and_nothing_else_changes(cli, tmp_path, made, changed, texts):
    path, out = saved(made, tmp_path), tmp_path / "out/repaired.onnx"
    assert cli("model", path, "-t", TARGET).code == 1
    done = cli("model", path, "-t", TARGET, "--repair", out, COLUMNS="160")
    assert (done.code, done.err) == (0, ""), done.out
    assert [text for text in ("\nREPAIRED  ", *texts) if text not in done.out] == []
    assert different(onnx.load(path), onnx.load(out)) == changed
    record = tmp_path / "record.jsonl"
    cli("model", path, "-t", TARGET, "--repair", out, "-q", "--report", f"json={tmp_path}/report.json", "-o", record)
    made = json.loads((tmp_path / "report.json").read_text())["repair"]
    assert (made["complete"], made["sha256"]) == (True, hashlib.sha256(out.read_bytes()).hexdigest())
    # Each node is proved at five levels of optimization, alone and in the model.
    cases = {each.case for each in read(record).executions if "/in-place/" not in each.case}
    assert sum(node["executions"] for node in made["nodes"]) > 2 * len(cases)
    assert made["executions_in_the_model"] == 5 * len(made["nodes"])
    assert made["disabled_optimizers"] == []
    assert cli("model", out, "-t", TARGET).code == 0


def of_open_sizes():
    """A node whose pads depend on the size of its input, with a stride, and another operator set inside a function."""
    made = model(DILATED.replace("auto_pad", "strides = [2, 2], auto_pad"))
    made.graph.input[0].type.tensor_type.shape.dim[2].dim_param = "height"
    return made


def in_a_function():
    """A node of a model-local function."""
    text = f"""<ir_version: 8, opset_import: ["": 17, "own": 1]>
    g (float[1, 2, 10, 10] x) => (float[n, c, h, w] y) {{ y = own.f(x) }}
    <opset_import: ["": 17], domain: "own"> f (x) => (y) {{ {DILATED.replace("'", '"')} }}"""
    return onnx.parser.parse_model(text)


@pytest.mark.parametrize(
    ("made", "target", "texts"),
    [
        (of_open_sizes, TARGET, ["pads that depend on sizes which the model leaves open", "\nWRONG"]),
        (in_a_function, TARGET, ["is in a function of the model", "\nWRONG"]),
        (
            lambda: model("y = MaxPool <kernel_shape = [3, 3], pads = [1, 1, 1, 1]> (x)"),
            f"python:{KERNELS}:pads_with_zero",
            ["leaves it wrong on python:", "\nWRONG"],
        ),
    ],
)
def test_what_no_remedy_repairs_fails_and_says_what_was_tried(cli, tmp_path, made, target, texts):
    done = cli("model", saved(made(), tmp_path), "-t", target, "--repair", tmp_path / "out.onnx", COLUMNS="200")
    assert done.code == 1
    assert [text for text in texts if text not in done.out] == []


@pytest.mark.parametrize("more", ["", "r = RandomNormalLike(x)"])
def test_outputs_that_were_right_stay_right_and_random_ones_are_not_compared(cli, tmp_path, more):
    """With these inputs, the node is right in the model; random numbers are others in each run."""
    made = model(f"{QUANTIZED} {more}", more=", int64[n, c, h, w] i" + ", float[n, c, h, w] r" * bool(more))
    inputs = tmp_path / "inputs.npz"
    np.savez(inputs, x=np.linspace(-12, 12, 200, dtype=np.float32).reshape(1, 2, 10, 10))
    words = (saved(made, tmp_path), "-t", TARGET, "--inputs", inputs, "--repair", tmp_path / "out.onnx")
    done = cli("model", *words, COLUMNS="160")
    assert done.code == 0, done.out
    assert "right before" not in done.out


def test_a_model_that_does_not_fail_is_copied(cli, tmp_path):
    path, out = saved(model("y = MaxPool <kernel_shape = [2, 2]> (x)"), tmp_path), tmp_path / "out.onnx"
    done = cli("model", path, "-t", TARGET, "--repair", out)
    assert (done.code, out.read_bytes()) == (0, path.read_bytes())
    for words in ([path, "--repair", path], [path, path.parent / "b.onnx", "--repair", out]):
        assert cli("model", *words, "-t", TARGET).code == 2


def test_external_data_goes_along_byte_for_byte_and_overwrites_nothing(cli, tmp_path):
    made = model(f"c = Add(x, v) {DILATED.replace('(x)', '(c)')}")
    made.graph.initializer.append(onnx.numpy_helper.from_array(np.ones((1, 2, 10, 10), np.float32), "v"))
    path, out = tmp_path / "model.onnx", tmp_path / "out/model.onnx"
    onnx.save(made, path, save_as_external_data=True, location="w.bin", size_threshold=0)
    assert cli("model", path, "-t", TARGET, "--repair", out).code == 0
    assert (out.parent / "w.bin").read_bytes() == (tmp_path / "w.bin").read_bytes()
    (out.parent / "w.bin").write_bytes(b"other")
    out.unlink()
    done = cli("model", path, "-t", TARGET, "--repair", out)
    assert (done.code, out.exists()) == (2, False)
    assert "exists with other contents" in done.err


def test_every_rewrite_has_words_and_an_order():
    assert [*REWRITES] == [*read_table("remedies.yaml")]


def test_what_live_versions_compute_wrongly_has_a_remedy_or_a_reason_why_there_is_none():
    versions, wrong = read_versions(CASES), []
    for defect in read_all_defects(defect_files(CASES)):
        is_seed = {DivergenceKind.Y_LOWEST_FOR_NEG_INF, DivergenceKind.INDICES_SENTINEL} & defect.kinds
        is_wrong = defect.severity is Severity.WRONG_ON_FINITE or (is_seed and defect.severity in WRONG)
        is_about = defect.runtime.partition("@")[0].partition("?")[0] in RUNTIMES and defect.documents != ("sonnx",)
        if versions.is_live(defect) and is_wrong and is_about:
            wrong.append(defect)
    assert [defect.id for defect in wrong if not defect.remedies] == []
    assert 3 * sum(not any(each.words for each in defect.remedies) for defect in wrong) <= len(wrong)


EMULATED = pytest.mark.skipif(
    not (shutil.which("qemu-aarch64") and shutil.which("apt-get")), reason="there is no qemu-aarch64, or no apt-get"
)


@pytest.mark.network
@pytest.mark.parametrize(
    "name",
    [
        "onnxruntime==1.32.0",
        "onnxruntime==1.31.1",
        "onnxruntime==1.23.2",
        "openvino==2026.4.1?frontend=onnx",
        "onnxruntime-openvino==1.24.1@OpenVINOExecutionProvider",
        pytest.param("onnxruntime==1.27.0?machine=aarch64", marks=EMULATED),
    ],
)
def test_each_remedy_repairs_what_is_wrong_without_it(name):
    target = parse(name)
    with contextlib.closing(LocalRunner(ExecutionConfig((target,), 60.0, None))) as runner:
        (described,) = runner.descriptions
    tried = 0
    defects = read_all_defects(defect_files(CASES))
    about = CasesOfEffects(defects, shipped().cases)
    for defect in defects:
        ids = {case for effect in defect.effects if effect.covers(described) for case in about.ids(effect)}
        cases = [case for case in shipped().cases if case.id in ids]
        if defect.remedy(described.version) and cases:
            # A remedy with conditions is for some of them alone.
            special = [
                case
                for case in cases
                if any(
                    each.conditions.said and about.features[case.id].meets(each.conditions) for each in defect.remedies
                )
            ]
            step = max(1, len(cases) // 10)
            others = [case for start in range(step) for case in cases[start::step]]
            trial = try_remedies(defect, [*special[:: max(1, len(special) // 5)][:5], *others[:40]], target, 14)
            # What was reviewed on another processor need not show on this one.
            is_shown = any(trial.repaired.values()) or trial.left
            assert is_shown or described.architecture != "x86_64", defect.id
            assert all(trial.repaired.values()) or not is_shown, defect.id
            assert not trial.left or any(each.none for each in defect.remedies), (defect.id, trial.left)
            tried += bool(is_shown)
    assert tried > 1
