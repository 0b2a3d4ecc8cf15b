"""``maxpool-check fuzz``."""

import json

import pytest
import yaml

from maxpool_check.corpus.collection import collect
from tests.conftest import misbehaving


def found(folder):
    return {path.name: path.read_text() for path in sorted(folder.glob("*.yaml"))}


def fuzz(cli, folder, *arguments, cases=300):
    return cli("fuzz", "-o", folder, "--max-cases", cases, *arguments)


def test_a_kernel_that_keeps_the_seed_is_found_out_and_made_small(cli, kernel_target, tmp_path):
    done = fuzz(cli, tmp_path / "found", "-t", kernel_target("keeps_the_seed"), cases=100)
    assert done.code == 1, done.err
    cases = {case.id.partition(":")[2]: case for case in collect([tmp_path / "found"]).cases}
    assert {"indices-sentinel+y-lowest-for-neg-inf-indices", "y-lowest-for-neg-inf-y-only"} <= set(cases)
    assert cases["y-lowest-for-neg-inf-y-only"].X.size == 1
    # They are ordinary cases, and show what they say.
    run = cli("run", tmp_path / "found", "-t", kernel_target("keeps_the_seed"), "--report", "json").json
    kinds = {result["case"].partition(":")[2]: result["kinds"] for result in run["results"] if result["kinds"]}
    assert kinds["y-lowest-for-neg-inf-y-only"] == ["y-lowest-for-neg-inf"]
    about = yaml.safe_load(next(iter(found(tmp_path / "found").values())))["about"]
    for words in ("--seed 0", "keeps_the_seed", "numpy ", "onnx-22"):
        assert words in about


@pytest.mark.long
def test_the_same_seed_finds_the_same(cli, kernel_target, tmp_path):
    for folder in ("a", "b"):
        assert fuzz(cli, tmp_path / folder, "-t", kernel_target("keeps_the_seed"), "--seed", "5").code == 1
    assert found(tmp_path / "a") == found(tmp_path / "b")


@pytest.mark.long
def test_what_was_found_before_is_not_new(cli, kernel_target, tmp_path):
    arguments = (tmp_path / "found", "-t", kernel_target("keeps_the_seed"))
    assert fuzz(cli, *arguments, cases=100).code == 1
    before = found(tmp_path / "found")
    again = fuzz(cli, *arguments, cases=100)
    assert (again.code, found(tmp_path / "found")) == (0, before)
    assert "nothing new in 100 cases" in again.out
    # What another kernel shows is new, beside it.
    assert fuzz(cli, tmp_path / "found", "-t", kernel_target("pads_with_zero"), cases=100).code == 1
    assert len(found(tmp_path / "found")) > len(before)


@pytest.mark.long
def test_what_is_known_of_the_target_with_the_same_kinds_is_not_new(cli, kernel_target, tmp_path):
    target = ("-t", kernel_target("counts_in_the_plane"))
    assert fuzz(cli, tmp_path / "found", *target).code == 1
    run = cli("run", tmp_path / "found", *target, "--report", "json").json
    shown = {(result["variant"], tuple(result["kinds"])) for result in run["results"] if result["kinds"]}
    entries = [
        {"id": f"e{number}", "when": "python", "cases": ["other:case"], "kinds": list(kinds), "variants": [variant],
         "reason": "reviewed"}
        for number, (variant, kinds) in enumerate(sorted(shown))
    ]  # fmt: skip
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    (corpus / "known-divergences.yaml").write_text(json.dumps({"known": entries}))
    assert fuzz(cli, corpus / "found", *target).code == 0
    assert not (corpus / "found").exists()
    assert fuzz(cli, corpus / "found", *target, "--known", "none").code == 1
    # An entry of other kinds says nothing of these, nor does one of another target.
    for changed in ({"kinds": ["crash"]}, {"when": "onnxruntime"}):
        known = tmp_path / "known.yaml"
        known.write_text(json.dumps({"known": [{**entry, **changed} for entry in entries]}))
        assert fuzz(cli, tmp_path / f"out-{len(str(changed))}", *target, "--known", known).code == 1


@pytest.mark.parametrize("spec", ["onnx-22", "openvino-14"])
def test_nothing_is_found_in_a_kernel_that_is_right(spec, cli, kernel_target, tmp_path):
    done = fuzz(cli, tmp_path / "found", "-t", kernel_target("right"), "--spec", spec, cases=100)
    assert (done.code, done.err) == (0, "")
    assert "0 of 100 cases diverge" in done.out
    assert not (tmp_path / "found").exists()


def test_graphs_that_must_be_refused(cli, kernel_target, tmp_path):
    done = cli(
        "fuzz", "--only", "invalid", "-o", tmp_path / "found", "--max-cases", "30",
        "-t", kernel_target("accepts_everything"), "-t", kernel_target("right"),
    )  # fmt: skip
    assert done.code == 1
    assert "accepts-invalid on python" in done.out
    assert "kernels.py:right: 0 of 30 cases diverge" in done.out
    assert {case.id.partition(":")[2] for case in collect([tmp_path / "found"]).cases} == {
        "accepts-invalid-indices", "accepts-invalid-y-only",
    }  # fmt: skip


def test_a_target_that_always_dies_is_given_up(cli, tmp_path):
    done = fuzz(cli, tmp_path / "found", "-t", misbehaving("dies"))
    assert done.code == 3
    assert "was given up after" in done.err
    # What was found until then is there.
    assert any("crash" in name for name in found(tmp_path / "found"))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--spec", "onxx-22"], "unknown specification 'onxx-22' (did you mean 'onnx-22'?)"),
        (["--max-cases", "0"], "--max-cases"),
        (["--known", "x.yaml", "--known", "none"], "contradict"),
        (["-t", "nope"], "unknown runtime 'nope'"),
    ],
)
def test_wrong_options(arguments, words, cli, tmp_path):
    done = cli("fuzz", "-o", tmp_path / "found", *arguments)
    assert done.code == 2
    assert words in done.err
    assert not (tmp_path / "found").exists()


@pytest.mark.long
@pytest.mark.network
def test_the_defects_of_a_release_from_scratch(cli, tmp_path):
    done = cli("fuzz", "-t", "onnxruntime==1.23.2", "--known", "none", "--max-cases", "200", "-o", tmp_path / "found")
    assert done.code == 1
    for kinds in ("indices-sentinel, y-lowest-for-neg-inf on", "indices-sentinel on"):
        assert kinds in done.out


@pytest.mark.long
def test_the_defects_of_the_installed_release_from_scratch(cli, tmp_path):
    from importlib.metadata import version

    if version("onnxruntime") != "1.31.1":
        pytest.skip("about the installed ONNX Runtime 1.31.1")
    done = cli("fuzz", "--known", "none", "--max-cases", "1000", "-o", tmp_path / "found")
    assert done.code == 1
    assert "y-lowest-for-neg-inf on onnxruntime (y-only)" in done.out
    same = [
        case for case in collect([tmp_path / "found"]).cases if str(case.attributes.get("auto_pad")).startswith("SAME")
    ]
    assert any("dilations" in case.attributes for case in same)
