"""The bins of cases whose particulars can be seen at a glance."""

import numpy as np
import pytest

from maxpool_check.corpus.collection import collect
from maxpool_check.corpus.features import bins
from tests.generating.space import values

INF, NAN = float("inf"), float("nan")
MIN, MAX = np.finfo("f4").min, np.finfo("f4").max


def bins_of(tmp_path, X, attributes):
    text = f"    input: {{{X}}}\n    attributes: {{{attributes}}}\n"
    (tmp_path / "x.yaml").write_text(f"spec: onnx-22\ncases:\n  - id: a\n    title: t\n{text}")
    (case,) = collect([tmp_path]).cases
    return bins(case)


def test_the_bins_of_a_case(tmp_path):
    X = "dtype: int8, shape: [2, 16, 5, 6], arange: {start: -3, step: 0}"
    rest = "dilations: [1, 2], pads: [0, 1, 0, 1], ceil_mode: 1, storage_order: 1"
    assert bins_of(tmp_path, X, f"kernel_shape: [2, 3], strides: [2, 2], {rest}") == {
        "rank": "2d", "batch": "many", "channels": "16", "kernel": "uneven", "stride": "overlap", "dilation": "uneven",
        "pads": "axes", "auto_pad": "explicit", "rounding": "ceil-rest", "storage_order": "column",
        "index_type": "int64", "index_axis": "whole", "activation": "none", "dtype": "int8", "values": "constant",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        ("kernel_shape: [6]", {"kernel": "whole", "rounding": "floor"}),
        ("kernel_shape: [1], strides: [2]", {"kernel": "1", "stride": "gap", "rounding": "floor-rest"}),
        ("kernel_shape: [3], pads: [2, 1]", {"pads": "large"}),
        ("kernel_shape: [2], pads: [0, 1]", {"pads": "end"}),
        ("kernel_shape: [2], strides: [3], pads: [1, 1], ceil_mode: 1", {"rounding": "ceil"}),
        # 6 + 1 cells, windows at 0, 2, 4, and one at 6: behind X.
        ("kernel_shape: [2], strides: [2], pads: [0, 1], ceil_mode: 1", {"rounding": "ceil-drop"}),
        ("kernel_shape: [2], auto_pad: SAME_LOWER", {"pads": "begin", "auto_pad": "same-lower"}),
    ],
)
def test_bins_of_a_geometry(tmp_path, attributes, expected):
    assert bins_of(tmp_path, "dtype: float32, shape: [1, 3, 6], fill: 0", attributes).items() >= expected.items()


def test_what_no_bin_describes_is_left_out(tmp_path):
    six = "dtype: int8, shape: [0, 1, 2, 2, 2, 2, 2, 2], fill: 0"
    actual = bins_of(tmp_path, six, "kernel_shape: [2, 2, 2, 2, 2, 2]")
    assert not {"rank", "batch", "values"} & set(actual)
    assert actual["kernel"] == "whole"
    # A case that is refused has none.
    assert bins_of(tmp_path, "dtype: int8, shape: [1, 1, 2], fill: 0", "kernel_shape: [0]") == {}


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        ([[1, 2, 3]], "distinct"), ([[1, 2], [1, 2]], "distinct"), ([[1, 2, 1]], "ties"), ([[3, 3, 3]], "constant"),
        ([[-1, -2, -1]], "negative"), ([[1, 2.5, 1]], "fraction"), ([[1, -INF, 1]], "neg-inf"),
        ([[-INF, -INF], [-INF, -INF]], "all-neg-inf"), ([[1, INF, 2]], "inf"), ([[1, 0.0, -0.0]], "zeros"),
        ([[0.0, 0.0, 1.0]], "ties"), ([[1, 1e-40, 2]], "subnormal"), ([[1, NAN], [2, 3]], "nan"),
        ([[NAN, NAN], [2, -INF]], "nan-planes"), ([[MIN, MAX]], "extremes"), ([[MIN, MIN]], "lowest"),
    ],
)  # fmt: skip
def test_bins_of_values(cells, expected):
    assert values(np.array([cells], np.float32)) == expected
