"""The cases of contexts notice each optimiser that is wrong on purpose, and find no fault with one that is right."""

import functools

import onnx
import onnxruntime
import pytest

from maxpool_check.corpus.collection import collect
from maxpool_check.graphs.model import build
from maxpool_check.judging.judge import judge
from maxpool_check.judging.kinds import DivergenceKind
from maxpool_check.results.outcomes import RefusedByTarget, Returned
from maxpool_check.results.record import FAULTS
from maxpool_check.results.variants import OPTIMIZATION_OFF, Variant
from tests.conftest import CASES
from tests.optimisers import RIGHT, WRONG, nothing


class Execution:
    """A case in one variant: its model, and what judges the outputs of a rewritten one."""

    def __init__(self, case, variant):
        self.case, self.variant = case, variant
        built = build(case.graph, variant.outputs)
        self.model, self._more = built.model, built.inputs
        self.names = (*variant.outputs, *case.context.side_outputs)
        self.unoptimised = self._outcome(self.model)

    @functools.cached_property
    def oracle(self):
        return self.case.oracle()

    @functools.cached_property
    def is_right(self):
        """Whether the runtime is right about the model that was not rewritten."""
        return judge(self.oracle, {self.variant: self.unoptimised})[self.variant].verdict not in FAULTS

    def judged(self, optimiser):
        """The judgement on the rewritten model, None if it is the same model."""
        model = onnx.ModelProto.FromString(self.model)
        optimiser(model)
        rewritten = model.SerializeToString()
        if rewritten == onnx.ModelProto.FromString(self.model).SerializeToString() or not self.is_right:
            return None
        plain = Variant(self.variant.outputs, OPTIMIZATION_OFF)
        return judge(self.oracle, {self.variant: self._outcome(rewritten), plain: self.unoptimised})[self.variant]

    def _outcome(self, model):
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        options.intra_op_num_threads = 1
        options.log_severity_level = 4
        feeds = {**({} if self.case.context.initializer else {"X": self.case.X.tensor()}), **self._more}
        try:
            session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
            return Returned(dict(zip(self.names, session.run(list(self.names), feeds), strict=True)))
        except Exception as error:
            return RefusedByTarget("FAIL", str(error))


@functools.cache
def executions():
    return [
        Execution(case, variant)
        for case in collect([CASES / "contexts"]).cases
        for variant in case.variants()
        if variant.variation is None and "bfloat16" not in case.tags
    ]


@pytest.mark.parametrize("wrong", WRONG, ids=lambda wrong: wrong.mistake)
def test_two_cases_notice_a_wrong_optimiser(wrong):
    cases, kinds = {}, {None}
    for execution in executions():
        judgement = execution.judged(wrong.optimise)
        if judgement is not None and judgement.verdict in FAULTS:
            cases[execution.case.id] = True
            kinds |= {each.value for each in judgement.kinds}
        if len(cases) >= 2 and wrong.kind in kinds:
            break
    assert len(cases) >= 2, cases
    assert wrong.kind in kinds


@pytest.mark.parametrize("optimiser", RIGHT, ids=lambda optimiser: optimiser.__name__)
def test_no_case_finds_fault_with_a_right_optimiser(optimiser):
    judged = [(execution, execution.judged(optimiser)) for execution in executions()]
    changed = [(execution, judgement) for execution, judgement in judged if judgement is not None]
    # ONNX Runtime itself gives the lowest value for windows of -inf beside pads.
    faults = [
        execution.case.id
        for execution, judgement in changed
        if judgement.verdict in FAULTS and DivergenceKind.Y_LOWEST_FOR_NEG_INF not in judgement.kinds
    ]
    assert faults == []
    assert changed or optimiser is nothing
