"""``corpus lock`` and ``--corpus-lock``, and the corpus in a record."""

import json

import msgspec
import pytest

import maxpool_check
from maxpool_check.results.storage import read
from tests.conftest import CASES


@pytest.fixture
def locked(cli, small, tmp_path):
    """The file of a lock of the small corpus, with a file of defects."""
    (small / "known-divergences.yaml").write_text(
        "known:\n  - id: e\n    when: onnxruntime\n    cases: ['small:neg-inf']\n    kinds: [shape]\n    reason: r\n"
    )
    done = cli("cases", "lock", small, "-o", tmp_path / "lock.json")
    assert (done.code, done.err) == (0, "")
    assert "6 cases and 1 file of defects" in done.out
    return tmp_path / "lock.json"


def test_a_lock_holds_each_case_and_is_the_same_each_time(cli, small, locked):
    lock = json.loads(locked.read_text())
    assert list(lock["cases"]) == sorted(lock["cases"])
    assert len(lock["cases"]) == 6
    assert list(lock["defects"]) == ["known-divergences.yaml"]
    assert cli("cases", "lock", small, "-o", "-").out == locked.read_text()


def test_the_locked_corpus_runs_whatever_is_selected_of_it(cli, small, locked, kernel_target):
    arguments = ["run", small, "-t", kernel_target("right"), "--corpus-lock", locked, "-k"]
    assert [cli(*arguments, expression).code for expression in ("*", "small:ordinary")] == [0, 0]


@pytest.mark.parametrize(
    "command",
    [["run"], ["gate", "--base", "onnxruntime==1.2.3", "--head", "onnxruntime==1.2.4"], ["history"]],
    ids=lambda command: command[0],
)
def test_another_corpus_is_refused_before_anything_runs(cli, small, locked, tmp_path, command):
    text = (small / "small.yaml").read_text()
    text = text.replace("id: ordinary", "id: renamed").replace("fill: 5", "fill: 6")
    (small / "small.yaml").write_text(text)
    (small / "known-divergences.yaml").unlink()
    settings = {"MAXPOOL_CHECK_CORPUS_LOCK": str(locked), "MAXPOOL_CHECK_OFFLINE": "1"}
    done = cli(*command, small, **settings, MAXPOOL_CHECK_CACHE=str(tmp_path / "cache"))
    assert (done.code, done.out) == (2, "")
    assert "1 case missing: small:ordinary" in done.err
    assert "1 case added: small:renamed" in done.err
    assert "1 case changed: small:empty" in done.err
    assert "1 file of defects missing: known-divergences.yaml" in done.err
    assert f"nothing was run; to lock this one: maxpool-check cases lock {small} -o {locked}" in done.err


def test_few_of_many_cases_are_named(cli, small, locked):
    done = cli("run", "corpus:edge/ties", "--corpus-lock", locked)
    assert done.code == 2
    assert "6 cases missing: small:empty, small:neg-inf, small:one-column and 3 more" in done.err


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "is no lock of a corpus"),
        ('{"cases": []}', "is no lock of a corpus"),
        (
            '{"schema": "x", "name": "", "version": null, "sha256": "", "defects": {}, "cases": {}}',
            "has the schema 'x'",
        ),
        (None, "No such file or directory; 'maxpool-check cases lock -o "),
    ],
)
def test_a_file_that_is_no_lock(cli, small, tmp_path, content, message):
    if content is not None:
        (tmp_path / "lock").write_text(content)
    done = cli("run", small, "--corpus-lock", tmp_path / "lock")
    assert done.code == 2
    assert message in done.err


def test_a_lock_overwrites_no_case_file(cli, small):
    before = (small / "small.yaml").read_bytes()
    done = cli("cases", "lock", small, "-o", small / "small.yaml")
    assert done.code == 2
    assert (small / "small.yaml").read_bytes() == before


def test_a_record_names_the_whole_corpus(cli, small, locked, kernel_target, tmp_path):
    arguments = ["run", small, "-t", kernel_target("right"), "-k", "small:ordinary", "--report"]
    record, page, table = (tmp_path / name for name in ("record.jsonl", "page.html", "table.md"))
    assert cli(*arguments, f"html={page}", "--report", f"markdown={table}", "-o", record).code == 0
    corpus = read(record).header.corpus
    assert (corpus.name, corpus.version, corpus.cases) == (str(small), None, 6)
    assert corpus.sha256 == json.loads(locked.read_text())["sha256"]
    assert corpus.sha256 in page.read_text()
    assert corpus.sha256 in table.read_text()
    assert f"Corpus: {small}, 6 cases" in cli("report", record, "--cases").out


def test_the_corpus_that_comes_with_the_tool_has_its_version(cli, kernel_target, tmp_path):
    record = tmp_path / "record.jsonl"
    done = cli("run", "corpus:edge/ties", "-t", kernel_target("right"), "-o", record)
    version = maxpool_check.__version__
    assert f"Corpus: corpus:edge/ties {version}, " in done.out
    assert read(record).header.corpus.version == version
    (tmp_path / "lock.json").write_text(cli("cases", "lock", "corpus:edge/ties", "-o", "-").out)
    assert json.loads((tmp_path / "lock.json").read_text())["version"] == version
    # Where it lies does not matter: the same cases are the same corpus.
    assert cli("run", CASES / "edge/ties.yaml", "-q", "--corpus-lock", tmp_path / "lock.json").code == 0


def test_records_of_older_versions_name_no_corpus(cli, small, kernel_target, tmp_path):
    record = tmp_path / "record.jsonl"
    cli("run", small, "-t", kernel_target("right"), "-o", record)
    first, rest = record.read_text().split("\n", 1)
    header = msgspec.json.decode(first)
    del header["corpus"]
    record.write_text(msgspec.json.encode(header).decode() + "\n" + rest)
    assert read(record).header.corpus is None
    done = cli("report", record, "--report", "markdown")
    assert done.code == 0
    assert "corpus:" not in done.out


@pytest.mark.parametrize(
    ("old", "new", "is_refused"),
    [
        ("    expect: {undefined: empty-window}\n", "", True),
        ("fill: -.inf}\n", "fill: -.inf}\n    expect: {Y: [[[[-.inf]], [[-.inf]]]]}\n", True),
        ("tags: [neg-inf]", "covers: [ONNX-MAX]", True),
        ("title: Nothing special", "title: Something", False),
    ],
)
def test_a_lock_covers_what_is_expected_and_claimed_of_a_case(cli, small, locked, kernel_target, old, new, is_refused):
    text = (small / "small.yaml").read_text()
    assert old in text
    (small / "small.yaml").write_text(text.replace(old, new))
    done = cli("run", small, "-t", kernel_target("right"), "--corpus-lock", locked, "-k", "ordinary")
    assert (done.code, "1 case changed" in done.err) == ((2, True) if is_refused else (0, False)), done.err
