"""The numbers, the words and the limits of reports: what is counted, what is left out where there is much."""

import hashlib
import re
from base64 import b64encode
from dataclasses import replace

import msgspec
import pytest
from junitparser import JUnitXml, Skipped

from maxpool_check.commands import report
from maxpool_check.reference.numbering import Layout
from maxpool_check.reporting import changes, github
from maxpool_check.reporting.blocks import Names, Table, plain
from maxpool_check.reporting.drawing import core_coordinates, drawings, planes, window_text
from maxpool_check.reporting.findings import findings
from maxpool_check.reporting.reruns import commands
from maxpool_check.reporting.run_report import ResultGroup, RunReport, Tally
from maxpool_check.reporting.run_view import document
from maxpool_check.reporting.writers import Form
from maxpool_check.results.record import ExitCode, KnownEntry, KnownStatus, Verdict
from maxpool_check.results.storage import read
from tests.conftest import KERNELS, run_record, shipped
from tests.reporting.test_golden import GOLDEN, RUN, TARGET, compared, execution, record, written

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


@pytest.mark.parametrize(
    ("executions", "code", "result", "groups"),
    [
        ([like(Verdict.CONFORMS), like(Verdict.UNDEFINED)], 0,
         "CONFORMS 0 unexpected; 1 of 1 compared execution conforms, 1 undefined", {}),
        ([like(Verdict.CONFORMS), like(Verdict.DIVERGES, **OURS)], 0,
         "KNOWN DEFECTS 0 unexpected; 1 known divergence in 1 defect; 1 of 2 compared executions conforms",
         {ResultGroup.DIVERGENCE: Tally(1, 0, 1, 1)}),
        ([like(Verdict.DIVERGES, status="special")], 0,
         "SPECIAL VALUES 0 unexpected; 1 special-value divergence in 1 defect; 0 of 1 compared execution conforms",
         {ResultGroup.DIVERGENCE: Tally(1, 0, 1, 1)}),
        (LIMITS, 1,
         "UNEXPECTED 3 unexpected results in 1 case: 1 refusal in 1 defect, 2 limits in 1 defect; 0 of 3 compared executions conform",
         {ResultGroup.REFUSAL: Tally(1, 1, 1, 1), ResultGroup.LIMIT: Tally(1, 1, 2, 1)}),
        # A defect that shows itself in two groups is counted in both.
        ([like(Verdict.CRASHES, **OURS), like(Verdict.REFUSES, **OURS)], 0,
         "KNOWN DEFECTS 0 unexpected; 1 known crash in 1 defect, 1 known refusal in 1 defect; 0 of 2 compared executions conform",
         {ResultGroup.CRASH: Tally(1, 0, 1, 1), ResultGroup.REFUSAL: Tally(1, 0, 1, 1)}),
    ],
)  # fmt: skip
def test_the_result_of_a_run_in_words(executions, code, result, groups):
    made = report_of(*executions, known=[KNOWN], exit_code=ExitCode(code))
    assert (" ".join(made.result), made.groups) == (result, groups)


def test_a_run_without_executions_says_that_nothing_was_tested():
    assert replace(report_of(), exit_code=ExitCode.INCOMPLETE).tested.startswith("nothing of 0 cases")
    assert report_of(like(Verdict.CONFORMS)).tested == "1 case in 1 execution"


def test_what_belongs_to_no_target_of_the_header_is_no_finding():
    stored = replace(RUN, header=msgspec.structs.replace(RUN.header, targets=RUN.header.targets[:1]))
    assert {finding.target for finding in findings(stored)} == {TARGET}


def test_a_variant_that_could_not_be_compared_hides_no_other():
    def results(*executions):
        (suite,) = JUnitXml.fromstring(written("junit", report_of(*executions), report).encode())
        return [type(result) for test in suite for result in test.result]

    apart = execution("a", "not-expressible", variant="indices")
    assert (results(apart, execution("a")), results(apart)) == ([], [Skipped])


def test_a_result_of_sarif_is_suppressed_only_if_all_its_variants_are_expected():
    fault = like(Verdict.DIVERGES, case="x:a")
    for other, is_suppressed in ((OURS, True), ({"known": None, "status": "new"}, False)):
        variants = [msgspec.structs.replace(fault, **OURS), msgspec.structs.replace(fault, variant="other", **other)]
        text = written("sarif", report_of(*variants, known=[KNOWN]), report)
        assert ('"suppressions"' in text, '"level": "note"' in text) == (is_suppressed, is_suppressed)


def test_long_messages_are_cut_in_junit():
    text = written("junit", report_of(like(Verdict.REFUSES, message="much " * 3000, cells=(), status="new")), report)
    (result,) = (result for suite in JUnitXml.fromstring(text.encode()) for test in suite for result in test.result)
    assert len(result.message) == 300
    assert 300 < max(map(len, result.text.splitlines())) <= 1000


def test_no_more_annotations_than_github_takes():
    cases, kinds = ([f"{word}-{number}" for number in range(30)] for word in ("case", "kind"))
    new = [execution(case, "diverges", kind, status="new") for case, kind in zip(cases, kinds, strict=True)]
    lines = github.workflow_commands(replace(record(*new), footer=None))
    for found in (lines, changes.workflow_commands(compared(map(execution, cases), new))):
        assert (len(found), found[-1]) == (github.MOST_ANNOTATIONS, "::error::21 more; see the step summary")


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
    for block in inner(document(made, Form.HTML).blocks):
        if isinstance(block, Table) and block.name == "rows":
            shown |= {plain(row[0][0]) for row in block.rows}
        elif isinstance(block, Names):
            listed = {f"{file}:{name}" for file, names in block.files for name in names.split(", ")}
            assert len(listed) == block.count
            shown |= listed
    assert shown == {execution.case for execution in stored.executions}
    ids = {case.id for case in shipped().cases}
    for finding in made.findings:
        words = commands(finding.smallest, stored.header)[0][1].split()
        assert words[:2] == ["maxpool-check", "run"]
        assert words[words.index("-k") + 1] in ids
        assert words[2] == "corpus:contexts/pad.yaml"


@pytest.mark.parametrize(
    ("tensor", "lines"),
    [
        # Aligned.
        ((["1", "-22", "3", "4"], (2, 2)), [" 1   -22", " 3     4"]),
        # Several planes have headings; three axes are planes of the last two.
        ((list("abcd"), (1, 2, 1, 2)), ["[0, 0, :, :]", " a   b", "[0, 1, :, :]", " c   d"]),
        ((list("ab"), (1, 1, 2)), [" a   b"]),
        (([], (0, 2)), ["(empty)"]),
        # Channels that are last are shown plane by plane, too.
        ((list("abcdef"), (1, 1, 3, 2), Layout.CHANNELS_LAST),
         ["[0, :, :, 0]", " a   c   e", "[0, :, :, 1]", " b   d   f"]),
        ((list("abcd"), (2, 1, 2), Layout.IMAGE), ["[:, :, 0]", " a", " c", "[:, :, 1]", " b", " d"]),
    ],
)  # fmt: skip
def test_tensors_as_lines(tensor, lines):
    assert planes(*tensor) == lines


@pytest.mark.parametrize(
    ("window", "text"),
    [
        ([[0, 1], [2]], "rows 0-1, column 2"),
        ([[0, 2, 4]], "positions 0 2 4"),
        ([[], [1]], "the padding alone"),
        ([[0], [1], [2, 3]], "D1 0, D2 1, D3 2-3"),
    ],
)
def test_windows_in_words(window, text):
    assert window_text(window) == text


@pytest.mark.parametrize(
    ("at", "layout", "core"),
    [
        ((1, 2, 0, 3), Layout.CHANNELS_FIRST, (1, 2, 0, 3)),
        ((1, 0, 3, 2), Layout.CHANNELS_LAST, (1, 2, 0, 3)),
        ((0, 3, 2), Layout.IMAGE, (0, 2, 0, 3)),
    ],
)
def test_the_coordinates_of_the_core(at, layout, core):
    assert core_coordinates(at, layout) == core


CASES = """\
cases:
  - {id: second-plane, input: {dtype: float32, shape: [1, 2, 2, 2], arange: {}}, attributes: {kernel_shape: [2, 2]}}
  - {id: far, input: {dtype: float32, shape: [1, 2, 30], arange: {}}, attributes: {kernel_shape: [2], strides: [28]}}
"""


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    """The drawings by case."""
    path = tmp_path_factory.mktemp("cases") / "small.yaml"
    path.write_text(CASES)
    record = run_record(path, f"python:{KERNELS}:counts_in_the_plane")
    return {each.case: drawings(each) for each in record.executions if each.variant == "indices"}


@pytest.mark.parametrize(
    ("case", "at", "place", "marks", "taps"),
    [
        # An index names the cell of the target, in another plane than that of the window.
        ("second-plane", 0, "[0, 1, 0, 0]", [("X[0, 1, :, :]", "1", "1"), ("X[0, 0, :, :]", "1", "1")], [4, 0]),
        # A cell far from where its number lies in X is drawn with its own surroundings.
        ("far", -1, "[0, 1, 1]", [("X[0, 1, :]", "", "29"), ("X[0, 0, :]", "", "29")], [2, 0]),
    ],
)
def test_the_cell_of_the_reference_and_that_of_the_target_are_marked(drawn, case, at, place, marks, taps):
    drawing = drawn[f"small:{case}"][at]
    cells = [
        (cell, (plane.heading, plane.rows[y], plane.columns[x]))
        for plane in drawing.planes
        for y, row in enumerate(plane.cells)
        for x, cell in enumerate(row)
    ]
    assert drawing.place == place
    assert [where for cell, where in cells if cell.is_chosen] == marks[:1]
    assert [where for cell, where in cells if cell.is_target] == marks[1:]
    assert [sum(cell.is_tap for row in plane.cells for cell in row) for plane in drawing.planes] == taps
