"""Kits: frozen, for a kernel that has less, and the same decisions in C as by the judge, also without an operating system."""

import hashlib
import json
import re
import shutil
import subprocess
from itertools import combinations

import pytest

from maxpool_check.corpus.collection import collect, kits
from maxpool_check.corpus.features import BINS
from maxpool_check.evidence.kernels import DEATHS, kernel_named
from maxpool_check.evidence.kills import task_of
from maxpool_check.exporting.kit import (
    ABILITIES,
    DRAWN,
    EVERYTHING,
    MOST_VECTORS,
    KitKernel,
    best_first,
    documents,
    kit_of,
    proof_of,
)
from maxpool_check.exporting.kit_export import case_files
from maxpool_check.results.record import Verdict
from tests.conftest import ROOT, command, shipped
from tests.kits.kills import BY_Y, Kernels
from tests.pages import blocks

DOCUMENTS = documents()
FROZEN = json.loads((ROOT / "tests/data/kits.json").read_text())
"""The SHA-256 of the file of vectors of each kit that was published: its bytes never change."""

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


@pytest.fixture(scope="module", params=DOCUMENTS)
def exported(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("kit") / "kit"
    command("cases", "export", "kit", "--spec", request.param, "-o", folder).check(0)
    return kit_of(request.param), folder


@pytest.fixture(scope="module")
def onnx_kit(tmp_path_factory):
    folder = tmp_path_factory.mktemp("kit")
    command("cases", "export", "kit", "-o", folder / "kit").check(0)
    return folder


def test_a_kit_has_the_vectors_that_were_frozen_and_is_small(exported):
    kit, folder = exported
    manifest = json.loads((folder / "manifest.json").read_text())
    assert manifest["tool"] == {"name": "maxpool-check", "kit": kit.about.name}
    vectors = (folder / f"{kit.about.document}.json").read_bytes()
    assert FROZEN[kit.about.name] == hashlib.sha256(vectors).hexdigest()
    assert manifest["proof"]["vectors"] == len(manifest["cases"]) <= MOST_VECTORS
    assert (folder / "maxpool_kit.c").stat().st_size <= 400_000


def test_the_kits_of_a_wheel_are_small():
    assert sum(file.stat().st_size for file in (ROOT / "maxpool_check/exporting/kits").glob("*.xz")) < 3_000_000


@pytest.mark.parametrize("spec", DOCUMENTS)
def test_a_kit_is_the_best_of_the_corpus_and_notices_each_mistake_three_times(spec):
    kit = kit_of(spec)
    of_corpus = [each for each in kit.pool if not each.large and not each.id.startswith(DRAWN)]
    vectors = kit.of_corpus
    assert [of_corpus[at].id for at in best_first(of_corpus)] == [each.id for each in vectors]
    assert vectors == kit.chosen(EVERYTHING)[: len(vectors)]
    assert kits()[f"corpus:kit/{spec}"] == [each.id for each in vectors]
    found, possible = proof_of(kit, vectors).mistakes, proof_of(kit, of_corpus).mistakes
    assert found.keys() == possible.keys()
    for name, each in possible.items():
        in_kit = len(found[name].by_y + found[name].with_indices)
        assert in_kit >= min(3, len(each.by_y + each.with_indices)), name


@pytest.mark.parametrize("spec", DOCUMENTS)
def test_nearly_every_pair_of_features_is_in_some_vector(spec):
    def pairs(vectors):
        return {pair for each in vectors for pair in combinations(sorted(each.features), 2)}

    kit = kit_of(spec)
    possible = pairs(each for each in kit.pool if not each.id.startswith(DRAWN))
    assert len(pairs(kit.chosen(EVERYTHING))) >= 0.94 * len(possible)
    # For a kernel that has less, drawn vectors add the pairs that the corpus lacks.
    assert len(pairs(kit.pool)) > len(possible) or spec == "xmos-maxpool2d"


@pytest.mark.parametrize("spec", DOCUMENTS)
def test_the_cases_of_a_kit_are_in_the_corpus_the_best_first(spec):
    cases = list(collect([f"corpus:kit/{spec}"]).cases)
    vectors = kit_of(spec).of_corpus
    assert [(case.id, case.sha256) for case in cases] == [(each.id, each.test["sha256"]) for each in vectors]


def test_a_kit_may_stand_beside_other_parts_of_the_corpus():
    of_kit = {case.id for case in collect(["corpus:kit/xmos-maxpool2d"]).cases}
    mixed = {case.id for case in collect(["corpus:kit/xmos-maxpool2d", "corpus:sonnx"]).cases}
    assert mixed == {*of_kit, *(case.id for case in shipped().cases if case.id.startswith("sonnx/"))}
    command("cases", "list").check(0, f"corpus:kit/xmos-maxpool2d {len(of_kit)}")


def test_a_kit_for_a_kernel_has_nothing_that_the_kernel_lacks(tmp_path):
    command(
        "cases",
        "export",
        "kit",
        "--dtype",
        "int8",
        "--axes",
        "2",
        "--without",
        "indices,dilations",
        "-o",
        tmp_path / "kit",
    ).check(0)
    tests = [
        test
        for group in json.loads((tmp_path / "kit/onnx-22.json").read_text())["testGroups"]
        for test in group["tests"]
    ]
    assert {test["inputs"]["X"]["dtype"] for test in tests} == {"int8"}
    assert {len(test["inputs"]["X"]["shape"]) for test in tests} == {4}
    windows = [axis for test in tests for result in test["results"] for axis in result["windows"]]
    assert {axis[3] for axis in windows} == {1}
    proof = json.loads((tmp_path / "kit/manifest.json").read_text())["proof"]
    assert "conditions:int8_padded_by_minus_127" in proof["mistakes"]
    assert all(not each["with_indices"] for each in proof["mistakes"].values())
    readme = (tmp_path / "kit/README.md").read_text()
    assert readme.startswith("# onnx-22-3: int8, 2 spatial axes, without indices and dilations\n")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--dtype", "int9"], "onnx-22-3 has nothing to compute with dtype 'int9' (did you mean 'int8'?)"),
        (["--axes", "9"], "onnx-22-3 has nothing to compute with axes '9'"),
        (["--without", "dilation"], "a kernel cannot be without 'dilation' (did you mean 'dilations'?)"),
        (
            ["--dtype", "int8", "--axes", "5"],
            "onnx-22-3 has nothing to compute for such a kernel: int8, 5 spatial axes",
        ),
        (["--spec", "sonnx", "--dtype", "bfloat16"], "sonnx-3 has nothing to compute with dtype 'bfloat16'"),
        (["--spec", "onnx-9"], "there is no kit for 'onnx-9'"),
        (["corpus:edge"], "a kit takes no PATH and no -k"),
    ],
)
def test_a_kit_for_no_kernel_is_refused(words, message, tmp_path):
    command("cases", "export", "kit", *words, "-o", tmp_path / "kit").check(2, message)
    assert not (tmp_path / "kit").exists()


def test_what_a_kernel_may_lack_is_in_some_vector():
    """A word that no vector knows would silently leave nothing out."""
    features = {feature for spec in DOCUMENTS for vector in kit_of(spec).pool for feature in vector.features}
    # Every vector has Indices, where the document has them: they are left out of it.
    assert {*ABILITIES} - features == {"indices"}
    assert {each.partition("=")[0] for each in features if "=" in each} == {*BINS, "axes"} - {"rank"}


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
    assert lines.pop()["type"] == "summary"
    assert {line["conforms"] for line in lines} == {True, None}
    command("run", onnx_kit / "kit", "-t", f"outputs:{onnx_kit / 'outputs.jsonl'}").check(0)
    with_large = KERNEL.replace(
        "int main(void) {\n    return ", f"{LARGE}\nint main(void) {{\n    return run_large() || "
    )
    large, code = run_in_c(onnx_kit, with_large)
    assert code == 0, [line for line in large if not line.get("conforms")]
    assert len(large) > len(lines) + 1


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_kernel_fails_where_the_judge_finds_it_wrong(onnx_kit, name):
    assert KERNEL.count(WRONG[name][0]) == 1
    (*lines, _), code = run_in_c(onnx_kit, KERNEL.replace(*WRONG[name]))
    assert code == 1
    ran = command("run", onnx_kit / "kit", "-t", f"outputs:{onnx_kit / 'outputs.jsonl'}", "-q", "-o", "-")
    right = (Verdict.CONFORMS.value, Verdict.UNDEFINED.value)
    judged = {(each["case"], each["variant"]): each["verdict"] in right for each in ran.results}
    in_c = {(line["case"], line["variant"]): line["conforms"] for line in lines if line["conforms"] is not None}
    assert ran.code == 1
    assert {key: judged[key] for key in in_c} == in_c
    assert not all(in_c.values())


ONE = """
#include <string.h>
#include "maxpool_kit.h"
static int answer;
static int kernel(const struct maxpool_test *test, const void *x, void *y, int64_t *indices) {
    (void)test, (void)x, (void)y, (void)indices;
    return answer;
}
static void print(const char *text) { (void)text; }
int main(int count, char **words) {
    answer = count > 2 && !strcmp(words[2], "refused") ? MAXPOOL_REFUSED : MAXPOOL_UNABLE;
    return 10 + maxpool_kit_one(words[1], kernel, print);
}
"""


def test_a_vector_alone_fails_where_it_is_refused_and_counts_neither_way_where_the_kernel_is_unable(onnx_kit):
    (onnx_kit / "one.c").write_text(ONE)
    words = [*COMPILERS[0], *STRICT, "-Ikit", "one.c", "kit/maxpool_kit.c", "-o", "one"]
    subprocess.run(words, cwd=onnx_kit, check=True, timeout=300)
    manifest = json.loads((onnx_kit / "kit/manifest.json").read_text())
    must_be_refused = manifest["proof"]["must_be_refused"][0]
    case = "edge/extremes:special-values-float32"
    assert case in manifest["cases"]

    def code(*words):
        return subprocess.run(["./one", *words], cwd=onnx_kit, check=False, timeout=60).returncode - 10

    assert code(case, "refused") == 1
    assert code(case, "unable") == -1
    assert code(must_be_refused, "refused") == 0
    assert code("no/such:case", "refused") == 1


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


def kit_cases(kit, folder):
    for path, text in case_files(kit.chosen(EVERYTHING), kit.about.document).items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    return collect([folder]).cases


@pytest.mark.parametrize("spec", DOCUMENTS)
def test_the_vectors_notice_what_the_kit_says(spec, tmp_path):
    kit, run = kit_of(spec), Kernels()
    vectors = {vector.id: vector for vector in kit.chosen(EVERYTHING)}
    cases = kit_cases(kit, tmp_path)
    for name in kit.about.mistakes:
        kernel = kernel_named(name)
        if kernel.module == DEATHS:
            continue
        found = run.kills(kernel, [task for case in cases if (task := task_of(case, kernel.specs)) is not None])
        said = {each.id: BY_Y for each in vectors.values() if name in each.by_y}
        said |= {each.id: "indices" for each in vectors.values() if name in each.with_indices}
        assert found == said, name


def test_a_run_of_a_kit_says_what_it_would_have_noticed(onnx_kit):
    """A kernel of two axes that the kit does not notice, since it computes nearly nothing."""
    wrong = KERNEL.replace(
        "return MAXPOOL_UNABLE;",
        "return MAXPOOL_UNABLE;\n    if (indices || test->axes[0].padding_before) return MAXPOOL_UNABLE;",
    )
    lines, code = run_in_c(onnx_kit, wrong)
    said = lines.pop()
    assert (code, said["type"]) == (0, "summary")
    ran = command("run", onnx_kit / "kit", "-t", f"outputs:{onnx_kit / 'outputs.jsonl'}", COLUMNS="1000").check(0)
    assert f"Kit: {said['message']}\n" in ran.out
    computed = {each["case"] for each in lines if each["type"] == "result"}
    refused = {each["case"] for each in lines if each["type"] == "refusal"}
    assert said["failures"] == 0
    assert said["message"].startswith(f"computed {len(computed)} of 200 vectors and refused {len(refused)}: ")
    mistakes = json.loads((onnx_kit / "kit/manifest.json").read_text())["proof"]["mistakes"]
    noticed = [name for name, each in mistakes.items() if computed & {*each["by_y"]}]
    assert f": {len(noticed)} of {len(mistakes)} mistakes would be noticed, " in said["message"]
    by_refusals = [name for name, each in mistakes.items() if refused & {*each["by_y"], *each["with_indices"]}]
    assert said["not_noticed"] == [name for name in mistakes if name not in (*noticed, *by_refusals)]
    assert f"; not noticed: {', '.join(said['not_noticed'][:3])}, and " in said["message"]


def test_refusals_of_what_has_a_meaning_prove_nothing(onnx_kit):
    (*lines, said), code = run_in_c(onnx_kit, KERNEL.replace("if (!test->axes) return", "return"))
    assert code == 1
    proof = json.loads((onnx_kit / "kit/manifest.json").read_text())["proof"]
    assert len(proof["must_be_refused"]) < len({line["case"] for line in lines})
    start = (
        f"computed 0 of 200 vectors and refused {len(proof['must_be_refused'])}: 0 of {len(proof['mistakes'])} mistakes"
    )
    assert said["message"].startswith(start)


def test_a_run_of_the_kit_in_the_corpus_says_what_it_would_have_noticed(tmp_path):
    target, report = kernel_named("correct:gathered").target, tmp_path / "report.xml"
    ran = command("run", "corpus:kit/xmos-maxpool2d", "-t", target, "--report", f"junit={report}", COLUMNS="1000")
    (said,) = re.findall(r"^Kit: (.+)$", ran.out, re.MULTILINE)
    assert re.match(rf"computed \d+ of {len(kits()['corpus:kit/xmos-maxpool2d'])} vectors", said)
    assert f'<property name="kit" value="{said}" />' in report.read_text()


def test_the_words_of_a_kernel_choose_vectors():
    kernel = KitKernel(("int8",), ("1", "2"), ("nan",))
    assert kernel.words == "int8, 1 or 2 spatial axes, without nan"
