"""``model``: the MaxPool nodes of a user's model on targets; and what of it was not tested, which never conforms."""

import json
import re
import resource
import subprocess
import sys

import junitparser
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from maxpool_check.results.outcomes import TimedOut
from maxpool_check.targets.session import TargetSession
from tests.conftest import KERNELS, ROOT, command, environment, known_defect, reports_in
from tests.models import broken, external, zoo
from tests.models.wheels import WHEELS, from_wheel
from tests.models.writing import keep_outside, saved, written

RIGHT, ZERO, SEED, STILL, ALONE = (
    f"python:{KERNELS}:{name}"
    for name in ("right", "pads_with_zero", "keeps_the_seed", "pads_with_zero_still", "y_alone")
)
FORMATS = ("json", "markdown", "github", "html", "junit", "sarif")


@pytest.fixture
def model(tmp_path):
    """Writes a model; its path."""
    return lambda made, name="model.onnx": saved(made, tmp_path, name)


def reported(folder, *arguments):
    """A run with a record and every report, and the texts of these by their format."""
    words = (*arguments, *reports_in(folder, *FORMATS), "-o", folder / "record.jsonl")
    done = command("model", *words, COLUMNS="160")
    return done, {name: (folder / name).read_text() for name in FORMATS}


def states(done):
    """The states of the nodes by name."""
    nodes = [node for each in done.json["models"] for node in each["nodes"]]
    return {node["name"]: next(iter(node["targets"].values()))["state"] for node in nodes}


RELU = "g (float[1,3,8,8] x) => (float[a,b,c,d] y) { y = Relu(x) }"
SPECIAL = "\nSAFE  no change on finite values, nor on values that flow, in 3 executions"
SIZES = "--shape batch=2 --shape height=9 --shape width=9"


@pytest.mark.parametrize(
    ("made", "arguments", "code", "texts"),
    [
        (zoo.sppf, f"-t {RIGHT}", 0, ["\nCONFORMS  of 3 MaxPool nodes, 3 conform on python:"]),
        (zoo.dynamic, f"-t {SEED}", 0, ["Wrong on special values alone", "1 conforms except on special values"]),
        (zoo.dynamic, f"-t {SEED} --strict", 1, ["WRONG  y-lowest-for-neg-inf"]),
        (zoo.plain, f"-t python:{KERNELS}:refuses_everything", 1, ["\nREFUSED"]),
        (zoo.plain, f"-t python:{KERNELS}:misspells_a_name", 3, ["\nINCOMPLETE"]),
        (lambda: written(RELU), f"-t {RIGHT}", 4, ["NOTHING TESTED  there is no MaxPool in model.onnx"]),
        (zoo.sppf, "--shape batch=0", 4, ["\nNOTHING TESTED  no result could be compared", "its input has no cells"]),
        (zoo.dynamic, f"-t {RIGHT} {SIZES}", 0, ["[2*, 8, 9*, 9*]", "sizes that the model leaves open (*) are"]),
        (zoo.plain, f"--base {RIGHT} --head {SEED} --strict", 1, ["\nBLOCK"]),
        (zoo.plain, f"--base {ZERO} --head {RIGHT}", 0, ["\nREVIEW"]),
        (zoo.plain, f"--base {RIGHT} --head {ALONE}", 0, ["\nSAFE"]),
        (zoo.plain, f"--base {RIGHT} --head {ALONE} --spec sonnx", 1, ["\nOUTSIDE PROFILE, SAFE"]),
        (zoo.plain, f"--base {RIGHT} --head {SEED}", 0, [SPECIAL, "2 changes on special values, which --strict"]),
    ],
)
def test_what_is_said_of_the_nodes(cli, model, made, arguments, code, texts):
    done = cli("model", model(made()), *arguments.split(), COLUMNS="160")
    assert (done.code, done.err) == (code, ""), done.out
    assert [text for text in texts if text not in f"\n{done.out}"] == []


def test_what_is_wrong_on_finite_values_is_in_every_report_and_in_the_record(cli, model, tmp_path):
    path = model(zoo.plain())
    done, texts = reported(tmp_path, path, "-t", ZERO)
    assert done.code == json.loads(texts["json"])["exit_code"] == 1
    for text in ("WRONG  y-pad-value-leak  pool on", "expected -", ", got 0.0  (y-pad-value-leak)"):
        assert text in done.out
    assert f"Next: maxpool-check repro {path}:pool/alone/" in done.out
    assert "(*)" not in done.out
    assert [form for form in FORMATS if "y-pad-value-leak" not in texts[form]] == []
    assert "y-pad-value-leak" in cli("report", tmp_path / "record.jsonl").out


def test_an_upgrade_that_keeps_what_is_wrong_says_so_in_every_report(model, tmp_path):
    path, sentence = model(zoo.plain()), "1 node is wrong on both: y-pad-value-leak"
    done, texts = reported(tmp_path, path, "--base", ZERO, "--head", STILL)
    assert done.code == 0
    (result,) = (line for line in done.out.splitlines() if line.startswith("SAFE  no change on finite values"))
    assert result.endswith(f"; {sentence}")
    assert "\nNext: maxpool-check repro " in done.out
    for form in ("github", "markdown"):
        assert sentence in " ".join(texts[form].split())
    assert re.search(rf'class="verdict known"><strong>SAFE</strong> [^<]*{sentence}', " ".join(texts["html"].split()))
    ((test,),) = junitparser.JUnitXml.fromfile(str(tmp_path / "junit"))
    assert (test.is_passed, "is wrong on both: y-pad-value-leak" in test.system_out) == (True, True)
    (result,) = json.loads(texts["sarif"])["runs"][0]["results"]
    assert (result["ruleId"], result["level"]) == ("y-pad-value-leak", "note")


def test_json_has_every_node_and_execution(cli, model):
    done = cli("model", model(zoo.unnamed()), "-t", SEED, "--report", "json")
    document = done.json
    assert (document["schema"], document["exit_code"], document["result"]) == ("maxpool-check/model/1", 0, "CONFORMS")
    (of,) = document["models"]
    assert of["nodes"][3]["untested"] == "not judged: another operator than MaxPool"
    assert states(done) == {"A": "special", "C": "special", "D": "special", "Y": "untested"}
    special = [each for each in document["results"] if each["status"] == "special"]
    assert {each["case"].rpartition("/")[2] for each in special} <= {"lowest", "neg-inf", "nan", "extremes"}
    assert {each["verdict"] for each in document["results"]} >= {"conforms", "diverges"}


def test_only_a_file_of_the_user_accepts_what_is_wrong(cli, model, tmp_path):
    path, record, known = model(zoo.dynamic()), tmp_path / "r.jsonl", tmp_path / "k.yaml"
    accept = ("defects", "accept", record, "--reason", "Reviewed.", "-o", known)
    # What is wrong on special values alone has not failed.
    assert cli("model", path, "-t", SEED, "-o", record).code == 0
    assert cli(*accept).out == "no unexpected divergences\n"
    assert not known.exists()
    assert cli("model", path, "-t", SEED, "--strict", "-o", record).code == 1
    assert cli(*accept).code == 0
    done = cli("model", path, "-t", SEED, "--strict", "--known", known).check(0)
    assert done.out.splitlines()[-1].startswith("ACCEPTED  ")
    known.write_text(known_defect("zeros", ["model:pool/*"], ["y-pad-value-leak"]))
    done = cli("model", model(zoo.plain()), "-t", ZERO, "--known", known, "--report", "json")
    assert (done.code, set(states(done).values())) == (0, {"accepted"})


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--base onnxruntime", "--base and --head belong together"),
        ("--base onnxruntime --head onnxruntime", "the base and the head are the same"),
        ("--shape batch", "is not NAME=SIZES"),
        ("--shape depth=3", "--shape names depth; the inputs and their dimensions are"),
        ("--cases c.yaml -o r.jsonl", "takes no -o and no --report"),
        ("model.onnx", "model.onnx is named twice"),
        ("modle.onnx", "not found (did you mean 'model.onnx'?)"),
        ("--inputs right.npz --shape batch=3", "--shape gives 'batch' another one"),
        ("--inputs other.npz", "has other, which the model does not take and lacks"),
        ("--inputs rank.npz", "has the shape [2, 3, 20], the model takes float32"),
    ],
)
def test_wrong_options(arguments, message, cli, model, tmp_path):
    (name,) = [value.name for value in onnx.load(model(zoo.dynamic())).graph.input]
    right = np.zeros((2, 3, 20, 30), np.float32)
    for file, values in {"right": right, "rank": right[..., 0]}.items():
        np.savez(tmp_path / f"{file}.npz", **{name: values})
    np.savez(tmp_path / "other.npz", other=right)
    cli("model", "model.onnx", *arguments.split(), cwd=tmp_path).check(2, message)


def test_given_inputs_and_weights_flow(cli, model, tmp_path):
    path = external.external_missing(tmp_path)
    made = onnx.load(path, load_external_data=False)
    made.graph.input.append(helper.make_tensor_value_info("W", TensorProto.FLOAT, [8, 3, 3, 3]))
    given = {"X": np.full((1, 3, 24, 24), -1, np.float32), "W": np.ones((8, 3, 3, 3), np.float32)}
    np.savez(tmp_path / "inputs.npz", **given)
    (tmp_path / "set").mkdir()
    for name, values in given.items():
        np.save(tmp_path / "set" / f"{name}.npy", values)
    for inputs in ("inputs.npz", "set"):
        done = cli("model", model(made), "--inputs", tmp_path / inputs, "--report", "json").check(0)
        assert "random" not in done.out
        assert any("/in-place/flows" in each["case"] for each in done.json["results"])


def test_every_file_that_cannot_be_used_is_said(cli, model, tmp_path):
    first, second = model(broken.cyclic(), "a.onnx"), model(broken.bad_opset(), "b.onnx")
    (tmp_path / "c").mkdir()
    third = external.external_number(tmp_path / "c", offset="-1")
    done = cli("model", first, second, tmp_path / "missing.onnx", external.external_outside(tmp_path), third)
    assert (done.code, done.out) == (2, "")
    lines = done.err.splitlines()
    assert [line.partition(": ")[0] for line in lines[:2]] == [str(first), str(second)]
    assert lines[2] == f"File '{tmp_path / 'missing.onnx'}' not found"
    assert "the external data of 'W'" in lines[4]
    assert lines[5] == "5 problems; there are no results"
    failed = cli("model", first, "--report", "json")
    assert (failed.json["exit_code"], "cycle" in failed.json["errors"][0]["message"]) == (2, True)


def test_hostile_names_are_inert(model, tmp_path):
    done, texts = reported(tmp_path, model(broken.hostile_names()), "-t", SEED, "-v")
    shown = done.out + "".join(texts[form] for form in ("markdown", "junit", "sarif", "github"))
    assert not {"\x1b", "\u202e"} & set(shown)
    assert not any(line.startswith("::") for line in shown.splitlines())
    assert "<script>" not in texts["markdown"].replace("`<script>", "")


@pytest.mark.parametrize("form", ["graph", "quantised"])
def test_the_nodes_as_cases_of_ones_own(cli, model, tmp_path, form):
    path, cases = model(zoo.resnet_v2()), tmp_path / "cases" / "mine.yaml"
    if form == "quantised":
        path = zoo.quantized(tmp_path, form="QDQ", activation="int8")
    assert cli("model", path, "--cases", cases).check(0).out.startswith(f"{cases}: ")
    assert cli("cases", "lint", cases).code == 0
    if form == "graph":
        assert cases.stat().st_size < 20_000
        assert "mine:resnet50v2/pool1_pool/MaxPool/graph/negative" in cli("cases", "list", cases).out
        assert cli("run", cases, "-t", "onnxruntime", "-k", "*/alone/distinct", "-k", "*/graph/ties").code == 0
        assert cli("model", path, "--cases", cases).code == 0
        cases.write_text("cases: []")
        cli("model", path, "--cases", cases).check(2, "was not written by")


def test_repro_and_explain_take_a_node(cli, model, tmp_path):
    path = model(zoo.plain())
    for place in ("pool/alone/negative", "pool"):
        cli("repro", f"{path}:{place}", "-t", ZERO, "-o", tmp_path / "out").check(0)
    assert (tmp_path / "out/repro.py").is_file()
    assert "y-pad-value-leak" in cli("explain", f"{path}:pool/alone/negative", "-t", ZERO).out
    assert "'pool' has the tests pool/alone/distinct," in cli("explain", f"{path}:pool", "-t", ZERO).err
    for words in (("repro", f"{path}:poll", "-o", tmp_path / "third"), ("explain", f"{path}:poll")):
        cli(*words, "-t", ZERO).check(2, "no node 'poll'")
    for words in (("repro", path, "-o", tmp_path / "third"), ("explain", path)):
        cli(*words, "-t", ZERO).check(2, f"name one of its nodes, as {path}:pool; its MaxPool nodes are pool")


@pytest.mark.parametrize(
    "made",
    [zoo.nhwc, zoo.half_between_casts, zoo.in_if, zoo.in_function, zoo.unpool, zoo.indices_output, zoo.custom_operator],
)
def test_the_installed_onnx_runtime_is_tested_with_each_sort_of_model(made, cli, model):
    done = cli("model", model(made()), "--report", "json")
    assert done.code in ((3,) if made is zoo.custom_operator else (0, 1)), done.err
    assert set(states(done).values()) <= {"conforms", "special", "WRONG"}
    hows = {each["case"].rsplit("/", 2)[1] for each in done.json["results"]}
    in_place = made not in (zoo.in_if, zoo.custom_operator)
    assert ("in-place" in hows) == in_place
    assert bool(done.json["models"][0]["not_run_as_a_model"]) != in_place


@pytest.mark.network
def test_the_pad_fold_is_named_where_it_is_and_blocks_the_upgrade_to_it(cli, model):
    path = model(zoo.resnet_v2(), "resnet50v2.onnx")
    old, new = "onnxruntime==1.24.4", "onnxruntime==1.31.1"
    wrong = f"WRONG  ORT-PAD-FOLDED  resnet50v2/pool1_pool/MaxPool on {new} (wrong-on-finite)"
    default = "At the default level of optimization, which sessions use: wrong; wrong at "
    cli("model", path, "-t", new).check(1, wrong, "in the model", default, "do: upgrade: repaired in 1.32.0")
    cli("model", path, "--base", old, "--head", new).check(1, "\nBLOCK  ", "values differ, by at most")
    back = cli("model", model(zoo.plain()), "--base", new, "--head", "onnxruntime==1.20.1")
    back.check(
        4,
        "On onnxruntime==1.20.1, model did not run as a model, as is said above, and its nodes were not tested in it.",
    )


@pytest.mark.long
@pytest.mark.network
@pytest.mark.parametrize("name", [*zoo.LIGHT, *WHEELS])
def test_real_models_conform_on_what_flows_in_them(name, cli):
    path = from_wheel(*WHEELS[name]) if name in WHEELS else zoo.light(name)
    done = cli("model", path, "-t", "onnxruntime==1.31.1", "--report", "json")
    assert (done.code, done.json["models"][0]["not_run_as_a_model"]) == (0, {}), done.err
    flowing = [each for each in done.json["results"] if "/in-place/" in each["case"]]
    assert {each["verdict"] for each in flowing} == {"conforms"}


@pytest.mark.network
@pytest.mark.parametrize("release", ["1.23.2", "1.28.0"])
def test_each_known_defect_that_can_reach_a_node_is_seen(release, cli, model):
    makers = (zoo.indices_output, zoo.resnet_v2, zoo.dynamic, zoo.nhwc)
    paths = [model(maker(), f"{number}.onnx") for number, maker in enumerate(makers)]
    done = cli("model", *paths, "-t", f"onnxruntime=={release}", "--report", "json")
    nodes = [node for each in done.json["models"] for node in each["nodes"]]
    claims = [claim for node in nodes for claim in node["targets"][f"onnxruntime=={release}"]["can_reach"]]
    assert len(claims) >= 6
    assert [claim for claim in claims if not claim["seen"]] == []
    # What was folded in 1.28.0 was not in 1.23.2, in this operator set.
    assert any(claim["defect"] == "ORT-PAD-FOLDED" for claim in claims) == (release == "1.28.0")


def test_models_of_one_name_are_told_apart(cli, tmp_path):
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        saved(zoo.plain(), tmp_path / folder)
    done = cli("model", tmp_path / "a/model.onnx", tmp_path / "b/model.onnx", "-t", RIGHT, "--report", "json")
    assert [node["id"] for each in done.json["models"] for node in each["nodes"]] == ["a/model:pool", "b/model:pool"]


def test_what_flows_in_a_model_is_reproduced_without_it(cli, model, tmp_path):
    # float16 between casts: the runtime computes in float32.
    path = model(zoo.half_between_casts())
    cli("model", path, "-t", "onnxruntime").check(1, "WRONG  ORT-CASTS-REMOVED  pool on onnxruntime")
    repro = cli("repro", f"{path}:pool/in-place/flows", "-t", "onnxruntime", "-o", tmp_path / "out")
    repro.check(0, "known as ORT-CASTS-REMOVED, shown by versions")
    assert "Conv" not in (tmp_path / "out/repro.py").read_text()


@pytest.mark.parametrize("columns", [40, 120])
def test_nothing_of_the_nodes_is_cut_off_at_any_width(columns, cli, model):
    for arguments in (("-t", RIGHT, "-t", ZERO), ("--base", RIGHT, "--head", ZERO)):
        done = cli("model", model(zoo.plain()), *arguments, COLUMNS=str(columns))
        section = done.out.partition("judged by")[2].partition("WRONG  y-pad")[0]
        expected = ["y-pad-value", "conforms"]
        expected += ["base", "head", "decision", "BLOCK"] if "--base" in arguments else []
        assert [text for text in expected if text not in section] == []
        assert "SONNX" not in done.out
        # What is to be copied stays whole.
        assert done.out.count("y-pad-value-leak") >= 2


def pool_of(X, **graph):
    """A model that is one MaxPool of X: an element type, or a whole type."""
    declared = X if isinstance(X, int) else TensorProto.FLOAT
    ends = [helper.make_tensor_value_info(name, declared, [1, 1, 4, 4]) for name in "XY"]
    if not isinstance(X, int):
        ends[0].type.CopyFrom(X)
    node = helper.make_node("MaxPool", ["X"], ["Y"], "pool", kernel_shape=[1, 1])
    made = helper.make_graph([node], "one", ends[:1], ends[1:], **graph)
    return helper.make_model(made, opset_imports=[helper.make_opsetid("", 22)], ir_version=10)


TENSOR = helper.make_tensor_type_proto(TensorProto.FLOAT, [1, 1, 4, 4])
EXCLUDED = "X must be one of float16, float32, float64, int8, uint8, bfloat16, got "


@pytest.mark.parametrize(
    ("X", "code", "text"),
    [
        (TensorProto.STRING, 1, f"{EXCLUDED}string"),
        (TensorProto.INT4, 1, f"{EXCLUDED}int4"),
        (helper.make_sequence_type_proto(TENSOR), 1, "  sequence ["),
        (helper.make_sparse_tensor_type_proto(TensorProto.FLOAT, [1, 1, 4, 4]), 1, "  sparse_tensor ["),
        (TensorProto.UNDEFINED, 4, "the element type of its input is undefined"),
        (99, 4, "the element type of its input is undefined (99)"),
    ],
)
def test_an_input_of_another_type_is_excluded_or_not_tested(X, code, text, cli, tmp_path):
    report = tmp_path / "report.json"
    done = cli("model", saved(pool_of(X), tmp_path), "--report", "text", "--report", f"json={report}", COLUMNS="160")
    labels = {1: "EXCLUDED", 4: "NOTHING TESTED  no result could be compared"}
    assert (done.code, done.out.splitlines()[-1].startswith(labels[code])) == (code, True)
    assert text in done.out + report.read_text()
    assert ("assumed" in done.out) == text.endswith("[")


def endless():
    """A Loop of so many iterations that it does not end, before a MaxPool."""
    sizes = [1, 1, 4, 4]
    state = [helper.make_tensor_value_info(name, TensorProto.FLOAT, sizes) for name in ("a", "b")]
    flags = [helper.make_tensor_value_info(name, TensorProto.BOOL, []) for name in ("c", "d")]
    number = helper.make_tensor_value_info("i", TensorProto.INT64, [])
    copies = [helper.make_node("Identity", [a], [b]) for a, b in ("cd", "ab")]
    body = helper.make_graph(copies, "body", [number, flags[0], state[0]], [flags[1], state[1]])
    constants = [("count", TensorProto.INT64, [2**62]), ("go", TensorProto.BOOL, [True])]
    model = pool_of(TensorProto.FLOAT, initializer=[helper.make_tensor(a, b, [], c) for a, b, c in constants])
    model.graph.node[0].input[0] = "A"
    model.graph.node.insert(0, helper.make_node("Loop", ["count", "go", "X"], ["A"], "loop", body=body))
    return model


def with_unknown_tail(model):
    """A model whose last node nobody knows."""
    model.graph.node.append(helper.make_node("Unknown", [model.graph.output[0].name], ["Z"], domain="local"))
    model.opset_import.append(helper.make_opsetid("local", 1))
    model.graph.output[0].name = "Z"
    return model


HUGE = 200 * 2**30
UNLOADABLE = {
    "missing": (external.external_missing, "'W': there is no file weights.bin"),
    "offset": (lambda folder: external.external_number(folder, offset="9" * 15), "the values are not there: 'W': "),
    "end": (external.external_short, "'W': weights.bin has 10 of its 864 bytes"),
    "constants": (
        lambda folder: external.external_larger(folder, HUGE, "V", [50 * 2**30, 1, 1, 1]),
        "its constants have more than 512 MB",
    ),
    "tail": (lambda folder: saved(with_unknown_tail(zoo.plain()), folder), "the target refuses it: "),
    "time": (lambda folder: saved(endless(), folder), "no result within 1 s (--timeout)"),
}
"""Models that ONNX Runtime cannot run, and why."""


@pytest.mark.parametrize("way", UNLOADABLE)
def test_a_model_that_the_target_cannot_run_is_incomplete(way, cli, tmp_path, monkeypatch):
    outcomes, timed = [], TargetSession.timed_outcome

    def noted(session, number):
        outcomes.append(timed(session, number))
        return outcomes[-1]

    monkeypatch.setattr(TargetSession, "timed_outcome", noted)
    make, why = UNLOADABLE[way]
    path = make(tmp_path)
    done = cli("model", path, "-t", "onnxruntime", MAXPOOL_CHECK_TIMEOUT="1", COLUMNS="160")
    first, lines = done.out.partition("\nonnxruntime: ")[0], done.out.splitlines()
    (last,) = (line for line in lines if line.startswith("INCOMPLETE"))
    assert (done.code, lines[-1].startswith("Next: "), lines[-1].endswith("--allow-incomplete")) == (3, True, True)
    assert why in " ".join(first.split())
    assert last.startswith(f"INCOMPLETE  {path}: ")
    assert why in last
    # Nobody waits twice.
    assert sum(isinstance(outcome, TimedOut) for outcome, _ in outcomes) == ("time" in way)


def test_who_knows_may_allow_what_is_incomplete(cli, tmp_path):
    path, record = saved(with_unknown_tail(zoo.plain()), tmp_path), tmp_path / "record.jsonl"
    for targets, label in (
        (("-t", "onnxruntime"), "CONFORMS  of 1 MaxPool node, 1 conforms"),
        (("--base", "onnxruntime", "--head", f"onnxruntime?python={sys.executable}"), "SAFE "),
    ):
        for allow, code, last in (((), 3, "INCOMPLETE "), (("--allow-incomplete",), 0, label)):
            done = cli("model", path, *targets, *allow, "-o", record)
            (result,) = (line for line in done.out.splitlines() if line.startswith(last))
            assert (done.code, "the target refuses it: " in result) == (code, True)
            assert cli("report", record).code == 0


def test_every_report_and_the_record_say_that_the_test_is_incomplete(cli, tmp_path):
    path, why = external.external_missing(tmp_path), UNLOADABLE["missing"][1]
    done, texts = reported(tmp_path, path, "-t", "onnxruntime", "-q")
    assert (done.code, why in done.err) == (3, True)
    document = json.loads(texts["json"])
    assert (document["exit_code"], document["result"], why in document["message"]) == (3, "INCOMPLETE", True)
    assert [why in error["message"] for error in document["errors"]] == [True]
    for form, words in (
        ("markdown", "**INCOMPLETE** "),
        ("github", "**INCOMPLETE** "),
        ("html", "<strong>INCOMPLETE<"),
    ):
        assert words in texts[form]
    suites = {suite.name: suite for suite in junitparser.JUnitXml.fromfile(str(tmp_path / "junit"))}
    assert suites["run"].errors == 1
    (invocation,) = json.loads(texts["sarif"])["runs"][0]["invocations"]
    assert not invocation["executionSuccessful"]
    assert [why in each["message"]["text"] for each in invocation["toolExecutionNotifications"]] == [True]
    assert f"INCOMPLETE  {path}: " in cli("report", tmp_path / "record.jsonl", COLUMNS="400").out


def test_a_wrong_or_excluded_node_counts_more_than_what_is_incomplete(cli, tmp_path):
    path = external.external_missing(tmp_path)
    excluded = saved(pool_of(TensorProto.INT64), tmp_path, "excluded.onnx")
    done = cli("model", path, excluded, "-t", "onnxruntime").check(1)
    assert done.out.splitlines()[-1].startswith("EXCLUDED  ")
    half = zoo.half_between_casts()
    keep_outside(half, half.graph.initializer[0].name, "nowhere.bin")
    wrong = cli("model", saved(half, tmp_path, "half.onnx"), "-t", "onnxruntime")
    assert (wrong.code, "nowhere.bin" in wrong.out.partition("\nonnxruntime: ")[0]) == (1, True)


def test_only_what_a_tensor_needs_is_read_of_its_file(tmp_path):
    program = [sys.executable, "-m", "maxpool_check", "model", external.external_larger(tmp_path, HUGE)]
    limit = 8 * 2**30
    done = subprocess.run(
        [*program, "-t", "onnxruntime"],
        capture_output=True, text=True, cwd=ROOT, env=environment(), timeout=300, check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)),
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert "\nCONFORMS  of 1 MaxPool node, 1 conforms" in done.stdout


def test_external_values_of_inner_graphs_and_nodes_are_sent_along(cli, tmp_path):
    model = zoo.in_if()
    for branch in (attribute.g for node in model.graph.node for attribute in node.attribute if attribute.g.node):
        source = branch.node[-1].input[0]
        branch.node[-1].input[0] = less = f"{branch.name}_less"
        branch.node.insert(len(branch.node) - 1, helper.make_node("Sub", [source, branch.name], [less]))
        one = helper.make_tensor(branch.name, TensorProto.FLOAT, [1], np.ones(1, np.float32).tobytes(), raw=True)
        branch.initializer.append(one)
        (tmp_path / "ones.bin").write_bytes(keep_outside(branch, branch.name, "ones.bin"))
    cli("model", saved(model, tmp_path), "-t", "onnxruntime", COLUMNS="160").check(0, "\nCONFORMS  ")
