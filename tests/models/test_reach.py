"""Which known defects can reach a MaxPool of a model, without a runtime: the claims for small models."""

import numpy as np
import pytest

import maxpool_check
from maxpool_check.corpus.collection import defect_files
from maxpool_check.corpus.conditions import CaseFeatures
from maxpool_check.corpus.defect_file import read_all_defects
from maxpool_check.judging.defects import Combined, Conditions, Defect, Effect, Severity
from maxpool_check.judging.explaining import best, explains
from maxpool_check.judging.kinds import DivergenceKind
from maxpool_check.judging.target_selector import TargetSelector
from maxpool_check.models.analysis import analyse, reaching
from maxpool_check.models.model_file import read_model
from maxpool_check.results.details import Processor
from maxpool_check.results.record import Execution, TargetDescription, Verdict
from maxpool_check.results.variants import OLDEST_OPSET, WITH_INDICES, Y_ALONE, Y_ONLY, Variant
from tests.conftest import CASES
from tests.models.writing import saved, written

DEFECTS = read_all_defects(defect_files(CASES))


def ort(version="1.32.0", *features, name="onnxruntime", distribution="onnxruntime", provider="CPUExecutionProvider"):
    """A release of ONNX Runtime on a processor with AVX-512, unless told otherwise."""
    processor = Processor(architecture="x86_64", features=features or ("avx2", "avx512f"))
    return TargetDescription(
        name=f"{name}=={version}", distribution=distribution, version=version, provider=provider,
        providers=(provider,), session_options={}, python="3.11", numpy="2", newest_opset=26, graphs=26,
        processor=None if features == ("unknown",) else processor,
    )  # fmt: skip


TVM = ort("99", name="tvm", distribution="apache-tvm", provider="CPU")
IREE = ort("99", name="iree", distribution="iree-base-compiler", provider="CPU")


@pytest.fixture
def node(tmp_path):
    """Makes a model of one MaxPool behind and in front of other nodes, and gives the analysis of the MaxPool."""

    def of(more="", *, k=(2, 2), shape="1, 4, 8, 8", dtype="float", opset=13, before="", y="Y", **weights):
        outputs = f"{dtype} Y" + (", int64 I" if ", I" in y else "")
        attributes = ", ".join(filter(None, (f"kernel_shape = {list(k)}", more)))
        text = f"""g ({dtype}[{shape}] X) => ({outputs}) {{
            {before} [pool] {y} = MaxPool <{attributes}> ({"B" if before else "X"})
        }}"""
        (found,) = analyse(read_model(saved(written(text, weights, onnx=opset), tmp_path))).nodes
        return found

    return of


@pytest.mark.parametrize(
    ("k", "more"),
    [
        ((2, 2), "dilations = [2, 2]"),
        ((3, 3), "pads = [1, 1, 1, 1], dilations = [3, 2], strides = [2, 2]"),
        ((5, 5), ""),
        ((8, 1), "strides = [3, 1]"),
        ((1, 3), "dilations = [1, 3], strides = [4, 4]"),
    ],
)
def test_a_window_of_nan(node, k, more):
    (case,) = (each.case for each in node(more, k=k, shape="1, 2, 12, 12").cases if each.case.id.endswith("alone/nan"))
    filled = np.where(np.isnan(case.X.tensor()), -np.inf, 0).astype(np.float32)
    assert (maxpool_check.maxpool(filled, **case.attributes).Y == -np.inf).any()


def pad(pads=(0, 0, 1, 1, 0, 0, 1, 1), mode="constant", **more):
    """A Pad in front of MaxPool."""
    return {"before": f'B = Pad <mode = "{mode}"> (X, pads)', "pads": np.array(pads), **more}


def quantized(zero_point, opset):
    weights = {"scale": np.array(0.5, np.float32), "zero": np.array(1, zero_point)}
    before = "Q = QuantizeLinear (X, scale, zero) B = DequantizeLinear (Q, scale, zero)"
    return {"before": before, "opset": opset, **weights}


INDICES = {"y": "Y, I"}
LARGE = pad((0, 0, 2, 2, 0, 0, 2, 2))
SAME = 'auto_pad = "SAME_UPPER"'
CHANNELS = [{"shape": f"1, {channels}, 8, 8", "opset": 22} for channels in (4, 8, 16, 24)]
DROPPED = "strides = [3, 3], pads = [0, 0, 2, 2], ceil_mode = 1"

REACHED = [
    ("ORT-PAD-FOLDED", ort("1.23.2"), pad(), True),
    ("ORT-PAD-FOLDED", ort("1.31.1"), LARGE, False),
    ("ORT-PAD-FOLDED-LOAD", ort("1.31.1"), LARGE, True),
    ("ORT-PAD-FOLDED-LOAD", ort("1.23.2"), {**LARGE, "opset": 22}, False),
    ("ORT-SEED-KEPT", ort("1.23.2"), INDICES, True),
    ("ORT-SEED-KEPT", ort("1.31.1"), INDICES, False),
    ("ORT-SEED-KEPT", ort("1.23.2"), {}, False),
    ("ORT-SEED-KEPT", ort("1.23.2"), {"dtype": "int8"}, False),
    ("ORT-LOWEST-BLOCKED", ort("1.28.0"), CHANNELS[2], True),
    ("ORT-LOWEST-BLOCKED", ort("1.28.0"), CHANNELS[3], False),
    ("ORT-LOWEST-BLOCKED", ort("1.28.0", "avx2"), CHANNELS[1], True),
    ("ORT-LOWEST-BLOCKED", ort("1.28.0", "unknown"), CHANNELS[2], False),
    ("ORT-LOWEST-Y-ONLY", ort(), {"more": "strides = [2, 2], pads = [0, 1, 0, 1]"}, True),
    ("ORT-LOWEST-Y-ONLY", ort(), {"more": "strides = [2, 2], pads = [1, 0, 1, 0]"}, False),
    ("ORT-LOWEST-Y-ONLY", ort(), {"k": [2], "shape": "1, 4, 8"}, True),
    ("ORT-LOWEST-Y-ONLY", ort("1.28.0", "avx2"), {"more": "pads = [1, 1, 1, 1]", **CHANNELS[0]}, True),
    ("ORT-SAME-DILATION", ort(), {"more": f"dilations = [2, 2], {SAME}"}, True),
    ("ORT-SAME-DILATION", ort(), {"more": "dilations = [2, 2]"}, False),
    ("ORT-VERSION-1-FLOAT32", ort(), {"opset": 7, "dtype": "double"}, True),
    ("ORT-QDQ-ZERO-POINT", ort(), quantized(np.int8, 21), True),
    ("ORT-QDQ-ZERO-POINT", ort(), quantized(np.uint8, 21), False),
    ("TVM-CLIP-FLOAT16", TVM, {"before": "B = Clip <min = 0.0> (X)", "opset": 10, "dtype": "float16"}, True),
    ("IREE-SUBNORMALS", IREE, {"dtype": "float16"}, False),
    ("IREE-CEIL-DROPPED", IREE, {"k": (1, 1), "more": DROPPED, "shape": "1, 1, 6, 6"}, True),
]


@pytest.fixture
def reached(node):
    """What is known to reach the MaxPool of a model on a target, by the defect."""

    def of(target, model, defects=DEFECTS):
        found = node(**model)
        return {each.defect.id: each for each in reaching(defects, target, found.features, found.variants, found.range)}

    return of


@pytest.mark.parametrize(("identity", "target", "model", "expected"), REACHED)
def test_a_defect_reaches_a_model(reached, identity, target, model, expected):
    assert (identity in reached(target, model)) is expected


@pytest.mark.parametrize(
    ("identity", "target", "model", "needs"),
    [
        ("ORT-SEED-KEPT", ort("1.23.2"), INDICES, "-inf or NaN or the lowest value of the type"),
        ("ORT-SEED-KEPT", ort("1.23.2"), {"dtype": "double"}, "-inf or NaN"),
        ("ORT-PAD-FOLDED", ort("1.31.1"), pad(), "negative values"),
        ("IREE-SUBNORMALS", IREE, {}, "subnormal numbers"),
    ],
)
def test_the_values_that_are_needed_are_those_of_what_can_happen(reached, identity, target, model, needs):
    found = reached(target, model)[identity]
    assert found.needs == needs


@pytest.mark.parametrize(
    ("target", "model", "expected"),
    [
        (ort(), {"opset": 22, "dtype": "bfloat16"}, ["ORT-NO-BFLOAT16"]),
        (TVM, {"k": (3, 3), "more": "strides = [2, 2]"}, ["TVM-LOWEST", "TVM-NAN"]),
    ],
)
def test_what_is_refused_has_no_wrong_values_and_a_usual_model_few(reached, target, model, expected):
    assert list(reached(target, model)) == expected


def defect(name, *expected, **conditions):
    made = Conditions(**conditions)
    return Defect(name, "onnxruntime", "t", Severity.WRONG_ON_SPECIAL, "m", expected, conditions=made)


def expectation(*kinds, variants=None, **conditions):
    kinds = frozenset(map(DivergenceKind, kinds))
    selector = TargetSelector.of("onnxruntime")
    return Effect("d", selector, kinds, ("a",), variants, Conditions(**conditions))


def test_values_that_a_defect_states_in_a_rule_are_needed_as_the_rule_says(reached):
    rule = Combined("not", ("some value < 9",))
    stating = defect("D", expectation("shape"), values=("nan", rule))
    assert reached(ort(), {}, [stating])["D"].needs == "NaN and not some value < 9"


FLOAT = {"dtypes": ("float32",)}
OLDER = frozenset({Variant(Y_ALONE, OLDEST_OPSET)})


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (defect("D", expectation("shape"), **FLOAT), True),
        (defect("D", expectation("shape", opset=">=12"), dtypes=("int8",)), False),
        (defect("D", expectation("shape", opset="<12"), expectation("shape", values=("nan",)), **FLOAT), True),
        (defect("D", expectation("shape", variants=frozenset({WITH_INDICES}), opset=">=12")), False),
        # What an older operator set shows reaches models of such a set.
        (defect("D", expectation("shape", variants=OLDER, opset="<22")), True),
        (defect("D", expectation("shape", variants=OLDER, opset=">=22")), False),
        (defect("D", expectation("shape", variants=OLDER, spatial=(2,))), False),
    ],
)
def test_a_defect_reaches_a_node_by_one_of_its_expectations(reached, made, expected):
    assert bool(reached(ort(), {}, [made])) is expected


def execution(kinds, opset=None):
    return Execution(
        target="t", case="c", variant="y-only", verdict=Verdict.DIVERGES, title="", spec="onnx-22", case_sha256="", origin="",
        kinds=tuple(kinds), opset=opset,
    )  # fmt: skip


LOWEST, MOVED = "y-lowest-for-neg-inf", "y-not-in-input"
EXACT = defect("EXACT", expectation(LOWEST), **FLOAT)
MORE = defect("MORE", expectation(LOWEST, "shape"), **FLOAT, spatial=(2,))
NARROW = defect("NARROW", expectation(LOWEST), **FLOAT, values=("neg-inf",))
FOLDED = defect("FOLDED", expectation("pad-folded-into-pads", MOVED), spatial=(2,))
SPECIAL = defect("SPECIAL", expectation(LOWEST), values=("neg-inf",))
UNMET = [{"values": ("nan",)}, {"dtypes": ("int8",)}, {"indices": True}, {"opset": ">=22"}]


def named(defects, target, case, actual):
    """The id of the defect that names an execution of Y alone."""
    found = (explains(each, target, CaseFeatures(case), Y_ONLY, actual) for each in defects)
    explanation = best([each for each in found if each is not None], actual)
    return explanation and explanation.defect.id


@pytest.mark.parametrize(
    ("kinds", "defects", "expected"),
    [
        ([LOWEST], [MORE, EXACT], "EXACT"),
        ([LOWEST], [NARROW, EXACT], "NARROW"),
        ([LOWEST, "shape"], [MORE, EXACT], "MORE"),
        # Together, defects explain what none explains alone.
        (["rewritten-wrongly", LOWEST, MOVED], [FOLDED, SPECIAL], "FOLDED"),
        (["rewritten-wrongly", LOWEST, MOVED], [SPECIAL], None),
        (["rewritten-wrongly", LOWEST, MOVED, "crash"], [FOLDED, SPECIAL], None),
        # No defect is named whose conditions an execution does not meet, or that has none.
        ([LOWEST], [defect("D", expectation(LOWEST))], None),
        ([LOWEST], [defect("D", expectation(LOWEST, variants=frozenset({WITH_INDICES})), spatial=(2,))], None),
        *[([LOWEST], [defect("D", expectation(LOWEST), **conditions)], None) for conditions in UNMET],
        ([LOWEST], [defect("D", expectation(LOWEST), spatial=(2,))], "D"),
    ],
)
def test_the_defect_that_shows_exactly_this_comes_first(node, kinds, defects, expected):
    (case,) = [each.case for each in node().cases if each.case.id.endswith("alone/neg-inf")]
    assert named(defects, ort(), case, execution(kinds)) == expected


def test_a_defect_of_other_operator_sets_explains_no_execution():
    X = np.ones((1, 1, 11), np.float16)
    case = maxpool_check.case(X, spec="onnx-22", kernel_shape=1, strides=4, auto_pad="SAME_UPPER")
    names = [named(DEFECTS, ort("1.31.1"), case, execution(["refuses-valid"], opset)) for opset in (22, 1)]
    assert names[0] == "ORT-SAME-NEGATIVE-PADS" != names[1]
