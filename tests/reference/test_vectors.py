"""Worked vectors, against the reference; numbers of cells in every way to count; activations."""

import itertools
import json
import math

import numpy as np
import pytest

import maxpool_check
from maxpool_check.reference import definition
from maxpool_check.reference.dtypes import NUMPY, bits
from maxpool_check.reference.numbering import Layout, Numbering, StorageOrder
from maxpool_check.reference.pooling import Activation, Function
from tests.conftest import ROOT

VECTORS = json.loads((ROOT / "tests/data/vectors.json").read_text())["vectors"]
SPECS = {
    "ONNX-22": "onnx-22",
    "SONNX": "sonnx",
    "OpenVINO-MaxPool-8": "openvino-8",
    "com.ms.internal.nhwc-11": "ort-nhwc-11",
    "nGraph-v0": "ngraph-0",
    "XMOS-maxpool2d": "xmos-maxpool2d",
}
POLICIES = {
    "nan=propagate,index=first_nan": {"nan": "propagates-first"},
    "nan=propagate,index=last_nan(torch)": {"nan": "propagates-last"},
    "nan=ignore": {"nan": "ignored"},
    "nan=neg_inf(SONNX seed)": {"nan": "as-neg-inf"},
    "clamp0": {"same_clamp": "clamps"},
    "literal_negative": {"same_clamp": "crops"},
    "shape_inference(2x2)": {"valid_ceil": "honours"},
    "text(1x1)": {"valid_ceil": "formula"},
}


def tensor(values, dtype, shape):
    if isinstance(values, str):
        X = np.zeros(math.prod(shape), dtype)
        X[int(values.split("@")[1])] = 1
        return X.reshape(shape)
    leaves = np.array(values, object).reshape(-1)
    return np.array([float(value) if isinstance(value, str) else value for value in leaves], dtype).reshape(shape)


def assert_is(pooled, expected, dtype):
    Y = tensor(expected["Y"], dtype, expected["Y_shape"])
    assert (pooled.Y.dtype, pooled.Y.shape) == (Y.dtype, Y.shape)
    same = bits(pooled.Y) == bits(Y)
    assert (same | (np.isnan(pooled.Y) & np.isnan(Y)) if np.issubdtype(Y.dtype, np.floating) else same).all()
    if "Indices" in expected:
        assert pooled.Indices.dtype == expected.get("Indices_dtype", "int64")
        assert pooled.Indices.tolist() == tensor(expected["Indices"], np.int64, expected["Y_shape"]).tolist()


def pool(vector, **policies):
    X = tensor(vector["X"], vector["dtype"], vector["X_shape"])
    return maxpool_check.maxpool(X, spec=SPECS[vector["system"]], policies=policies, **vector["attrs"])


def of_kind(kind, count):
    vectors = [vector for vector in VECTORS if vector["expected"]["kind"] == kind]
    assert len(vectors) == count
    return pytest.mark.parametrize("vector", vectors, ids=lambda vector: vector["id"])


@of_kind("ok", 37)
def test_one_result(vector):
    assert_is(pool(vector), vector["expected"], vector["dtype"])


@of_kind("policy", 14)
def test_one_result_for_each_interpretation(vector):
    expected = vector["expected"]
    if expected["axis"] == "nhwc_index_base":
        options = [
            ({"nhwc_index_base": base}, {**expected, "Indices": expected[name]})
            for name, base in (("Indices_nchw_base", "NCHW-flat"), ("Indices_nhwc_base", "NHWC-flat"))
        ]
    else:
        options = [(POLICIES[name], option) for name, option in expected["options"].items() if name in POLICIES]
    assert len(options) >= 2
    for policies, option in options:
        assert_is(pool(vector, **policies), option, vector["dtype"])


@of_kind("reject", 11)
def test_refused(vector):
    with pytest.raises(maxpool_check.Refused) as refused:
        pool(vector)
    code = vector["expected"]["code"]
    if code in ("R1", "R2", "R3", "R4", "R5"):
        assert refused.value.reason == "outside-profile"
        assert refused.value.clause.endswith(code)
    else:
        assert refused.value.reason == ("invalid-shape" if code == "rank" else "invalid-attribute")


@of_kind("undefined", 4)
def test_what_is_undefined_is_marked_and_never_invented(vector):
    pooled = pool(vector)
    if "as auto_pad alone" in vector["expected"]["acceptable"]:
        alone = {name: value for name, value in vector["attrs"].items() if name != "pads"}
        expected = pool({**vector, "attrs": alone})
        assert (pooled.Y == expected.Y).all()
        assert (pooled.Indices == expected.Indices).all()
    else:
        assert pooled.empty.any()


SHAPES = [(2, 3, 5), (2, 3, 4, 5), (1, 1, 2, 3), (2, 1, 2, 3, 2), (1, 2, 1, 1), (1, 2, 4100, 1)]
"""The last one has more cells than numpy takes at once, in one column."""

WAYS = [
    *(Numbering(order, layout) for order in StorageOrder for layout in (Layout.CHANNELS_FIRST, Layout.CHANNELS_LAST)),
    *(Numbering(axis=axis) for axis in range(1, 5)),
]


@pytest.mark.parametrize(
    ("shape", "way"), [(shape, way) for shape, way in itertools.product(SHAPES, WAYS) if way.axis < len(shape)]
)
def test_a_number_is_the_definitions_and_names_its_cell_again(shape, way):
    positions = np.arange(np.prod(shape)).reshape(shape)
    numbers = way.number(positions, shape)
    assert numbers.reshape(-1).tolist() == [definition.index(at, shape, way) for at in np.ndindex(shape)]
    assert (numbers < way.bound(shape)).all()
    # Every output cell of an identity pooling names itself, perhaps among others of its plane or batch.
    named = list(way.cells(numbers, shape))
    assert all(has_cell.all() for has_cell, _ in named)
    assert (np.array([candidates for _, candidates in named]) == positions).any(axis=0).all()
    assert all((way.number(candidates, shape) == numbers).all() for _, candidates in named)
    assert len(named) == 1 or way.axis >= 3


def test_activations_round_once_know_infinity_and_let_a_nan_pass():
    # 2049 * 0.1 in float16: the factor is float32's 0.1, the product exact, the one rounding that of the result.
    X = np.array([-2048.0, -3.0], np.float16)
    exact = X.astype(np.float64) * np.float64(np.float32(0.1))
    assert (Activation(Function.LEAKY_RELU, (0.1,)).of(X) == exact.astype(np.float16)).all()
    assert Activation(Function.CLIP, (0.0, 1e40)).of(np.array([1e300, -1.0])).tolist() == [1e300, 0.0]
    for activation in (Activation(Function.RELU), Activation(Function.LEAKY_RELU, (0.0,))):
        assert np.isnan(activation.of(np.array([np.nan], NUMPY["bfloat16"]))).all()
