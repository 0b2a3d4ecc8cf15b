"""Which known defects can reach a MaxPool of a model, without a runtime: the claims for small models."""

import numpy as np
import pytest

from maxpool_check.corpus.collection import defect_files
from maxpool_check.corpus.conditions import shown_by
from maxpool_check.corpus.defect_file import read_all_defects
from maxpool_check.corpus.quantities import Features
from maxpool_check.judging.defects import Conditions, Defect, ExpectedDivergence, Severity
from maxpool_check.judging.kinds import DivergenceKind
from maxpool_check.judging.target_selector import TargetSelector
from maxpool_check.models.analysis import analyse, reaching
from maxpool_check.models.model_file import read_model
from maxpool_check.results.details import Processor
from maxpool_check.results.record import Execution, TargetDescription, Verdict
from maxpool_check.results.variants import OLDEST_OPSET, WITH_INDICES, Y_ALONE, Y_ONLY, Variant, variant_named
from tests.conftest import CASES, shipped
from tests.models.writing import saved, written

POOL = "kernel_shape = [2, 2], strides = [2, 2]"


AVX512 = Processor(architecture="x86_64", features=("avx2", "avx512f"))
AVX2 = Processor(architecture="x86_64", features=("avx2",))


def target(version, distribution="onnxruntime", processor=AVX512):
    return TargetDescription(
        name=f"{distribution}=={version}", distribution=distribution, version=version, provider="CPUExecutionProvider",
        providers=("CPUExecutionProvider",), session_options={}, python="3.11", numpy="2", newest_opset=26, graphs=26,
        processor=processor,
    )  # fmt: skip


@pytest.fixture(scope="module")
def defects():
    return read_all_defects(defect_files(CASES))


@pytest.fixture
def node(tmp_path):
    """Makes a model of one MaxPool behind and in front of other nodes, and gives the analysis of the MaxPool."""

    def of(
        attributes=POOL, *, shape="1, 4, 8, 8", dtype="float", opset=13, before="", after="", indices=False, **weights
    ):
        outputs = f"{dtype} Y" + (", int64 I" if indices else "")
        text = f"""g ({dtype}[{shape}] X) => ({outputs}) {{
            {before}
            [pool] {"P" if after else "Y"}{", I" if indices else ""} = MaxPool <{attributes}> ({"B" if before else "X"})
            {after}
        }}"""
        (found,) = analyse(read_model(saved(written(text, weights, onnx=opset), tmp_path))).nodes
        return found

    return of


@pytest.fixture
def claims(defects, node):
    """The claims for a version of ONNX Runtime, and what each needs."""

    def of(version, *arguments, processor=AVX512, **keywords):
        found = node(*arguments, **keywords)
        reached = reaching(defects, target(version, processor=processor), found.features, found.variants)
        return {each.defect.id: each.needs for each in reached}

    return of


def pad(mode="constant", pads=(0, 0, 1, 1, 0, 0, 1, 1), value=None):
    """A Pad in front of MaxPool."""
    inputs = "X, pads" if value is None else "X, pads, value"
    weights = {"pads": np.array(pads, np.int64)} | ({} if value is None else {"value": np.array(value, np.float32)})
    return {"before": f'[pad] B = Pad <mode = "{mode}"> ({inputs})', **weights}


@pytest.mark.parametrize(
    ("version", "opset", "expected"),
    [
        ("1.18.1", 13, False),
        ("1.23.2", 13, True),
        ("1.24.4", 13, True),
        ("1.24.4", 22, False),
        ("1.25.1", 22, True),
        ("1.31.1", 22, True),
        ("1.32.0", 13, False),
        ("1.32.0", 22, False),
    ],
)
def test_a_pad_of_zeros_is_folded_in_some_versions_and_operator_sets(claims, version, opset, expected):
    assert ("ORT-PAD-FOLDED" in claims(version, opset=opset, **pad())) is expected


@pytest.mark.parametrize(
    "other",
    [pad("edge"), pad(value=-1), pad(pads=(0, 1, 1, 1, 0, 1, 1, 1)), pad(pads=(0, 0, 1, 1, 0, 0, 1, -1))],
    ids=["edge", "another value", "channels", "negative"],
)
def test_another_pad_is_not_folded(claims, other):
    assert "ORT-PAD-FOLDED" not in claims("1.31.1", **other)


def test_a_pad_is_folded_only_directly_in_front_of_maxpool(claims):
    padded = pad()
    between = padded.pop("before").replace("B =", "A =") + "\n[relu] B = Relu (A)"
    assert "ORT-PAD-FOLDED" not in claims("1.31.1", before=between, **padded)


def test_a_large_pad_makes_the_folded_graph_invalid(claims):
    large = pad(pads=(0, 0, 2, 2, 0, 0, 2, 2))
    found = claims("1.31.1", **large)
    assert "ORT-PAD-FOLDED-LOAD" in found
    assert "ORT-PAD-FOLDED" not in found
    assert "ORT-PAD-FOLDED-LOAD" not in claims("1.23.2", opset=22, **large)
    assert "ORT-PAD-FOLDED-LOAD" not in claims("1.31.1", **pad())


@pytest.mark.parametrize(
    ("version", "keywords", "expected"),
    [
        ("1.23.2", {"indices": True}, True),
        ("1.28.0", {"indices": True, "dtype": "int8"}, True),
        ("1.31.1", {"indices": True}, False),
        ("1.23.2", {}, False),
        ("1.23.2", {"dtype": "double"}, True),
        ("1.23.2", {"attributes": f"{POOL}, dilations = [2, 2]"}, True),
        ("1.23.2", {"attributes": f"{POOL}, storage_order = 1"}, True),
        ("1.23.2", {"dtype": "int8"}, False),
    ],
)
def test_the_seed_of_the_scan_needs_indices_or_a_kernel_that_scans(claims, version, keywords, expected):
    assert ("ORT-SEED-KEPT" in claims(version, **keywords)) is expected


def test_the_values_that_are_needed_are_those_of_what_can_happen(claims):
    assert claims("1.23.2", indices=True)["ORT-SEED-KEPT"] == "-inf or NaN or the lowest value of the type"
    assert claims("1.23.2", dtype="double")["ORT-SEED-KEPT"] == "-inf or NaN"
    assert claims("1.31.1", **pad())["ORT-PAD-FOLDED"] == "negative values"


@pytest.mark.parametrize(
    ("version", "opset", "shape", "attributes", "expected"),
    [
        ("1.23.2", 13, "1, 16, 8, 8", POOL, True),
        ("1.23.2", 22, "1, 16, 8, 8", POOL, False),
        ("1.28.0", 22, "1, 16, 8, 8", POOL, True),
        ("1.28.0", 22, "1, 15, 8, 8", POOL, False),
        ("1.28.0", 22, "1, 16, 8", "kernel_shape = [2]", False),
    ],
)
def test_blocks_of_channels(claims, version, opset, shape, attributes, expected):
    found = claims(version, attributes, opset=opset, shape=shape)
    assert ("ORT-LOWEST-BLOCKED" in found) is expected


@pytest.mark.parametrize(
    ("channels", "with_avx512", "without", "unknown"),
    [(4, False, False, False), (8, False, True, False), (16, True, True, False), (24, False, True, False)],
)
def test_the_channels_of_a_block_depend_on_the_processor(claims, channels, with_avx512, without, unknown):
    for processor, expected in ((AVX512, with_avx512), (AVX2, without), (None, unknown)):
        found = claims("1.28.0", opset=22, shape=f"1, {channels}, 8, 8", processor=processor)
        assert ("ORT-LOWEST-BLOCKED" in found) is expected, processor
        padded = claims(
            "1.28.0",
            "kernel_shape = [2, 2], pads = [1, 1, 1, 1]",
            opset=22,
            shape=f"1, {channels}, 8, 8",
            processor=processor,
        )
        assert ("ORT-LOWEST-Y-ONLY" in padded) is (processor is not None and not expected), processor


@pytest.mark.parametrize(
    ("shape", "attributes", "expected"),
    [
        ("1, 4, 8, 8", POOL, False),
        ("1, 4, 8, 8", f"{POOL}, pads = [0, 1, 0, 1]", True),
        ("1, 4, 8, 8", f"{POOL}, pads = [1, 0, 1, 0]", False),
        ("1, 4, 9, 9", "kernel_shape = [2, 2], strides = [1, 3]", True),
        ("1, 4, 8, 8", "kernel_shape = [8, 8]", True),
        ("1, 4, 8", "kernel_shape = [2]", True),
        ("1, 16, 8, 8", f"{POOL}, pads = [0, 1, 0, 1]", False),
    ],
)
def test_windows_of_negative_infinity_without_indices(claims, shape, attributes, expected):
    assert ("ORT-LOWEST-Y-ONLY" in claims("1.32.0", attributes, shape=shape)) is expected


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        ('kernel_shape = [2, 2], dilations = [2, 2], auto_pad = "SAME_UPPER"', True),
        ('kernel_shape = [1, 2], dilations = [2, 1], auto_pad = "SAME_UPPER"', False),
        ('kernel_shape = [2, 2], auto_pad = "SAME_UPPER"', False),
        ("kernel_shape = [2, 2], dilations = [2, 2]", False),
    ],
)
def test_same_padding_of_a_dilated_kernel(claims, attributes, expected):
    assert ("ORT-SAME-DILATION" in claims("1.32.0", attributes)) is expected


@pytest.mark.parametrize(
    ("opset", "dtype", "expected"),
    [(7, "double", True), (8, "double", False), (7, "float", False), (7, "float16", False)],
)
def test_the_first_version_of_maxpool_has_one_kernel(claims, opset, dtype, expected):
    assert ("ORT-VERSION-1-FLOAT32" in claims("1.32.0", opset=opset, dtype=dtype)) is expected


def test_what_is_refused_has_no_wrong_values(claims):
    assert list(claims("1.32.0", opset=22, dtype="bfloat16")) == ["ORT-NO-BFLOAT16"]
    assert list(claims("1.32.0", "kernel_shape = [2, 2, 2, 2]", shape="1, 1, 4, 4, 4, 4")) == ["ORT-FOUR-AXES"]


def test_a_quantized_model_is_refused_for_a_zero_point_of_int8(claims):
    def quantized(zero_point, opset, after=""):
        weights = {"scale": np.array(0.5, np.float32), "zero": np.array(1, zero_point)}
        before = "Q = QuantizeLinear (X, scale, zero)\n[dequantize] B = DequantizeLinear (Q, scale, zero)"
        return "ORT-QDQ-ZERO-POINT" in claims("1.32.0", opset=opset, before=before, after=after, **weights)

    assert quantized(np.int8, 21)
    assert not quantized(np.uint8, 21)
    assert not quantized(np.int8, 19)
    behind = "R = QuantizeLinear (P, scale, zero)\nY = DequantizeLinear (R, scale, zero)"
    assert not quantized(np.int8, 21, behind)


def defect(name, *expected, severity=Severity.WRONG_ON_SPECIAL, **conditions):
    return Defect(name, "onnxruntime", "t", severity, "m", expected, conditions=Conditions(**conditions))


def expectation(*kinds, variants=None, **conditions):
    return ExpectedDivergence(
        "d", TargetSelector.of("onnxruntime"), ("a",), frozenset(map(DivergenceKind, kinds)), variants,
        conditions=Conditions(**conditions),
    )  # fmt: skip


def test_a_defect_reaches_a_node_by_one_of_its_expectations(node):
    pool = node(opset=13)

    def reaches(*expected, **conditions):
        return bool(reaching([defect("D", *expected, **conditions)], target("1.32.0"), pool.features, pool.variants))

    assert not reaches(expectation("shape"))
    assert reaches(expectation("shape", opset=">=12"))
    assert reaches(expectation("shape"), dtypes=("float32",))
    assert not reaches(expectation("shape", opset="<12"), dtypes=("float32",))
    assert not reaches(expectation("shape", opset=">=12"), dtypes=("int8",))
    assert reaches(expectation("shape", opset="<12"), expectation("shape", values=("nan",)), dtypes=("float32",))
    assert not reaches(expectation("shape", variants=frozenset({WITH_INDICES}), opset=">=12"))


def test_what_an_older_operator_set_shows_reaches_models_of_such_a_set(node):
    older = frozenset({Variant(Y_ALONE, OLDEST_OPSET)})
    pool = node(opset=13)
    for conditions, expected in (({"opset": "<22"}, True), ({"opset": ">=22"}, False), ({"spatial": (2,)}, False)):
        found = reaching(
            [defect("D", expectation("shape", variants=older, **conditions))],
            target("1.32.0"), pool.features, pool.variants,
        )  # fmt: skip
        assert bool(found) is expected


def execution(kinds, opset=None):
    return Execution(
        target="t", case="c", variant="y-only", verdict=Verdict.DIVERGES, title="", spec="onnx-22", case_sha256="", origin="",
        kinds=tuple(kinds), opset=opset,
    )  # fmt: skip


def shown(node, kinds, *defects, values="neg-inf", variant=Y_ONLY):
    (case,) = [each.case for each in node.cases if each.case.id.endswith(f"alone/{values}")]
    found = shown_by(defects, target("1.32.0"), Features(case), variant, execution(kinds))
    return None if found is None else found.id


def test_the_defect_that_shows_exactly_this_comes_first(node):
    exact = defect("EXACT", expectation("y-lowest-for-neg-inf"), dtypes=("float32",))
    more = defect("MORE", expectation("y-lowest-for-neg-inf", "shape"), dtypes=("float32",), spatial=(2,))
    narrow = defect("NARROW", expectation("y-lowest-for-neg-inf", values=("neg-inf",)), dtypes=("float32",))
    assert shown(node(), ["y-lowest-for-neg-inf"], more, exact) == "EXACT"
    assert shown(node(), ["y-lowest-for-neg-inf"], narrow, exact) == "NARROW"
    assert shown(node(), ["y-lowest-for-neg-inf", "shape"], more, exact) == "MORE"


def test_no_defect_is_named_whose_conditions_an_execution_does_not_meet(node):
    kinds = ["y-lowest-for-neg-inf"]
    for conditions in ({"values": ("nan",)}, {"dtypes": ("int8",)}, {"indices": True}, {"opset": ">=22"}):
        assert shown(node(), kinds, defect("D", expectation(*kinds), **conditions)) is None
        assert shown(node(), kinds, defect("D", expectation(*kinds, **conditions), spatial=(2,))) is None
    assert shown(node(), kinds, defect("D", expectation(*kinds))) is None
    with_indices = expectation(*kinds, variants=frozenset({WITH_INDICES}))
    assert shown(node(), kinds, defect("D", with_indices, spatial=(2,))) is None
    assert shown(node(), kinds, defect("D", expectation(*kinds), spatial=(2,)), variant=variant_named("y-only")) == "D"


def test_defects_explain_together_what_none_explains_alone(node):
    folded = defect("FOLDED", expectation("pad-folded-into-pads", "y-not-in-input"), spatial=(2,))
    lowest = defect("LOWEST", expectation("y-lowest-for-neg-inf"), values=("neg-inf",))
    both = ["rewritten-wrongly", "y-lowest-for-neg-inf", "y-not-in-input"]
    assert shown(node(), both, folded, lowest) in {"FOLDED", "LOWEST"}
    assert shown(node(), both, lowest) is None
    assert shown(node(), ["rewritten-wrongly"], folded, lowest) is None
    assert shown(node(), [*both, "crash"], folded, lowest) is None


def test_a_defect_of_other_operator_sets_explains_no_execution():
    case = next(each for each in shipped().cases if each.id == "edge/auto-pad:stride-over-kernel-float16")
    defects = read_all_defects(shipped().known_files)

    def explained(opset):
        found = shown_by(defects, target("1.31.1"), Features(case), Y_ONLY, execution(["refuses-valid"], opset))
        return found and found.id

    assert explained(22) == "ORT-SAME-NEGATIVE-PADS"
    assert explained(1) != explained(22)


@pytest.mark.parametrize(
    ("before", "expected"),
    [
        ("B = Relu (X)", True),
        ("A = Relu (X) B = Transpose <perm = [0, 1, 3, 2]> (A)", True),
        ("A = Clip <min = 0.0, max = 6.0> (X) B = Pad <pads = [0, 0, 1, 1, 0, 0, 1, 1]> (A)", True),
        ("B = Clip <min = -1.0, max = 6.0> (X)", False),
        ("A = Relu (X) B = Neg (A)", False),
        ("A = Relu (X) B = Pad <pads = [0, 0, 1, 1, 0, 0, 1, 1], value = -1.0> (A)", False),
        ("B = Neg (X)", False),
        ("", False),
    ],
)
def test_no_value_below_zero_gets_past_a_relu(node, before, expected):
    assert node(before=before, opset=10).around.is_behind_relu == expected


def test_what_needs_values_below_zero_is_told_apart(defects, node):
    found = node(**pad())
    reached = reaching(defects, target("1.31.1"), found.features, found.variants)
    needing = {each.defect.id: each.needs_negative for each in reached}
    assert (needing["ORT-PAD-FOLDED"], needing["ORT-NAN-POSITION"]) == (True, False)
