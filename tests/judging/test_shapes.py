"""The shapes of outputs of wrong kernels: which axes differ, and formulas that give what they say."""

import math
import re

import numpy as np
import pytest

from maxpool_check.evidence.kernels import kernel_named
from maxpool_check.judging.windows import wrong_shapes
from maxpool_check.results.details import WrongAxis, WrongShape
from tests.conftest import CASES, run_record
from tests.judging.oracles import oracle_for

CLIPPED = " less the window that would begin in the end padding"


def value(formula):
    names = {"floor": math.floor, "ceil": math.ceil, "trunc": math.trunc}
    return eval(formula.replace(CLIPPED, " - 1"), {"__builtins__": {}}, names)


DILATED, IGNORED = (f"ceil((7 + 0 + 0 - {dilation}*(2 - 1) - 1)/2 + 1)" for dilation in (3, 1))


@pytest.mark.parametrize(
    ("kernel", "case", "formula", "mistake", "instead"),
    [
        (
            "sizes:ceils_always",
            "ceil-mode:off",
            "floor((5 + 0 + 0 - 1*(2 - 1) - 1)/2 + 1)",
            "ceil-floor-exchanged",
            "ceil",
        ),
        (
            "sizes:never_drops_the_last_window",
            "ceil-mode:last-window-dropped-float32",
            f"ceil((3 + 0 + 1 - 1*(2 - 1) - 1)/3 + 1){CLIPPED}",
            "ceil-clip-exchanged",
            "ceil",
        ),
        # Another number than the rounding is shown in a formula of its own.
        ("dilations:ignored", "ceil-mode:dilation", DILATED, "dilation-ignored", IGNORED),
        # Several mistakes explain the outputs: none is named.
        ("sizes:ceils_always", "auto-pad:valid", "floor((3 + 0 + 0 - 1*(2 - 1) - 1)/2 + 1)", "", ""),
    ],
)
def test_formulas_give_the_sizes_beside_them(kernel, case, formula, mistake, instead):
    executions = run_record(CASES / "edge" / f"{case.partition(':')[0]}.yaml", kernel_named(kernel).target).executions
    (shapes,) = [each.shapes for each in executions if each.case == f"edge/{case}" and each.variant == "indices"]
    assert shapes["Y"] == shapes["Indices"]
    assert [(axis.formula, axis.mistake, axis.instead) for axis in shapes["Y"].axes] == [(formula, mistake, instead)]
    for execution in executions:
        assert bool(execution.shapes) == ("has the shape" in execution.message), execution.case
        for axis in (axis for wrong in execution.shapes.values() for axis in wrong.axes):
            assert value(axis.formula) == axis.expected, axis
            whole = axis.instead if "(" in axis.instead else re.sub(r"^\w+", axis.instead, axis.formula, count=1)
            if axis.instead == "ceil":
                whole = whole.removesuffix(CLIPPED)
            assert not axis.mistake or value(whole) == axis.got, axis


def test_sizes_of_the_batch_and_of_another_rank_have_no_formula():
    oracle = oracle_for(np.zeros((2, 1, 4), np.float32))
    assert wrong_shapes(oracle, {"Y": (1, 1, 3), "Indices": (2, 3)}, ()) == {
        "Y": WrongShape(expected=(2, 1, 3), got=(1, 1, 3), axes=(WrongAxis(axis="N", expected=2, got=1),)),
        "Indices": WrongShape(expected=(2, 1, 3), got=(2, 3)),
    }


def test_axes_are_named_in_the_layout_of_the_document():
    oracle = oracle_for(np.zeros((1, 4, 5, 3), np.float32), spec="ort-nhwc-11", kernel_shape=[2, 2])
    (axis,) = wrong_shapes(oracle, {"Y": (1, 3, 5, 3)}, ())["Y"].axes
    assert (axis.axis, axis.expected, axis.got, value(axis.formula)) == ("D2", 4, 5, 4)
