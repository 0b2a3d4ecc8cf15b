"""The forms of a kit, run as their users run them: with right kernels, and with a mistake that is the same in each language."""

import json
import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import maxpool_check
from maxpool_check.corpus.collection import collect
from maxpool_check.exporting.kit import EVERYTHING, kit_of
from maxpool_check.exporting.kit_export import export_kit
from maxpool_check.exporting.kit_forms import form_files
from maxpool_check.exporting.vectors import vector
from maxpool_check.reference.dtypes import identical
from maxpool_check.specifications.specification import Refused
from tests.conftest import ROOT, command, environment, shipped
from tests.pages import blocks

DATA = ROOT / "tests/data/kit_forms"
KERNEL_IN_C = next(block.text for block in blocks("export.md") if block.file == "kernel.c")
IN_C, IN_RUST, IN_NUMPY, IN_RUNTIME = "kernel.c", "kernel.rs", "numpy_kernel.py", "provider_test_utils.h"
STARTS_FROM_ZERO = {
    IN_C: ("best >= 0 && !(X[cell] > X[best])", "!(X[cell] > (best < 0 ? 0 : X[best]))"),
    IN_RUST: ("index < 0 || value > best", "value > best.max(0.0)"),
    IN_NUMPY: ("best is None or X[cell] > X[best]", "X[cell] > (0 if best is None else X[best])"),
    IN_RUNTIME: ("index >= 0 && !(value > best)", "!(value > best)"),
}
BOTH = pytest.mark.parametrize("is_wrong", [False, True], ids=["right", "wrong"])
WITH_GTEST = pytest.mark.skipif(
    not (shutil.which("g++") and Path("/usr/include/gtest/gtest.h").exists()),
    reason="no g++, or no GoogleTest, is installed",
)


def cases_of(spec):
    return {case.id: case for case in shipped().cases if case.spec == spec and case.context.is_alone}


@pytest.fixture(scope="module")
def exported():
    return export_kit(kit_of("onnx-22"), EVERYTHING)


@pytest.fixture(scope="module")
def tests():
    return [vector.test for vector in kit_of("onnx-22").chosen(EVERYTHING)]


@pytest.fixture
def folder(exported, tmp_path):
    """A folder with the kit and kernels."""
    for path, content in {**exported.files, "manifest.json": exported.manifest()}.items():
        (tmp_path / "kit" / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "kit" / path).write_bytes(content)
    return tmp_path


def write_kernel(path, is_wrong):
    text = KERNEL_IN_C if path.name == IN_C else (DATA / path.name).read_text()
    assert text.count(STARTS_FROM_ZERO[path.name][0]) == 1
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text.replace(*STARTS_FROM_ZERO[path.name]) if is_wrong else text)


def named(tests):
    return {re.sub(r"\W", "_", test["id"]) for test in tests}


def images(tests):
    """What the kernels in C and Rust compute."""
    return [
        test for test in tests if test["inputs"]["X"]["dtype"] == "float32" and len(test["inputs"]["X"]["shape"]) == 4
    ]


def caught(tests):
    """The vectors that catch a kernel which starts from zero: those with a maximum that is not above it."""
    catching = []
    for test in tests:
        if test["results"]:
            Y = test["results"][0]["outputs"]["Y"]
            values = np.frombuffer(bytes.fromhex(Y["hex"]), Y["dtype"]).astype(float)
            values = np.delete(values, [cell for cell, value in Y.get("also", ()) if value is None])
            catching += [test] * bool(values.size and not min(values) > 0)
    return catching


def run(words, folder, **changed):
    words = [str(word) for word in words]
    return subprocess.run(words, cwd=folder, env=environment(**changed), capture_output=True, text=True, timeout=300)


def run_compiled(compiler, folder):
    """Compile without a warning, and run the tests."""
    compiled = run(compiler, folder)
    assert (compiled.returncode, compiled.stderr) == (0, "")
    return run(["./tests"], folder)


@WITH_GTEST
@BOTH
def test_googletest_runs_each_vector_on_a_kernel(folder, tests, is_wrong):
    write_kernel(folder / IN_C, is_wrong)
    (folder / "kernel_test.cpp").write_text(
        '#define main main_of_kernel\n#include "kernel.c"\n#undef main\n#include "kit/gtest/maxpool_kit_gtest.h"\n'
        "maxpool_kernel maxpool_tested_kernel = max_pool;\n"
    )
    files = ["-Ikit", "kernel_test.cpp", "kit/maxpool_kit.c", "-lgtest", "-lgtest_main", "-lm", "-o", "tests"]
    done = run_compiled(["g++", "-std=c++17", "-O0", "-Wall", "-Wextra", *files], folder)
    found = {
        outcome: set(re.findall(rf"^\[ *{outcome} *\] MaxPoolKit\.(\w+)", done.stdout, re.MULTILINE))
        for outcome in ("OK", "SKIPPED", "FAILED")
    }
    able = [*images(tests), *(test for test in tests if test["result"] == "invalid")]
    wrong = named(caught(images(tests))) if is_wrong else set()
    assert found == {"OK": named(able) - wrong, "SKIPPED": named(tests) - named(able), "FAILED": wrong}
    assert done.returncode == is_wrong
    assert ("maxpool-check explain KIT/edge/" in done.stdout) == is_wrong


@WITH_GTEST
@BOTH
def test_tests_of_onnx_runtime_compare_what_has_one_answer(folder, tests, is_wrong):
    write_kernel(folder / "test/providers" / IN_RUNTIME, is_wrong)
    file = folder / "kit/gtest/maxpool_kit_optester.cc"
    compiler = ["g++", "-std=c++17", "-O0", "-Wall", "-Wextra", "-I.", file, "-lgtest", "-lgtest_main", "-o", "tests"]
    done = run_compiled(compiler, folder)
    failed = set(re.findall(r"^\[ *FAILED *\] MaxPoolKit\.(\w+)", done.stdout, re.MULTILINE))
    ran = set(re.findall(r"^\[ *RUN *\] MaxPoolKit\.(\w+)", done.stdout, re.MULTILINE))
    left_out = int(re.search(r"Left out are (\d+) vectors", file.read_text())[1])
    assert ran <= named(tests)
    assert len(ran) == len(tests) - left_out
    # A maximum of 0 is right by Y alone.
    assert failed <= named(caught(tests))
    assert (bool(failed), done.returncode) == (is_wrong, is_wrong)


@pytest.mark.skipif(not shutil.which("rustc"), reason="no rustc is on PATH")
@BOTH
def test_tests_of_rust_compare_with_every_answer(folder, tests, is_wrong):
    write_kernel(folder / IN_RUST, is_wrong)
    done = run_compiled(["rustc", "--edition", "2021", "--test", IN_RUST, "-o", "tests"], folder)
    found = dict(re.findall(r"^test maxpool_kit::(\w+) \.\.\. (\w+)$", done.stdout, re.MULTILINE))
    wrong = named(caught(images(tests))) if is_wrong else set()
    assert found == {name: "FAILED" if name in wrong else "ok" for name in named(tests)}
    assert bool(done.returncode) == is_wrong


def run_pytest(folder, *words, **changed):
    done = run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "kit/pytest", *words], folder, **changed
    )
    return done, set(re.findall(r"^FAILED \S+::test_vector\[(.+?)(?:-with-indices)?\]", done.stdout, re.MULTILINE))


@BOTH
def test_tests_of_pytest_compare_with_every_answer(folder, tests, is_wrong):
    write_kernel(folder / IN_NUMPY, is_wrong)
    done, failed = run_pytest(folder, MAXPOOL_KERNEL="numpy_kernel")
    assert failed == ({test["id"] for test in caught(tests)} if is_wrong else set())
    assert done.returncode == is_wrong
    mistakes = json.loads((folder / "kit/manifest.json").read_text())["proof"]["mistakes"]
    assert f" of {len(tests)} vectors and refused " in done.stdout
    assert f" of {len(mistakes)} mistakes would be noticed" in done.stdout


def test_tests_of_pytest_say_which_mistakes_they_would_notice(folder, tests):
    """A kernel without Indices that takes one axis, and refuses what it must."""
    computed = [test["id"] for test in tests if len(test["inputs"]["X"]["shape"]) == 3 and test["result"] != "invalid"]
    refused = [test["id"] for test in tests if test["result"] == "invalid"]
    others = [test["id"] for test in tests if test["id"] not in (*computed, *refused)]
    catching = {"by-y": (computed[:1], []), "by-a-refusal": (refused[:1], []), "by-indices": ([], computed[:1])}
    catching |= {f"of-others-{number}": (others, others) for number in range(4)}
    mistakes = {
        name: {"mistake": "", "by_y": by_y, "with_indices": with_indices}
        for name, (by_y, with_indices) in catching.items()
    }
    manifest = json.loads((folder / "kit/manifest.json").read_text())
    (folder / "kit/manifest.json").write_text(
        json.dumps({**manifest, "proof": {"mistakes": mistakes, "vectors": len(tests), "must_be_refused": refused}})
    )
    write_kernel(folder / IN_NUMPY, is_wrong=False)
    (folder / "one_axis.py").write_text(
        "import numpy_kernel\n\n\ndef max_pool(X, attributes, windows, with_indices):\n"
        "    if windows is not None and (with_indices or X.ndim != 3):\n        raise NotImplementedError('no Indices')\n"
        "    return numpy_kernel.max_pool(X, attributes, windows, with_indices)\n"
    )
    done, _ = run_pytest(folder, MAXPOOL_KERNEL="one_axis")
    said = (
        f"computed {len(computed)} of {len(tests)} vectors and refused {len(refused)}: 1 of 7 mistakes would be noticed, "
        "1 more by refusals, if they are the kernel's own; "
    )
    assert f"{said}not noticed: by-indices, of-others-0, of-others-1, and 2 more\n" in done.stdout
    assert done.returncode == 0
    assert "SKIPPED" in run_pytest(folder, "-rs", MAXPOOL_KERNEL="one_axis")[0].stdout


def test_tests_of_pytest_without_a_kernel_fail(folder):
    done, _ = run_pytest(folder)
    assert "MAXPOOL_KERNEL names no module that has max_pool" in done.stdout
    assert done.returncode == 2


def in_hex(values, dtype):
    return np.array(values, dtype).tobytes().hex()


NAN, ONE, TWO, ANY = (in_hex([value], "<f4") for value in (np.nan, 1, 2, 3))
OTHER_NAN = "0100c0ff"
ANSWERS = [
    # Whether it is right; of what vector; Y, unless it refuses; Indices. The third cell may hold anything.
    (True, "valid", NAN + ONE + ANY, [0, 1, 7]),
    (True, "valid", OTHER_NAN + ONE + ANY, [0, 1, 7]),
    (True, "valid", NAN + TWO + ANY, [-1, 2, 7]),
    (True, "valid", NAN + ONE + ANY, [4, 1, 7]),
    (False, "valid", NAN + ONE + ANY, [3, 1, 7]),
    (False, "valid", NAN + TWO + ANY, [0, 1, 7]),
    (False, "valid", ONE + ONE + ANY, [0, 1, 7]),
    (False, "valid", NAN + NAN + ANY, [0, 1, 7]),
    (False, "valid", NAN, [0]),
    (False, "valid", None, []),
    (True, "acceptable", None, []),
    (False, "acceptable", ONE + ONE + ANY, [0, 1, 7]),
    (True, "invalid", None, []),
    (False, "invalid", NAN + ONE + ANY, [0, 1, 7]),
]
ANSWERS_IN_PYTHON = """
import numpy as np

ANSWERS = {answers}


def maxpool(X):
    _, _, Y, Indices = ANSWERS[int(X.flat[0])]
    if Y is None:
        raise ValueError("refused")
    return np.frombuffer(bytes.fromhex(Y), "<f4").reshape(1, 1, -1), np.array(Indices, np.int64).reshape(1, 1, -1)


def max_pool(X, attributes, windows, with_indices):
    return maxpool(X) if with_indices else maxpool(X)[0]
"""
ANSWERS_IN_RUST = """
#[path = "kit/rust/maxpool_kit.rs"]
mod maxpool_kit;
use maxpool_kit::{{Answer, Vector}};

const ANSWERS: &[Option<(&[u8], &[i64])>] = &[{answers}];

fn max_pool(_: &Vector, x: &[u8], _: bool) -> Answer {{
    match ANSWERS[f32::from_le_bytes(x[..4].try_into().unwrap()) as usize] {{
        Some((y, indices)) => Answer::Computed(y.to_vec(), indices.to_vec()),
        None => Answer::Refused,
    }}
}}
"""


@pytest.fixture
def numbered(tmp_path):
    """A kit whose vectors have their number in X, with the same permitted outputs, and kernels that give the answers."""
    result = {
        "windows": [[3, 1, 1, 1, 0, 0, 3]],
        "outputs": {
            "Y": {"dtype": "float32", "shape": [1, 1, 3], "hex": NAN + ONE + ONE, "also": [[1, TWO], [2, None]]},
            "Indices": {
                "dtype": "int64", "shape": [1, 1, 3], "hex": in_hex([0, 1, 2], "<i8"), "bound": 4,
                "also": [[0, "no-cell"], [1, in_hex([2], "<i8")], [2, None]],
            },
        },
        "together": [[1, 1, ONE, in_hex([1], "<i8")], [1, 1, TWO, in_hex([2], "<i8")]],
    }  # fmt: skip
    tests = [
        {
            "id": f"test:{number}", "result": kind, "attributes": {}, "outputs": ["Y", "Indices"], "refusal": {"message": "M"},
            "inputs": {"X": {"dtype": "float32", "shape": [1, 1, 3], "hex": in_hex([number, 0, 0], "<f4")}},
            "results": [] if kind == "invalid" else [result],
        }
        for number, (_, kind, _, _) in enumerate(ANSWERS)
    ]  # fmt: skip
    in_rust = [
        "None" if Y is None else f"Some((&{list(bytes.fromhex(Y))}, &{Indices}))" for _, _, Y, Indices in ANSWERS
    ]
    files = {
        "kit/sonnx.json": json.dumps({"testGroups": [{"tests": tests}]}).encode(),
        "kit/manifest.json": json.dumps(
            {"proof": {"mistakes": {}, "vectors": len(tests), "must_be_refused": []}}
        ).encode(),
        "kernel.rs": ANSWERS_IN_RUST.format(answers=", ".join(in_rust)).encode(),
        "answers.py": ANSWERS_IN_PYTHON.format(answers=ANSWERS).encode(),
        **{f"kit/{path}": content for path, content in form_files("sonnx-2", "sonnx", tests).items()},
    }
    for path, content in files.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_bytes(content)
    return tmp_path


WRONG = {f"test:{number}" for number, (is_right, *_) in enumerate(ANSWERS) if not is_right}


@pytest.mark.skipif(not shutil.which("rustc"), reason="no rustc is on PATH")
def test_tests_of_rust_decide_as_the_vectors_say(numbered):
    done = run_compiled(["rustc", "--edition", "2021", "--test", "kernel.rs", "-o", "tests"], numbered)
    found = dict(re.findall(r"^test maxpool_kit::(\w+) \.\.\. (\w+)$", done.stdout, re.MULTILINE))
    assert len(found) == len(ANSWERS)
    assert {name.replace("_", ":") for name, outcome in found.items() if outcome != "ok"} == WRONG


def test_tests_of_pytest_decide_as_the_vectors_say(numbered):
    assert run_pytest(numbered, MAXPOOL_KERNEL="answers")[1] == WRONG


def run_sweep(module, maxpool):
    """Whom the sweep of SONNX's loop finds wrong."""
    [sweep] = module["sweeps"]()
    return [failure["who"] for failure in sweep(SimpleNamespace(maxpool=maxpool))["failures"]]


def test_the_sweep_of_the_loop_decides_as_the_vectors_say(numbered):
    module, kernel = (runpy.run_path(str(numbered / path)) for path in ("kit/specloop/cases.py", "answers.py"))
    assert set(run_sweep(module, kernel["maxpool"])) == {f"float32: {name}" for name in WRONG}
    assert list(module["cases"]()) == []


@pytest.mark.parametrize("spec", ["sonnx", "sonnx@2026-10"])
def test_the_cases_of_the_loop_are_those_of_the_kit(spec, tmp_path):
    tests = [vector.test for vector in kit_of(spec).of_corpus]
    chosen = [cases_of(spec)[test["id"]] for test in tests]
    text = form_files(f"{spec}-1", spec, tests)["specloop/cases.py"].decode()
    assert set(re.findall(r"^(?:import|from) (\w+)", text, re.MULTILINE)) == {"json", "numpy"}
    (tmp_path / "cases.py").write_text(text)
    module = runpy.run_path(str(tmp_path / "cases.py"))
    found = list(module["cases"]())
    left_out, lacking = (
        sum(map(int, re.findall(rf"(\d+) vectors{what}", text))) for what in (" that must", " of bfloat16")
    )
    assert 0 < len(found) == len(tests) - left_out - lacking == module["COVERAGE"]["real"]
    assert lacking == sum(case.X.dtype.name == "bfloat16" for case in chosen)
    by_label = {f"{case.X.dtype.name}: {case.id}": case for case in chosen}
    for label, [X], attributes in found:
        case = by_label[label]
        assert identical(X, case.X.tensor())
        assert attributes == case.attributes
        assert not isinstance(case.oracle(), Refused)

    def right(X, **attributes):
        if any(isinstance(attributes.get(name), int) for name in ("kernel_shape", "strides", "dilations", "pads")):
            raise ValueError("an integer for all axes, which Python has and the document has not")
        result = maxpool_check.maxpool(X, spec=spec, **attributes)
        return (result.Y, result.Indices) if spec == "sonnx" else result.Y

    assert run_sweep(module, right) == []
    must_be_computed = {f"{test['inputs']['X']['dtype']}: {test['id']}" for test in tests if test["result"] == "valid"}
    assert not any(label.startswith("bfloat16") for label in must_be_computed)
    assert set(run_sweep(module, lambda X: X)) == must_be_computed
    assert set(run_sweep(module, lambda X, **attributes: X[..., None])) >= must_be_computed


def in_report(values):
    """Single cells as a report of SONNX's loop writes them: floats as their bits, integers as they are."""
    return [
        str(each)
        for each in (values.view(f"u{values.itemsize}") if values.dtype.kind == "f" else values).reshape(-1, 1)
    ]


def test_a_report_of_the_loop_on_the_cases_is_judged(tmp_path):
    """The right kernel is in the place of ONNX Runtime, and the implementation starts from zero."""
    spec = "sonnx@2026-10"
    of_document = cases_of(spec)
    tests = [vector(case, 2**17) for case in of_document.values()]
    (tmp_path / "cases.py").write_bytes(form_files(f"{spec}-1", spec, tests)["specloop/cases.py"])
    mismatched, wrong = [], {}
    for label, [X], attributes in runpy.run_path(str(tmp_path / "cases.py"))["cases"]():
        Y = maxpool_check.maxpool(X, spec=spec, **attributes).Y
        sides = in_report(Y), in_report(np.maximum(Y, 0))
        cells = [
            {"index": at, "ort_bits": ort, "impl_bits": impl}
            for at, (ort, impl) in enumerate(zip(*sides, strict=True))
            if ort != impl and np.ravel(Y)[at] < 0
        ]
        if cells:
            details = {"elements_differing": len(cells), "attrs": attributes, "first_differences": cells}
            mismatched.append({"case": label, **details})
            wrong[label] = X, attributes
    assert {X.dtype.kind for X, _ in wrong.values()} >= {"f", "i"}
    report = {"op": "MaxPool", "generated": "now", "cases": {"mismatched": mismatched, "open": []}}
    (tmp_path / "report.json").write_text(json.dumps(report))
    done = command("cases", "import", "specloop", tmp_path / "report.json", "-o", tmp_path / "out", COLUMNS="200")
    done.check(0, f"{len(wrong)} written, 0 left out")
    assert done.out.count("implementation: Y[") == len(wrong)
    imported = {case.title.removeprefix("SONNX's loop, "): case for case in collect([tmp_path / "out"]).cases}
    assert imported.keys() == wrong.keys()
    for label, (X, attributes) in wrong.items():
        assert identical(imported[label].X.tensor(), X)
        assert imported[label].attributes == attributes
        of_vector = of_document[label.partition(": ")[2]]
        assert identical(imported[label].oracle().outputs["Y"], of_vector.oracle().outputs["Y"])
