"""Bundles of evidence: what is in them, that the same input makes the same bytes, and what is refused."""

import gzip
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys

import numpy as np
import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

from maxpool_check.evidence.bundling.archive import unpacked
from maxpool_check.results.storage import read
from tests.conftest import KERNELS, SMALL, command

FILES = {
    "small.yaml": SMALL,
    "deep/tensor.yaml": """\
cases: [{id: tensor, title: A tensor beside the file, input: {npy: data/x.npy}, attributes: {kernel_shape: [2, 2]}}]
""",
    "nan.yaml": """\
spec: sonnx
cases:
  - id: nan
    covers: [SONNX-NAN]
    input: {dtype: float32, data: [[[[.nan, .nan], [.nan, .nan]]]]}
    attributes: {kernel_shape: [2, 2], strides: [1, 1], dilations: [1, 1], pads: [0, 0, 0, 0], auto_pad: NOTSET,
                 ceil_mode: 0, storage_order: 0}
""",
    "defects/own.yaml": """\
defects:
  - {id: OWN, runtime: onnxruntime, title: A NaN is no -inf, severity: wrong-on-special, mechanism: It compares.,
     expect: [{kinds: [y-nan-introduced], cases: [nan:nan]}]}
""",
}
KERNEL = f"python:{KERNELS}:keeps_the_seed"


def build(folder, *records):
    command("evidence", "build", *records, "--cases", "cases", "-o", "evidence.tar", cwd=folder).check(0)
    return unpacked(folder / "evidence.tar")


@pytest.fixture(scope="module")
def given(tmp_path_factory):
    """A folder with cases, and the records of a runtime and of a kernel that is wrong for windows of -inf."""
    folder = tmp_path_factory.mktemp("given")
    for name, text in FILES.items():
        (folder / "cases" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "cases" / name).write_text(text)
    (folder / "cases/deep/data").mkdir()
    np.save(folder / "cases/deep/data/x.npy", np.arange(16, dtype=np.float32).reshape(1, 1, 4, 4))
    for name, target in (("runtime", "onnxruntime"), ("kernel", KERNEL)):
        assert command("run", "cases", "-t", target, "-q", "-o", f"{name}.jsonl", cwd=folder).code == 1
    return folder


@pytest.fixture(scope="module")
def members(given):
    """Those of their bundle, which is beside them."""
    return build(given, "runtime.jsonl", "kernel.jsonl")


@pytest.fixture
def copy(given, tmp_path):
    """The folder of cases and records, to be changed."""
    return shutil.copytree(given, tmp_path / "copy")


def test_a_bundle_has_the_records_and_all_that_their_cases_need(members, given):
    for name in ("cases/small.yaml", "cases/deep/tensor.yaml", "cases/deep/data/x.npy", "cases/defects/own.yaml"):
        assert members[name] == (given / name).read_bytes()
    records = {name for name in members if name.startswith("records/")}
    paths = (given / "runtime.jsonl", given / "kernel.jsonl")
    assert {gzip.decompress(members[name]) for name in records} == {path.read_bytes() for path in paths}
    # No folder of the machine that builds is in what follows from them.
    assert [name for name in members.keys() - records if str(given).encode() in members[name]] == []


def test_sha256sum_reads_the_manifest_of_all_other_members(members, given, tmp_path):
    subprocess.run(["tar", "-xf", given / "evidence.tar", "-C", tmp_path], check=True)
    done = subprocess.run(
        ["sha256sum", "-c", "MANIFEST.sha256"], cwd=tmp_path / "evidence", capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout
    assert {line.removesuffix(": OK") for line in done.stdout.splitlines()} == members.keys() - {"MANIFEST.sha256"}


def test_the_same_records_and_cases_make_the_same_bytes_anywhere(members, given, copy):
    (copy / "kernel.jsonl.gz").write_bytes(gzip.compress((copy / "kernel.jsonl").read_bytes(), 1))
    os.utime(copy / "cases/small.yaml", (0, 0))
    words = ("evidence", "build", "../kernel.jsonl.gz", "../runtime.jsonl", "--cases", "./", "-o", "../again.tar")
    others = {"TZ": "Asia/Kolkata", "LC_ALL": "tr_TR.UTF-8", "PYTHONHASHSEED": "7", "COLUMNS": "40", "PYTHONUTF8": "0"}
    done = subprocess.run(
        [sys.executable, "-m", "maxpool_check", *words],
        cwd=copy / "cases", env={**os.environ, **others}, umask=0o077, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert (copy / "again.tar").read_bytes() == (given / "evidence.tar").read_bytes()


def statements(members, kind):
    """The statements of a kind by the last word of their targets."""
    suffix = f".{kind}.json"
    found = {name: json.loads(members[name]) for name in members if name.endswith(suffix)}
    return {name.removesuffix(suffix).rpartition("/")[2]: each for name, each in found.items()}


def test_a_test_result_is_a_statement_of_in_toto_and_lists_each_compared_case_once(members):
    by_target = statements(members, "test-result")
    assert len(by_target) == 2
    for statement in by_target.values():
        assert statement["_type"] == "https://in-toto.io/Statement/v1"
        assert statement["predicateType"] == "https://in-toto.io/attestation/test-result/v0.1"
        predicate = statement["predicate"]
        named = [*statement["subject"], *predicate["configuration"]]
        digests = {each["name"]: each["digest"]["sha256"] for each in named if each["name"] in members}
        assert "cases/small.yaml" in digests
        assert any(name.startswith("records/") for name in digests)
        assert digests == {name: hashlib.sha256(members[name]).hexdigest() for name in digests}
        listed = [*predicate["passedTests"], *predicate["warnedTests"], *predicate["failedTests"]]
        assert len({*listed}) == len(listed)
        assert predicate["result"] == "FAILED"
        # Nothing compared the window that misses X.
        assert "small:empty" not in predicate["passedTests"]
    # A known defect explains a divergence, and it is wrong all the same.
    runtime = by_target["onnxruntime"]["predicate"]
    assert ("nan:nan" in runtime["failedTests"], "small:ordinary" in runtime["passedTests"]) == (True, True)
    # The predicate of one's own says what a test result cannot.
    own = statements(members, "maxpool-check")
    runtime = own.pop("onnxruntime")["predicate"]
    assert runtime["verdicts"]["undefined"]["cases"] == ["small:empty"]
    assert [each["cases"] for each in runtime["knownDefects"] if each["id"] == "OWN"] == [["nan:nan"]]
    assert "nan:nan" not in runtime["unexpected"]
    (kernel,) = own.values()
    assert str(KERNELS) in {each["name"] for each in kernel["subject"]}
    assert "small:neg-inf" in kernel["predicate"]["unexpected"]


def test_a_bill_of_materials_is_valid_and_has_the_runtime_and_the_time_of_the_record(members, given):
    bills = [content.decode() for name, content in members.items() if name.endswith(".cdx.json")]
    assert [JsonStrictValidator(SchemaVersion.V1_6).validate_str(bill) for bill in bills] == [None, None]
    bill, header = json.loads(members["environments/onnxruntime.cdx.json"]), read(given / "runtime.jsonl").header
    versions = {each["name"]: each["version"] for each in bill["components"]}
    assert versions["onnxruntime"] == header.targets[0].version
    assert bill["metadata"]["timestamp"] == header.started


def test_each_target_of_a_record_has_its_own_result(tmp_path):
    (tmp_path / "cases").mkdir()
    (tmp_path / "cases/small.yaml").write_text(SMALL)
    (tmp_path / "kernels.py").write_bytes(KERNELS.read_bytes())
    targets = [word for name in ("right", "dies_of_a_signal") for word in ("-t", f"python:kernels.py:{name}")]
    assert command("run", "cases", *targets, "-q", "-o", "two.jsonl", cwd=tmp_path).code == 1
    members = build(tmp_path, "two.jsonl")
    right, wrong = re.findall(r'<p class="verdict [^>]*>(.*?)</p>', members["index.html"].decode())
    assert re.match(r"<b>.*right</b>: <strong>CONFORMS</strong> (\d+) of \1 comparisons conform", right), right
    assert "<strong>UNEXPECTED</strong> 1 new" in wrong
    text = members["qualification/3-verification-results.md"].decode()
    lines = re.findall("^- `(python:.*)`: ([A-Z ]+)\\. ", text, re.MULTILINE)
    assert lines == [(targets[1], "CONFORMS"), (targets[3], "UNEXPECTED")]
    results = [each["predicate"]["result"] for each in statements(members, "test-result").values()]
    assert sorted(results) == ["FAILED", "PASSED"]


def test_the_limitations_name_options_variants_and_clauses_of_which_nothing_was_compared(members, given):
    text, page = " ".join(members["limitations.md"].decode().split()), members["index.html"].decode()
    for name, value in read(given / "runtime.jsonl").header.targets[0].session_options.items():
        assert f"`{name}={value}`" in text
    assert "variants `indices`, `y-only`. Nothing was executed with more than one thread. Not executed: the" in text
    trace = json.loads(gzip.decompress(members["trace.json.gz"]))
    testable = [each for part in trace["documents"] for each in part["clauses"] if each["status"] == "testable"]
    of = f"of {len(testable)} testable clauses"
    uncompared, on_none = {"undefined", "not-expressible", "not-claimed", "error"}, {each["id"] for each in testable}
    for target in trace["targets"]:
        verdicts = {each["id"]: each["results"].get(target, {"verdicts": {}})["verdicts"].keys() for each in testable}
        missing = {name for name, found in verdicts.items() if found <= uncompared}
        on_none &= missing
        assert f"`{target}`: {len(missing)} {of}: " in text
        assert f"{len(missing)} {of} had no compared execution on {target}." in page
    assert 0 < len(on_none) < len(testable)
    on_any = f"{len(on_none)} {of} had no compared execution on any target"
    assert f"{on_any}." in page
    ids = ", ".join(f"`{each['id']}`" for each in testable if each["id"] in on_none)
    assert f"{on_any}, so that the results say nothing about them: {ids}." in text
    unread = re.findall("- `([^`]+)`:", text.partition("### Statements that were not read")[2])
    assert {"SONNX-GENERAL", "SONNX-R2-ORIGIN", "SONNX-FIGURES"} <= set(unread)


def test_the_limitations_and_the_bill_name_what_digests_do_not_say(members, copy):
    unknown = "- `onnxruntime`: the record has no digest of the wheel that the runtime was installed from, "
    assert f"{unknown}but of the list of its installed files.\n" in members["limitations.md"].decode()
    header, *lines = (copy / "runtime.jsonl").read_text().splitlines(keepends=True)
    header = json.loads(header)
    found = {each["name"]: each for each in header["targets"][0]["environments"][0]["distributions"]}
    del found["onnxruntime"]["files_sha256"]
    found["numpy"]["changed"] = ["numpy/fast.so", "numpy/gone.py"]
    (copy / "runtime.jsonl").write_text("".join([json.dumps(header) + "\n", *lines]))
    changed = build(copy, "runtime.jsonl")
    text = changed["limitations.md"].decode()
    assert f"{unknown}and no RECORD lists its files: it is known by its version alone.\n" in text
    said = (
        "digests do not say what was executed of `numpy`: 2 files missing, or of another size than its RECORD states.\n"
    )
    assert f"\n- `onnxruntime`: {said}" in text
    bill = changed["environments/onnxruntime.cdx.json"].decode()
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(bill) is None
    (numpy,) = [each for each in json.loads(bill)["components"] if each["name"] == "numpy"]
    assert {"name": "maxpool-check:changed-files", "value": "numpy/fast.so, numpy/gone.py"} in numpy["properties"]


def cut(folder):
    lines = (folder / "runtime.jsonl").read_text().splitlines(keepends=True)
    (folder / "runtime.jsonl").write_text("".join(lines[:-1]))


def with_text(old, new):
    def change(folder):
        text = (folder / "cases/small.yaml").read_text()
        (folder / "cases/small.yaml").write_text(text.replace(old, new, 1))

    return change


@pytest.mark.parametrize(
    ("change", "words", "code", "message"),
    [
        (cut, ["runtime.jsonl"], 3, "runtime.jsonl is incomplete: the run did not end"),
        (with_text("id: padded", "id: x"), ["runtime.jsonl"], 2, "1 case of the record is not in cases: small:padded;"),
        (with_text("title: ", "title: Its "), ["runtime.jsonl"], 2, "1 case of the record is different in"),
        (None, ["runtime.jsonl", "runtime.jsonl"], 2, "runtime.jsonl is named twice"),
        (None, ["cases/small.yaml"], 2, "cases/small.yaml:1: not a line of a record"),
        (None, ["runtime.jsonl", "-o", "runtime.jsonl"], 2, "runtime.jsonl is read, and must not be overwritten"),
        (None, ["runtime.jsonl", "-o", "cases/small.yaml"], 2, "small.yaml is read, and must not be overwritten"),
        (None, ["runtime.jsonl", "--cases", "nowhere"], 2, "Directory 'nowhere' not found"),
    ],
)
def test_what_does_not_fit_is_refused_and_nothing_is_written(copy, change, words, code, message):
    if change is not None:
        change(copy)
    before = {path: path.read_bytes() for path in copy.rglob("*") if path.is_file()}
    options = [("--cases", "cases"), ("-o", "new.tar")]
    usual = [word for option in options if option[0] not in words for word in option]
    command("evidence", "build", *words, *usual, cwd=copy).check(code, out="", err=message)
    assert {path: path.read_bytes() for path in copy.rglob("*") if path.is_file()} == before


def test_what_bundles_need_besides_is_an_extra_that_names_itself(copy, monkeypatch):
    monkeypatch.setattr("maxpool_check.evidence.bundling.build._LIBRARIES", ("not-installed",))
    done = command("evidence", "build", "runtime.jsonl", "--cases", "cases", "-o", "new.tar", cwd=copy)
    done.check(2, "bundles of evidence need not-installed", "pip install 'maxpool-check[evidence]'")
