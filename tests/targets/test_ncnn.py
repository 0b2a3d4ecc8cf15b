"""ncnn's Pooling layers through their adapter, on the real release."""

import pytest

from tests.conftest import CASES

NCNN = "ncnn==1.0.20261020"

pytestmark = pytest.mark.network


def run(cli, *arguments):
    done = cli("run", *arguments, "-t", NCNN, "--variants", "y-only", "--known", "none", "--report", "json")
    assert done.code in (0, 1), done.err
    return done.json


def by_case(document):
    return {result["case"]: result for result in document["results"]}


def test_ordinary_geometry_is_right_in_one_to_three_axes_and_in_batches(cli):
    paths = [CASES / f"edge/{name}.yaml" for name in ("batches-channels", "strides", "ceil-mode", "bfloat16")]
    document = run(cli, *paths)
    (target,) = document["targets"]
    assert (target["speaks"], target["provider"], target["indices"]) == ("ncnn", "CPU", None)
    assert not target["session_options"]["use_vulkan_compute"]
    results = by_case(document)
    verdicts = {result["verdict"] for result in results.values()}
    assert verdicts <= {"conforms", "not-expressible", "undefined"}, verdicts
    executed = [result for result in results.values() if result["verdict"] == "conforms"]
    assert len(executed) > 10
    assert results["edge/batches-channels:many-planes-float32"]["verdict"] == "conforms"
    # Windows rounded up are ncnn's full padding.
    assert any("pad_mode=0" in result["translation"][0] for result in executed)
    assert any("bfloat16" in result["case"] for result in executed)


def test_what_the_layers_do_not_have_is_not_executed(cli):
    results = by_case(run(cli, CASES / "edge/dilations.yaml", CASES / "edge/auto-pad.yaml"))
    messages = {result["message"] for result in results.values() if result["verdict"] == "not-expressible"}
    assert any("it has no dilation" in message for message in messages)
    assert any("it has no float16" in message for message in messages)


def test_same_lower_is_wrong_in_the_depth_alone(cli):
    results = by_case(run(cli, CASES / "edge/auto-pad.yaml"))
    wrong = {case for case, result in results.items() if result["verdict"] == "diverges"}
    assert wrong == {"edge/auto-pad:three-axes"}
    assert "pad_mode=3" in results["edge/auto-pad:three-axes"]["translation"][0]


@pytest.mark.parametrize(
    ("name", "message"),
    [(f"{NCNN}?precision=half", "unknown option precision; ncnn has none"), (f"{NCNN}@Vulkan", "ncnn runs on CPU only, not on Vulkan")],
)  # fmt: skip
def test_an_option_that_there_is_not(cli, name, message):
    done = cli("targets", "list", name)
    assert done.code == 3
    assert message in " ".join(done.out.split())


def test_a_reproduction_is_written_and_tried(cli, tmp_path):
    done = cli("repro", "edge/auto-pad:three-axes", "-t", NCNN, "-o", tmp_path / "r")
    assert done.code == 0, done.out + done.err
    assert "repro.py exits with 1 in a clean environment" in done.out
    assert "Pooling3D" in (tmp_path / "r/ISSUE.md").read_text()
    assert "how to reproduce | 复现步骤" in (tmp_path / "r/ISSUE.md").read_text()
