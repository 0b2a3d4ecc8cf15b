"""The tests of other suites: ONNX's test data and SONNX's generated tests, imported and read directly."""

import json
import shutil
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
from maxpool_check.corpus.writing import MOST_INLINE, ForeignFile, write_suite
from maxpool_check.reference.dtypes import NUMPY, bits
from maxpool_check.specifications import specification
from tests.corpus.test_onnx_test_data import node_tests

SAMPLES = Path(__file__).parents[1] / "data/testgenonnx"
X = np.arange(16, dtype=np.float32).reshape(1, 1, 4, 4)
Y = np.array([[[[5, 7], [13, 15]]]], np.float32)
INDICES = Y.astype(np.int64)


def model(*nodes, opset=22, outputs=("y",), inputs=("x",)):
    types = {"y": TensorProto.FLOAT, "z": TensorProto.INT64}
    graph = helper.make_graph(
        list(nodes) or [helper.make_node("MaxPool", ["x"], outputs, kernel_shape=[2, 2], strides=[2, 2])],
        "graph",
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in inputs],
        [helper.make_tensor_value_info(name, types[name], None) for name in outputs],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


POOL = helper.make_node("MaxPool", ["x"], ["a"], kernel_shape=[2, 2])
"""A MaxPool before another node."""


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
    printed = [
        None if values is None else (values.dtype, values.tolist()) for values in (case.expect.Y, case.expect.Indices)
    ]
    fields = (case.id, case.title, case.covers, case.tags, case.outputs, dict(case.provenance), case.erratum)
    return case.sha256, fields, printed


def tree(folder):
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def suite():
    return onnx_testdata.read_package()


class TestOnnxBackend:
    def test_every_node_test_of_the_package_is_a_case_with_its_bits(self, suite):
        cases = {case.id: case for case in suite.cases}
        assert suite.broken == suite.left_out == ()
        assert set(cases) == {f"onnx-22:{test.name}" for test in node_tests()}
        for test in node_tests():
            case = cases[f"onnx-22:{test.name}"]
            ((X,), outputs) = test.data_sets[0]
            np.testing.assert_array_equal(bits(case.X.tensor()), bits(X), strict=True)
            np.testing.assert_array_equal(bits(case.expect.Y), bits(outputs[0]), strict=True)
            assert case.outputs == (("Y", "Indices") if len(outputs) > 1 else ("Y",))
            assert case.provenance == {
                "suite": "onnx-backend", "version": f"onnx {onnx.__version__}", "file": test.name,
            }  # fmt: skip

    def test_it_is_read_back_as_it_was(self, suite, tmp_path):
        write_suite(suite.cases, tmp_path, "about", "test")
        assert [everything(case) for case in collect([tmp_path]).cases] == [everything(case) for case in suite.cases]
        # Some of ONNX's tensors are too large for a text that people read.
        assert any(case.X.size > MOST_INLINE for case in suite.cases)
        assert len(list(tmp_path.rglob("*.X.npy"))) == sum(case.X.size > MOST_INLINE for case in suite.cases)


class TestOnnxTestdata:
    def test_a_case_for_each_data_set_judged_by_the_operator_set(self, tmp_path):
        stored(tmp_path / "node/test_a", model(opset=8), (X, Y), (X + 1, Y + 1))
        stored(tmp_path / "node/test_b", model(opset=13, outputs=("y", "z")), (X, Y, INDICES))
        stored(tmp_path / "test_c", model(opset=1), (X, Y))
        cases = {case.id: case for case in collect([tmp_path]).cases}
        assert set(cases) == {
            "node/onnx-8:test_a", "node/onnx-8:test_a/1", "node/onnx-12:test_b", "onnx-1:test_c",
        }  # fmt: skip
        assert cases["node/onnx-8:test_a/1"].X.tensor()[0, 0, 0, 0] == 1
        assert cases["node/onnx-12:test_b"].outputs == ("Y", "Indices")
        np.testing.assert_array_equal(cases["node/onnx-12:test_b"].expect.Indices, INDICES, strict=True)
        assert cases["onnx-1:test_c"].provenance["file"] == "test_c/test_data_set_0"

    def test_outputs_are_told_apart_by_name(self, tmp_path):
        made = model(outputs=("y", "z"))
        made.graph.output.reverse()
        stored(tmp_path / "a", made, (X, INDICES, Y))
        (case,) = collect([tmp_path]).cases
        assert case.expect.Y.dtype == np.float32
        assert disagreements(case) == []

    def test_the_folder_itself_and_the_model_itself(self, tmp_path):
        folder = stored(tmp_path / "test_a", model(), (X, Y))
        for path in (tmp_path, folder, folder / "model.onnx"):
            assert [case.id for case in collect([path]).cases] == ["onnx-22:test_a"]

    def test_bfloat16_keeps_its_bits(self, tmp_path):
        made = model()
        made.graph.input[0].type.tensor_type.elem_type = TensorProto.BFLOAT16
        odd = X.astype(ml_dtypes.bfloat16) * ml_dtypes.bfloat16(0.1)
        folder = stored(tmp_path / "a", made, (X,))
        proto = helper.make_tensor("x", TensorProto.BFLOAT16, odd.shape, odd.tobytes(), raw=True)
        (folder / "test_data_set_0/input_0.pb").write_bytes(proto.SerializeToString())
        (case,) = collect([tmp_path]).cases
        np.testing.assert_array_equal(bits(case.X.tensor()), bits(odd), strict=True)
        assert case.expect is None

    @pytest.mark.parametrize(
        ("made", "why"),
        [
            (model(POOL, helper.make_node("Softmax", ["a"], ["y"])), "its node Softmax is none of the operators"),
            (model(POOL, helper.make_node("Relu", ["x"], ["y"])), "its nodes are not a chain"),
            (model(POOL, helper.make_node("MaxPool", ["a"], ["y"], kernel_shape=[1, 1])), "has 2 MaxPool nodes"),
            (model(*map(helper.make_node, ["Relu", "Abs"], [["x"], ["a"]], [["a"], ["y"]])), "none of which is MaxPool"),
            (model(POOL, helper.make_node("Clip", ["a", "w"], ["y"]), inputs=("x",)), "min of its node Clip is not a"),
            (model(POOL, helper.make_node("Relu", ["a"], ["y"], domain="com.example")), "is of the domain com.example"),
            (model(POOL, helper.make_node("Cast", ["a"], ["y"], to=9)), "to a type that is not supported"),
            (model(POOL, helper.make_node("Reshape", ["a", "w"], ["y"])), "shape of its node Reshape is not a constant"),
            (model(POOL, helper.make_node("Conv", ["a"], ["y"])), "its node Conv has no weights"),
            (model(POOL, helper.make_node("Flatten", ["a"], ["y"], axis=9)), "has no exact result: Flatten of 4 axes"),
            (model(helper.make_node("Relu", ["x"], ["y"])), "none of which is MaxPool (it has Relu)"),
            (model(helper.make_node("MaxPool", ["x"], ["y"], domain="com.example")), "its node MaxPool is of the domain com.example"),
            (model(inputs=("x", "w")), "X is not the only input"),
            (model(helper.make_node("MaxPool", ["x"], ["y"], kernal_shape=[2])), "no attribute 'kernal_shape'"),
            (model(opset=9999), "operator set 9999 is none of those that onnx"),
        ],
    )  # fmt: skip
    def test_other_models_are_left_out_by_name(self, tmp_path, made, why):
        stored(tmp_path / "good", model(), (X, Y))
        bad = stored(tmp_path / "bad", made, (X, Y))
        corpus = collect([tmp_path])
        assert [case.id for case in corpus.cases] == ["onnx-22:good"]
        (left_out,) = corpus.left_out
        assert left_out.path == str(bad / "model.onnx")
        assert why in left_out.message

    def test_a_model_without_data_is_left_out(self, tmp_path):
        stored(tmp_path / "a", model())
        with pytest.raises(CorpusError, match="there is no test_data_set_0"):
            collect([tmp_path])

    @pytest.mark.parametrize(
        ("name", "content", "why"),
        [
            ("model.onnx", b"\xff\xff", "not an ONNX model"),
            ("model.onnx", b"", "not an ONNX model: it has no graph"),
            ("test_data_set_0/input_0.pb", b"\xff\xff", "not a tensor"),
            ("test_data_set_0/input_0.pb", b"", "not a tensor"),
            ("test_data_set_0/output_0.pb", helper.make_tensor("y", 1, [2, 2], [1, 2, 3, 4]).SerializeToString()[:-6], "not a tensor"),
            ("test_data_set_0/output_0.pb", TensorProto(dims=[9], data_type=1, raw_data=b"12").SerializeToString(), "not a"),
            (
                "test_data_set_0/output_0.pb",
                TensorProto(dims=[1], data_type=1, data_location=1).SerializeToString(),
                "its values are in another file",
            ),
        ],
    )  # fmt: skip
    def test_a_corrupted_file_is_named(self, tmp_path, name, content, why):
        stored(tmp_path / "good", model(), (X, Y))
        folder = stored(tmp_path / "bad", model(), (X, Y))
        (folder / name).write_bytes(content)
        with pytest.raises(CorpusError) as raised:
            collect([tmp_path])
        (problem,) = raised.value.problems
        assert problem.path == str(folder / name)
        assert why in problem.message

    def test_a_data_set_without_input_is_named(self, tmp_path):
        folder = stored(tmp_path / "a", model(), (X, Y))
        (folder / "test_data_set_0/input_0.pb").unlink()
        with pytest.raises(CorpusError, match=r"test_data_set_0:1:1: there is no input_0.pb"):
            collect([tmp_path])

    @pytest.mark.parametrize("name", ["output_0.pb", "output_1.pb"])
    @pytest.mark.parametrize(
        "nodes",
        [
            (),
            (
                helper.make_node("Relu", ["x"], ["a"]),
                helper.make_node("MaxPool", ["a"], ["y", "z"], kernel_shape=[2, 2], strides=[2, 2]),
            ),
        ],
        ids=["MaxPool", "chain"],
    )
    def test_a_data_set_that_lacks_one_of_its_outputs_is_named(self, tmp_path, nodes, name):
        folder = stored(tmp_path / "a", model(*nodes, outputs=("y", "z")), (X, Y, INDICES))
        assert len(collect([tmp_path]).cases) == 1
        (folder / "test_data_set_0" / name).unlink()
        with pytest.raises(CorpusError, match=rf"test_data_set_0:1:1: there is no {name}"):
            collect([tmp_path])

    def test_a_tensor_over_the_limit(self, tmp_path):
        stored(tmp_path / "a", model(), (X, Y))
        with pytest.raises(CorpusError, match="X has 16 cells; the limit is 15"):
            collect([tmp_path], 15)

    def test_a_printed_value_that_the_reference_does_not_share(self, tmp_path):
        stored(tmp_path / "a", model(), (X, Y + np.array([[0, 0], [1, 0]], np.float32)))
        (case,) = collect([tmp_path]).cases
        (text,) = disagreements(case)
        assert "Y[0, 0, 1, 0] is printed as 14.0, the reference has 13.0" in text
        (problem,) = contradictions(case)
        assert "import it" in problem.message


class TestTestgenonnx:
    def test_the_samples_are_the_same_imported_and_read_directly(self, tmp_path):
        direct = collect([SAMPLES])
        assert direct.left_out == ()
        assert {case.id for case in direct.cases} == {f"sonnx:{file.stem}" for file in SAMPLES.glob("*.json")}
        write_suite(direct.cases, tmp_path, "about", "test")
        imported = collect([tmp_path])
        assert [everything(case) for case in imported.cases] == [everything(case) for case in direct.cases]
        assert [problem for case in imported.cases for problem in contradictions(case)] == []

    def test_the_fields_of_a_sample(self):
        case = next(case for case in collect([SAMPLES]).cases if "int8" in case.id)
        assert {"BD-011", "Y-C1"} <= set(case.tags)
        assert case.provenance["file"] == "MaxPool_int8_BD-011_T4.json"
        assert case.X.tensor()[0, 0, 0, 0] == case.X.tensor()[0, 0, 4, 0] == 100

    def test_a_test_outside_the_profile_is_judged_by_onnx(self, tmp_path):
        test = changed(tmp_path)
        changed(tmp_path, "b.json", attributes={**test["attributes"], "ceil_mode": 1})
        assert [case.spec for case in collect([tmp_path]).cases] == ["sonnx", "onnx-22"]

    def test_folders_are_groups(self, tmp_path):
        shutil.copytree(SAMPLES, tmp_path / "a")
        shutil.copytree(SAMPLES, tmp_path / "b")
        ids = [case.id for case in collect([tmp_path]).cases]
        assert len(set(ids)) == 6
        assert {name.partition(":")[0] for name in ids} == {"a/sonnx", "b/sonnx"}

    def test_a_value_that_json_cannot_express(self, tmp_path):
        values = [["inf", "-inf", "nan", -0.0]]
        fields = {"dtype": "float", "input": {"shape": [1, 1, 1, 4], "values": values}}
        ones = {"kernel_shape": [1, 1], "strides": [1, 1], "dilations": [1, 1]}
        attributes = {**ones, "pads": [0] * 4, "auto_pad": "NOTSET", "ceil_mode": 0, "storage_order": 0}
        # A NaN counts as -inf in SONNX.
        expected = {"shape": [1, 1, 1, 4], "Y": [["inf", "-inf", "-inf", -0.0]], "Indices": [[0, 1, 2, 3]]}
        changed(tmp_path, **fields, attributes=attributes, expected=expected)
        (case,) = collect([tmp_path]).cases
        np.testing.assert_array_equal(
            case.X.tensor(), np.array([[[[np.inf, -np.inf, np.nan, 0]]]], np.float32), strict=True
        )
        assert np.signbit(case.X.tensor()[0, 0, 0, 3])
        assert disagreements(case) == []

    @pytest.mark.parametrize(
        ("fields", "why"),
        [
            ({"operator": "Add"}, "a test of Add"),
            ({"dtype": "string"}, "a tensor of type string"),
            ({"attributes": {"kernel_shape": [2, 2], "pad": [0]}}, "no attribute 'pad'"),
        ],
    )
    def test_other_tests_are_left_out_by_name(self, tmp_path, fields, why):
        changed(tmp_path, "good.json")
        changed(tmp_path, "bad.json", **fields)
        (tmp_path / "package.json").write_text("{}")
        corpus = collect([tmp_path])
        assert [case.id for case in corpus.cases] == ["sonnx:good"]
        assert [Path(problem.path).name for problem in corpus.left_out] == ["bad.json", "package.json"]
        assert why in corpus.left_out[0].message
        assert "it has no operator" in corpus.left_out[1].message

    @pytest.mark.parametrize(
        ("fields", "why"),
        [
            ({"input": {"shape": [1, 1, 7, 8], "values": [[1]]}}, "has 1 values, and the shape"),
            ({"input": {"shape": [1, 1, 1, 1], "values": [[128]]}}, "input.values, value 0: int8 holds -128 to 127"),
            ({"input": {"shape": "1x1", "values": []}}, "input.shape: expected a list"),
            ({"input": {"values": []}}, "missing 'shape'"),
            ({"expected": []}, "expected: expected a map"),
            ({"dtype": 8}, "dtype: expected text"),
            ({"input": {"shape": [0] * 33, "values": []}}, "input.shape: expected at most 32 entries, found 33"),
            ({"input": json.loads("[" * 300 + "]" * 300)}, "nested too deeply"),
        ],
    )
    def test_an_invalid_test_is_named(self, tmp_path, fields, why):
        changed(tmp_path, "good.json")
        changed(tmp_path, "bad.json", **fields)
        with pytest.raises(CorpusError) as raised:
            collect([tmp_path])
        (problem,) = raised.value.problems
        assert problem.path == str(tmp_path / "bad.json")
        assert why in problem.message

    @pytest.mark.parametrize(
        ("text", "where"), [('{"id": 1,\n  "x": }', ":2:8: not JSON"), ("", ":1:1: not JSON"), ("[" * 10**5, "not JSON")]
    )  # fmt: skip
    def test_a_corrupted_file_is_named_with_its_line(self, tmp_path, text, where):
        (tmp_path / "bad.json").write_text(text)
        for path in (tmp_path, tmp_path / "bad.json"):
            with pytest.raises(CorpusError, match=f"bad.json.*{where}"):
                collect([path])


class TestCaseFilesComeFirst:
    def test_models_and_json_beside_case_files_are_not_cases(self, small):
        before = [case.id for case in collect([small]).cases]
        stored(small / "test_a", model(), (X, Y))
        shutil.copytree(SAMPLES, small / "samples")
        (small / "broken.json").write_text("{")
        corpus = collect([small])
        assert [case.id for case in corpus.cases] == before
        assert corpus.whole
        # Named, they are.
        assert len(collect([small, small / "samples"]).cases) == len(before) + 3

    def test_a_case_file_may_be_written_as_json(self, tmp_path):
        entry = {"id": "a", "input": {"dtype": "int8", "data": [[[1, 2]]]}, "attributes": {"kernel_shape": [2]}}
        (tmp_path / "a.json").write_text(json.dumps({"cases": [entry]}))
        assert [case.id for case in collect([tmp_path / "a.json"]).cases] == ["a:a"]


def case_of(X, Y, name="a", **fields):
    document = specification("onnx-22")
    return Case(
        id=f"group:{name}", spec="onnx-22", X=Recipe.of(X), attributes={"kernel_shape": [1]}, outputs=("Y",),
        policies=document.policies, title="title", expect=Values(Y, None), erratum="anything", **fields,
    )  # fmt: skip


def tensors(dtype):
    """Any bits at all, of one to four axes; a few of them more than are written inline."""
    shapes = st.one_of(array_shapes(max_dims=4, max_side=4), st.just((1, 1, MOST_INLINE + 1)))
    return arrays(f"u{dtype.itemsize}", shapes).map(lambda pattern: pattern.view(dtype))


class TestWriter:
    @settings(deadline=None, max_examples=100)
    @given(X=st.sampled_from(sorted(NUMPY)).flatmap(lambda name: tensors(NUMPY[name])))
    def test_every_bit_of_every_dtype_is_read_back(self, X, tmp_path_factory):
        folder = tmp_path_factory.mktemp("written")
        write_suite([case_of(X, X)], folder, "about", "test")
        (case,) = read_cases(folder / "group.yaml", folder)
        np.testing.assert_array_equal(bits(case.X.tensor()), bits(X), strict=True)
        # What is printed has no payload of a NaN.
        assert case.expect.Y.dtype == X.dtype
        # Comparing a signalling NaN of bfloat16 warns, now and then.
        with np.errstate(invalid="ignore"):
            nans = X != X
            assert np.isnan(case.expect.Y[nans].astype(np.float64)).all()
        np.testing.assert_array_equal(bits(case.expect.Y[~nans]), bits(X[~nans]))

    @pytest.mark.parametrize("shape", [(0, 1, 2), (1, 2, 0), (1, 0, 2, 2)])
    def test_a_tensor_without_cells(self, shape, tmp_path):
        X = np.zeros(shape, np.float32)
        write_suite([case_of(X, X)], tmp_path, "about", "test")
        (case,) = read_cases(tmp_path / "group.yaml", tmp_path)
        assert (case.X.shape, case.expect.shape) == (shape, shape)

    @pytest.mark.parametrize(
        "text", ["1e5", "007", "no", "null", "-.inf", "0x10", "é", "a#b", "'", '"', "-", "{a}", "1.0"]
    )
    def test_text_is_read_back_as_text(self, text, tmp_path):
        provenance = {"suite": text, "file": text}
        made = replace(case_of(X[0], X[0], text, provenance=provenance), title=text, tags=(text,))
        write_suite([made], tmp_path, text, "test")
        (case,) = read_cases(tmp_path / "group.yaml", tmp_path)
        assert everything(case) == everything(made)

    def test_a_foreign_file_is_not_replaced(self, tmp_path):
        (tmp_path / "group.yaml").write_text("cases: mine\n")
        with pytest.raises(ForeignFile, match="group.yaml exists and was not written"):
            write_suite([case_of(X[0], X[0])], tmp_path, "about", "test")
        assert tree(tmp_path) == {Path("group.yaml"): b"cases: mine\n"}


@pytest.mark.parametrize(
    ("values", "why"),
    [(np.zeros((1, 1, 3, 3)), "the file contains float64, expected float32"), (None, "there is no file 'y.npy'")],
)
def test_a_printed_tensor_beside_the_case_file(tmp_path, values, why):
    (tmp_path / "a.yaml").write_text(
        "cases:\n- id: a\n  input: {dtype: float32, shape: [1, 1, 3, 3], fill: 0}\n"
        "  attributes: {kernel_shape: [1, 1]}\n  expect: {Y: {npy: y.npy}}\n"
    )
    if values is not None:
        np.save(tmp_path / "y.npy", values)
    with pytest.raises(CorpusError, match=f"a.yaml:5:.*{why}"):
        collect([tmp_path])
    np.save(tmp_path / "y.npy", np.zeros((1, 1, 3, 3), np.float32))
    (case,) = collect([tmp_path]).cases
    assert disagreements(case) == []
