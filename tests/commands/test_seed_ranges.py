"""``fuzz`` from a range of seeds, in several processes and on a cluster."""

import os
import signal
import socket

import pytest

from tests.conftest import KERNELS, all_end, children, eventually, misbehaving

CASES = 12


def found(folder):
    return {path.name: path.read_text() for path in sorted(folder.glob("*.yaml"))}


def fuzz(cli, folder, *arguments, cases=CASES, **variables):
    return cli("fuzz", "-o", folder, "--max-cases", cases, *arguments, **variables)


def shown(done, folder):
    return done.out.replace(str(folder), "FOLDER"), done.err, done.code, found(folder)


def below(process):
    """The processes that a command has started, and those that they have."""
    own = children(process.pid)
    return own | children(*own)


@pytest.mark.long
def test_a_range_is_its_seeds_one_after_the_other_for_any_number_of_processes(cli, kernel_target, tmp_path):
    target = ("-t", kernel_target("keeps_the_seed"), "-t", kernel_target("pads_with_zero"))
    together = {}
    for seed in range(3):
        done = fuzz(cli, tmp_path / f"seed-{seed}", *target, "--seed", seed)
        assert (done.code, done.err) == (1, "")
        # A file is named after what it shows.
        together = {**found(tmp_path / f"seed-{seed}"), **together}
    several = [
        shown(fuzz(cli, tmp_path / f"jobs-{jobs}", *target, "--seed", "0..2", "-j", jobs), tmp_path / f"jobs-{jobs}")
        for jobs in (1, 3)
    ]
    assert several[1:] == several[:-1]
    out, err, code, files = several[0]
    assert (code, err) == (1, "")
    assert files == together
    assert len({seed for seed in range(3) if any(f"--seed {seed}," in text for text in files.values())}) > 1
    assert f"{len(files)} new in {3 * CASES} cases of onnx-22, seeds 0..2" in out


@pytest.mark.long
def test_the_installed_runtime_in_two_processes(cli, tmp_path):
    folders = tmp_path / "one", tmp_path / "two"
    one, two = (
        shown(fuzz(cli, folder, "--known", "none", "--seed", "7..8", "-j", jobs), folder)
        for jobs, folder in zip((1, 2), folders, strict=True)
    )
    assert one == two
    assert one[2] == 1


@pytest.mark.long
def test_a_cluster_finds_the_same(process, kernel_target, tmp_path, cluster):
    dask = {"MAXPOOL_CHECK_DASK": cluster.scheduler_address}
    pids = [worker.pid for worker in cluster.workers.values()]
    for here, there in (("3..4", "3..4"), ("3", "3..3")):
        target = ("-t", kernel_target("keeps_the_seed"), "--seed")
        folders = tmp_path / f"here-{here}", tmp_path / f"there-{there}"
        assert shown(fuzz(process, folders[0], *target, here), folders[0]) == shown(
            fuzz(process, folders[1], *target, there, **dask), folders[1]
        )
        assert found(folders[1])
    assert eventually(lambda: not children(*pids))


def test_what_was_found_before_is_new_from_no_seed(cli, kernel_target, tmp_path):
    arguments = (tmp_path / "found", "-t", kernel_target("keeps_the_seed"), "--seed", "0..1", "-j", "2")
    assert fuzz(cli, *arguments, cases=5).code == 1
    before = found(tmp_path / "found")
    again = fuzz(cli, *arguments, cases=5)
    assert (again.code, found(tmp_path / "found")) == (0, before)
    assert "nothing new in 10 cases of onnx-22, seeds 0..1" in again.out


def test_a_target_that_cannot_be_started_is_told_once(cli, kernel_target, tmp_path):
    done = fuzz(cli, tmp_path / "found", "-t", kernel_target("absent"), "--seed", "0..9", "-j", "2")
    assert done.code == 3
    assert done.err.count("no function 'absent'") == 1
    assert "not searched to the end: 0, 1, 2" in done.err
    assert done.out == "INCOMPLETE nothing new in 0 cases of onnx-22, seeds 0..9\n"


def test_each_seed_says_that_it_gave_a_target_up(cli, tmp_path):
    done = fuzz(cli, tmp_path / "found", "-t", misbehaving("dies"), "--seed", "0..1", "-j", "2")
    assert done.code == 3
    for seed in (0, 1):
        assert f"error: seed {seed}: {misbehaving('dies')} was given up after" in done.err
    assert any("crash" in name for name in found(tmp_path / "found"))
    assert done.out.splitlines()[-1].startswith("INCOMPLETE ")


def test_a_process_that_is_lost_is_an_error_that_names_the_seeds(begun, kernel_target, tmp_path):
    process = begun(
        "fuzz", "-t", kernel_target("keeps_the_seed"), "--max-cases", "20", "--seed", "0..9999", "-j", "2",
        "-o", tmp_path / "found",
    )  # fmt: skip
    assert eventually((tmp_path / "found").exists)
    started = below(process)
    os.kill(max(pid for pid in children(process.pid) if children(pid)), signal.SIGKILL)
    out, err = process.communicate(timeout=300)
    assert process.returncode == 3, err
    assert "error: the worker processes are gone" in err
    first, *_, more = err.splitlines()[-1].removeprefix("not searched to the end: ").split(", ")
    assert int(first) > 0
    assert more.endswith(" more")
    assert out.splitlines()[-1].startswith("INCOMPLETE ")
    assert all_end(started)


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


def test_ctrl_c_ends_every_process_and_says_what_was_found(begun, tmp_path):
    (tmp_path / "hanging").mkdir()
    (tmp_path / "kernel.py").write_text(HANGING.format(kernels=str(KERNELS.parent), folder=str(tmp_path / "hanging")))
    process = begun(
        "fuzz", "-t", f"python:{tmp_path / 'kernel.py'}:kernel", "--seed", "0..5", "-j", "2",
        "-o", tmp_path / "found", MAXPOOL_CHECK_TIMEOUT="300",
    )  # fmt: skip
    assert eventually(lambda: len(list((tmp_path / "hanging").iterdir())) == 2)
    started = below(process)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=300)
    assert process.returncode == 130, err
    assert "Traceback" not in err
    assert "not searched to the end: 0, 1, 2, 3, 4, 5" in err
    files = found(tmp_path / "found")
    assert files
    assert out.splitlines()[-1].startswith(f"INTERRUPTED {len(files)} new in ")
    assert all_end(started)


def test_the_processes_end_with_the_command_that_started_them(begun, kernel_target, tmp_path):
    process = begun(
        "fuzz", "-t", kernel_target("right"), "--seed", "0..9", "-j", "2", "--max-time", "300", "-o", tmp_path / "found"
    )
    assert eventually(lambda: len(below(process)) >= 4)
    started = below(process)
    process.kill()
    process.communicate()
    assert all_end(started)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--seed", "3..1"], "'3..1' is neither a seed"),
        (["--seed", "1.."], "'1..' is neither a seed"),
        (["--seed", "x"], "'x' is neither a seed"),
    ],
)
def test_wrong_options_of_fuzz(cli, kernel_target, tmp_path, arguments, words):
    done = fuzz(cli, tmp_path / "found", "-t", kernel_target("right"), *arguments)
    assert done.code == 2
    assert words in done.err


@pytest.mark.long
def test_a_scheduler_that_is_not_there(process, tmp_path):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{free.getsockname()[1]}"
    done = process("fuzz", "--seed", "0..1", "-o", tmp_path / "out", MAXPOOL_CHECK_DASK=address)
    assert done.code == 3
    assert f"the dask scheduler {address} cannot be reached" in done.err
    assert "Traceback" not in done.err
