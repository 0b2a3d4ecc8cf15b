"""``maxpool-check fuzz``: from one seed or a range of them, in several processes and on a cluster."""

import re
import signal

import pytest
import yaml

from maxpool_check.corpus.collection import collect
from tests.conftest import KERNELS, all_end, children, eventually, known_defect, misbehaving, replying

RIGHT, SEED, ABSENT, ACCEPTS = (
    f"python:{KERNELS}:{name}" for name in ("right", "keeps_the_seed", "absent", "accepts_everything")
)


def found(folder):
    return {path.name: path.read_text() for path in sorted(folder.glob("*.yaml"))}


def fuzz(cli, folder, *arguments, cases=100, **variables):
    return cli("fuzz", "-o", folder, "--max-cases", cases, *arguments, **variables)


def test_a_kernel_that_keeps_the_seed_is_found_out_and_made_small(cli, tmp_path):
    fuzz(cli, tmp_path / "found", "-t", SEED).check(1)
    cases = {case.id.partition(":")[2]: case for case in collect([tmp_path / "found"]).cases}
    assert {"indices-sentinel+y-lowest-for-neg-inf-indices", "y-lowest-for-neg-inf-y-only"} <= set(cases)
    assert cases["y-lowest-for-neg-inf-y-only"].X.size == 1
    # They are ordinary cases, and show what they say.
    run = cli("run", tmp_path / "found", "-t", SEED, "-q", "-o", "-")
    kinds = {result["case"].partition(":")[2]: result["kinds"] for result in run.results if result["kinds"]}
    assert kinds["y-lowest-for-neg-inf-y-only"] == ("y-lowest-for-neg-inf",)
    about = yaml.safe_load(next(iter(found(tmp_path / "found").values())))["about"]
    for words in ("--seed 0", "keeps_the_seed", "numpy ", "onnx-22"):
        assert words in about


def test_what_is_known_of_the_target_with_the_same_kinds_is_not_new(cli, tmp_path):
    about = {"cases": ["other:case"], "kinds": ["accepts-invalid"]}
    # What is expected of other kinds says nothing of these, nor what is expected of another target.
    for number, changes in enumerate(({}, {"kinds": ["crash"]}, {"runtime": "onnxruntime"})):
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / "known-divergences.yaml").write_text(known_defect("e", **{**about, **changes}))
        fuzz(cli, folder / "found", "--only", "invalid", "-t", ACCEPTS, cases=10).check(1 if changes else 0)


@pytest.mark.parametrize("spec", ["onnx-22", "openvino-14"])
def test_nothing_is_found_in_a_kernel_that_is_right(spec, cli, tmp_path):
    fuzz(cli, tmp_path / "found", "-t", RIGHT, "--spec", spec).check(0, "0 of 100 cases diverge", err="")
    assert not (tmp_path / "found").exists()


def test_graphs_that_must_be_refused(cli, tmp_path):
    done = fuzz(cli, tmp_path / "found", "--only", "invalid", "-t", ACCEPTS, "-t", RIGHT, cases=30)
    done.check(1, "accepts-invalid on python", "kernels.py:right: 0 of 30 cases diverge")
    assert {*found(tmp_path / "found")} == {f"accepts-invalid-{each}-python.yaml" for each in ("indices", "y-only")}


def test_what_was_found_before_is_new_from_no_seed(cli, tmp_path):
    arguments = (tmp_path / "found", "-t", SEED, "--seed", "0..1", "-j", "2")
    assert fuzz(cli, *arguments, cases=20).code == 1
    before = found(tmp_path / "found")
    fuzz(cli, *arguments, cases=20).check(0, "nothing new in 40 cases of onnx-22, seeds 0..1")
    assert found(tmp_path / "found") == before


def test_a_target_that_cannot_be_started_is_told_once(cli, tmp_path):
    done = fuzz(cli, tmp_path / "found", "-t", ABSENT, "--seed", "0..9", "-j", "2").check(3)
    assert done.err.count("no function 'absent'") == 1
    assert "not searched to the end: 0, 1, 2" in done.err
    assert done.out == "INCOMPLETE nothing new in 0 cases of onnx-22, seeds 0..9\n"


@pytest.mark.parametrize("seeds", ["0", "0..1"])
def test_each_seed_says_that_it_gave_a_target_up(cli, tmp_path, seeds):
    jobs = "2" if ".." in seeds else "1"
    done = fuzz(cli, tmp_path / "found", "-t", misbehaving("dies"), "--seed", seeds, "-j", jobs).check(3)
    for prefix in ("seed 0: ", "seed 1: ") if ".." in seeds else ("seed 0: ",):
        assert f"error: {prefix}{misbehaving('dies')} was given up: 20 deaths in a row" in done.err
    # What was found until then is there.
    assert any("crash" in name for name in found(tmp_path / "found"))


HANGING = """
import sys, time
sys.path.insert(0, {kernels!r})
import kernels

asked = 0

def kernel(X, attributes):
    global asked
    asked += 1
    if asked == 400:
        open({folder!r} + "/" + str(time.time_ns()), "w").close()
        time.sleep(600)
    return kernels.keeps_the_seed(X, attributes)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_signal_ends_every_process_and_ctrl_c_says_what_was_found(begun, tmp_path, number):
    (tmp_path / "hanging").mkdir()
    (tmp_path / "kernel.py").write_text(HANGING.format(kernels=str(KERNELS.parent), folder=str(tmp_path / "hanging")))
    target = ("-t", f"python:{tmp_path / 'kernel.py'}:kernel", "--seed", "0..5", "-j", "2")
    process = begun("fuzz", *target, "-o", tmp_path / "found", MAXPOOL_CHECK_TIMEOUT="300")
    assert eventually(lambda: len(list((tmp_path / "hanging").iterdir())) == 2)
    started = children(process.pid)
    started |= children(*started)
    assert len(started) >= 4
    process.send_signal(number)
    out, err = process.communicate(timeout=300)
    if number == signal.SIGINT:
        assert (process.returncode, "Traceback" in err) == (130, False)
        assert "not searched to the end: 0, 1, 2, 3, 4, 5" in err
        files = found(tmp_path / "found")
        assert files
        assert out.splitlines()[-1].startswith(f"INTERRUPTED {len(files)} new in ")
    assert all_end(started)


def test_failed_executions_are_counted_and_nothing_new_is_then_incomplete(cli, tmp_path):
    target = replying({"type": "failed", "message": "out of memory"}, dtypes=["float32"])
    done = fuzz(cli, tmp_path / "found", "-t", target, "--max-cases", "5").check(3)
    assert re.search(r": 0 of 5 cases diverge; [1-5] cases? failed; nothing was compared", done.out), done.out
