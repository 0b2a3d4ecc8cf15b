"""Bins that can be seen at a glance; and generated cases, which cover every pair of bins that is possible."""

from itertools import combinations, product

import numpy as np
import pytest

from maxpool_check.corpus.collection import collect
from maxpool_check.corpus.features import bins
from maxpool_check.reference.dtypes import name_of
from maxpool_check.reference.evaluator import evaluate
from maxpool_check.reference.pooling import Pooling
from tests.conftest import CASES
from tests.generating import documents, graphs
from tests.generating.space import space, values

USUAL = ("onnx-22", "sonnx", "xmos-maxpool2d")
EVERY = [name if name in USUAL else pytest.param(name, marks=pytest.mark.long) for name in documents.NAMES]


@pytest.mark.parametrize("name", EVERY)
def test_the_cases_of_a_document_are_those_of_the_tool_and_cover_every_pair(name):
    path, allowed = CASES / f"generated/{name}.yaml", space(name)
    assert path.read_text() == documents.written(name)
    assert path.stat().st_size < 300_000
    drawn, seen = {id_: row for id_, *_, row in documents.generate(name)}, set()
    for case in collect([path]).cases:
        assert isinstance(case.resolved, Pooling), case.id
        assert bins(case).items() >= drawn[case.name].items(), case.id
        assert not evaluate(case.resolved.layout.to_core(case.X.tensor()), case.resolved).empty.any(), case.id
        seen.update(combinations(sorted(bins(case).items()), 2))
    every = [
        pair
        for first, second in combinations(sorted(allowed.factors), 2)
        for pair in product(
            [(first, bin_) for bin_ in allowed.factors[first]], [(second, bin_) for bin_ in allowed.factors[second]]
        )
    ]
    missing = [pair for pair in every if pair not in seen]
    assert [pair for pair in missing if allowed.possible(dict(pair))] == []
    assert len(missing) < len(seen)


@pytest.mark.long
def test_the_graphs_are_those_of_the_tool_and_cover_every_pair():
    path, possible = CASES / "generated/contexts.yaml", graphs.possible_rows()
    assert graphs.written() == path.read_text()
    cases = np.zeros(possible.shape, bool)
    for case in collect([path]).cases:
        template, *_ = [name for name in graphs.TEMPLATES if case.name.startswith(f"{name}-")]
        dtype, *others, geometry, opset = case.name.removeprefix(f"{template}-").split("-")
        if geometry == "major":
            geometry = f"{others.pop()}-major"
        # The bins of a generated graph, by its id.
        row = dict(zip(graphs.NAMES, (template, dtype, "-".join(others), geometry, opset), strict=True))
        X = case.X.tensor()
        assert (name_of(X.dtype), str(case.context.opset)) == (row["dtype"], row["opset"]), case.id
        assert values(X.reshape(1, 1, -1) if X.ndim < 4 else X) == row["values"], case.id
        assert case.attributes == graphs.GEOMETRIES[row["geometry"]], case.id
        cases[tuple(graphs.FACTORS[name].index(bin_) for name, bin_ in row.items())] = True
    pairs = combinations(range(len(graphs.FACTORS)), 2)
    left = sum(np.sum(graphs.projected(possible, axes) & ~graphs.projected(cases, axes)) for axes in pairs)
    # Not tried alone: what values and attributes make of each other behind two functions.
    assert left < 10


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
