"""``run -t outputs:FILE``: outputs that were made elsewhere are judged, recorded and reported like those of a program."""

import base64
import json

import jsonschema
import msgspec
import numpy as np
import pytest

from maxpool_check.results.storage import read
from tests.conftest import SMALL

VALUES = [5, 6, 7, 9, 10, 11, 17, 18, 19, 21, 22, 23]
READY = {"type": "ready", "protocol": 1}


def tensor(values, dtype="float32", shape=(1, 2, 2, 3)):
    data = np.array(values, dtype).tobytes()
    return {"dtype": dtype, "shape": list(shape), "data": base64.b64encode(data).decode()}


Y, INDICES = tensor(VALUES), tensor(VALUES, "int64")
ORDINARY = {"case": "small:ordinary", "type": "result", "outputs": {"Y": Y, "Indices": INDICES}}
LOWEST = {"case": "small:neg-inf", "type": "result", "outputs": {"Y": tensor([-3.4028235e38] * 2, shape=(1, 2, 1, 1))}}


@pytest.fixture
def outputs(tmp_path):
    """Writes a file of outputs, a line for each message; the target."""

    def write(*messages, ready=READY):
        path = tmp_path / "board.jsonl"
        lines = [each if isinstance(each, str) else json.dumps(each) for each in (ready, *messages)]
        path.write_text("".join(f"{line}\n" for line in lines))
        return f"outputs:{path}"

    return write


@pytest.fixture
def made(cli, small, outputs, tmp_path):
    """The record of a run on a kernel, and a target of the outputs that its program wrote."""

    def run(target):
        record, transcript = tmp_path / "run.jsonl", tmp_path / "talk.jsonl"
        cli("run", small, "-t", target, "-o", record, "--transcript", transcript)
        lines = [json.loads(line) for line in transcript.read_text().splitlines()]
        ready, *written = (json.loads(line["line"]) for line in lines if line["direction"] == "out")
        cases = dict.fromkeys(each.case for each in read(record).executions)
        names = [(case, variant) for case in cases for variant in ("indices", "y-only")]
        messages = [
            {"case": case, "variant": variant, **{key: value for key, value in message.items() if key != "id"}}
            for (case, variant), message in zip(names, written, strict=True)
        ]
        return record, outputs(*messages, ready=ready)

    return run


@pytest.mark.parametrize("kernel", ["right", "keeps_the_seed", "forgets_its_shape", "accepts_everything"])
def test_outputs_are_judged_as_those_of_the_run_that_made_them(cli, small, made, kernel_target, tmp_path, kernel):
    record, target = made(kernel_target(kernel))
    for number, options in enumerate(([], ["-j", "2"])):
        judged = tmp_path / f"judged-{number}.jsonl"
        done = cli("run", small, "-t", target, "-o", judged, *options)
        assert done.code == read(record).footer.exit_code, done.out
        plain = [
            [msgspec.structs.replace(each, target="", seconds=0.0) for each in read(file).executions]
            for file in (record, judged)
        ]
        assert plain[0] == plain[1]


def test_what_the_first_line_says_is_in_the_record_and_in_the_reports(cli, small, outputs, tmp_path):
    ready = {
        **READY, "distribution": "acme-dsp", "version": "2.1", "dtypes": ["float32"],
        "session_options": {"about": "a simulator"},
        "processor": {"architecture": "xtensa", "model": "board 7"},
    }  # fmt: skip
    target, record, page = outputs(ORDINARY, ready=ready), tmp_path / "r.jsonl", tmp_path / "r.html"
    done = cli("run", small, "-t", target, "-k", "small:ordinary", "-o", record, "--report", f"html={page}")
    assert done.code == 0, done.err
    assert " ".join(done.out.split()).startswith(f"{target}: acme-dsp 2.1")
    (described,) = read(record).header.targets
    assert (described.distribution, described.version, described.provider) == ("acme-dsp", "2.1", "")
    assert described.specs == ("onnx-22",)
    assert (described.processor.architecture, described.processor.model) == ("xtensa", "board 7")
    ((path, sha256),) = described.program.items()
    assert (f"outputs:{path}", len(sha256)) == (target, 64)
    assert "a simulator" in page.read_text()
    assert "CPUExecutionProvider" not in page.read_text()


def test_a_case_without_a_result_never_conforms(cli, small, outputs, tmp_path):
    target, record = outputs(ORDINARY), tmp_path / "r.jsonl"
    done = cli("run", small, "-t", target, "-o", record)
    assert done.code == 3
    assert f"5 of 6 cases have no result in {target}: small:padded, " in " ".join(done.out.split())
    verdicts = {(each.case, each.verdict.value) for each in read(record).executions}
    assert ("small:padded", "not-expressible") in verdicts
    assert {case for case, verdict in verdicts if verdict == "conforms"} == {"small:ordinary"}
    done = cli("run", small, "-t", target, "-k", "small:ordinary")
    assert done.code == 0
    assert cli("run", small, "-t", target, "-k", "small:padded").code == 3
    unable = {"case": "small:padded", "type": "unable", "message": "not run on the board"}
    done = cli("run", small, "-t", outputs(ORDINARY, unable), "-k", "small:ordinary", "-k", "small:padded")
    assert done.code == 0, done.out
    assert cli("run", small, "-t", outputs(unable), "-k", "small:padded").code == 4


def test_what_is_not_selected_is_said(cli, small, outputs):
    done = cli("run", small, "-t", outputs(ORDINARY, LOWEST), "-k", "small:ordinary")
    assert (done.code, "left out: 1 cases with a result" in done.err) == (0, True)


def test_the_variant_follows_from_the_outputs(cli, small, outputs, tmp_path):
    record = tmp_path / "r.jsonl"
    only_y = {**ORDINARY, "outputs": {"Y": Y}}
    for messages, ready, expected in [
        ([only_y], READY, {"indices": "not-expressible", "y-only": "conforms"}),
        ([ORDINARY], READY, {"indices": "conforms"}),
        ([ORDINARY, only_y], READY, {"indices": "conforms", "y-only": "conforms"}),
        ([{**ORDINARY, "variant": "y-only"}, ORDINARY], READY, {"indices": "conforms", "y-only": "conforms"}),
        ([only_y], {**READY, "indices": None}, {"indices": "not-expressible", "y-only": "conforms"}),
    ]:
        cli("run", small, "-t", outputs(*messages, ready=ready), "-k", "small:ordinary", "-o", record)
        assert {each.variant: each.verdict.value for each in read(record).executions} == expected


def test_variants_that_vary_more_are_judged_where_the_file_has_them(cli, small, outputs, tmp_path):
    record = tmp_path / "r.jsonl"
    wrong = {**ORDINARY, "variant": "indices-twice", "outputs": {"Y": tensor([0] * 12), "Indices": INDICES}}
    target = outputs(ORDINARY, wrong)
    assert cli("run", small, "-t", target, "-k", "small:ordinary").code == 0
    assert cli("run", small, "-t", target, "-k", "small:ordinary", "--variants", "all", "-o", record).code == 1
    assert {each.variant for each in read(record).executions} == {"indices", "indices-twice"}


@pytest.mark.parametrize(
    ("change", "verdict", "kind"),
    [
        ({"outputs": {"Y": tensor([0] * 12)}}, "diverges", "y-from-outside-window"),
        ({"outputs": {"Y": {**Y, "shape": [12]}}}, "diverges", "shape"),
        ({"outputs": {"Y": tensor(VALUES, "float64")}}, "diverges", "dtype"),
        ({"type": "refusal", "status": "NO", "message": "too large"}, "refuses", "refuses-valid"),
        ({"type": "crash", "message": "watchdog reset"}, "crashes", "crash"),
        ({"type": "timeout", "seconds": 5}, "times-out", "timeout"),
    ],
)  # fmt: skip
def test_a_mistake_of_the_kernel_is_a_verdict(cli, small, outputs, tmp_path, change, verdict, kind):
    target, record = outputs({**ORDINARY, **change}), tmp_path / "r.jsonl"
    done = cli("run", small, "-t", target, "-k", "small:ordinary", "-o", record)
    assert done.code == 1, done.err
    (wrong,) = [each for each in read(record).executions if each.verdict.value != "not-expressible"]
    assert (wrong.verdict.value, kind in wrong.kinds) == (verdict, True), wrong
    if verdict == "diverges":
        assert f"-t {target}" in done.out
        drawn = cli("explain", f"{small}/small.yaml:ordinary", "-t", target)
        assert drawn.code == 0, drawn.err
        assert kind in drawn.out
        assert "repro" not in drawn.out


def test_the_program_may_have_failed(cli, small, outputs):
    done = cli(
        "run", small, "-t", outputs({**ORDINARY, "type": "failed", "message": "no memory"}), "-k", "small:ordinary"
    )
    assert (done.code, "no memory" in " ".join(done.out.split())) == (3, True)


def test_shapes_and_acceptance_alone(cli, small, outputs):
    shapes = {**ORDINARY, "type": "shapes", "outputs": {"Y": {"dtype": "float32", "shape": [1, 2, 2, 3]}}}
    decides = {**READY, "decides": "shapes"}
    assert cli("run", small, "-t", outputs(shapes, ready=decides), "-k", "small:ordinary").code == 0
    assert cli("run", small, "-t", outputs(shapes), "-k", "small:ordinary").code == 3
    wrong = {**shapes, "outputs": {"Y": {"dtype": "float32", "shape": [1, 2, 9, 3]}}}
    assert cli("run", small, "-t", outputs(wrong, ready=decides), "-k", "small:ordinary").code == 1
    accepted, decides = {"case": "small:ordinary", "type": "accepted"}, {**READY, "decides": "acceptance"}
    assert cli("run", small, "-t", outputs(accepted, ready=decides), "-k", "small:ordinary").code == 0


NAN = '{"case": "small:ordinary", "type": "result", "outputs": {"Y": {"dtype": "float32", "shape": [1], "data": NaN}}}'


@pytest.mark.parametrize(
    ("ready", "line", "number", "words"),
    [
        (READY, '{"case": "small:ordinary", }', 2, "a line is not JSON (column 28"),
        (READY, NAN, 2, "NaN is not JSON"),
        (READY, "[" * 100_000, 2, "nested too deeply"),
        (READY, "\n\nboard 7 is up", 4, "at 'board 7 is up'"),
        (READY, "[1]", 2, "a line is not a JSON object"),
        (READY, "x\n" * 25, 21, "... and 5 more\n25 problems"),
        ("board 7 is up", ORDINARY, 1, "at 'board 7 is up'"),
        (ORDINARY, ORDINARY, 1, 'the first line must be that of the program: {"type": "ready"'),
        ('{"schema":"maxpool-check/vectors/1",\n"tool":{}', "", 1, "a line is not JSON (it ends too early"),
        ("", "", 1, "the first line must be that of the program"),
        ({**READY, "protocol": 2}, ORDINARY, 1, "'protocol': expected one of 1"),
        ({**READY, "specs": ["onyx"]}, ORDINARY, 1, "unknown specification 'onyx'"),
        ({**READY, "dtypes": ["float"]}, ORDINARY, 1, "(did you mean 'float32'?)"),
        (READY, READY, 2, "missing 'case'"),
        (READY, {**ORDINARY, "case": "small:ordinari"}, 2, "did you mean 'small:ordinary'"),
        (READY, {**ORDINARY, "case": "\x1b[31m" + "x" * 100_000}, 2, "100005 characters"),
        (READY, {**ORDINARY, "case": 7}, 2, "'case': expected text, found the number 7"),
        (READY, {**ORDINARY, "type": "match", "set": 0}, 2, "'type': expected one of result | shapes"),
        (READY, {**ORDINARY, "type": "crash"}, 2, "'message' is missing"),
        (READY, {**ORDINARY, "type": "refusal", "status": "NO"}, 2, "missing 'message'"),
        (READY, {**ORDINARY, "variant": "y_only"}, 2, "has no variant 'y_only' (did you mean 'y-only'?)"),
        (READY, {**ORDINARY, "variant": "indices-only"}, 2, "has no variant 'indices-only'"),
        (READY, {**ORDINARY, "seconds": -1}, 2, "'seconds': expected 0 or more"),
        (READY, {**ORDINARY, "outputs": {"Indices": INDICES}}, 2, "has Indices; small:ordinary has Y and Indices, or Y"),
        (READY, {**ORDINARY, "outputs": {"y": Y}}, 2, "'outputs' has y; small:ordinary has Y and Indices, or Y"),
        (READY, {**ORDINARY, "outputs": {"Y": {**Y, "dtype": "float"}}}, 2, "(did you mean 'float32'?)"),
        (READY, {**ORDINARY, "outputs": {"Y": {**Y, "data": "AA"}}}, 2, "'data' is not base64"),
        (READY, {**ORDINARY, "outputs": {"Y": {**Y, "data": "AAAA"}}}, 2, "'data' has 3 bytes"),
        (READY, {**ORDINARY, "outputs": {"Y": {**Y, "shape": [2**62, 2**62]}}}, 2, "'data' has 48 bytes"),
        (READY, {**ORDINARY, "outputs": {"Y": {**Y, "shape": [10**4000] * 100}}}, 2, "expected at most 64 entries"),
        (READY, {**ORDINARY, "outputs": {"Y": {**Y, "shape": [0, 2**70], "data": ""}}}, 2, "'outputs.Y'"),
        (READY, json.dumps(ORDINARY) + "\n\n" + json.dumps(ORDINARY), 4, "has a result of the variant indices on line 2"),
    ],
)  # fmt: skip
def test_a_mistake_of_the_file_is_an_error_with_its_line(cli, small, outputs, ready, line, number, words):
    target = outputs(line, ready=ready)
    done = cli("run", small, "-t", target)
    assert done.code == 2
    assert f"{target.removeprefix('outputs:')}:{number}:1: " in done.err
    assert words in done.err
    assert "nothing was run" in done.err
    assert "\x1b" not in done.err


def test_indices_of_each_plane_are_converted(cli, small, outputs):
    planes = {**ORDINARY, "outputs": {"Y": Y, "Indices": tensor([5, 6, 7, 9, 10, 11] * 2, "int64")}}
    assert cli("run", small, "-t", outputs(planes), "-k", "small:ordinary").code == 1
    target = outputs(planes, ready={**READY, "indices": "plane"})
    assert cli("run", small, "-t", target, "-k", "small:ordinary").code == 0


def test_documents_are_claimed_as_by_kernels(cli, outputs, tmp_path):
    case = tmp_path / "c" / "sonnx.yaml"
    case.parent.mkdir()
    case.write_text(
        "spec: sonnx\ncases: [{id: nan, input: {dtype: float32, data: [[[[.nan, -1]]]]}, attributes: {kernel_shape: [1, 2], "
        "strides: [1, 1], dilations: [1, 1], pads: [0, 0, 0, 0], auto_pad: NOTSET, ceil_mode: 0, storage_order: 0}}]\n"
    )
    made = {"Y": tensor([-1], shape=[1] * 4), "Indices": tensor([1], "int64", [1] * 4)}
    message = {"case": "sonnx:nan", "type": "result", "outputs": made}
    assert cli("run", case.parent, "-t", outputs(message)).code == 4
    assert cli("run", case.parent, "-t", outputs(message), "--spec", "sonnx").code == 0
    assert cli("run", case.parent, "-t", outputs(message, ready={**READY, "specs": ["sonnx"]})).code == 0


def test_a_case_is_judged_in_its_own_layout(cli, outputs, tmp_path):
    case = tmp_path / "c" / "nhwc.yaml"
    case.parent.mkdir()
    case.write_text(
        "spec: ort-nhwc-11\ncases: [{id: two, input: {dtype: float32, data: [[[[1, 2], [3, 4]]]]}, "
        "attributes: {kernel_shape: [1, 2]}}]\n"
    )
    made = {"Y": tensor([3, 4], shape=[1, 1, 1, 2]), "Indices": tensor([1, 3], "int64", [1, 1, 1, 2])}
    target = outputs({"case": "nhwc:two", "type": "result", "outputs": made}, ready={**READY, "specs": ["ort-nhwc-11"]})
    done = cli("run", case.parent, "-t", target)
    assert done.code == 0, done.out


def test_twenty_crashes_do_not_give_the_target_up(cli, outputs, tmp_path):
    folder = tmp_path / "many"
    folder.mkdir()
    case = SMALL.partition("  - id: padded")[0].partition("cases:\n")[2]
    (folder / "small.yaml").write_text("cases:\n" + "".join(case.replace("ordinary", f"c{i}") for i in range(25)))
    messages = [{"case": f"small:c{i}", "type": "crash", "message": "reset"} for i in range(24)]
    target = outputs(*messages, {**ORDINARY, "case": "small:c24"})
    done = cli("run", folder, "-t", target, "--report", "json")
    assert done.json["summary"]["crashes"] == 24
    assert done.json["summary"]["conforms"] == 1
    assert not done.json["errors"]


def test_known_defects_are_matched_and_written(cli, small, outputs, tmp_path):
    target, record = outputs(LOWEST, ready={**READY, "distribution": "acme", "version": "1.0"}), tmp_path / "r.jsonl"
    assert cli("run", small, "-t", target, "-k", "small:neg-inf", "-o", record).code == 1
    added = cli("defects", "accept", record, "--reason", "the seed of the scan")
    assert added.code == 0, added.err
    assert target in (small / "known-divergences.yaml").read_text()
    done = cli("run", small, "-t", target, "-k", "small:neg-inf")
    assert done.code == 0, done.out
    assert "KNOWN DEFECTS" in done.out


def test_records_of_two_versions_are_compared(cli, small, outputs, tmp_path):
    records = [tmp_path / "old.jsonl", tmp_path / "new.jsonl"]
    for version, values, record in (("1.0", VALUES, records[0]), ("1.1", [0] * 12, records[1])):
        message = {**ORDINARY, "outputs": {"Y": tensor(values), "Indices": INDICES}}
        target = outputs(message, ready={**READY, "distribution": "acme", "version": version})
        cli("run", small, "-t", target, "-k", "small:ordinary", "-o", record)
    done = cli("gate", *records, "--report", f"html={tmp_path / 'changes.html'}")
    assert "BLOCK  1 regressed" in done.out
    assert f"maxpool-check run {small}/small.yaml -k small:ordinary --known none -t {target}" in " ".join(
        done.out.split()
    )


def test_a_runtime_and_outputs_are_run_together(cli, small, outputs, kernel_target, tmp_path):
    record, target = tmp_path / "r.jsonl", outputs(ORDINARY)
    done = cli("run", small, "-t", target, "-t", kernel_target("right"), "-k", "small:ordinary", "-o", record)
    assert done.code == 0, done.err
    assert len({each.target for each in read(record).executions}) == 2


def test_the_schema_is_that_of_the_lines(cli):
    schema = cli("docs", "schema-outputs").json
    for message in (ORDINARY, {"case": "a:b", "type": "crash", "message": "x"}):
        jsonschema.validate(message, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**ORDINARY, "type": "match"}, schema)


def test_outputs_are_not_overwritten_and_are_no_program(cli, small, outputs, tmp_path):
    target = outputs(ORDINARY)
    path = target.removeprefix("outputs:")
    done = cli("run", small, "-t", target, "-o", path)
    assert (done.code, "must not be overwritten" in done.err) == (2, True)
    for name, words in (
        ("outputs:none.jsonl", "cannot read none.jsonl"),
        ("outputs:", "'outputs:' is not outputs:FILE"),
    ):
        done = cli("run", small, "-t", name)
        assert (done.code, words in done.err) == (2, True), done.err
    for arguments in (
        ["fuzz", "--max-cases", "1", "-o", tmp_path / "found"],
        ["repro", f"{small}/small.yaml:ordinary", "-o", tmp_path / "repro"],
    ):
        done = cli(*arguments, "-t", target)
        assert (done.code, "its outputs were made elsewhere" in done.err) == (3, True), done.err


def test_a_file_that_is_wrong_is_no_target_of_other_commands(cli, small, outputs):
    done = cli("explain", f"{small}/small.yaml:ordinary", "-t", outputs("x"))
    assert (done.code, "board.jsonl:2:1: a line is not JSON" in done.err) == (3, True), done.err
    done = cli("explain", f"{small}/small.yaml:ordinary", "-t", outputs(ORDINARY, ORDINARY))
    assert (done.code, "has a result of the variant indices on line 2" in done.out) == (3, True), done.out


def test_a_record_and_outputs_are_named_where_cases_or_defects_are_expected(cli, small, made, kernel_target):
    record, target = made(kernel_target("right"))
    path = target.removeprefix("outputs:")
    for file, words in ((record, "this is a record"), (path, "these are outputs")):
        for arguments in (("run", file), ("run", small, "--known", file)):
            done = cli(*arguments)
            assert done.code == 2
            assert f"{file}:1:1: {words}" in done.err
