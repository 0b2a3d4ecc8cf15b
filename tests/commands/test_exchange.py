"""``cases export`` and ``import``: the same bytes every time, nothing overwritten that is not its own, and clear errors."""

import hashlib
import json
import re
import shlex
import shutil
from pathlib import Path

import pytest
from onnx import helper

from tests.conftest import KERNELS, ROOT
from tests.corpus.test_importers import INDICES, SAMPLES, X, Y, changed, model, stored, tree

FORMS = ("json", "onnx-testdata")


def last(text):
    return text.splitlines()[-1]


@pytest.mark.parametrize("form", FORMS)
def test_the_same_cases_give_the_same_bytes(process, cli, small, tmp_path, form):
    for number in (1, 2):
        folder = tmp_path / f"{'deep/' * number}{number}"
        folder.parent.mkdir(parents=True, exist_ok=True)
        paths = [small, "corpus:contexts/inside", "corpus:edge/nan"]
        assert process("cases", "export", form, *paths, "-o", folder, PYTHONHASHSEED=str(number)).code == 0
    assert tree(tmp_path / "deep/1") == tree(tmp_path / "deep/deep/2")
    # A file alone has the same tests.
    assert cli("cases", "export", form, small, "-o", tmp_path / "alone").code == 0
    manifest = json.loads((tmp_path / "alone/manifest.json").read_text())
    assert manifest["format"] == ("vectors" if form == "json" else form)
    for name, digest in manifest["files"].items():
        assert hashlib.sha256((tmp_path / "alone" / name).read_bytes()).hexdigest() == digest


def test_an_earlier_export_is_replaced_as_a_whole(cli, small, tmp_path):
    (tmp_path / "out/.git").mkdir(parents=True)
    (tmp_path / "out/.git/config").write_text("mine")
    assert cli("cases", "export", "json", small, "corpus:edge/ties-sonnx", "-o", tmp_path / "out").code == 0
    for again in ("json", "onnx-testdata", "json"):
        export = ("cases", "export", again, small, "-k", "ordinary", "-o")
        cli(*export, tmp_path / "out").check(0, "; the earlier export was replaced")
        cli(*export, tmp_path / "new" / again).check(0)
        assert tree(tmp_path / "out") == {**tree(tmp_path / "new" / again), Path(".git/config"): b"mine"}
    assert cli("cases", "export", "json", "corpus:edge/ties-sonnx", "-o", ".", cwd=tmp_path / "new/json").code == 0
    assert (tmp_path / "new/json/sonnx.json").exists()


def _changed(folder):
    files = [path for path in sorted(folder.rglob("*")) if path.suffix in (".json", ".onnx")]
    next(path for path in files if path.name != "manifest.json").write_text("{}")


def _climbing(folder):
    data = json.loads((folder / "manifest.json").read_text())
    (folder / "manifest.json").write_text(json.dumps({**data, "files": {**data["files"], "../corpus": ""}}))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda folder: (folder / "notes.txt").write_text("mine"), "notes.txt is not of the export in"),
        (_changed, "was changed after it was exported"),
        (lambda folder: (folder / "l.json").symlink_to(folder.parent / "corpus/small.yaml"), "l.json is not of the"),
        (lambda folder: (folder / "manifest.json").write_text('{"schema": "x"}'), "is no export of maxpool-check"),
        (_climbing, None),
    ],
)
def test_a_folder_with_other_things_is_refused(cli, small, tmp_path, form, spoil, message):
    assert cli("cases", "export", form, small, "-o", tmp_path / "out").code == 0
    spoil(tmp_path / "out")
    before, corpus = tree(tmp_path / "out"), tree(small)
    export = cli("cases", "export", form, small, "-k", "ordinary", "-o", tmp_path / "out")
    export.check(2 if message else 0, err=message)
    assert tree(small) == corpus
    assert not message or tree(tmp_path / "out") == before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("export json corpus -o corpus", "lies in corpus, which is to be written"),
        ("export json corpus -o mine", "mine is not empty and is no export of maxpool-check; name a new folder"),
        ("export json corpus -o file/out", "cannot write to file/out: Not a directory"),
        ("export json corpus -o out -k nothing", "nothing"),
        ("export kit -k edge/* -o out", "a kit takes no PATH and no -k"),
        ("export kit --spec onnx-10 -o out", "there is no kit for 'onnx-10'"),
        ("export json --spec onnx-22 -o out", "--spec, --dtype, --axes and --without are for a kit"),
        ("export json corpus:edge/large-indices -o out", "nothing was exported"),
        ("export onnx-testdata corpus -o out -k stride-0", "nothing was exported"),
        ("import onnx-backend . -o out", "takes no SRC"),
        ("import testgenonnx -o out", "needs SRC"),
        ("import testgenonnx SAMPLES -o mine", "was not written by"),
        ("import testgenonnx file -o out", "1 problem; nothing was imported"),
        ("import testgenonnx same -o out", "the id 'sonnx:a_b' is also used in"),
    ],
)
def test_usage(cli, small, tmp_path, arguments, message):
    for folder in ("mine", "same"):
        (tmp_path / folder).mkdir()
    for name in ("a b.json", "a_b.json"):
        changed(tmp_path / "same", name)
    (tmp_path / "mine/sonnx.yaml").write_text("cases: []\n")
    (tmp_path / "file").write_text("mine")
    cli("cases", *arguments.replace("SAMPLES", str(SAMPLES)).split(), cwd=tmp_path).check(2, message)
    assert not (tmp_path / "out").exists()
    assert (tmp_path / "mine/sonnx.yaml").read_text() == "cases: []\n"


def test_too_large_cases_are_left_out_by_name(cli, small, tmp_path):
    done = cli("cases", "export", "json", small, "corpus:edge/large-indices", "-o", tmp_path / "out")
    done.check(0, "6 of 9 cases", err="left out, a tensor of more than 131072 cells: 3 cases")
    left_out = json.loads((tmp_path / "out/manifest.json").read_text())["left_out"]
    assert {each["case"].partition(":")[0] for each in left_out} == {"edge/large-indices"}


def test_a_hostile_title_is_inert_in_the_files(cli, tmp_path):
    (tmp_path / "a.yaml").write_text(
        'cases:\n  - id: x\n    title: "\\e[2J \\"results\\":[{\\"windows\\": ##[error] \\x7f"\n'
        "    input: {dtype: float32, data: [[[1, 2]]]}\n    attributes: {kernel_shape: [2]}\n"
    )
    assert cli("cases", "export", "json", tmp_path / "a.yaml", "-o", tmp_path / "out").code == 0
    text = (tmp_path / "out/onnx-22.json").read_bytes()
    assert text.isascii()
    assert not {byte for byte in text if byte < 32} - {10}
    assert b"##[" not in text
    assert text.count(b'"results":[{"windows":') == 1
    (test,) = json.loads(text)["testGroups"][0]["tests"]
    assert test["title"].startswith("\x1b[2J")


def test_the_samples(cli, tmp_path):
    # Again: into another folder, and over itself.
    for folder in ("a", "b", "a"):
        done = cli("cases", "import", "testgenonnx", SAMPLES, "-o", tmp_path / folder)
        assert (done.code, done.err, last(done.out)) == (0, "", "3 written, 0 left out, 0 disagree")
    assert tree(tmp_path / "a") == tree(tmp_path / "b")
    file = next(SAMPLES.glob("*int8*"))
    assert cli("explain", f"{file}:{file.stem}", "--json").json["case"] == f"sonnx:{file.stem}"


@pytest.mark.parametrize("folder", ["samples", "models", "models/test_a/model.onnx"])
def test_folders_are_run_as_they_are(cli, tmp_path, folder):
    shutil.copytree(SAMPLES, tmp_path / "samples")
    stored(tmp_path / "models/test_a", model(outputs=("y", "z")), (X, Y, INDICES))
    assert cli("cases", "lint", tmp_path / folder).code == 0
    assert cli("run", tmp_path / folder).code == 0
    wrong = cli("run", tmp_path / folder, "-t", f"python:{KERNELS}:refuses_everything").check(1)
    (command,) = [line for line in wrong.out.splitlines() if line.startswith("Next: maxpool-check explain ")]
    # The printed command works as it stands.
    cli(*shlex.split(command)[2:]).check(0, "refuses  refuses-valid")


def test_what_is_left_out_is_named_and_the_rest_is_done(cli, tmp_path):
    stored(tmp_path / "in/good", model(), (X, Y))
    nodes = [helper.make_node("MaxPool", ["x"], ["a"], kernel_shape=[2, 2]), helper.make_node("Tanh", ["a"], ["y"])]
    bad = stored(tmp_path / "in/bad", model(*nodes), (X, Y))
    ugly = stored(tmp_path / "in/ugly", model(), (X, Y))
    (ugly / "test_data_set_0/output_0.pb").write_bytes(b"\xff")
    words = ("cases", "import", "onnx-testdata", tmp_path / "in", "-o", tmp_path / "out")
    cli(*words).check(
        2, f"{ugly}/test_data_set_0/output_0.pb:1:1: not a tensor", "\n2 problems; nothing was imported\n"
    )
    assert not (tmp_path / "out").exists()
    shutil.rmtree(ugly)
    left_out = f"left out: {bad}/model.onnx: its node Tanh is none of the operators that are known"
    assert last(cli(*words).check(0, err=left_out).out) == "1 written, 1 left out, 0 disagree"
    cli("run", tmp_path / "in").check(0, err=f"left out: {bad}/model.onnx")


def test_where_the_reference_disagrees(cli, tmp_path):
    expected = changed(tmp_path / "in", "good.json")["expected"]
    changed(tmp_path / "in", "bad.json", expected={**expected, "Y": [[99, *expected["Y"][0][1:]]]})
    done = cli("cases", "import", "testgenonnx", tmp_path / "in", "-o", tmp_path / "out")
    assert (done.code, last(done.out)) == (0, "2 written, 0 left out, 1 disagree")
    printed = "sonnx:bad Y[0, 0, 0, 0]: the case expects 99"
    assert done.err.startswith(f"disagrees: {printed}, the reference has 100")
    cli("cases", "lint", tmp_path / "out").check(0, printed, "1 erratum")
    # Not imported, there is nobody to explain it.
    for command in (["cases", "lint"], ["run"]):
        cli(*command, tmp_path / "in").check(2, f"bad.json:1:1: {printed}")


REPORT = ROOT / "tests/data/specloop.json"


def test_each_mismatch_of_the_loop_of_sonnx_has_a_verdict(cli, tmp_path):
    done = cli("cases", "import", "specloop", REPORT, "-o", tmp_path / "loop", COLUMNS="200")
    done.check(0, "12 written, 1 left out, 0 disagree", "does not list 4 of the cells", err="no output: 1")
    nan, zero = "oracle: ORT-SONNX-2026-NAN", "open: SONNX-2026-ZERO-SIGN"
    signalling = f"{nan}; document: erratum 6"
    faults = [re.split(r"  +", line)[-1] for line in done.out.splitlines() if line.startswith("float")]
    assert faults == [nan, nan, nan, signalling, zero, nan, zero, nan, nan, signalling, zero, zero]


@pytest.mark.parametrize(
    ("old", "new", "text"),
    [
        ("[32256]", "[16384]", "oracle: ORT-SONNX-2026-NAN; implementation: Y[0, 0, 0] is 2.0, expected nan"),
        (
            '"[0]", "impl_bits": "[9223372036854775808]"',
            '"[4607182418800017408]", "impl_bits": "[9223372036854775808]"',
            "oracle: no known defect, Y[0, 0, 0] is 1.0, expected 0.0",
        ),
        (
            '{"kernel_shape": [1]',
            '{"pads": [1, 0], "kernel_shape": [1]',
            "document: it gives a window without a cell of X",
        ),
        ("float16: nan", "float16: NaN, new", "left out: REPORT: float16: NaN, new: its X is not in the report"),
        ("[15360]", "[99999]", "REPORT:1:1: not a report of SONNX's loop: "),
        ('"MaxPool"', '"Conv"', "REPORT:1:1: a report of Conv, not of MaxPool"),
    ],
)
def test_a_report_may_blame_the_implementation_or_be_of_another_kind(cli, tmp_path, old, new, text):
    (tmp_path / "report.json").write_text(REPORT.read_text().replace(old, new))
    done = cli("cases", "import", "specloop", tmp_path / "report.json", "-o", tmp_path / "loop", COLUMNS="200")
    assert text.replace("REPORT", str(tmp_path / "report.json")) in done.out + done.err
