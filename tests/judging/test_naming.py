"""A cause is named after all executions of a target: the wrong kernels of the tests, on a sample of the corpus."""

import zlib
from collections import Counter

import msgspec
import numpy as np
import pytest

from maxpool_check.corpus.collection import collect
from maxpool_check.evidence.kernels import kernel_named
from maxpool_check.evidence.kills import LoadedKernel, kernel_profile, outcome
from maxpool_check.judging.judge import judge
from maxpool_check.judging.naming import Observations, contradictions, named_causes
from maxpool_check.judging.oracle import Oracle
from maxpool_check.results.details import Cause
from maxpool_check.results.outcomes import Returned
from maxpool_check.results.record import Execution, Verdict
from maxpool_check.results.variants import Y_ONLY
from maxpool_check.running.case_run import CaseRun, executions, judged_case
from maxpool_check.targets.plans import VariantResult
from tests.mutants.in_process import tasks

NAMES = {
    "axes:strides_exchanged": "strides-axes-exchanged",
    "axes:first_dilation_for_all": "dilation-of-first-axis",
    "batches:first_batch_only": "first-batch-repeated",
    "dilations:ignored": "dilation-ignored",
    "padding:interleaved": "pads-interleaved",
    "precision:floats_as_integers": "compared-as-bits",
    "precision:float64_in_float32": "y-rounded-to-float32",
    "same:lower_is_upper": "same-upper-lower-exchanged",
    "seeds:zero": "scan-starts-at-zero",
    "sizes:floors_always": "ceil-floor-exchanged",
}


@pytest.mark.parametrize("name", NAMES)
def test_a_wrong_kernel_gets_its_name(name):
    adapter = LoadedKernel(kernel_named(name))
    # By their ids, so that new cases do not exchange the others.
    sample = [task for task in tasks() if zlib.crc32(task.case.id.encode()) % 8 == 0]
    observations, wrong = Observations(), []
    for number, task in enumerate(sample):
        case, oracle, plans = task.case, task.oracle, task.plans
        results = {
            plan.variant: plan.result([outcome(adapter, each) for each in plan.requests], kernel_profile())
            for plan in plans
        }
        judgements = judge(oracle, {variant: each.outcome for variant, each in results.items()})
        for execution in executions(CaseRun(case, "kernel", oracle, results, judgements)):
            observations.add(number, execution)
            wrong += [execution] if execution.verdict is Verdict.DIVERGES else []
    oracles = [task.oracle if isinstance(task.oracle, Oracle) else None for task in sample]
    contradicted = contradictions({"": observations}, lambda number: sample[number].case.id, oracles.__getitem__)[""]
    named = Counter(frozenset(cause.kind for cause in causes) for causes in named_causes(wrong, contradicted) if causes)
    assert named.most_common(1)[0][0] == {NAMES[name]}


def diverging(*kinds, wrong_cells=9):
    causes = tuple(Cause(kind=kind, output="Y", cells=9) for kind in kinds)
    return Execution(
        target="t", case="c", variant="y-only", verdict=Verdict.DIVERGES, title="", spec="onnx-22", case_sha256="",
        origin="", causes=causes, counts={"y-from-outside-window": wrong_cells},
    )  # fmt: skip


def names(executions, contradicted):
    return [[cause.kind for cause in causes] for causes in named_causes(executions, contradicted)]


BOTH, SHIFTED = diverging("pads-ignored", "windows-shifted"), diverging("windows-shifted")
FEW = diverging("pads-ignored", wrong_cells=2)
FIRST_AXIS = diverging("dilation-of-first-axis")
SHAPE = msgspec.structs.replace(
    diverging(), causes=(Cause(kind="dilation-of-first-axis", output=None, cells=0),), counts=None
)


@pytest.mark.parametrize(
    ("executions", "contradicted", "expected"),
    [
        # The mistake that explains most is named, and a contradicted one never is.
        ([BOTH], {}, [["pads-ignored", "windows-shifted"]]),
        ([BOTH, SHIFTED], {}, [["windows-shifted"]] * 2),
        ([BOTH, SHIFTED], {"windows-shifted": {"": "other"}}, [["pads-ignored"], []]),
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
  - {id: wrong, title: T, input: {dtype: float32, shape: [1, 1, 3, 4], arange: {}}}
  - {id: right, title: T, input: {dtype: float32, shape: [1, 1, 3, 4], arange: {start: 1}}}
""")
    cases = collect([tmp_path]).cases
    returned = ([[5, 6, 7], [9, 10, 11]], [[11, 12]])
    observations, lines = Observations(), []
    for number, (case, values) in enumerate(zip(cases, returned, strict=True)):
        outcome = Returned({"Y": np.array([[values]], np.float16)})
        (line,) = executions(judged_case(case, "t", case.oracle(), {Y_ONLY: VariantResult(outcome)}))
        observations.add(number, line)
        lines.append(line)
    assert [line.verdict for line in lines] == ["diverges", "conforms"]
    assert names(lines[:1], {}) == [["dilation-ignored"]]
    contradicted = contradictions(
        {"": observations}, lambda number: cases[number].id, lambda number: cases[number].oracle()
    )[""]
    assert contradicted["dilation-ignored"] == {"float16": "casts:right"}
    assert names(lines[:1], contradicted) == [[]]
