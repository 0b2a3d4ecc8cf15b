"""The models that `model` is tested with are what they say: ONNX Runtime runs them, or refuses them."""

import inspect

import numpy as np
import onnx
import onnxruntime
import pytest

from tests.models import broken, external, zoo
from tests.models.wheels import WHEELS, from_wheel
from tests.models.writing import saved

pytestmark = pytest.mark.long
"""They are about the models of other tests, which would notice."""

DTYPES = {"tensor(float)": "f4", "tensor(float16)": "f2", "tensor(int64)": "i8", "tensor(bool)": "?"}
RUNS = [zoo.plain, zoo.resnet_v2, zoo.nhwc, zoo.half, zoo.half_between_casts, zoo.in_if, zoo.in_loop, zoo.in_scan]
RUNS += [zoo.in_function, zoo.unpool, zoo.indices_output, zoo.sppf, zoo.speech, zoo.nhwc_max_pool, zoo.unnamed]
RUNS += [zoo.dynamic, zoo.unknown_shape, broken.many, broken.hostile_names]
NEEDS_A_FOLDER = [zoo.quantized, external.external, external.external_huge]
REFUSED = [zoo.custom_operator, broken.cyclic, broken.undefined_input, broken.huge_initializer, broken.huge_window]
REFUSED += [broken.recursive_function, broken.recursive_functions, broken.bad_opset, broken.no_opset]
REFUSED += [broken.duplicate_names, broken.duplicate_outputs]


def session(model):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    model = str(model) if hasattr(model, "name") else model.SerializeToString()
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def run(model, sizes=()):
    """The outputs of a model of random inputs; ``sizes`` are those of symbols, by default 2 images of 64x64."""
    loaded, random, sizes = session(model), np.random.default_rng(7), dict(sizes)
    feeds = {}
    for wanted in loaded.get_inputs():
        shape = [
            size if isinstance(size, int) and size > 0 else sizes.get(size, 64 if axis else 2)
            for axis, size in enumerate(wanted.shape)
        ]
        feeds[wanted.name] = random.normal(size=shape).astype(DTYPES[wanted.type])
    return loaded.run(None, feeds)


def tensors_of(model, op):
    """Inputs of the nodes of an operator, as a run of the model has them."""
    names = [node.input[0] for node in model.graph.node if node.op_type == op]
    del model.graph.output[:]
    model.graph.output.extend(onnx.ValueInfoProto(name=name) for name in names)
    return run(model)


def refuses(model):
    with pytest.raises(Exception, match="ONNXRuntimeError"):
        session(model)


@pytest.mark.parametrize("maker", RUNS, ids=lambda maker: maker.__name__)
def test_onnx_finds_nothing_wrong_and_onnx_runtime_runs_it(maker):
    model = maker()
    onnx.checker.check_model(model, full_check=True)
    assert all(np.isfinite(output).all() for output in run(model))
    assert model.SerializeToString() == maker().SerializeToString()


@pytest.mark.parametrize("maker", NEEDS_A_FOLDER, ids=lambda maker: maker.__name__)
def test_a_model_with_files_runs(maker, tmp_path):
    assert all(np.isfinite(output).all() for output in run(maker(tmp_path)))


def test_every_model_of_the_zoo_is_tested():
    makers = {maker for _, maker in inspect.getmembers(zoo, inspect.isfunction) if maker.__module__ == zoo.__name__}
    assert makers - {zoo.light} <= {*RUNS, *NEEDS_A_FOLDER, *REFUSED}


@pytest.mark.parametrize("opset", range(9, 24))
def test_resnet_v2_pools_negative_values_behind_zeros(opset):
    model = zoo.resnet_v2(opset)
    onnx.checker.check_model(model, full_check=True)
    [pooled] = tensors_of(model, "MaxPool")
    assert not pooled[:, :, 0].any()
    assert not pooled[:, :, :, -1].any()
    corners = pooled[:, :, 1:3, 1:3].max((2, 3))
    assert (corners < 0).any()
    assert (corners > 0).any()


@pytest.mark.parametrize("activation", ["uint8", "int8"])
@pytest.mark.parametrize("form", ["QDQ", "QOperator"])
def test_a_quantised_model_pools_integers_in_the_form_of_operators(form, activation, tmp_path):
    path = zoo.quantized(tmp_path, form, activation)
    operators = {node.op_type for node in onnx.load(path).graph.node}
    assert ("QLinearConv" in operators) == (form == "QOperator")
    [pooled] = tensors_of(onnx.load(path), "MaxPool")
    assert pooled.dtype == (activation if form == "QOperator" else "float32")


def test_the_shape_is_unknown_to_inference():
    graph = onnx.shape_inference.infer_shapes(zoo.unknown_shape(), data_prop=True).graph
    [pooled] = [value for value in graph.value_info if value.name == "R"]
    assert not pooled.type.tensor_type.HasField("shape")


def test_both_branches_run():
    loaded = session(zoo.in_if())
    for sign in (1, -1):
        [output] = loaded.run(None, {"X": np.full((1, 3, 24, 24), sign, np.float32)})
        assert output.shape == (1, 8, 11, 11)


@pytest.mark.parametrize("maker", REFUSED, ids=lambda maker: maker.__name__)
def test_onnx_runtime_refuses_it(maker):
    refuses(maker())


@pytest.mark.parametrize("mistake", broken.bad_attributes())
def test_onnx_runtime_refuses_attributes(mistake):
    refuses(broken.bad_attributes()[mistake])


@pytest.mark.parametrize("way", ["parent", "absolute", "link", "linked_folder"])
def test_onnx_runtime_refuses_values_outside_of_the_folder(way, tmp_path):
    path = external.external_outside(tmp_path, way)
    assert (tmp_path / "secret.bin").stat().st_size == 8 * 3 * 3 * 3 * 4
    refuses(path)


@pytest.mark.parametrize("maker", [external.external_missing, external.external_short, external.external_pipe])
def test_onnx_runtime_refuses_files_that_do_not_fit(maker, tmp_path):
    refuses(maker(tmp_path))


@pytest.mark.parametrize("entry", [{"offset": "-1"}, {"offset": "x"}, {"length": "-1"}, {"length": "9" * 20}])
def test_onnx_runtime_refuses_numbers_that_do_not_fit(entry, tmp_path):
    refuses(external.external_number(tmp_path, **entry))


def test_a_huge_file_takes_no_room(tmp_path):
    external.external_huge(tmp_path)
    size = (tmp_path / "table.bin").stat()
    assert size.st_size == external.HUGE
    assert size.st_blocks * 512 < 2**20


@pytest.mark.parametrize("depth", [0, 10, 31])
def test_what_protobuf_reads_of_nested_graphs_runs(depth, tmp_path):
    path = broken.deep(tmp_path, depth)
    onnx.checker.check_model(str(path), full_check=True)
    [output] = session(path).run(None, {"X": np.ones((1, 3, 8, 8), np.float32), "condition": np.array(True)})
    assert output.shape == (1, 3, 7, 7)


@pytest.mark.parametrize("depth", [32, 60, 200])
def test_deeper_graphs_cannot_be_read(depth, tmp_path):
    path = broken.deep(tmp_path, depth)
    with pytest.raises(Exception, match="Exceeded"):
        onnx.load(path)
    refuses(path)


def test_files_that_are_no_models_are_refused(tmp_path):
    for path in [broken.truncated(tmp_path), *broken.not_onnx(tmp_path)]:
        refuses(path)


@pytest.mark.parametrize("size", [2**40, 2**62, -5])
def test_sizes_that_nothing_has_are_written(size):
    model = broken.huge_dimensions(size)
    assert onnx.load_from_string(model.SerializeToString()) == model


def test_a_few_exploding_functions_run():
    assert len(broken.exploding_functions().functions) == 30
    assert run(broken.exploding_functions(6))[0].shape == (1, 3, 8, 8)


def test_all_broken_models_can_be_saved(tmp_path):
    assert all(path.stat().st_size for path in broken.saved_all(tmp_path))


@pytest.mark.parametrize("name", zoo.LIGHT)
def test_a_light_model_has_max_pools(name):
    assert "MaxPool" in {node.op_type for node in onnx.load(zoo.light(name)).graph.node}


@pytest.mark.long
@pytest.mark.parametrize("name", zoo.LIGHT)
def test_a_light_model_runs(name):
    assert np.isfinite(run(zoo.light(name))[0]).all()


@pytest.mark.long
@pytest.mark.network
@pytest.mark.parametrize("name", WHEELS)
def test_a_model_of_a_package_runs(name):
    path = from_wheel(*WHEELS[name])
    assert "MaxPool" in {node.op_type for node in onnx.load(path).graph.node}
    assert run(path)


def test_a_model_is_saved_as_it_is(tmp_path):
    assert onnx.load(saved(zoo.plain(), tmp_path)) == zoo.plain()
