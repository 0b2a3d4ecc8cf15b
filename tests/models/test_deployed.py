"""Whatever is looked at in a model, what is judged is the model as it is deployed: drawn models, and optimisers that hide from a look."""

import json
import random
import subprocess
from dataclasses import replace

import numpy as np
import onnx
import onnxruntime
import pytest

from maxpool_check.models.analysis import analyse
from maxpool_check.models.flow import ModelRun
from maxpool_check.models.inputs import random_inputs
from maxpool_check.models.model_file import read_model
from maxpool_check.models.shapes import at_sizes
from maxpool_check.results.storage import read
from maxpool_check.targets.name import parse
from maxpool_check.targets.session import TargetSession
from maxpool_check.targets.target import Target
from tests.conftest import command
from tests.models.drawing import by_numpy, drawn
from tests.models.writing import saved, written
from tests.models.zoo import vgg16

LEVELS = ("ORT_ENABLE_ALL", "ORT_DISABLE_ALL", "ORT_ENABLE_BASIC", "ORT_ENABLE_EXTENDED")
FAILS = {"WRONG", "REFUSED", "CRASHES"}
PLAIN = """
import json, sys
import numpy as np
import onnxruntime
for path, inputs, out, level in json.load(sys.stdin):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level, options.log_severity_level = getattr(onnxruntime.GraphOptimizationLevel, level), 4
    options.intra_op_num_threads = 1
    try:
        session = onnxruntime.InferenceSession(path, options)
        np.savez(out, **dict(zip([each.name for each in session.get_outputs()], session.run(None, dict(np.load(inputs))))))
    except Exception as error:
        np.savez(out)
"""
"""Runs models in plain sessions of a release."""


def inputs_of(path):
    """The inputs that the tool gives a model."""
    model = read_model(path)
    return random_inputs(model, at_sizes(model, {}).types)


def deployed(python, paths, folder, levels=LEVELS):
    """The outputs of models in plain sessions of the ONNX Runtime of an interpreter, by path and level; empty where it refuses."""
    requests, outs = [], {}
    for path in paths:
        np.savez(folder / f"{path.stem}.in.npz", **inputs_of(path))
        for level in levels:
            out = folder / f"{path.stem}.{level}.npz"
            requests.append([str(path), str(folder / f"{path.stem}.in.npz"), str(out), level])
            outs[path, level] = out
    subprocess.run([python, "-c", PLAIN], input=json.dumps(requests), text=True, check=True, timeout=600)
    return {key: dict(np.load(out)) for key, out in outs.items()}


def is_right(outputs, right):
    """Whether a session has the outputs of numpy, bit by bit but for the sign of zero and NaN."""
    return outputs.keys() == right.keys() and all(
        outputs[name].shape == value.shape and np.array_equal(outputs[name], value, equal_nan=value.dtype.kind == "f")
        for name, value in right.items()
    )


def states_of(report):
    """The states of the nodes of each model, by its name."""
    return {
        each["path"]: {state["state"] for node in each["nodes"] for state in node["targets"].values()}
        for each in report["models"]
    }


def judged(paths, folder, *words):
    """What ``model`` says of models: its exit code, the states of the nodes of each, the report, and all executions."""
    done = command(
        "model", *paths, *words, "-q", "--report", f"json={folder}/report.json", "-o", folder / "record.jsonl"
    )
    report = json.loads((folder / "report.json").read_text())
    return done.code, states_of(report), {**report, "executions": list(read(folder / "record.jsonl").executions)}


def in_place(report, path):
    """The verdicts on the nodes of a model in it."""
    return {
        each.verdict.value for each in report["executions"]
        if each.case.startswith(f"{path.stem}:") and "/in-place/" in each.case and each.status != "outside"
    }  # fmt: skip


@pytest.mark.network
@pytest.mark.parametrize(
    ("release", "seeds"), [("1.23.2", range(70)), ("1.31.1", range(70, 140)), ("1.32.0", range(140, 210))]
)
def test_no_drawn_model_that_is_wrong_conforms_and_none_is_wrong_in_place_that_is_right(release, seeds, tmp_path):
    target = f"onnxruntime=={release}"
    paths = [saved(drawn(seed)[0], tmp_path, f"drawn{seed}.onnx") for seed in seeds]
    outputs = deployed(Target(parse(target)).python, paths, tmp_path)
    code, states, report = judged(paths, tmp_path, "-t", target)
    wrong = 0
    for path in paths:
        right = by_numpy(onnx.load(path), inputs_of(path))
        levels = [outputs[path, level] for level in LEVELS]
        are_right = [is_right(each, right) for each in levels]
        problems = [each["message"] for each in report["errors"] if str(path) in each["message"]]
        if not all(are_right):
            wrong += 1
            assert states[str(path)] & FAILS or problems, path
        else:
            assert not in_place(report, path) & {"diverges", "refuses", "crashes"}, path
            assert not problems, problems
    assert wrong > len(seeds) // 20
    assert code in (1, 3)


def optimised(model):
    """The model after an optimiser that changes one MaxPool, unless a look at it stops that; what and when follows from its name."""
    proto = onnx.ModelProto.FromString(model)
    if not proto.graph.name.startswith("hides "):
        return model
    choose = random.Random(proto.graph.name)
    outputs = {value.name for value in proto.graph.output}
    name = proto.graph.name.split()[1]
    nodes = [each for each in proto.graph.node if each.op_type == "MaxPool"]
    node = next((each for each in nodes if each.output[0] == name), None)
    if node is None:
        return model
    tensors = [node.input[0], *node.output]
    hidden = {tensors[choose.randrange(len(tensors))]} | ({tensors[0]} if choose.random() < 0.3 else set())
    if outputs & (hidden - own_outputs(proto)):
        return model
    at, source = [*proto.graph.node].index(node), node.input[0]
    kind = choose.choice(["Relu", "Round", "Neg"])
    before = [onnx.helper.make_node(kind, [source], ["hidden_1"])]
    node.input[0] = "hidden_1"
    for number, each in enumerate(before):
        proto.graph.node.insert(at + number, each)
    return proto.SerializeToString()


def own_outputs(proto):
    """The outputs that the model declares by itself: they are named in its documentation."""
    return set(proto.graph.doc_string.split())


@pytest.mark.parametrize("seeds", [range(300, 330), range(330, 360)])
def test_an_optimiser_that_a_look_stops_is_found_all_the_same(seeds, tmp_path, monkeypatch):
    submit = TargetSession.submit

    def optimising(session, requests):
        changed = (
            each if each.setting == "optimization-off" or not each.model else replace(each, model=optimised(each.model))
            for each in requests
        )
        return submit(session, changed)

    monkeypatch.setattr(TargetSession, "submit", optimising)
    paths, wrong = [], []
    for seed in seeds:
        model, _ = drawn(seed)
        pools = [node.output[0] for node in model.graph.node if node.op_type == "MaxPool"]
        model.graph.name = f"hides {random.Random(seed).choice(pools)} {seed}"
        model.graph.doc_string = " ".join(value.name for value in model.graph.output)
        path = saved(model, tmp_path, f"hides{seed}.onnx")
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        options.log_severity_level = 4
        try:
            plain, changed = (
                onnxruntime.InferenceSession(each, options).run(None, inputs_of(path))
                for each in (path.read_bytes(), optimised(path.read_bytes()))
            )
        except Exception:
            continue
        paths.append(path)
        if not all(np.array_equal(a, b, equal_nan=a.dtype.kind == "f") for a, b in zip(plain, changed, strict=True)):
            wrong.append(path)
    _, states, _ = judged(paths, tmp_path, "-t", "onnxruntime")
    assert [path for path in wrong if not states[str(path)] & FAILS] == []
    assert len(wrong) > len(seeds) // 3


CHAIN = """g (float[1,1,8,8] x, float[1,1,4,4] data) => (float[1,1,8,8] out, uint8[1,1,2,2] q)
<float s = {0.5}, uint8 z = {128}, int64[4] shape = {1, 1, 8, 8}> {
    a = Sigmoid (x)
    p, i = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (a)
    p2 = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (p)
    q = QuantizeLinear (p2, s, z)
    out = MaxUnpool <kernel_shape = [2, 2], strides = [2, 2]> (data, i, shape)
}"""


@pytest.mark.network
def test_the_pass_that_makes_a_deployed_model_wrong_is_named(cli, tmp_path):
    """Any output in addition but Indices stops the pass: the model as it is deployed is wrong, and right with all of them."""
    path = saved(written(CHAIN, onnx=17), tmp_path)
    done = cli("model", path, "-t", "onnxruntime==1.32.0", COLUMNS="160").check(1)
    assert "out: 16 of 64 values differ" in done.out
    assert "right without QDQPropagationTransformer" in " ".join(done.out.split())
    assert done.out.count("WRONG  indices-in-window-not-maximum  wrong-on-finite  p on") == 1


@pytest.mark.network
@pytest.mark.parametrize(("release", "seeds"), [("1.31.1", range(400, 412)), ("1.32.0", range(440, 452))])
def test_a_repaired_file_is_right_in_plain_sessions_at_every_level(release, seeds, tmp_path):
    target = f"onnxruntime=={release}"
    made = {}
    for seed in seeds:
        path = saved(drawn(seed)[0], tmp_path, f"drawn{seed}.onnx")
        if judged([path], tmp_path, "-t", target)[0] != 1:
            continue
        out = tmp_path / f"repaired{seed}.onnx"
        code, _, report = judged([path], tmp_path, "-t", target, "--repair", out)
        assert (code == 0) == report["repair"]["complete"] == out.exists(), path
        assert not [*tmp_path.glob(".*.unproved")]
        if code == 0:
            made[path] = out
        else:
            assert report["result"] in ("NEEDS A SESSION OPTION", *FAILS)
    outputs = deployed(Target(parse(target)).python, [*made.values()], tmp_path)
    for path, out in made.items():
        onnx.checker.check_model(out, full_check=True)
        right = by_numpy(onnx.load(path), inputs_of(path))
        assert all(is_right(outputs[out, level], right) for level in LEVELS), path
    assert len(made) > 1


REPAIRED = """g (float[1,1,8,8] x, float[1] y_indices, float[1] unused) => (float[n,c,h,w] y, float[a] t)
<int64[8] pads = {0, 0, 1, 1, 0, 0, 1, 1}, float[1] y_indices2 = {0.0}> {
    t = Identity (unused)
    p = Pad (x, pads)
    [y_indices3] y = MaxPool <kernel_shape = [3, 3], strides = [2, 2]> (p)
}"""


@pytest.mark.network
def test_new_names_equal_no_other_name_of_the_model(cli, tmp_path):
    model = written(REPAIRED, onnx=13)
    model.graph.value_info.append(onnx.helper.make_tensor_value_info("y_indices4", onnx.TensorProto.FLOAT, [1]))
    path, out = saved(model, tmp_path), tmp_path / "repaired.onnx"
    done = cli("model", path, "-t", "onnxruntime==1.31.1", "--repair", out, COLUMNS="200").check(0)
    assert "+ [y_indices3] y, y_indices5 = MaxPool" in done.out
    onnx.checker.check_model(out, full_check=True)
    outputs = deployed(Target(parse("onnxruntime==1.31.1")).python, [out], tmp_path)
    assert all(is_right(each, by_numpy(onnx.load(path), inputs_of(path))) for each in outputs.values())


BRANCH = """g (float[1,2,6,6] x, bool c) => (float[n,c1,h,w] y) <int64[8] pads = {0, 0, 1, 1, 0, 0, 1, 1}> {
    y = If (c) <
        then_branch = then () => (float[n,c1,h,w] a) { d = Pad (x, pads) a = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (d) },
        else_branch = other () => (float[n,c1,h,w] b) { b = Neg (x) }
    >
}"""


@pytest.mark.network
def test_nothing_excuses_a_model_that_runs_and_is_not_shown_to_be_right(cli, tmp_path):
    """A MaxPool in a branch cannot be looked at, and here even cut out it is right: its Pad takes a tensor of the outer graph."""
    path, out = saved(written(BRANCH, onnx=17), tmp_path), tmp_path / "repaired.onnx"
    np.savez(tmp_path / "in.npz", x=np.full((1, 2, 6, 6), -1, np.float32), c=np.array(True))
    words = ("model", path, "-t", "onnxruntime==1.31.1", "--inputs", tmp_path / "in.npz")
    for more in ([], ["--allow-incomplete"], ["--allow-incomplete", "--repair", out]):
        done = cli(*words, *more, COLUMNS="160").check(3, "not shown to be right", "without Pad_Fusion")
        assert "?disable=Pad_Fusion" in done.out.splitlines()[-1]
    assert not out.exists()


@pytest.mark.network
@pytest.mark.parametrize("last", ["Identity", "QuantizeLinear"])
def test_a_right_node_beside_one_that_cannot_be_looked_at_does_not_make_a_model_right(last, cli, tmp_path):
    """Nor where the model is quantized, so that its outputs may differ between levels by more than rounding moves them."""
    model = written(BRANCH.replace("(float[n,c1,h,w] y)", "(float[n,c1,h,w] y, uint8[n,c1,h2,w2] q)", 1), onnx=17)
    pool = onnx.helper.make_node("MaxPool", ["x"], ["p"], name="seen", kernel_shape=[2, 2])
    model.graph.node.extend([pool, onnx.helper.make_node(last, ["p", "scale"][: 1 + (last != "Identity")], ["q"])])
    model.graph.initializer.append(onnx.numpy_helper.from_array(np.array(0.5, np.float32), "scale"))
    if last == "Identity":
        model.graph.output[1].type.tensor_type.elem_type = onnx.TensorProto.FLOAT
    np.savez(tmp_path / "in.npz", x=np.full((1, 2, 6, 6), -1, np.float32), c=np.array(True))
    done = cli("model", saved(model, tmp_path), "-t", "onnxruntime==1.31.1", "--inputs", tmp_path / "in.npz")
    done.check(3, "some MaxPool nodes cannot be looked at")


@pytest.mark.network
def test_values_that_cannot_reach_a_node_do_not_fail_it(cli, tmp_path):
    """Behind a Sigmoid and another MaxPool nothing is below zero, and the folded Pad does no harm."""
    text = """g (float[1,2,8,8] x) => (float[n,c,h,w] y) <int64[8] pads = {0, 0, 1, 1, 0, 0, 1, 1}> {
        a = Sigmoid (x)
        b = MaxPool <kernel_shape = [2, 2]> (a)
        d = Pad (b, pads)
        [pool] y = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (d)
    }"""
    done = cli("model", saved(written(text, onnx=17), tmp_path), "-t", "onnxruntime==1.31.1", COLUMNS="160").check(0)
    assert "wrong outside this model ORT-PAD-FOLDED" in " ".join(done.out.split())


@pytest.mark.network
def test_where_options_alone_help_no_file_is_written(cli, tmp_path):
    """The nodes of a function are not rewritten, and ONNX Runtime 1.31.1 folds the Pad in it into MaxPool."""
    text = """<ir_version: 8, opset_import: ["" : 17, "own" : 1]>
    g (float[1,2,8,8] x) => (float[n,c,h,w] y) { y = own.f (x) }
    <opset_import: ["" : 17], domain: "own"> f (x) => (y) {
        pads = Constant <value = int64[8] {0, 0, 1, 1, 0, 0, 1, 1}> ()
        d = Pad (x, pads)
        y = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (d)
    }"""
    path, out = saved(onnx.parser.parse_model(text), tmp_path), tmp_path / "repaired.onnx"
    words = ("model", path, "-t", "onnxruntime==1.31.1", "--repair", out)
    done = cli(*words, COLUMNS="160").check(1)
    lines = 'disabled_optimizers=["Pad_Fusion"]', '"optimization.disable_specified_optimizers", "Pad_Fusion");  // C++'
    assert [each for each in lines if each not in done.out] == []
    assert "\nNEEDS A SESSION OPTION  no file is written; sessions of the model must disable Pad_Fusion" in done.out
    assert not out.exists()
    done = cli(*words, "--repair-by", "session").check(0)
    assert ("\nNEEDS A SESSION OPTION  " in done.out, out.exists()) == (True, False)


@pytest.mark.network
def test_of_an_upgrade_the_head_is_repaired(cli, tmp_path):
    path, out = saved(written(REPAIRED, onnx=13), tmp_path), tmp_path / "repaired.onnx"
    old, new = "onnxruntime==1.31.1", "onnxruntime==1.32.0"
    done = cli("model", path, "--base", old, "--head", new, "--repair", out)
    assert (done.code, out.exists(), "No node fails: no file was written." in done.out) == (0, False, True)
    done = cli("model", path, "--base", new, "--head", old, "--repair", out)
    assert (done.code, out.exists(), "\nREPAIRED  " in done.out) == (0, True, True)


STRIDED = """g (float[1,3,16,16] x) => (float[n,c,h,w] y) {
    a = Conv <pads = [1, 1, 1, 1]> (x, W)
    [shortcut] b = MaxPool <kernel_shape = [1, 1], strides = [2, 2], auto_pad = "SAME_UPPER"> (a)
    y = Conv (b, V)
}"""


@pytest.mark.network
def test_a_node_that_only_lower_levels_refuse_is_named_repaired_and_known_to_its_cases(cli, tmp_path):
    """With 16 channels, the highest levels compute it in blocks."""
    path = saved(written(STRIDED, {"W": (16, 3, 3, 3), "V": (16, 16, 1, 1)}, onnx=17), tmp_path)
    old, new, out = "onnxruntime==1.23.2", "onnxruntime==1.32.0", tmp_path / "repaired.onnx"
    code, states, _ = judged([path], tmp_path, "-t", new)
    assert (code, states[str(path)]) == (1, {"REFUSED"})
    assert "BLOCK" in cli("model", path, "--base", old, "--head", new).check(1).out
    cli("model", path, "-t", new, "--repair", out).check(0)
    assert all(deployed(Target(parse(new)).python, [out], tmp_path).values())
    cli("model", path, "--cases", tmp_path / "cases/model.yaml").check(0)
    assert "BLOCK" in cli("gate", tmp_path / "cases", "--base", old, "--head", new).check(1).out


def unloadable(folder):
    """A model whose pads are external data, which ONNX Runtime does not read for the shapes that it infers."""
    text = """g (float[1,3,8,8] x) => (float[n,c,h,w] y) {
        p = Pad (x, pads)
        y = MaxPool <kernel_shape = [3, 3], strides = [2, 2]> (p)
    }"""
    model, path = written(text, {"pads": np.array([0, 0, 1, 1, 0, 0, 1, 1])}, onnx=13), folder / "model.onnx"
    onnx.save(model, path, save_as_external_data=True, location="data.bin", size_threshold=0)
    return path


@pytest.mark.network
def test_a_model_that_no_release_can_load_does_not_conform(cli, tmp_path):
    """The pads of a Pad must not be external data, though all its weights may."""
    done = cli("model", unloadable(tmp_path), "-t", "onnxruntime==1.32.0").check(3)
    assert "Cannot parse data from external tensors" in " ".join(done.out.split())
    assert done.out.splitlines()[-1].endswith("--allow-incomplete")


OPEN = """g (float[n,1,16,16] x) => (float[n,1,16,16] out, int64[k] sizes)
<float s = {0.1}, uint8 z = {128}, int64[4] shape = {1, 8, 16, 16}> {
    a = Conv <pads = [1, 1, 1, 1]> (x, W)
    p, i = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (a)
    q = QuantizeLinear (p, s, z)
    d = DequantizeLinear (q, s, z)
    sizes = Shape (a)
    u = MaxUnpool <kernel_shape = [2, 2], strides = [2, 2]> (d, i, shape)
    out = Conv <pads = [1, 1, 1, 1]> (u, V)
}"""


@pytest.mark.network
def test_a_node_that_is_wrong_cut_out_and_right_in_the_deployed_model_does_not_fail(cli, tmp_path):
    """That the input of MaxPool has another taker stops the optimizer, in the model and not in what is cut out of it."""
    path = saved(written(OPEN, {"W": (8, 1, 3, 3), "V": (1, 8, 3, 3)}, onnx=17), tmp_path)
    code, states, report = judged([path], tmp_path, "-t", "onnxruntime==1.32.0")
    assert (code, states[str(path)]) == (0, {"wrong outside this model"})
    assert {each.status for each in report["executions"] if "/graph/flows" in each.case} == {"outside", ""}


def test_a_wrong_pool_is_found_though_it_moves_the_output_by_less_than_a_conv_rounds(tmp_path, monkeypatch):
    """The optimiser changes one value of MaxPool by an ulp, if Y is no output; the Conv behind sums a hundred times as much."""
    text = """hides (float[1,1,8,8] x) => (float[1,1,2,2] y) {
        p = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (x)
        y = Conv (p, W)
    }"""
    path = saved(written(text, {"W": np.full((1, 1, 3, 3), 100, np.float32)}, onnx=17), tmp_path)
    submit = TargetSession.submit

    def nudged(model):
        proto = onnx.ModelProto.FromString(model)
        if proto.graph.name != "hides" or "p" in {value.name for value in proto.graph.output}:
            return model
        factor = onnx.numpy_helper.from_array(np.array(1 + 2**-23, np.float32), "factor")
        for number, node in enumerate(proto.graph.node):
            if node.op_type == "MaxPool":
                node.output[0] = "p_before"
                proto.graph.initializer.append(factor)
                proto.graph.node.insert(number + 1, onnx.helper.make_node("Mul", ["p_before", "factor"], ["p"]))
                break
        return proto.SerializeToString()

    def optimising(session, requests):
        return submit(
            session,
            [
                each if each.setting == "optimization-off" else replace(each, model=nudged(each.model))
                for each in requests
            ],
        )

    monkeypatch.setattr(TargetSession, "submit", optimising)
    code, states, _ = judged([path], tmp_path, "-t", "onnxruntime")
    assert (code, states[str(path)]) == (1, {"WRONG"})


@pytest.mark.network
def test_what_accepts_nothing_of_a_record_of_models_says_why(cli, tmp_path):
    path, record = unloadable(tmp_path), tmp_path / "r.jsonl"
    cli("model", path, "-t", "onnxruntime==1.32.0", "-o", record).check(3)
    accept = ("defects", "accept", record, "-o", tmp_path / "k.yaml", "--author", "A", "--reason", "R")
    cli(*accept).check(2, "can be accepted: its run is not complete: ")


def test_a_model_that_only_rounds_otherwise_is_executed_twice_at_each_level(tmp_path):
    begun = []
    analysis = analyse(read_model(saved(vgg16(32), tmp_path)))
    with TargetSession(Target(parse("onnxruntime"))) as session:
        run = ModelRun(session, analysis, lambda done, total, doing: begun.append((done, total)))
        outputs = [run.deployed.run_at(level).outputs["Y"] for level in run.deployed.levels]
    assert any((each != outputs[0]).any() for each in outputs), "all levels round alike"
    assert begun == [(number, 10) for number in range(10)]
    assert not run.problems
