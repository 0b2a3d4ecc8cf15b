"""The generated cases of graphs around MaxPool: what they cover, and that they can be made again."""

from itertools import combinations

import numpy as np
import pytest

from maxpool_check.corpus.collection import collect
from maxpool_check.reference.dtypes import name_of
from tests.conftest import CASES
from tests.generating.graphs import FACTORS, GEOMETRIES, TEMPLATES, drawn_case, possible_rows, projected, written
from tests.generating.space import values

GENERATED = CASES / "generated/contexts.yaml"


def row_of(case):
    """The bins of a generated case, by its id."""
    template, *_ = [name for name in TEMPLATES if case.name.startswith(f"{name}-")]
    dtype, *others, geometry, opset = case.name.removeprefix(f"{template}-").split("-")
    if geometry == "major":
        geometry = f"{others.pop()}-major"
    return {"template": template, "dtype": dtype, "values": "-".join(others), "geometry": geometry, "opset": opset}


def test_a_row_without_an_exact_result_gives_no_case():
    row = {"dtype": "float32", "values": "ties", "geometry": "plain", "opset": "22"}
    assert drawn_case({"template": "unpool-behind", **row}) is None
    assert drawn_case({"template": "relu-before", **row, "dtype": "int8", "opset": "13"}) is None
    assert drawn_case({"template": "relu-before", **row}) is not None


def test_each_generated_case_has_the_bins_of_its_id():
    cases = collect([GENERATED]).cases
    for case in cases:
        row, X = row_of(case), case.X.tensor()
        assert (name_of(X.dtype), str(case.context.opset)) == (row["dtype"], row["opset"]), case.id
        assert values(X.reshape(1, 1, -1) if X.ndim < 4 else X) == row["values"], case.id
        assert case.attributes == GEOMETRIES[row["geometry"]], case.id
    assert 400 <= len(cases) <= 550


@pytest.mark.long
def test_the_generated_cases_are_those_of_the_tool_and_cover_every_pair():
    assert written() == GENERATED.read_text()
    cases = np.zeros(possible_rows().shape, bool)
    for case in collect([GENERATED]).cases:
        cases[tuple(FACTORS[name].index(bin_) for name, bin_ in row_of(case).items())] = True
    left = sum(
        np.count_nonzero(projected(possible_rows(), axes) & ~projected(cases, axes))
        for axes in combinations(range(len(FACTORS)), 2)
    )
    # Not tried alone: what values and attributes make of each other behind two functions.
    assert left < 10
