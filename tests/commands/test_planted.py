"""A mistake that beginners make is one fault, and its name is on the first screen."""

import pytest

from tests.conftest import ROOT
from tests.planted import MISTAKES


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_one_fault(cli, mistake):
    target = f"python:{ROOT / 'tests/planted.py'}:{mistake}"
    screen = cli("run", "corpus:kit", "-t", target).check(1).out
    faults = [line.split()[1] for line in screen.splitlines() if line.startswith("  NEW ")]
    assert faults == [MISTAKES[mistake]], screen
    assert "UNEXPECTED  1 new" in screen


def test_without_a_mistake_the_kernel_conforms(cli):
    assert "CONFORMS" in cli("run", "corpus:kit", "-t", f"python:{ROOT / 'tests/planted.py'}:none").check(0).out
