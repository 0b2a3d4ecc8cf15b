"""The tests of other suites, imported and read directly; and written case files, which read back bit for bit."""

import functools
import json
import shutil
import warnings
from dataclasses import replace
from pathlib import Path

import ml_dtypes
import numpy as np
import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from onnx import TensorProto, helper, numpy_helper

from maxpool_check.corpus.case import Case, Values, contradictions, disagreements
from maxpool_check.corpus.case_file import read_cases
from maxpool_check.corpus.collection import collect
from maxpool_check.corpus.importers import onnx_testdata
from maxpool_check.corpus.problems import CorpusError
from maxpool_check.corpus.tensors import Recipe
from maxpool_check.corpus.writing import MOST_INLINE, case_file, write_suite
from maxpool_check.reference.dtypes import NUMPY, bits, same
from maxpool_check.specifications import specification
from tests.conftest import ROOT, shipped

SAMPLES = ROOT / "tests/data/testgenonnx"
X = np.arange(16, dtype=np.float32).reshape(1, 1, 4, 4)
Y = np.array([[[[5, 7], [13, 15]]]], np.float32)
INDICES = Y.astype(np.int64)


@functools.cache
def node_tests():
    """The tests of MaxPool alone. Collecting makes the test data of every operator, overflows and all."""
    from onnx.backend.test.case.node import collect_testcases

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        collected = collect_testcases("MaxPool")
    return [case for case in collected if [node.op_type for node in case.model.graph.node] == ["MaxPool"]]


def model(*nodes, opset=22, outputs=("y",), inputs=("x",)):
    types = {"y": TensorProto.FLOAT, "z": TensorProto.INT64}
    graph = helper.make_graph(
        list(nodes) or [helper.make_node("MaxPool", ["x"], outputs, kernel_shape=[2, 2], strides=[2, 2])],
        "graph",
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in inputs],
        [helper.make_tensor_value_info(name, types[name], None) for name in outputs],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


def pool_and(op, *inputs, **attributes):
    """A model of a MaxPool and another node behind it."""
    return model(
        helper.make_node("MaxPool", ["x"], ["a"], kernel_shape=[2, 2]),
        helper.make_node(op, inputs or ["a"], ["y"], **attributes),
    )


def stored(folder, made, *sets):
    folder.mkdir(parents=True)
    (folder / "model.onnx").write_bytes(made.SerializeToString())
    for number, tensors in enumerate(sets):
        data = folder / f"test_data_set_{number}"
        data.mkdir()
        for name, values in zip(("input_0", "output_0", "output_1"), tensors, strict=False):
            (data / f"{name}.pb").write_bytes(numpy_helper.from_array(values).SerializeToString())
    return folder


def changed(folder, name="a.json", **fields):
    """A sample with some of its fields replaced."""
    test = json.loads((SAMPLES / "MaxPool_int8_BD-011_T4.json").read_text())
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(json.dumps({**test, **fields}))
    return test


def everything(case):
    """All fields of a case but its origin, in a form that can be compared."""
    outputs = (case.expect.Y, case.expect.Indices)
    printed = [None if values is None else (values.dtype, values.tolist()) for values in outputs]
    fields = (case.id, case.title, case.covers, case.tags, case.outputs, dict(case.provenance), case.erratum)
    return case.sha256, fields, printed


def tree(folder):
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def problem_of(path, *arguments):
    with pytest.raises(CorpusError) as raised:
        collect([path], *arguments)
    (problem,) = raised.value.problems
    return str(problem)


def test_every_node_test_of_onnx_is_a_case_that_the_reference_shares_and_reads_back(tmp_path):
    suite = onnx_testdata.read_package()
    cases = {case.id: case for case in suite.cases}
    assert suite.broken == suite.left_out == ()
    assert set(cases) == {f"onnx-22:{test.name}" for test in node_tests()}
    assert len(cases) >= 15
    for test in node_tests():
        case = cases[f"onnx-22:{test.name}"]
        ((X,), outputs) = test.data_sets[0]
        np.testing.assert_array_equal(bits(case.X.tensor()), bits(X), strict=True)
        np.testing.assert_array_equal(bits(case.expect.Y), bits(outputs[0]), strict=True)
        assert case.outputs == (("Y", "Indices") if len(outputs) > 1 else ("Y",))
        assert disagreements(case) == []
        version = f"onnx {onnx.__version__}"
        assert case.provenance == {"suite": "onnx-backend", "version": version, "file": test.name}
    write_suite(suite.cases, tmp_path, "about", "test")
    assert [everything(case) for case in collect([tmp_path]).cases] == [everything(case) for case in suite.cases]
    # Some of ONNX's tensors are too large for a text that people read.
    assert len(list(tmp_path.rglob("*.X.npy"))) == sum(case.X.size > MOST_INLINE for case in suite.cases) > 0


def test_a_case_for_each_data_set_judged_by_the_operator_set(tmp_path):
    reversed_outputs = model(outputs=("y", "z"))
    reversed_outputs.graph.output.reverse()
    stored(tmp_path / "node/test_a", model(opset=8), (X, Y), (X + 1, Y + 1))
    stored(tmp_path / "node/test_b", model(opset=13, outputs=("y", "z")), (X, Y, INDICES))
    stored(tmp_path / "test_c", model(opset=1), (X, Y))
    stored(tmp_path / "test_d", reversed_outputs, (X, INDICES, Y))
    cases = {case.id: case for case in collect([tmp_path]).cases}
    assert set(cases) == {
        "node/onnx-8:test_a", "node/onnx-8:test_a/1", "node/onnx-12:test_b", "onnx-1:test_c", "onnx-22:test_d",
    }  # fmt: skip
    assert cases["node/onnx-8:test_a/1"].X.tensor()[0, 0, 0, 0] == 1
    assert cases["onnx-1:test_c"].provenance["file"] == "test_c/test_data_set_0"
    for name in ("node/onnx-12:test_b", "onnx-22:test_d"):
        assert cases[name].outputs == ("Y", "Indices")
        np.testing.assert_array_equal(cases[name].expect.Indices, INDICES, strict=True)
    for path in (tmp_path / "test_c", tmp_path / "test_c/model.onnx"):
        assert [case.id for case in collect([path]).cases] == ["onnx-1:test_c"]


def test_bfloat16_keeps_its_bits(tmp_path):
    made, odd = model(), X.astype(ml_dtypes.bfloat16) * ml_dtypes.bfloat16(0.1)
    made.graph.input[0].type.tensor_type.elem_type = TensorProto.BFLOAT16
    stored(tmp_path / "a", made, (odd, odd))
    (case,) = collect([tmp_path]).cases
    np.testing.assert_array_equal(bits(case.X.tensor()), bits(odd), strict=True)


@pytest.mark.parametrize(
    ("made", "why"),
    [
        (pool_and("Softmax"), "its node Softmax is none of the operators"),
        (pool_and("Relu", "x"), "the output of the graph does not come from the judged MaxPool"),
        (pool_and("Conv"), "its node Conv has no weights"),
        (pool_and("Flatten", axis=9), "has no exact result: Flatten of 4 axes"),
        (model(helper.make_node("Relu", ["x"], ["y"])), "none of which is MaxPool (it has Relu)"),
        (model(helper.make_node("MaxPool", ["x"], ["y"], domain="com.example")), "is of the domain com.example"),
        (model(inputs=("x", "w")), "X is not the only input"),
        (model(helper.make_node("MaxPool", ["x"], ["y"], kernal_shape=[2])), "no attribute 'kernal_shape'"),
        (model(opset=9999), "operator set 9999 is none of those that onnx"),
    ],
)
def test_other_models_are_left_out_by_name(tmp_path, made, why):
    stored(tmp_path / "good", model(), (X, Y))
    bad = stored(tmp_path / "bad", made, (X, Y))
    corpus = collect([tmp_path])
    assert [case.id for case in corpus.cases] == ["onnx-22:good"]
    (left_out,) = corpus.left_out
    assert left_out.path == str(bad / "model.onnx")
    assert why in left_out.message


DATA = "test_data_set_0/"
ELSEWHERE = TensorProto(dims=[1], data_type=1, data_location=1)


@pytest.mark.parametrize(
    ("name", "content", "why"),
    [
        ("model.onnx", b"\xff\xff", "model.onnx:1:1: not an ONNX model"),
        (f"{DATA}input_0.pb", b"\xff\xff", "input_0.pb:1:1: not a tensor"),
        (f"{DATA}output_0.pb", ELSEWHERE.SerializeToString(), "its values are in another file"),
        (f"{DATA}input_0.pb", None, "test_data_set_0:1:1: there is no input_0.pb"),
    ],
)
def test_a_corrupted_or_absent_file_is_named(tmp_path, name, content, why):
    stored(tmp_path / "good", model(outputs=("y", "z")), (X, Y, INDICES))
    path = stored(tmp_path / "bad", model(outputs=("y", "z")), (X, Y, INDICES)) / name
    if content is None:
        path.unlink()
    else:
        path.write_bytes(content)
    message = problem_of(tmp_path)
    assert message.startswith(str(tmp_path / "bad"))
    assert why in message


def test_what_a_data_set_prints_wrongly_or_does_not_have_and_a_tensor_over_the_limit(tmp_path):
    stored(tmp_path / "a", model(), (X, Y + np.array([[0, 0], [1, 0]], np.float32)))
    stored(tmp_path / "b", model())
    corpus = collect([tmp_path])
    assert "there is no test_data_set_0" in corpus.left_out[0].message
    assert "Y[0, 0, 1, 0]: the case expects 14.0, the reference has 13.0" in disagreements(corpus.cases[0])[0]
    assert "X has 16 cells; the limit is 15" in problem_of(tmp_path / "a", 15)


def test_the_samples_are_the_same_imported_and_read_directly(tmp_path):
    direct = collect([SAMPLES]).cases
    assert {case.id for case in direct} == {f"sonnx:{file.stem}" for file in SAMPLES.glob("*.json")}
    assert {"BD-011", "Y-C1", "pads-C2_axis2-begin_"} <= {tag for case in direct for tag in case.tags}
    write_suite(direct, tmp_path, "about", "test")
    imported = collect([tmp_path]).cases
    assert [everything(case) for case in imported] == [everything(case) for case in direct]
    assert [problem for case in imported for problem in contradictions(case)] == []


def test_folders_are_groups_and_a_test_outside_the_profile_is_judged_by_onnx(tmp_path):
    test = changed(tmp_path / "a")
    changed(tmp_path / "b", attributes={**test["attributes"], "ceil_mode": 1})
    assert {case.id for case in collect([tmp_path]).cases} == {"a/sonnx:a", "b/onnx-22:a"}


def test_a_value_that_json_cannot_express(tmp_path):
    ones = {"kernel_shape": [1, 1], "strides": [1, 1], "dilations": [1, 1]}
    changed(
        tmp_path,
        dtype="float",
        input={"shape": [1, 1, 1, 4], "values": [["inf", "-inf", "nan", -0.0]]},
        attributes={**ones, "pads": [0] * 4, "auto_pad": "NOTSET", "ceil_mode": 0, "storage_order": 0},
        # A NaN counts as -inf in SONNX.
        expected={"shape": [1, 1, 1, 4], "Y": [["inf", "-inf", "-inf", -0.0]], "Indices": [[0, 1, 2, 3]]},
    )
    (case,) = collect([tmp_path]).cases
    np.testing.assert_array_equal(case.X.tensor(), np.array([[[[np.inf, -np.inf, np.nan, 0]]]], "f4"), strict=True)
    assert np.signbit(case.X.tensor()[0, 0, 0, 3])
    assert disagreements(case) == []


def test_other_tests_are_left_out_by_name(tmp_path):
    changed(tmp_path, "good.json")
    changed(tmp_path, "1.json", operator="Add")
    changed(tmp_path, "2.json", dtype="string")
    changed(tmp_path, "3.json", attributes={"kernel_shape": [2, 2], "pad": [0]})
    (tmp_path / "package.json").write_text("{}")
    corpus = collect([tmp_path])
    assert [case.id for case in corpus.cases] == ["sonnx:good"]
    reasons = ("a test of Add", "a tensor of type string", "no attribute 'pad'", "it has no operator")
    for problem, name, why in zip(corpus.left_out, ("1", "2", "3", "package"), reasons, strict=True):
        assert (Path(problem.path).stem, why in problem.message) == (name, True), problem.message


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ({"input": {"shape": [1, 1, 7, 8], "values": [[1]]}}, "has 1 values, and the shape"),
        ({"input": {"shape": [1, 1, 1, 1], "values": [[128]]}}, "input.values, value 0: int8 holds -128 to 127"),
        ({"dtype": 8}, "dtype: expected text"),
        ('{"id": 1,\n  "x": }', ":2:8: not JSON"),
        ("[" * 10**5, "not JSON"),
    ],
)
def test_an_invalid_test_is_named(tmp_path, content, why):
    changed(tmp_path, "good.json")
    if isinstance(content, str):
        (tmp_path / "bad.json").write_text(content)
    else:
        changed(tmp_path, "bad.json", **content)
    for path in (tmp_path, tmp_path / "bad.json"):
        message = problem_of(path)
        assert message.startswith(str(tmp_path / "bad.json"))
        assert why in message


def test_models_and_json_beside_case_files_are_not_cases(small):
    before = [case.id for case in collect([small]).cases]
    stored(small / "test_a", model(), (X, Y))
    shutil.copytree(SAMPLES, small / "samples")
    (small / "broken.json").write_text("{")
    corpus = collect([small])
    assert ([case.id for case in corpus.cases], corpus.whole) == (before, True)
    # Named, they are; and a case file may be written as JSON.
    entry = {"id": "a", "input": {"dtype": "int8", "data": [[[1, 2]]]}, "attributes": {"kernel_shape": [2]}}
    (small / "broken.json").write_text(json.dumps({"cases": [entry]}))
    assert len(collect([small, small / "samples", small / "broken.json"]).cases) == len(before) + 4


def case_of(X, name="a", **fields):
    return Case(
        id=f"group:{name}", spec="onnx-22", X=Recipe.of(X), attributes={"kernel_shape": [1]}, outputs=("Y",),
        policies=specification("onnx-22").policies, title="title", expect=Values(X, None), erratum="anything", **fields,
    )  # fmt: skip


def written(case, folder, about="about"):
    write_suite([case], folder, about, "test")
    return read_cases(folder / "group.yaml", folder)[0]


def tensors(dtype):
    """Any bits at all, of one to four axes; a few of them more than are written inline."""
    shapes = st.one_of(array_shapes(max_dims=4, max_side=4), st.just((1, 1, MOST_INLINE + 1)))
    return arrays(f"u{dtype.itemsize}", shapes).map(lambda pattern: pattern.view(dtype))


@settings(deadline=None, max_examples=100)
@given(X=st.sampled_from(sorted(NUMPY)).flatmap(lambda name: tensors(NUMPY[name])))
def test_every_bit_of_every_dtype_is_read_back(X, tmp_path_factory):
    case = written(case_of(X), tmp_path_factory.mktemp("written"))
    np.testing.assert_array_equal(bits(case.X.tensor()), bits(X), strict=True)
    # What is printed has no payload of a NaN.
    assert case.expect.Y.dtype == X.dtype
    # A NaN of bfloat16 that signals is no mistake here, but numpy may warn of it.
    with np.errstate(invalid="ignore"):
        assert same(case.expect.Y, X).all()


def test_a_tensor_without_cells(tmp_path):
    case = written(case_of(np.zeros((1, 0, 2), np.float32)), tmp_path)
    assert case.X.shape == case.expect.shape == (1, 0, 2)


@pytest.mark.parametrize("text", ["1e5", "007", "no", "null", "-.inf", "0x10", "é", "a#b", "'", '"', "-", "{a}", "1.0"])
def test_text_is_read_back_as_text(text, tmp_path):
    provenance = {"suite": text, "file": text}
    made = replace(case_of(X[0], text, provenance=provenance), title=text, tags=(text,))
    assert everything(written(made, tmp_path, text)) == everything(made)


def test_a_printed_tensor_beside_the_case_file(tmp_path):
    (tmp_path / "a.yaml").write_text(
        "cases:\n- id: a\n  input: {dtype: float32, shape: [1, 1, 3, 3], fill: 0}\n"
        "  attributes: {kernel_shape: [1, 1]}\n  expect: {Y: {npy: y.npy}}\n"
    )
    assert "there is no file 'y.npy'" in problem_of(tmp_path)
    np.save(tmp_path / "y.npy", np.zeros((1, 1, 3, 3)))
    assert "the file contains float64, expected float32" in problem_of(tmp_path)
    np.save(tmp_path / "y.npy", np.zeros((1, 1, 3, 3), np.float32))
    (case,) = collect([tmp_path]).cases
    assert disagreements(case) == []


def test_small_cases_of_the_corpus_read_back(tmp_path):
    path = tmp_path / "written.yaml"
    for case in [each for each in shipped().cases if each.X.size <= 200][::20]:
        path.write_text(case_file(case, 'Words with: a colon, "quotes" and ümlauts.'), encoding="utf-8")
        (read,) = read_cases(path, tmp_path)
        assert read.sha256 == case.sha256, case.id
        assert (read.title, read.tags, read.covers) == (case.title, case.tags, case.covers)
