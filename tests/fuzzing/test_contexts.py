"""Drawn graphs: exact, of every form, read back from what is written of them, and from their models."""

import functools
import itertools
from collections import Counter

import numpy as np
import onnx
import pytest

import maxpool_check
from maxpool_check.corpus.case_file import read_cases
from maxpool_check.corpus.importers import onnx_testdata
from maxpool_check.corpus.writing import case_file, write_suite
from maxpool_check.fuzzing.generation import OPERATOR_SETS, Stream, generate, in_a_graph
from maxpool_check.graphs.context import MAX_POOL
from maxpool_check.graphs.model import build
from maxpool_check.graphs.operators import OPERATORS
from maxpool_check.reference.pooling import Pooling
from maxpool_check.specifications import SPECIFICATIONS


def graphs(count, spec="onnx-22", seed=0):
    return list(itertools.islice(generate(spec, seed, graphs=1), count))


@functools.cache
def drawn_graphs():
    """250 graphs, drawn where a test needs them."""
    return graphs(250)


def nodes(case):
    return (*case.context.before, *case.context.after)


def test_they_have_results_and_every_form_is_drawn():
    assert all(isinstance(case.resolved, Pooling) and case.is_exact for case in drawn_graphs())
    assert all(case.context.has_nodes and len(nodes(case)) <= 3 for case in drawn_graphs())
    assert {case.context.opset for case in drawn_graphs()} == set(OPERATOR_SETS)
    drawn = {node.op for case in drawn_graphs() for node in nodes(case)}
    for case in itertools.islice(generate("onnx-22", 1, graphs=1), 700):
        if drawn == {*OPERATORS, MAX_POOL}:
            break
        drawn |= {node.op for node in nodes(case)}
    assert drawn == {*OPERATORS, MAX_POOL}
    assert {node.constants for case in drawn_graphs() for node in nodes(case)} == {"initializer", "constant", "input"}
    contexts = [case.context for case in drawn_graphs()]
    assert {context.inside for context in contexts} == {None, "If", "Loop", "function"}
    assert {context.initializer for context in contexts} == {False, True}
    assert {context.dimensions is None for context in contexts} == {False, True}
    assert {case.outputs for case in drawn_graphs()} >= {("Y", "Indices"), ("Indices",)}
    # The tensors are small, so that many cases run in little time.
    assert max(case.X.size for case in drawn_graphs()) <= 1000


def test_no_global_max_pool_is_drawn_where_its_own_maximum_is_neg_inf():
    X = np.full((1, 1, 2, 2), -np.inf, np.float32)
    case = maxpool_check.case(X, kernel_shape=[1, 1])
    drawn = list(filter(None, (in_a_graph(case, Stream(seed)) for seed in range(1500))))
    poolings = [each for each in drawn if any(node.op == "GlobalMaxPool" for node in nodes(each))]
    # Elsewhere, it is drawn, and beside other nodes, so is -inf.
    assert poolings
    assert any((each.entering == -np.inf).all() for each in drawn)
    for each in poolings:
        steps = each.context.steps(each.oracle().pooled.maxima, each.oracle().pooled.Indices)
        for node, Y in zip(each.context.after, itertools.islice(steps, 1, None), strict=True):
            assert node.op != "GlobalMaxPool" or not (Y == -np.inf).any()


def test_the_same_seed_draws_the_same():
    assert [case.sha256 for case in graphs(100)] == [case.sha256 for case in drawn_graphs()[:100]]


def test_a_share_of_the_cases_is_graphs():
    cases = list(itertools.islice(generate("onnx-22", 0, graphs=0.25), 400))
    count = Counter(not case.context.is_alone for case in cases)
    assert 0.15 < count[True] / len(cases) < 0.35


@pytest.mark.parametrize("spec", ["onnx-1", "onnx-12", "sonnx"])
def test_documents_of_onnx_graphs(spec):
    for case in graphs(60, spec):
        document = SPECIFICATIONS[spec]
        assert case.specification.onnx is not None
        if spec == "sonnx":
            assert (case.spec, case.context.opset >= document.onnx.since) == ("sonnx", True)


def test_what_is_written_reads_back(tmp_path):
    path = tmp_path / "graph.yaml"
    for case in drawn_graphs():
        path.write_text(case_file(case, "A drawn graph."), encoding="utf-8")
        (read,) = read_cases(path, tmp_path)
        assert read.sha256 == case.sha256, path.read_text()
        assert (read.spec, read.context) == (case.spec, case.context)


def test_models_are_valid_and_read_back_as_test_data(tmp_path):
    read = 0
    for number, case in enumerate(drawn_graphs()):
        context = case.context
        if context.inside or MAX_POOL in {node.op for node in nodes(case)} or "Indices" not in case.outputs:
            continue
        # A model of MaxPool alone is imported as such, and a MaxPool with two consumers gets an Identity.
        if not nodes(case) or (context.consumers > 1 and not context.after) or case.X.dtype.name == "bfloat16":
            continue
        if case.graph.following[-1].ndim == 0:
            continue
        folder = tmp_path / str(number)
        stored(folder, case, ("Y", "Indices"))
        (imported,) = onnx_testdata.read(folder / "model.onnx", tmp_path, 10_000)
        again = build(imported.graph, ("Y", "Indices"))
        assert renamed(again.model) == renamed((folder / "model.onnx").read_bytes())
        assert imported.expect.Y.tobytes() == case.graph.following[-1].tobytes()
        # As a case file, too.
        (path,) = write_suite([imported], tmp_path / "written", "A drawn graph.", "a test")
        (written,) = read_cases(path, tmp_path / "written")
        assert written.sha256 == imported.sha256
        read += 1
    assert read > 60


def stored(folder, case, outputs):
    """The case as ONNX's test data."""
    model = build(case.graph, outputs)
    data = folder / "test_data_set_0"
    data.mkdir(parents=True)
    (folder / "model.onnx").write_bytes(model.model)
    onnx.checker.check_model(model.model)
    inputs = {**({} if case.context.initializer else {"X": case.X.tensor()}), **model.inputs}
    values = case.oracle().expected
    for prefix, tensors in (("input", inputs.values()), ("output", [values[name] for name in outputs])):
        for number, tensor in enumerate(tensors):
            proto = onnx.numpy_helper.from_array(tensor.copy())
            (data / f"{prefix}_{number}.pb").write_bytes(proto.SerializeToString())


def renamed(model):
    """The model without the names of dimensions."""
    loaded = onnx.load_from_string(model)
    for value in (*loaded.graph.input, *loaded.graph.output):
        for size in value.type.tensor_type.shape.dim:
            size.denotation = ""
    return loaded
