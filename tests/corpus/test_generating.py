"""Generated cases: they are what the tool writes, and cover every pair of bins that is possible."""

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


def row_of(case):
    """The bins of a generated graph, by its id."""
    template, *_ = [name for name in graphs.TEMPLATES if case.name.startswith(f"{name}-")]
    dtype, *others, geometry, opset = case.name.removeprefix(f"{template}-").split("-")
    if geometry == "major":
        geometry = f"{others.pop()}-major"
    return {"template": template, "dtype": dtype, "values": "-".join(others), "geometry": geometry, "opset": opset}


@pytest.mark.long
def test_the_graphs_are_those_of_the_tool_and_cover_every_pair():
    path, possible = CASES / "generated/contexts.yaml", graphs.possible_rows()
    assert graphs.written() == path.read_text()
    cases = np.zeros(possible.shape, bool)
    for case in collect([path]).cases:
        row, X = row_of(case), case.X.tensor()
        assert (name_of(X.dtype), str(case.context.opset)) == (row["dtype"], row["opset"]), case.id
        assert values(X.reshape(1, 1, -1) if X.ndim < 4 else X) == row["values"], case.id
        assert case.attributes == graphs.GEOMETRIES[row["geometry"]], case.id
        cases[tuple(graphs.FACTORS[name].index(bin_) for name, bin_ in row.items())] = True
    pairs = combinations(range(len(graphs.FACTORS)), 2)
    left = sum(np.sum(graphs.projected(possible, axes) & ~graphs.projected(cases, axes)) for axes in pairs)
    # Not tried alone: what values and attributes make of each other behind two functions.
    assert left < 10
