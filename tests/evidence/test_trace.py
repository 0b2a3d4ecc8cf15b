"""``trace``: clauses, cases and executions in both directions, in all formats."""

import csv
import io
import re
from collections import Counter
from xml.etree import ElementTree as ET

import pytest
import yaml
from jsonschema import Draft202012Validator

from maxpool_check.commands.evidence import TRACE_FORMATS
from maxpool_check.results.storage import read
from maxpool_check.specifications.clauses import ClauseStatus, clauses, clauses_of
from tests.conftest import command
from tests.test_inert import HOSTILE, check_report

CASES = """\
spec: sonnx
defaults:
  input: {dtype: int8, data: [[[[1, 2], [3, 4]]]]}
  attributes: {kernel_shape: [1, 2], strides: [1, 1], dilations: [1, 1], pads: [0, 0, 0, 0], auto_pad: NOTSET,
               ceil_mode: 0, storage_order: 0}
cases:
- {id: maximum, covers: [SONNX-MAX]}
- {id: ties, covers: [SONNX-MAX, SONNX-INDICES-FIRST], input: {data: [[[[7, 7], [7, 7]]]]}}
- {id: automatic, covers: [SONNX-AUTO-PAD-C2], attributes: {auto_pad: VALID}, expect: {refuse: outside-profile}}
- {id: unnamed, input: {data: [[[[5, 6], [3, 4]]]]}}
"""

WRONG = "python:tests/kernels.py:names_the_last_tie"


@pytest.fixture(scope="module")
def traced(tmp_path_factory):
    """The file of the cases, and the record of two kernels on them."""
    folder = tmp_path_factory.mktemp("traced")
    (folder / "own.yaml").write_text(CASES)
    kernels = [("-t", f"python:tests/kernels.py:{name}") for name in ("right", "names_the_last_tie")]
    done = command("run", folder / "own.yaml", *sum(kernels, ()), "--spec", "sonnx", "-q", "-o", folder / "r.jsonl")
    assert done.code == 1, done.err
    return folder / "own.yaml", folder / "r.jsonl"


def of(document, name):
    """The clause of this name in the JSON of a trace."""
    (clause,) = (each for documents in document["documents"] for each in documents["clauses"] if each["id"] == name)
    return clause


def test_both_directions(cli, traced):
    path, record = traced
    document = cli("evidence", "trace", path, "--record", record, "--report", "json").json
    assert not list(Draft202012Validator(cli("docs", "schema-trace").json).iter_errors(document))
    assert {case["id"]: case["clauses"] for case in document["cases"]} == {
        "own:maximum": ["SONNX-MAX"], "own:ties": ["SONNX-MAX", "SONNX-INDICES-FIRST"],
        "own:automatic": ["SONNX-AUTO-PAD-C2"], "own:unnamed": [],
    }  # fmt: skip
    assert of(document, "SONNX-MAX")["cases"] == ["own:maximum", "own:ties"]
    # The results of a clause are those of its cases in the record, counted here once more.
    executions = list(read(record).executions)
    for name in ("SONNX-MAX", "SONNX-INDICES-FIRST", "SONNX-AUTO-PAD-C2"):
        clause = of(document, name)
        for target in document["targets"]:
            counted = Counter(
                each.verdict.value for each in executions if each.target == target and each.case in clause["cases"]
            )
            assert clause["results"][target]["verdicts"] == counted, (name, target)
    wrong = of(document, "SONNX-INDICES-FIRST")["results"]["python:tests/kernels.py:names_the_last_tie"]
    assert (wrong["unexpected"], wrong["kinds"]) == (1, ["indices-tie-last"])
    assert document["records"][0]["counted"] == len(executions)


def test_every_clause_of_the_document_is_there_with_what_it_is(cli, traced):
    document = cli("evidence", "trace", traced[0], "--report", "json").json
    (documents,) = document["documents"]
    assert [clause["id"] for clause in documents["clauses"]] == [clause.id for clause in clauses_of("sonnx")]
    for clause in documents["clauses"]:
        stated = clauses()[clause["id"]]
        assert (clause["states"], clause["status"]) == (" ".join(stated.states.split()), stated.status.value)
        is_gap = stated.status is ClauseStatus.TESTABLE and not clause["cases"]
        assert clause["gap"] == ("no-case" if is_gap else None)
    shown = cli("evidence", "trace", traced[0]).out
    assert re.search("SONNX-PADS-C1 +NO CASE", shown)
    assert "open, by the policy nan" in shown
    assert "informative: No runtime has real numbers." in shown
    assert shown.index("NO CASE") < shown.index("informative")


def test_a_testable_clause_without_a_case_fails_if_asked(cli, traced, tmp_path):
    path = traced[0]
    done = cli("evidence", "trace", path, "--fail-uncovered")
    testable = sum(clause.status is ClauseStatus.TESTABLE for clause in clauses_of("sonnx"))
    assert done.code == 1
    assert done.out.splitlines()[-1].startswith(
        f"UNCOVERED  {testable - 3} of {testable} testable clauses have no case"
    )
    assert cli("evidence", "trace", path).code == 0
    refused = cli("evidence", "trace", path, "--fail-uncovered", "-k", "*")
    assert (refused.code, "-k leaves some out" in refused.err) == (2, True)
    # A document without a case is traced, if it is named.
    assert "no case" in cli("evidence", "trace", path, "--spec", "onnx-1").out
    everything = [clause.id for clause in clauses_of("sonnx") if clause.status is ClauseStatus.TESTABLE]
    (tmp_path / "all.yaml").write_text(CASES.replace("[SONNX-MAX]", f"[{', '.join(everything)}]"))
    covered = cli("evidence", "trace", tmp_path / "all.yaml", "--fail-uncovered")
    assert covered.code == 0
    assert covered.out.splitlines()[-1].startswith(f"COVERED  {testable} testable clauses each have a case (")


def test_a_clause_is_shown_with_its_cases_and_an_unknown_one_with_the_nearest(cli, traced):
    path, record = traced
    shown = cli("evidence", "trace", path, "--record", record, "-k", "clause:SONNX-INDICES-FIRST", "-v").out
    assert "  SONNX-MAX  " not in shown
    assert re.search("own:ties ties +sonnx .* 2 conform +1 conforms", shown)
    assert "own:maximum" not in shown
    refused = cli("evidence", "trace", path, "-k", "clause:SONNX-MAXX")
    assert (refused.code, "did you mean 'SONNX-MAX'?" in refused.err) == (2, True), refused.err


def test_a_clause_without_a_case_is_shown_too(cli, traced):
    path, record = traced
    for name, told in (
        ("SONNX-PADS-C1", "NO CASE"),
        ("SONNX-GENERAL", "INFORMATIVE SONNX-GENERAL "),
        ("ONNX-MAX", "NO CASE"),
    ):
        shown = cli("evidence", "trace", path, "--record", record, "-k", f"clause:{name}", "-v")
        text = " ".join(shown.out.split())
        assert shown.code == 0, shown.err
        assert told in text
        assert " ".join(clauses()[name].states.split()) in text
        listed = cli("evidence", "trace", path, "-k", f"clause:{name}", "--report", "json").json
        assert [each["id"] for documents in listed["documents"] for each in documents["clauses"]] == [name]
    assert (
        cli("evidence", "trace", path, "-k", "clause:SONNX-GENERAL")
        .out.splitlines()[-1]
        .startswith("NOTHING TO TEST  ")
    )
    refused = cli("evidence", "trace", path, "--spec", "onnx-1", "-k", "clause:SONNX-MAX")
    assert (refused.code, "no clause of clause:SONNX-MAX holds in onnx-1" in refused.err) == (2, True)


TESTABLE = [clause.id for clause in clauses_of("sonnx") if clause.status is ClauseStatus.TESTABLE]


@pytest.fixture(scope="module")
def unequal(tmp_path_factory):
    """The file of cases that are about all clauses, and the records of two targets: one of all cases, one of a single case."""
    folder = tmp_path_factory.mktemp("unequal")
    apart = ("SONNX-INDICES-FIRST", "SONNX-AUTO-PAD-C2", "SONNX-PADS-C1")
    named = f"[{', '.join(name for name in TESTABLE if name not in apart)}]"
    path = folder / "own.yaml"
    path.write_text(
        CASES.replace("[SONNX-MAX]", named).replace("{id: unnamed,", "{id: padded, covers: [SONNX-PADS-C1],")
    )
    words = ("--spec", "sonnx", "-q")
    wrong = ("run", path, "-t", WRONG, "-k", "own:[!p]*", *words)
    command(*wrong, "-o", folder / "first.jsonl")
    known = ("--known", folder / "known.yaml")
    command(
        "defects", "accept", folder / "first.jsonl", "--reason", "as it is", "--kind", "accepts-invalid", "-o", known[1]
    )
    command(*wrong, *known, "-o", folder / "a.jsonl")
    command("run", path, "-t", "python:tests/kernels.py:right", "-k", "own:maximum", *words, "-o", folder / "b.jsonl")
    return path, ("--record", folder / "a.jsonl"), ("--record", folder / "b.jsonl")


def test_clauses_that_no_target_compared_are_named_and_do_not_fail(cli, unequal):
    path, *records = unequal
    words = ("evidence", "trace", path, *records[0], *records[1])
    shown = cli(*words, "--fail-uncovered")
    last = shown.out.splitlines()[-1]
    assert shown.code == 0
    assert last.startswith(
        f"NOT ALL COMPARED  1 of {len(TESTABLE)} testable clauses has no case that was compared on any target: SONNX-PADS-C1; "
    )
    assert f"by target: 1 on {WRONG}, 3 on python:tests/kernels.py:right; " in last
    assert f"{len(TESTABLE)} testable clauses each have a case" in last
    document = cli(*words, "--report", "json").json
    assert [name for name in TESTABLE if of(document, name)["never_compared"]] == ["SONNX-PADS-C1"]
    assert of(document, "SONNX-AUTO-PAD-C2")["not_compared"] == ["python:tests/kernels.py:right"]
    page = cli(*words, "--report", "html").out
    assert re.search('id="clause-sonnx-pads-c1"[^>]* data-coverage="not compared"', page, re.I)
    assert "<option>not compared</option>" in page
    assert "NOT COMPARED on any target" in page
    assert '<p class="verdict known"><strong>NOT ALL COMPARED' in page
    text = cli(*words, "--report", "markdown").out
    assert "NOT COMPARED on any target" in text
    rows = csv.DictReader(io.StringIO(cli(*words, "--report", "csv").out))
    assert {row["not_compared"].count("kernels.py") for row in rows if row["clause"] == "SONNX-PADS-C1"} == {2}
    # Without a record, nothing is said of it.
    assert "COMPARED" not in cli("evidence", "trace", path).out


def test_problems_come_first(cli, unequal):
    path, *records = unequal
    shown = cli("evidence", "trace", path, *records[0]).out
    names = ("SONNX-INDICES-FIRST", "SONNX-PADS-C1", "SONNX-AUTO-PAD-C2", "SONNX-BASE")
    unexpected, never, known, rest = (shown.index(f"  {name} ") for name in names)
    assert "known: python-accepts-invalid" in " ".join(shown.split())
    assert unexpected < never < known < rest


def test_failures_of_cases_about_one_clause_alone_are_counted_apart(cli, traced, tmp_path):
    path, record = traced
    words = ("evidence", "trace", path, "--record", record)
    assert of(cli(*words, "--report", "json").json, "SONNX-INDICES-FIRST")["results"][WRONG]["failed_alone"] == 0
    for form in ("text", "markdown", "html"):
        shown = " ".join(cli(*words, "--report", form).out.split())
        assert "0 of 1 failure in cases of this clause alone" in shown, form
        assert "a case that fails may break another of its clauses" in shown, form
    # The same case, about one clause.
    (tmp_path / "own.yaml").write_text(CASES.replace("[SONNX-MAX, SONNX-INDICES-FIRST]", "[SONNX-INDICES-FIRST]"))
    command("run", tmp_path / "own.yaml", "-t", WRONG, "--spec", "sonnx", "-q", "-o", tmp_path / "r.jsonl")
    shown = cli("evidence", "trace", tmp_path / "own.yaml", "--record", tmp_path / "r.jsonl", "--report", "json").json
    assert of(shown, "SONNX-INDICES-FIRST")["results"][WRONG]["failed_alone"] == 1


def test_requirements_tools_keep_targets_apart_whatever_their_order(cli, unequal):
    path, *records = unequal
    for form, pattern in (("sdoc", r"(?m)^UID: (CASE:.* \(.*\))$"), ("needs", '"(?:conforms|unexpected) on [^"]*"')):
        first, second = (
            cli("evidence", "trace", path, *one, *other, "--report", form).out for one, other in (records, records[::-1])
        )  # fmt: skip
        found = re.findall(pattern, first)
        assert sorted(found) == sorted(re.findall(pattern, second))
        assert len(set(found)) == (4 if form == "sdoc" else 3)


def test_changed_and_missing_cases_do_not_count(cli, traced, tmp_path):
    path = tmp_path / "own.yaml"
    path.write_text(CASES.replace("[[[[7, 7], [7, 7]]]]", "[[[[7, 7], [7, 8]]]]").replace("unnamed", "new"))
    done = cli("evidence", "trace", path, "--record", traced[1])
    assert done.code == 0
    assert "1 case has changed since, and count for nothing: own:ties" in done.out
    assert "1 case is not in the files: own:unnamed" in done.out
    document = cli("evidence", "trace", path, "--record", traced[1], "--report", "json").json
    assert of(document, "SONNX-INDICES-FIRST")["results"] == {}
    assert {result["cases"] for result in of(document, "SONNX-MAX")["results"].values()} == {1}
    # What -k leaves out is not missing.
    assert (
        "not in the files: own:unnamed" in cli("evidence", "trace", path, "--record", traced[1], "-k", "*:maximum").out
    )


def test_records_that_cannot_be_used(cli, traced, tmp_path):
    path, record = traced
    (tmp_path / "again.jsonl").write_bytes(record.read_bytes())
    twice = cli("evidence", "trace", path, "--record", record, "--record", tmp_path / "again.jsonl")
    assert twice.code == 2
    assert "is in another record, too" in twice.err
    (tmp_path / "cut.jsonl").write_text("".join(record.read_text().splitlines(keepends=True)[:-1]))
    cut = cli("evidence", "trace", path, "--record", tmp_path / "cut.jsonl")
    assert (cut.code, "incomplete: the run did not end" in cut.out) == (3, True)
    (tmp_path / "other.yaml").write_text(CASES)
    assert cli("evidence", "trace", tmp_path / "other.yaml", "--record", record).code == 4
    assert cli("evidence", "trace", path, "--record", path).code == 2
    before = record.read_bytes()
    refused = cli("evidence", "trace", path, "--record", record, "--report", f"json={record}")
    assert (refused.code, record.read_bytes()) == (2, before)


def test_the_table_for_spreadsheets(cli, traced):
    path, record = traced
    rows = list(csv.DictReader(io.StringIO(cli("evidence", "trace", path, "--record", record, "--report", "csv").out)))
    document = cli("evidence", "trace", path, "--record", record, "--report", "json").json
    pairs = {(row["clause"], row["case"], row["target"]) for row in rows if row["clause"] and row["case"]}
    assert pairs == {
        (clause, case["id"], target)
        for case in document["cases"] for clause in case["clauses"] for target in case["results"]
    }  # fmt: skip
    assert {row["clause"] for row in rows if not row["case"]} == {
        clause["id"] for clause in document["documents"][0]["clauses"] if not clause["cases"]
    }
    assert [row["case"] for row in rows if not row["clause"]] == ["own:unnamed"] * 2
    assert sum(int(row["unexpected"]) for row in rows if row["clause"] == "SONNX-INDICES-FIRST") == 1


@pytest.mark.parametrize("form", [*TRACE_FORMATS, "verbose"])
def test_text_of_cases_is_nothing_but_text(cli, tmp_path, form):
    path = tmp_path / "own.yaml"
    data = {"spec": "sonnx", "cases": []}
    attributes = {
        "kernel_shape": [1, 2], "strides": [1, 1], "dilations": [1, 1], "pads": [0, 0, 0, 0], "auto_pad": "NOTSET",
        "ceil_mode": 0, "storage_order": 0,
    }  # fmt: skip
    titles = [HOSTILE, "=1+1", "@x", "+1", "-1", ">>>", "[LINK: SONNX-MAX]", "[[copy()]]", "::error::x"]
    for number, title in enumerate(titles):
        data["cases"].append({
            "id": f"=c<b>`|{number}", "title": title, "covers": ["SONNX-MAX"], "attributes": attributes,
            "input": {"dtype": "int8", "data": [[[[number, 2], [3, 4]]]]},
        })  # fmt: skip
    path.write_text(yaml.safe_dump(data))
    words = ["-v"] if form == "verbose" else ["--report", form]
    shown = cli("evidence", "trace", path, *words)
    assert shown.code == 0, shown.err
    check_report(form, shown.out, form)
    if form == "csv":
        cells = [cell for row in csv.reader(io.StringIO(shown.out)) for cell in row]
        assert not [cell for cell in cells if cell.startswith(("=", "+", "-", "@"))]
        assert "'=1+1" in cells
    if form == "html":
        assert "<b>`" not in shown.out


@pytest.mark.parametrize("width", [40, 60, 80, 120])
def test_no_line_is_wider_than_the_terminal(cli, traced, width):
    path, record = traced
    shown = cli("evidence", "trace", path, "--record", record, COLUMNS=str(width))
    ids = ("python:tests", "/", "UNCOVERED")
    wide = [line for line in shown.out.splitlines() if len(line) > width and not line.lstrip().startswith(ids)]
    assert wide == []
    assert "\x1b" not in shown.out
    assert "\x1b[" in cli("--color", "always", "evidence", "trace", path).out


def test_reports_of_runs_name_the_clauses_of_each_case(cli, traced):
    record = traced[1]
    suites = ET.fromstring(cli("report", record, "--report", "junit").out)
    tests = {test.get("name"): test for test in suites.iter("testcase")}
    named = [each.get("value") for each in tests["ties"].iter("property") if each.get("name") == "clause"]
    assert named == ["SONNX-MAX", "SONNX-INDICES-FIRST"]
    assert [each.get("name") for each in tests["unnamed"].iter("property")] == ["spec"]
    log = cli("report", record, "--report", "sarif").json
    properties = [result["properties"] for run in log["runs"] for result in run["results"]]
    assert properties
    for each in properties:
        expected = {"own:ties": ["SONNX-MAX", "SONNX-INDICES-FIRST"], "own:automatic": ["SONNX-AUTO-PAD-C2"]}[
            each["case"]
        ]
        assert each["clauses"] == each["tags"] == expected


def test_the_wrong_kernels_that_cases_notice(cli, traced):
    words = ("evidence", "trace", traced[0], "-k", "clause:SONNX-MAX")
    assert of(cli(*words, "--report", "json").json, "SONNX-MAX")["kernels"] is None
    document = cli(*words, "--mutants", "--report", "json").json
    clause = of(document, "SONNX-MAX")
    noticed = {kernel: cases for kernel, cases in clause["kernels"].items() if cases}
    assert noticed
    assert set().union(*noticed.values()) <= set(clause["cases"])
    assert document["kernels"].keys() == clause["kernels"].keys()
    shown = " ".join(cli(*words, "--mutants", "-v").out.split())
    assert f"{len(noticed)} of {len(clause['kernels'])} wrong kernel" in shown
    assert f"({document['kernels'][next(iter(noticed))]}) is noticed by own:" in shown


@pytest.mark.long
def test_the_cases_of_each_testable_clause_of_the_corpus_notice_a_wrong_kernel(cli):
    done = cli("evidence", "trace", "cases", "--mutants", "--fail-uncovered")
    assert done.code == 0, done.out
    assert "NO WRONG KERNEL" not in done.out
