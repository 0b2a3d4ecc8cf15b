"""Which known defects of runtimes other than ONNX Runtime can reach a MaxPool of a model, and which cannot."""

import pytest

from maxpool_check.corpus.collection import defect_files
from maxpool_check.corpus.defect_file import read_all_defects
from maxpool_check.models.analysis import analyse, reaching
from maxpool_check.models.model_file import read_model
from maxpool_check.results.record import TargetDescription
from tests.conftest import CASES
from tests.models.writing import saved, written

POOL = "kernel_shape = [3, 3], strides = [2, 2]"
PROVIDERS = {
    "tvm": ("apache-tvm", "CPU"),
    "iree": ("iree-base-compiler", "CPU"),
    "opencv": ("opencv-python-headless", "NewEngine"),
    "opencv?engine=classic": ("opencv-python-headless", "ClassicEngine"),
}


@pytest.fixture(scope="module")
def defects():
    return read_all_defects(defect_files(CASES))


@pytest.fixture
def claims(defects, tmp_path):
    """The claims for a runtime on a model of one MaxPool, and what each needs."""

    def of(runtime, attributes=POOL, *, shape="1, 4, 8, 8", dtype="float", opset=13, before="", indices=False):
        distribution, provider = PROVIDERS[runtime]
        target = TargetDescription(
            name=runtime, distribution=distribution, version="99", provider=provider, providers=(provider,),
            session_options={}, python="3.11", numpy="2", newest_opset=26, graphs=26,
        )  # fmt: skip
        outputs = f"{dtype} Y" + (", int64 I" if indices else "")
        text = f"""g ({dtype}[{shape}] X) => ({outputs}) {{
            {before}
            [pool] Y{", I" if indices else ""} = MaxPool <{attributes}> ({"B" if before else "X"})
        }}"""
        (node,) = analyse(read_model(saved(written(text, {}, onnx=opset), tmp_path))).nodes
        return {each.defect.id: each.needs for each in reaching(defects, target, node.features, node.variants)}

    return of


def test_tvm_is_wrong_on_a_usual_model_for_special_values_alone(claims):
    assert claims("tvm") == {"TVM-LOWEST": "-inf", "TVM-NAN": "NaN"}


def test_tvm_refuses_a_clip_of_bfloat16_not_every_model_of_it(claims):
    clip = {"before": "B = Clip (X)"}
    assert "TVM-BFLOAT16-NEIGHBOURS" in claims("tvm", opset=22, dtype="bfloat16", **clip)
    assert "TVM-BFLOAT16-NEIGHBOURS" not in claims("tvm", opset=22, dtype="bfloat16")


def test_a_clip_of_an_old_operator_set_is_wrong_in_tvm_not_every_model_of_it(claims):
    clip = {"before": "B = Clip <min = 0.0, max = 6.0> (X)"}
    assert "TVM-CLIP-FLOAT16" in claims("tvm", opset=10, dtype="float16", **clip)
    assert "TVM-CLIP-FLOAT16" not in claims("tvm", opset=10, dtype="float16")


@pytest.mark.parametrize(("runtime", "identity"), [("iree", "IREE-SUBNORMALS"), ("opencv", "OPENCV-SUBNORMALS")])
def test_subnormal_numbers_are_named_as_what_is_needed(claims, runtime, identity):
    assert claims(runtime)[identity] == "subnormal numbers"
    assert identity not in claims(runtime, dtype="float16")


@pytest.mark.parametrize(("pads", "expected"), [("0, 0, 1, 1", {"IREE-INDICES-PADDED"}), ("1, 1, 1, 1", set())])
def test_iree_pads_in_front_only_where_the_pads_of_an_axis_differ(claims, pads, expected):
    found = claims("iree", f"{POOL}, pads = [{pads}]", indices=True)
    assert {"IREE-INDICES-PADDED"} & set(found) == expected


def test_a_model_with_ceil_mode_is_refused_by_iree_only_where_a_window_is_dropped(claims):
    assert "IREE-CEIL-DROPPED" not in claims("iree", f"{POOL}, ceil_mode = 1")
    dropped = "kernel_shape = [1, 1], strides = [3, 3], pads = [0, 0, 2, 2], ceil_mode = 1"
    assert "IREE-CEIL-DROPPED" in claims("iree", dropped, shape="1, 1, 6, 6")


@pytest.mark.parametrize(("batch", "expected"), [(1, False), (2, True)])
def test_opencv_leaves_the_batch_out_of_indices_where_there_is_one(claims, batch, expected):
    assert ("OPENCV-INDICES-BATCH" in claims("opencv", shape=f"{batch}, 4, 8, 8", indices=True)) is expected


@pytest.mark.parametrize(("strides", "expected"), [(1, False), (2, True)])
def test_same_padding_is_wrong_in_opencv_where_it_is_not_half_of_the_kernel(claims, strides, expected):
    same = f'kernel_shape = [3, 3], strides = [{strides}, {strides}], auto_pad = "SAME_UPPER"'
    assert ("OPENCV-SAME" in claims("opencv", same)) is expected


@pytest.mark.parametrize(("pads", "expected"), [("1, 1", False), ("0, 1", True)])
def test_the_pads_of_one_axis_are_wrong_in_opencvs_classic_engine_where_they_differ(claims, pads, expected):
    found = claims("opencv?engine=classic", f"kernel_shape = [3], pads = [{pads}]", shape="1, 4, 8")
    assert ("OPENCV-CLASSIC-ONE-AXIS-PADS" in found) is expected
    assert "OPENCV-CLASSIC-ONE-AXIS-AUTO-PAD" not in found
