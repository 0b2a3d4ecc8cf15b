"""Exported vectors: who compares with the JSON alone decides as the judge does; the C example works."""

import json
import subprocess
from collections import defaultdict

import numpy as np
import pytest
from jsonschema import Draft202012Validator

from maxpool_check.exporting.export import FLAGS
from maxpool_check.exporting.vectors import tensor_data, vector
from maxpool_check.judging.judge import judge
from maxpool_check.reference.dtypes import NUMPY
from maxpool_check.reference.pooling import Pooling
from maxpool_check.results.outcomes import RefusedByTarget, Returned
from maxpool_check.results.record import Verdict
from maxpool_check.results.variants import Variant
from tests.conftest import ROOT, shipped
from tests.exporting.reading import accepts
from tests.pages import blocks

MOST_CELLS = 2**20


def tensor_of(data):
    """The tensor of plain data."""
    dtype = {**NUMPY, "bool": np.dtype(bool)}[data["dtype"]]
    return np.frombuffer(bytes.fromhex(data["hex"]), dtype.newbyteorder("<")).astype(dtype).reshape(data["shape"])


def is_allowed(case):
    return isinstance(case.resolved, Pooling)


def with_flags(most):
    """For each flag, and for no flag, the smallest cases of the corpus that have it, each with its test as JSON."""
    by_flag = defaultdict(list)
    # The flags of those that a document excludes are rare, and found at once.
    for case in sorted(shipped().cases, key=lambda case: (is_allowed(case) or not case.X.size, case.X.size)):
        if case.X.size <= 40 and any(len(by_flag[flag]) < most for flag in (*FLAGS, "")):
            test = json.loads(json.dumps(vector(case, MOST_CELLS)))
            for flag in test["flags"] or [""]:
                by_flag[flag].append((case, test))
    assert [flag for flag in (*FLAGS, "") if not by_flag[flag]] == []
    return {case.id: (case, test) for found in by_flag.values() for case, test in found[:most]}.values()


def judged(case, variant, outcome):
    verdict = judge(case.oracle(), {variant: outcome})[variant].verdict
    return verdict in (Verdict.CONFORMS, Verdict.UNDEFINED)


def values_of(case, output):
    """Values that an output of Y might wrongly or rightly have."""
    special = [0.0, -0.0, np.inf, -np.inf, np.nan] if output.dtype.kind not in "iub" else [0, 1]
    values = np.concatenate([output.reshape(-1)[:5], np.array(special).astype(output.dtype)])
    if case.entering.dtype == output.dtype:
        values = np.concatenate([values, case.entering.reshape(-1)[:8]])
    return list({value.tobytes(): value for value in values}.values())


def changed(case, test, result, names):
    """The outputs of a result, and others that differ from them in a cell, in a cell of each output, or as a whole."""
    outputs = {name: tensor_of(result["outputs"][name]) for name in names}
    yield outputs
    for name, output in outputs.items():
        yield {**outputs, name: output.reshape(*output.shape, 1)}
        yield {**outputs, name: np.zeros(output.shape, np.int32 if output.dtype == np.int64 else np.int64)}
        bound = result["outputs"][name].get("bound")
        numbers = [] if bound is None else [output.dtype.type(number) for number in range(-1, min(bound + 1, 12))]
        for at in list(np.ndindex(output.shape))[:3]:
            for value in numbers or values_of(case, output):
                other = output.copy()
                other[at] = value
                yield {**outputs, name: other}
                if name == "Y" and test["flags"] and outputs.get("Indices", np.zeros(0)).shape == output.shape:
                    for number in range(min(result["outputs"]["Indices"]["bound"], 4)):
                        indices = outputs["Indices"].copy()
                        indices[at] = number
                        yield {**outputs, "Y": other, "Indices": indices}


def check_like_the_judge(case, test):
    counts = {True: 0, False: 0}
    for variant in case.variants():
        if variant.in_domain or variant.variation is not None:
            continue
        assert judged(case, variant, RefusedByTarget("FAIL", "")) == accepts(test, None), case.id
        names = [name for name in test["outputs"] if name not in ("Y", "Indices") or name in variant.outputs]
        if not test["results"]:
            outputs = {"Y": case.X.tensor()}
            right = accepts(test, {"Y": tensor_data(case.X.tensor())})
            assert judged(case, Variant(("Y",)), Returned(outputs)) == right, case.id
        for result in test["results"]:
            for outputs in changed(case, test, result, names):
                right = accepts(test, {name: tensor_data(output) for name, output in outputs.items()})
                assert judged(case, variant, Returned(outputs)) == right, (case.id, variant, outputs)
                counts[right] += 1
    assert not test["results"] or all(counts.values()), case.id


@pytest.mark.parametrize("most", [1, pytest.param(12, marks=pytest.mark.long)])
def test_the_json_alone_accepts_what_the_judge_accepts(most):
    for case, test in with_flags(most):
        check_like_the_judge(case, test)


def test_values_that_are_right_only_together_are_told_apart():
    """Where NaN is open: a Y of one interpretation and an index of another, each of them right alone."""
    case = next(case for case in shipped().cases if vector(case, MOST_CELLS)["results"][0].get("together"))
    test = vector(case, MOST_CELLS)
    (result,) = test["results"]
    at, cell, *_ = result["together"][0]
    pairs = {tuple(pair) for *cells, y, index in result["together"] for pair in [(y, index)] if cells == [at, cell]}
    wrong = {(y, index) for y, _ in pairs for _, index in pairs} - pairs
    assert wrong
    for y, index in (*wrong, *pairs):
        outputs = {name: tensor_of(result["outputs"][name]) for name in ("Y", "Indices")}
        outputs["Y"].reshape(-1)[at] = np.frombuffer(bytes.fromhex(y), outputs["Y"].dtype)[0]
        outputs["Indices"].reshape(-1)[cell] = np.frombuffer(bytes.fromhex(index), np.int64)[0]
        right = accepts(test, {name: tensor_data(output) for name, output in outputs.items()})
        assert right == ((y, index) in pairs) == judged(case, Variant(), Returned(outputs))


CORPUS = ["corpus:documents", "corpus:refusals/types", "corpus:refusals/attribute-types", "corpus:openvino/version-14",
          "corpus:contexts/outputs", "corpus:contexts/constants", "corpus:contexts/consumers", "corpus:nhwc/activation",
          "corpus:edge/nan", "corpus:edge/empty-batch"]  # fmt: skip


def test_the_files_have_their_schema_and_every_case(cli, tmp_path):
    assert cli("cases", "export", "json", *CORPUS, "-o", tmp_path / "vectors").code == 0
    manifest = json.loads((tmp_path / "vectors/manifest.json").read_text())
    assert manifest["left_out"] == []
    schema = Draft202012Validator(cli("docs", "schema-vectors").json)
    exported = {}
    for file in manifest["files"]:
        data = json.loads((tmp_path / "vectors" / file).read_text())
        assert not list(schema.iter_errors(data)), file
        tests = [test for group in data["testGroups"] for test in group["tests"]]
        assert len(tests) == data["numberOfTests"]
        exported |= {test["id"]: (test["sha256"], test["title"]) for test in tests}
    cases = cli("cases", "list", *CORPUS, "--json").json["cases"]
    assert exported == {case["id"]: (case["sha256"], case["title"]) for case in cases}


@pytest.mark.long
def test_what_is_left_out_of_the_whole_corpus(cli, tmp_path):
    assert cli("cases", "export", "json", "corpus", "-o", tmp_path / "vectors").code == 0
    manifest = json.loads((tmp_path / "vectors/manifest.json").read_text())
    assert {each["case"].partition(":")[0] for each in manifest["left_out"]} == {
        "edge/large-indices", "edge/size-arithmetic",
    }  # fmt: skip


def test_vectors_are_no_cases(cli, small, tmp_path):
    assert cli("cases", "export", "json", small, "-o", tmp_path / "vectors").code == 0
    for path in (tmp_path / "vectors", tmp_path / "vectors/onnx-22.json"):
        done = cli("cases", "lint", path)
        assert done.code == 2
        assert "onnx-22.json:1:1: not a generated test of SONNX: it has no operator" in done.err


def test_models_of_an_export_are_read_without_its_manifest(cli, small, tmp_path):
    assert cli("cases", "export", "onnx-testdata", small, "-o", tmp_path / "tests").code == 0
    done = cli("cases", "lint", tmp_path / "tests")
    assert (done.code, done.err) == (0, "")


KERNEL = next(block.text for block in blocks("export.md") if block.file == "kernel.c")
WRONG = {
    "gives no -inf": ("*Y = X[cell], *I", "*Y = X[cell] < -3.4e38f ? -3.4e38f : X[cell], *I"),
    "a NaN never wins, and has no index": ("X[cell] > *Y || *Indices < 0", "X[cell] > *Y"),
    "ignores dilations": ("a * w[3]", "a"),
    "takes the last of equal maxima": ("X[cell] > *Y ||", "X[cell] >= *Y ||"),
    "counts in each plane": ("*Indices = cell;", "*Indices = cell - plane * w[0] * w[7];"),
    "clamps to the border": ("continue;", "row = row < 0 ? 0 : w[0] - 1, column = column < 0 ? 0 : w[7] - 1;"),
}


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    """A folder with exported vectors and the program of the documentation."""
    from tests.conftest import command

    folder = tmp_path_factory.mktemp("c")
    edge = (
        "neg-inf",
        "nan",
        "ties",
        "ties-sonnx",
        "dilations",
        "strides",
        "storage-order",
        "auto-pad",
        "ceil-mode",
        "asymmetric-pads",
    )
    assert (
        command("cases", "export", "json", *(f"corpus:edge/{name}" for name in edge), "-o", folder / "vectors").code
        == 0
    )
    (folder / "check.c").write_text((ROOT / "maxpool_check/docs/examples/check.c").read_text())
    return folder


def run_in_c(folder, kernel, file):
    (folder / "kernel.c").write_text(kernel)
    options = ["-O1", "-Wall", "-Wextra", "-Werror"]
    subprocess.run(["cc", *options, "check.c", "kernel.c", "-o", "check"], cwd=folder, check=True, timeout=300)
    with (folder / "vectors" / file).open() as vectors:
        return subprocess.run(
            ["./check"], cwd=folder, stdin=vectors, capture_output=True, text=True, timeout=300, check=False
        )


def test_the_program_in_c_is_short_and_accepts_the_right_kernel(exported):
    assert len((exported / "check.c").read_text().splitlines()) <= 60
    done = run_in_c(exported, KERNEL, "onnx-22.json")
    assert (done.returncode, done.stderr) == (0, "")
    assert int(done.stdout.split()[0]) > 60
    vectors = (exported / "vectors/onnx-22.json").read_text()
    assert f" of {json.loads(vectors)['numberOfTests']} tests apply, 0 of them are wrong" in done.stdout
    # The tests of another layout are not taken for ones of its own.
    (exported / "vectors/other.json").write_text(vectors.replace("channels-first", "channels-last"))
    other = run_in_c(exported, KERNEL, "other.json")
    assert (other.returncode, other.stdout[:5]) == (1, "0 of ")


def _without_a_test(text):
    return "".join(line for number, line in enumerate(text.splitlines(keepends=True)) if number != 20)


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda text: text[: len(text) // 2], "the file ends within a line"),
        (lambda text: "".join(text.splitlines(keepends=True)[:50]), "it is not whole"),
        (_without_a_test, "it is not whole"),
        (lambda text: text.replace('"title":"', f'"title":"{"x" * 2**24}', 1), "a line is too long"),
        (lambda text: text.replace('"shape":[1,1,', '"shape":[1000,1000,'), "too large for this program"),
        (lambda text: "", "it is not whole"),
    ],
)
def test_the_program_in_c_refuses_a_file_that_it_cannot_check_as_a_whole(exported, spoil, message):
    (exported / "vectors/spoiled.json").write_text(spoil((exported / "vectors/onnx-22.json").read_text()))
    done = run_in_c(exported, KERNEL, "spoiled.json")
    assert done.returncode == 2
    assert message in done.stdout


def test_attributes_that_are_floats_have_a_flag():
    by_flag = {True: [], False: []}
    for case in shipped().cases:
        if case.id.startswith(("refusals/attribute-types", "edge/strides")):
            test = vector(case, MOST_CELLS)
            by_flag["FloatAttribute" in test["flags"]].append(json.dumps(test["attributes"]))
    assert by_flag[True]
    assert all(".0" in text for text in by_flag[True])
    assert not any(".0" in text for text in by_flag[False])


@pytest.mark.parametrize("name", WRONG)
def test_the_program_in_c_rejects_wrong_kernels(exported, name):
    assert WRONG[name][0] in KERNEL
    kernel = KERNEL.replace(*WRONG[name])
    # SONNX alone decides ties; this kernel does not have its rule for NaN.
    file = "sonnx.json" if "equal" in name else "onnx-22.json"
    wrong = {line for line in run_in_c(exported, kernel, file).stdout.splitlines() if line.startswith("wrong: ")}
    if "equal" in name:
        wrong -= set(run_in_c(exported, KERNEL, file).stdout.splitlines())
    assert wrong
