"""Worked vectors, against the reference: every one of the documents it speaks."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

import maxpool_check
from maxpool_check.reference.dtypes import bits
from maxpool_check.specifications import SPECIFICATIONS

VECTORS = json.loads((Path(__file__).parents[1] / "data/vectors.json").read_text())["vectors"]
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
SPOKEN = [vector for vector in VECTORS if vector["system"] in SPECS]


def tensor(values, dtype, shape):
    if isinstance(values, str):
        _, at = values.split("@")
        X = np.zeros(math.prod(shape), dtype)
        X[int(at)] = 1
        return X.reshape(shape)

    def leaves(value):
        if isinstance(value, list):
            for inner in value:
                yield from leaves(inner)
        else:
            yield float(value) if isinstance(value, str) else value

    return np.array(list(leaves(values)), dtype).reshape(shape)


def assert_is(pooled, expected, dtype):
    shape = expected["Y_shape"]
    Y = tensor(expected["Y"], dtype, shape)
    same = (bits(pooled.Y) == bits(Y)).reshape(shape)
    if np.issubdtype(Y.dtype, np.floating):
        same |= np.isnan(pooled.Y) & np.isnan(Y)
    assert pooled.Y.dtype == Y.dtype
    assert same.all()
    if "Indices" in expected:
        assert pooled.Indices.dtype == expected.get("Indices_dtype", "int64")
        assert pooled.Indices.tolist() == tensor(expected["Indices"], np.int64, shape).tolist()


def pool(vector, **policies):
    X = tensor(vector["X"], vector["dtype"], vector["X_shape"])
    return maxpool_check.maxpool(X, spec=SPECS[vector["system"]], policies=policies, **vector["attrs"])


def of_kind(kind):
    vectors = [vector for vector in SPOKEN if vector["expected"]["kind"] == kind]
    assert vectors
    return pytest.mark.parametrize("vector", vectors, ids=lambda vector: vector["id"])


def test_every_vector_of_a_document_that_is_spoken_is_used():
    assert {vector["expected"]["kind"] for vector in SPOKEN} == {"ok", "policy", "reject", "undefined"}
    assert set(SPECS.values()) <= SPECIFICATIONS.keys()
    assert len(SPOKEN) == len(VECTORS) == 66


@of_kind("ok")
def test_one_result(vector):
    assert_is(pool(vector), vector["expected"], vector["dtype"])


@of_kind("policy")
def test_one_result_for_each_interpretation(vector):
    compared = 0
    if vector["expected"]["axis"] == "nhwc_index_base":
        for name, base in (("Indices_nchw_base", "NCHW-flat"), ("Indices_nhwc_base", "NHWC-flat")):
            expected = {**vector["expected"], "Indices": vector["expected"][name]}
            assert_is(pool(vector, nhwc_index_base=base), expected, vector["dtype"])
        return
    for name, expected in vector["expected"]["options"].items():
        if name in POLICIES:
            assert_is(pool(vector, **POLICIES[name]), expected, vector["dtype"])
            compared += 1
    assert compared >= 2


@of_kind("reject")
def test_refused(vector):
    with pytest.raises(maxpool_check.Refused) as refused:
        pool(vector)
    code = vector["expected"]["code"]
    if code in ("R1", "R2", "R3", "R4", "R5"):
        assert refused.value.reason == "outside-profile"
        assert refused.value.clause.endswith(code)
    else:
        assert refused.value.reason == ("invalid-shape" if code == "rank" else "invalid-attribute")


@of_kind("undefined")
def test_what_is_undefined_is_marked_and_never_invented(vector):
    acceptable = vector["expected"]["acceptable"]
    pooled = pool(vector)
    if "as auto_pad alone" in acceptable:
        alone = {name: value for name, value in vector["attrs"].items() if name != "pads"}
        expected = pool({**vector, "attrs": alone})
        assert (pooled.Y == expected.Y).all()
        assert (pooled.Indices == expected.Indices).all()
    else:
        assert pooled.empty.any()
