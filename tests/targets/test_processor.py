"""The processor that executes belongs to the result: of each target its own, and known defects may be bound to one."""

import platform
import shutil
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
    done, _ = run("onnxruntime", "--known", tmp_path / "known.yaml")
    assert (done.code, "avx1024" in done.err) == (2, True)


@pytest.mark.parametrize(("bound", "actual", "status"), [
    ("avx2", HASWELL, "expected"),
    ("no-avx512f", HASWELL, "expected"),
    ("avx512f", HASWELL, "new"),
    ("aarch64", HASWELL, "new"),
    ("no-avx512f", {"architecture": "x86_64"}, "new"),
    ("x86_64", {"architecture": "x86_64"}, "expected"),
    ("no-avx512f", None, "new"),
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
    assert done.code == (1 if status == "expected" else 0)
    statuses = {entry.id: entry.status for entry in record.footer.known}
    assert statuses.get("LOWEST") == ("stale" if status == "expected" else None)


@pytest.mark.parametrize(("model", "features"), [("Nehalem", ("sse4.1",)), ("Haswell", ("sse4.1", "avx", "avx2"))])
def test_onnx_runtime_gives_nothing_unexpected_on_an_older_processor(cli, tmp_path, model, features):
    """ONNX Runtime's wheel in an emulator: its blocks of channels have 8 floats there, and 16 with AVX-512."""
    emulator = shutil.which("qemu-x86_64")
    if emulator is None or platform.machine() != "x86_64":
        pytest.skip("there is no qemu-x86_64 (Debian: qemu-user)")
    wrapper = tmp_path / "python"
    real = Path(sys.executable).resolve()
    wrapper.write_text(f'#!/bin/sh\nexec {emulator} -cpu {model} -0 "{sys.executable}" "{real}" "$@"\n')
    wrapper.chmod(0o755)
    names = ("edge/sixteen-channels", "edge/neg-inf", "edge/nan", "contexts/layout", "sonnx/float")
    words = ("-t", f"onnxruntime?python={wrapper}", "--timeout", "120", "-o", tmp_path / "record.jsonl", "-q")
    done = cli("run", *(ROOT / f"cases/{name}.yaml" for name in names), *words)
    record = read(tmp_path / "record.jsonl")
    processor = record.header.targets[0].processor
    assert (processor.model, processor.features) == ("emulated by qemu-x86_64", features)
    assert done.code == 0, [each for each in record.executions if each.unexpected]
    shown = {each.case for each in record.executions if each.known == "ORT-LOWEST-BLOCKED"}
    assert {f"edge/sixteen-channels:neg-inf-c{channels}" for channels in (8, 16, 24, 32)} <= shown
    assert not shown & {f"edge/sixteen-channels:neg-inf-c{channels}" for channels in (4, 12, 15)}
    assert [entry.id for entry in record.footer.known if entry.status == "stale"] == []
