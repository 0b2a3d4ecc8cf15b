"""``model``: the MaxPool nodes of a user's model on targets; and what of it was not tested, which never conforms."""

import gzip
import json
import re
import resource
import subprocess
import sys

import junitparser
import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper

from maxpool_check.models.model_file import read_model
from maxpool_check.results.outcomes import TimedOut
from maxpool_check.results.storage import read
from maxpool_check.targets.session import TargetSession
from tests.conftest import KERNELS, ROOT, command, environment, known_defect, on_a_terminal, reports_in
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


SMALL = """g (float[{}, 1, 5, 5] x) => (float[n, 1, h, w] y) {{ [pool] y = MaxPool <kernel_shape = [2, 2], pads = [1, 1, 1, 1]> (x) }}"""
BEFORE_313 = pytest.mark.skipif(sys.version_info >= (3, 13), reason="Python 3.13 takes this pattern")
RELU = "g (float[1,3,8,8] x) => (float[a,b,c,d] y) { y = Relu(x) }"
SPECIAL = "\nSAFE  no change on finite values, nor on values that flow, in 3 executions"
SIZES = "--shape batch=2 --shape height=9 --shape width=9"


@pytest.mark.parametrize(
    ("made", "arguments", "code", "texts"),
    [
        (zoo.sppf, f"-t {RIGHT}", 0, ["\nCONFORMS  of 3 MaxPool nodes, 3 conform on python:"]),
        (zoo.exposed, f"-t {SEED}", 0, ["Wrong on special values alone", "1 conforms except on special values"]),
        (zoo.dynamic, f"-t {SEED} --strict --input-range X=-1:1", 0, ["\nCONFORMS  of 1"]),
        (zoo.exposed, f"-t {SEED} --strict", 1, ["WRONG  y-lowest-for-neg-inf"]),
        (zoo.plain, f"-t python:{KERNELS}:refuses_everything", 1, ["\nREFUSED"]),
        (zoo.plain, f"-t python:{KERNELS}:misspells_a_name", 3, ["\nINCOMPLETE"]),
        (lambda: written(RELU), f"-t {RIGHT}", 4, ["NOTHING COMPARED  there is no MaxPool in model.onnx"]),
        (zoo.sppf, "--shape batch=0", 4, ["\nNOTHING COMPARED  no result could be compared", "its input has no cells"]),
        (zoo.dynamic, f"-t {RIGHT} {SIZES}", 0, ["[2*, 8, 9*, 9*]", "sizes that the model leaves open (*) are"]),
        (zoo.exposed, f"--base {RIGHT} --head {SEED} --strict", 1, ["\nBLOCK"]),
        (zoo.plain, f"--base {ZERO} --head {RIGHT}", 0, ["\nREVIEW"]),
        (zoo.plain, f"--base {RIGHT} --head {ALONE}", 0, ["\nSAFE"]),
        (zoo.plain, f"--base {RIGHT} --head {ALONE} --spec sonnx", 1, ["\nOUTSIDE PROFILE, SAFE"]),
        (zoo.exposed, f"--base {RIGHT} --head {SEED}", 0, [SPECIAL, "2 changes on special values, which --strict"]),
    ],
)
def test_what_is_said_of_the_nodes(cli, model, made, arguments, code, texts):
    done = cli("model", model(made()), *arguments.split(), COLUMNS="160")
    assert (done.code, done.err) == (code, ""), done.out
    assert [text for text in texts if text not in f"\n{done.out}"] == []


def test_a_node_is_tested_on_a_target_without_graphs_beside_one_that_takes_the_model(cli, model):
    done = cli("model", model(zoo.plain(opset=18)), "-t", "onnxruntime", "-t", RIGHT, "-t", ZERO, "--report", "json")
    ((node,),) = (each["nodes"] for each in done.json["models"])
    assert [each["state"] for each in node["targets"].values()][1:] == ["conforms", "WRONG"]


def test_where_several_sizes_are_right_a_report_says_who_has_which(cli, model):
    text = """g (float[1, 2, 5, 5] x) => (float[1, 2, 3, 3] y)
        { [pool] y = MaxPool <kernel_shape = [2, 2], strides = [3, 3], pads = [1, 1, 1, 1], ceil_mode = 1> (x) }"""
    done = cli("model", model(written(text, onnx=18)), "-t", "onnxruntime", "--report", "json")
    ((node,),) = (each["nodes"] for each in done.json["models"])
    several = "the text can be read in several ways here, with an output of 2x2 or 3x3"
    assert f"{several}; 2x2: onnxruntime; 3x3: the shapes stored in the file" in node["open_points"]


def test_what_is_wrong_on_finite_values_is_in_every_report_and_in_the_record(cli, model, tmp_path):
    path = model(zoo.plain())
    done, texts = reported(tmp_path, path, "-t", ZERO)
    assert done.code == json.loads(texts["json"])["exit_code"] == 1
    for text in ("WRONG  y-pad-value-leak  wrong-on-finite  pool on", "expected -", ", got 0.0"):
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


def test_json_has_every_node_and_fault(cli, model):
    done = cli("model", model(zoo.unnamed()), "-t", SEED, "--report", "json")
    document = done.json
    assert (document["schema"], document["exit_code"]) == ("maxpool-check/model/2", 0)
    assert document["result"] == "CONFORMS ON FINITE VALUES"
    (of,) = document["models"]
    assert of["nodes"][3]["untested"] == "not judged: another operator than MaxPool"
    assert states(done) == {"A": "special", "C": "special", "D": "special", "Y": "untested"}
    assert {each["status"] for each in document["faults"]} == {"special"}
    examples = {each["example"]["case"].rpartition("/")[2] for each in document["faults"]}
    assert examples <= {"lowest", "neg-inf", "nan", "extremes"}
    named = {name for node in of["nodes"] for result in node["targets"].values() for name in result["faults"]}
    assert named == {each["name"] for each in document["faults"]}


def test_only_a_file_of_the_user_accepts_what_is_wrong(cli, model, tmp_path):
    path, record, known = model(zoo.dynamic()), tmp_path / "r.jsonl", tmp_path / "k.yaml"
    accept = ("defects", "accept", record, "--author", "Ada", "--reason", "Reviewed.", "-o", known)
    # What is wrong on special values alone has not failed.
    assert cli("model", path, "-t", SEED, "-o", record).code == 0
    assert cli(*accept).out == "no unexpected divergences\n"
    assert not known.exists()
    assert cli("model", path, "-t", SEED, "--strict", "-o", record).code == 1
    assert cli(*accept).code == 0
    done = cli("model", path, "-t", SEED, "--strict", "--known", known).check(0)
    assert done.out.splitlines()[-1].startswith("ACCEPTED  ")
    # A defect, even one of the user, explains and accepts nothing.
    known.write_text(known_defect("zeros", ["model:pool/*"], ["y-pad-value-leak"]))
    done = cli("model", model(zoo.plain()), "-t", ZERO, "--known", known, "--report", "json")
    assert (done.code, set(states(done).values())) == (1, {"WRONG"})
    assert "WRONG  zeros" in cli("model", tmp_path / "model.onnx", "-t", ZERO, "--known", known).out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--base onnxruntime", "--base and --head belong together"),
        ("--base onnxruntime --head onnxruntime", "the base and the head are the same"),
        ("--shape batch", "is not NAME=SIZES"),
        ("--shape depth=3", "--shape names depth; the inputs and their dimensions are"),
        ("--cases c.yaml -o r.jsonl", "takes no -o, no --report and no --input-range"),
        ("model.onnx", "model.onnx is named twice"),
        ("modle.onnx", "not found (did you mean 'model.onnx'?)"),
        ("empty", "empty: no .onnx file is in this folder"),
        ("*.ort", "*.ort matches no file"),
        pytest.param("**.onnx", "**.onnx: Invalid pattern", marks=BEFORE_313),
        ("*.onnx ./model.onnx", "model.onnx is named twice"),
        ("my-model.onnx my?model.onnx", "begin with 'my-model:'; rename a file"),
        ("my-model.onnx --shape depth=3", "--shape names depth, which no model has as an input or a dimension"),
        ("my-model.onnx --repair repaired.onnx", "--repair writes one model; name one of the 2"),
        ("--inputs right.npz --shape batch=3", "--shape gives 'batch' another one"),
        ("--inputs other.npz", "has other, which the model does not take and lacks"),
        ("--inputs rank.npz", "has the shape [2, 3, 20], the model takes float32"),
    ],
)
def test_wrong_options(arguments, message, cli, model, tmp_path):
    (tmp_path / "empty").mkdir()
    for other in ("my-model.onnx", "my model.onnx"):
        model(written(RELU), other)
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
        record = tmp_path / "record.jsonl"
        done = cli("model", model(made), "--inputs", tmp_path / inputs, "--report", "json", "-o", record).check(0)
        assert "random" not in done.out
        assert any("/in-place/flows" in each.case for each in read(record).executions)


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
def test_the_installed_onnx_runtime_is_tested_with_each_sort_of_model(made, cli, model, tmp_path):
    record = tmp_path / "record.jsonl"
    done = cli("model", model(made()), "--report", "json", "-o", record)
    assert done.code in ((3,) if made is zoo.custom_operator else (0, 1)), done.err
    assert set(states(done).values()) <= {"conforms", "special", "WRONG"}
    hows = {each.case.rsplit("/", 2)[1] for each in read(record).executions}
    in_place = made not in (zoo.in_if, zoo.custom_operator)
    assert ("in-place" in hows) == in_place
    assert bool(done.json["models"][0]["not_run_as_a_model"]) != in_place


@pytest.mark.network
def test_the_pad_fold_is_named_where_it_is_and_blocks_the_upgrade_to_it(cli, model):
    path = model(zoo.resnet_v2(), "resnet50v2.onnx")
    old, new = "onnxruntime==1.24.4", "onnxruntime==1.31.1"
    wrong = f"WRONG  ORT-PAD-FOLDED  wrong-on-finite  resnet50v2/pool1_pool/MaxPool on {new}"
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
def test_real_models_conform_on_what_flows_in_them(name, cli, tmp_path):
    path = from_wheel(*WHEELS[name]) if name in WHEELS else zoo.light(name)
    record = tmp_path / "record.jsonl"
    done = cli("model", path, "-t", "onnxruntime==1.31.1", "--report", "json", "-o", record)
    assert (done.code, done.json["models"][0]["not_run_as_a_model"]) == (0, {}), done.err
    flowing = [each for each in read(record).executions if "/in-place/" in each.case]
    assert {each.verdict.value for each in flowing} == {"conforms"}


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


@pytest.fixture
def folder(tmp_path):
    """A folder of models, of which one has test data next to it and one no MaxPool, and hidden files; its path."""
    names = ("a/x/model", "b/x/model", "b/y/model", "b/x/.hidden", ".git/model")
    for name in names:
        (path := tmp_path / f"models/{name}.onnx").parent.mkdir(parents=True, exist_ok=True)
        saved(written(SMALL.format("batch" if name == "b/y/model" else 1)), path.parent, path.name)
    saved(written(RELU), tmp_path / "models/b", "relu.onnx")
    (tmp_path / "models/b/x/test_data_set_0").mkdir()
    (tmp_path / "models/b/again").symlink_to("../b")
    return tmp_path / "models"


@pytest.mark.parametrize(
    ("named", "found"),
    [
        ("models", ["a/x/model", "b/relu", "b/x/model", "b/y/model"]),
        ("models/**/mod*.onnx", ["a/x/model", "b/x/model", "b/y/model"]),
        (
            "models/b/[xy]/* models models/a/../a models/a/x/model.onnx",
            ["b/x/model", "b/y/model", "a/x/model", "b/relu"],
        ),
        ("models/.git models/b/x/.hidden.onnx", [".git/model", "b/x/.hidden"]),
    ],
)
def test_folders_and_patterns_stand_for_the_models_in_them(named, found, cli, folder, tmp_path):
    for words in (named.split(), [tmp_path / word for word in named.split()]):
        done = cli("model", *words, "-t", RIGHT, "--report", "json", "-o", folder / "r.jsonl", cwd=folder.parent).check(
            0
        )
        paths = [(tmp_path / each["path"]).resolve() for each in done.json["models"]]
        assert paths == [(folder / f"{name}.onnx").resolve() for name in found]
        assert read(folder / "r.jsonl").header.command[2] == str(words[0])


def test_models_of_one_name_are_told_apart(cli, folder):
    done = cli("model", folder, "-t", ZERO, "--report", "json", "-o", folder / "r.jsonl").check(1)
    ids = [node["id"] for each in done.json["models"] for node in each["nodes"]]
    assert ids == ["a/x/model:pool", "b/x/model:pool", "y/model:pool"]
    assert {each.case.rsplit("/", 2)[0] for each in read(folder / "r.jsonl").executions} == {*ids}


def test_a_model_without_a_pool_is_named_and_sizes_are_those_of_some_models(cli, folder):
    for targets in (("-t", RIGHT), ("--base", RIGHT, "--head", RIGHT.replace(":right", ":y_alone"))):
        done = cli("model", folder, *targets, "--shape", "batch=2", COLUMNS="300").check(0)
        assert "; no MaxPool in relu.onnx" in done.out.splitlines()[-1]
        assert ("[2*, 1," in done.out, "[1, 1," in done.out) == (True, True)


def test_the_command_that_reproduces_a_node_has_the_sizes_of_its_model(cli, folder):
    done = cli("model", folder, "-t", ZERO, "--shape", "batch=2", COLUMNS="300").check(1)
    (following,) = re.findall("maxpool-check repro .*", done.out)
    assert ("/y/model.onnx:" in following) == ("--shape batch=2" in following)


def test_a_node_of_a_model_with_test_data_next_to_it_is_explained_and_reproduced(cli, folder):
    case = f"{folder}/b/x/model.onnx:pool/alone/negative"
    assert cli("explain", case).code == 0
    cli("repro", case, "-t", ZERO, "-o", folder / "repro").check(0, "y-pad-value-leak of ")


def test_each_file_of_a_folder_that_cannot_be_used_is_said_and_nothing_is_tested(cli, folder):
    (folder / "a/text.onnx").write_text("Not a model.")
    (folder / "c.onnx").symlink_to("nowhere.onnx")
    done = cli("model", folder, "-t", RIGHT)
    assert (done.code, done.out) == (2, "")
    first, second, last = done.err.splitlines()
    assert first.startswith(f"{folder}/a/text.onnx: not an ONNX model")
    assert (second, last) == (f"File '{folder}/c.onnx' not found", "2 problems; there are no results")


@pytest.mark.parametrize("targets", [("-t", ZERO), ("--base", RIGHT, "--head", ZERO)])
def test_each_node_that_fails_is_annotated_at_its_model(targets, cli, folder):
    hostile = written(SMALL.format(1))
    hostile.graph.node[0].name = "\n::error::a,b%\x1b[0m\u202e"
    saved(hostile, folder, "c.onnx")
    words = ("--report", f"github={folder / 'github'}", "-o", folder / "r.jsonl")
    done = cli("model", "models", *targets, *words, cwd=folder.parent, GITHUB_ACTIONS="true").check(1)
    found = [line for line in done.out.splitlines() if line.startswith("::")]
    places = [re.match("::error file=([^,:]+),title=([^,:]+)::", line).groups() for line in found]
    assert [path for path, _ in places] == [
        f"models/{name}.onnx" for name in ("a/x/model", "b/x/model", "b/y/model", "c")
    ]
    what = "BLOCK" if "--base" in targets else "y-pad-value-leak"
    assert all(title.startswith(f"{what}%3A ") for _, title in places)
    for line, name in zip(found, ("a/x/model", "b/x/model", "y/model", "c"), strict=True):
        lines = line.split("%0A")
        assert any(each.startswith("WRONG  y-pad-value-leak") for each in lines)
        assert [each.strip().partition(":")[0] for each in lines if each.endswith("(y-only)")] == [name]
        assert any("expected -" in each for each in lines)
        assert lines[-1].startswith(f"accept: maxpool-check defects accept {folder}/r.jsonl -o accepted.yaml ")
    assert not {"\x1b", "\u202e"} & set(done.out)


def test_what_makes_a_model_incomplete_is_annotated(cli, tmp_path):
    path = external.external_missing(tmp_path)
    done = cli("model", path, "-t", RIGHT, "--report", f"github={tmp_path / 'github'}", GITHUB_ACTIONS="true").check(3)
    (line,) = (line for line in done.out.splitlines() if line.startswith("::"))
    assert line.startswith(f"::error title=incomplete::{path}: ")


def test_what_flows_in_a_model_is_reproduced_without_it(cli, model, tmp_path):
    # float16 between casts: the runtime computes in float32.
    path = model(zoo.half_between_casts())
    cli("model", path, "-t", "onnxruntime").check(1, "WRONG  ORT-CASTS-REMOVED  wrong-on-finite  pool on onnxruntime")
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
    labels = {1: "EXCLUDED", 4: "NOTHING COMPARED  no result could be compared"}
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
        (("-t", "onnxruntime"), "CONFORMS ON FINITE VALUES  of 1 MaxPool node, 1 conforms"),
        (("--base", "onnxruntime", "--head", f"onnxruntime?python={sys.executable}"), "SAFE "),
    ):
        for allow, code, last in (((), 3, "INCOMPLETE "), (("--allow-incomplete",), 0, label)):
            done = cli("model", path, *targets, *allow, "-o", record)
            assert done.code == code
            assert [line for line in done.out.splitlines() if line.startswith(last)] != []
            assert "the target refuses it: " in done.out
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
    assert "\nCONFORMS ON FINITE VALUES  of 1 MaxPool node, 1 conforms" in done.stdout


def test_external_values_of_inner_graphs_and_nodes_are_sent_along(cli, tmp_path):
    model = zoo.in_if()
    for branch in (attribute.g for node in model.graph.node for attribute in node.attribute if attribute.g.node):
        source = branch.node[-1].input[0]
        branch.node[-1].input[0] = less = f"{branch.name}_less"
        branch.node.insert(len(branch.node) - 1, helper.make_node("Sub", [source, branch.name], [less]))
        one = helper.make_tensor(branch.name, TensorProto.FLOAT, [1], np.ones(1, np.float32).tobytes(), raw=True)
        branch.initializer.append(one)
        (tmp_path / "ones.bin").write_bytes(keep_outside(branch, branch.name, "ones.bin"))
    cli("model", saved(model, tmp_path), "-t", "onnxruntime", COLUMNS="160").check(0, "\nCONFORMS ON FINITE VALUES  ")


UNBATCHED = "g (float[1,6,8] x) => (float[1,6,8] y) {{ {0} }}"
POOL = "MaxPool <kernel_shape = [3, 3], pads = [1, 1, 1, 1]>"


@pytest.mark.parametrize(("opset", "text", "why", "fixed_opset", "fixed"), [
    (
        11, UNBATCHED.format(f"[p] y = {POOL} (x)"), "Fix: X lacks its batch axis: put Unsqueeze with the axis 0 in front of the node",
        11, UNBATCHED.format(f"a = Unsqueeze <axes = [0]> (x) b = {POOL} (a) y = Squeeze <axes = [0]> (b)"),
    ),
    (
        8, "g (float[1,1,4,4] x) => (float[1,1,2,2] y) { [p] y = MaxPool <kernel_shape = [3, 3], dilations = [1, 1]> (x) }",
        "Fix: remove dilations, which has its default value; or convert the model to operator set 10 or later",
        8, "g (float[1,1,4,4] x) => (float[1,1,2,2] y) { y = MaxPool <kernel_shape = [3, 3]> (x) }",
    ),
    (
        8, "g (float[1,1,5,5] x) => (float[1,1,1,1] y) { [p] y = MaxPool <kernel_shape = [3, 3], dilations = [2, 2]> (x) }",
        "has no attribute 'dilations' [ONNX MaxPool-8, Attributes]. Fix: convert the model to operator set 10 or later",
        10, "g (float[1,1,5,5] x) => (float[1,1,1,1] y) { y = MaxPool <kernel_shape = [3, 3], dilations = [2, 2]> (x) }",
    ),
    (
        11, "g (int8[1,1,4,4] x) => (int8[1,1,2,2] y) { [p] y = MaxPool <kernel_shape = [3, 3]> (x) }",
        "Fix: convert the model to operator set 12 or later",
        12, "g (int8[1,1,4,4] x) => (int8[1,1,2,2] y) { y = MaxPool <kernel_shape = [3, 3]> (x) }",
    ),
])  # fmt: skip
def test_an_excluded_node_has_its_reason_and_a_fix_with_which_the_model_conforms(
    cli, tmp_path, opset, text, why, fixed_opset, fixed
):
    path = saved(written(text, onnx=opset), tmp_path)
    done = cli("model", path, "-t", "onnxruntime").check(1)
    assert why in " ".join(done.out.split())
    assert done.out.splitlines()[-1].startswith("EXCLUDED  ")
    for words in (("explain", f"{path}:p"), ("repro", f"{path}:p", "-t", "onnxruntime", "-o", tmp_path / "repro")):
        cli(*words).check(2, f"'p' is not tested: ONNX MaxPool-{opset} excludes it: ", why)
    cases = cli("model", path, "--cases", tmp_path / "cases.yaml")
    assert why in cases.err
    cli("model", saved(written(fixed, onnx=fixed_opset), tmp_path, "fixed.onnx"), "-t", "onnxruntime").check(0)


@pytest.mark.parametrize(("data", "what"), [
    (b"version https://git-lfs.github.com/spec/v1\noid sha256:1\nsize 9\n", "a pointer of Git LFS; 'git lfs pull' fetches the file"),
    (b"\x18\x00\x00\x00ORTM\x00\x00", "a model in ORT format; name the .onnx file that it was made from"),
    (gzip.compress(b"x", mtime=0), "a file that gzip compressed; unpack it"),
    (b"\x10\x00\x00\x00\x00\x00\x00\x00{\"w\":{}}", "a file of safetensors, which holds weights and no graph"),
])  # fmt: skip
def test_another_format_is_named(cli, tmp_path, data, what):
    path = tmp_path / "model.onnx"
    path.write_bytes(data)
    cli("model", path, "-t", "onnxruntime").check(2, f"{path}: not an ONNX model, but {what}")


def test_a_node_that_an_optimizer_made_is_named(cli, tmp_path):
    """A model that ONNX Runtime optimized offline has a MaxPool in blocks of channels, which no document defines."""
    options = onnxruntime.SessionOptions()
    options.optimized_model_filepath = str(tmp_path / "optimized.onnx")
    text = """g (float[1,16,8,8] x) => (float[1,16,4,4] out) {
        c = Conv <kernel_shape = [1, 1]> (x, w)
        p = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (c)
        out = Conv <kernel_shape = [1, 1]> (p, w)
    }"""
    plain = saved(written(text, weights={"w": (16, 16, 1, 1)}, onnx=22), tmp_path)
    onnxruntime.InferenceSession(str(plain), options, providers=["CPUExecutionProvider"])
    done = cli("model", options.optimized_model_filepath, "-t", "onnxruntime", COLUMNS="250").check(4)
    assert (
        "no MaxPool in optimized.onnx is judged: 'p_nchwc' is not judged: ONNX Runtime's optimizer made it, so test the model from before"
        in " ".join(done.out.split())
    )


CHANNELS_LAST = """g (float[N,H,W,3] x) => (float[N,3,h,w] out) {
    t = Transpose <perm = [0, 3, 1, 2]> (x)
    out = MaxPool <kernel_shape = [3, 3], strides = [2, 2]> (t)
}"""
BAKED = """g (float[batch,2,seq] x) => (float[2] r) {
    out = MaxPool <kernel_shape = [10]> (x)
    r = Reshape (out, shape)
}"""


def test_open_sizes_of_channels_last_are_those_of_an_image(cli, tmp_path):
    done = cli("model", saved(written(CHANNELS_LAST, onnx=13), tmp_path), "-t", "onnxruntime").check(0)
    assert "N=1, H=64, W=64; --shape N=N --shape H=N --shape W=N sets them" in " ".join(done.out.split())


def test_sizes_that_were_chosen_may_be_why_a_model_does_not_run(cli, tmp_path):
    """A Reshape to the size that a tracer saw: with another one the model cannot run, and the option that helps is named."""
    path = saved(written(BAKED, weights={"shape": np.array([2], np.int64)}, onnx=13), tmp_path)
    done = cli("model", path, "-t", "onnxruntime").check(3)
    assert "batch=1, seq=64 may be why: --shape batch=N --shape seq=N" in " ".join(done.out.split())
    cli("model", path, "-t", "onnxruntime", "--shape", "seq=10").check(0)


@pytest.mark.parametrize("text", [
    # A shape is wrong, whatever X holds.
    "g (float[1,1,4] x) => (float[1,1,n] y) { [p] y = MaxPool <kernel_shape = [3], strides = [2], dilations = [2]> (x) }",
    "g (float[1,1,9,9] x) => (float[1,1,a,b] y) { [p] y = MaxPool <kernel_shape = [3, 3], dilations = [2, 2], auto_pad = \"SAME_UPPER\"> (x) }",
])  # fmt: skip
def test_a_fault_that_ordinary_values_show_is_not_special(cli, tmp_path, text):
    record = tmp_path / "record.jsonl"
    done = cli("model", saved(written(text, onnx=11), tmp_path), "-t", "onnxruntime", "-o", record).check(1)
    assert "on special values alone" not in done.out.lower()
    faulty = [each for each in read(record).executions if each.verdict == "diverges"]
    assert {each.status for each in faulty} == {"new"}
    assert {case.case.rpartition("/")[2] for case in faulty} > {"distinct"}


def test_a_terminal_shows_what_is_read_run_and_tested_and_how_many_are_left():
    shown = "".join(on_a_terminal(120, "model", zoo.light("squeezenet"), stream="stderr", TERM="xterm"))
    phases = "reading.*?0/1.*starting onnxruntime.*running light_squeezenet on onnxruntime at [a-z]+.*?/10"
    assert re.search(rf"{phases}.*testing light_squeezenet:n32.*?(\d+)/\1\b", shown, re.DOTALL)


def test_models_whose_nodes_are_not_in_order_are_tested_and_repaired(cli, tmp_path):
    """ONNX Runtime runs them, whatever ONNX demands; a repaired file is in order."""
    plain = zoo.plain()
    turned = zoo.plain()
    del turned.graph.node[:]
    turned.graph.node.extend(reversed(plain.graph.node))
    done = cli("model", saved(turned, tmp_path), "-t", "onnxruntime").check(0)
    in_order = cli("model", saved(plain, tmp_path, "sorted.onnx"), "-t", "onnxruntime").check(0)
    assert "its nodes are not in the order that ONNX demands" in " ".join(done.out.split())
    assert done.out.splitlines()[-2:] == in_order.out.splitlines()[-2:]
    assert onnx_nodes(read_model(tmp_path / "model.onnx").proto) == onnx_nodes(plain)


def onnx_nodes(model):
    return sorted(node.SerializeToString() for node in model.graph.node)


def test_a_type_that_contradicts_the_inputs_is_named(cli, tmp_path):
    text = "g (float[1,2,8,8] x) => (float[1,2,h,w] y) <float[1,2,10,10] t> { t = Identity (x) [p] y = MaxPool <kernel_shape = [2, 2]> (t) }"
    done = cli("model", saved(written(text, onnx=13), tmp_path), "-t", "onnxruntime").check(0)
    said = " ".join(done.out.split())
    assert (
        "p: the model declares its input as float32 [1, 2, 10, 10]; from the inputs of the model follows float32 [1, 2, 8, 8]"
        in said
    )
    assert "leaves open" not in said


def test_a_generator_of_code_for_known_sizes_gets_the_sizes_that_were_chosen(cli, tmp_path):
    text = "g (float[N,3,H,W] x) => (float[N,3,h,w] y) { r = Relu (x) p = MaxPool <kernel_shape = [2, 2]> (r) y = Sigmoid (p) }"
    done = cli("model", saved(written(text, onnx=13), tmp_path), "-t", "emx-onnx-cgen==1.4.0").check(0)
    assert "refuses open sizes: those that are tested are written into what it gets" in " ".join(done.out.split())


def test_a_report_without_any_target_says_which_is_missing(cli, model):
    cli("model", model(zoo.plain()), "-t", "tensorflow").check(3, "INCOMPLETE  tensorflow cannot be started")


HALF = """g (float16[1,3,16,16] x) => (float16[1,16,1,1] y) {
    c = Conv <kernel_shape = [3, 3], pads = [1, 1, 1, 1]> (x, w, b)
    n = BatchNormalization (c, scale, bias, mean, variance)
    [p] m = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (n)
    y = GlobalAveragePool (m)
}"""


@pytest.mark.parametrize("seed", range(8))
def test_rounding_of_other_nodes_is_not_laid_to_maxpool(seed, cli, tmp_path):
    """With the right results of MaxPool as inputs, Conv and BatchNormalization are no longer fused, and round otherwise."""
    random = np.random.default_rng(seed)
    shapes = {"w": (16, 3, 3, 3), "b": 16, "scale": 16, "bias": 16, "mean": 16}
    weights = {name: random.normal(size=shape).astype(np.float16) for name, shape in shapes.items()}
    weights["variance"] = random.uniform(0.5, 2, 16).astype(np.float16)
    model = written(HALF, weights, onnx=17)
    cli("model", saved(model, tmp_path), "-t", "onnxruntime", "--input-range", "x=-4:4").check(0)


def test_quantized_nodes_that_round_otherwise_are_named_and_do_not_fail(cli, tmp_path):
    """Outputs of a quantized model differ between levels by steps of a tensor; given these, MaxPool is right."""
    text = """g (float[1,3,16,16] x) => (float[1,8,8,8] y) {
        xq = QuantizeLinear (x, s, z) xd = DequantizeLinear (xq, s, z)
        wd = DequantizeLinear (wq, t, z)
        c = Conv <kernel_shape = [3, 3], pads = [1, 1, 1, 1]> (xd, wd)
        cq = QuantizeLinear (c, s, z) cd = DequantizeLinear (cq, s, z)
        [p] m = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (cd)
        mq = QuantizeLinear (m, s, z) md = DequantizeLinear (mq, s, z)
        v = DequantizeLinear (vq, t, z)
        y = Conv <kernel_shape = [3, 3], pads = [1, 1, 1, 1]> (md, v)
    }"""
    random = np.random.default_rng(3)
    weights = {"s": np.float32(0.02), "t": np.float32(0.01), "z": np.uint16(32768)}
    weights |= {
        name: random.integers(0, 65535, shape, np.uint16)
        for name, shape in (("wq", (8, 3, 3, 3)), ("vq", (8, 8, 3, 3)))
    }
    done = cli("model", saved(written(text, weights, onnx=21), tmp_path), "-t", "onnxruntime").check(0)
    assert "wrong" not in done.out.split("Wrong on special")[0]


@pytest.mark.parametrize(("opset", "text", "why"), [
    (
        7, "g (float[1,1,4,4] x) => (float[1,1,h,w] y) { [p] y, i = MaxPool <kernel_shape = [2, 2]> (x) }",
        "it has Indices, and this version has Y alone [ONNX MaxPool-1, Outputs]. Fix: convert the model to operator set 8 or later",
    ),
    (
        13, "g (float[1,1,4,4] x, float[1,1,4,4] b) => (float[1,1,h,w] y) { [p] y = MaxPool <kernel_shape = [2, 2]> (x, b) }",
        "it takes 2 inputs; MaxPool takes one [ONNX MaxPool-12, Inputs]",
    ),
    (
        13, "g (float[4,4] x) => (float[h,w] y) { [p] y = MaxPool <kernel_shape = [2, 2]> (x) }",
        "Fix: X lacks its batch and channel axes: put Unsqueeze with the axes 0 and 1 in front of the node",
    ),
    (
        13, "g (float[1,1,4,4] x) => (float[1,1,h,w] y) { [p] y = MaxPool <kernel_shape = [2, 2], pads = [1, 1]> (x) }",
        "Fix: write pads as [1, 1, 1, 1], if that is what is meant",
    ),
])  # fmt: skip
def test_a_node_with_what_its_document_lacks_is_excluded(cli, tmp_path, opset, text, why):
    done = cli("model", saved(written(text, onnx=opset), tmp_path), "-t", "onnxruntime").check(1)
    assert why in " ".join(done.out.split())
    assert done.out.splitlines()[-1].startswith("EXCLUDED  ")


def test_a_refusal_of_the_file_is_said_once_and_laid_to_no_node(cli, tmp_path):
    """ONNX Runtime refuses two nodes of one name, whichever these are."""
    model = zoo.sppf()
    for node in model.graph.node:
        node.name = "twice"
    done = cli("model", saved(model, tmp_path), "-t", "onnxruntime", COLUMNS="300").check(3)
    assert done.out.partition("\nINCOMPLETE")[0].count("two nodes with same node name") == 1
    assert "REFUSED" not in done.out


def test_an_input_that_cannot_be_fed_is_named(cli, tmp_path):
    model = written(
        "g (float[1,1,4,4] x) => (float[1,1,h,w] y) { [p] y = MaxPool <kernel_shape = [2, 2]> (x) }", onnx=13
    )
    model.graph.input.append(helper.make_tensor_value_info("words", TensorProto.STRING, [2]))
    done = cli("model", saved(model, tmp_path), "-t", "onnxruntime").check(3)
    assert (
        "the input 'words' is of string, which cannot be fed; with --allow-incomplete, the nodes alone count"
        in " ".join(done.out.split())
    )
    assert "words=0:1" not in done.out


def test_a_runtime_that_refuses_open_sizes_gets_those_that_are_tested(cli, tmp_path):
    """tract is told the sizes of inputs before it loads a model; those without a name in the file it refuses."""
    model = written(
        "g (float[1,3,8,8] x) => (float[1,3,4,4] y) { [p] y = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (x) }",
        onnx=17,
    )
    for axis in (0, 2, 3):
        model.graph.input[0].type.tensor_type.shape.dim[axis].Clear()
        model.graph.output[0].type.tensor_type.shape.dim[axis].Clear()
    done = cli("model", saved(model, tmp_path), "-t", "tract==0.23.9").check(0)
    assert "tract==0.23.9 refuses open sizes: those that are tested are written into what it gets" in " ".join(
        done.out.split()
    )


def test_no_copy_is_written_of_a_model_with_an_excluded_node(cli, tmp_path):
    path, out = saved(written(UNBATCHED.format(f"[p] y = {POOL} (x)"), onnx=11), tmp_path), tmp_path / "out.onnx"
    done = cli("model", path, "-t", "onnxruntime", "--repair", out).check(1)
    assert "No rewrite is known for a node that its document excludes: no file was written." in " ".join(
        done.out.split()
    )
    assert not out.exists()


def test_a_shape_of_y_that_the_file_declares_otherwise_is_named(cli, tmp_path):
    """As a MaxPool whose kernel was traced, or whose pads were lost."""
    text = "g (float[b,8,L] x) => (float[b,8,1] y) { [p] y = MaxPool <kernel_shape = [12], strides = [12]> (x) }"
    done = cli("model", saved(written(text, onnx=17), tmp_path), "-t", "onnxruntime").check(0)
    assert "p: the file declares Y as float32 [b, 8, 1]; at the tested sizes, the node computes [1, 8, 5]" in " ".join(
        done.out.split()
    )
    fitting = cli("model", tmp_path / "model.onnx", "-t", "onnxruntime", "--shape", "L=12").check(0)
    assert "the file declares Y" not in fitting.out


def test_a_folder_of_models_is_no_corpus_and_says_what_tests_it(cli, model, tmp_path):
    model(zoo.plain(), "pool.onnx")
    for words in (("run", tmp_path), ("gate", tmp_path, "--base", RIGHT, "--head", SEED)):
        cli(*words).check(2, f"maxpool-check model {tmp_path} tests the MaxPool nodes of models")
