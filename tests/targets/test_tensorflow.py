"""TensorFlow and LiteRT through their adapters."""

import pytest

from tests.conftest import CASES


def run(cli, target, *patterns, paths=("edge",)):
    selected = [option for pattern in patterns for option in ("-k", pattern)]
    done = cli("run", *[CASES / path for path in paths], *selected, "-t", target, "--known", "none", "--report", "json")
    assert done.code in (0, 1, 4), done.err
    return done.json


def by_case(document):
    return {(result["case"], result["variant"]): result for result in document["results"]}


GEOMETRY = ("edge/strides:*", "edge/batches-channels:*", "edge/auto-pad:*", "edge/windows-in-padding:*")


@pytest.mark.network
@pytest.mark.parametrize(("xnnpack", "provider"), [("1", "XNNPACK"), ("0", "CPU")])
def test_litert_is_right_in_ordinary_geometry_by_the_engine_that_is_named(cli, xnnpack, provider):
    document = run(cli, f"litert==2.3.0?xnnpack={xnnpack}", *GEOMETRY)
    (target,) = document["targets"]
    assert (target["provider"], target["indices"], target["speaks"]) == (provider, None, "tflite")
    assert target["summary"]["conforms"] > 10
    assert not target["summary"]["diverges"] + target["summary"]["error"]


@pytest.mark.network
def test_what_xnnpack_does_not_take_is_not_executed_by_the_built_in_kernel(cli):
    # XNNPACK takes no stride larger than the window.
    case = "edge/auto-pad:stride-over-kernel-2d", "y-only"
    shown = by_case(run(cli, "litert==2.3.0", "edge/auto-pad:stride-over-kernel-2d"))[case]
    assert (shown["verdict"], shown["message"].partition(";")[0]) == ("not-expressible", "XNNPACK does not take it")
    assert (
        by_case(run(cli, "litert==2.3.0?xnnpack=0", "edge/auto-pad:stride-over-kernel-2d"))[case]["verdict"]
        == "conforms"
    )


@pytest.mark.network
def test_litert_has_a_mistake_in_each_of_its_kernels(cli):
    patterns = ("edge/neg-inf:one-cell", "edge/subnormals:above-zero-float32")
    kinds = {
        provider: {name[0]: result["kinds"] for name, result in by_case(run(cli, target, *patterns)).items() if name[1] == "y-only"}
        for provider, target in (("XNNPACK", "litert==2.3.0@XNNPACK"), ("CPU", "litert==2.3.0@CPU"))
    }  # fmt: skip
    assert kinds == {
        "XNNPACK": {"edge/neg-inf:one-cell": [], "edge/subnormals:above-zero-float32": ["y-flushed-subnormal"]},
        "CPU": {"edge/neg-inf:one-cell": ["y-lowest-for-neg-inf"], "edge/subnormals:above-zero-float32": []},
    }


@pytest.mark.network
@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("litert==2.3.0?xnnpack=2", "xnnpack must be 1 or 0, got 2"),
        ("litert==2.3.0?threads=2", "unknown option threads; LiteRT has xnnpack"),
        ("litert==2.3.0@CPU?xnnpack=1", "xnnpack=1 is not CPU; leave out one of them"),
        ("litert==2.3.0@GPU", "LiteRT runs on XNNPACK or CPU only, not on GPU"),
    ],
)
def test_a_bad_option_of_litert(cli, target, message):
    done = cli("targets", "list", target)
    assert done.code == 3
    assert (f"cannot be started: {message}" in done.out, "damaged" in done.out) == (True, False)


@pytest.mark.network
def test_a_reproduction_for_litert_is_written_and_tried(cli, tmp_path):
    done = cli("repro", "edge/neg-inf:one-cell", "-t", "litert==2.3.0?xnnpack=0", "-o", tmp_path / "r")
    assert done.code == 0, done.out + done.err
    assert "repro.py exits with 1 in a clean environment" in done.out
    assert "BUILTIN_WITHOUT_DEFAULT_DELEGATES" in (tmp_path / "r/repro.py").read_text()


INDICES = ("edge/batches-channels:*", "edge/ties:*", "edge/auto-pad:*")


@pytest.mark.runtimes
@pytest.mark.parametrize(("option", "indices"), [("0", "image-channels-last"), ("1", "whole-channels-last")])
def test_the_indices_of_tensorflow_are_right_when_converted(cli, option, indices):
    document = run(cli, f"tensorflow==2.21.0?include_batch_in_index={option}", *INDICES)
    (target,) = document["targets"]
    assert (target["indices"], target["speaks"]) == (indices, "tensorflow")
    assert not target["summary"]["diverges"] + target["summary"]["error"]
    converted = [
        result
        for (_, variant), result in by_case(document).items()
        if variant == "indices" and result["verdict"] == "conforms"
    ]
    assert len(converted) > 5
    assert all(
        "converted to the whole tensor with the channels first" in result["translation"][-1] for result in converted
    )


@pytest.mark.runtimes
def test_tensorflow_pads_explicitly_and_starts_from_the_lowest_value(cli):
    document = run(cli, "tensorflow==2.21.0?onednn=0", "edge/asymmetric-pads:*", "edge/neg-inf:one-cell")
    shown = {name: result["kinds"] for name, result in by_case(document).items() if result["kinds"]}
    assert shown == {("edge/neg-inf:one-cell", "y-only"): ["y-lowest-for-neg-inf"]}
    assert document["targets"][0]["summary"]["conforms"] > 5
