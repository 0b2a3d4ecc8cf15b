"""Bundles of evidence: what is in them, that the same input makes the same bytes, and what is refused."""

import gzip
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from urllib.parse import unquote

import numpy as np
import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

from maxpool_check.evidence.bundling.archive import unpacked
from maxpool_check.results.storage import read
from tests.conftest import KERNELS, SMALL, command

TENSOR = """\
cases:
  - id: tensor
    title: A tensor beside the file
    input: {npy: data/x.npy}
    attributes: {kernel_shape: [2, 2]}
"""

NAN = """\
spec: sonnx
cases:
  - id: nan
    title: A window of NaN
    covers: [SONNX-NAN]
    input: {dtype: float32, data: [[[[.nan, .nan], [.nan, .nan]]]]}
    attributes:
      {kernel_shape: [2, 2], strides: [1, 1], dilations: [1, 1], pads: [0, 0, 0, 0], auto_pad: NOTSET, ceil_mode: 0, storage_order: 0}
"""

DEFECTS = """\
defects:
  - id: OWN
    runtime: onnxruntime
    title: A NaN does not count as -inf
    severity: wrong-on-special
    mechanism: Whatever is compared with a NaN is false.
    expect:
      - kinds: [y-nan-introduced]
        cases: [nan:nan]
"""


KERNEL = f"python:{KERNELS}:keeps_the_seed"


@pytest.fixture(scope="module")
def given(tmp_path_factory):
    """A folder with cases, and the records of a runtime and of a kernel that is wrong for windows of -inf."""
    folder = tmp_path_factory.mktemp("given")
    files = {"small.yaml": SMALL, "deep/tensor.yaml": TENSOR, "nan.yaml": NAN, "defects/own.yaml": DEFECTS}
    for name, text in files.items():
        (folder / "cases" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "cases" / name).write_text(text)
    (folder / "cases/deep/data").mkdir()
    np.save(folder / "cases/deep/data/x.npy", np.arange(16, dtype=np.float32).reshape(1, 1, 4, 4))
    for name, target in (("runtime", "onnxruntime"), ("kernel", KERNEL)):
        assert command("run", "cases", "-t", target, "-q", "-o", f"{name}.jsonl", cwd=folder).code == 1
    return folder


@pytest.fixture(scope="module")
def bundle(given):
    """Their bundle."""
    done = command(
        "evidence", "build", "runtime.jsonl", "kernel.jsonl", "--cases", "cases", "-o", "evidence.tar", cwd=given
    )
    assert done.code == 0, done.err
    return given / "evidence.tar"


@pytest.fixture(scope="module")
def members(bundle):
    return unpacked(bundle)


@pytest.fixture
def copy(given, tmp_path):
    """The folder of cases and records, to be changed."""
    return shutil.copytree(given, tmp_path / "copy")


def test_a_bundle_has_the_records_and_all_that_their_cases_need(members, given):
    for name in ("cases/small.yaml", "cases/deep/tensor.yaml", "cases/deep/data/x.npy", "cases/defects/own.yaml"):
        assert members[name] == (given / name).read_bytes()
    records = {name for name in members if name.startswith("records/")}
    assert {gzip.decompress(members[name]) for name in records} == {
        (given / "runtime.jsonl").read_bytes(), (given / "kernel.jsonl").read_bytes(),
    }  # fmt: skip


def test_sha256sum_reads_the_manifest_of_all_other_members(bundle, members, tmp_path):
    subprocess.run(["tar", "-xf", bundle, "-C", tmp_path], check=True)
    done = subprocess.run(
        ["sha256sum", "-c", "MANIFEST.sha256"], cwd=tmp_path / "evidence", capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout
    assert {line.removesuffix(": OK") for line in done.stdout.splitlines()} == members.keys() - {"MANIFEST.sha256"}


def test_the_same_records_and_cases_make_the_same_bytes_anywhere(bundle, copy):
    (copy / "kernel.jsonl.gz").write_bytes(gzip.compress((copy / "kernel.jsonl").read_bytes(), 1))
    os.utime(copy / "cases/small.yaml", (0, 0))
    words = ("evidence", "build", "../kernel.jsonl.gz", "../runtime.jsonl", "--cases", "./", "-o", "../again.tar")
    different = {
        "TZ": "Asia/Kolkata",
        "LC_ALL": "tr_TR.UTF-8",
        "PYTHONHASHSEED": "7",
        "COLUMNS": "40",
        "PYTHONUTF8": "0",
    }
    done = subprocess.run(
        [sys.executable, "-m", "maxpool_check", *words],
        cwd=copy / "cases", env={**os.environ, **different}, umask=0o077, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert (copy / "again.tar").read_bytes() == bundle.read_bytes()


def test_no_folder_of_the_machine_that_builds_is_in_what_follows_from_the_records(members, bundle):
    of_records = {name for name in members if name.startswith("records/")}
    for name in members.keys() - of_records:
        assert str(bundle.parent).encode() not in members[name], name


def test_every_link_of_the_entry_page_leads_to_a_file_or_a_section(members):
    page = members["index.html"].decode()
    links = {unquote(link) for link in re.findall(r'href="([^"]*)"', page)} - {"data:,"}
    assert {"trace.html", "limitations.md", "repeat.md", "cases/deep/data/x.npy"} <= links
    assert {link for link in links if not link.startswith("#")} <= members.keys()
    assert {link[1:] for link in links if link.startswith("#")} <= set(re.findall(r'id="([^"]*)"', page))
    assert "<script" not in page


def statements(members, kind):
    return {
        name.removeprefix("attestations/").removesuffix(f".{kind}.json"): json.loads(members[name])
        for name in members
        if name.endswith(f".{kind}.json")
    }


def test_a_test_result_is_a_statement_of_in_toto_and_lists_each_compared_case_once(members, given):
    by_target = statements(members, "test-result")
    assert len(by_target) == 2
    for statement in by_target.values():
        assert statement["_type"] == "https://in-toto.io/Statement/v1"
        assert statement["predicateType"] == "https://in-toto.io/attestation/test-result/v0.1"
        digests = {each["name"]: each["digest"]["sha256"] for each in statement["subject"]}
        configured = {each["name"]: each["digest"]["sha256"] for each in statement["predicate"]["configuration"]}
        for name in (digests | configured).keys() & members.keys():
            assert (digests | configured)[name] == hashlib.sha256(members[name]).hexdigest()
        assert [name for name in digests if name.startswith("records/")]
        assert "cases/small.yaml" in configured
        predicate = statement["predicate"]
        listed = [*predicate["passedTests"], *predicate["warnedTests"], *predicate["failedTests"]]
        assert len({*listed}) == len(listed)
        assert predicate["result"] == "FAILED"
    runtime = next(each for name, each in by_target.items() if name == "onnxruntime")["predicate"]
    # A known defect explains it, and it is wrong all the same; nothing compared the window that misses X.
    assert "nan:nan" in runtime["failedTests"]
    assert "small:ordinary" in runtime["passedTests"]
    assert not [each for each in by_target.values() if "small:empty" in str(each["predicate"]["passedTests"])]


def test_the_predicate_of_ones_own_says_what_a_test_result_cannot(members):
    runtime = statements(members, "maxpool-check")["onnxruntime"]["predicate"]
    assert runtime["verdicts"]["undefined"]["cases"] == ["small:empty"]
    (known,) = [each for each in runtime["knownDefects"] if each["id"] == "OWN"]
    assert known["cases"] == ["nan:nan"]
    assert "nan:nan" not in runtime["unexpected"]
    kernel = next(each for name, each in statements(members, "maxpool-check").items() if name != "onnxruntime")
    assert str(KERNELS) in {each["name"] for each in kernel["subject"]}
    assert "small:neg-inf" in kernel["predicate"]["unexpected"]


def test_a_bill_of_materials_is_valid_and_has_the_runtime_and_the_time_of_the_record(members, given):
    bills = {name: content for name, content in members.items() if name.endswith(".cdx.json")}
    assert len(bills) == 2
    for content in bills.values():
        assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(content.decode()) is None
    bill = json.loads(bills["environments/onnxruntime.cdx.json"])
    target = read(given / "runtime.jsonl").header.targets[0]
    versions = {each["name"]: each["version"] for each in bill["components"]}
    assert versions["onnxruntime"] == target.version
    assert bill["metadata"]["timestamp"] == read(given / "runtime.jsonl").header.started


def test_every_number_of_executions_is_that_of_the_records(members, given):
    summary = {**read(given / "runtime.jsonl").footer.summary, **read(given / "kernel.jsonl").footer.summary}
    page = members["qualification/3-verification-results.md"].decode()
    heading, _, *rows = [line.strip("| ").split(" | ") for line in page.splitlines() if line.startswith("|")]
    shown = {row[0].strip("`"): dict(zip(heading[2:], map(int, row[2:]), strict=True)) for row in rows}
    assert {
        target: {verdict: count for verdict, count in counts.items() if count} for target, counts in shown.items()
    } == {target: {verdict: count for verdict, count in counts.items() if count} for target, counts in summary.items()}


@pytest.fixture(scope="module")
def of_two(tmp_path_factory):
    """The members of a bundle with one record of two targets, of which one conforms."""
    folder = tmp_path_factory.mktemp("two")
    (folder / "cases").mkdir()
    (folder / "cases/small.yaml").write_text(SMALL)
    (folder / "kernels.py").write_bytes(KERNELS.read_bytes())
    targets = [word for name in ("right", "dies_of_a_signal") for word in ("-t", f"python:kernels.py:{name}")]
    assert command("run", "cases", *targets, "-q", "-o", "two.jsonl", cwd=folder).code == 1
    done = command("evidence", "build", "two.jsonl", "--cases", "cases", "-o", "evidence.tar", cwd=folder)
    assert done.code == 0, done.err
    return unpacked(folder / "evidence.tar")


def test_each_target_of_a_record_has_its_own_result(of_two):
    page = of_two["index.html"].decode()
    right, wrong = re.findall(r'<p class="verdict [^>]*>(.*?)</p>', page)
    assert re.match(r"<b>.*right</b>: <strong>CONFORMS</strong> 0 unexpected; (\d+) of \1 compared", right), right
    assert "<strong>UNEXPECTED</strong>" in wrong
    assert "crash" in wrong
    predicates = {
        each["predicate"]["target"]["name"].rpartition(":")[2]: each["predicate"]
        for each in statements(of_two, "maxpool-check").values()
    }
    assert [predicates[name]["exitCode"] for name in ("right", "dies_of_a_signal")] == [0, 1]
    assert [bool(predicates[name]["unexpected"]) for name in ("right", "dies_of_a_signal")] == [False, True]
    assert [predicates[name]["result"] for name in ("right", "dies_of_a_signal")] == ["CONFORMS", "UNEXPECTED"]
    text = of_two["qualification/3-verification-results.md"].decode()
    assert re.findall("^- `python:.*:(.*)`: ([A-Z ]+)\\. ", text, re.MULTILINE) == [
        ("right", "CONFORMS"), ("dies_of_a_signal", "UNEXPECTED"),
    ]  # fmt: skip
    results = {name: each["predicate"]["result"] for name, each in statements(of_two, "test-result").items()}
    assert sorted(results.values()) == ["FAILED", "PASSED"]


def test_the_limitations_name_options_variants_and_clauses_of_which_nothing_was_compared(members, given):
    text = " ".join(members["limitations.md"].decode().split())
    target = read(given / "runtime.jsonl").header.targets[0]
    for name, value in target.session_options.items():
        assert f"`{name}={value}`" in text
    assert "variants `indices`, `y-only`. Nothing was executed with more than one thread. Not executed: the" in text
    trace = json.loads(gzip.decompress(members["trace.json.gz"]))
    testable = [each for part in trace["documents"] for each in part["clauses"] if each["status"] == "testable"]
    uncompared = {"undefined", "not-expressible", "not-claimed", "error"}
    missing = {
        target: [each["id"] for each in testable if each["results"].get(target, {"verdicts": {}})["verdicts"].keys() <= uncompared]
        for target in trace["targets"]
    }  # fmt: skip
    on_none = [each["id"] for each in testable if all(each["id"] in ids for ids in missing.values())]
    assert 0 < len(on_none) < len(testable)
    ids = ", ".join(f"`{each}`" for each in on_none)
    of = f"of {len(testable)} testable clauses"
    assert f"{len(on_none)} {of} had no compared execution on any target, so that the results say nothing about them: {ids}." in text  # fmt: skip
    page = members["index.html"].decode()
    assert f"{len(on_none)} {of} had no compared execution on any target." in page
    for name, ids in missing.items():
        assert f"`{name}`: {len(ids)} {of}: " in text
        assert f"{len(ids)} {of} had no compared execution on {name}." in page


def test_statements_whose_text_was_not_read_are_limitations(members):
    text = members["limitations.md"].decode().partition("### Statements that were not read")[2]
    assert {"SONNX-GENERAL", "SONNX-R2-ORIGIN", "SONNX-FIGURES"} <= set(re.findall("^- `([^`]+)`:", text, re.MULTILINE))


def without_footer(folder):
    lines = (folder / "runtime.jsonl").read_text().splitlines(keepends=True)
    (folder / "runtime.jsonl").write_text("".join(lines[:-1]))


def with_another_case(folder):
    text = (folder / "cases/small.yaml").read_text()
    (folder / "cases/small.yaml").write_text(text.replace("fill: 5", "fill: 6").replace("id: padded", "id: renamed"))


@pytest.mark.parametrize(
    ("change", "words", "code", "message"),
    [
        (without_footer, ["runtime.jsonl"], 3, "runtime.jsonl is incomplete: the run did not end"),
        (with_another_case, ["runtime.jsonl"], 2, "runtime.jsonl: 1 case of the record is not in cases: small:padded;"),
        (None, ["runtime.jsonl", "runtime.jsonl"], 2, "runtime.jsonl is named twice"),
        (None, ["cases/small.yaml"], 2, "cases/small.yaml:1: not a line of a record"),
        (None, ["runtime.jsonl", "-o", "runtime.jsonl"], 2, "runtime.jsonl is read, and must not be overwritten"),
        (None, ["runtime.jsonl", "-o", "cases/small.yaml"], 2, "small.yaml is read, and must not be overwritten"),
        (None, ["runtime.jsonl", "--cases", "nowhere"], 2, "Directory 'nowhere' not found"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused_and_nothing_is_written(copy, change, words, code, message):
    if change is not None:
        change(copy)
    before = {path: path.read_bytes() for path in copy.rglob("*") if path.is_file()}
    options = [("--cases", "cases"), ("-o", "new.tar")]
    usual = [word for option in options if option[0] not in words for word in option]
    done = command("evidence", "build", *words, *usual, cwd=copy)
    assert (done.code, done.out) == (code, "")
    assert message in done.err
    assert {path: path.read_bytes() for path in copy.rglob("*") if path.is_file()} == before
