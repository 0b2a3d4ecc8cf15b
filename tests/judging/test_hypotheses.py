"""Mistakes in the whole result, made with other attributes; the formulas of wrong shapes; the cause that is named."""

import math
import re

import msgspec
import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from maxpool_check.corpus.collection import collect
from maxpool_check.evidence.kernels import kernel_named
from maxpool_check.judging.comparison import compare
from maxpool_check.judging.naming import Observations, contradictions, named_causes
from maxpool_check.results.details import Cause
from maxpool_check.results.outcomes import Returned
from maxpool_check.results.record import Execution, Verdict
from maxpool_check.results.variants import Y_ONLY
from maxpool_check.running.case_run import judge_case
from maxpool_check.specifications.specification import Refused
from maxpool_check.targets.jobs import Job
from tests.conftest import CASES, run_record
from tests.judging.oracles import BOTH, oracle_for, outputs_of


def turned(name):
    return lambda attributes: {name: attributes[name][::-1]}


def pads(*order):
    return lambda attributes: {"pads": [attributes["pads"][place] for place in order]}


MISTAKES = {
    "pads-interleaved": pads(0, 2, 1, 3),
    "pads-begin-end-exchanged": pads(2, 3, 0, 1),
    "pads-axes-exchanged": pads(1, 0, 3, 2),
    "strides-axes-exchanged": turned("strides"),
    "kernel-axes-exchanged": turned("kernel_shape"),
    "dilation-axes-exchanged": turned("dilations"),
    "dilation-ignored": lambda attributes: {"dilations": [1, 1]},
    "ceil-floor-exchanged": lambda attributes: {"ceil_mode": 1 - attributes["ceil_mode"]},
}


def permutation(*shape):
    return np.random.default_rng(5).permutation(int(np.prod(shape))).reshape(shape).astype(np.float32)


@st.composite
def cases(draw):
    """X of different values, in no order, and attributes of two axes that any mistake makes others of."""
    pair = lambda low, high: st.tuples(st.integers(low, high), st.integers(low, high)).map(list)  # noqa: E731
    kernel = draw(pair(1, 3))
    attributes = {
        "kernel_shape": kernel,
        "strides": draw(pair(1, 3)),
        "dilations": draw(pair(1, 2)),
        "pads": [draw(st.integers(0, kernel[axis % 2] - 1)) for axis in range(4)],
        "ceil_mode": draw(st.integers(0, 1)),
        "storage_order": draw(st.integers(0, 1)),
    }
    shape = (*draw(pair(1, 2)), *draw(pair(5, 9)))
    order = np.random.default_rng(draw(st.integers(0, 2**32 - 1))).permutation(int(np.prod(shape)))
    return order.reshape(shape).astype(np.float32), attributes


def oracles(X, *attributes):
    try:
        return [oracle_for(X, **each) for each in attributes]
    except Refused:
        assume(False)


@pytest.mark.parametrize("kind", MISTAKES)
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.filter_too_much])
@given(data=st.data())
def test_a_mistake_in_the_windows_is_a_cause_and_none_with_one_more_wrong_cell(kind, data):
    X, attributes = data.draw(cases())
    right, mistaken = oracles(X, attributes, {**attributes, **MISTAKES[kind](attributes)})
    # What comes of a window without a cell explains nothing.
    assume(not right.pooled.empty.any() and not mistaken.pooled.empty.any())
    wrong = outputs_of(mistaken)
    compared = compare(right, wrong, BOTH)
    assume(compared.wrong)
    assert kind in {cause.kind for cause in compared.causes if cause.output is None}, compared.causes
    if len(compared.causes) == 1 and sum(wrong.cells is None or wrong.cells.sum() > 2 for wrong in compared.wrong):
        assert set(compared.kinds) == {kind}
    assume(wrong["Y"].size > 1)
    wrong["Y"][tuple(data.draw(st.integers(0, size - 1)) for size in wrong["Y"].shape)] = -1000.5
    assert kind not in {cause.kind for cause in compare(right, wrong, BOTH).causes}


def wrong_outputs(X, **attributes):
    return outputs_of(oracle_for(X, **attributes))


PLANES, CUBE, BATCHES = permutation(1, 2, 5, 6), permutation(1, 1, 4, 5, 6), permutation(2, 1, 3, 3)
EXCHANGED = wrong_outputs(PLANES, strides=[2, 1])
UPPER, LOWER = ({"kernel_shape": [2, 4], "strides": [1, 2], "auto_pad": f"SAME_{name}"} for name in ("UPPER", "LOWER"))
TURNED = wrong_outputs(CUBE, kernel_shape=[3, 1, 2])


@pytest.mark.parametrize(
    ("X", "attributes", "wrong", "causes"),
    [
        (
            PLANES,
            LOWER,
            wrong_outputs(PLANES, **UPPER),
            [("same-upper-lower-exchanged", None), ("pads-begin-one-less", None)],
        ),
        # Three axes in any order.
        (CUBE, {"kernel_shape": [1, 2, 3]}, TURNED, [("kernel-axes-exchanged", None)]),
        # Two mistakes, one in the windows and one in the numbers.
        (
            PLANES,
            {"strides": [1, 2]},
            {**EXCHANGED, "Indices": EXCHANGED["Indices"] % 30},
            [("strides-axes-exchanged", "Y"), ("indices-plane-relative", "Indices")],
        ),
        # A shape of another batch, and zeros of the wrong sign, have no cause.
        (BATCHES, {}, {name: value[:1] for name, value in wrong_outputs(BATCHES).items()}, []),
        (np.array([[[-0.0, 0.0, 0.0]]]), {"pads": [1, 0]}, {"Y": np.zeros((1, 1, 3))}, []),
    ],
)
def test_mistakes(X, attributes, wrong, causes):
    compared = compare(oracle_for(X, **attributes), wrong, tuple(wrong))
    assert [(cause.kind.value, cause.output) for cause in compared.causes if cause.cells] == causes


CLIPPED = " less the window that would begin in the end padding"


def value(formula):
    names = {"floor": math.floor, "ceil": math.ceil, "trunc": math.trunc}
    return eval(formula.replace(CLIPPED, " - 1"), {"__builtins__": {}}, names)


LAST_WINDOW = "ceil-mode:last-window-dropped-float32"
FLOORED = "floor((5 + 0 + 0 - 1*(2 - 1) - 1)/2 + 1)"
DROPPED = f"ceil((3 + 0 + 1 - 1*(2 - 1) - 1)/3 + 1){CLIPPED}"
DILATED, IGNORED = (f"ceil((7 + 0 + 0 - {dilation}*(2 - 1) - 1)/2 + 1)" for dilation in (3, 1))


@pytest.mark.parametrize(
    ("kernel", "case", "formula", "mistake", "instead"),
    [
        ("sizes:ceils_always", "ceil-mode:off", FLOORED, "ceil-floor-exchanged", "ceil"),
        ("sizes:never_drops_the_last_window", LAST_WINDOW, DROPPED, "ceil-clip-exchanged", "ceil"),
        # Another number than the rounding is shown in a formula of its own.
        ("dilations:ignored", "ceil-mode:dilation", DILATED, "dilation-ignored", IGNORED),
        # Several mistakes explain the outputs: none is named.
        ("sizes:ceils_always", "auto-pad:valid", "ceil((3 - 1*(2 - 1))/2)", "", ""),
    ],
)
def test_formulas_give_the_sizes_beside_them(kernel, case, formula, mistake, instead):
    record = run_record(CASES / "edge" / f"{case.partition(':')[0]}.yaml", kernel_named(kernel).target)
    (shapes,) = [each.shapes for each in record.executions if each.case == f"edge/{case}" and each.variant == "indices"]
    assert shapes["Y"] == shapes["Indices"]
    assert [(axis.formula, axis.mistake, axis.instead) for axis in shapes["Y"].axes] == [(formula, mistake, instead)]
    for execution in record.executions:
        assert bool(execution.shapes) == ("has the shape" in execution.message), execution.case
        for axis in (axis for wrong in execution.shapes.values() for axis in wrong.axes):
            assert value(axis.formula) == axis.expected, axis
            whole = axis.instead if "(" in axis.instead else re.sub(r"^\w+", axis.instead, axis.formula, count=1)
            if axis.instead == "ceil":
                whole = whole.removesuffix(CLIPPED)
            assert not axis.mistake or value(whole) == axis.got, axis


def diverging(*kinds, wrong_cells=9):
    causes = tuple(Cause(kind=kind, output="Y", cells=9) for kind in kinds)
    return Execution(
        target="t", case="c", variant="y-only", verdict=Verdict.DIVERGES, title="", spec="onnx-22", case_sha256="",
        origin="", causes=causes, counts={"y-from-outside-window": wrong_cells},
    )  # fmt: skip


def names(executions, contradicted):
    return [[cause.kind for cause in causes] for causes in named_causes(executions, contradicted)]


TWO_CAUSES, SHIFTED = diverging("pads-ignored", "windows-shifted"), diverging("windows-shifted")
FEW = diverging("pads-ignored", wrong_cells=2)
FIRST_AXIS = diverging("dilation-of-first-axis")
SHAPE = msgspec.structs.replace(
    diverging(), causes=(Cause(kind="dilation-of-first-axis", output=None, cells=0),), counts=None
)


@pytest.mark.parametrize(
    ("executions", "contradicted", "expected"),
    [
        # The mistake that explains most is named, and a contradicted one never is.
        ([TWO_CAUSES], {}, [["pads-ignored", "windows-shifted"]]),
        ([TWO_CAUSES, SHIFTED], {}, [["windows-shifted"]] * 2),
        ([TWO_CAUSES, SHIFTED], {"windows-shifted": {"": "other"}}, [["pads-ignored"], []]),
        # A few wrong cells are no proof, nor is a shape alone, which contradicts nothing.
        ([FEW] * 5, {}, [[]] * 5),
        ([SHAPE], {}, [[]]),
        ([SHAPE, FIRST_AXIS], {}, [["dilation-of-first-axis"]] * 2),
    ],
)
def test_the_mistake_that_is_named(executions, contradicted, expected):
    assert names(executions, contradicted) == expected


def test_what_contradicts_a_mistake_has_the_dtype_that_enters_maxpool(tmp_path):
    (tmp_path / "casts.yaml").write_text("""\
defaults:
  attributes: {kernel_shape: [2, 2], dilations: [2, 2]}
  graph: [{op: Cast, to: float16}, {op: MaxPool}]
cases:
  - {id: wrong, input: {dtype: float32, shape: [1, 1, 3, 4], arange: {}}}
  - {id: right, input: {dtype: float32, shape: [1, 1, 3, 4], arange: {start: 1}}}
""")
    wrong, right = collect([tmp_path]).cases
    observations, lines = Observations(), []
    for number, (case, values) in enumerate(((wrong, [[5, 6, 7], [9, 10, 11]]), (right, [[11, 12]]))):
        job = Job(Y_ONLY, outcome=Returned({"Y": np.array([[values]], np.float16)}))
        lines += judge_case(case, "t", case.oracle(), [job]).executions
        observations.add(number, lines[-1])
    assert [line.verdict for line in lines] == ["diverges", "conforms"]
    assert names(lines[:1], {}) == [["dilation-ignored"]]
    contradicted = contradictions({"": observations}, [(case.id, case.oracle) for case in (wrong, right)])[""]
    assert contradicted["dilation-ignored"] == {"float16": "casts:right"}
    assert "dilation-ignored" not in names(lines[:1], contradicted)[0]
