"""``judge``: outputs that were made elsewhere are judged, recorded and reported like those of a run."""

import json

import jsonschema
import msgspec
import pytest

from maxpool_check.results.storage import read
from tests.conftest import SMALL

Y = {"dtype": "float32", "shape": [1, 2, 2, 3], "values": [5, 6, 7, 9, 10, 11, 17, 18, 19, 21, 22, 23]}
INDICES = {**Y, "dtype": "int64"}
ORDINARY = {"case": "small:ordinary", "outputs": {"Y": Y, "Indices": INDICES}}


@pytest.fixture
def results(tmp_path):
    """Writes a file of results, a line for each message."""

    def write(*messages):
        path = tmp_path / "board.jsonl"
        path.write_text("".join(f"{each if isinstance(each, str) else json.dumps(each)}\n" for each in messages))
        return path

    return write


@pytest.fixture
def made(cli, small, results, tmp_path):
    """The record of a run on a kernel, and a file of the results that its program wrote."""

    def run(target):
        record, transcript = tmp_path / "run.jsonl", tmp_path / "talk.jsonl"
        cli("run", small, "-t", target, "-o", record, "--transcript", transcript)
        lines = [json.loads(line) for line in transcript.read_text().splitlines()]
        written = [json.loads(line["line"]) for line in lines if line["direction"] == "out"][1:]
        requested = [json.loads(line["line"]) for line in lines if line["direction"] == "in"][1:]
        cases = dict.fromkeys(each.case for each in read(record).executions)
        names = [(case, variant) for case in cases for variant in ("indices", "y-only")]
        messages = []
        for (case, variant), request, message in zip(names, requested, written, strict=True):
            assert message["id"] == request["id"]
            if message["type"] == "result":
                outcome = {"outputs": message["outputs"]}
            else:
                outcome = {"refusal": {"status": message["status"], "message": message["message"]}}
            messages.append({"case": case, "variant": variant, **outcome})
        return record, results(*messages)

    return run


@pytest.mark.parametrize("kernel", ["right", "keeps_the_seed", "forgets_its_shape", "accepts_everything"])
def test_results_are_judged_as_the_run_that_made_them(cli, small, made, kernel_target, tmp_path, kernel):
    record, path = made(kernel_target(kernel))
    judged = tmp_path / "judged.jsonl"
    done = cli("judge", path, small, "-o", judged)
    assert done.code == read(record).footer.exit_code, done.out
    plain = [
        [msgspec.structs.replace(each, target="", seconds=0.0) for each in read(file).executions]
        for file in (record, judged)
    ]
    assert plain[0] == plain[1]


def test_what_the_first_line_says_is_in_the_record_and_in_the_reports(cli, small, results, tmp_path):
    about = {"name": "acme-dsp", "version": "2.1", "about": "a simulator", "dtypes": ["float32"]}
    path, record, page = results({"target": about}, ORDINARY), tmp_path / "r.jsonl", tmp_path / "r.html"
    done = cli("judge", path, small, "-k", "small:ordinary", "-o", record, "--report", f"html={page}")
    assert done.code == 0, done.err
    assert done.out.splitlines()[0] == "results:acme-dsp  acme-dsp 2.1"
    (target,) = read(record).header.targets
    assert (target.distribution, target.version, target.provider, target.specs) == ("acme-dsp", "2.1", "", ("onnx-22",))
    assert target.session_options["about"] == "a simulator"
    assert len(target.session_options["results_sha256"]) == 64
    assert "a simulator" in page.read_text()
    assert "CPUExecutionProvider" not in page.read_text()


def test_a_case_without_a_result_never_conforms(cli, small, results, tmp_path):
    path, record = results(ORDINARY), tmp_path / "r.jsonl"
    done = cli("judge", path, small, "-o", record)
    assert done.code == 3
    assert "5 of 6 cases have no result" in done.out
    verdicts = {(each.case, each.verdict.value) for each in read(record).executions}
    assert ("small:padded", "not-expressible") in verdicts
    assert {case for case, verdict in verdicts if verdict == "conforms"} == {"small:ordinary"}
    assert cli("judge", path, small, "--partial").code == 0
    assert cli("judge", path, small, "-k", "small:padded").code == 3
    assert cli("judge", path, small, "-k", "small:padded", "--partial").code == 4


def test_the_variant_follows_from_the_outputs(cli, small, results, tmp_path):
    record = tmp_path / "r.jsonl"
    only_y = {"case": "small:ordinary", "outputs": {"Y": Y}}
    for messages, expected in [
        ([only_y], {"indices": "not-expressible", "y-only": "conforms"}),
        ([ORDINARY], {"indices": "conforms"}),
        ([ORDINARY, only_y], {"indices": "conforms", "y-only": "conforms"}),
        ([{**ORDINARY, "variant": "y-only"}, ORDINARY], {"indices": "conforms", "y-only": "conforms"}),
        ([{"target": {"name": "b", "indices": None}}, only_y], {"indices": "not-expressible", "y-only": "conforms"}),
    ]:
        cli("judge", results(*messages), small, "-k", "small:ordinary", "-o", record)
        assert {each.variant: each.verdict.value for each in read(record).executions} == expected


@pytest.mark.parametrize(
    ("change", "verdict", "kind"),
    [
        ({"outputs": {"Y": {**Y, "values": [0] * 12}}}, "diverges", "y-from-outside-window"),
        ({"outputs": {"Y": {**Y, "shape": [12]}}}, "diverges", "shape"),
        ({"outputs": {"Y": {**Y, "dtype": "float64"}}}, "diverges", "dtype"),
        ({"refusal": {"status": "NO", "message": "too large"}}, "refuses", "refuses-valid"),
        ({"crash": "watchdog reset"}, "crashes", "crash"),
        ({"timeout": 5}, "times-out", "timeout"),
    ],
)  # fmt: skip
def test_a_mistake_of_the_kernel_is_a_verdict(cli, small, results, tmp_path, change, verdict, kind):
    path, record = results({"case": "small:ordinary", **change}), tmp_path / "r.jsonl"
    done = cli("judge", path, small, "-k", "small:ordinary", "-o", record)
    assert done.code == 1, done.err
    (wrong,) = [each for each in read(record).executions if each.verdict.value != "not-expressible"]
    assert (wrong.verdict.value, kind in wrong.kinds) == (verdict, True), wrong
    if verdict == "diverges":
        assert f"maxpool-check judge {path}" in done.out
        assert "explain" in done.out
        assert "-t results" not in done.out


@pytest.mark.parametrize(
    ("text", "place", "words"),
    [
        ('{"case": "small:ordinary", }', "1:28", "not JSON"),
        ('{"case": "small:ordinary", "values": [1.0, -nan]}', "1:44", "at '-nan]}'; write \"nan\", with quotes"),
        ("board 7 is up\n" + json.dumps({"target": {"name": "b"}}), "1:1", "at 'board 7 is up'\n1 problem;"),
        ("x\n" * 25, "20:1", "... and 5 more\n25 problems"),
        ('{"schema":"maxpool-check/vectors/1",\n"tool":{}', "1:1", "these are exported vectors, not results"),
        ("[1]", "1:1", "expected a map, found a list"),
        ({**ORDINARY, "case": "small:ordinari"}, "1:2", "did you mean 'small:ordinary'"),
        ({**ORDINARY, "crash": "x"}, "1:", "exactly one of outputs"),
        ({"case": "small:ordinary"}, "1:1", "found none"),
        ({**ORDINARY, "variant": "y_only"}, "1:", "expected one of indices | y-only"),
        ({"case": "small:ordinary", "outputs": {"Indices": INDICES}}, "1:28", "'outputs' has no 'Y'"),
        ({"case": "small:ordinary", "outputs": {"Y": Y, "Z": Y}}, "1:", "unknown output 'Z'"),
        ({"case": "small:ordinary", "outputs": {"Y": {**Y, "dtype": "float"}}}, "1:46", "(did you mean 'float32'?)"),
        ({"case": "small:ordinary", "outputs": {"y": Y}}, "1:", "'outputs' has no 'Y' (it has 'y')"),
        ({"case": "small:ordinary", "outputs": {"Y": {**Y, "values": [1]}}}, "1:", "1 value; the shape [1, 2, 2, 3] has 12"),
        ({"case": "small:ordinary", "outputs": {"Y": {**Y, "values": ["x"] * 12}}}, "1:", "found the text 'x'"),
        ({"case": "small:ordinary", "outputs": {"Y": {"dtype": "float32", "shape": [1], "data": "AA"}}}, "1:", "not base64"),
        ({"case": "small:ordinary", "outputs": {"Y": {"dtype": "float32", "shape": [1], "hex": "aabb"}}}, "1:", "2 bytes; float32 of the shape [1] has 4"),
        ({"case": "small:ordinary", "outputs": {"Y": {"dtype": "int8", "shape": [1], "values": [300]}}}, "1:", "int8 holds -128 to 127"),
        ({"case": "small:ordinary", "outputs": {"Y": {"dtype": "float32", "shape": [1]}}}, "1:", "exactly one of data, hex, values"),
        ({"target": {"name": "x", "spec": "onnx-22"}}, "1:", "unknown key 'spec' (did you mean 'specs'?)"),
        ({"target": {"name": "x", "specs": ["onyx"]}}, "1:", "unknown specification 'onyx'"),
        ({**ORDINARY, "seconds": float("inf")}, "1:", "expected a number of seconds"),
        (json.dumps(ORDINARY) + '\n{"target": {"name": "x"}}', "2:2", "only the first line describes the target"),
        (json.dumps(ORDINARY) + "\n\n" + json.dumps(ORDINARY), "3:", "has a result of the variant indices on line 1"),
    ],
)  # fmt: skip
def test_a_mistake_of_the_file_is_an_error_with_its_place(cli, small, results, text, place, words):
    path = results(text)
    done = cli("judge", path, small)
    assert done.code == 2
    assert f"{path}:{place}" in done.err
    assert words in done.err
    assert "nothing was judged" in done.err


def test_forms_of_values(cli, small, results):
    shape = {"dtype": "float32", "shape": [1, 2, 1, 1]}
    for form in ({"values": ["-inf", "-inf"]}, {"hex": "000080ff000080ff"}, {"data": "AACA/wAAgP8="}):
        path = results({"case": "small:neg-inf", "outputs": {"Y": {**shape, **form}}})
        assert cli("judge", path, small, "-k", "small:neg-inf").code == 0
    path = results(
        '{"case": "small:neg-inf", "outputs": {"Y": {"dtype": "float32", "shape": [1, 2, 1, 1], "values": [NaN, -Infinity]}}}'
    )
    assert cli("judge", path, small, "-k", "small:neg-inf").code == 1


def test_indices_of_each_plane_are_converted(cli, small, results):
    planes = {**INDICES, "values": [5, 6, 7, 9, 10, 11] * 2}
    message = {"case": "small:ordinary", "outputs": {"Y": Y, "Indices": planes}}
    assert cli("judge", results(message), small, "-k", "small:ordinary").code == 1
    target = {"target": {"name": "acme", "indices": "plane"}}
    assert cli("judge", results(target, message), small, "-k", "small:ordinary").code == 0


def test_documents_are_claimed_as_by_kernels(cli, results, tmp_path):
    case = tmp_path / "c" / "sonnx.yaml"
    case.parent.mkdir()
    case.write_text(
        "spec: sonnx\ncases: [{id: nan, input: {dtype: float32, data: [[[[.nan, -1]]]]}, attributes: {kernel_shape: [1, 2], "
        "strides: [1, 1], dilations: [1, 1], pads: [0, 0, 0, 0], auto_pad: NOTSET, ceil_mode: 0, storage_order: 0}}]\n"
    )
    y, indices = (
        {"dtype": dtype, "shape": [1, 1, 1, 1], "values": [value]} for dtype, value in (("float32", -1), ("int64", 1))
    )
    path = results({"case": "sonnx:nan", "outputs": {"Y": y, "Indices": indices}})
    assert cli("judge", path, case.parent).code == 4
    assert cli("judge", path, case.parent, "--spec", "sonnx").code == 0


def test_twenty_crashes_do_not_give_the_target_up(cli, results, tmp_path):
    folder = tmp_path / "many"
    folder.mkdir()
    case = SMALL.partition("  - id: padded")[0].partition("cases:\n")[2]
    (folder / "small.yaml").write_text("cases:\n" + "".join(case.replace("ordinary", f"c{i}") for i in range(25)))
    messages = [{"case": f"small:c{i}", "crash": "reset"} for i in range(24)]
    done = cli("judge", results(*messages, {**ORDINARY, "case": "small:c24"}), folder, "--format", "json")
    assert done.json["summary"]["crashes"] == 24
    assert done.json["summary"]["conforms"] == 1
    assert not done.json["errors"]


def test_known_defects_are_matched_and_written(cli, small, results, tmp_path):
    wrong = {
        "case": "small:neg-inf",
        "outputs": {"Y": {"dtype": "float32", "shape": [1, 2, 1, 1], "values": ["lowest"] * 2}},
    }
    path, record = results({"target": {"name": "acme", "version": "1.0"}}, wrong), tmp_path / "r.jsonl"
    assert cli("judge", path, small, "-k", "small:neg-inf", "-o", record).code == 1
    added = cli("known", "add", record, "--reason", "the seed of the scan")
    assert added.code == 0, added.err
    assert "results:acme" in (small / "known-divergences.yaml").read_text()
    done = cli("judge", path, small, "-k", "small:neg-inf")
    assert done.code == 0, done.out
    assert "KNOWN DEFECTS" in done.out


def test_records_of_two_versions_are_compared(cli, small, results, tmp_path):
    records = [tmp_path / "old.jsonl", tmp_path / "new.jsonl"]
    for version, values, record in (("1.0", Y["values"], records[0]), ("1.1", [0] * 12, records[1])):
        outputs = {"Y": {**Y, "values": values}, "Indices": INDICES}
        path = results({"target": {"name": "acme", "version": version}}, {"case": "small:ordinary", "outputs": outputs})
        cli("judge", path, small, "--partial", "-o", record)
    done = cli("compare", *records, "--report", f"html={tmp_path / 'changes.html'}")
    assert "BLOCK 1 regressed" in done.out
    assert "maxpool-check explain" in done.out
    for text in (done.out, (tmp_path / "changes.html").read_text()):
        assert "-t results:" not in text


def test_the_schema_is_that_of_the_lines(cli):
    schema = cli("schema", "results").json
    for message in (ORDINARY, {"target": {"name": "x"}}, {"case": "a:b", "crash": "x"}):
        jsonschema.validate(message, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**ORDINARY, "crash": "x"}, schema)


def test_results_are_not_overwritten_and_are_no_target(cli, small, results):
    path = results(ORDINARY)
    done = cli("judge", path, small, "-o", path)
    assert (done.code, "must not be overwritten" in done.err) == (2, True)
    assert cli("judge", path.parent / "none.jsonl", small).code == 2
    done = cli("run", small, "-t", "results:acme")
    assert done.code == 2
    assert "maxpool-check judge" in done.err


def test_a_record_and_results_are_named_where_cases_or_defects_are_expected(cli, small, results, made, kernel_target):
    record, written = made(kernel_target("right"))
    for file, words in ((record, "this is a record"), (written, "these are results")):
        for arguments in (("run", file), ("run", small, "--known", file), ("judge", written, file)):
            done = cli(*arguments)
            assert done.code == 2
            assert f"{file}:1:1: {words}" in done.err
