"""Whatever the outputs, the judge has one kind for every wrong cell, and none for a right one."""

import math
from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from maxpool_check.corpus.case import Case
from maxpool_check.corpus.tensors import Recipe
from maxpool_check.evidence.kills import kernel_profile
from maxpool_check.judging.comparison import compare
from maxpool_check.judging.judge import judge
from maxpool_check.judging.kinds import DivergenceKind
from maxpool_check.judging.oracle import Oracle
from maxpool_check.reference.dtypes import NUMPY, is_float, lowest
from maxpool_check.reference.numbering import NUMBERINGS
from maxpool_check.reference.pooling import Pooling
from maxpool_check.results.outcomes import Returned
from maxpool_check.results.variants import ALL_VARIANTS, VARIATIONS
from maxpool_check.specifications import SPECIFICATIONS
from maxpool_check.targets.requests import jobs_of
from maxpool_check.targets.worker.messages import DTYPES
from tests.conftest import shipped

SMALL = [case for case in shipped().cases if case.X.size < 300]
FLAT = [
    Case(f"flat:{name}-{rank}", name, Recipe.of(np.ones((2,) * rank, np.int8)), {}, ("Y", "Indices"), document.policies)
    for name, document in SPECIFICATIONS.items()
    for rank in range(3)
]

NUMBERS = [1, 2, 3, 2**20, 2**31, 2**33, 2**62, 2**63 - 1]
"""Of a kernel, a stride, a dilation or a padding: small, and at the limits of what programs count with."""


@st.composite
def with_large_attributes(draw):
    """A small case of ONNX, some of whose attributes are large, and whose outputs are small."""
    axes, document = draw(st.integers(1, 2)), SPECIFICATIONS["onnx-22"]

    def numbers(count, *more):
        return draw(st.lists(st.sampled_from([*more, *NUMBERS]), min_size=count, max_size=count))

    attributes = {"kernel_shape": numbers(axes), "strides": numbers(axes), "dilations": numbers(axes)}
    attributes |= draw(st.sampled_from([{"ceil_mode": 1}, {"storage_order": 1}, {}]))
    if padding := draw(st.sampled_from(["SAME_UPPER", "SAME_LOWER", ""])):
        attributes["auto_pad"] = padding
    elif draw(st.booleans()):
        kernels = zip(attributes["kernel_shape"], attributes["dilations"], strict=True)
        attributes["pads"] = [kernel // 2 * dilation for kernel, dilation in kernels] * 2
    else:
        attributes["pads"] = numbers(2 * axes, 0)
    X = np.arange(2 * 4**axes, dtype=np.float32).reshape(1, 2, *[4] * axes)
    X.flat[:: draw(st.integers(2, 9))] = draw(st.sampled_from([0, np.nan, -np.inf]))
    return Case("large", document.name, Recipe.of(X), attributes, ("Y", "Indices"), document.policies)


LARGE = with_large_attributes().filter(
    lambda case: not isinstance(case.resolved, Pooling) or math.prod(filter(None, case.resolved.output_sizes)) < 300
)


@st.composite
def executed_cases(draw):
    """The oracle of a case, and outputs of the right dtypes: some of the cells, or all, are others."""
    cases = st.one_of(st.sampled_from(SMALL), LARGE)
    case = draw(cases.filter(lambda case: isinstance(case.resolved, Pooling) and case.context.is_alone))
    oracle = case.oracle()
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    values = [case.X.tensor().reshape(-1), np.array([0, lowest(case.X.dtype)], case.X.dtype)]
    if is_float(case.X.dtype):
        values.append(np.array([np.nan, np.inf, -np.inf, -0.0], case.X.dtype))
    share = draw(st.sampled_from([0.1, 0.5, 1]))

    def disturbed(right, choices):
        return np.where(random.random(right.shape) < share, random.choice(choices, right.shape), right).astype(
            right.dtype
        )

    outputs = {"Y": disturbed(oracle.outputs["Y"], np.concatenate(values))}
    if "Indices" in case.outputs and case.resolved.indices:
        outputs["Indices"] = disturbed(oracle.outputs["Indices"], np.arange(-9, case.X.size + 9))
    return oracle, outputs


@settings(max_examples=300, deadline=None)
@given(executed_cases())
def test_every_wrong_cell_has_one_kind_and_no_right_one_has_any(drawn):
    oracle, outputs = drawn
    compared = compare(oracle, outputs, tuple(outputs))
    if any(wrong.cells is None for wrong in compared.wrong):
        return
    judged_by = compared.oracle
    core = {name: judged_by.pooling.layout.to_core(value) for name, value in outputs.items()}
    right = {"Y": judged_by.acceptable(core["Y"])}
    if "Indices" in outputs and judged_by.core.size:
        right["Indices"] = judged_by.match_indices(core["Indices"], core["Y"]).right
    for name, cells in right.items():
        kinds = sum(
            (wrong.cells.astype(int) for wrong in compared.wrong if wrong.output == name), np.zeros(cells.shape, int)
        )
        assert (kinds == ~cells).all()


def profile(indices):
    """A target that takes any attributes and has every setting, and counts Indices as it says."""
    kernel = kernel_profile()
    description = structs.replace(kernel.description, indices=indices)
    return replace(kernel, description=description, settings=tuple(each.name for each in VARIATIONS))


def array(data, *shapes):
    """Any tensor that the protocol can carry; often of one of some shapes."""
    shape = data.draw(st.sampled_from(shapes) | st.lists(st.integers(0, 3), max_size=5).map(tuple))
    dtype = NUMPY[data.draw(st.sampled_from(DTYPES))]
    numbers = np.random.default_rng(data.draw(st.integers(0, 99))).integers(-3, 9, shape).astype(dtype)
    return np.asarray(numbers, order=data.draw(st.sampled_from("CF")))


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(FLAT) | st.sampled_from(SMALL) | LARGE, st.sampled_from(list(NUMBERINGS)), st.data())
def test_no_answer_at_all_stops_the_judge(case, indices, data):
    target, oracle = profile(indices), case.oracle()
    shapes = {case.X.shape, *([oracle.shape] if isinstance(oracle, Oracle) else [])}
    results = {}
    for job in jobs_of(case, ALL_VARIANTS, target):
        if job.request is not None:
            names = job.variant.outputs[: data.draw(st.integers(0, 2))]
            job = job.finished(Returned({name: array(data, *shapes) for name in names}), 0.0, target)
        results[job.variant] = job.outcome
    for judgement in judge(oracle, results).values():
        assert judgement.verdict.value != "error", judgement.traceback
        assert all(isinstance(kind, DivergenceKind) for kind in judgement.kinds)
        assert judgement.kinds or judgement.verdict.value != "diverges"
