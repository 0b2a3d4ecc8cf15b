"""Which MaxPool nodes a model has, what is around them, and which files are refused."""

import numpy as np
import onnx
import pytest
from onnx import helper

from maxpool_check.models.analysis import analyse
from maxpool_check.models.model_file import BadModel, read_model
from tests.models import broken, external, zoo
from tests.models.writing import saved, written


@pytest.fixture
def analysed(tmp_path):
    """The analysis of a model that is written to a file first."""

    def run(model, **options):
        return analyse(read_model(saved(model, tmp_path)), **options)

    return run


def described(analysis):
    return [(each.node.name, each.node.where, each.around.ahead, each.around.behind) for each in analysis.nodes]


def test_a_pad_and_a_convolution_before_it(analysed):
    analysis = analysed(zoo.resnet_v2())
    (node,) = analysis.nodes
    assert described(analysis) == [
        ("resnet50v2/pool1_pool/MaxPool", "main graph", ("Pad", "Conv"), ("BatchNormalization",))
    ]
    assert str(node.node.declared) == "float32 [unk__99, 16, 34, 34]"
    assert str(node.node.tested) == "float32 [1, 16, 34, 34]"
    assert [each.op for each in node.around.chain.context.before] == ["Pad"]
    assert node.around.rewrites[0] == "Pad may be folded into the pads of MaxPool, which has no padding value"


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        (zoo.in_if, [("pool", "then_branch of If 'choice'", "If"), ("pool#2", "else_branch of If 'choice'", "If")]),
        (zoo.in_loop, [("pool", "body of Loop 'loop'", "Loop")]),
        (zoo.in_scan, [("pool", "body of Scan 'scan'", None)]),
        (zoo.in_function, [("pool", "function pooled", "function"), ("pool#2", "function pooled", "function")]),
    ],
)
def test_nodes_inside_of_others(model, expected, analysed):
    found = [(each.node.name, each.node.where, each.node.inside) for each in analysed(model()).nodes]
    assert found == expected


def test_a_function_has_a_node_for_each_call_with_its_own_shape_and_attributes(analysed):
    first, second = analysed(zoo.in_function()).nodes
    assert (first.node.tested.shape, second.node.tested.shape) == ((1, 3, 24, 24), (1, 3, 11, 11))
    assert first.node.attributes["strides"] != second.node.attributes.get("strides")


def test_nodes_without_names_and_those_that_are_not_judged(analysed):
    found = {each.node.name: each.untested for each in analysed(zoo.unnamed()).nodes}
    assert found == {"A": "", "C": "", "D": "", "Y": "not judged: another operator than MaxPool"}
    (nhwc,) = analysed(zoo.nhwc_max_pool()).nodes
    assert (nhwc.node.op, nhwc.maker) == ("NhwcMaxPool", None)


def test_two_nodes_of_one_name_are_told_apart(analysed):
    assert [each.node.name for each in analysed(broken.duplicate_names()).nodes] == ["pool", "pool#2"]


def test_indices_count_only_where_something_uses_them(analysed):
    (unpool,) = analysed(zoo.unpool()).nodes
    assert (unpool.node.indices, unpool.cases[0].case.outputs) == ("I", ("Y", "Indices"))
    (plain,) = analysed(zoo.plain()).nodes
    assert (plain.node.indices, plain.cases[0].case.outputs) == (None, ("Y",))


def test_sizes_that_are_open_are_small_or_given(analysed):
    (node,) = analysed(zoo.dynamic()).nodes
    assert node.node.tested.shape == (1, 8, 64, 64)
    (node,) = analysed(zoo.dynamic(), shapes={"batch": (2,), "height": (20,), "width": (30,)}).nodes
    assert node.node.tested.shape == (2, 8, 20, 30)
    name = zoo.dynamic().graph.input[0].name
    (node,) = analysed(zoo.dynamic(), shapes={name: (4, 3, 16, 8)}).nodes
    assert node.node.tested.shape == (4, 8, 16, 8)
    with pytest.raises(BadModel, match=r"--shape names depth; the inputs and their dimensions are .*batch, height"):
        analysed(zoo.dynamic(), shapes={"depth": (2,)})


def test_an_unknown_shape_is_assumed_and_said(analysed):
    (node,) = analysed(zoo.unknown_shape()).nodes
    assert node.node.is_assumed
    assert len(node.node.tested.shape) == 4
    assert node.untested == ""


def test_a_quantised_model_is_cut_with_its_scales(analysed, tmp_path):
    (node,) = analysed(onnx.load(zoo.quantized(tmp_path, form="QDQ", activation="uint8"))).nodes
    context = node.around.chain.context
    assert [each.op for each in (*context.before, *context.after)] == [
        "QuantizeLinear", "DequantizeLinear", "QuantizeLinear", "DequantizeLinear",
    ]  # fmt: skip
    constants = {
        tensor.name: onnx.numpy_helper.to_array(tensor)
        for tensor in onnx.load(zoo.quantized(tmp_path)).graph.initializer
    }
    scale = next(each.fields["x_scale"]["data"] for each in context.before if each.op == "DequantizeLinear")
    assert any(
        value.ndim == 0 and value.dtype == np.float32 and value == np.float32(scale) for value in constants.values()
    )


def test_what_two_nodes_use_is_not_cut(analysed):
    first, second, third = analysed(zoo.sppf()).nodes
    for node in (first, second, third):
        assert not node.around.chain.context.has_nodes
    # The tensor between them flows on to Concat.
    assert first.around.behind == ("MaxPool", "Concat")


def test_external_data_is_read_only_where_it_is_needed(tmp_path):
    assert len(analyse(read_model(external.external(tmp_path))).nodes) == 1
    huge = tmp_path / "huge"
    huge.mkdir()
    assert len(analyse(read_model(external.external_huge(huge))).nodes) == 1
    missing = tmp_path / "missing"
    missing.mkdir()
    analysis = analyse(read_model(external.external_missing(missing)))
    assert analysis.notes == ["1 constant is random, since the values are not there: 'W': there is no file weights.bin"]


@pytest.mark.parametrize("way", ["parent", "absolute", "link", "linked_folder"])
def test_nothing_outside_of_the_folder_is_read(way, tmp_path):
    with pytest.raises(BadModel, match=r"outside the model's folder: .*; nothing there is read"):
        read_model(external.external_outside(tmp_path, way))


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (broken.cyclic, "which only a later node makes: the graph has a cycle, or its nodes are not in order"),
        (broken.undefined_input, "which nothing makes"),
        (broken.recursive_function, "calls itself"),
        (broken.recursive_functions, "calls itself"),
        (broken.exploding_functions, "more than 1000000 nodes"),
        (broken.bad_opset, "operator set 999; the installed onnx"),
        (broken.no_opset, "opset_import is empty"),
        (broken.duplicate_outputs, "two nodes make the tensor"),
    ],
)
def test_a_broken_model_is_refused_with_the_reason(model, message, tmp_path):
    path = saved(model(), tmp_path)
    with pytest.raises(BadModel) as refused:
        read_model(path)
    assert message in str(refused.value)
    assert str(refused.value).startswith(str(path))


def test_files_that_are_no_models(tmp_path):
    for path in (*broken.not_onnx(tmp_path), broken.truncated(tmp_path), tmp_path / "missing.onnx"):
        with pytest.raises(BadModel, match=str(path)):
            read_model(path)
    for depth in (60, 200):
        with pytest.raises(BadModel, match="not an ONNX model"):
            read_model(broken.deep(tmp_path, depth))


@pytest.mark.parametrize("model", [broken.huge_dimensions, broken.huge_window])
def test_huge_tensors_are_not_made(model, analysed):
    (node,) = analysed(model()).nodes
    assert node.untested == "its input or output is too large to be tested; --shape gives other sizes"


@pytest.mark.parametrize("mistake", list(broken.bad_attributes()))
def test_invalid_attributes_are_said_and_not_tested(mistake, tmp_path):
    try:
        (node,) = analyse(read_model(saved(broken.bad_attributes()[mistake], tmp_path))).nodes
    except BadModel:
        return
    assert "excludes it" in node.untested
    assert not node.cases


def test_a_large_model_is_read_fast_enough_to_be_used(analysed):
    assert len(analysed(broken.many(10_000, 20)).nodes) == 20


def test_the_internal_domain_of_onnx_runtime_has_its_own_document(analysed):
    node = helper.make_node("MaxPool", ["x"], ["y"], "pool", domain="com.ms.internal.nhwc", kernel_shape=[2, 2])
    model = written("g (float[1,6,6,3] x) => (float[1,a,b,3] y) { y = Relu(x) }", onnx=17)
    del model.graph.node[:]
    model.graph.node.append(node)
    model.opset_import.append(helper.make_opsetid("com.ms.internal.nhwc", 11))
    (found,) = analysed(model).nodes
    assert found.maker.document.name == "ort-nhwc-11"
    assert found.cases[0].case.X.shape == (1, 6, 6, 3)


def test_branches_may_have_tensors_of_the_same_name(analysed):
    text = """g (float[1,3,8,8] x, bool c) => (float[a,b,e,d] y) {
      y = If (c) <then_branch = t () => (float[p,q,r,s] z) { w = MaxPool <kernel_shape = [2, 2]> (x) [then] z = MaxPool <kernel_shape = [2, 2]> (w) },
                 else_branch = f () => (float[p,q,r,s] z) { w = Relu (x) [other] z = MaxPool <kernel_shape = [2, 2]> (w) }> }"""
    shapes = {each.node.name: each.node.tested.shape for each in analysed(written(text)).nodes}
    assert shapes == {"w": (1, 3, 8, 8), "then": (1, 3, 7, 7), "other": (1, 3, 8, 8)}


def test_constants_may_be_attributes_of_a_node(analysed):
    text = """g (float[1,3,8,8] x) => (float[a,b,e,d] y) {
      p = Constant <value_ints = [0, 0, 1, 1, 0, 0, 1, 1]> ()
      q = Pad (x, p) [pool] y = MaxPool <kernel_shape = [2, 2]> (q) }"""
    (node,) = analysed(written(text)).nodes
    assert node.around.chain.context.operators == ("Pad", "MaxPool")
