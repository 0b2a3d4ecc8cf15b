"""``model``: the MaxPool nodes of a user's model on targets, as a user types it."""

import json
import re
import signal
import time

import junitparser
import numpy as np
import onnx
import pytest

from tests.conftest import command
from tests.models import broken, external, zoo
from tests.models.wheels import WHEELS, from_wheel
from tests.models.writing import saved, written


@pytest.fixture
def model(tmp_path):
    """Writes a model; its path."""
    return lambda made, name="model.onnx": saved(made, tmp_path, name)


def states(done, target=None):
    """The states of the nodes by name."""
    nodes = [node for each in done.json["models"] for node in each["nodes"]]
    return {node["name"]: (node["targets"][target or next(iter(node["targets"]))]["state"]) for node in nodes}


def test_a_right_kernel_conforms(cli, model, kernel_target):
    done = cli("model", model(zoo.sppf()), "-t", kernel_target("right"))
    assert (done.code, done.err) == (0, "")
    assert done.out.splitlines()[-1].startswith("CONFORMS  of 3 MaxPool nodes, 3 conform on python:")


def test_wrong_on_finite_values_fails_and_says_where(cli, model, kernel_target):
    done = cli("model", model(zoo.plain()), "-t", kernel_target("pads_with_zero"))
    assert done.code == 1
    assert "WRONG  y-pad-value-leak  pool on" in done.out
    assert "expected -" in done.out
    assert ", got 0.0  (y-pad-value-leak)" in done.out
    assert f"Next: maxpool-check repro {model(zoo.plain())}:pool/alone/" in done.out


def test_wrong_on_special_values_alone_fails_only_if_asked(cli, model, kernel_target):
    arguments = ("model", model(zoo.dynamic()), "-t", kernel_target("keeps_the_seed"))
    done = cli(*arguments)
    assert done.code == 0
    assert "conforms except" in done.out
    assert "Wrong on special values alone" in done.out
    assert "1 conforms except on special values" in done.out
    strict = cli(*arguments, "--strict")
    assert strict.code == 1
    assert "WRONG  y-lowest-for-neg-inf" in strict.out


@pytest.mark.parametrize(
    ("kernel", "label", "code"), [("refuses_everything", "REFUSED", 1), ("misspells_a_name", "INCOMPLETE", 3)]
)
def test_refusals_and_errors(kernel, label, code, cli, model, kernel_target):
    done = cli("model", model(zoo.plain()), "-t", kernel_target(kernel))
    assert done.code == code
    assert done.out.splitlines()[-2 if code == 1 else -1].startswith(label)


def test_only_a_file_of_the_user_accepts_what_is_wrong(cli, model, kernel_target, tmp_path):
    known = tmp_path / "known.yaml"
    known.write_text(
        "known:\n  - id: zeros\n    when: python\n    cases: ['model:pool/*']\n    kinds: [y-pad-value-leak]\n    reason: Accepted.\n"
    )
    arguments = ("model", model(zoo.plain()), "-t", kernel_target("pads_with_zero"))
    done = cli(*arguments, "--known", known, "--report", "json")
    assert set(states(done).values()) == {"accepted"}
    assert done.code == 0


def test_what_is_to_be_copied_stays_whole_on_any_terminal(cli, model, kernel_target):
    for columns in (60, 80, 120):
        done = cli(
            "model", model(zoo.dynamic()), "-t", kernel_target("keeps_the_seed"), "--strict", COLUMNS=str(columns)
        )
        assert done.out.count("y-lowest-for-neg-inf") >= 2, done.out


def test_sizes_that_are_given_have_their_footnote(cli, model, kernel_target):
    sizes = ("--shape", "batch=2", "--shape", "height=9", "--shape", "width=9")
    done = cli("model", model(zoo.dynamic()), "-t", kernel_target("right"), *sizes, COLUMNS="160")
    assert "[2*, 8, 9*, 9*]" in done.out
    assert "sizes that the model leaves open (*) are tested as they are given" in done.out
    assert "(*)" not in cli("model", model(zoo.plain()), "-t", kernel_target("right")).out


def test_a_model_in_a_wrong_place_names_what_to_type(cli, model):
    path = model(zoo.resnet_v2(), "resnet.onnx")
    assert f"did you mean 'maxpool-check model {path}'?" in cli(path).err
    assert "did you mean 'maxpool-check run x.yaml'?" in cli("x.yaml").err
    assert f"not found (did you mean '{path}'?)" in cli("model", path.parent / "resnt.onnx").err
    assert "did you mean" not in cli("model", path.parent / "my.onnx").err
    node = "resnet50v2/pool1_pool/MaxPool"
    for words in (
        ("repro", path, "-t", "onnxruntime", "-o", path.parent / "out"),
        ("explain", path, "-t", "onnxruntime"),
    ):
        done = cli(*words)
        assert done.code == 2
        assert f"name one of its nodes, as {path}:{node}; its MaxPool nodes are {node}" in done.err


def test_no_max_pool_is_nothing_tested(cli, model, kernel_target):
    path = model(written("g (float[1,3,8,8] x) => (float[a,b,c,d] y) { y = Relu(x) }"))
    done = cli("model", path, "-t", kernel_target("right"))
    assert done.code == 4
    assert done.out.splitlines()[-1] == "NOTHING TESTED  there is no MaxPool in model.onnx"


def test_json_has_every_node_and_execution(cli, model, kernel_target):
    target = kernel_target("keeps_the_seed")
    done = cli("model", model(zoo.unnamed()), "-t", target, "--report", "json")
    document = done.json
    assert (document["schema"], document["exit_code"], document["result"]) == ("maxpool-check/model/1", 0, "CONFORMS")
    (of,) = document["models"]
    assert [node["name"] for node in of["nodes"]] == ["A", "C", "D", "Y"]
    assert of["nodes"][1]["attributes"]["auto_pad"] == "SAME_UPPER"
    assert of["nodes"][1]["profile"][-1]["clause"].startswith("SONNX MaxPool, R3")
    assert of["nodes"][3]["untested"] == "not judged: another operator than MaxPool"
    assert states(done, target) == {"A": "special", "C": "special", "D": "special", "Y": "untested"}
    special = [each for each in document["results"] if each["status"] == "special"]
    assert {each["case"].rpartition("/")[2] for each in special} <= {"lowest", "neg-inf", "nan", "extremes"}
    assert {each["verdict"] for each in document["results"]} >= {"conforms", "diverges"}


def test_reports_and_record(cli, model, kernel_target, tmp_path):
    paths = {name: tmp_path / f"report.{name}" for name in ("markdown", "junit", "sarif", "github", "json")}
    record = tmp_path / "record.jsonl"
    reports = [argument for name, path in paths.items() for argument in ("--report", f"{name}={path}")]
    path = model(zoo.plain())
    done = cli("model", path, "-t", kernel_target("pads_with_zero"), *reports, "-o", record)
    assert done.code == 1
    (suite,) = junitparser.JUnitXml.fromfile(str(paths["junit"]))
    assert (suite.name, suite.tests, suite.failures) == (kernel_target("pads_with_zero"), 1, 1)
    (test,) = suite
    assert (test.name, test.classname) == ("pool", str(path))
    assert test.result[0].message == "WRONG y-pad-value-leak"
    results = json.loads(paths["sarif"].read_text())["runs"][0]["results"]
    assert [result["ruleId"] for result in results] == ["y-pad-value-leak"]
    assert results[0]["locations"][0]["logicalLocations"][0] == {"name": "pool", "fullyQualifiedName": "model:pool"}
    assert results[0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"].endswith("/model.onnx")
    assert "region" not in results[0]["locations"][0]["physicalLocation"]
    assert "| WRONG y-pad-value-leak |" in paths["markdown"].read_text()
    assert "### `y-pad-value-leak`" in paths["github"].read_text()
    assert json.loads(paths["json"].read_text())["exit_code"] == 1
    assert "y-pad-value-leak" in cli("report", record).out


def test_an_upgrade_is_decided_for_each_node(cli, model, kernel_target):
    arguments = ("model", model(zoo.plain()), "--base", kernel_target("right"), "--head")
    blocked = cli(*arguments, kernel_target("pads_with_zero"), "--report", "json")
    assert blocked.code == 1
    assert blocked.json["result"] == "BLOCK"
    assert [node["decision"] for node in blocked.json["models"][0]["nodes"]] == ["BLOCK"]
    special = cli(*arguments, kernel_target("keeps_the_seed"))
    assert special.code == 0
    assert special.out.splitlines()[-1].startswith(
        "SAFE  no change on finite values, nor on values that flow, in 3 executions"
    )
    assert special.out.splitlines()[-1].endswith("2 changes on special values, which --strict counts")
    assert "On special values alone (regressed)" in special.out
    assert cli(*arguments, kernel_target("keeps_the_seed"), "--strict").code == 1
    other_way = cli(
        "model", model(zoo.plain()), "--base", kernel_target("pads_with_zero"), "--head", kernel_target("right")
    )
    assert other_way.code == 0
    assert other_way.out.splitlines()[-1].startswith("REVIEW")


def test_an_upgrade_names_what_is_wrong_on_both(cli, model, kernel_target, tmp_path):
    path, formats = model(zoo.plain()), ("junit", "html", "github", "markdown", "sarif")
    reports = [argument for name in formats for argument in ("--report", f"{name}={tmp_path / name}")]
    targets = ("--base", kernel_target("pads_with_zero"), "--head", kernel_target("pads_with_zero_still"))
    done = cli("model", path, *targets, *reports)
    sentence = "1 node is wrong on both: y-pad-value-leak"
    assert done.code == 0
    assert done.out.splitlines()[-1].startswith("SAFE  no change on finite values")
    assert done.out.splitlines()[-1].endswith(f"; {sentence}")
    texts = {name: " ".join((tmp_path / name).read_text().split()) for name in formats}
    assert sentence in texts["github"]
    assert sentence in texts["markdown"]
    assert re.search(rf'class="verdict known"><strong>SAFE</strong> [^<]*{sentence}', texts["html"])
    ((test,),) = junitparser.JUnitXml.fromfile(str(tmp_path / "junit"))
    assert test.is_passed
    assert "is wrong on both: y-pad-value-leak" in test.system_out
    (result,) = json.loads(texts["sarif"])["runs"][0]["results"]
    assert (result["ruleId"], result["level"]) == ("y-pad-value-leak", "note")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--base", "onnxruntime"), "--base and --head belong together"),
        (("--base", "onnxruntime", "--head", "onnxruntime"), "the base and the head are the same"),
        (("--base", "onnxruntime", "--head", "jax", "-t", "jax"), "--base and --head compare two"),
        (("--shape", "batch"), "is not NAME=SIZES"),
        (("--shape", "depth=3"), "--shape names depth; the inputs and their dimensions are"),
        (("--spec", "openvino"), "is not one of 'onnx', 'sonnx'"),
    ],
)
def test_wrong_options(arguments, message, cli, model):
    done = cli("model", model(zoo.dynamic()), *arguments)
    assert done.code == 2
    assert message in done.err


def test_every_file_that_cannot_be_used_is_said(cli, model, tmp_path):
    first, second = model(broken.cyclic(), "a.onnx"), model(broken.bad_opset(), "b.onnx")
    done = cli("model", first, second, tmp_path / "missing.onnx", external.external_outside(tmp_path))
    assert (done.code, done.out) == (2, "")
    lines = done.err.splitlines()
    assert [line.partition(": ")[0] for line in lines[:2]] == [str(first), str(second)]
    assert lines[2] == f"File '{tmp_path / 'missing.onnx'}' not found"
    assert lines[4] == "4 problems; nothing was run"
    failed = cli("model", first, "--report", "json")
    assert failed.json["exit_code"] == 2
    assert "cycle" in failed.json["errors"][0]["message"]


def test_hostile_names_are_inert(cli, model, kernel_target, tmp_path):
    path = model(broken.hostile_names())
    reports = [
        argument
        for name in ("markdown", "junit", "sarif", "github")
        for argument in ("--report", f"{name}={tmp_path / name}")
    ]
    done = cli("model", path, "-t", kernel_target("keeps_the_seed"), "-v", *reports)
    written_text = done.out + "".join(
        (tmp_path / name).read_text() for name in ("markdown", "junit", "sarif", "github")
    )
    assert "\x1b" not in written_text
    assert "\u202e" not in written_text
    assert not any(line.startswith("::") for line in written_text.splitlines())
    assert "<script>" not in (tmp_path / "markdown").read_text().replace("`<script>", "")


def test_the_nodes_as_cases_of_ones_own(cli, model, tmp_path):
    path, cases = model(zoo.resnet_v2()), tmp_path / "cases" / "mine.yaml"
    done = cli("model", path, "--cases", cases)
    assert (done.code, done.out) == (0, f"{cases}: 14 cases\n")
    assert cases.stat().st_size < 20_000
    assert cli("cases", "lint", cases).code == 0
    listed = cli("cases", "list", cases).out
    assert "mine:resnet50v2/pool1_pool/MaxPool/graph/negative" in listed
    ran = cli("run", cases, "-t", "onnxruntime", "-k", "*/alone/distinct", "-k", "*/graph/ties")
    assert ran.code == 0, ran.out
    assert cli("model", path, "--cases", cases).code == 0
    cases.write_text("cases: []")
    refused = cli("model", path, "--cases", cases)
    assert refused.code == 2
    assert "was not written by" in refused.err


def test_the_cases_of_several_documents_and_of_quantised_models(cli, tmp_path):
    path = zoo.quantized(tmp_path, form="QDQ", activation="int8")
    cases = tmp_path / "cases.yaml"
    assert cli("model", path, "--cases", cases).code == 0
    assert cli("cases", "lint", cases).code == 0


def test_repro_and_explain_take_a_node(cli, model, kernel_target, tmp_path):
    path, target = model(zoo.plain()), kernel_target("pads_with_zero")
    done = cli("repro", f"{path}:pool/alone/negative", "-t", target, "-o", tmp_path / "out")
    assert done.code == 0, done.err
    assert (tmp_path / "out" / "repro.py").is_file()
    assert "y-pad-value-leak" in cli("explain", f"{path}:pool/alone/negative", "-t", target).out
    any_test = cli("repro", f"{path}:pool", "-t", target, "-o", tmp_path / "other")
    assert any_test.code == 0, any_test.err
    assert "'pool' has the tests pool/alone/distinct," in cli("explain", f"{path}:pool", "-t", target).err
    wrong = cli("repro", f"{path}:poll", "-t", target, "-o", tmp_path / "third")
    assert (wrong.code, "did you mean 'pool'" in wrong.err) == (2, True)
    assert "no node 'poll'" in cli("explain", f"{path}:poll", "-t", target).err


def test_given_inputs_flow(cli, model, tmp_path):
    path = model(zoo.plain())
    name = onnx.load(path).graph.input[0].name
    X = np.full((1, 3, 24, 24), -np.inf, np.float32)
    np.savez(tmp_path / "inputs.npz", **{name: X})
    (tmp_path / "set").mkdir()
    np.save(tmp_path / "set" / f"{name}.npy", X)
    for inputs in (tmp_path / "inputs.npz", tmp_path / "set"):
        done = cli("model", path, "-t", "onnxruntime", "--inputs", inputs, "--report", "json")
        assert done.code in (0, 1), done.err
        assert any("/in-place/flows" in each["case"] for each in done.json["results"])
    wrong = cli("model", path, "-t", "onnxruntime", "--inputs", tmp_path / "missing.npz")
    assert wrong.code == 2
    np.savez(tmp_path / "other.npz", other=X)
    wrong = cli("model", path, "-t", "onnxruntime", "--inputs", tmp_path / "other.npz")
    assert wrong.code == 2
    assert "has other, which the model does not take and lacks" in wrong.err


@pytest.mark.parametrize(
    "made", [zoo.nhwc, zoo.half, zoo.in_if, zoo.in_function, zoo.unpool, zoo.indices_output, zoo.custom_operator]
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
    wrong = cli("model", path, "-t", "onnxruntime==1.31.1")
    assert wrong.code == 1
    assert "WRONG  ORT-PAD-FOLDED  resnet50v2/pool1_pool/MaxPool on onnxruntime==1.31.1 (wrong-on-finite)" in wrong.out
    assert "in the model" in wrong.out
    assert cli("model", path, "-t", "onnxruntime==1.24.4", "-q").code == 0
    gate = cli("model", path, "--base", "onnxruntime==1.24.4", "--head", "onnxruntime==1.31.1")
    assert gate.code == 1
    assert "\nBLOCK  " in gate.out
    assert "values differ, by at most" in gate.out


@pytest.mark.long
@pytest.mark.network
def test_squeezenet_may_be_upgraded():
    done = command("model", zoo.light("squeezenet"), "--base", "onnxruntime==1.24.4", "--head", "onnxruntime==1.31.1")
    assert done.code == 0
    assert done.out.splitlines()[-1].startswith("SAFE  no change on finite values")


@pytest.mark.long
@pytest.mark.network
@pytest.mark.parametrize("name", [*zoo.LIGHT, *WHEELS])
def test_real_models_conform_on_what_flows_in_them(name):
    path = from_wheel(*WHEELS[name]) if name in WHEELS else zoo.light(name)
    done = command("model", path, "-t", "onnxruntime==1.31.1", "--report", "json")
    assert done.code == 0, done.err
    assert set(states(done).values()) <= {"conforms", "special"}
    assert done.json["models"][0]["not_run_as_a_model"] == {}
    flowing = [each for each in done.json["results"] if "/in-place/" in each["case"]]
    assert {each["verdict"] for each in flowing} == {"conforms"}


def test_ci_reports_of_an_upgrade_and_of_the_profile_fail_where_the_command_does(cli, model, kernel_target, tmp_path):
    path, reports = (
        model(zoo.plain()),
        ["--report", f"junit={tmp_path / 'junit'}", "--report", f"sarif={tmp_path / 'sarif'}"],
    )

    def results(*arguments):
        done = cli("model", path, *arguments, *reports)
        suites = junitparser.JUnitXml.fromfile(str(tmp_path / "junit"))
        levels = [each["level"] for each in json.loads((tmp_path / "sarif").read_text())["runs"][0]["results"]]
        return done.code, {suite.name: suite.failures for suite in suites}, levels

    right, wrong, special = map(kernel_target, ("right", "pads_with_zero", "keeps_the_seed"))
    assert results("--base", right, "--head", wrong) == (1, {f"{right} to {wrong}": 1}, ["error"])
    assert results("--base", wrong, "--head", right) == (0, {f"{wrong} to {right}": 0}, [])
    assert results("-t", special) == (0, {special: 0}, ["note"])
    code, suites, levels = results("-t", right, "--spec", "sonnx")
    assert (code, suites, levels) == (1, {right: 0, "SONNX profile": 1}, ["error"])


@pytest.mark.network
@pytest.mark.parametrize("release", ["1.23.2", "1.28.0"])
def test_each_known_defect_that_can_reach_a_node_is_seen(release, model):
    made = {"indices": zoo.indices_output(), "resnet": zoo.resnet_v2(), "dynamic": zoo.dynamic(), "nhwc": zoo.nhwc()}
    paths = [model(each, f"{name}.onnx") for name, each in made.items()]
    done = command("model", *paths, "-t", f"onnxruntime=={release}", "--report", "json")
    claims = [
        (node["id"], claim["defect"], claim["seen"])
        for each in done.json["models"]
        for node in each["nodes"]
        for claim in node["targets"][f"onnxruntime=={release}"]["can_reach"]
    ]
    assert len(claims) >= 6
    assert [claim for claim in claims if not claim[2]] == []
    # What was folded in 1.28.0 was not in 1.23.2, in this operator set.
    assert any(defect == "ORT-PAD-FOLDED" for _, defect, _ in claims) == (release == "1.28.0")


@pytest.mark.network
def test_a_defect_whose_values_cannot_reach_a_node_is_not_named(cli, model):
    text = "g (float[1,4,8,8] X) => (float[a,b,c,d] Y) { A = Relu (X) B = Pad <pads = [0, 0, 1, 1, 0, 0, 1, 1]> (A) "
    made = written(f"{text} Y = MaxPool <kernel_shape = [2, 2]> (B) }}", {}, onnx=10)
    done = cli("model", model(made), "-t", "onnxruntime==1.31.1", "--report", "json")
    (node,) = done.json["models"][0]["nodes"]
    assert done.code == 0
    assert [each["defect"] for each in node["targets"]["onnxruntime==1.31.1"]["can_reach"]] == ["ORT-NAN-POSITION"]


def test_nothing_compared_is_never_right(cli, model, kernel_target):
    done = cli("model", model(zoo.sppf()), "--shape", "batch=0", COLUMNS="160")
    assert done.code == 4
    assert done.out.splitlines()[-1] == "NOTHING TESTED  no result could be compared"
    assert "its input has no cells" in done.out


def test_a_node_that_is_not_tested_is_no_success(cli, model, kernel_target):
    empty = written(
        "g (float[0,1,4,4] X) => (float[a,b,c,d] Y) { Y = MaxPool <kernel_shape = [2, 2]> (X) }", {}, onnx=17
    )
    done = cli("model", model(zoo.plain()), model(empty, "empty.onnx"), "-t", kernel_target("right"), COLUMNS="160")
    assert done.code == 3
    assert done.out.splitlines()[-1].startswith(
        "INCOMPLETE  of 2 MaxPool nodes, 1 conforms, 1 is not tested on python:"
    )
    assert "its input has no cells" in done.out


@pytest.mark.runtimes
def test_why_a_target_cannot_test_a_node_is_said(cli, model):
    made = written(
        "g (float[1,1,8,8] X) => (float[a,b,c,d] Y) { A = MaxPool <kernel_shape = [2, 2]> (X) "
        "Y = MaxPool <kernel_shape = [3, 3], pads = [1, 0, 0, 0]> (A) }", {}, onnx=17,
    )  # fmt: skip
    done = cli("model", model(made), "-t", "litert==2.3.0", COLUMNS="160")
    assert (done.code, done.out.splitlines()[-1].split()[0]) == (3, "INCOMPLETE")
    assert "is not tested on litert==2.3.0: its padding is VALID or SAME" in done.out


def test_only_what_failed_is_added_to_a_file_of_what_is_accepted(cli, model, kernel_target, tmp_path):
    record, known = tmp_path / "r.jsonl", tmp_path / "k.yaml"
    assert cli("model", model(zoo.dynamic()), "-t", kernel_target("keeps_the_seed"), "-o", record).code == 0
    done = cli("defects", "accept", record, "--reason", "Reviewed.", "-o", known)
    assert (done.code, done.out) == (0, "no unexpected divergences\n")
    assert not known.exists()


def test_what_is_accepted_stays_accepted_if_special_values_count(cli, model, kernel_target, tmp_path):
    path, target, record, known = (
        model(zoo.dynamic()),
        kernel_target("keeps_the_seed"),
        tmp_path / "r.jsonl",
        tmp_path / "k.yaml",
    )
    assert cli("model", path, "-t", target, "--strict", "-o", record).code == 1
    assert cli("defects", "accept", record, "--reason", "Reviewed.", "-o", known).code == 0
    done = cli("model", path, "-t", target, "--strict", "--known", known)
    assert (done.code, done.out.splitlines()[-1].partition(" ")[0]) == (0, "ACCEPTED")


def test_the_profile_fails_an_upgrade_as_well(cli, model, kernel_target):
    arguments = ("model", model(zoo.plain()), "--base", kernel_target("right"), "--head", kernel_target("y_alone"))
    assert cli(*arguments).code == 0
    done = cli(*arguments, "--spec", "sonnx")
    assert done.code == 1
    assert done.out.splitlines()[-1].startswith("OUTSIDE PROFILE, SAFE")


def test_models_of_one_name_are_told_apart_and_one_model_is_named_once(cli, tmp_path, kernel_target):
    paths = [
        saved(zoo.plain(), folder, "model.onnx")
        for folder in (tmp_path / "a", tmp_path / "b")
        if folder.mkdir() is None
    ]
    done = cli("model", *paths, "-t", kernel_target("right"), "--report", "json")
    assert done.code == 0
    assert [node["id"] for each in done.json["models"] for node in each["nodes"]] == ["a/model:pool", "b/model:pool"]
    twice = cli("model", paths[0], paths[0])
    assert (twice.code, f"{paths[0]} is named twice" in twice.err) == (2, True)


def test_options_that_contradict_each_other(cli, model, tmp_path):
    path = model(zoo.dynamic())
    (name,) = [value.name for value in onnx.load(path).graph.input]
    np.savez(tmp_path / "inputs.npz", **{name: np.zeros((2, 3, 20, 30), np.float32)})
    given = ("model", path, "--inputs", tmp_path / "inputs.npz")
    assert "--shape gives 'batch' another one" in cli(*given, "--shape", "batch=3").err
    assert "'batch' twice" in cli("model", path, "--shape", "batch=3", "--shape", "batch=4").err
    assert (
        "takes no -o and no --report"
        in cli("model", path, "--cases", tmp_path / "c.yaml", "-o", tmp_path / "r.jsonl").err
    )
    for wrong, message in (
        (np.zeros((2, 3, 20), np.float32), "has the shape [2, 3, 20], the model takes float32"),
        (np.zeros((2, 4, 20, 30), np.float32), "has the shape [2, 4, 20, 30], the model takes float32"),
        (np.zeros((2, 3, 20, 30)), "is float64, the model takes float32"),
    ):
        np.savez(tmp_path / "inputs.npz", **{name: wrong})
        done = cli(*given)
        assert (done.code, message in done.err) == (2, True)


def test_what_flows_in_a_model_is_reproduced_without_it(cli, model, tmp_path):
    # float16 between casts: the runtime computes in float32.
    path = model(zoo.half_between_casts())
    shown = cli("model", path, "-t", "onnxruntime")
    assert (shown.code, "WRONG  ORT-CASTS-REMOVED  pool on onnxruntime" in shown.out) == (1, True)
    done = cli("repro", f"{path}:pool/in-place/flows", "-t", "onnxruntime", "-o", tmp_path / "out")
    assert done.code == 0, done.err
    assert "known as ORT-CASTS-REMOVED, shown by versions" in done.out
    assert "Conv" not in (tmp_path / "out" / "repro.py").read_text()


@pytest.mark.skipif(not hasattr(signal, "SIGINT"), reason="needs signals")
def test_an_interrupted_test_leaves_a_record(begun, tmp_path, kernel_target):
    path, record = saved(zoo.plain(), tmp_path), tmp_path / "record.jsonl"
    running = begun("model", path, "-t", kernel_target("takes_its_time"), "-o", record)
    while not record.exists() or record.read_text().count("\n") < 2:
        assert running.poll() is None, running.communicate()
        time.sleep(0.05)
    running.send_signal(signal.SIGINT)
    _, err = running.communicate(timeout=300)
    assert running.returncode == 130
    assert f"they are in {record}" in err
    assert command("report", record).code == 3


@pytest.mark.parametrize(
    "columns", [40, 120, *(pytest.param(columns, marks=pytest.mark.long) for columns in (60, 80, 100, 130, 200))]
)
def test_nothing_of_the_nodes_is_cut_off_at_any_width(columns, cli, model, kernel_target):
    base, head, path = kernel_target("right"), kernel_target("pads_with_zero"), model(zoo.plain())
    for arguments in (("-t", head), ("-t", base, "-t", head), ("--base", base, "--head", head)):
        done = cli("model", path, *arguments, COLUMNS=str(columns))
        section = done.out.partition("judged by")[2].partition("WRONG  y-pad")[0]
        expected = ["GR2", "y-pad-value", *(["conforms"] if base in arguments else [])]
        expected += ["base", "head", "decision", "BLOCK"] if "--base" in arguments else []
        assert [text for text in expected if text not in section] == []
