"""Workers and all that they start end with the tool, however it ends, and import nothing of the user's folder."""

import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from maxpool_check.targets.process import Worker
from tests.conftest import KERNELS, MISBEHAVING_WORKERS, ROOT, all_end, children, environment, eventually, misbehaving

CASES = """\
cases:
  - id: a$i
    matrix: {i: [1, 2, 3]}
    input: {dtype: float32, shape: [1, 1, 2, 3], arange: {start: -9}}
    attributes: {kernel_shape: [2, 2]}
"""


@pytest.fixture
def corpus(tmp_path):
    folder = tmp_path / "corpus"
    folder.mkdir()
    (folder / "c.yaml").write_text(CASES)
    return folder


@pytest.fixture
def family(tmp_path):
    """The file that workers write the numbers of processes to; those that live at the end of the test are killed."""
    path = tmp_path / "family"
    path.touch()
    yield path
    for pid in pids(path):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def pids(path):
    return set(map(int, path.read_text().split()))


@pytest.fixture
def not_ignored():
    """What a background job or nohup ignores would be ignored by the programs that a test starts."""
    kept = {number: signal.signal(number, signal.SIG_DFL) for number in (signal.SIGHUP, signal.SIGQUIT)}
    yield
    for number, handler in kept.items():
        signal.signal(number, handler)


@pytest.mark.usefixtures("not_ignored")
@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGQUIT, signal.SIGKILL])
def test_no_process_outlives_the_tool(begun, corpus, family, number, jobs):
    target = misbehaving("has_a_family")
    process = begun("run", corpus, "-t", target, "-j", str(jobs), "--timeout", "300", FAMILY=str(family))
    assert eventually(lambda: len(pids(family)) >= 2)
    process.send_signal(number)
    _, err = process.communicate(timeout=300)
    assert all_end(pids(family))
    assert process.returncode == (130 if number != signal.SIGKILL else -signal.SIGKILL)
    assert ("interrupted" in err) == (number != signal.SIGKILL)
    assert "Traceback" not in err


def test_a_tool_that_ignores_sighup_goes_on(corpus, kernel_target):
    shell = ["/bin/sh", "-c", 'trap "" HUP; exec "$@"', "sh"]
    command = [*shell, sys.executable, "-m", "maxpool_check", "run", corpus, "-t", kernel_target("takes_its_time")]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, cwd=ROOT, env=environment())
    assert eventually(lambda: children(process.pid))
    process.send_signal(signal.SIGHUP)
    process.communicate(timeout=300)
    assert process.returncode == 0


def test_a_daemon_of_a_worker_ends_with_the_run(cli, corpus, family):
    done = cli("run", corpus, "-t", misbehaving("leaves_a_daemon"), FAMILY=str(family))
    assert done.code == 4, done.err  # it gives no outputs
    assert len(pids(family)) == 1
    assert all_end(pids(family))


def test_a_worker_ends_with_the_process_that_guards_it(begun, corpus, family):
    arguments = [sys.executable, "-S", str(MISBEHAVING_WORKERS), "has_a_family"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FAMILY", str(family))
        worker = Worker(arguments, {}, isolated=False)
    try:
        worker.write(b"{}\n")
        worker.flush()
        assert eventually(lambda: len(pids(family)) == 2)
        daemon = {pid for pid in pids(family) if os.getsid(pid) != pid}
        os.kill(worker.pid, signal.SIGKILL)
        assert all_end(pids(family) - daemon)
    finally:
        worker.close()


@pytest.mark.parametrize("jobs", [1, 2])
def test_nothing_is_imported_from_the_users_folder(tmp_path, corpus, jobs):
    folder = tmp_path / "hostile"
    folder.mkdir()
    for name in {*sys.stdlib_module_names, "numpy", "worker", "ml_dtypes", "onnxruntime"}:
        (folder / f"{name}.py").write_text(f"raise SystemExit('{name} was imported from the current folder')")
    targets = ["onnxruntime", f"python:{KERNELS}:right", f"onnxruntime?python={sys.executable}"]
    words = [word for target in targets for word in ("-t", target)]
    command = [Path(sys.executable).with_name("maxpool-check"), "run", corpus, *words, "-j", str(jobs)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, env=environment(), check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "current folder" not in done.stdout + done.stderr


def test_python_m_imports_nothing_from_the_users_folder(tmp_path, corpus):
    # What Python itself imports for -m, it takes from there.
    for name in ("struct", "signal", "selectors", "json", "worker"):
        (tmp_path / f"{name}.py").write_text(f"raise SystemExit('{name} was imported from the current folder')")
    command = [sys.executable, "-m", "maxpool_check", "run", corpus, "-t", f"python:{KERNELS}:right", "-j", "2"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment(), check=False)
    assert done.returncode == 0, done.stdout + done.stderr
