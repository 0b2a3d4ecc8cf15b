"""``defects accept``: which versions an observation is bounded by, and what a record says nothing of."""

import json

import pytest

from tests.conftest import KERNELS

RIGHT, SEED = (f"python:{KERNELS}:{name}" for name in ("right", "keeps_the_seed"))
DEFECT = """\
defects:
  - id: PY-SEED
    runtime: python
    title: MaxPool keeps the lowest finite value for a window of -inf
    severity: wrong-on-special
    mechanism: The scan starts from the lowest finite value, and needs something greater.
    conditions: {values: [neg-inf]}
    kinds: [y-lowest-for-neg-inf, indices-sentinel]
    expect: [{cases: observed}]
"""
# Whether a kernel has it is known after each run.
OTHER = """\
  - {id: PY-OTHER, runtime: python, title: t, severity: crash, mechanism: m, conditions: {geometry: [padding]},
     expect: [{kinds: [crash]}]}
"""


@pytest.fixture
def corpus(small):
    (small / "defects").mkdir()
    (small / "defects/python.yaml").write_text(DEFECT)
    return small


@pytest.fixture
def accept(cli, corpus, tmp_path):
    """Accepts a record of a kernel that says that it has a version; the command's result."""

    def accepted(kernel, version, change=lambda text: text):
        path = tmp_path / "record.jsonl"
        cli("run", corpus, "-t", kernel, "-o", path, "-q")
        path.write_text(change(path.read_text().replace('"version":""', f'"version":"{version}"', 1)))
        return cli("defects", "accept", path)

    return accepted


def observed(corpus):
    """The versions of each variant in the file of observations."""
    path = corpus / "defects/observed/python.jsonl"
    lines = map(json.loads, path.read_text().splitlines() if path.exists() else [])
    return {line["variant"]: line.get("versions", "") for line in lines if "cases" in line}


@pytest.mark.parametrize(
    ("accepts", "versions"),
    [
        # Of the first version that is tested, nothing else is known.
        ([(SEED, "1.0")], ""),
        ([(SEED, "1.0"), (SEED, "2.0")], ""),
        ([(RIGHT, "1.0"), (SEED, "2.0")], ">=2.0"),
        ([(RIGHT, "2.0"), (SEED, "1.0")], "<=1.0"),
        ([(RIGHT, "1.0"), (RIGHT, "3.0"), (SEED, "2.0")], ">=2.0,<=2.0"),
        ([(SEED, "1.0"), (RIGHT, "2.0")], "<2.0"),
        ([(SEED, "2.0"), (RIGHT, "1.0")], ">1.0"),
        ([(SEED, "1.0"), (SEED, "3.0"), (RIGHT, "2.0")], "!=2.0"),
        ([(SEED, "1.0+cpu"), (RIGHT, "2.0+cpu")], "<2.0"),
        # The only version that was tested no longer shows it.
        ([(SEED, "1.0"), (RIGHT, "1.0")], None),
        # No bound can name a version that is no number.
        ([(SEED, "1.0"), (RIGHT, "nightly")], ""),
        ([(RIGHT, "1.0"), (SEED, "nightly")], None),
    ],
)
def test_the_versions_of_an_observation(cli, corpus, accept, accepts, versions):
    (corpus / "defects/python.yaml").write_text(DEFECT + OTHER)
    for kernel, version in accepts:
        done = accept(kernel, version)
        assert done.code == 0 or version == "nightly", done
    assert observed(corpus) == ({} if versions is None else dict.fromkeys(("indices", "y-only"), versions))
    # What was written can be read, and another acceptance changes nothing.
    before = {path: path.read_text() for path in corpus.rglob("*.json*")}
    accept(*accepts[-1])
    assert {path: path.read_text() for path in corpus.rglob("*.json*")} == before
    cli("defects", "lint", corpus).check(0)


@pytest.mark.network
def test_two_targets_of_one_record_are_both_accepted(cli, corpus, tmp_path):
    record = tmp_path / "record.jsonl"
    run = ("run", corpus, "-t", "onnxruntime==1.23.2", "-t", "onnxruntime==1.32.0", "-k", "small:neg-inf")
    (corpus / "defects/python.yaml").write_text(
        DEFECT.replace("runtime: python", "runtime: onnxruntime").replace(
            "indices-sentinel]", "indices-sentinel, y-depends-on-indices]"
        )
    )
    assert cli(*run, "-o", record, "-q").code == 1
    cli("defects", "accept", record).check(0)
    assert cli(*run).code == 0


def test_labels_of_an_older_state_of_the_defects_do_not_count(cli, corpus, accept):
    accept(SEED, "1.0").check(0)
    defects = corpus / "defects/python.yaml"

    def with_another_condition(text):
        defects.write_text(DEFECT.replace("[neg-inf]", "[subnormal]"))
        return text

    accept(SEED, "1.0", with_another_condition).check(1, "2 executions left that no defect explains")


@pytest.mark.parametrize("sha256", ["0" * 64, ""])
def test_a_fault_of_a_case_that_has_changed_is_left(accept, corpus, sha256):
    def changed(text):
        lines = [json.loads(line) for line in text.splitlines()]
        for line in lines:
            if line.get("case") == "small:neg-inf":
                line["case_sha256"] = sha256
        return "\n".join(map(json.dumps, lines)) + "\n"

    accept(SEED, "1.0", changed).check(1, "2 executions left that no defect explains")
    assert observed(corpus) == {}


def test_an_incomplete_record_changes_nothing(accept, corpus):
    before = {path: path.read_bytes() for path in corpus.rglob("*") if path.is_file()}
    accept(SEED, "1.0", lambda text: text.rpartition('{"type":"footer"')[0]).check(2, "its run is not complete")
    assert {path: path.read_bytes() for path in corpus.rglob("*") if path.is_file()} == before
