"""Wrong outputs: the comparison finds each in the right cells, under the right kind."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maxpool_check.judging.cells import value_kinds
from maxpool_check.judging.comparison import compare
from maxpool_check.judging.kinds import DivergenceKind
from maxpool_check.reference.dtypes import NUMPY, lowest
from maxpool_check.specifications.specification import override
from tests.judging.oracles import BOTH, INF, NAN, OPEN, STRICT, oracle_for, outputs_of

X2 = np.arange(24, dtype=np.float32).reshape(1, 2, 3, 4)
NAN_AND_1 = np.array([[[NAN, 1.0]]])
PROPAGATES = override(STRICT, {"nan": "propagates"})


def cells_by_kind(comparison):
    return {
        (wrong.output, wrong.kind.value, tuple(map(tuple, np.argwhere(wrong.cells).tolist())))
        for wrong in comparison.wrong
    }


@pytest.mark.parametrize(
    ("oracle", "output", "at", "value", "kind"),
    [
        *((oracle_for(np.full((1, 1, 2), -INF, dtype)), "Y", (0, 0, 0), lowest(dtype), "y-lowest-for-neg-inf")
          for dtype in map(NUMPY.get, ("float16", "bfloat16", "float32", "float64"))),
        (oracle_for(X2), "Y", (0, 1, 0, 0), 3, "y-from-outside-window"),
        # The lowest finite value is only that kind where -inf is expected.
        (oracle_for(X2), "Y", (0, 0, 0, 0), lowest(X2.dtype), "y-not-in-input"),
        # One bit is enough.
        (oracle_for(X2), "Y", (0, 0, 0, 0), np.nextafter(X2[0, 0, 1, 1], np.float32(INF)), "y-not-in-input"),
        (oracle_for(NAN_AND_1), "Y", (0, 0, 0), NAN, "y-nan-introduced"),
        (oracle_for(NAN_AND_1, PROPAGATES), "Y", (0, 0, 0), 1.0, "y-nan-dropped"),
        # What no interpretation gives is not blamed on NaN.
        (oracle_for(NAN_AND_1), "Y", (0, 0, 0), 7.0, "y-not-in-input"),
        # A zero that is not in the window is wrong whatever the policy.
        (oracle_for(np.full((1, 1, 2), -0.0), OPEN), "Y", (0, 0, 0), 0.0, "y-signed-zero"),
        (oracle_for(np.full((1, 1, 2), 0.0), OPEN), "Y", (0, 0, 0), -0.0, "y-signed-zero"),
        (oracle_for(X2), "Indices", (0, 0, 0, 0), -1, "indices-sentinel"),
        (oracle_for(X2), "Indices", (0, 0, 0, 0), 24, "indices-out-of-range"),
        # The next column, the same place in the other channel, a cell that dilation skips, another batch.
        (oracle_for(X2), "Indices", (0, 0, 0, 0), 2, "indices-outside-window"),
        (oracle_for(X2), "Indices", (0, 0, 0, 0), 17, "indices-outside-window"),
        (oracle_for(np.arange(5.0).reshape(1, 1, 5), dilations=[2]), "Indices", (0, 0, 0), 1, "indices-outside-window"),
        (oracle_for(X2.reshape(2, 1, 3, 4)), "Indices", (1, 0, 0, 0), 5, "indices-outside-window"),
        (oracle_for(X2), "Indices", (0, 0, 0, 0), 4, "indices-in-window-not-maximum"),
        # The second plane begins at 12, and 12 - 4 - 1 = 7 is the number of a kept seed, where a scan could keep one.
        (oracle_for(X2), "Indices", (0, 1, 0, 0), 7, "indices-outside-window"),
        (oracle_for(np.full_like(X2, lowest(X2.dtype))), "Indices", (0, 1, 0, 0), 7, "indices-sentinel"),
        (oracle_for(np.array([[[-INF, NAN]]])), "Indices", (0, 0, 0), 1, "indices-at-nan"),
        (oracle_for(np.full((1, 1, 2, 2), 7, np.int8)), "Indices", (0, 0, 0, 0), 3, "indices-tie-last"),
    ],
)  # fmt: skip
def test_one_wrong_cell_has_one_kind(oracle, output, at, value, kind):
    outputs = outputs_of(oracle)
    compared = compare(oracle, outputs, BOTH)
    assert compared.wrong == compared.information == ()
    outputs[output][at] = value
    assert cells_by_kind(compare(oracle, outputs, BOTH)) == {(output, kind, (at,))}


PAYLOAD = np.array([0x7FF8000000000123], np.uint64).view(np.float64)[0]


@pytest.mark.parametrize(
    ("cells", "policies", "value", "index", "kinds"),
    [
        # The payload of a NaN does not count, which one is chosen does by the stricter interpretations.
        ([NAN, NAN], PROPAGATES, PAYLOAD, 0, []),
        ([NAN, NAN], override(OPEN, {"nan": "propagates-first"}), NAN, 1, ["indices-at-nan"]),
        ([NAN, NAN], override(OPEN, {"nan": "propagates-last"}), NAN, 0, ["indices-at-nan"]),
        # A NaN that counts as -inf is no cell that equals it.
        ([-INF, NAN], override(OPEN, {"nan": "as-neg-inf"}), -INF, 0, []),
        ([-INF, NAN], override(OPEN, {"nan": "as-neg-inf"}), -INF, 1, ["indices-at-nan"]),
        ([-0.0, 0.0], override(OPEN, {"zero_sign": "chosen"}), 0.0, 1, []),
        ([-0.0, 0.0], OPEN, 0.0, 0, []),
        ([7.0, 7.0], OPEN, 7.0, 1, []),
        # Where NaN is open, the index must go with the value.
        ([NAN, 3.0, NAN], OPEN, 3.0, 1, []),
        ([NAN, 3.0, NAN], OPEN, NAN, 2, []),
        ([NAN, 3.0, NAN], OPEN, 3.0, 0, ["indices-disagrees-with-y"]),
        ([NAN, 3.0, NAN], OPEN, NAN, 1, ["indices-disagrees-with-y"]),
        # A value that no interpretation gives is one mistake; an index that some interpretation gives is not another.
        ([NAN, 3.0, NAN], OPEN, -INF, 5, ["y-not-in-input", "indices-out-of-range"]),
        ([NAN, NAN], OPEN, -INF, 0, []),
        ([NAN, NAN], OPEN, 0.0, 0, ["y-not-in-input"]),
    ],
)
def test_the_policies_decide_on_one_window(cells, policies, value, index, kinds):
    oracle = oracle_for(np.array([[cells]]), policies, kernel_shape=[len(cells)])
    outputs = {"Y": np.array([[[value]]]), "Indices": np.array([[[index]]])}
    assert [wrong.kind.value for wrong in compare(oracle, outputs, BOTH).wrong] == kinds


def test_empty_windows_are_not_judged_and_the_others_are():
    oracle = oracle_for(np.array([[[5.0]]]), dilations=[2], pads=[2, 2])
    assert oracle.pooled.empty.tolist() == [[[False, True, False]]]
    outputs = outputs_of(oracle)
    outputs["Y"][0, 0, 1], outputs["Indices"][0, 0, 1] = 99, -77
    assert compare(oracle, outputs, BOTH).wrong == ()
    outputs["Y"][0, 0, 2] = 99
    assert cells_by_kind(compare(oracle, outputs, BOTH)) == {("Y", "y-not-in-input", ((0, 0, 2),))}


@pytest.mark.parametrize(
    ("change", "mistakes"),
    [
        (lambda o: {**o, "Y": o["Y"].astype(np.float64)}, [("Y", "dtype")]),
        (lambda o: {**o, "Indices": o["Indices"].astype(np.int32)}, [("Indices", "dtype")]),
        # The same bits, of another type.
        (lambda o: {**o, "Y": o["Y"].view(np.int32)}, [("Y", "dtype")]),
        (lambda o: {**o, "Indices": o["Indices"].view(np.uint64)}, [("Indices", "dtype")]),
        (lambda o: {**o, "Y": o["Y"][..., :1]}, [("Y", "shape")]),
        (lambda o: {"Y": o["Y"]}, [("Indices", "missing-output")]),
        (lambda o: {}, [("Y", "missing-output"), ("Indices", "missing-output")]),
    ],
)
def test_outputs_that_are_wrong_as_a_whole(change, mistakes):
    oracle = oracle_for(X2)
    compared = compare(oracle, change(outputs_of(oracle)), BOTH)
    assert [(wrong.output, wrong.kind.value) for wrong in compared.wrong] == mistakes


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from([[0, 0, 0, 0], [1, 0, 0, 1]]), st.integers(0, 1))
def test_any_single_change_of_an_output_is_detected(seed, pads, storage_order):
    random = np.random.default_rng(seed)
    X = random.choice(np.array([-INF, -1, 0, 2, INF], np.float32), (2, 1, 3, 4))
    oracle = oracle_for(X, pads=pads, storage_order=storage_order)
    for output, values in (("Y", [-INF, lowest(X.dtype), -1, 0, 2, INF, NAN]), ("Indices", range(-9, 30))):
        outputs = outputs_of(oracle)
        at, value = tuple(random.integers(0, outputs[output].shape)), random.choice(values)
        if outputs[output][at] != value:
            outputs[output][at] = value
            assert [tuple(np.argwhere(wrong.cells)[0]) for wrong in compare(oracle, outputs, BOTH).wrong] == [at]


def test_values_of_many_long_windows_are_found_in_these():
    X = np.where(np.arange(3000) < 1500, np.float32(0), np.float32(1)).reshape(1, 1, -1)
    X[..., ::100] = 2
    oracle = oracle_for(X, kernel_shape=[600])
    Y = np.zeros_like(oracle.pooled.Y)
    is_first = (np.arange(Y.size) < 1500).reshape(Y.shape)
    kinds = value_kinds(oracle, Y, oracle.pooled.Y != Y)
    assert np.array_equal(kinds[DivergenceKind.Y_IN_WINDOW_NOT_MAXIMUM], is_first)
    assert np.array_equal(kinds[DivergenceKind.Y_FROM_OUTSIDE_WINDOW], ~is_first)
