"""Kits: frozen, minimal, and the same decisions in C as by the judge, also on a processor without an operating system."""

import json
import shutil
import subprocess

import pytest

from maxpool_check.evidence.kernels import DEATHS, kernel_named
from maxpool_check.exporting.kit import kits
from maxpool_check.results.record import Verdict
from tests.conftest import command
from tests.kits import catching, not_caught_in_onnx
from tests.pages import blocks

KITS = kits()
AS_C, AS_CPP = ["-std=c99"], ["-std=c++17", "-xc++"]
COMPILERS = [["gcc", *AS_C], ["g++", *AS_CPP], ["clang", *AS_C], ["clang++", *AS_CPP]]
STRICT = ["-O1", "-Wall", "-Wextra", "-pedantic", "-Werror"]
KERNEL, STARTUP = (block.text for block in blocks("export.md") if block.file in ("kernel.c", "startup.c"))
WRONG = {
    "starts from zero": ("best >= 0 && !(X[cell] > X[best])", "!(X[cell] > (best < 0 ? 0 : X[best]))"),
    "counts in each plane": ("*indices++ = index", "*indices++ = index - plane * rows.size * columns.size"),
    "ignores dilations": (" + a * rows.dilation", " + a"),
    "gives the value behind a NaN": ("-INFINITY : X[best]", "-INFINITY : X[best + (X[best] != X[best])]"),
    "writes behind Y": ("return MAXPOOL_DONE", "*Y = 0; return MAXPOOL_DONE"),
    "refuses what has a meaning": ("if (!test->axes)", "if (!test->axes || test->axes[0].stride > 1)"),
    "computes what has none": ("if (!test->axes) return MAXPOOL_REFUSED", "if (!test->axes) return MAXPOOL_DONE"),
}
LARGE = """
#include <stdlib.h>
int run_large(void) {
    void *memory = malloc(maxpool_kit_large_bytes());
    int failures = maxpool_kit_large("my-kernel", "1.0", max_pool, print, memory);
    free(memory);
    return failures;
}
"""


@pytest.fixture(scope="module", params=KITS)
def exported(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("kit") / "kit"
    command("cases", "export", "kit", "--spec", request.param, "-o", folder).check(0)
    return KITS[request.param], folder


@pytest.fixture(scope="module")
def onnx_kit(tmp_path_factory):
    folder = tmp_path_factory.mktemp("kit")
    command("cases", "export", "kit", "-o", folder / "kit").check(0)
    return folder


def test_a_kit_has_the_bytes_that_were_frozen_and_each_form_is_small(exported):
    kit, folder = exported
    manifest = json.loads((folder / "manifest.json").read_text())
    assert manifest["tool"] == {"name": "maxpool-check", "kit": kit.name}
    sizes = {"onnx": 0, "cases": 0}
    for file in manifest["files"]:
        form = "onnx" if file.startswith("onnx/") else "cases" if file.endswith((".yaml", ".npy")) else file
        sizes[form] = sizes.get(form, 0) + (folder / file).stat().st_size
    assert max(sizes.values()) <= 200_000
    assert kit.bound == len(kit.vectors) == manifest["proof"]["vectors"]
    # Without any one of them a wrong kernel is lost, in all or for who takes images of one type alone.
    proof = manifest["proof"]
    assert {
        *proof["caught_alone"],
        *(name for each in proof["by_images"].values() for name in each["caught_alone"]),
    } == set(kit.vectors)


@pytest.mark.parametrize("compiler", COMPILERS, ids=str)
def test_the_files_in_c_compile_without_a_warning(exported, compiler, tmp_path):
    if not shutil.which(compiler[0]):
        pytest.skip(f"no {compiler[0]} is on PATH")
    words = [*compiler, *STRICT, "-c", exported[1] / "maxpool_kit.c", "-o", tmp_path / "kit.o"]
    subprocess.run(words, check=True, timeout=300)


def run_in_c(folder, kernel):
    """The lines that a kernel's run prints, behind the first, and how many vectors failed, by the exit code."""
    (folder / "kernel.c").write_text(kernel)
    sanitized = [*COMPILERS[0], *STRICT, "-fsanitize=address,undefined", "-Ikit", "kernel.c", "kit/maxpool_kit.c"]
    subprocess.run([*sanitized, "-lm", "-o", "kernel"], cwd=folder, check=True, timeout=300)
    done = subprocess.run(["./kernel"], cwd=folder, capture_output=True, text=True, timeout=300, check=False)
    assert done.stderr == ""
    (folder / "outputs.jsonl").write_text(done.stdout)
    return [json.loads(line) for line in done.stdout.splitlines()[1:]], done.returncode


def test_the_kernel_of_the_documentation_is_right_by_the_kit_and_by_the_judge(onnx_kit):
    lines, code = run_in_c(onnx_kit, KERNEL)
    assert code == 0
    assert {line["conforms"] for line in lines} == {True, None}
    command("run", onnx_kit / "kit", "-t", f"outputs:{onnx_kit / 'outputs.jsonl'}").check(0)
    with_large = KERNEL.replace(
        "int main(void) {\n    return ", f"{LARGE}\nint main(void) {{\n    return run_large() || "
    )
    large, code = run_in_c(onnx_kit, with_large)
    assert code == 0, [line for line in large if not line.get("conforms")]
    assert len(large) > len(lines)


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_kernel_fails_where_the_judge_finds_it_wrong(onnx_kit, name):
    assert KERNEL.count(WRONG[name][0]) == 1
    lines, code = run_in_c(onnx_kit, KERNEL.replace(*WRONG[name]))
    assert code == 1
    ran = command("run", onnx_kit / "kit", "-t", f"outputs:{onnx_kit / 'outputs.jsonl'}", "-q", "-o", "-")
    right = (Verdict.CONFORMS.value, Verdict.UNDEFINED.value)
    judged = {(each["case"], each["variant"]): each["verdict"] in right for each in ran.results}
    in_c = {(line["case"], line["variant"]): line["conforms"] for line in lines if line["conforms"] is not None}
    assert ran.code == 1
    assert {key: judged[key] for key in in_c} == in_c
    assert not all(in_c.values())


def test_a_processor_without_an_operating_system_prints_the_same(onnx_kit):
    if not (shutil.which("qemu-system-arm") and shutil.which("arm-none-eabi-gcc")):
        pytest.skip("gcc-arm-none-eabi, libnewlib-arm-none-eabi or qemu-system-arm is not installed")
    run_in_c(onnx_kit, KERNEL)
    (onnx_kit / "startup.c").write_text(STARTUP)
    compiler = ["arm-none-eabi-gcc", "-std=c99", "-mcpu=cortex-m3", "-mthumb", *STRICT, "--specs=rdimon.specs"]
    files = ["-Ikit", "kernel.c", "kit/maxpool_kit.c", "startup.c", "-Wl,--section-start=.vectors=0", "-o", "m3.elf"]
    subprocess.run([*compiler, *files], cwd=onnx_kit, check=True, timeout=300)
    words = "qemu-system-arm -M mps2-an385 -nographic -monitor none -serial none -semihosting -kernel m3.elf"
    done = subprocess.run(words.split(), cwd=onnx_kit, capture_output=True, timeout=300, check=True)
    assert done.stdout == (onnx_kit / "outputs.jsonl").read_bytes()


@pytest.mark.parametrize("spec", KITS)
def test_the_vectors_catch_what_the_kit_says(spec):
    kit = KITS[spec]
    caught = {}
    for name, vector in kit.vectors.items():
        for kernel in vector.catches:
            caught.setdefault(kernel, []).append(name)
    for name, vectors in caught.items():
        if kernel_named(name).module != DEATHS:
            assert catching(kernel_named(name), kit.vectors) == vectors, name
    assert sorted(not_caught_in_onnx(kit)) == list(kit.not_in_onnx)
