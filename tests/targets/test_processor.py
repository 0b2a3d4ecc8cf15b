"""The processor that executes belongs to the result: of each target its own, and known defects may be bound to one."""

import platform
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from maxpool_check.results.details import ARCHITECTURES, INSTRUCTION_SETS, Processor
from maxpool_check.results.storage import read
from tests.conftest import ROOT

EXAMPLE = ROOT / "maxpool_check/docs/examples/maxpool.py"
HASWELL = {"architecture": "x86_64", "model": "Haswell", "features": ["sse4.1", "avx", "avx2"]}
NEG_INF = """\
cases:
  - {id: neg-inf, input: {dtype: float32, shape: [1, 8, 2, 2], fill: -.inf}, attributes: {kernel_shape: [2, 2]}}
"""
DEFECT = """\
defects:
  - {id: LOWEST, runtime: "%s", title: The lowest number for -inf, severity: wrong-on-special, mechanism: It starts so.,
     conditions: {processor: [%s]},
     expect: [{cases: ["cases:neg-inf"], kinds: [y-lowest-for-neg-inf], variants: [y-only]}]}
"""


@pytest.fixture
def program(tmp_path):
    """The target of the example of the documentation, wrong on -inf if ``lowest``, which names this processor."""

    def write(processor, *, lowest=False):
        text = EXAMPLE.read_text().replace('"version": "1.0"', f'"version": "1.0", "processor": {processor!r}')
        if lowest:
            text = text.replace("0 if best is None else values[best]", "max(values[best], -3.4028234663852886e38)")
        (tmp_path / "program.py").write_text(text)
        return f"command:{sys.executable} {tmp_path / 'program.py'}"

    return write


@pytest.fixture
def run(cli, tmp_path):
    """Runs the case on a target: the end of the command, and its record."""
    (tmp_path / "cases.yaml").write_text(NEG_INF)

    def run(target, *options):
        record = tmp_path / "record.jsonl"
        done = cli("run", tmp_path / "cases.yaml", "-t", target, "-o", record, *options)
        return done, read(record) if record.exists() else None

    return run


@pytest.mark.skipif(
    not Path("/proc/cpuinfo").exists() or platform.machine() != "x86_64", reason="Linux lists other names elsewhere"
)
def test_a_worker_reports_the_processor_that_linux_lists(run, kernel_target):
    processor = run(kernel_target("right"))[1].header.targets[0].processor
    text = Path("/proc/cpuinfo").read_text()
    listed = text.partition("flags")[2].partition("\n")[0].split()
    assert processor.architecture == "x86_64"
    assert processor.model in text
    for name in ("sse4.1", "avx", "avx2", "avx512f"):
        assert (name in processor.features) == (name.replace(".", "_") in listed), name
    assert set(processor.features) <= set(INSTRUCTION_SETS)
    assert not set(ARCHITECTURES) & set(INSTRUCTION_SETS)


def test_a_program_may_name_its_processor_and_the_reports_have_it(run, tmp_path, program):
    done, record = run(program(HASWELL), "-v", "--report", f"markdown={tmp_path / 'report.md'}")
    expected = Processor(architecture="x86_64", model="Haswell", features=("sse4.1", "avx", "avx2"))
    assert record.header.targets[0].processor == expected
    for text in (done.out, (tmp_path / "report.md").read_text()):
        assert "x86_64, Haswell, sse4.1, avx, avx2" in " ".join(text.split())
    # That of a program that names none is unknown, and not that of the tool.
    done, record = run(f"command:{sys.executable} {EXAMPLE}", "-v")
    assert record.header.targets[0].processor is None
    assert f"processor of {record.header.targets[0].name}: unknown" in " ".join(done.out.split())


def test_an_unknown_instruction_set_is_refused(run, tmp_path):
    (tmp_path / "known.yaml").write_text(DEFECT % ("onnxruntime", "avx1024"))
    run("onnxruntime", "--known", tmp_path / "known.yaml")[0].check(2, "avx1024")


@pytest.mark.parametrize(("bound", "actual", "status"), [
    ("avx2", HASWELL, "expected"),
    ("no-avx512f", HASWELL, "expected"),
    ("avx512f", HASWELL, "new"),
    ("aarch64", HASWELL, "new"),
    ("no-avx512f", {"architecture": "x86_64"}, "new"),
    ("x86_64", {"architecture": "x86_64"}, "expected"),
    ("no-avx512f", None, "new"),
    # What names none was reviewed on x86-64.
    ("", HASWELL, "expected"),
    ("", HASWELL | {"architecture": "aarch64"}, "expected"),
])  # fmt: skip
def test_a_defect_is_expected_on_the_processors_that_it_names_and_never_stale_elsewhere(
    run, tmp_path, program, bound, actual, status
):
    target = program(actual, lowest=True)
    (tmp_path / "known.yaml").write_text(DEFECT % (target, bound))
    options = (target, "--known", tmp_path / "known.yaml", "--variants", "y-only")
    (execution,) = run(*options)[1].executions
    assert execution.status == status, execution
    # The same program without the defect: the entry is stale where it is about the processor, and nowhere else.
    program(actual)
    done, record = run(*options)
    after = None if status == "new" else "not-executed" if "aarch64" in actual.values() else "stale"
    assert done.code == (1 if after == "stale" else 0)
    assert {entry.id: entry.status for entry in record.footer.known}.get("LOWEST") == after


FILES = ("edge/sixteen-channels", "edge/neg-inf", "edge/nan", "contexts/layout", "sonnx/float")


@pytest.mark.parametrize(("model", "features", "paths"), [
    ("Nehalem", ("sse4.1",), [ROOT / f"cases/{name}.yaml" for name in FILES]),
    ("Haswell", ("sse4.1", "avx", "avx2"), [ROOT / "cases"]),
])  # fmt: skip
def test_onnx_runtime_gives_nothing_unexpected_on_an_older_processor(
    cli, monkeypatch, tmp_path, model, features, paths
):
    """ONNX Runtime's wheel in an emulator: its blocks of channels have 8 floats there, and 16 with AVX-512."""
    # Kernels that the older of them does not have.
    monkeypatch.setenv("OPENBLAS_CORETYPE", "Haswell")
    if shutil.which("qemu-x86_64") is None or platform.machine() != "x86_64":
        pytest.skip("there is no qemu-x86_64 (Debian: qemu-user)")
    words = ("-t", f"onnxruntime?cpu={model}", "--timeout", "120", "-o", tmp_path / "record.jsonl", "-q")
    done = cli("run", *paths, *words)
    record = read(tmp_path / "record.jsonl")
    processor = record.header.targets[0].processor
    assert (processor.model, processor.features) == ("emulated by qemu-x86_64", features)
    assert done.code == 0, [each for each in record.executions if each.unexpected]
    shown = {each.case for each in record.executions if each.known == "ORT-LOWEST-BLOCKED"}
    assert {f"edge/sixteen-channels:neg-inf-c{channels}" for channels in (8, 16, 24, 32)} <= shown
    assert not shown & {f"edge/sixteen-channels:neg-inf-c{channels}" for channels in (4, 12, 15)}
    assert [entry.id for entry in record.footer.known if entry.status == "stale"] == []


@pytest.mark.network
def test_a_release_is_moved_to_aarch64(cli, tmp_path):
    """ONNX Runtime's wheel for aarch64 gives what was reviewed there, and a gate says what a move to it changes."""
    if shutil.which("qemu-aarch64") is None or shutil.which("apt-get") is None:
        pytest.skip("there is no qemu-aarch64 (Debian: qemu-user), or no apt-get")
    version = subprocess.run(["qemu-aarch64", "--version"], capture_output=True, text=True, check=True).stdout
    release = "1.32.0" if int(re.search(r"version (\d+)", version)[1]) >= 10 else "1.27.0"
    here, there = f"onnxruntime=={release}", f"onnxruntime=={release}?machine=aarch64"
    names = ("edge/lanes", "edge/neg-inf", "contexts/inside", "contexts/outputs", "contexts/unpool")
    files = [ROOT / f"cases/{name}.yaml" for name in names]
    done = cli("gate", *files, "--base", here, "--head", there, "-o", tmp_path / "gate.jsonl", "--timeout", "120")
    assert (done.code, "Traceback" in done.err) == (1, False), done.err
    assert f"\nBLOCK  moving onnxruntime {release} from x86_64 to aarch64: " in done.out
    (side,) = [each for each in read(tmp_path / "gate.jsonl").header.targets if each.name == there]
    assert (side.architecture, {"neon", "float16"} <= {*side.processor.features}) == ("aarch64", True)
    run = cli("run", *files, "-t", there, "-o", tmp_path / "record.jsonl", "--timeout", "120", "-q")
    record = read(tmp_path / "record.jsonl")
    assert run.code == 0, [each for each in record.executions if each.unexpected]
    assert len({each.case for each in record.executions}) >= 200
    shown = {each.known for each in record.executions}
    assert {"ORTARM-NO-INDICES", "ORTARM-LOWEST", "ORTARM-OLD-OPSETS", "ORT-LOWEST-Y-ONLY"} <= shown
    lost = {each.case for each in record.executions if each.kinds == ("missing-output",)}
    assert lost == {case for case in lost if "float16" in case} != set()


def test_the_same_release_on_another_processor_is_moved_and_not_upgraded(run, cli, tmp_path, program):
    for change, moving in (
        ({"architecture": "aarch64"}, "moving example 1.0 from x86_64 to aarch64: "),
        ({"features": []}, "moving example 1.0 from x86_64, Haswell, sse4.1, avx, avx2 to x86_64, Haswell: "),
        # The same kernels execute on it.
        ({"model": "Broadwell"}, ""),
    ):
        for name, processor in {"old": HASWELL, "new": HASWELL | change}.items():
            run(program(processor))
            (tmp_path / "record.jsonl").rename(tmp_path / f"{name}.jsonl")
        done = cli("gate", tmp_path / "old.jsonl", tmp_path / "new.jsonl")
        first, *_, last = done.out.splitlines()
        shown = done.code, first.partition(":")[0], last.partition(" in ")[0]
        assert shown == (0, "from" if moving else "old", f"SAFE  {moving}no observable change")


@pytest.mark.skipif(platform.machine() != "x86_64", reason="names the other architecture")
def test_a_machine_that_cannot_be_had_ends_the_run(run, tmp_path, monkeypatch):
    monkeypatch.setenv("MAXPOOL_CHECK_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", str(tmp_path))
    for target, words in (
        ("onnxruntime?machine=aarch64", "name a release, onnxruntime==VERSION"),
        ("onnxruntime?cpu=Haswell", "qemu-x86_64 is not on PATH"),
        ("onnxruntime==1.32.0?machine=aarch64", "apt-get and dpkg-deb"),
        (f"onnxruntime==1.32.0?machine=aarch64&sysroot={tmp_path}", "has none of usr/bin/python3"),
    ):
        run(target)[0].check(3, words)
