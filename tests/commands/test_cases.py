"""The cases that a command takes: the corpus of the tool by its names, what -k and --spec select, list, lint; graphs."""

import json

import onnx
import pytest

import maxpool_check
from maxpool_check.corpus.collection import kits
from maxpool_check.results.storage import read
from tests.conftest import CASES, KERNELS, ROOT, known_defect, shipped

RIGHT = f"python:{KERNELS}:right"


def test_a_name_means_a_part_of_the_corpus_and_is_the_origin_of_its_cases(cli, small, tmp_path):
    listed, own = (
        cli("cases", "list", name, "--json").json["cases"]
        for name in ("corpus:edge/ceil-mode", CASES / "edge/ceil-mode.yaml")
    )
    assert [(case["id"], case["sha256"]) for case in listed] == [(case["id"], case["sha256"]) for case in own]
    assert {case["origin"].rpartition(":")[0] for case in listed} == {"corpus:edge/ceil-mode.yaml"}
    # A file or folder of that name comes first.
    assert cli("cases", "list", "corpus", cwd=tmp_path).out.startswith("small:ordinary ")
    # Its known defects are expected.
    run = cli("run", "corpus:edge", "-t", "onnxruntime", "-k", "edge/ceil-mode:*", "--report", "json").json
    assert (run["exit_code"], run["known"] != []) == (0, True)


def test_a_case_is_found_by_its_id_where_there_is_no_folder_of_cases(cli, tmp_path):
    cli("explain", "edge/neg-inf:one-cell", cwd=tmp_path).check(0, err="")
    # A corpus of the user's own comes first, and hides nothing.
    (tmp_path / "cases/edge").mkdir(parents=True)
    text = (CASES / "edge/neg-inf.yaml").read_text()
    (tmp_path / "cases/edge/neg-inf.yaml").write_text(text.replace("The smallest image", "My image"))
    assert "My image" in cli("explain", "edge/neg-inf:one-cell", cwd=tmp_path).out
    assert cli("explain", "edge/ties:all-equal", cwd=tmp_path).code == 0


def test_the_corpus_of_the_tool_is_copied_listed_and_run_and_not_written(cli, tmp_path):
    (tmp_path / "mine").mkdir()
    assert cli("cases", "copy", "mine", cwd=tmp_path).code == 0
    assert cli("cases", "lint", "mine/edge/ties.yaml", cwd=tmp_path).code == 0
    parts = {part["name"]: part["cases"] for part in cli("cases", "list", "--json").json["parts"]}
    folders = {f"corpus:{path.name}" for path in CASES.iterdir() if path.name != "defects"}
    assert {*parts} == folders | {*kits()}
    assert all(parts.values())
    run = ("run", "-k", "edge/ties:*", "-t", RIGHT, "-q", "-o", "r.jsonl")
    assert cli(*run, cwd=tmp_path).code == 0
    executions = read(tmp_path / "r.jsonl").executions
    assert len(executions) > 5
    assert all(each.origin.startswith("corpus:edge/ties.yaml:") for each in executions)
    cli("run", "corpus:sonnx/float", "-q", "-o", "r.jsonl", "--known", "none", cwd=tmp_path)
    for words, message in (
        ("cases copy mine", "'mine' is not empty; name a new folder"),
        ("defects accept r.jsonl --reason seen --author Ada", "pass the file to write with -o"),
    ):
        cli(*words.split(), cwd=tmp_path).check(2, message)


def listed(cli, *arguments):
    return [
        case["id"] for case in cli("cases", "list", CASES / "edge", *arguments, "--json").check(0, err="").json["cases"]
    ]


@pytest.mark.parametrize(
    ("arguments", "condition"),
    [
        ("-k tag:neg-inf", lambda case: "neg-inf" in case.tags),
        ("-k clause:ONNX-*", lambda case: any(clause.startswith("ONNX-") for clause in case.covers)),
        ("-k dtype:bfloat16", lambda case: case.X.dtype.name == "bfloat16"),
        ("-k spec:onnx", lambda case: case.spec.startswith("onnx-")),
        ("-k edge/ties:*", lambda case: case.id.startswith("edge/ties:")),
        ("-k one-cell", lambda case: case.id.endswith(":one-cell")),
        ("-k dtype:float16 -k tag:neg-inf", lambda case: case.X.dtype.name == "float16" or "neg-inf" in case.tags),
        ("-k spec:onnx-22 -k spec:sonnx", lambda case: case.spec in ("onnx-22", "sonnx")),
    ],
)
def test_cases_are_selected_by_their_properties(cli, arguments, condition):
    expected = [case.id for case in shipped().cases if case.id.startswith("edge/") and condition(case)]
    assert expected
    assert listed(cli, *arguments.split()) == expected


def test_defects_and_kinds_select_the_cases_that_they_are_expected_of(cli):
    by_defect, by_kind = listed(cli, "-k", "defect:ORT-SAME-DILATION"), listed(cli, "-k", "kind:same-ignores-dilation")
    assert by_defect
    assert {*by_defect} <= {*by_kind} < {*listed(cli)}


def test_list_and_lint(cli, small):
    done = cli("cases", "list", small)
    assert [line.split()[0] for line in done.out.splitlines()][:2] == ["small:ordinary", "small:padded"]
    assert "Nothing special" in done.out
    (case,) = cli("cases", "list", small, "-k", "tag:neg-inf", "--json").json["cases"]
    assert (case["id"], case["shape"], case["dtype"]) == ("small:neg-inf", [1, 2, 2, 2], "float32")
    printed = "sonnx/int:int-example-4 Indices[0, 0, 1, 0]: the case expects 3, the reference has 0 ("
    cli("cases", "lint", CASES / "sonnx").check(0, printed, "no problems", err="")
    (small / "known-divergences.yaml").write_text(known_defect("e", ["small:none"], ["shape"], "onnxruntime"))
    cli("cases", "lint", small).check(2, "'small:none' names no case", "1 problem")


def test_a_record_and_its_reports_name_the_corpus(cli, small, tmp_path):
    records, page, table = [tmp_path / name for name in "ab"], tmp_path / "page.html", tmp_path / "table.md"
    run = ("run", small, "-t", RIGHT, "-q")
    cli(*run, "-k", "ordinary", "--report", f"html={page}", "--report", f"markdown={table}", "-o", records[0]).check(0)
    corpus = read(records[0]).header.corpus
    assert (corpus.name, corpus.version, corpus.cases) == (str(small), None, 6)
    assert corpus.sha256 in page.read_text()
    assert corpus.sha256 in table.read_text()
    assert f"Corpus: {small}, 6 cases" in cli("report", records[0], "-v").out
    # The digest is the one of all its cases, whichever are selected, and another one if any of them has changed.
    cli(*run, "-o", records[1]).check(0)
    assert read(records[1]).header.corpus == corpus
    (small / "small.yaml").write_text((small / "small.yaml").read_text().replace("fill: 5", "fill: 6"))
    cli(*run, "-k", "ordinary", "-o", records[1]).check(0)
    assert read(records[1]).header.corpus.sha256 != corpus.sha256


def test_the_corpus_that_comes_with_the_tool_has_its_version(cli, tmp_path):
    version, digests = maxpool_check.__version__, set()
    for name in ("corpus:edge/ties", CASES / "edge/ties.yaml"):
        done = cli("run", name, "-t", RIGHT, "-o", tmp_path / "record.jsonl", "-v").check(0)
        assert (f"Corpus: corpus:edge/ties {version}, " in done.out) == (name == "corpus:edge/ties")
        digests.add(read(tmp_path / "record.jsonl").header.corpus.sha256)
    # Where it lies does not matter: the same cases are the same corpus.
    assert len(digests) == 1


GRAPHS = ROOT / "tests/data/graphs.yaml"


def test_graphs_are_listed_and_explained(cli):
    listed = cli("cases", "list", GRAPHS).out.splitlines()
    assert "float32[1, 1, 3, 3] Pad > MaxPool  " in listed[0]
    assert "onnx-12" in listed[0]
    first, second = cli("cases", "list", GRAPHS, "--json").json["cases"]
    assert (first["opset"], [node["op"] for node in first["graph"]["nodes"]]) == (18, ["Pad", "MaxPool"])
    # JSON has no infinities.
    assert second["graph"]["nodes"][1] == {"op": "Clip", "min": "-inf", "max": 2}
    cli("explain", f"{GRAPHS}:clipped").check(0, "  Squeeze", "the output of the graph float32[2]\n     1.0   2.0\n")
    document = cli("explain", f"{GRAPHS}:clipped", "--json").json
    assert (document["opset"], document["entering"]["shape"]) == (22, [1, 1, 2])
    assert document["output"] == {"dtype": "float32", "shape": [2], "values": ["1.0", "2.0"]}
    json.dumps(document, allow_nan=False)
    at = cli("explain", f"{GRAPHS}:pad-zero", "--at", "0,0,1,1").check(0, "Y is -5.0, from X[0, 0, 2, 2], index 12")
    at.check(0, "Graph in operator set 18:", "constant_value=0) -> float32[1, 1, 5, 5]")
    cli("explain", f"{GRAPHS}:pad-zero").check(0, "The tensor that enters MaxPool: float32[1, 1, 5, 5]")
    cli("explain", f"{GRAPHS}:pad-zero", "-t", "onnxruntime").check(0, "y-only-optimization-off: conforms")


NAN = "{dtype: float32, data: [[[.nan, 2]]]}"
JUDGED = "one {op: MaxPool} without further keys, the judged one, found"
MISTAKES = [
    ("graph: [{op: @Relx}, {op: MaxPool}]", NAN, "found the text 'Relx' (did you mean 'Relu'?)"),
    ("graph: [{op: Clip, mim: @0}, {op: MaxPool}]", NAN, "Clip has no field 'mim' (did you mean 'min'?)"),
    ("graph: [{op: MaxPool}, {op: MaxPool, kernel: @[1]}]", NAN, "MaxPool has no field 'kernel'"),
    ("graph: @[{op: MaxPool}, {op: MaxPool}]", NAN, f"{JUDGED} 2; the others need"),
    ("graph: @[{op: Relu}]", NAN, f"expected {JUDGED} none; its attributes are"),
    ("graph: [{op: MaxPool}, @{op: Reshape, shape: [3]}]", NAN, "Reshape: cannot reshape array of size 2 into shape"),
    ("graph: [{op: Neg}, @{op: Pad, pads: [1]}, {op: MaxPool}]", NAN, "Pad of 3 axes needs 6 pads, got 1"),
    ("graph: {nodes: [{op: Identity}, @{op: Relu}, {op: MaxPool}]}", NAN, "Relu of NaN: ONNX does not define it"),
    ("graph: {nodes: [{op: MaxPool}], shape: [N, @3, 2]}", NAN, "expected a name, or the size 1; found 3"),
    ("graph: {nodes: [{op: MaxPool}], inside: @if}", NAN, "found the text 'if' (did you mean 'If'?)"),
    (
        "graph: [{op: MaxPool}, {op: Neg, consumers: @2}]",
        NAN,
        "consumers: 2 belongs to the judged MaxPool or to a node before it",
    ),
    ("opset: @99", NAN, f"there is no operator set 99; the installed onnx {onnx.__version__} has 1 to 28"),
    ("opset: 13\n    graph: [@{op: Relu}, {op: MaxPool}]", "{dtype: int8, fill: 1, shape: [1, 1, 1]}", "has no int8"),
]


@pytest.mark.parametrize(("fields", "X", "message"), MISTAKES)
def test_mistakes_are_named_at_their_place(fields, X, message, cli, tmp_path):
    path = tmp_path / "bad.yaml"
    case = f"  - id: a\n    input: {X}\n    attributes: {{kernel_shape: [1]}}\n    {fields}\n"
    text = f"spec: onnx-22\ncases:\n{case}"
    path.write_text(text.replace("@", ""))
    done = cli("cases", "lint", path).check(2, message)
    # The place that the mark in the fields is before.
    before = text.partition("@")[0].split("\n")
    assert f"{path}:{len(before)}:{len(before[-1]) + 1}: " in done.err
