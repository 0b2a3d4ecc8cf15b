"""Which MaxPool nodes a model has, what is around them, and which files are refused."""

from functools import partial
from operator import attrgetter

import pytest

from maxpool_check.models.analysis import analyse
from maxpool_check.models.model_file import BadModel, read_model
from tests.models import broken, external, zoo
from tests.models.writing import saved, written


def graph(nodes, size=8):
    """The text of a model of X and Y with these nodes."""
    return f"g (float[1,3,{size},{size}] X) => (float[1,3,h,w] Y) {{ {nodes} }}"


def functions(*bodies):
    """A model that calls the first of these functions of one input and output."""
    head = '<domain: "local", opset_import: ["" : 22, "local" : 1]>'
    texts = [f" {head} f{number} (x) => (y) {{ {body} }}" for number, body in enumerate(bodies)]
    return written(graph("[call] Y = local.f0 (X)") + "".join(texts), onnx=22, local=1)


@pytest.fixture
def nodes(tmp_path):
    """The nodes of a model, or of a text of one, that is written to a file first."""

    def of(model, **options):
        made = written(model) if isinstance(model, str) else model
        return analyse(read_model(saved(made, tmp_path)), **options).nodes

    return of


def test_a_pad_and_a_convolution_before_it(nodes):
    (found,) = nodes(zoo.resnet_v2())
    assert (found.node.name, found.node.where) == ("resnet50v2/pool1_pool/MaxPool", "main graph")
    assert (found.around.ahead, found.around.behind) == (("Pad", "Conv"), ("BatchNormalization",))
    assert str(found.node.declared) == "float32 [unk__99, 16, 34, 34]"
    assert str(found.node.tested) == "float32 [1, 16, 34, 34]"
    assert [each.op for each in found.around.chain.context.before] == ["Pad"]
    assert found.around.rewrites[0] == "Pad may be folded into the pads of MaxPool, which has no padding value"


POOL, SHAPE = "MaxPool <kernel_shape = [2, 2], strides = [2, 2]>", ("tested.shape",)
BRANCHES = """g (float[1,3,8,8] x, bool c) => (float[a,b,e,d] y) {
  y = If (c) <
    then_branch = t () => (float[p,q,r,s] z) {
      w = MaxPool <kernel_shape = [2, 2]> (x) [then] z = MaxPool <kernel_shape = [2, 2]> (w) },
    else_branch = f () => (float[p,q,r,s] z) { w = Relu (x) [other] z = MaxPool <kernel_shape = [2, 2]> (w) }> }"""


@pytest.mark.parametrize(
    ("model", "shapes", "of_node", "expected"),
    [
        (zoo.in_if(), {}, ("name", "inside"), [("pool", "If"), ("pool#2", "If")]),
        (zoo.in_if(), {}, ("where",), ["then_branch of If 'choice'", "else_branch of If 'choice'"]),
        (zoo.in_loop(), {}, ("name", "where", "inside"), [("pool", "body of Loop 'loop'", "Loop")]),
        (zoo.in_scan(), {}, ("name", "where", "inside"), [("pool", "body of Scan 'scan'", None)]),
        (zoo.in_function(), {}, ("name", "inside"), [("pool", "function"), ("pool#2", "function")]),
        (zoo.unnamed(), {}, ("name",), ["A", "C", "D", "Y"]),
        (graph(f"[pool] A = {POOL} (X) [pool] Y = {POOL} (A)"), {}, ("name",), ["pool", "pool#2"]),
        (zoo.unpool(), {}, ("indices",), ["I"]),
        # Sizes that are open are small or given.
        (zoo.dynamic(), {}, SHAPE, [(1, 8, 64, 64)]),
        (zoo.dynamic(), {"batch": (2,), "height": (20,), "width": (30,)}, SHAPE, [(2, 8, 20, 30)]),
        (zoo.dynamic(), {"X": (4, 3, 16, 8)}, SHAPE, [(4, 8, 16, 8)]),
        # A function has a node for each call, with its own shape and attributes.
        (zoo.in_function(), {}, SHAPE, [(1, 3, 24, 24), (1, 3, 11, 11)]),
        # Branches may have tensors of the same name.
        (BRANCHES, {}, SHAPE, [(1, 3, 8, 8), (1, 3, 7, 7), (1, 3, 8, 8)]),
    ],
)
def test_the_nodes_of_a_model(nodes, model, shapes, of_node, expected):
    assert [attrgetter(*of_node)(each.node) for each in nodes(model, shapes=shapes)] == expected


def test_what_is_not_judged(nodes):
    assert [each.untested for each in nodes(zoo.unnamed())] == ["", "", "", "not judged: another operator than MaxPool"]
    (nhwc,) = nodes(zoo.nhwc_max_pool())
    assert (nhwc.node.op, nhwc.maker) == ("NhwcMaxPool", None)
    (unknown,) = nodes(zoo.unknown_shape())
    assert (unknown.node.is_assumed, len(unknown.node.tested.shape), unknown.untested) == (True, 4, "")


def test_what_two_nodes_use_is_not_cut(nodes):
    found = nodes(zoo.sppf())
    assert [each.around.chain.context.has_nodes for each in found] == [False] * 3
    # The tensor between them flows on to Concat.
    assert found[0].around.behind == ("MaxPool", "Concat")


def test_branches_that_meet_behind_max_pool_are_tested_with_it(nodes):
    first, second, third = (each.maker.beyond for each in nodes(zoo.sppf()))
    concat = first.chain.context.after[-1]
    assert first.chain.context.operators == ("MaxPool", "MaxPool", "MaxPool", "Concat")
    assert (concat.source, concat.fields["inputs"][0], len(concat.named_inputs)) == ("X", "Y", 3)
    # The branches begin in front of another MaxPool, too.
    assert [each.start for each in (first, second, third)] == ["A", "A", "A"]
    pool = "S = Relu (x) [pool] m = MaxPool <kernel_shape = [3, 3], pads = [1, 1, 1, 1]> (S)"
    text = "g (float[1,2,9,9] x) => (float[1,2,9,9] y) {{ {} {} }}"
    (found,) = nodes(text.format(pool, "e = Equal (S, m) f = Cast <to = 1> (e) y = Mul (S, f)"))
    assert found.around.chain.context.operators == ("MaxPool", "Equal", "Cast", "Mul")
    assert {each.case.id.split("/")[1] for each in found.cases} >= {"alone", "graph"}
    # A comparison alone has truth values, which no case has; Softmax is not known here.
    for behind in ("e = Equal (S, m) y = Softmax (e)", "n = Softmax (S) y = Add (n, m)"):
        (found,) = nodes(text.format(pool, behind))
        assert not found.around.chain.context.after


def test_constants_may_be_attributes_of_a_node(nodes):
    (found,) = nodes("""g (float[1,3,8,8] x) => (float[a,b,e,d] y) {
      p = Constant <value_ints = [0, 0, 1, 1, 0, 0, 1, 1]> ()
      q = Pad (x, p) [pool] y = MaxPool <kernel_shape = [2, 2]> (q) }""")
    assert found.around.chain.context.operators == ("Pad", "MaxPool")


def test_the_internal_domain_of_onnx_runtime_has_its_own_document(nodes):
    text = "g (float[1,6,6,3] x) => (float[1,a,b,3] y) { y = com.ms.internal.nhwc.MaxPool <kernel_shape = [2, 2]> (x) }"
    (found,) = nodes(written(text, **{"onnx": 17, "com.ms.internal.nhwc": 11}))
    assert (found.maker.document.name, found.cases[0].case.X.shape) == ("ort-nhwc-11", (1, 6, 6, 3))


def test_external_data_is_read_only_where_it_is_needed(tmp_path):
    missing = "1 constant is random, since the values are not there: 'W': there is no file weights.bin"
    with_huge_tail = partial(external.external_larger, size=3 * 2**30, name="V")
    for model, notes in ((external.external, []), (with_huge_tail, []), (external.external_missing, [missing])):
        analysis = analyse(read_model(model(tmp_path)))
        assert (len(analysis.nodes), analysis.notes) == (1, notes)


@pytest.mark.parametrize("way", ["parent", "absolute", "link", "linked_folder"])
def test_nothing_outside_of_the_folder_is_read(way, tmp_path):
    with pytest.raises(BadModel, match=r"outside the model's folder: .*; nothing there is read"):
        read_model(external.external_outside(tmp_path, way))


def test_a_location_that_no_system_can_have_is_a_mistake_of_the_model(cli, tmp_path):
    path = external.external(tmp_path, location="a" * 5000)
    done = cli("model", path).check(2, f"{path}: the external data of 'W' cannot be found: File name too long")
    assert len(done.err) < 1000


WITHOUT_OPSET = zoo.plain()
WITHOUT_OPSET.ClearField("opset_import")
# 2 ** 29 of them.
CALLS = [f"m = local.f{number + 1} (x) y = local.f{number + 1} (m)" for number in range(29)]


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (broken.cyclic(), "its graph has a cycle, of the nodes 'A', 'Y'"),
        (written(graph(f"Y = {POOL} (nobody)")), "which nothing makes"),
        (written(graph(f"Y = {POOL} (X) Y = {POOL} (X)")), "two nodes make the tensor"),
        (functions("y = local.f1 (x)", "y = local.f0 (x)"), "calls itself"),
        (functions(*CALLS, "y = MaxPool <kernel_shape = [1, 1]> (x)"), "more than 1000000 nodes"),
        (broken.bad_opset(), "operator set 999; the installed onnx"),
        (WITHOUT_OPSET, "opset_import is empty"),
    ],
)
def test_a_broken_model_is_refused_with_the_reason(model, message, tmp_path):
    path = saved(model, tmp_path)
    with pytest.raises(BadModel) as refused:
        read_model(path)
    assert message in str(refused.value)
    assert str(refused.value).startswith(str(path))


def test_files_that_are_no_models(tmp_path):
    whole = zoo.plain().SerializeToString()
    for content in (b"Not a model.\n", b"", b'{"graph": {}}', bytes(4096), whole[: len(whole) // 2]):
        (tmp_path / "a.onnx").write_bytes(content)
        with pytest.raises(BadModel, match=r"a\.onnx"):
            read_model(tmp_path / "a.onnx")
    for path in (tmp_path, tmp_path / "missing.onnx"):
        with pytest.raises(BadModel, match=str(path)):
            read_model(path)


@pytest.mark.parametrize("field", ["name", "op_type", "input", "attribute"])
def test_a_name_that_is_not_utf_8_is_refused(tmp_path, field):
    model = zoo.plain()
    (node,) = (each for each in model.graph.node if each.op_type == "MaxPool")
    mark = "N" * 12
    if field == "attribute":
        node.attribute[0].name = mark
    elif field == "input":
        node.input[0] = mark
    else:
        setattr(node, field, mark)
    path = tmp_path / "model.onnx"
    path.write_bytes(model.SerializeToString().replace(mark.encode(), b"\xff\xfe\xfd" * 4))
    with pytest.raises(BadModel, match=r"model.onnx: \w+.\w+ is b'.xff.*', which is not UTF-8"):
        read_model(path)


@pytest.mark.parametrize(
    "text",
    [
        graph(f"A = Relu (X) Y = {POOL} (A)", 2**40),
        graph(f"Y = MaxPool <kernel_shape = {[2**40] * 2}, pads = {[2**40] * 4}> (X)"),
    ],
)
def test_huge_tensors_are_not_made(text, nodes):
    (found,) = nodes(text)
    assert found.untested == "its input or output is too large to be tested; --shape gives other sizes"


@pytest.mark.parametrize(
    "attributes",
    [
        "strides = [2, 2]", "kernel_shape: ints = []", "kernel_shape = [2.0, 2.0]", 'kernel_shape = [2, 2], strides = "two"',
        "kernel_shape = [2, 2], kernel_size = 2", "kernel_shape = [2, 2], ceil_mode = [1]",
    ],
)  # fmt: skip
def test_invalid_attributes_are_said_and_not_tested(attributes, nodes):
    try:
        (found,) = nodes(graph(f"Y = MaxPool <{attributes}> (X)"))
    except BadModel:
        return
    assert "excludes it" in found.untested
    assert not found.cases
