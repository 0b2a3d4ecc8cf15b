"""``known add`` and ``known check``, as a user types them."""

import pytest


@pytest.fixture
def record(cli, small, kernel_target, tmp_path):
    path = tmp_path / "record.jsonl"
    cli("run", small, "-t", kernel_target("keeps_the_seed"), "-o", path, "-q")
    return path


def test_what_is_added_makes_the_run_as_expected(cli, small, kernel_target, record):
    added = cli("known", "add", record, "--reason", 'It keeps "its" seed: always # yes.')
    assert added.code == 0, added.err
    assert "python-indices-sentinel-y-lowest-for-neg-inf: indices-sentinel, y-lowest-for-neg-inf of 1 case" in added.out
    text = (small / "known-divergences.yaml").read_text()
    assert "small:neg-inf" in text
    assert "variants: [indices, y-only]" in text
    again = cli("run", small, "-t", kernel_target("keeps_the_seed"))
    assert again.code == 0, again.out
    assert "no unexpected divergences" in cli("known", "add", record, "--reason", "x").out
    assert (small / "known-divergences.yaml").read_text() == text


def test_only_one_kind(cli, record, tmp_path):
    path = tmp_path / "k.yaml"
    assert (
        "no unexpected divergences"
        in cli("known", "add", record, "--reason", "x", "--kind", "crash", "--known", path).out
    )
    assert not path.exists()
    wrong = cli("known", "add", record, "--reason", "x", "--kind", "crsh")
    assert wrong.code == 2
    assert "did you mean 'crash'?" in wrong.err


def test_a_reason_is_needed(cli, record):
    assert cli("known", "add", record).code == 2
    assert cli("known", "add", record, "--reason", " ").code == 2


def test_check_names_what_is_expired_orphaned_or_never_shown(cli, small, record):
    fields = "cases: [{}]\n    kinds: [{}]\n    reason: r\n"
    (small / "known-divergences.yaml").write_text(
        "known:\n"
        "  - id: fine\n    when: python\n    " + fields.format('"small:neg-inf"', "y-lowest-for-neg-inf, indices-sentinel")
        + "  - id: old\n    when: other\n    expires: 2020-01-01\n    " + fields.format('"small:padded"', "crash")
        + "  - id: lost\n    when: other\n    " + fields.format('"small:nothing"', "crash")
        + "  - id: idle\n    when: python\n    " + fields.format('"small:padded"', "crash")
    )  # fmt: skip
    done = cli("known", "check", small)
    assert done.code == 1
    assert "old expired on 2020-01-01" in done.out
    assert "'small:nothing' names no case: orphaned" in done.out
    assert "idle" not in done.out
    with_record = cli("known", "check", small, "--record", record)
    assert "no record shows idle" in with_record.out
    assert "fine" not in with_record.out
    assert with_record.out.rstrip().endswith("4 entries, 3 problems")
