"""Drawn cases and graphs: of their document, without rejection, of every form, the same for the same seed."""

import functools
import hashlib
import itertools

import numpy as np
import onnx
import pytest

import maxpool_check
from maxpool_check.corpus.case_file import read_cases
from maxpool_check.corpus.writing import case_file
from maxpool_check.fuzzing.generation import OPERATOR_SETS, Stream, draw, generate, in_a_graph
from maxpool_check.graphs.context import MAX_POOL
from maxpool_check.graphs.model import build
from maxpool_check.graphs.operators import OPERATORS
from maxpool_check.judging.oracle import Oracle
from maxpool_check.reference.dtypes import is_float
from maxpool_check.reference.pooling import Pooling
from maxpool_check.specifications import SPECIFICATIONS
from maxpool_check.specifications.specification import Refused


def first_cases(count, *arguments, **options):
    return list(itertools.islice(generate(*arguments, **options), count))


@functools.cache
def graphs():
    """250 graphs, drawn where a test needs them."""
    return first_cases(250, "onnx-22", 0, graphs=1)


def nodes(case):
    return (*case.context.before, *case.context.after)


@pytest.mark.parametrize("spec", list(SPECIFICATIONS))
def test_every_document_allows_what_is_drawn_of_it_and_excludes_what_is_drawn_as_invalid(spec):
    document, allowed = SPECIFICATIONS[spec], first_cases(60, spec, 0)
    assert all(isinstance(case.resolved, Pooling) for case in allowed)
    assert {case.spec for case in allowed} == {spec}
    assert len({case.sha256 for case in allowed}) == 60
    names = {name for case in allowed for name in case.attributes}
    # The sizes of X are said by X.
    assert names == {name for name in document.attributes if not name.startswith("X_")}
    assert all(isinstance(case.resolved, Refused) for case in first_cases(20, spec, 0, invalid=True))
    if spec in ("onnx-1", "onnx-12", "sonnx"):
        of_graphs = first_cases(20, spec, 0, graphs=1)
        assert all(case.specification.onnx is not None for case in of_graphs)
        if spec == "sonnx":
            assert {case.spec for case in of_graphs} == {"sonnx"}
            assert min(case.context.opset for case in of_graphs) >= document.onnx.since


def test_nearly_nothing_is_rejected():
    assert all(draw(SPECIFICATIONS["onnx-22"], number) is not None for number in range(300))


@pytest.mark.parametrize(
    ("options", "specs", "sha256"),
    [
        ({}, SPECIFICATIONS, "2bdfca4fbfce749296be58562d4f2efe788a36873161956421f594f31cdff7af"),
        ({"invalid": True}, SPECIFICATIONS, "54e93ec4e7fbabe4e5cb598aab11661711008573dbd7a89e478a3b84adb75ebe"),
        (
            {"graphs": 1},
            ("onnx-8", "onnx-22", "sonnx"),
            "3ace661f0f315ae6113555770253808624f9fc48dbf4a670df81fc9c76c7059d",
        ),
    ],
    ids=["valid", "invalid", "graphs"],
)
def test_a_seed_draws_the_same_on_every_machine_and_with_every_version_of_python(options, specs, sha256):
    drawn = "".join(case.sha256 for spec in specs for case in first_cases(20, spec, 7, **options))
    assert hashlib.sha256(drawn.encode()).hexdigest() == sha256


def test_what_defects_are_made_of_is_drawn():
    cases = first_cases(600, "onnx-22", 0)
    assert len({case.sha256 for case in cases} & {case.sha256 for case in first_cases(150, "onnx-22", 1)}) < 15
    floats = [case for case in cases if is_float(case.X.dtype)]
    assert any((Oracle(case.X.tensor(), case.resolved).pooled.Y == -np.inf).any() for case in floats)
    assert any(np.isnan(case.X.tensor()).any() for case in floats)
    assert any(((case.X.tensor() == 0) & np.signbit(case.X.tensor())).any() for case in floats)
    assert {case.X.dtype.name for case in cases} == set(SPECIFICATIONS["onnx-22"].dtypes)
    assert {case.X.ndim for case in cases} == {3, 4, 5, 6}
    assert {case.X.shape[1] for case in cases} == {1, 2, 3, 16}
    assert {case.X.shape[0] for case in cases} == {1, 2}
    for name, values in {
        "auto_pad": {"NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"}, "ceil_mode": {0, 1}, "storage_order": {0, 1},
    }.items():  # fmt: skip
        assert {case.attributes.get(name) for case in cases} >= values


def test_graphs_have_results_and_every_form_is_drawn():
    assert all(isinstance(case.resolved, Pooling) and case.is_exact for case in graphs())
    assert all(case.context.has_nodes and len(nodes(case)) <= 6 for case in graphs())
    assert {case.context.opset for case in graphs()} == set(OPERATOR_SETS)
    # Among the first is a MaxPool without a window, whose output has no cells.
    more = first_cases(700, "onnx-22", 1, graphs=1)
    assert {node.op for case in (*graphs(), *more) for node in nodes(case)} == {*OPERATORS, MAX_POOL}
    assert {node.constants for case in graphs() for node in nodes(case)} == {"initializer", "constant", "input"}
    contexts = [case.context for case in graphs()]
    assert {context.inside for context in contexts} == {None, "If", "Loop", "function"}
    assert {context.initializer for context in contexts} == {False, True}
    assert {context.dimensions is None for context in contexts} == {False, True}
    assert {case.outputs for case in graphs()} >= {("Y", "Indices"), ("Indices",)}
    # The tensors are small, so that many cases run in little time.
    assert max(case.X.size for case in graphs()) <= 1000
    share = first_cases(400, "onnx-22", 0, graphs=0.25)
    assert 0.15 < sum(not case.context.is_alone for case in share) / len(share) < 0.35


def test_no_global_max_pool_is_drawn_where_its_own_maximum_is_neg_inf():
    X = np.full((1, 1, 2, 2), -np.inf, np.float32)
    case = maxpool_check.case(X, kernel_shape=[1, 1])
    drawn = list(filter(None, (in_a_graph(case, Stream(seed)) for seed in range(1500))))
    poolings = [each for each in drawn if any(node.op == "GlobalMaxPool" for node in nodes(each))]
    # Elsewhere, it is drawn, and beside other nodes, so is -inf.
    assert poolings
    assert any((each.entering == -np.inf).all() for each in drawn)
    for each in poolings:
        steps = each.graph.steps(each.oracle().pooled.maxima, each.oracle().pooled.Indices)
        for node, Y in zip(each.context.after, itertools.islice(steps, 1, None), strict=True):
            assert node.op != "GlobalMaxPool" or not (Y == -np.inf).any()


def test_graphs_read_back_as_case_files_and_are_valid(tmp_path):
    path = tmp_path / "graph.yaml"
    for case in graphs():
        path.write_text(case_file(case, "A drawn graph."), encoding="utf-8")
        (again,) = read_cases(path, tmp_path)
        assert again.sha256 == case.sha256, path.read_text()
        assert (again.spec, again.context) == (case.spec, case.context)
        onnx.checker.check_model(build(case.graph, ("Y", "Indices")).model)
