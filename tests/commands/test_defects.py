"""Known defects: the catalogue, what is expected in a run, and ``defects check``, ``accept`` and ``lint``."""

import json
from datetime import date

import pytest
import yaml

from tests.conftest import KERNELS, known_defect, reports_in

RIGHT, SEED, PLANE = (f"python:{KERNELS}:{name}" for name in ("right", "keeps_the_seed", "counts_in_the_plane"))
DEFECT = """\
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
    {review}
    expect:
      - kinds: [y-lowest-for-neg-inf, indices-sentinel]
        {bound}
"""
PADS = """\
  - {id: PY-PADS, runtime: python, title: The padding counts as 0, severity: wrong-on-finite, mechanism: It is filled.,
     expect: [{kinds: [y-pad-value-leak], cases: ["small:padded*"]}]}
"""
REVIEW = "reviewer: Ada [bold]Example\n    reviewed: 2026-11-23"


@pytest.fixture
def catalogue(small):
    """Writes the defects of the small corpus; ``bound`` is a line of what PY-SEED is expected to show."""

    def write(bound="cases: [small:neg-inf]", *more, review=REVIEW):
        (small / "defects").mkdir(exist_ok=True)
        text = DEFECT.format(bound=bound.replace("; ", "\n        "), review=review) + "".join(more)
        (small / "defects/python.yaml").write_text(text)
        return small

    return write


@pytest.fixture
def record(cli, small, tmp_path):
    path = tmp_path / "record.jsonl"
    assert cli("run", small, "-t", SEED, "-o", path, "-q", "--known", "none").code == 1
    return path


def test_the_list_has_the_worst_first_and_a_defect_its_page(cli, catalogue):
    corpus = catalogue("cases: [small:neg-inf]", PADS)
    lines = cli("defects", "list", "python", "-p", corpus).out.splitlines()
    assert lines[0] == "python"
    assert [line.split()[0] for line in lines if "PY-" in line] == ["PY-PADS", "PY-SEED"]
    assert {"remedy", "title"} < {*lines[1].split()}
    _, seed = cli("defects", "list", "-p", corpus, "--json").json["defects"]
    assert (seed["severity"], seed["since"], seed["until"]) == ("wrong-on-special", None, None)
    assert seed["upstream"]["issue"] == "https://example.org/issues/7"
    assert seed["conditions"] == {"values": ["neg-inf"]}
    assert (seed["reviewer"], seed["reviewed"]) == ("Ada [bold]Example", "2026-11-23")
    seen = "https://example.org/issues/7, open, as seen 2026-11-22"
    shown = ("PY-SEED: MaxPool keeps the lowest", seen, "The scan starts", "by Ada [bold]Example, 2026")
    cli("explain", "PY-SEED", "-p", corpus).check(0, *shown)
    cli("explain", "PY-SEDE", "-p", corpus).check(2, "did you mean 'PY-SEED'?")


@pytest.mark.parametrize(
    ("bound", "target", "code", "text"),
    [
        ("cases: [small:neg-inf]", SEED, 0, "PY-SEED  wrong-on-special  2 executions"),
        ("cases: [small:neg-inf]", RIGHT, 1, "no longer diverges"),
        ("cases: ['small:neg-*']", RIGHT, 1, "small:neg-*"),
        ("cases: ['small:*']", PLANE, 1, "that no defect expects:"),
        # The version of a kernel is 0.
        ('versions: ">=1"; cases: [small:neg-inf]', SEED, 1, "shown, and not expected of this version and processor"),
    ],
)
def test_check_runs_the_cases_and_knows_what_is_expected(cli, catalogue, bound, target, code, text):
    done = cli("defects", "check", "-t", target, "-p", catalogue(bound))
    assert (done.code, text in done.out, done.out.rstrip().endswith("  NOT as expected")) == (code, True, code == 1)


def test_tested_versions_say_since_when_and_what_is_live(cli, catalogue, record):
    corpus = catalogue()
    versions = corpus / "defects/versions.json"
    versions.write_text('{"python": {"1": 2}}')
    cli("defects", "list", "-p", corpus).check(2, "versions.json:1:1: cannot be read")
    versions.write_text(json.dumps({"python": {"-1": [], "0.1": ["PY-SEED"], "0.2": []}}))
    (seed,) = cli("defects", "list", "-p", corpus, "--json").json["defects"]
    assert (seed["since"], seed["until"], seed["live"]) == ("0.1", "0.1", False)
    assert cli("defects", "list", "--live", "-p", corpus, "--json").json["defects"] == []
    record.write_text(record.read_text().replace('"version":""', '"version":"0"', 1))
    for words in ((), ("--record", record, "-t", "onnxruntime")):
        assert cli("defects", "check", *words, "-p", corpus).code == 2
    assert cli("defects", "check", "--record", record, "-p", corpus).code == 0
    cli("defects", "accept", record).check(0, f"written: {versions}")
    (seed,) = cli("defects", "list", "-p", corpus, "--json").json["defects"]
    assert (seed["since"], seed["until"]) == ("0", "0.1")
    assert seed["tested"] == ["-1", "0", "0.1", "0.2"]


def test_without_cases_all_that_meet_the_conditions_are_expected(cli, catalogue):
    corpus = catalogue("variants: [indices, y-only]")
    assert cli("run", corpus, "-t", SEED).code == 0
    # It is stale if nothing shows it, and not if only a part of the corpus was run.
    assert cli("run", corpus, "-t", RIGHT).code == 1
    assert cli("run", corpus, "-t", RIGHT, "-k", "small:padded").code == 0


def test_a_run_and_a_gate_name_the_defect_and_who_has_reviewed_it(cli, catalogue, record, tmp_path):
    corpus = catalogue()
    done = cli("run", corpus, "-t", SEED, "-v", "-o", record, *reports_in(tmp_path, "html", "markdown"))
    done.check(
        0, "\nKnown defects\n", "KNOWN  PY-SEED", "The scan starts from the lowest finite value", "Reviewed by Ada"
    )
    assert all("Reviewed by Ada" in (tmp_path / form).read_text() for form in ("html", "markdown"))
    (entry,) = json.loads(record.read_text().splitlines()[-1])["known"]
    assert (entry["reviewer"], entry["reviewed"]) == ("Ada [bold]Example", "2026-11-23")
    gate = cli("gate", corpus, "--base", RIGHT, "--head", SEED)
    gate.check(1, "BLOCKS  regressed: conforms -> PY-SEED", "PY-SEED (wrong-on-special): MaxPool keeps")


@pytest.mark.parametrize(
    ("bound", "review", "words"),
    [
        ("cases: [small:padded]", REVIEW, "small:padded does not meet the conditions values: neg-inf of the defect"),
        ("cases: [small:padded]", REVIEW, "small:neg-inf is not expected to show the defect"),
        ("cases: [small:nothing]", REVIEW, "'small:nothing' names no case"),
        ("cases: [small:neg-inf]", "reviewer: Ada", "'reviewer' without 'reviewed'"),
        ("cases: [small:neg-inf]", "reviewed: 2026-11-23", "'reviewed' without 'reviewer'"),
        ("cases: [small:neg-inf]", "reviewer: Ada\n    reviewed: 2026-13-23", "not a date"),
    ],
)
def test_lint_compares_a_defect_with_its_cases_and_refuses_half_a_review(cli, catalogue, bound, review, words):
    cli("cases", "lint", catalogue(bound, review=review)).check(2, words, "defects/python.yaml:")


def test_what_the_mechanism_of_a_defect_explains_is_observed_until_it_no_longer_shows(cli, small, record):
    defects, observed = small / "defects/python.yaml", small / "defects/observed/python.jsonl"
    defects.parent.mkdir()
    described, _, _ = DEFECT.format(bound="", review=REVIEW).partition("    expect:")
    defects.write_text(f"{described}    kinds: [y-lowest-for-neg-inf, indices-sentinel]\n")
    # A defect that was seen nowhere names nothing.
    assert cli("run", small, "-t", SEED).code == 1
    cli("defects", "accept", record).check(1, "2 executions left that no defect explains: describe the defect")
    assert not observed.exists()
    defects.write_text(
        f"{described}    expect: [{{cases: observed}}]\n    kinds: [y-lowest-for-neg-inf, indices-sentinel]\n"
    )
    # What is explained is not expected,
    cli("run", small, "-t", SEED).check(1, "UNEXPECTED  PY-SEED")
    cli("defects", "accept", record).check(
        0, f"written: {observed}", "PY-SEED: 2 executions added, such as small:neg-inf"
    )
    indices, y = map(json.loads, observed.read_text().splitlines())
    assert (indices["variant"], indices["kinds"]) == ("indices", ["indices-sentinel", "y-lowest-for-neg-inf"])
    assert (y["variant"], y["kinds"], [*y["cases"]]) == ("y-only", ["y-lowest-for-neg-inf"], ["small:neg-inf"])
    # until it was seen; a copy of the case in a corpus of another has the same defect.
    assert cli("run", small, "-t", SEED).code == 0
    assert "added" not in cli("defects", "accept", record).check(0).out
    cli("run", small, "-t", RIGHT, "-o", record, "-q").check(1)
    cli("run", small, "-t", RIGHT).check(1, "STALE", "small:neg-inf (indices)")
    cli("defects", "accept", record).check(0, "PY-SEED: 2 executions no longer shown")
    assert cli("run", small, "-t", RIGHT).code == 0
    assert not observed.exists()


def test_what_another_release_shows_is_accepted_beside_what_was(cli, small, tmp_path):
    for number, kernel in enumerate((SEED, PLANE)):
        record = tmp_path / f"{number}.jsonl"
        cli("run", small, "-t", kernel, "-o", record, "-q")
        cli("defects", "accept", record, "--reason", "Reviewed.").check(0, "known-divergences.yaml; review before")
    assert {*small.iterdir()} == {small / "small.yaml", small / "known-divergences.yaml"}
    assert cli("run", small, "-t", SEED, "-t", PLANE).code == 0


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "python.jsonl:1:1: Input data was truncated; correct the line, or remove it"),
        ('{"defect": "PY-SEED", "cases": {}, "case": 1}', "Object contains unknown field `case`"),
        ('{"defect": "PY-SED", "variant": "indices"}', "there is no defect PY-SED beside this file"),
        ('{"defect": "PY-SEED", "variant": "index", "cases": {"small:padded": ""}}', "unknown variant 'index'"),
        ('{"defect": "PY-SEED", "versions": "1", "cases": {"small:padded": ""}}', "expected versions"),
        ('{"defect": "PY-SEED", "kinds": ["crsh"], "cases": {"small:padded": ""}}', "'crsh'"),
        (
            '{"defect": "PY-SEED", "kinds": ["crash"], "cases": {"small:padded": ""}}',
            "small:padded does not meet the conditions",
        ),
        ('{"defect": "PY-SEED", "kinds": ["crash"], "cases": {"small:no": ""}}', "'small:no' names no case"),
    ],
)
def test_a_wrong_line_of_a_file_of_observations_is_named(cli, catalogue, line, message):
    corpus = catalogue()
    observed = corpus / "defects/observed/python.jsonl"
    observed.parent.mkdir()
    observed.write_text(f"{line}\n")
    cli("cases", "lint", corpus).check(2, message, "observed/python.jsonl:1:1: ")


def test_what_is_accepted_is_expected_by_the_next_run_and_shown_in_its_reports(cli, small, tmp_path):
    (small / "inside").mkdir()
    (small / "small.yaml").rename(small / "inside/small.yaml")
    record, known = tmp_path / "record.jsonl", small / "known-divergences.yaml"
    cli("run", small, "-t", SEED, "-o", record, "-q")
    accept = ("defects", "accept", record, "--reason")
    for words in (["x", "--kind", "crsh"], [" "], ["x", "--issue", "javascript:1"]):
        assert cli(*accept, *words).code == 2
    assert cli(*accept, "x", "--kind", "crash").out == "no unexpected divergences\n"
    assert not known.exists()
    reason = 'It keeps "its" seed: always # yes.'
    details = ("--issue", "https://example.org/1", "--expires", "2099-12-31", "--reviewer", "Ada")
    kinds = "python-indices-sentinel-y-lowest-for-neg-inf: indices-sentinel, y-lowest-for-neg-inf of 1 case"
    cli(*accept, reason, *details).check(0, kinds, f"added to {known}")
    text = known.read_text()
    (entry,) = yaml.safe_load(text)["defects"]
    assert (entry["mechanism"], entry["upstream"]["issue"]) == (reason, "https://example.org/1")
    assert (entry["reviewer"], str(entry["reviewed"])) == ("Ada", str(date.today()))
    (expected,) = entry["expect"]
    assert (str(expected["expires"]), expected["variants"]) == ("2099-12-31", ["indices", "y-only"])
    shown = cli("run", small, "-t", SEED, "-v", "-o", record).check(0)
    assert cli(*accept, "x").out == "no unexpected divergences\n"
    cli("defects", "lint", small, "--record", record).check(0)
    assert known.read_text() == text
    for text in (shown.out, *(cli("report", record, "--report", form).out for form in ("markdown", "html"))):
        assert "Expected until 2099-12-31" in text
        assert "https://example.org/1" in text


def test_lint_names_what_is_expired_orphaned_stale_or_never_shown(cli, small, record):
    known = small / "known-divergences.yaml"
    both = ["y-lowest-for-neg-inf", "indices-sentinel"]
    entries = (
        known_defect("fine", ["small:neg-inf"], both),
        known_defect("old", ["small:padded"], ["crash"], "other", expires="2020-01-01"),
        known_defect("lost", ["small:nothing"], ["crash"], "other"),
        known_defect("idle", ["small:padded"], ["crash"]),
    )
    known.write_text("defects:\n" + "".join(entry.removeprefix("defects:\n") for entry in entries))
    done = cli("defects", "lint", small)
    done.check(1, "old expired on 2020-01-01", "'small:nothing' names no case: orphaned", "4 entries, 2 problems")
    cli("defects", "lint", small, "--record", record).check(1, "no record shows idle", "4 entries, 3 problems")
    # One of its cases is shown, so that no record shows nothing of the entry.
    known.write_text(known_defect("seed", ["small:neg-inf", "small:padded"], both))
    assert cli("run", small, "-t", SEED, "-o", record, "-q").code == 1
    cli("defects", "lint", small, "--record", record).check(1, "small:padded no longer diverges in these kinds")


def test_a_known_defect_explains_what_a_corpus_of_the_users_own_shows_and_excuses_nothing(cli, tmp_path):
    case = "input: {dtype: float32, shape: [1, 16, 2, 2], fill: -.inf}, attributes: {kernel_shape: [2, 2]}"
    (tmp_path / "own.yaml").write_text(f"cases: [{{id: masked, outputs: [Y], {case}}}]\n")
    run, record = ("run", tmp_path, "-t", "onnxruntime"), tmp_path / "record.jsonl"
    unexpected = "Known of the runtime, and expected by no file of this corpus."
    cli(*run, "-o", record).check(1, "UNEXPECTED  ORT-LOWEST-BLOCKED  wrong-on-special", unexpected)
    assert "NEW  y-lowest-for-neg-inf" in cli(*run, "--known", "none").out
    for form in ("markdown", "html", "json", "junit", "sarif", "github"):
        assert "ORT-LOWEST-BLOCKED" in cli("report", record, "--report", form).out
    mine = known_defect("mine", ["own:masked"], ["y-signed-zero"], "onnxruntime")
    (tmp_path / "known-divergences.yaml").write_text(mine)
    done = cli(*run, "--report", "json")
    assert {(each["status"], each["defect"]) for each in done.json["faults"]} == {("changed", "ORT-LOWEST-BLOCKED")}
    statuses = {entry["id"]: entry["status"] for entry in done.json["known"]}
    assert statuses == {"mine": "stale", "ORT-LOWEST-BLOCKED": "not-expected"}
    cli(*run).check(1, "CHANGED  ORT-LOWEST-BLOCKED", "this corpus expects other kinds of these cases")
    # Once the user has accepted it, it is expected.
    (tmp_path / "known-divergences.yaml").unlink()
    assert cli("defects", "accept", record, "--reason", "Seen").code == 0
    assert "UNEXPECTED" not in cli(*run).check(0).out


def test_defects_that_come_with_the_tool_are_known_beside_those_of_a_corpus(cli, tmp_path):
    shipped = cli("explain", "ORT-PAD-FOLDED", "--json", cwd=tmp_path).json
    (tmp_path / "cases/defects").mkdir(parents=True)
    (tmp_path / "cases/defects/own.yaml").write_text("defects: []\n")
    (tmp_path / "cases/defects/versions.json").write_text('{"onnxruntime": {"1.31.1": []}}\n')
    assert cli("explain", "ORT-PAD-FOLDED", "--json", cwd=tmp_path).check(0).json == shipped
    assert "ORT-PAD-FOLDED" in cli("defects", "list", "onnxruntime", cwd=tmp_path).out
