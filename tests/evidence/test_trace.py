"""``trace``: clauses, cases and executions in both directions; what its formats look like is in the golden reports."""

import csv
import io

import pytest
import yaml

from maxpool_check.commands.evidence import TRACE_FORMATS
from maxpool_check.specifications.clauses import ClauseStatus, clauses_of
from tests.conftest import ROOT, command
from tests.test_inert import HOSTILE, check_report

CASES = (ROOT / "tests/data/golden/trace.yaml").read_text()
TARGETS = {name: f"python:tests/kernels.py:{name}" for name in ("right", "names_the_last_tie")}
TESTABLE = [clause.id for clause in clauses_of("sonnx") if clause.status is ClauseStatus.TESTABLE]


def trace(path, *words, **changed):
    return command("evidence", "trace", path, *words, **changed)


def run(path, record, *names, words=()):
    targets = [word for name in names for word in ("-t", TARGETS[name])]
    assert command("run", path, *targets, "--spec", "sonnx", "-q", "-o", record, *words).code in (0, 1)
    return ("--record", record)


@pytest.fixture(scope="module")
def traced(tmp_path_factory):
    """The file of the cases, and the record of two kernels on them."""
    folder = tmp_path_factory.mktemp("traced")
    (folder / "own.yaml").write_text(CASES)
    return folder / "own.yaml", run(folder / "own.yaml", folder / "r.jsonl", *TARGETS)


def of(document, name):
    """The clause of this name in the JSON of a trace."""
    (clause,) = (each for documents in document["documents"] for each in documents["clauses"] if each["id"] == name)
    return clause


def test_a_testable_clause_without_a_case_fails(traced, tmp_path):
    done = trace(traced[0])
    last = f"UNCOVERED  {len(TESTABLE) - 3} of {len(TESTABLE)} testable clauses have no case"
    assert (done.code, done.out.splitlines()[-1].startswith(last)) == (1, True)
    assert done.out.index("NO CASE") < done.out.index("informative")
    (tmp_path / "all.yaml").write_text(CASES.replace("[SONNX-MAX]", f"[{', '.join(TESTABLE)}]"))
    covered = trace(tmp_path / "all.yaml")
    last = f"COVERED  {len(TESTABLE)} testable clauses each have a case ("
    assert (covered.code, covered.out.splitlines()[-1].startswith(last)) == (0, True)


@pytest.mark.parametrize(
    ("words", "code", "text"),
    [
        (["-k", "clause:SONNX-MAXX"], 2, "did you mean 'SONNX-MAX'?"),
        (["--spec", "onnx-1", "-k", "clause:SONNX-MAX"], 2, "no clause of clause:SONNX-MAX holds in onnx-1"),
        (["-k", "clause:SONNX-GENERAL"], 0, "NOTHING TO TEST "),
        # A document without a case is traced, if it is named.
        (["--spec", "onnx-1"], 1, "no case"),
        (["-k", "clause:ONNX-MAX"], 1, "NO CASE"),
    ],
)
def test_documents_and_clauses_are_selected(traced, words, code, text):
    done = trace(traced[0], *words)
    assert (done.code, text in done.out + done.err) == (code, True), done.out + done.err


def test_changed_and_missing_cases_do_not_count(traced, tmp_path):
    path, record = tmp_path / "own.yaml", traced[1]
    text = CASES.replace("[[[[7, 7], [7, 7]]]]", "[[[[7, 7], [7, 8]]]]").replace("{id: first,", "{id: new,")
    path.write_text(text)
    trace(path, *record).check(1, "1 case has changed since, and count for nothing: own:ties")
    # What -k leaves out is not missing.
    for words in ((), ("-k", "*:maximum")):
        assert "1 case is not in the files: own:first" in trace(path, *record, *words).out
    document = trace(path, *record, "--report", "json").json
    assert of(document, "SONNX-INDICES-FIRST")["results"] == {}
    assert {result["cases"] for result in of(document, "SONNX-MAX")["results"].values()} == {1}


def test_records_that_cannot_be_used(traced, tmp_path):
    path, (_, record) = traced
    again, cut, other = (tmp_path / name for name in ("again.jsonl", "cut.jsonl", "other.yaml"))
    again.write_bytes(record.read_bytes())
    cut.write_text("".join(record.read_text().splitlines(keepends=True)[:-1]))
    other.write_text(CASES)
    for file, words, code, message in (
        (path, ["--record", record, "--record", again], 2, "is in another record, too"),
        (path, ["--record", cut], 3, "incomplete: the run did not end"),
        (other, ["--record", record], 4, "not in the files"),
        (path, ["--record", path], 2, "not a line of a record"),
        (path, ["--record", again, "--report", f"json={again}"], 2, "must not be overwritten"),
    ):
        done = trace(file, *words)
        assert (done.code, message in " ".join((done.out + done.err).split())) == (code, True), done.out + done.err
    assert again.read_bytes() == record.read_bytes()


@pytest.mark.parametrize("form", [*TRACE_FORMATS, "verbose"])
def test_text_of_cases_is_nothing_but_text(tmp_path, form):
    data = yaml.safe_load(CASES)
    titles = [HOSTILE, "=1+1", "@x", "+1", "-1", ">>>", "[LINK: SONNX-MAX]", "[[copy()]]", "::error::x"]
    data["cases"] = [{"id": f"=c<b>`|{at}", "title": title, "covers": ["SONNX-MAX"]} for at, title in enumerate(titles)]
    (tmp_path / "own.yaml").write_text(yaml.safe_dump(data))
    shown = trace(tmp_path / "own.yaml", *(["-v"] if form == "verbose" else ["--report", form])).check(1)
    check_report(form, shown.out, form)
    if form == "csv":
        cells = [cell for row in csv.reader(io.StringIO(shown.out)) for cell in row]
        assert not [cell for cell in cells if cell.startswith(("=", "+", "-", "@"))]
        assert "'=1+1" in cells


def test_no_line_is_wider_than_the_terminal(traced):
    shown, ids = trace(traced[0], *traced[1], COLUMNS="40").out, ("python:tests", "/", "UNCOVERED")
    assert [line for line in shown.splitlines() if len(line) > 40 and not line.lstrip().startswith(ids)] == []
