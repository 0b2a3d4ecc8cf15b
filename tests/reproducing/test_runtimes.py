"""A script and an issue can be written for every runtime that can be tested, of each dtype and for graphs."""

from dataclasses import replace

import numpy as np
import pytest

from maxpool_check.graphs.model import build, maxpool_model
from maxpool_check.judging.judge import judge
from maxpool_check.judging.kinds import DivergenceKind
from maxpool_check.judging.verdicts import Judgement
from maxpool_check.reproducing.issue import issue
from maxpool_check.reproducing.reproduced import CannotWrite, Reproduced
from maxpool_check.reproducing.script import write_script
from maxpool_check.results.outcomes import Crashed, RefusedByTarget, Returned, TimedOut
from maxpool_check.results.record import TargetDescription, Verdict
from maxpool_check.results.variants import OTHER_KERNELS, VARIATIONS, WITH_INDICES, Y_ONLY, Variant
from maxpool_check.running.case_run import CaseRun
from maxpool_check.targets.languages import LANGUAGES
from maxpool_check.targets.name import parse
from maxpool_check.targets.plans import VariantResult
from maxpool_check.targets.protocol import Request
from maxpool_check.targets.runtimes import RUNTIMES
from maxpool_check.targets.target import TargetProfile
from tests.conftest import shipped

LANGUAGE = {
    "openvino": "openvino-14", "openvino-reshape": "openvino-14", "torch": "torch", "torch-meta": "torch", "jax": "jax", "ncnn": "ncnn",
    "tensorflow": "tensorflow", "litert": "tflite",
}  # fmt: skip
CASES = ("edge/neg-inf:one-cell", "edge/bfloat16:neg-inf", "edge/ties:one-axis", "contexts/pad:zero-opset-22")


def described(name):
    return TargetDescription(
        name=name, distribution=RUNTIMES[name].distribution, version="1.0", provider="CPUExecutionProvider", providers=(),
        session_options={"backend": "llvm-cpu"}, python="3.11.7", numpy="2.0.0", newest_opset=22, graphs=22,
        speaks=LANGUAGE.get(name, "onnx"), decides="values" if RUNTIMES[name].computes else "shapes",
    )  # fmt: skip


def reproduced(case, name, outcome):
    variant, target = (
        WITH_INDICES if len(case.outputs) > 1 and name not in ("jax", "ncnn", "litert") else Y_ONLY,
        described(name),
    )
    X, attributes, model = case.X.tensor(), dict(case.attributes), b""
    if not case.context.is_alone:
        model = build(case.graph, variant.outputs).model
    elif target.speaks == "onnx":
        model = maxpool_model(22, attributes, X.dtype.name, X.shape, variant.outputs)
    elif target.speaks in LANGUAGES:
        attributes = {"padding": [[0, 0]], "pad_mode": 1} if name in ("jax", "ncnn") else attributes
    oracle = case.oracle()
    outcome = (
        Returned({key: np.zeros_like(value) for key, value in oracle.expected.items()}) if outcome is None else outcome
    )
    results = {variant: VariantResult(outcome, 22, (), Request(X, variant.outputs, model, attributes))}
    return Reproduced(CaseRun(case, name, oracle, results, judge(oracle, {variant: outcome})), variant, target)


@pytest.mark.parametrize("name", [name for name in RUNTIMES if name != "xmos"])
def test_every_runtime_has_a_script_and_an_issue(name):
    by_id = {case.id: case for case in shipped().cases}
    written = 0
    for case in map(by_id.__getitem__, CASES):
        if not case.context.is_alone and name in ("torch", "torch-meta", "jax", "ncnn", "tensorflow", "litert"):
            continue
        for outcome in (None, RefusedByTarget("FAIL", "not today"), Crashed("killed by SIGSEGV", ""), TimedOut(6.0)):
            shown, profile = reproduced(case, name, outcome), TargetProfile(parse(name), described(name))
            try:
                script = write_script(shown, profile, "A defect", 6.0)
            except CannotWrite as error:
                assert "bfloat16 on PyTorch" in str(error) or "inferred" in str(error)
                continue
            text = issue(shown, profile, script, "A defect", "printed", defect=None, also=())
            assert script.text.rstrip() in text
            written += 1
    assert written > 6


@pytest.mark.parametrize("variation", [None, *(each for each in VARIATIONS if each not in OTHER_KERNELS)], ids=str)
@pytest.mark.parametrize("name", ["onnxruntime", "torch"])
def test_two_executions_that_differ(name, variation):
    (case,) = (case for case in shipped().cases if case.id == "edge/batches-channels:equal-batches")
    variant = Variant(("Y",), variation)
    shown = reproduced(case, name, None)
    (plain,) = shown.case_run.results.values()
    model = (
        maxpool_model(12, dict(case.attributes), "float32", (1, *case.X.shape[1:]), ("Y",))
        if name == "onnxruntime"
        else b""
    )
    changed = replace(plain, request=replace(plain.request, outputs=("Y",), model=model))
    others = [WITH_INDICES, Y_ONLY] if variation is None else [variant.base, variant]
    judgements = {each: Judgement(Verdict.INCONSISTENT, (DivergenceKind.Y_DEPENDS_ON_INDICES,)) for each in others}
    run = replace(shown.case_run, results=dict(zip(others, (plain, changed), strict=True)), judgements=judgements)
    target = described(name)
    script = write_script(Reproduced(run, variant, target), TargetProfile(parse(name), target), "They differ", 6.0)
    assert "they must be the same" in script.text
    assert len(script.text.splitlines()) <= 60


def test_what_has_no_script_says_why():
    by_id = {case.id: case for case in shipped().cases}
    with pytest.raises(CannotWrite, match="it would have to build and compile a TFLite model"):
        write_script(
            reproduced(by_id[CASES[0]], "xmos", None), TargetProfile(parse("xmos"), described("xmos")), "x", 6.0
        )
