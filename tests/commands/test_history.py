"""``history`` and ``bisect`` of any runtime, and of releases that cannot be tested."""

import signal

import pytest

from tests.conftest import CASES

pytestmark = pytest.mark.network

SONNX = CASES / "sonnx/float.yaml"
GAPS = ("cases/edge/dilations.yaml", "-k", "edge/dilations:gaps")


def test_another_runtime_whose_old_releases_take_float32_alone(cli):
    done = cli("history", *GAPS, "-t", "tract", "--versions", "0.22.4..0.23,every=minor", "--report", "json")
    assert done.code == 0, done.err
    old, new = done.json["releases"]
    assert [release["version"] for release in (old, new)] == ["0.22.4", "0.23.9"]
    assert old["verdicts"] == {"diverges": 1, "not-expressible": 1}
    assert old["defects"] == {"TRACT-DILATIONS-IGNORED": 1}
    assert new["verdicts"] == {"conforms": 2}
    assert done.json["distribution"] == "tract"


def test_a_bisection_of_another_runtime(cli):
    done = cli(
        "bisect", "edge/dilations:gaps", "-t", "tract", "--from", "0.23.7", "--to", "0.23.8",
        "--variant", "y-only",
    )  # fmt: skip
    assert done.code == 0, done.err
    assert "last 0.23.7 diverges (dilation-ignored), first 0.23.8 conforms" in done.out


@pytest.mark.parametrize("form", ["text", "markdown", "html", "github", "junit"])
def test_releases_that_cannot_be_started_are_listed_with_the_reason(cli, form):
    target = "onnxruntime@CUDAExecutionProvider"
    done = cli("history", SONNX, "-t", target, "--versions", "1.31..1.31.1,every=minor", "--report", form)
    assert done.code == 3
    assert "1.31.1: onnxruntime==1.31.1@CUDAExecutionProvider cannot be started: " in done.err
    assert "cannot be started" in " ".join(done.out.split())
    # What to remove from the cache of this machine is nothing for a report.
    assert "environments" not in done.out + done.err


def test_a_bisection_without_a_release_that_starts_says_why(cli):
    case = "sonnx/float:float-example-3"
    target = "onnxruntime@CUDAExecutionProvider"
    done = cli("bisect", case, "-t", target, "--from", "1.31", "--to", "1.31.1")
    assert done.code == 3
    assert "cannot be started" in done.out
    assert "environments" not in done.out + done.err


def test_an_interrupted_history_shows_what_was_tested(begun, tmp_path):
    report = tmp_path / "history.md"
    process = begun("history", "cases/sonnx", "--versions", "1.28..1.31", "--report", f"markdown={report}")
    assert process.stderr.readline().startswith("1.28.0: ")
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=300)
    assert process.returncode == 130, err
    assert "Traceback" not in err
    for text in (out, report.read_text()):
        assert "1.28.0" in text
        assert "1.31.1 was skipped: interrupted" in text
