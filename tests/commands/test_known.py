"""``known add`` and ``known check``, as a user types them."""

from datetime import date

import pytest
import yaml


@pytest.fixture
def record(cli, small, kernel_target, tmp_path):
    path = tmp_path / "record.jsonl"
    cli("run", small, "-t", kernel_target("keeps_the_seed"), "-o", path, "-q")
    return path


def test_what_is_added_makes_the_run_as_expected(cli, small, kernel_target, record):
    added = cli("defects", "accept", record, "--reason", 'It keeps "its" seed: always # yes.')
    assert added.code == 0, added.err
    assert "python-indices-sentinel-y-lowest-for-neg-inf: indices-sentinel, y-lowest-for-neg-inf of 1 case" in added.out
    text = (small / "known-divergences.yaml").read_text()
    assert "small:neg-inf" in text
    assert "variants: [indices, y-only]" in text
    again = cli("run", small, "-t", kernel_target("keeps_the_seed"))
    assert again.code == 0, again.out
    assert "no unexpected divergences" in cli("defects", "accept", record, "--reason", "x").out
    assert (small / "known-divergences.yaml").read_text() == text


def test_only_one_kind(cli, record, tmp_path):
    path = tmp_path / "k.yaml"
    assert (
        "no unexpected divergences"
        in cli("defects", "accept", record, "--reason", "x", "--kind", "crash", "-o", path).out
    )
    assert not path.exists()
    wrong = cli("defects", "accept", record, "--reason", "x", "--kind", "crsh")
    assert wrong.code == 2
    assert "did you mean 'crash'?" in wrong.err


def test_a_reason_is_needed(cli, record):
    assert cli("defects", "accept", record).code == 2
    assert cli("defects", "accept", record, "--reason", " ").code == 2


def test_check_names_what_is_expired_orphaned_or_never_shown(cli, small, record):
    fields = "cases: [{}]\n    kinds: [{}]\n    reason: r\n"
    (small / "known-divergences.yaml").write_text(
        "known:\n"
        "  - id: fine\n    when: python\n    " + fields.format('"small:neg-inf"', "y-lowest-for-neg-inf, indices-sentinel")
        + "  - id: old\n    when: other\n    expires: 2020-01-01\n    " + fields.format('"small:padded"', "crash")
        + "  - id: lost\n    when: other\n    " + fields.format('"small:nothing"', "crash")
        + "  - id: idle\n    when: python\n    " + fields.format('"small:padded"', "crash")
    )  # fmt: skip
    done = cli("defects", "lint", small)
    assert done.code == 1
    assert "old expired on 2020-01-01" in done.out
    assert "'small:nothing' names no case: orphaned" in done.out
    assert "idle" not in done.out
    with_record = cli("defects", "lint", small, "--record", record)
    assert "no record shows idle" in with_record.out
    assert "fine" not in with_record.out
    assert with_record.out.rstrip().endswith("4 entries, 3 problems")


def test_an_entry_is_written_where_the_next_run_reads_it_with_its_issue_and_date(cli, small, kernel_target, tmp_path):
    (small / "inside").mkdir()
    (small / "small.yaml").rename(small / "inside/small.yaml")
    record = tmp_path / "record.jsonl"
    target = kernel_target("keeps_the_seed")
    cli("run", small, "-t", target, "-o", record, "-q")
    details = ("--issue", "https://example.org/1", "--expires", "2099-12-31", "--reviewer", "Ada")
    added = cli("defects", "accept", record, "--reason", "Seen", *details)
    assert f"added to {small / 'known-divergences.yaml'}" in added.out
    (entry,) = yaml.safe_load((small / "known-divergences.yaml").read_text())["defects"]
    assert entry["mechanism"] == "Seen"
    assert entry["upstream"]["issue"] == "https://example.org/1"
    assert (entry["reviewer"], str(entry["reviewed"])) == ("Ada", str(date.today()))
    assert [str(each["expires"]) for each in entry["expect"]] == ["2099-12-31"]
    again = cli("run", small, "-t", target)
    assert again.code == 0, again.out
    assert cli("defects", "accept", record, "--reason", "x", "--issue", "javascript:1").code == 2


def test_check_names_what_a_record_calls_stale(cli, small, kernel_target, tmp_path):
    # It shows one of the cases, so that no record shows nothing of the entry.
    (small / "known-divergences.yaml").write_text(
        "known:\n  - {id: seed, when: python, cases: ['small:neg-inf', 'small:padded'], reason: r,\n"
        "     kinds: [indices-sentinel, y-lowest-for-neg-inf]}\n"
    )
    record = tmp_path / "stale.jsonl"
    assert cli("run", small, "-t", kernel_target("keeps_the_seed"), "-o", record, "-q").code == 1
    done = cli("defects", "lint", small, "--record", record)
    assert done.code == 1
    assert "small:padded no longer diverges in these kinds" in done.out


def test_other_kinds_than_those_that_are_expected_are_changed(cli, tmp_path):
    (tmp_path / "own.yaml").write_text(
        "cases:\n  - id: masked\n    outputs: [Y]\n    input: {dtype: float32, shape: [1, 16, 2, 2], fill: -.inf}\n"
        "    attributes: {kernel_shape: [2, 2]}\n"
    )
    (tmp_path / "known-divergences.yaml").write_text(
        "known:\n  - {id: mine, when: onnxruntime, cases: ['own:masked'], kinds: [y-signed-zero], reason: r}\n"
    )
    done = cli("run", tmp_path, "-t", "onnxruntime", "--report", "json")
    assert {(each["status"], each["known"]) for each in done.json["results"]} == {("changed", "ORT-LOWEST-BLOCKED")}
    statuses = {entry["id"]: entry["status"] for entry in done.json["known"]}
    assert statuses == {"mine": "stale", "ORT-LOWEST-BLOCKED": "not-expected"}
    shown = cli("run", tmp_path, "-t", "onnxruntime").out
    assert "CHANGED  ORT-LOWEST-BLOCKED" in shown
    assert "this corpus expects other kinds of these cases" in shown


def test_a_lock_covers_what_is_expected(cli, small, kernel_target, record, tmp_path):
    lock = tmp_path / "lock.json"
    cli("cases", "lock", small, "-o", lock)
    done = cli("run", small, "-t", kernel_target("right"), "--corpus-lock", lock, "--known", tmp_path / "other.yaml")
    assert done.code == 2
    assert "the lock does not cover" in done.err


def test_the_date_and_the_issue_of_what_is_accepted_are_in_the_record_and_in_reports(cli, small, kernel_target, record):
    details = ("--issue", "https://example.org/1", "--expires", "2099-12-31", "--reviewer", "Ada")
    cli("defects", "accept", record, "--reason", "Seen", *details)
    shown = cli("run", small, "-t", kernel_target("keeps_the_seed"), "-v", "-o", record)
    (entry,) = cli("report", record, "--report", "json").json["known"]
    assert (entry["expires"], entry["issue"]) == ("2099-12-31", "https://example.org/1")
    for text in (shown.out, *(cli("report", record, "--report", form).out for form in ("markdown", "html"))):
        assert "Expected until 2099-12-31" in text
        assert "https://example.org/1" in text
