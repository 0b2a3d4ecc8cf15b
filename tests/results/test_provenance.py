"""What a record says a run was made with: files by their digests, the tool, the machine."""

import hashlib
import os
import platform
import shutil
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest
from msgspec.structs import replace

from maxpool_check.reporting import provenance
from maxpool_check.results.storage import read
from maxpool_check.specifications.clauses import edition_name
from tests.conftest import KERNELS, MISBEHAVING_WORKERS, ROOT, SMALL, command, misbehaving

SET = {"OMP_NUM_THREADS": "1", "LD_LIBRARY_PATH": "/nowhere", "ORT_API_TOKEN": "secret", "HOME_SWEET_HOME": "secret"}


def sha256(path):
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


def run(folder, *arguments, **variables):
    (folder / "small.yaml").write_text(SMALL)
    done = command("run", folder, "-k", "small:ordinary", "-o", folder / "record.jsonl", *arguments, **variables)
    return done, read(folder / "record.jsonl").header


def distributions(header):
    return {each.name: each for each in header.targets[0].environments[0].distributions}


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """What a run on the installed ONNX Runtime prints, and the header of its record."""
    folder = tmp_path_factory.mktemp("installed")
    reports = [f"--report={form}={folder}/report.{form}" for form in ("html", "markdown")]
    done, header = run(folder, "-t", "onnxruntime", "-v", *reports, **SET)
    return done.check(0), header, folder


def test_a_runtime_has_the_digests_of_its_list_of_files_and_of_its_libraries(installed):
    _, header, _ = installed
    (environment,) = header.targets[0].environments
    assert (environment.implementation, environment.version) == ("CPython", platform.python_version())
    assert environment.executable_sha256 == sha256(sys.executable)
    found = distributions(header)
    assert {"onnxruntime", "numpy", "ml-dtypes", "protobuf"} <= found.keys()
    assert "pytest" not in found
    runtime, itself = found["onnxruntime"], metadata.distribution("onnxruntime")
    assert runtime.version == header.targets[0].version
    assert "numpy" in runtime.requires
    assert any("libonnxruntime" in name or "onnxruntime_pybind11_state" in name for name in runtime.libraries)
    assert dict(runtime.libraries) == {name: sha256(itself.locate_file(name)) for name in runtime.libraries}
    assert (len(runtime.files_sha256), runtime.changed) == (64, ())


def test_the_machine_the_editions_and_the_variables_that_matter_are_there_and_no_secret(installed):
    _, header, _ = installed
    assert header.editions.keys() == header.profile.keys() == {"onnx-22"}
    assert header.editions["onnx-22"].name == edition_name("onnx-22")
    machine = header.machine
    assert (machine.kernel, machine.libc) == (platform.release(), " ".join(platform.libc_ver()).strip())
    assert machine.environment["OMP_NUM_THREADS"] == "1"
    assert machine.environment["LD_LIBRARY_PATH"] == "/nowhere"
    assert "secret" not in str(machine)
    assert machine.features
    assert sys.platform != "linux" or set(machine.features) <= set(Path("/proc/cpuinfo").read_text().split())


def test_reports_show_it_and_keep_paths_to_themselves(installed):
    done, header, folder = installed
    digests = distributions(header)["onnxruntime"].libraries.values()
    shown = {header.tool_files.sha256, "OMP_NUM_THREADS=1", "LD_LIBRARY_PATH (set)", *digests}
    for text in (done.out, *((folder / f"report.{form}").read_text() for form in ("html", "markdown"))):
        words = " ".join(text.replace("\\", "").split())
        assert {each for each in shown if each not in words} == set()
    assert "/nowhere" not in done.out


def test_reports_say_which_digests_are_missing_or_do_not_hold(installed):
    _, header, _ = installed
    (target,) = header.targets

    def files(**changed):
        """What reports say of the files of the target if its runtime was installed without a wheel that is known, and so."""
        runtime = replace(distributions(header)["onnxruntime"], wheel=None, wheel_sha256=None, **changed)
        environment = replace(target.environments[0], distributions=(runtime,))
        facts = dict(provenance.environment(header, [replace(target, environments=(environment,))]))
        return facts[f"files of {target.name}"]

    about = f"onnxruntime {target.version}"
    assert f"{about}, its list of files SHA-256 " in files()
    assert f"{about}, without a digest: no RECORD lists its files; on " in files(files_sha256=None, libraries={})
    names = ("a.so", *"bcdefg")
    said = f"{about} with 7 files missing or of another size than RECORD states: a.so, b, c, d, e, and 2 more; "
    assert said in files(changed=names)
    assert files().replace("; on ", f"; {said}on ") == files(changed=names)


def test_kernels_and_programs_have_the_digests_of_their_files(tmp_path):
    kernel = tmp_path / "kernel.py"
    headers = []
    for comment in ("", "", "# Another comment.\n"):
        kernel.write_text(KERNELS.read_text() + comment)
        headers.append(run(tmp_path, "-t", f"python:{kernel}:right")[1])
        assert headers[-1].targets[0].program == {str(kernel): sha256(kernel)}
    # The same command writes the same header but for its time.
    first, second, third = (str(header).replace(header.started, "") for header in headers)
    assert first == second != third
    _, header = run(tmp_path, "-t", misbehaving("says_its_name"))
    (target,) = header.targets
    assert target.program == {str(path): sha256(path) for path in (sys.executable, MISBEHAVING_WORKERS)}
    assert target.environments == ()


def own_files(root):
    """What the tool in this folder says of its own files."""
    program = "import maxpool_check.running.header as h; t = h.tool_files(); print(t.sha256, t.revision, t.modified)"
    environment = {**os.environ, "GIT_DIR": "/nowhere"}
    return subprocess.check_output([sys.executable, "-c", program], cwd=root, env=environment, text=True).split()


def git(root, *arguments):
    identity = ["-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "core.hooksPath=/nowhere"]
    return subprocess.check_output(["git", *identity, *arguments], cwd=root, text=True).strip()


def test_only_a_checkout_of_this_project_has_a_revision(tmp_path):
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "maxpool_check", tmp_path / "maxpool_check", ignore=ignored)
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "mine"\n')
    (tmp_path / ".gitignore").write_text("__pycache__/\n")
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-q", "-m", "All")
    digest, *of_a_user = own_files(tmp_path)
    assert of_a_user == ["None", "None"]
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    git(tmp_path, "commit", "-q", "-a", "-m", "It is the project now")
    commit = git(tmp_path, "rev-parse", "HEAD")
    (tmp_path / "README.md").write_text("Not of the package.\n")
    assert own_files(tmp_path) == [digest, commit, "False"]
    (tmp_path / "maxpool_check/new.py").write_text("")
    changed, *checkout = own_files(tmp_path)
    assert (changed != digest, checkout) == (True, [commit, "True"])


def test_a_library_that_changes_between_two_runs_of_a_process_is_noticed(kernel_target, tmp_path):
    packages = tmp_path / "packages"
    information = packages / "ml_dtypes-9.0.dist-info"
    information.mkdir(parents=True)
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: ml_dtypes\nVersion: 9.0\n")
    (information / "RECORD").write_text("fast.so,,12\nml_dtypes-9.0.dist-info/RECORD,,\n")
    for content, changed in (("machine code", ()), ("other machine code", ("fast.so",))):
        (packages / "fast.so").write_text(content)
        _, header = run(tmp_path, "-t", kernel_target("right"), PYTHONPATH=str(packages))
        found = distributions(header)["ml-dtypes"]
        assert (found.version, found.changed) == ("9.0", changed)
