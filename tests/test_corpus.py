"""The shipped corpus: what it holds, and the verdicts on real releases of ONNX Runtime."""

import json
import re
from collections import Counter
from fnmatch import fnmatchcase
from importlib.metadata import version
from itertools import groupby

import numpy as np
import pytest
from packaging.version import Version

from maxpool_check.corpus.case import Refusal, Shape, Undefined, Values, contradictions, disagreements
from maxpool_check.corpus.collection import defect_files, files_naming, with_observed
from maxpool_check.corpus.defect_file import read_all_defects, unmatched, unmet_conditions
from maxpool_check.evidence.references import references
from maxpool_check.reference.dtypes import NUMPY, highest, is_float, lowest
from maxpool_check.specifications import SPECIFICATIONS
from maxpool_check.specifications.clauses import ClauseKind, ClauseStatus, clause_files, clauses_of, editions
from maxpool_check.targets.name import parse
from maxpool_check.targets.runtimes import RUNTIMES, TOOLS
from tests.conftest import CASES, ROOT, shipped
from tests.report_matrix import REPORTS, record_at

CORPUS = shipped()
DEFECTS = read_all_defects(CORPUS.known_files)
FILES = {name: list(cases) for name, cases in groupby(CORPUS.cases, lambda case: case.id.partition(":")[0])}
PRINTED = (CASES / "documents", CASES / "sonnx", CASES / "refusals")
"""What the documents print and what they exclude: the part of the corpus that an old release is always run on."""

IN_EACH_DTYPE = ("sonnx", "sonnx@2026-10", "openvino-8", "ort-nhwc-11", "xmos-maxpool2d")
"""The documents of which each testable clause has a case in each dtype that it is about."""

PRINTED_WITH_A_DTYPE = {"sonnx": "int, Example", "ort-nhwc-11": "Examples"}
"""Where examples are about the dtype that is printed: of bytes, about the smallest value of one of the two types; code that makes
float32. SONNX prints its other examples for doubles, and they illustrate the operator for all floats; OpenVINO prints no dtype."""

OLD = "onnxruntime==1.23.2"
OLD_RECORD = REPORTS / "onnxruntime-cpu.jsonl.xz"


def test_the_reference_reproduces_every_expectation():
    assert [problem for case in CORPUS.cases for problem in contradictions(case)] == []


def test_what_the_documents_print_wrongly_is_what_their_errata_say():
    wrong = {case.id for case in CORPUS.cases if disagreements(case)}
    openvino = {f"openvino/examples-8:{name}" for name in ("example-1", "xml-same-upper", "formula-of-valid")}
    assert wrong >= {"sonnx/int:int-example-4", *openvino}
    assert {name.partition(":")[0] for name in wrong} >= {"sonnx/errata", "ngraph/examples", "xmos/examples"}


@pytest.mark.parametrize("file", FILES)
def test_both_references_agree(file):
    assert references(FILES[file]).differing == []


def test_the_worked_examples_every_document_dtype_and_form_of_expectation_are_there():
    names = {case.id for case in CORPUS.cases}
    examples = {"real": ["real-example"], "float": [f"float-example-{i}" for i in range(1, 5)]}
    examples["int"] = [f"int-example-{i}" for i in range(1, 6)]
    assert {f"sonnx/{file}:{name}" for file, listed in examples.items() for name in listed} <= names
    assert {f"openvino/examples-8:example-{number}" for number in range(1, 8)} <= names
    for prefix, count in (("onnx/examples:", 15), ("nhwc/examples:", 15), ("openvino/examples-8:xml-", 3)):
        assert sum(name.startswith(prefix) for name in names) >= count
    assert {case.spec for case in CORPUS.cases} == set(SPECIFICATIONS)
    dtypes = {"float16", "bfloat16", "float32", "float64", "int8", "uint8"}
    assert dtypes <= {case.X.dtype.name for case in CORPUS.cases}
    assert {type(case.expect) for case in CORPUS.cases} == {Values, Shape, Refusal, Undefined, type(None)}


def test_each_case_covers_clauses_that_hold_in_its_document_and_each_testable_clause_has_a_case():
    covered = {(case.spec, clause) for case in CORPUS.cases for clause in case.covers}
    for document in editions():
        assert [case.id for case in CORPUS.cases if case.spec == document and not case.covers] == []
        clauses = {clause.id: clause.status for clause in clauses_of(document)}
        assert {clause for spec, clause in covered if spec == document} <= set(clauses)
        testable = [name for name, status in clauses.items() if status is ClauseStatus.TESTABLE]
        assert [name for name in testable if (document, name) not in covered] == [], document


def dtypes_of(document, clause, cases):
    """The dtypes of X that a clause with these cases is about: those of its document that its place, bins and numbers allow."""
    is_example = clause.kind is ClauseKind.EXAMPLE
    if is_example and clause.where.startswith(PRINTED_WITH_A_DTYPE.get(document, " ")):
        return []
    # SONNX says of real numbers what holds for all types. What it says of floats or integers alone, as of NaN, is in their section.
    sections = set(re.findall(r"\b(?:real|float|int)\b", clause.where))
    # A clause on the padding of a type has bins of it.
    paired = {dtype for wanted in clause.bins if len(wanted) > 1 for dtype in wanted.get("dtype", ())}
    # An example of negative numbers or fractions is none of a type without them.
    printed = [case.X.tensor() for case in cases if is_example and isinstance(case.expect, Values)]
    return [
        dtype
        for dtype in SPECIFICATIONS[document].dtypes
        if (not sections or "real" in sections or ("float" if is_float(NUMPY[dtype]) else "int") in sections)
        and (not paired or dtype in paired)
        and (not printed or any(holds(NUMPY[dtype], X) for X in printed))
    ]


def holds(dtype, X):
    """Whether a dtype has the numbers of X; a float has them rounded."""
    X = X.astype(np.float64)
    in_range = (float(lowest(dtype)) <= X) & (float(highest(dtype)) >= X)
    return is_float(dtype) or bool((in_range & (np.floor(X) == X)).all())


@pytest.mark.parametrize("document", IN_EACH_DTYPE)
def test_each_testable_clause_has_a_case_in_each_dtype_that_it_is_about(document):
    cases = {}
    for case in CORPUS.cases:
        for clause in case.covers if case.spec == document else ():
            cases.setdefault(clause, []).append(case)
    missing = {}
    for clause in clauses_of(document):
        if clause.status is ClauseStatus.TESTABLE:
            own = cases[clause.id]
            absent = {*dtypes_of(document, clause, own)} - {case.X.dtype.name for case in own}
            missing |= {clause.id: sorted(absent)} if absent else {}
    assert missing == {}


def test_the_cases_of_each_erratum_exist():
    for file in clause_files().values():
        names = [case.id for case in CORPUS.cases if case.spec in file.editions]
        for erratum in file.errata:
            for pattern in erratum.cases:
                assert any(fnmatchcase(name, pattern) for name in names), (erratum.number, pattern)


def test_no_two_cases_are_the_same_and_each_has_a_title_of_its_own():
    count = Counter(case.sha256 for case in CORPUS.cases)
    assert [case.id for case in CORPUS.cases if count[case.sha256] > 1] == []
    assert [case.id for case in CORPUS.cases if case.title == case.id.rpartition(":")[2]] == []


@pytest.mark.parametrize("path", CORPUS.known_files, ids=lambda path: path.stem)
def test_every_defect_names_cases_that_meet_its_conditions(path):
    assert unmatched(path, [case.id for case in CORPUS.cases]) == []
    assert unmet_conditions(path, DEFECTS, CORPUS.cases) == []


def executions(done, new=frozenset()):
    """The executions of a run by case and variant; the run is as the known defects expect, but for ``new`` cases."""
    results, footer = done.results, json.loads(done.out.splitlines()[-1])
    unexpected = [
        f"{execution['case']} ({execution['variant']}): {execution['verdict']} {execution['message']}"
        for execution in results
        if execution["unexpected"] and execution["case"] not in new
    ]
    not_expected = [entry for entry in footer["known"] if entry["status"] in ("stale", "expired")]
    assert (unexpected, not_expected, footer["errors"]) == ([], [], [])
    assert done.code == int(any(execution["unexpected"] for execution in results))
    return {(execution["case"], execution["variant"]): execution for execution in results}


def wrong_cells(execution):
    return [(cell.output, [*cell.at], cell.expected, cell.got, cell.kind) for cell in execution["cells"]]


@pytest.mark.long
def test_the_installed_release_is_as_expected_in_all_variants(cli):
    executions(cli("run", CASES, "--variants", "all", "-q", "-o", "-"))


def test_the_installed_release_is_as_expected(cli):
    executed = executions(cli("run", CASES, "-q", "-o", "-"))
    if Version(version("onnxruntime")) < Version("1.29"):
        return
    kinds = {}
    for (case, variant), execution in executed.items():
        for kind in execution["kinds"]:
            kinds.setdefault((kind, variant), set()).add(case)
    # -FLT_MAX without Indices, SAME with dilation, no window at all, NaN.
    assert any(case.startswith("edge/neg-inf:") for case in kinds["y-lowest-for-neg-inf", "y-only"])
    assert any(case.startswith("edge/auto-pad:dilated") for case in kinds["same-ignores-dilation", "indices"])
    assert any(case.startswith("refusals/window:") for case in kinds["accepts-invalid", "indices"])
    assert any(case.startswith("edge/nan:") for case in kinds["y-depends-on-indices", "y-only"])
    # With Indices -inf is right since 1.29, but for windows of padding alone, and for MaxPools behind, which have none.
    others = {case.id for case in CORPUS.cases if "empty-window" in case.tags or case.context.after}
    assert kinds["y-lowest-for-neg-inf", "indices"] <= others
    assert ("indices-sentinel", "indices") not in kinds


@pytest.mark.network
@pytest.mark.parametrize("paths", [PRINTED, pytest.param((CASES,), marks=pytest.mark.long)], ids=["printed", "whole"])
def test_1_23_2_is_as_expected_and_shows_the_defects_that_sonnx_prints(cli, paths):
    # Nobody who adds a case needs to know what an old release does with it.
    recorded = {execution.case: execution.case_sha256 for execution in record_at(OLD_RECORD).executions}
    new = {case.id for case in CORPUS.cases if recorded.get(case.id) != case.sha256}
    executed = executions(cli("run", *paths, "-t", OLD, "-q", "-o", "-"), new)
    lowest = ("Y", [0, 0, 0, 0], "-inf", "-1.7976931348623157e+308", "y-lowest-for-neg-inf")

    def sentinels(*cells):
        return [("Indices", list(at), expected, "-4", "indices-sentinel") for at, expected in cells]

    first, last = ((0, 0, 0, 0), "0"), ((0, 0, 3, 3), "8")
    printed = {
        "float:float-example-3": [lowest, *sentinels(first)],
        "float:float-example-4": [lowest, *sentinels(first)],
        "int:int-example-2": sentinels(first),
        "int:int-example-4": sentinels(first, ((0, 0, 1, 0), "0"), last),
        "int:int-example-5": sentinels(first, last),
    }
    assert {name: wrong_cells(executed[f"sonnx/{name}", "indices"]) for name in printed} == printed
    crashes = {case: each["message"] for (case, _), each in executed.items() if each["verdict"] == "crashes"}
    assert all("strides-zero" in case for case in crashes)
    assert {*crashes.values()} == {"killed by SIGFPE"}


def test_a_run_reads_all_files_that_have_a_defect_of_its_target():
    files = defect_files(CASES)
    targets = [parse(name) for name in RUNTIMES if RUNTIMES[name].ecosystem == "python"]
    targets += [parse(f"transform:{name}:on:onnxruntime") for name in TOOLS]
    for target in targets:
        read = files_naming(files, target.selected_by)
        selected = (target.distribution, target.text)
        needed = {
            file for file in files if file.suffix == ".yaml" for defect in read_all_defects(with_observed([file]))
            for each in defect.effects for provider in (each.when.provider, "", *target.providers)
            if each.when.is_about(selected[0], provider or "", selected[1])
        }  # fmt: skip
        assert needed <= set(read), target
    assert len(files_naming(files, parse("onnxruntime==1.32.0").selected_by)) < len(files) / 2
    # One of a user is always read.
    assert files_naming([ROOT / "x/defects/own.yaml"], []) == [ROOT / "x/defects/own.yaml"]
