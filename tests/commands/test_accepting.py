"""What a person accepts: ``defects accept`` writes it, and ``run``, ``gate`` and ``model`` take it by ``--known``."""

from collections import Counter
from datetime import date, timedelta

import msgspec
import numpy as np
import pytest
import yaml
from msgspec import structs

from maxpool_check.results.changes import UNOBSERVABLE, Change
from maxpool_check.results.outputs import packed
from maxpool_check.results.record import Execution, ExitCode, Verdict
from maxpool_check.results.storage import read
from tests.conftest import KERNELS, ROOT, known_defect
from tests.models import zoo
from tests.models.writing import saved, written

RIGHT, ZERO, SEED, PLANE = (
    f"python:{KERNELS}:{name}" for name in ("right", "pads_with_zero", "keeps_the_seed", "counts_in_the_plane")
)
TOMORROW = date.today() + timedelta(days=1)
BY = ("--author", "A. Author", "--reason", "It never gets there", "--expires", TOMORROW)
ENTRY = {
    "change": "regressed", "runtime": SEED, "kinds": ["y-lowest-for-neg-inf", "indices-sentinel"], "variants": ["indices"],
    "cases": ["small:neg-inf"], "author": "A", "reason": "R", "expires": str(TOMORROW),
}  # fmt: skip


def last(done):
    return [line for line in done.out.splitlines() if line and not line.startswith("Next: ")][-1]


def entries(file):
    return yaml.safe_load(file.read_text())["accepted"]


def write(file, *fields):
    file.write_text(yaml.safe_dump({"accepted": [{**ENTRY, **each} for each in fields]}, sort_keys=False))
    return file


RESULTS = {
    "right": ("conforms", {"Y": "a"}), "other": ("conforms", {"Y": "b"}), "refuses": ("refuses", {}, "refuses-valid"),
    "wrong": ("diverges", {"Y": "a"}, "y-not-in-input"), "crash": ("crashes", {}, "crash"),
    "another": ("diverges", {"Y": "b"}, "shape"), "inconsistent": ("inconsistent", {"Y": "a"}, "y-depends-on-indices"),
    "less": ("diverges", {"Y": "c"}, "y-not-in-input"),
}  # fmt: skip
CELLS = {
    name: packed(np.array([*text]) == "w") for name, text in (("wrong", "ww.."), ("less", "w..."), ("another", "ww.."))
}
"""Which cells of Y are wrong."""
PAIRS = {
    "regressed": ("right", "wrong"), "newly-refused": ("right", "refuses"), "crash-new": ("right", "crash"),
    "changed": ("wrong", "another"), "wrong-to-refused": ("wrong", "refuses"), "newly-inconsistent": ("right", "inconsistent"),
    "improved": ("wrong", "less"), "missing": ("right", None), "crash-gone": ("crash", "right"), "fixed": ("wrong", "right"),
    "newly-accepted": ("refuses", "right"), "conforming-but-different": ("right", "other"), "added": (None, "right"),
}  # fmt: skip
GOLDEN = read(ROOT / "tests/data/golden/record.jsonl")


def executed(name, case):
    verdict, digests, *kinds = RESULTS[name]
    wrong = {"Y": {"finite": CELLS[name]}} if name in CELLS else {}
    return Execution(
        target="onnxruntime", case=f"x:{case}", variant="y-only", verdict=Verdict(verdict), title="", spec="onnx-22", case_sha256=case,
        origin="x.yaml:1", kinds=tuple(kinds), digests=digests, size=1, wrong=wrong,
    )  # fmt: skip


@pytest.fixture
def sides(tmp_path):
    """The records of an old and a new target, between which every change occurs once."""
    for side, name in enumerate(("old", "new")):
        lines = [executed(pair[side], change) for change, pair in PAIRS.items() if pair[side] is not None]
        target = structs.replace(GOLDEN.header.targets[0], name="onnxruntime", version="1.0")
        header = structs.replace(GOLDEN.header, targets=(target,), cases=len(lines))
        counts = {"onnxruntime": Counter(each.verdict.value for each in lines)}
        footer = structs.replace(
            GOLDEN.footer, summary=counts, executions=len(lines), known=(), errors=(), exit_code=ExitCode.AS_EXPECTED
        )
        lines = [header, *lines, footer]
        (tmp_path / f"{name}.jsonl").write_bytes(b"".join(msgspec.json.encode(line) + b"\n" for line in lines))
    return tmp_path / "old.jsonl", tmp_path / "new.jsonl"


def test_every_observable_change_is_among_those_that_are_tested():
    assert {*PAIRS} == {change.value for change in Change if change not in UNOBSERVABLE}


@pytest.mark.parametrize("change", PAIRS)
def test_each_change_can_be_accepted_alone_where_it_blocks(cli, sides, tmp_path, change):
    old, new = sides
    file, gate = tmp_path / "accepted.yaml", ("gate", old, new, "--report", "json", "--fail-on")
    accept = ("defects", "accept", new, "--base", old, "--fail-on", change, "-o", file, *BY)
    assert cli(*gate, change).json["comparisons"][0]["decision"] == "BLOCK"
    cli(*accept).check(0, "1 entry added to ")
    (entry,) = entries(file)
    assert (entry["change"], entry["cases"], entry["variants"]) == (change, [f"x:{change}"], ["y-only"])
    done = cli(*gate, change, "--known", file).check(0).json["comparisons"][0]
    assert (done["decision"], done["unused"]) == ("REVIEW", [])
    # It excuses nothing else.
    others = cli(*gate, "any", "--known", file).check(1).json["comparisons"][0]["changes"]
    assert {each["change"] for each in others if not each["blocks"]} == {change}
    assert cli(*accept).check(0).out.endswith(f"nothing blocks that {file} does not accept already\n")


def test_a_regression_inside_a_defect_that_a_run_expects_still_blocks(cli, small, tmp_path):
    kinds = ["y-lowest-for-neg-inf", "indices-sentinel"]
    known = small / "known-divergences.yaml"
    known.write_text(known_defect("mine", ["small:*"], kinds))
    assert cli("run", small, "-t", SEED).code == 0
    gate = ("gate", small, "--base", RIGHT, "--head", SEED)
    for words in ((), ("--known", known)):
        cli(*gate, *words).check(1, "BLOCK  2 regressed of 12 executions", "conforms -> mine")


def test_neither_a_corpus_nor_a_record_accepts_its_own_changes(cli, small, tmp_path):
    write(small / "known-divergences.yaml", {}, {"kinds": ["y-lowest-for-neg-inf"], "variants": ["y-only"]})
    gate, record = ("gate", small, "--base", RIGHT, "--head", SEED), tmp_path / "gate.jsonl"
    assert last(cli(*gate, "-o", record)) == "BLOCK  2 regressed of 12 executions"
    # A record in which everything is expected, and that says that it was accepted.
    text = record.read_text().replace('"status":"new"', '"status":"expected"').replace("BLOCK", "REVIEW")
    text = text.replace('"exit_code":1', '"exit_code":0')
    (tmp_path / "own.jsonl").write_text(text)
    compared = ("gate", tmp_path / "own.jsonl", tmp_path / "own.jsonl", "--base", RIGHT, "--head", SEED)
    assert last(cli(*compared)) == "BLOCK  2 regressed of 12 executions"
    # A bundle has the file of its corpus, and verifies.
    bundle = tmp_path / "evidence.tar"
    cli("evidence", "build", record, "--cases", small, "-o", bundle).check(0)
    cli("evidence", "verify", bundle).check(0)
    assert last(cli("gate", bundle, bundle, "--base", RIGHT, "--head", SEED)) == "BLOCK  2 regressed of 12 executions"
    # The user names the file.
    known = ("--known", small / "known-divergences.yaml")
    for words in (gate, compared):
        assert last(cli(*words, *known).check(0)) == "REVIEW  2 regressed (accepted) of 12 executions"


@pytest.mark.parametrize(
    ("changed", "is_accepted"),
    [
        ({}, True),
        ({"kinds": ["y-lowest-for-neg-inf"]}, False),
        ({"kinds": ["y-lowest-for-neg-inf", "indices-sentinel", "shape"]}, False),
        ({"variants": ["y-only"]}, False),
        ({"cases": ["small:padded"]}, False),
        ({"runtime": PLANE}, False),
        ({"expires": "2020-01-01"}, False),
        ({"change": "regressed"}, False),
    ],
)
def test_a_divergence_is_accepted_exactly_as_it_is_named(cli, small, tmp_path, changed, is_accepted):
    both = [{"change": None, **changed}, {"change": None, "kinds": ["y-lowest-for-neg-inf"], "variants": ["y-only"]}]
    known = tmp_path / "known.yaml"
    fields = [{key: value for key, value in {**ENTRY, **each}.items() if value is not None} for each in both]
    known.write_text(yaml.safe_dump({"accepted": fields}))
    done = cli("run", small, "-t", SEED, "--known", known, "--report", "json")
    assert (done.code, {fault["status"] for fault in done.json["faults"]} == {"expected"}) == (
        int(not is_accepted), is_accepted,
    )  # fmt: skip


def test_what_is_accepted_of_a_variant_says_nothing_of_its_variations(cli, small, tmp_path):
    record, known = tmp_path / "r.jsonl", tmp_path / "known.yaml"
    run = ("run", small, "-t", SEED, "-k", "small:neg-inf")
    cli(*run, "-o", record).check(1)
    cli("defects", "accept", record, *BY, "-o", known).check(0, "2 entries added")
    assert cli(*run, "--known", known).code == 0
    assert cli(*run, "--variants", "default,twice", "--known", known).code == 1


def test_one_file_explains_and_accepts_for_run_gate_and_model(cli, small, tmp_path):
    known, record, changes = (tmp_path / name for name in ("known.yaml", "run.jsonl", "gate.jsonl"))
    known.write_text("# Reviewed by two.\n" + known_defect("zeros", ["small:*"], ["y-pad-value-leak"], ZERO))
    gate = ("gate", small, "--base", RIGHT, "--head", SEED)
    cli("run", small, "-t", SEED, "-o", record, "-q").check(1)
    cli(*gate, "-o", changes, "-q").check(1)
    for file in (record, changes):
        cli("defects", "accept", file, *BY, "-o", known).check(0, "2 entries added to ")
    assert known.read_text().startswith("# Reviewed by two.\n")
    assert [entry.get("change") for entry in entries(known)] == [None, None, "regressed", "regressed"]
    assert cli("run", small, "-t", SEED, "--known", known).code == 0
    assert cli(*gate, "--known", known).code == 0
    model = saved(zoo.plain(), tmp_path, "model.onnx")
    assert cli("model", model, "-t", SEED, "--known", known).code == 0
    # What only explains excuses no model.
    assert cli("model", model, "-t", ZERO, "--known", known).code == 1


def test_a_blocked_upgrade_of_a_model_is_accepted_by_the_command_that_it_names(cli, tmp_path):
    model, record, file = saved(zoo.plain(), tmp_path, "model.onnx"), tmp_path / "m.jsonl", tmp_path / "accepted.yaml"
    upgrade = ("model", model, "--base", RIGHT, "--head", ZERO)
    done = cli(*upgrade, "-o", record).check(1, "\nBLOCK  ")
    (line,) = [line for line in done.out.splitlines() if line.startswith("Next: maxpool-check defects accept ")]
    words = line.removeprefix("Next: maxpool-check ").split()
    assert words[words.index("-o") + 1] == "accepted.yaml"
    cli(*words, cwd=tmp_path).check(0, "added to accepted.yaml")
    accepted = cli(*upgrade, "--known", file, COLUMNS="200").check(0, "\nREVIEW  ", "accepted: TEXT (NAME, until ")
    assert " (accepted) of " in accepted.out
    # The file is about an upgrade to this kernel.
    cli("model", model, "--base", RIGHT, "--head", f"python:{KERNELS}:pads_with_zero_still", "--known", file).check(1)
    cli("model", model, "-t", ZERO, "--known", file).check(1)
    expired = [{**each, "expires": "2020-01-01"} for each in entries(file)]
    file.write_text(yaml.safe_dump({"accepted": expired}))
    cli(*upgrade, "--known", file, COLUMNS="200").check(1, "acceptance expired on 2020-01-01: regressed of ")


def test_a_model_whose_every_deviation_is_accepted_ends_with_accepted(cli, tmp_path):
    model, record, file = saved(zoo.plain(), tmp_path, "model.onnx"), tmp_path / "m.jsonl", tmp_path / "accepted.yaml"
    done = cli("model", model, "-t", ZERO, "-o", record).check(1)
    words = next(line for line in done.out.splitlines() if line.startswith("Next: maxpool-check defects accept "))
    cli(*words.removeprefix("Next: maxpool-check ").split(), cwd=tmp_path).check(0)
    assert last(cli("model", model, "-t", ZERO, "--known", file).check(0)).startswith("ACCEPTED  ")
    file.write_text(yaml.safe_dump({"accepted": entries(file)[1:]}))
    cli("model", model, "-t", ZERO, "--known", file).check(1)


REFUSED = """g (float[1,16,16,16] x) => (float[1,16,8,8] y) {
    r = Relu(x) y = MaxPool<kernel_shape=[1,1], strides=[2,2], auto_pad="SAME_UPPER">(r) }"""


@pytest.mark.network
def test_a_node_that_lower_levels_of_optimization_refuse_is_accepted(cli, tmp_path):
    model, record, file = saved(written(REFUSED, onnx=17), tmp_path), tmp_path / "m.jsonl", tmp_path / "accepted.yaml"
    upgrade = ("model", model, "--base", "onnxruntime==1.28.0", "--head", "onnxruntime==1.32.0")
    cli(*upgrade, "-o", record).check(1, "\nBLOCK  ", "Next: maxpool-check defects accept ")
    cli("defects", "accept", record, *BY, "-o", file).check(0)
    done = cli(*upgrade, "--known", file, COLUMNS="200").check(0, "\nREVIEW  ", "accepted: It never gets there")
    assert "INCOMPLETE" not in done.out
    # Its divergences can be accepted as well, and what explains them is seen.
    alone = ("model", model, "-t", "onnxruntime==1.32.0")
    cli(*alone, "-o", record).check(1)
    cli("defects", "accept", record, *BY, "-o", file).check(0)
    done = cli(*alone, "--known", file).check(0, "\nACCEPTED  ")
    assert "that can reach a node" not in done.out


def test_what_the_shipped_corpus_expects_is_expected_beside_what_a_user_accepts(cli, tmp_path):
    record, file = tmp_path / "r.jsonl", tmp_path / "accepted.yaml"
    run = ("run", "corpus:edge/neg-inf", "-t", SEED)
    cli(*run, "-q", "-o", record).check(1)
    cli("defects", "accept", record).check(2, "pass the file to write with -o")
    cli("defects", "accept", record, *BY, "-o", file).check(0)
    assert cli(*run, "--known", file).code == 0
    # In ONNX Runtime, these two show defects of the corpus.
    shown = ("run", "corpus:edge/auto-pad", "-t", "onnxruntime", "--known", file)
    assert (cli(*shown).code, cli(*shown, "--known", "none").code) == (0, 1)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"cases": ["small:neg-*"]}, "expected the exact id of a case, without wildcards"),
        ({"kinds": None}, "missing 'kinds'"),
        ({"variants": None}, "missing 'variants'"),
        ({"change": None, "kinds": []}, "only the result of a 'change' may have none"),
        ({"expires": "2027-13-01"}, "not a date"),
        ({"runtime": "onnxruntme"}, "unknown runtime 'onnxruntme' (did you mean 'onnxruntime'?)"),
        ({"conditions": {"values": ["neg-inf"]}}, "unknown key 'conditions'"),
    ],
)
@pytest.mark.parametrize("command", ["run", "gate"])
def test_mistakes_in_what_is_accepted_have_their_place(cli, small, tmp_path, changed, message, command):
    fields = {key: value for key, value in {**ENTRY, **changed}.items() if value is not None}
    file = tmp_path / "accepted.yaml"
    file.write_text(yaml.safe_dump({"accepted": [fields]}))
    targets = ("-t", SEED) if command == "run" else ("--base", RIGHT, "--head", SEED)
    cli(command, small, *targets, "--known", file).check(2, "accepted.yaml:", message)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("gate accept r.jsonl -o a.yaml --author A --reason R", "'maxpool-check defects accept RECORD -o FILE"),
        ("gate --base onnxruntime --head jax --accept a.yaml", "name the file of accepted changes with --known"),
        (f"defects accept {ROOT}/tests/data/golden/record.jsonl --reason R -o a.yaml", "--author and --reason belong together"),
        (f"defects accept {ROOT}/tests/data/golden/record.jsonl --fail-on any -o a.yaml", "--fail-on is of changes"),
    ],
)  # fmt: skip
def test_words_of_before_name_what_replaces_them(cli, tmp_path, words, message):
    cli(*words.split(), cwd=tmp_path).check(2, message)
    (tmp_path / "maxpool-check.toml").write_text('[gate]\naccept = ["a.yaml"]\n')
    cli("gate", "a.jsonl", "b.jsonl", cwd=tmp_path).check(2, "name the file of accepted changes under 'known'")
