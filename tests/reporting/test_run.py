"""The numbers, the words and the limits of reports: what is counted, what is left out where there is much."""

import gc
import hashlib
import json
import re
import tracemalloc
from base64 import b64encode
from dataclasses import replace

import msgspec
import pytest
from junitparser import JUnitXml, Skipped

from maxpool_check.commands import report
from maxpool_check.reporting import changes_items, github, run_items
from maxpool_check.reporting.blocks import Cases, Names, Table, plain
from maxpool_check.reporting.reruns import commands
from maxpool_check.reporting.run_report import RunReport
from maxpool_check.reporting.run_view import document
from maxpool_check.reporting.writers import Display
from maxpool_check.results.details import Input
from maxpool_check.results.record import ExitCode, KnownEntry, KnownStatus, Verdict
from maxpool_check.results.storage import Recorder, read
from tests.conftest import shipped
from tests.reporting.test_golden import CELL, GOLDEN, HEADER, RUN, TARGET, compared, execution, record, written

KNOWN = KnownEntry(id="ours", target=TARGET, status=KnownStatus.EXPECTED, kinds=(), reason="")


def report_of(*executions, known=(), exit_code=ExitCode.AS_EXPECTED):
    """The report of some executions on the first target of the golden record."""
    made = record(*executions)
    header = msgspec.structs.replace(made.header, cases=len(executions))
    return RunReport(
        replace(made, header=header, footer=msgspec.structs.replace(made.footer, known=known)), exit_code
    )  # fmt: skip


def like(verdict, /, **changed):
    """The first execution of the golden record that has this verdict, changed."""
    first = next(each for each in RUN.executions if each.verdict is verdict and each.target == TARGET)
    return msgspec.structs.replace(first, **changed)


OURS = {"known": "ours", "status": "expected"}
LIMITS = [like(Verdict.REFUSES, limit=limit) for limit in (True, True, False)]


FIXED, STALE = msgspec.structs.replace(KNOWN, fixed="9.1"), msgspec.structs.replace(KNOWN, status=KnownStatus.STALE)


@pytest.mark.parametrize(
    ("executions", "known", "code", "result"),
    [
        ([like(Verdict.CONFORMS), like(Verdict.UNDEFINED)], KNOWN, 0, "CONFORMS 1 of 1 comparison conforms"),
        ([like(Verdict.CONFORMS), like(Verdict.DIVERGES, **OURS)], KNOWN, 0, "DEVIATES AS KNOWN 1 known"),
        ([like(Verdict.DIVERGES, **OURS)], FIXED, 0, "DEVIATES AS KNOWN 1 known, 1 of them repaired in 9.1: upgrade"),
        ([like(Verdict.REFUSES, limit=True, **OURS)], KNOWN, 0, "DEVIATES AS KNOWN 1 limit"),
        # The record of a model.
        ([like(Verdict.DIVERGES, status="special")], KNOWN, 0, "CONFORMS ON FINITE VALUES 1 on special values alone"),
        ([like(Verdict.DIVERGES, status="outside")], KNOWN, 0, "CONFORMS 1 outside the model alone"),
        (LIMITS, KNOWN, 1, "UNEXPECTED 2 new"),
        ([like(Verdict.CONFORMS)], STALE, 1, "UNEXPECTED 1 known defect to remove or review"),
        # A defect that shows itself in two ways is one.
        ([like(Verdict.CRASHES, **OURS), like(Verdict.REFUSES, **OURS)], KNOWN, 0, "DEVIATES AS KNOWN 1 known"),
    ],
)
def test_the_result_of_a_run_in_words(executions, known, code, result):
    made = report_of(*executions, known=[known], exit_code=ExitCode(code))
    assert " ".join(made.result) == result


@pytest.mark.parametrize("name", ["run", "many", "graphs", "incomplete", "errors"])
def test_a_run_is_one_screen(name):
    lines = (GOLDEN / f"{name}.txt").read_text().splitlines()
    assert len(lines) <= 25
    assert max(map(len, lines)) <= 100


def test_the_example_is_the_most_convincing_case_and_not_the_smallest():
    def wrong(case, expected, got, size, window):
        cell = msgspec.structs.replace(CELL, expected=expected, got=got, values=window)
        data = Input(dtype="float32", shape=(1, 1, size), attributes={}, values=None)
        return execution(case, "diverges", "y-not-in-input", status="new", cells=(cell,), input=data)

    found = [
        wrong("sign", "-0.0", "0.0", 4, ("-0.0", "0.0")), wrong("inf", "-inf", "0.0", 4, ("-inf", "-inf")),
        wrong("cell", "-1.0", "0.0", 1, ("-1.0",)), wrong("large", "-1.0", "0.0", 90, ("-1.0", "-2.0")),
        wrong("plain", "-1.0", "0.0", 4, ("-1.0", "-2.0")),
    ]  # fmt: skip
    (fault,) = report_of(*found, exit_code=ExitCode.UNEXPECTED).faults
    order = [each.case.rpartition(":")[2] for each in fault.executions]
    assert order == ["plain", "large", "cell", "inf", "sign"]


def test_a_run_without_executions_says_that_nothing_was_tested():
    assert replace(report_of(), exit_code=ExitCode.INCOMPLETE).tested.startswith("nothing of 0 cases")
    assert report_of(like(Verdict.CONFORMS)).tested == "1 case in 1 execution"


def test_a_variant_that_could_not_be_compared_hides_no_other():
    def results(*executions):
        (suite,) = JUnitXml.fromstring(written("junit", report_of(*executions), report).encode())
        return [type(result) for test in suite for result in test.result]

    apart = execution("a", "not-expressible", variant="indices")
    assert (results(apart, execution("a")), results(apart)) == ([], [Skipped])


def test_a_result_of_sarif_is_suppressed_only_if_its_fault_is_expected():
    fault = like(Verdict.DIVERGES, case="x:a")
    for other, levels in ((OURS, ["note"]), ({"known": None, "status": "new"}, ["error", "note"])):
        variants = [msgspec.structs.replace(fault, **OURS), msgspec.structs.replace(fault, variant="other", **other)]
        (run,) = json.loads(written("sarif", report_of(*variants, known=[KNOWN]), report))["runs"]
        assert [each["level"] for each in run["results"]] == levels
        assert ["suppressions" in each for each in run["results"]] == [level == "note" for level in levels]


def test_long_messages_are_cut_in_junit():
    text = written("junit", report_of(like(Verdict.REFUSES, message="much " * 3000, cells=(), status="new")), report)
    (result,) = (result for suite in JUnitXml.fromstring(text.encode()) for test in suite for result in test.result)
    assert len(result.message) == 300
    assert 300 < max(map(len, result.text.splitlines())) <= 1000


def test_no_more_annotations_than_github_takes():
    cases, kinds = ([f"{word}-{number}" for number in range(30)] for word in ("case", "kind"))
    new = [execution(case, "diverges", kind, status="new") for case, kind in zip(cases, kinds, strict=True)]
    run = RunReport(replace(record(*new), footer=None), 0)
    for found in (run_items.annotations(run), changes_items.annotations(compared(map(execution, cases), new))):
        lines = github.commands(found)
        assert (len(lines), lines[-1]) == (github.MOST_ANNOTATIONS, "::error::21 more; see the step summary")


def test_the_policy_allows_the_style_and_the_script_of_the_page_alone():
    page = written("html", RunReport(RUN, 1), report)
    policy = re.search('http-equiv="Content-Security-Policy" content="([^"]*)"', page)[1].replace("&#39;", "'")
    assert policy.startswith("default-src 'none'; ")
    for tag in ("style", "script"):
        [text] = re.findall(f"<{tag}>(.*?)</{tag}>", page, re.DOTALL)
        assert f"{tag}-src 'sha256-{b64encode(hashlib.sha256(text.encode()).digest()).decode()}'" in policy
    assert " style=" not in page
    assert not re.search(r"<[^>]* on[a-z]+=", page)


def inner(all_blocks):
    """Blocks, and those in them."""
    for block in all_blocks:
        yield block
        yield from inner(getattr(block, "blocks", ()))


def test_every_execution_is_somewhere_on_the_page_and_commands_name_cases_of_the_corpus():
    stored = read(GOLDEN / "graphs.jsonl")
    shown, made = set(), RunReport(stored, stored.footer.exit_code)
    for block in inner(document(made).blocks):
        if isinstance(block, Table) and block.name == "rows":
            shown |= {plain(row[0][0]) for row in block.rows}
        elif isinstance(block, Cases):
            listed = {f"{file}:{name}" for file, names in block.names.files for name in names.split(", ")}
            assert len(listed) == block.names.count
            shown |= listed
    assert shown == {execution.case for execution in stored.executions}
    ids = {case.id for case in shipped().cases}
    for fault in made.faults:
        words = commands(fault.example, stored.header)[0][1].split()
        assert words[:2] == ["maxpool-check", "run"]
        assert words[words.index("-k") + 1] in ids
        assert words[2] == "corpus:contexts/pad.yaml"


class Discarded:
    """A text file that keeps nothing but the length of the longest text written at once."""

    longest = 0

    def write(self, text):
        self.longest = max(self.longest, len(text))

    def writelines(self, lines):
        for line in lines:
            self.write(line)


@pytest.mark.parametrize("form", [*report.FORMATS])
def test_ten_times_the_executions_take_no_more_memory_where_they_conform(tmp_path, monkeypatch, form):
    def peak(count):
        with Recorder(tmp_path / "record.jsonl") as recorder:
            recorder.write(HEADER)
            for number in range(count):
                recorder.write(execution(f"{number}", variant="indices", interpretations={"tie": ("first",)}))
            stored, file = recorder.record, Discarded()
            gc.collect()
            tracemalloc.start()
            report.FORMATS.write(form, RunReport(stored, 0), file, Display())
            _, most = tracemalloc.get_traced_memory()
            tracemalloc.stop()
            return most, file.longest

    # A page lists the names of conforming cases as long as they are few.
    monkeypatch.setattr(Names, "most", 80)
    # The first also imports, and fills what Python keeps of so many strings, which is 8,000 bytes of 3.10.
    _, (few, longest), (many, longest_of_many) = (peak(count) for count in (1000, 100, 1000))
    # A list of nothing but references to the executions would take 7,200 bytes more; a cache that fills up meanwhile takes less.
    assert many < 1.1 * few + 3_000
    # A number in it may have a digit more.
    assert longest_of_many <= longest + 10
