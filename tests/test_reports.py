"""The committed reports: each is what its record says, and its record holds for all cases that have not changed since.

No report is bound to the corpus as a whole: a new case needs no new report. ``make reports`` makes them again.
"""

import hashlib
import io
import json
import lzma
import re
import shutil
from functools import cache

import msgspec
import pytest
import yaml

from maxpool_check.commands.report import corpus_difference
from maxpool_check.corpus.collection import collect, is_defect_file
from maxpool_check.judging.graph_oracle import GraphOracle
from maxpool_check.judging.oracle import Oracle
from maxpool_check.reference.dtypes import name_of
from maxpool_check.reporting.run_report import RunReport
from maxpool_check.reporting.writers import LARGEST, write_markdown
from maxpool_check.results.record import DEATHS, Verdict
from maxpool_check.specifications.specification import Refused
from maxpool_check.targets.name import parse
from tests import make_reports
from tests.conftest import CASES, ROOT, shipped
from tests.report_matrix import RECORDS, REPORTS, record_at, with_matrix
from tests.report_matrix import cell as matrix_cell
from tests.report_matrix import name_of as report_name

CORPUS = shipped()
LONGEST_LINE = 400
UNRELATED = {*DEATHS, Verdict.NOT_EXPRESSIBLE}
"""Verdicts that say nothing of outputs or refusals."""

ORACLES = {}
"""What the reference says of a case, by id and digest: most cases are in most of the records."""


def contradictions(record, cases):
    """What a record says of unchanged cases that the reference and the judge no longer say, in words."""
    unchanged = {(case.id, case.sha256): case for case in cases}
    for execution in record.executions:
        key = execution.case, execution.case_sha256
        if key not in unchanged or execution.verdict in UNRELATED:
            continue
        if key not in ORACLES:
            ORACLES[key] = unchanged[key].oracle()
        check = of_excluded if isinstance(ORACLES[key], Refused) else of_allowed
        for mistake in check(execution, ORACLES[key]):
            yield f"{execution.target}: {execution.case} ({execution.variant}): {execution.verdict.value}, but {mistake}"


def of_excluded(execution, refused):
    """The document excludes the graph: to refuse it conforms, to return outputs diverges, unless it only lacks a meaning."""
    returned = Verdict.UNDEFINED if refused.is_open else Verdict.DIVERGES
    if execution.verdict is not (returned if execution.digests else Verdict.CONFORMS):
        yield f"the document excludes the graph: {refused}"


def of_allowed(execution, oracle):
    """The document allows the graph: the verdict follows from the reference's outputs."""
    if execution.verdict is Verdict.REFUSES and (oracle.pooling.refusable or oracle.has_undefined):
        yield "a refusal is allowed, or undefined"
    if execution.verdict is Verdict.UNDEFINED and not oracle.has_undefined:
        yield "no window is empty"
    if execution.verdict is Verdict.CONFORMS and not execution.digests and not oracle.pooling.refusable:
        yield "no document allows the refusal"
    equal = bool(execution.digests) and all(
        digest == digest_of_final(oracle, name) for name, digest in execution.digests.items()
    )
    # Another interpretation of the document is named as well.
    is_named = (
        execution.differences or execution.information or (oracle.pooling.alternatives and execution.interpretations)
    )
    if execution.verdict is Verdict.CONFORMS and execution.digests and not equal and not is_named:
        yield "the outputs are not the reference's, and nothing says why"
    relative = {"unstable"} | {kind for kind in execution.kinds if "-depend" in kind}
    if execution.verdict is Verdict.DIVERGES and equal and not relative.issuperset(execution.kinds):
        yield "the outputs are the reference's"
    for cell in execution.cells:
        if cell.kind not in relative and cell.expected not in expected_at(oracle, cell):
            yield f"{cell.output}{list(cell.at)} is not to be {cell.expected}"


def output(oracle, pooled, name):
    """Y or Indices in the document's layout."""
    return getattr(pooled.arranged(oracle.pooling.layout), name)


def final(oracle, name):
    """An output of the model: of a graph of several nodes, what is behind the last one."""
    graph = oracle.graph
    if graph.context.is_alone:
        return output(oracle, oracle.pooled, name)
    if name in graph.context.side_outputs:
        number = graph.context.side_outputs[name]
        return Oracle(oracle.X, graph.pooling).pooled.Y if number is None else graph.flow[number]
    return oracle.output if name == "Y" else oracle.pooled.Indices


@cache
def digest_of_final(oracle, name):
    """As records have it: dtype, shape and bytes."""
    tensor = final(oracle, name)
    return hashlib.sha256(f"{name_of(tensor.dtype)}{tensor.shape}".encode() + tensor.tobytes()).hexdigest()


@cache
def accepted(oracle, name):
    """An output under every interpretation that conforms."""
    oracles = [*oracle.alternatives, *(oracle.plain.alternatives if isinstance(oracle, GraphOracle) else ())]
    return [output(each, pooled, name) for each in oracles for pooled in each.interpretations]


def expected_at(oracle, cell):
    """The values of one cell under every interpretation that conforms, as text."""
    return {
        str(tensor[tuple(cell.at)])
        for tensor in accepted(oracle, cell.output)
        if len(cell.at) == tensor.ndim and all(at < size for at, size in zip(cell.at, tensor.shape, strict=True))
    }


def assert_lines_in_order(lines, page):
    """All lines are in the page, in their order; the page may have others between them."""
    rest = iter(page.splitlines())
    for line in lines.splitlines():
        assert line in rest, f"missing: {line}"


def test_there_are_reports_of_the_releases_that_matter():
    names = {report_name(path) for path in RECORDS}
    assert "onnxruntime-1.23.2-cpu" in names
    assert len(names) >= 2


@pytest.mark.parametrize("path", RECORDS, ids=report_name)
def test_a_report_is_made_from_its_record(path):
    # The command reads a record again for each part of the report; of one, the next test tries it.
    record, written = record_at(path), io.StringIO()
    write_markdown(RunReport(record, record.footer.exit_code), written)
    assert path.with_name(f"{report_name(path)}.md").read_text() == written.getvalue(), "make reports"


def test_the_command_makes_the_report_of_a_record(cli):
    path = min(RECORDS, key=lambda path: path.stat().st_size)
    done = cli("report", path, "--report", "markdown")
    assert (done.code, done.err) == (0, "")
    assert path.with_name(f"{report_name(path)}.md").read_text() == done.out


@pytest.mark.parametrize("path", RECORDS, ids=report_name)
def test_a_report_is_short_and_says_what_it_leaves_out(path):
    page = path.with_name(f"{report_name(path)}.md").read_text()
    assert len(page.encode()) <= LARGEST * len(record_at(path).header.targets)
    assert max(map(len, page.splitlines())) <= LONGEST_LINE
    defects = {execution.known for execution in record_at(path).executions if execution.known is not None}
    assert {name for name in defects if f"`{name}`" not in page} == set()
    drawn = {name for name in defects if f"### `{name}`: " in page}
    # With several targets, links begin with the name of theirs.
    assert all(re.search(rf"\]\(#([^)]*-)?{name}\)", page) for name in drawn)
    in_rows = [
        line
        for line in page.splitlines()
        if re.match(r"\| (wrong|crash|accepts|refuses|limit|inconsistency)[a-z-]* \| `", line)
    ]
    assert bool(in_rows) == (" in the table, " in page)


@pytest.mark.parametrize("path", RECORDS, ids=report_name)
def test_a_record_holds_for_all_cases_that_have_not_changed_since(path):
    assert list(contradictions(record_at(path), CORPUS.cases)) == []
    # A record of another corpus would pass, too. One of a part of the corpus is compared with that part.
    difference, own = corpus_difference(record_at(path), CORPUS.cases), record_at(path).header.corpus.cases
    missing = max(0, len(difference["not in the record"]) - (len(CORPUS.cases) - own))
    assert missing + len(difference["changed since the record"]) < own / 2, "make reports"


@pytest.mark.parametrize(
    ("change", "mistake"),
    [
        ({"verdict": Verdict.UNDEFINED}, "no window is empty"),
        ({"verdict": Verdict.DIVERGES, "kinds": ("y-value",)}, "the outputs are the reference's"),
        ({"digests": {}}, "no document allows the refusal"),
        ({"digests": {"Y": "0" * 64}}, "nothing says why"),
    ],
)
def test_a_record_that_contradicts_the_reference_is_noticed(change, mistake):
    (path,) = [path for path in RECORDS if report_name(path) == "onnxruntime-1.32.0-cpu"]
    record = record_at(path)
    (execution,) = [
        execution
        for execution in record.executions
        if (execution.case, execution.variant) == ("onnx/examples:maxpool-with-argmax-2d-precomputed-pads", "indices")
    ]
    changed = type(record)(record.header, (msgspec.structs.replace(execution, **change),), record.footer)
    (found,) = contradictions(changed, CORPUS.cases)
    assert found.endswith(mistake)


@pytest.fixture(scope="module")
def appended(tmp_path_factory):
    """A copy of the corpus with a case appended to each file that is written by hand."""
    folder = tmp_path_factory.mktemp("appended") / "cases"
    shutil.copytree(CASES, folder)
    for path in folder.rglob("*.yaml"):
        if not is_defect_file(path) and path.parent.name != "generated":
            text = path.read_text()
            entry = yaml.load(text, yaml.CSafeLoader)["cases"][0]
            entry["id"] += "-appended"
            lines = yaml.safe_dump([entry], sort_keys=False).splitlines()
            path.write_text("\n".join([text.rstrip(), *(f"  {line}" for line in lines), ""]))
    return folder


@pytest.mark.long
def test_appended_cases_need_no_new_report(cli, appended):
    cases = collect([appended]).cases
    added = [case for case in cases if case.id.endswith("-appended") or "-appended-" in case.id]
    new = [case.id for case in added]
    # Of the others, every record is found to hold by another test.
    digests = {case.id: case.sha256 for case in cases if case.id not in new}
    assert digests == {case.id: case.sha256 for case in CORPUS.cases}
    for path in RECORDS:
        assert list(contradictions(record_at(path), added)) == []
        before = set(corpus_difference(record_at(path), CORPUS.cases)["not in the record"])
        assert set(corpus_difference(record_at(path), cases)["not in the record"]) - before == set(new)
    assert_lines_in_order(cli("explain", "documents", "-p", CASES).out, cli("explain", "documents", "-p", appended).out)


def test_report_names_the_cases_that_a_record_does_not_hold(cli, appended, tmp_path):
    path = appended / "edge/neg-inf.yaml"
    done = cli("report", RECORDS[0], "--report", f"text={tmp_path / 'report.txt'}", "--corpus", path)
    missing = corpus_difference(record_at(RECORDS[0]), collect([path]).cases)["not in the record"]
    assert "edge/neg-inf:first-plane-float16-appended" in missing
    assert done.code == 0
    assert done.err.startswith(f"{RECORDS[0]}: {len(missing)} not in the record: {missing[0]}")


def test_the_table_of_reports_has_the_committed_ones_with_targets_and_cases_that_exist():
    files = {file.name for _, _, file in make_reports.commands(1)}
    assert {f"{name}.xz" for name in files} == {path.name for path in REPORTS.glob("*.xz")}
    for run in make_reports.TABLE["runs"].values():
        assert all(map(parse, run["targets"]))
        assert all((ROOT / path).exists() for path in make_reports.TABLE["parts"].get(run.get("part"), ()))


def test_every_report_is_listed_and_nothing_is_too_large():
    readme = (REPORTS / "README.md").read_text()
    for path in RECORDS:
        assert f"({report_name(path)}.md)" in readme
    assert all(path.stat().st_size < 2**20 for path in REPORTS.iterdir())
    assert (
        sum(path.stat().st_size for folder in (REPORTS, CASES) for path in folder.rglob("*") if path.is_file()) < 10**7
    )


def test_the_matrix_is_made_from_the_records():
    text = (REPORTS / "README.md").read_text()
    assert with_matrix(text) == text, "python -m tests.report_matrix"
    assert max(map(len, text.splitlines())) <= LONGEST_LINE


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        ({}, "not run"),
        ({"not expressible": 3}, "not expressible"),
        ({"undefined": 2, "not expressible": 3}, "2 undefined"),
        ({"conform": 5}, "all conform"),
        ({"conform": 5, "not expressible": 3}, "5 conform"),
        ({"conform": 5, "refused": 2, "not implemented": 4}, "2 refused"),
        ({"conform": 5, "wrong": 1, "crashed": 2, "refused": 3}, "1 wrong"),
        ({"refused": 2}, "2 refused"),
    ],
)
def test_the_matrix_has_the_worst_of_each_theme(words, shown):
    assert matrix_cell(words) == shown


def test_the_documents_are_compared_at_every_point_where_they_differ(cli):
    page = cli("explain", "documents", "-p", CASES).out
    for heading in (
        "A NaN in the window", "The value of the padding", "What Indices count", "Rounding up", "VALID, and rounding up",
        "SAME, the odd cell at the end", "A window without a cell of X",
    ):  # fmt: skip
        section = page.split(f"\n{heading}\n")[1].split("\n\n")[0]
        for title in ("ONNX MaxPool-22", "SONNX", "OpenVINO MaxPool-8", "com.ms.internal.nhwc", "nGraph", "XMOS"):
            assert f"  {title}" in section, (heading, title)


HISTORIES = {path.name.removesuffix("-history.json.xz"): path for path in REPORTS.glob("*-history.json.xz")}


def history_of(name):
    return json.loads(lzma.decompress(HISTORIES[name].read_bytes()))


@pytest.mark.parametrize("name", HISTORIES)
def test_a_history_is_of_one_corpus_and_minor_versions_and_its_page_has_each_release(name):
    history = history_of(name)
    assert len({release["cases_sha256"] for release in history["releases"] if "skipped" not in release}) == 1
    versions = [release["version"] for release in history["releases"]]
    assert len({tuple(version.split(".")[:2]) for version in versions}) == len(versions) >= 5
    page = (REPORTS / f"{name}-history.md").read_text()
    for release in history["releases"]:
        assert ("skipped" in release) or f" {release['version']} |" in page
    assert f"({name}-history.md)" in (REPORTS / "README.md").read_text()


def test_the_history_of_onnx_runtime_shows_the_repair():
    history = history_of("onnxruntime")
    assert len(history["releases"]) == 18
    repaired = next(step for step in history["changes"] if step["to"].startswith("1.29."))
    assert repaired["summary"]["fixed"] >= 90


def test_the_old_release_shows_the_defects_that_sonnx_prints():
    (path,) = [path for path in RECORDS if report_name(path) == "onnxruntime-1.23.2-cpu"]
    executions = {(each.case, each.variant): each for each in record_at(path).executions}
    for case, Y, wrong in (
        ("float:float-example-3", True, 2),
        ("float:float-example-4", True, None),
        ("int:int-example-2", False, None),
        ("int:int-example-4", False, 3),
        ("int:int-example-5", False, 2),
    ):
        execution = executions[f"sonnx/{case}", "indices"]
        cells = {(cell.output, cell.at): (cell.got, cell.expected) for cell in execution.cells}
        assert cells["Indices", (0, 0, 0, 0)] == ("-4", "0")
        assert (cells.get(("Y", (0, 0, 0, 0))) == ("-1.7976931348623157e+308", "-inf")) == Y
        assert wrong is None or sum(execution.counts.values()) == wrong
        assert execution.known == "ORT-SEED-KEPT"
