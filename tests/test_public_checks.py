"""The page on public checks follows from its results, and the results from the facts."""

import json

import pytest

from tests import public_checks

RESULTS = json.loads(public_checks.RESULTS.read_text())


def test_the_page_is_made_of_its_results():
    assert public_checks.page(RESULTS) == public_checks.PAGE.read_text()


@pytest.mark.parametrize("name", ["tileops", "onnxruntime", "onnx"])
def test_a_check_notices_the_kernels_that_its_results_name(name):
    assert not public_checks.is_noticed(public_checks.RIGHT, name)
    for kernel in public_checks.KERNELS[::5]:
        assert public_checks.is_noticed(kernel, name) == (str(kernel) in RESULTS["checks"][name]["notices"]), kernel


def test_each_check_has_its_sources_and_says_what_it_compares():
    for check in public_checks.CHECKS.values():
        assert all({"of", "date", "paths"} <= source.keys() for source in check.get("sources", ()))
        assert check["facts"]
