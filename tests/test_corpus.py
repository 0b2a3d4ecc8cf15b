"""The shipped corpus: what it holds, and what real releases of ONNX Runtime make of it."""

import json
from collections import Counter
from importlib.metadata import version

import pytest
from packaging.version import Version

from maxpool_check.corpus.case import Refusal, Shape, Undefined, Values
from maxpool_check.corpus.collection import collect
from maxpool_check.corpus.expectations import contradictions, disagreements
from maxpool_check.corpus.known_file import read_known, unmatched
from maxpool_check.reference import definition
from maxpool_check.reference.evaluator import evaluate
from maxpool_check.reference.pooling import Pooling
from maxpool_check.specifications import SPECIFICATIONS
from tests.conftest import CASES
from tests.reference.test_equivalence import assert_same

CORPUS = collect([CASES])
BY_ID = {case.id: case for case in CORPUS.cases}
OLD = "onnxruntime==1.23.2"


def test_the_reference_reproduces_every_expectation():
    assert [problem for case in CORPUS.cases for problem in contradictions(case)] == []


def test_what_the_documents_print_wrongly_is_what_their_errata_say():
    wrong = {case.id for case in CORPUS.cases if disagreements(case)}
    examples = {name for name in wrong if name.partition(":")[0] in ("sonnx/int", "openvino/examples-8")}
    assert examples == {
        "sonnx/int:int-example-4", "openvino/examples-8:example-1", "openvino/examples-8:xml-same-upper",
        "openvino/examples-8:formula-of-valid",
    }  # fmt: skip
    assert {name.partition(":")[0] for name in wrong - examples} == {
        "sonnx/errata", "ngraph/examples", "xmos/examples",
    }  # fmt: skip


@pytest.mark.parametrize("case", [case for case in CORPUS.cases if case.X.size < 400], ids=lambda case: case.id)
def test_both_references_agree(case):
    if isinstance(case.resolved, Pooling):
        X = case.resolved.layout.to_core(case.X)
        for pooling in (case.resolved, *case.resolved.alternatives):
            assert_same(evaluate(X, pooling), definition.evaluate(X, pooling))


def test_every_case_has_a_title_of_its_own():
    for case in CORPUS.cases:
        assert case.title != case.id.rpartition(":")[2], case.id


def test_the_worked_examples_are_there():
    files = ("sonnx/real:", "sonnx/float:", "sonnx/int:")
    sonnx = {case.id.partition(":")[2] for case in CORPUS.cases if case.id.startswith(files)}
    assert sonnx == {
        "real-example", *[f"float-example-{i}" for i in range(1, 5)], *[f"int-example-{i}" for i in range(1, 6)],
    }  # fmt: skip
    for page, count in (("onnx/examples:", 15), ("nhwc/examples:", 15)):
        assert sum(case.id.startswith(page) for case in CORPUS.cases) >= count
    openvino = {case.id.partition(":")[2] for case in CORPUS.cases if case.id.startswith("openvino/examples-8:")}
    assert {f"example-{number}" for number in range(1, 8)} <= openvino
    assert sum(name.startswith("xml-") for name in openvino) == 3


def test_every_document_dtype_and_form_of_expectation_is_used():
    assert {case.spec for case in CORPUS.cases} == set(SPECIFICATIONS)
    assert {"float16", "bfloat16", "float32", "float64", "int8", "uint8"} <= {
        case.X.dtype.name for case in CORPUS.cases
    }
    assert {type(case.expect) for case in CORPUS.cases} == {Values, Shape, Refusal, Undefined, type(None)}
    assert len(CORPUS.cases) >= 150


def test_no_two_cases_ask_the_same():
    asked = Counter(case.sha256 for case in CORPUS.cases)
    twice = {case.id for case in CORPUS.cases if asked[case.sha256] > 1}
    assert twice == set()


def test_every_known_divergence_names_cases():
    (path,) = CORPUS.known_files
    assert unmatched(read_known(path), list(BY_ID), path) == []


def results(done):
    return {(result["case"], result["variant"]): result for result in done.json["results"]}


def shown(result):
    return [(cell["output"], cell["at"], cell["expected"], cell["got"], cell["kind"]) for cell in result["cells"]]


def test_the_installed_release_is_as_expected(cli):
    done = cli("run", CASES, "-j", "2", "--variants", "all")
    assert done.code == 0, done.out


@pytest.mark.network
def test_1_23_2_is_as_expected(cli):
    done = cli("run", CASES, "-t", OLD, "-j", "2")
    assert done.code == 0, done.out


@pytest.mark.network
def test_1_23_2_shows_the_defects_that_sonnx_prints(cli):
    done = cli("run", CASES, "-t", OLD, "--no-known", "--format", "json")
    found = results(done)
    assert done.code == done.json["exit_code"] == 1
    assert json.loads(done.out)["summary"]["error"] == 0

    assert shown(found["sonnx/float:float-example-3", "indices"]) == [
        ("Y", [0, 0, 0, 0], "-inf", "-1.7976931348623157e+308", "y-lowest-for-neg-inf"),
        ("Indices", [0, 0, 0, 0], "0", "-4", "indices-sentinel"),
    ]
    assert shown(found["sonnx/float:float-example-4", "indices"]) == [
        ("Y", [0, 0, 0, 0], "-inf", "-1.7976931348623157e+308", "y-lowest-for-neg-inf"),
        ("Indices", [0, 0, 0, 0], "0", "-4", "indices-sentinel"),
    ]
    assert shown(found["sonnx/int:int-example-4", "indices"]) == [
        ("Indices", [0, 0, 0, 0], "0", "-4", "indices-sentinel"),
        ("Indices", [0, 0, 1, 0], "0", "-4", "indices-sentinel"),
        ("Indices", [0, 0, 3, 3], "8", "-4", "indices-sentinel"),
    ]
    assert shown(found["sonnx/int:int-example-2", "indices"]) == [
        ("Indices", [0, 0, 0, 0], "0", "-4", "indices-sentinel"),
    ]
    assert shown(found["sonnx/int:int-example-5", "indices"]) == [
        ("Indices", [0, 0, 0, 0], "0", "-4", "indices-sentinel"),
        ("Indices", [0, 0, 3, 3], "8", "-4", "indices-sentinel"),
    ]
    crashes = {case for (case, _), result in found.items() if result["verdict"] == "crashes"}
    assert crashes
    assert all("strides-zero" in case for case in crashes)
    assert {found[case, "indices"]["message"] for case in crashes} == {"killed by SIGFPE"}


@pytest.mark.skipif(Version(version("onnxruntime")) < Version("1.29"), reason="the repair came with 1.29")
def test_the_installed_release_shows_what_is_still_wrong(cli):
    done = cli("run", CASES, "--no-known", "--format", "json")
    kinds = {}
    for (case, variant), result in results(done).items():
        for kind in result["kinds"]:
            kinds.setdefault((kind, variant), set()).add(case)
    # -FLT_MAX without Indices, SAME with dilation, no window at all, NaN.
    assert any(case.startswith("edge/neg-inf:") for case in kinds["y-lowest-for-neg-inf", "y-only"])
    assert any(case.startswith("edge/auto-pad:dilated") for case in kinds["same-ignores-dilation", "indices"])
    assert any(case.startswith("refusals/window:") for case in kinds["accepts-invalid", "indices"])
    assert any(case.startswith("edge/nan:") for case in kinds["y-depends-on-indices", "y-only"])
    assert ("y-lowest-for-neg-inf", "indices") not in kinds
    assert ("indices-sentinel", "indices") not in kinds
