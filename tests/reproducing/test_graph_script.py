"""Scripts of graphs: they accept what the judge accepts, on the installed ONNX Runtime."""

import functools
import itertools
import subprocess
import sys

import numpy as np
import pytest

from maxpool_check.fuzzing.generation import generate
from maxpool_check.reference.dtypes import same
from maxpool_check.reference.numbering import Layout
from maxpool_check.reproducing.accepted import accepted_of_graph, expected
from maxpool_check.reproducing.reproduced import Reproduced
from maxpool_check.reproducing.writing import write_script
from maxpool_check.results.record import Verdict
from maxpool_check.results.variants import INDICES_ONLY, WITH_INDICES, Y_ONLY, Variant
from maxpool_check.running.case_run import run_case
from maxpool_check.targets.name import parse
from maxpool_check.targets.session import TargetSession
from maxpool_check.targets.target import Target


@functools.cache
def drawn():
    """150 graphs, drawn where a test needs them."""
    return list(itertools.islice(generate("onnx-22", 7, graphs=1), 150))


def variant_of(case) -> Variant:
    return {("Y",): Y_ONLY, ("Indices",): INDICES_ONLY}.get(case.outputs, WITH_INDICES)


def test_the_outputs_of_the_reference_are_accepted():
    for case in drawn():
        oracle, variant = case.oracle(), variant_of(case)
        accepted = accepted_of_graph(oracle, variant)[0]
        outputs = expected(oracle, variant, Layout.CHANNELS_FIRST)
        assert list(accepted) == list(outputs) == [*variant.outputs, *case.context.side_outputs]
        for name, tensor in outputs.items():
            assert (accepted[name].dtype, accepted[name].shape) == (tensor.dtype.name, tensor.shape)
            for value, values in zip(tensor.reshape(-1), accepted[name].cells, strict=True):
                assert not values or any(same(np.array(value), np.array(other)) for other in values)


@pytest.fixture(scope="module")
def session():
    with TargetSession(Target(parse("onnxruntime"), 10.0)) as started:
        yield started


@pytest.mark.long
def test_scripts_of_graphs_that_conform_say_so(session, tmp_path):
    is_of_file = []
    for case in drawn():
        case_run = run_case(session, case)
        if any(judgement.verdict is not Verdict.CONFORMS for judgement in case_run.judgements.values()):
            continue
        reproduced = Reproduced(case_run, variant_of(case), session.profile.description)
        (tmp_path / "model.onnx").write_bytes(reproduced.request.model)
        text = write_script(reproduced, session.profile, "A graph that is right", 10.0).text
        (tmp_path / "repro.py").write_text(text)
        done = subprocess.run(
            [sys.executable, tmp_path / "repro.py"], capture_output=True, text=True, check=False, cwd=tmp_path.parent
        )
        assert (done.returncode, "wrong at: no level" in done.stdout) == (0, True), text + done.stdout
        assert done.stdout.startswith(f"ONNX Runtime {session.profile.description.version}\n")
        is_of_file.append("onnx.load" in text)
        if len(is_of_file) >= 5 and any(is_of_file):
            break
    # Most models are built by the script; those with nodes inside of others are in the file beside it.
    assert 0 < is_of_file.count(True) < len(is_of_file) / 2
