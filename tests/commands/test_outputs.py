"""``run -t outputs:FILE``: outputs that were made elsewhere are judged, recorded and reported like those of a program."""

import base64
import json
from pathlib import Path

import msgspec
import numpy as np
import pytest

from maxpool_check.results.storage import read
from tests.conftest import KERNELS, SMALL

VALUES = [5, 6, 7, 9, 10, 11, 17, 18, 19, 21, 22, 23]
READY = {"type": "ready", "protocol": 1}


def tensor(values, dtype="float32", shape=(1, 2, 2, 3)):
    data = np.array(values, dtype).tobytes()
    return {"dtype": dtype, "shape": list(shape), "data": base64.b64encode(data).decode()}


Y, INDICES = tensor(VALUES), tensor(VALUES, "int64")
ORDINARY = {"case": "small:ordinary", "type": "result", "outputs": {"Y": Y, "Indices": INDICES}}
ONLY_Y = {**ORDINARY, "outputs": {"Y": Y}}
SHAPES = {**ORDINARY, "type": "shapes", "outputs": {"Y": {"dtype": "float32", "shape": [1, 2, 2, 3]}}}
WRONG_SHAPES = {**SHAPES, "outputs": {"Y": {"dtype": "float32", "shape": [1, 2, 9, 3]}}}
PLANES = {**ORDINARY, "outputs": {"Y": Y, "Indices": tensor([5, 6, 7, 9, 10, 11] * 2, "int64")}}
TWICE = {**ORDINARY, "variant": "indices-twice", "outputs": {"Y": tensor([0] * 12), "Indices": INDICES}}


def of_y(**fields):
    return {**ORDINARY, "outputs": {"Y": {**Y, **fields}}}


@pytest.fixture
def outputs(tmp_path):
    """Writes a file of outputs, a line for each message; the target."""

    def write(*messages, ready=READY):
        path = tmp_path / "board.jsonl"
        lines = [each if isinstance(each, str) else json.dumps(each) for each in (ready, *messages)]
        path.write_text("".join(f"{line}\n" for line in lines))
        return f"outputs:{path}"

    return write


@pytest.mark.parametrize("kernel", ["right", "keeps_the_seed", "forgets_its_shape", "accepts_everything"])
def test_outputs_are_judged_as_those_of_the_run_that_made_them(cli, small, outputs, kernel_target, tmp_path, kernel):
    record, transcript = tmp_path / "run.jsonl", tmp_path / "talk.jsonl"
    cli("run", small, "-t", kernel_target(kernel), "-o", record, "--transcript", transcript)
    lines = [json.loads(line) for line in transcript.read_text().splitlines()]
    ready, *written = (json.loads(line["line"]) for line in lines if line["direction"] == "out")
    cases = dict.fromkeys(each.case for each in read(record).executions)
    names = [(case, variant) for case in cases for variant in ("indices", "y-only")]
    messages = [
        {"case": case, "variant": variant, **{key: message[key] for key in message if key != "id"}}
        for (case, variant), message in zip(names, written, strict=True)
    ]
    target = outputs(*messages, ready=ready)
    for options in ([], ["-j", "2"]):
        judged = tmp_path / "judged.jsonl"
        cli("run", small, "-t", target, "-o", judged, *options).check(read(record).footer.exit_code)
        plain = [
            [msgspec.structs.replace(each, target="", seconds=0.0) for each in read(file).executions]
            for file in (record, judged)
        ]
        assert plain[0] == plain[1]
    for file, words in ((record, "this is a record"), (target.removeprefix("outputs:"), "these are outputs")):
        for arguments in (("run", file), ("run", small, "--known", file)):
            cli(*arguments).check(2, f"{file}:1:1: {words}")


def test_what_the_first_line_says_is_in_the_record(cli, small, outputs, tmp_path):
    said = {"distribution": "acme-dsp", "version": "2.1", "processor": {"architecture": "xtensa", "model": "board 7"}}
    target, record = outputs(ORDINARY, ready={**READY, **said}), tmp_path / "r.jsonl"
    cli("run", small, "-t", target, "-k", "small:ordinary", "-o", record).check(0, f"{target}: acme-dsp 2.1, xtensa")
    (described,) = read(record).header.targets
    assert (described.distribution, described.version, described.provider) == ("acme-dsp", "2.1", "")
    assert (described.specs, described.processor.model) == (("onnx-22",), "board 7")
    assert [f"outputs:{path}" for path in described.program] == [target]


UNABLE = {"case": "small:padded", "type": "unable", "message": "not run on the board"}


def test_a_case_without_a_result_never_conforms(cli, small, outputs, tmp_path):
    target, record = outputs(ORDINARY), tmp_path / "r.jsonl"
    done = cli("run", small, "-t", target, "-o", record).check(3)
    assert f"{target} has no result of 5 of 6 cases: small:padded, " in " ".join(done.out.split())
    assert f"Next: complete {target.removeprefix('outputs:')} and run again" in done.out
    verdicts = {(each.case, each.verdict.value) for each in read(record).executions}
    assert ("small:padded", "not-expressible") in verdicts
    assert {case for case, verdict in verdicts if verdict == "conforms"} == {"small:ordinary"}
    assert cli("run", small, "-t", target, "-k", "small:padded").code == 3
    assert cli("run", small, "-t", outputs(UNABLE), "-k", "small:padded").code == 4
    run = ("run", small, "-t", outputs(ORDINARY, UNABLE), "-k", "small:ordinary")
    cli(*run).check(0, err="left out: 1 cases with a result")
    assert cli(*run, "-k", "small:padded").code == 0


@pytest.mark.parametrize(
    ("messages", "ready", "code", "expected"),
    [
        ([ONLY_Y], {}, 0, {"indices": "not-expressible", "y-only": "conforms"}),
        ([ORDINARY], {}, 0, {"indices": "conforms"}),
        ([ORDINARY, ONLY_Y], {}, 0, {"indices": "conforms", "y-only": "conforms"}),
        ([{**ORDINARY, "variant": "y-only"}, ORDINARY], {}, 0, {"indices": "conforms", "y-only": "conforms"}),
        ([ORDINARY, TWICE], {}, 0, {"indices": "conforms"}),
        ([ORDINARY, TWICE], {}, 1, {"indices": "conforms", "indices-twice": "unstable"}),
        ([{**ORDINARY, "type": "failed", "message": "no memory"}], {}, 3, {"indices": "error"}),
        ([SHAPES], {"decides": "shapes"}, 0, {"indices": "not-expressible", "y-only": "conforms"}),
        ([SHAPES], {}, 3, {"indices": "not-expressible", "y-only": "error"}),
        ([WRONG_SHAPES], {"decides": "shapes"}, 1, {"indices": "not-expressible", "y-only": "diverges"}),
        ([{"case": "small:ordinary", "type": "accepted"}], {"decides": "acceptance"}, 0, {"indices": "conforms"}),
        ([of_y(shape=[12])], {}, 1, {"indices": "not-expressible", "y-only": "diverges"}),
        ([{**ORDINARY, "type": "refusal", "status": "NO", "message": "too large"}], {}, 1, {"indices": "refuses"}),
        ([{**ORDINARY, "type": "crash", "message": "watchdog reset"}], {}, 1, {"indices": "crashes"}),
        ([{**ORDINARY, "type": "timeout", "seconds": 5}], {}, 1, {"indices": "times-out"}),
        ([PLANES], {}, 1, {"indices": "diverges"}),
        ([PLANES], {"indices": "plane"}, 0, {"indices": "conforms"}),
    ],
)
def test_what_the_messages_of_a_case_mean(cli, small, outputs, tmp_path, messages, ready, code, expected):
    record, options = tmp_path / "r.jsonl", ("--variants", "all") if "indices-twice" in expected else ()
    target = outputs(*messages, ready={**READY, **ready})
    cli("run", small, "-t", target, "-k", "small:ordinary", "-o", record, *options).check(code)
    assert {each.variant: each.verdict.value for each in read(record).executions} == expected


NAN = '{"case": "small:ordinary", "type": "result", "outputs": {"Y": {"dtype": "float32", "shape": [1], "data": NaN}}}'


@pytest.mark.parametrize(
    ("ready", "line", "number", "words"),
    [
        (READY, '{"case": "small:ordinary", }', 2, "a line is not JSON (column 28"),
        (READY, NAN, 2, "NaN is not JSON"),
        (READY, "[" * 100_000, 2, "nested too deeply"),
        (READY, "\n\nboard 7 is up", 4, "at 'board 7 is up'"),
        ("U-Boot 2026.07\r\n" + json.dumps(READY), "board 7 is up", 3, "other text may stand only before that\n1 problem;"),
        (READY, "x\n" * 25, 21, "... and 5 more\n25 problems"),
        (ORDINARY, ORDINARY, 1, 'the first line must be that of the program: {"type": "ready"'),
        ({**READY, "protocol": 2}, ORDINARY, 1, "'protocol': expected one of 1"),
        (READY, {**ORDINARY, "case": "small:ordinari"}, 2, "did you mean 'small:ordinary'"),
        (READY, {**ORDINARY, "case": "\x1b[31m" + "x" * 100_000}, 2, "100005 characters"),
        (READY, {**ORDINARY, "type": "match", "set": 0}, 2, "'type': expected one of result | shapes"),
        (READY, {**ORDINARY, "variant": "y_only"}, 2, "has no variant 'y_only' (did you mean 'y-only'?)"),
        (READY, {**ORDINARY, "outputs": {"Indices": INDICES}}, 2, "has Indices; small:ordinary has Y and Indices, or Y"),
        (READY, of_y(shape=[2**62, 2**62]), 2, "'data' has 48 bytes"),
        *((READY, of_y(dtype=name), 2, "'outputs.Y.dtype': expected one of float16") for name in ("V4", "f4", ">f4", "S4", "M8[s]")),
        (READY, of_y(hex="00" * 48), 2, "'outputs.Y"),
        (READY, of_y(data=None), 2, "'outputs.Y"),
        (READY, {**ORDINARY, "varient": "y-only"}, 2, "unknown key 'varient' (did you mean 'variant'?)"),
        (READY, f'{{"case": "small:ordinary", "type": "timeout", "seconds": {"9" * 400}}}', 2, "'seconds': the number is too large"),
        (READY, of_y(shape=[10**4000] * 100), 2, "expected at most 64 entries"),
        (READY, of_y(shape=[0, 2**70], data=""), 2, "'outputs.Y'"),
        (READY, json.dumps(ORDINARY) + "\n\n" + json.dumps(ORDINARY), 4, "has a result of the variant indices on line 2"),
    ],
)  # fmt: skip
def test_a_mistake_of_the_file_is_an_error_with_its_line(cli, small, outputs, ready, line, number, words):
    target = outputs(line, ready=ready)
    place = f"{target.removeprefix('outputs:')}:{number}:1: "
    done = cli("run", small, "-t", target).check(2, place, words, "there are no results")
    assert "\x1b" not in done.err
    if number == 4:
        done = cli("explain", f"{small}/small.yaml:ordinary", "-t", target)
        assert (done.code, words in done.out + done.err) == (3, True), done.err


def test_for_the_first_of_many_unknown_ids_the_nearest_is_searched(cli, small, outputs, monkeypatch):
    searched = []
    monkeypatch.setattr("maxpool_check.running.outputs.nearest", lambda name, names: searched.append(name) or "")
    lines = [{**ORDINARY, "case": f"small:ordinari{number}"} for number in range(1000)]
    cli("run", small, "-t", outputs(*lines)).check(2, "no case 'small:ordinari0'", "1000 problems")
    assert len(searched) == 100


@pytest.mark.parametrize("before", ["", "{ boot }\n{1}\nU-Boot 2026.10\n"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-be"])
def test_a_file_may_be_as_windows_and_a_serial_line_write_it(cli, small, outputs, before, encoding):
    target = outputs(ORDINARY)
    path = Path(target.partition(":")[2])
    text = before + path.read_text()
    path.write_text(text if encoding != "utf-16-be" else f"\ufeff{text}", encoding=encoding)
    cli("run", small, "-k", "*ordinary", "-t", target, "--variants", "indices").check(0)


def test_documents_are_claimed_as_by_kernels_and_judged_in_their_own_layout(cli, outputs, tmp_path):
    (tmp_path / "x.yaml").write_text(
        "spec: ort-nhwc-11\ncases: [{id: a, input: {dtype: float32, data: [[[[1, 2], [3, 4]]]]}, "
        "attributes: {kernel_shape: [1, 2]}}]\n"
    )
    made = {"Y": tensor([3, 4], shape=[1, 1, 1, 2]), "Indices": tensor([1, 3], "int64", [1, 1, 1, 2])}
    message, run = {"case": "x:a", "type": "result", "outputs": made}, ("run", tmp_path / "x.yaml", "-t")
    assert cli(*run, outputs(message)).code == 4
    assert cli(*run, outputs(message), "--spec", "ort-nhwc-11").code == 0
    assert cli(*run, outputs(message, ready={**READY, "specs": ["ort-nhwc-11"]})).code == 0


def test_twenty_crashes_do_not_give_the_target_up(cli, outputs, tmp_path):
    case = SMALL.partition("  - id: padded")[0].partition("cases:\n")[2]
    cases = "".join(case.replace("ordinary", f"c{number}") for number in range(25))
    (tmp_path / "small.yaml").write_text(f"cases:\n{cases}")
    messages = [{"case": f"small:c{number}", "type": "crash", "message": "reset"} for number in range(24)]
    target = outputs(*messages, {**ORDINARY, "case": "small:c24"})
    done = cli("run", tmp_path / "small.yaml", "-t", target, "--report", "json")
    assert (done.json["summary"]["crashes"], done.json["summary"]["conforms"], done.json["errors"]) == (24, 1, [])


def test_what_is_wrong_is_accepted_and_outputs_are_run_beside_a_kernel(cli, small, outputs, tmp_path):
    record, target = tmp_path / "r.jsonl", outputs({**ORDINARY, "outputs": {"Y": tensor([0] * 12)}})
    run = ("run", small, "-t", target, "-t", f"python:{KERNELS}:right", "-k", "small:ordinary", "-o", record)
    assert f"-t {target}" in cli(*run).check(1).out
    assert cli("defects", "accept", record, "--author", "Ada", "--reason", "the seed of the scan").code == 0
    assert target in (small / "known-divergences.yaml").read_text()
    cli(*run).check(0, "DEVIATES AS KNOWN")
    assert len({each.target for each in read(record).executions}) == 2


def test_outputs_are_not_overwritten_and_are_no_program(cli, small, outputs, tmp_path):
    target, case = outputs(ORDINARY), f"{small}/small.yaml:ordinary"
    for arguments, code, words in (
        (("run", small, "-t", target, "-o", target.removeprefix("outputs:")), 2, "must not be overwritten"),
        (("run", small, "-t", "outputs:none.jsonl"), 2, "cannot read none.jsonl"),
        (("run", small, "-t", "outputs:"), 2, "'outputs:' is not outputs:FILE"),
        (("fuzz", "--max-cases", "1", "-o", tmp_path / "f", "-t", target), 3, "its outputs were made elsewhere"),
        (("repro", case, "-o", tmp_path / "r", "-t", target), 3, "its outputs were made elsewhere"),
    ):
        cli(*arguments).check(code, err=words)
