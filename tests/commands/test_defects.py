"""``defects``: the catalogue, one defect, and which of them a target shows."""

import json

import pytest

SEED = """\
# Reviewed by hand.
defects:
  - id: PY-SEED
    runtime: python
    title: MaxPool keeps the lowest finite value for a window of -inf
    severity: wrong-on-special
    mechanism: The scan starts from the lowest finite value, and needs something greater.
    documents: [onnx]
    conditions: {{values: [neg-inf]}}
    upstream: {{issue: "https://example.org/issues/7", state: open, seen: 2026-11-22}}
    example: small:neg-inf
    expect:
      - kinds: [y-lowest-for-neg-inf, indices-sentinel]
        {bound}
"""

PADS = """\
  - id: PY-PADS
    runtime: python
    title: MaxPool counts its padding as 0
    severity: wrong-on-finite
    mechanism: The padding is filled with 0.
    expect:
      - {kinds: [y-pad-value-leak], cases: ["small:padded*"]}
"""


@pytest.fixture
def catalogue(small):
    """Writes the defects of the small corpus; ``bound`` is a line of what PY-SEED is expected to show."""

    def write(bound="cases: [small:neg-inf]", *more):
        folder = small / "defects"
        folder.mkdir(exist_ok=True)
        (folder / "python.yaml").write_text(SEED.format(bound=bound) + "".join(more))
        return small

    return write


def test_the_list_has_the_worst_first_and_json_has_all(cli, catalogue):
    corpus = catalogue("cases: [small:neg-inf]", PADS)
    lines = cli("defects", "list", "-p", corpus).out.splitlines()
    assert lines[0] == "python"
    assert [line.split()[0] for line in lines if "PY-" in line] == ["PY-PADS", "PY-SEED"]
    assert "#7 open" in "".join(lines)
    document = cli("defects", "list", "-p", corpus, "--json").json
    assert [defect["id"] for defect in document["defects"]] == ["PY-PADS", "PY-SEED"]
    seed = document["defects"][1]
    assert (seed["severity"], seed["since"], seed["until"]) == ("wrong-on-special", None, None)
    assert seed["upstream"]["issue"] == "https://example.org/issues/7"
    assert seed["conditions"] == {"values": ["neg-inf"]}


def test_one_defect_and_those_of_a_runtime(cli, catalogue):
    corpus = catalogue("cases: [small:neg-inf]", PADS)
    page = cli("explain", "PY-SEED", "-p", corpus).out
    assert page.startswith("PY-SEED: MaxPool keeps the lowest finite value")
    assert "The scan starts from the lowest finite value" in page
    assert "https://example.org/issues/7, open, as seen 2026-11-22" in page
    assert "PY-PADS" in cli("defects", "list", "python", "-p", corpus).out
    wrong = cli("explain", "PY-SEDE", "-p", corpus)
    assert wrong.code == 2
    assert "did you mean 'PY-SEED'?" in wrong.err
    assert cli("defects", "list", "-p", corpus.parent / "nothing").code == 2


def test_check_runs_the_cases_and_knows_what_is_expected(cli, catalogue, kernel_target):
    corpus = catalogue()
    done = cli("defects", "check", "-t", kernel_target("keeps_the_seed"), "-p", corpus)
    assert done.code == 0, done.out
    assert "PY-SEED  wrong-on-special  2 executions" in done.out
    gone = cli("defects", "check", "-t", kernel_target("right"), "-p", corpus)
    assert gone.code == 1
    assert "no longer diverges" in gone.out
    other = cli("defects", "check", "-t", kernel_target("counts_in_the_plane"), "-p", catalogue("cases: ['small:*']"))
    assert other.code == 1
    assert "that no defect expects:" in other.out


def test_a_glob_that_no_longer_diverges_is_stale(cli, catalogue, kernel_target):
    corpus = catalogue("cases: ['small:neg-*']")
    assert cli("defects", "check", "-t", kernel_target("keeps_the_seed"), "-p", corpus).code == 0
    gone = cli("defects", "check", "-t", kernel_target("right"), "-p", corpus)
    assert gone.code == 1
    assert "small:neg-*" in gone.out
    assert gone.out.rstrip().endswith("NOT as expected")


def test_check_of_a_record_needs_no_target(cli, catalogue, kernel_target, tmp_path):
    corpus, record = catalogue(), tmp_path / "record.jsonl"
    assert cli("run", corpus, "-t", kernel_target("keeps_the_seed"), "--known", "none", "-o", record, "-q").code == 1
    done = cli("defects", "check", "--record", record, "-p", corpus)
    assert (done.code, "PY-SEED" in done.out) == (0, True), done.out
    assert cli("defects", "check", "-p", corpus).code == 2
    assert cli("defects", "check", "--record", record, "-t", "onnxruntime", "-p", corpus).code == 2


def test_a_defect_outside_its_versions_is_no_expected_one(cli, catalogue, kernel_target):
    # The version of a kernel is 0.
    done = cli(
        "defects", "check", "-t", kernel_target("keeps_the_seed"),
        "-p", catalogue('versions: ">=1"\n        cases: [small:neg-inf]'),
    )  # fmt: skip
    assert done.code == 1
    assert "shown, and not expected of this version" in done.out


def test_tested_versions_say_since_when_and_what_is_live(cli, catalogue, kernel_target):
    corpus = catalogue()
    (corpus / "defects/versions.json").write_text(json.dumps({"python": {"-1": []} | {"0.1": ["PY-SEED"], "0.2": []}}))
    (seed,) = cli("defects", "list", "-p", corpus, "--json").json["defects"]
    assert (seed["since"], seed["until"], seed["live"]) == ("0.1", "0.1", False)
    assert cli("defects", "list", "--live", "-p", corpus, "--json").json["defects"] == []
    kernel, record = kernel_target("keeps_the_seed"), corpus / "record.jsonl"
    nameless = cli("defects", "check", "--write", "-t", kernel, "-p", corpus)
    assert (nameless.code, f"{kernel} names no version" in nameless.err) == (2, True)
    cli("run", corpus, "-t", kernel, "-o", record, "-q")
    record.write_text(record.read_text().replace('"version":""', '"version":"0"', 1))
    assert cli("defects", "check", "--write", "--record", record, "-p", corpus).code == 0
    (seed,) = cli("defects", "list", "-p", corpus, "--json").json["defects"]
    assert (seed["since"], seed["until"]) == ("0", "0.1")
    assert seed["tested"] == ["-1", "0", "0.1", "0.2"]


@pytest.mark.parametrize("text", ["{", "[]", '{"python": 1}', '{"python": {"1": 2}}'])
def test_tested_versions_that_cannot_be_read(cli, catalogue, text):
    corpus = catalogue()
    (corpus / "defects/versions.json").write_text(text)
    done = cli("defects", "list", "-p", corpus)
    assert done.code == 2
    assert "versions.json:1:1: cannot be read" in done.err


def test_without_cases_all_that_meet_the_conditions_are_expected(cli, catalogue, kernel_target):
    corpus = catalogue("variants: [indices, y-only]")
    done = cli("run", corpus, "-t", kernel_target("keeps_the_seed"), "--report", "json")
    assert done.code == 0, done.out
    known = {result["case"] for result in done.json["results"] if result["known"] == "PY-SEED"}
    assert known == {"small:neg-inf"}
    (entry,) = done.json["known"]
    assert (entry["id"], entry["severity"]) == ("PY-SEED", "wrong-on-special")
    # It is stale if nothing shows it, and not if only a part of the corpus was run.
    assert cli("run", corpus, "-t", kernel_target("right")).code == 1
    assert cli("run", corpus, "-t", kernel_target("right"), "-k", "small:padded").code == 0


def test_a_run_shows_the_defect_before_its_kinds(cli, catalogue, kernel_target):
    out = cli("run", catalogue(), "-t", kernel_target("keeps_the_seed")).out
    assert "\nDefects\n" in out
    line = next(line for line in out.splitlines() if "PY-SEED" in line)
    assert "wrong-on-special" in line
    assert "MaxPool keeps the lowest finite value" in " ".join(out.split())
    full = cli("run", catalogue(), "-t", kernel_target("keeps_the_seed"), "-v").out
    assert "KNOWN  PY-SEED" in full
    assert "The scan starts from the lowest finite value" in full


@pytest.mark.parametrize(
    ("bound", "words"),
    [
        ("cases: [small:padded]", "small:padded does not meet the conditions values: neg-inf of the defect"),
        ("cases: [small:padded]", "small:neg-inf is not expected to show the defect"),
        ("cases: [small:nothing]", "'small:nothing' names no case"),
    ],
)
def test_lint_compares_conditions_and_example_with_the_cases(cli, catalogue, bound, words):
    done = cli("cases", "lint", catalogue(bound))
    assert done.code == 2
    assert words in done.err


def test_what_fits_the_conditions_of_a_defect_is_added_to_it(cli, catalogue, kernel_target, tmp_path):
    corpus, record = catalogue("versions: '>=1'\n        cases: [small:neg-inf]"), tmp_path / "record.jsonl"
    file = corpus / "defects/python.yaml"
    cli("run", corpus, "-t", kernel_target("keeps_the_seed"), "-o", record, "-q")
    added = cli("defects", "accept", record, "--reason", "as before")
    assert not (corpus / "known-divergences.yaml").exists()
    assert added.code == 0, added.err
    assert "fits its conditions" in added.out
    assert "# Reviewed by hand." in file.read_text()
    (defect,) = cli("defects", "list", "-p", corpus, "--json").json["defects"]
    assert len(defect["expect"]) == 2
    assert cli("run", corpus, "-t", kernel_target("keeps_the_seed")).code == 0


def test_gate_names_the_defect_of_a_change(cli, catalogue, kernel_target):
    done = cli("gate", catalogue(), "--base", kernel_target("right"), "--head", kernel_target("keeps_the_seed"))
    assert done.code == 1
    assert "BLOCKS  regressed: conforms -> PY-SEED" in done.out
    assert "PY-SEED (wrong-on-special): MaxPool keeps" in done.out


def test_who_has_reviewed_a_defect_is_shown_wherever_it_is(cli, catalogue, kernel_target, tmp_path):
    review = "reviewer: Ada [bold]Example\n    reviewed: 2026-11-23"
    corpus = catalogue("cases: [small:neg-inf]")
    file = corpus / "defects/python.yaml"
    file.write_text(file.read_text().replace("example: small:neg-inf", f"example: small:neg-inf\n    {review}"))
    assert "by Ada [bold]Example, 2026-11-23" in cli("explain", "PY-SEED", "-p", corpus).out
    (listed,) = cli("defects", "list", "-p", corpus, "--json").json["defects"]
    assert (listed["reviewer"], listed["reviewed"]) == ("Ada [bold]Example", "2026-11-23")
    record, page, text = (tmp_path / name for name in ("record.jsonl", "report.html", "report.md"))
    target = ("-t", kernel_target("keeps_the_seed"))
    done = cli("run", corpus, *target, "-v", "-o", record, "--report", f"html={page}", "--report", f"markdown={text}")
    assert all("Reviewed by Ada" in shown for shown in (done.out, page.read_text(), text.read_text()))
    (entry,) = json.loads(record.read_text().splitlines()[-1])["known"]
    assert (entry["reviewer"], entry["reviewed"]) == ("Ada [bold]Example", "2026-11-23")


@pytest.mark.parametrize(
    ("review", "message"),
    [
        ("reviewer: Ada", "'reviewer' without 'reviewed'"),
        ("reviewed: 2026-11-23", "'reviewed' without 'reviewer'"),
        ("reviewer: Ada\n    reviewed: 2026-13-23", "not a date"),
        ('reviewer: " "\n    reviewed: 2026-11-23', "the name of the reviewer"),
    ],
)
def test_half_a_review_is_refused(cli, catalogue, review, message):
    corpus = catalogue("cases: [small:neg-inf]")
    assert cli("cases", "lint", corpus).code == 0
    file = corpus / "defects/python.yaml"
    file.write_text(file.read_text().replace("example: small:neg-inf", f"example: small:neg-inf\n    {review}"))
    done = cli("cases", "lint", corpus)
    assert done.code == 2
    assert f"{file}:" in done.out + done.err
    assert message in done.out + done.err
