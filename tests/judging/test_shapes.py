"""The shapes of outputs of wrong kernels: which axes differ, and formulas that give what they say."""

import math
import re
from functools import cache

import numpy as np
import pytest

from maxpool_check.evidence.kernels import kernel_named
from maxpool_check.graphs.node import Node
from maxpool_check.judging.oracle import Oracle
from maxpool_check.judging.windows import wrong_shapes
from maxpool_check.results.details import WrongAxis, WrongShape
from maxpool_check.specifications import specification
from tests.conftest import CASES, run_record
from tests.judging.test_graph_verdicts import RIGHT, Y_ONLY, judged, oracle_of

CLIPPED = " less the window that would begin in the end padding"


@cache
def recorded(corpus, mutant):
    return run_record(CASES / corpus, kernel_named(mutant).target).executions


def shape(executions, case, output="Y"):
    return next(each.shapes[output] for each in executions if each.case == case and each.variant == "indices")


def value(formula):
    names = {"floor": math.floor, "ceil": math.ceil, "trunc": math.trunc}
    return eval(formula.replace(CLIPPED, " - 1"), {"__builtins__": {}}, names)


def test_a_kernel_that_rounds_up_is_shown_with_the_formula_and_how_it_rounds():
    executions = recorded("edge/ceil-mode.yaml", "sizes:ceils_always")
    axis = WrongAxis(
        axis="D1", expected=2, got=3, formula="floor((5 + 0 + 0 - 1*(2 - 1) - 1)/2 + 1)",
        mistake="ceil-floor-exchanged", instead="ceil",
    )  # fmt: skip
    for output in ("Y", "Indices"):
        expected = WrongShape(expected=(1, 1, 2), got=(1, 1, 3), axes=(axis,))
        assert shape(executions, "edge/ceil-mode:off", output) == expected


def test_a_window_in_the_end_padding_is_part_of_the_formula():
    executions = recorded("edge/ceil-mode.yaml", "sizes:never_drops_the_last_window")
    (axis,) = shape(executions, "edge/ceil-mode:last-window-dropped-float32").axes
    assert axis.formula == f"ceil((3 + 0 + 1 - 1*(2 - 1) - 1)/3 + 1){CLIPPED}"
    assert (axis.mistake, axis.instead) == ("ceil-clip-exchanged", "ceil")


def test_another_number_than_the_rounding_is_shown_in_a_formula_of_its_own():
    (axis,) = shape(recorded("edge/ceil-mode.yaml", "dilations:ignored"), "edge/ceil-mode:dilation").axes
    assert axis.formula == "ceil((7 + 0 + 0 - 3*(2 - 1) - 1)/2 + 1)"
    assert (axis.mistake, axis.instead) == ("dilation-ignored", "ceil((7 + 0 + 0 - 1*(2 - 1) - 1)/2 + 1)")


def test_every_axis_that_differs_is_named_and_no_other():
    executions = recorded("edge/ceil-mode.yaml", "axes:strides_exchanged")
    wrong = shape(executions, "edge/ceil-mode:dropped-on-one-axis")
    assert [(axis.axis, axis.expected, axis.got) for axis in wrong.axes] == [("D1", 1, 2), ("D2", 2, 1)]


def test_same_pads_have_a_formula_of_their_own():
    executions = recorded("edge/auto-pad.yaml", "same:auto_pad_is_ignored")
    (axis,) = shape(executions, "edge/auto-pad:upper-even").axes
    assert (axis.formula, axis.instead) == ("ceil(4/1)", "floor((4 + 0 + 0 - 1*(2 - 1) - 1)/1 + 1)")


def test_no_mistake_is_named_where_several_explain_the_outputs():
    executions = recorded("edge/auto-pad.yaml", "sizes:ceils_always")
    (axis,) = shape(executions, "edge/auto-pad:valid").axes
    assert (axis.expected, axis.got, axis.mistake, axis.instead) == (1, 2, "", "")


@pytest.mark.parametrize(
    "mutant",
    [
        "sizes:ceils_always", "sizes:floors_always", "sizes:never_drops_the_last_window",
        "dilations:ignored", "same:auto_pad_is_ignored", "padding:ignored", "axes:strides_exchanged",
    ],
)  # fmt: skip
@pytest.mark.parametrize("corpus", ["edge/ceil-mode.yaml", "edge/auto-pad.yaml"])
def test_each_formula_gives_the_size_beside_it(corpus, mutant):
    for execution in recorded(corpus, mutant):
        assert bool(execution.shapes) == ("has the shape" in execution.message), execution.case
        for axis in (axis for wrong in execution.shapes.values() for axis in wrong.axes):
            assert value(axis.formula) == axis.expected, axis
            whole = axis.instead if "(" in axis.instead else re.sub(r"^\w+", axis.instead, axis.formula, count=1)
            if axis.instead == "ceil":
                whole = whole.removesuffix(CLIPPED)
            assert not axis.mistake or value(whole) == axis.got, axis


def pooled(spec, shape, **attributes):
    X = np.zeros(shape, np.float32)
    document = specification(spec)
    return Oracle(X, document.resolve({"kernel_shape": [2], **attributes}, "float32", X.shape))


def test_sizes_of_the_batch_and_of_another_rank_have_no_formula():
    oracle = pooled("onnx-22", (2, 1, 4))
    shapes = {"Y": (1, 1, 3), "Indices": (2, 3)}
    assert wrong_shapes(oracle, shapes, ()) == {
        "Y": WrongShape(expected=(2, 1, 3), got=(1, 1, 3), axes=(WrongAxis(axis="N", expected=2, got=1),)),
        "Indices": WrongShape(expected=(2, 1, 3), got=(2, 3)),
    }


def test_axes_are_named_in_the_layout_of_the_document():
    document = specification("ort-nhwc-11")
    X = np.zeros((1, 4, 5, 3), np.float32)
    oracle = Oracle(X, document.resolve({"kernel_shape": [2, 2]}, "float32", X.shape))
    (axis,) = wrong_shapes(oracle, {"Y": (1, 3, 5, 3)}, ())["Y"].axes
    assert (axis.axis, axis.expected, axis.got) == ("D2", 4, 5)
    assert value(axis.formula) == 4


def test_an_output_behind_nodes_that_move_cells_has_the_shape_of_the_graph():
    oracle = oracle_of(after=[Node("Transpose", {"perm": [0, 1, 3, 2]}), Node("Flatten", {"axis": 1})])
    judgement = judged(oracle, RIGHT)[Y_ONLY]
    assert judgement.shapes == {"Y": WrongShape(expected=(1, 4), got=(1, 1, 2, 2))}
