"""Known defects: the catalogue, what is expected in a run, and ``defects check``, ``accept`` and ``lint``."""

import json
import sys
from datetime import date, timedelta

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
        ("cases: [small:neg-inf]", RIGHT, 1, "PY-SEED  wrong-on-special  not shown: no longer shown in 1 case\n"),
        ("variants: [indices, y-only]", RIGHT, 1, "not shown: no longer shown in 2 executions\n"),
        ("cases: ['small:*']", PLANE, 1, "that no defect expects:"),
        # The version of a kernel is 0.
        ('versions: ">=1"; cases: [small:neg-inf]', SEED, 1, "shown, and not expected of this version and processor"),
    ],
)
def test_check_runs_the_cases_and_knows_what_is_expected(cli, catalogue, bound, target, code, text):
    done = cli("defects", "check", "-t", target, "-p", catalogue(bound))
    assert (done.code, text in done.out, done.out.rstrip().endswith("  NOT as expected")) == (code, True, code == 1)


HALF = """\
import sys
sys.path.insert(0, {folder!r})
import kernels
def half(X, attributes):
    if X.size == {refused}:
        raise ValueError("too large")
    return (kernels.keeps_the_seed if X.size == {wrong} else kernels.right)(X, attributes)
"""
MORE = "cases:\n" + "".join(
    f"  - {{id: size-{size}, input: {{dtype: float32, shape: [1, 1, 1, {size}], fill: -.inf}}, attributes: {{kernel_shape: [1, 2]}}}}\n"
    for size in range(10, 25)
)


@pytest.fixture
def build(small, catalogue, tmp_path):
    """A kernel that has the defect for X of one size, and refuses another, with 15 cases that are known to show it."""
    (small / "more.yaml").write_text(MORE)
    names = ", ".join(f"more:size-{size}" for size in range(10, 25))
    pads = PADS.replace("small:padded*", "small:one-column").replace("{kinds", "{conditions: {dtypes: [int8]}, kinds")
    catalogue(f"cases: [{names}]; variants: [indices, y-only]", pads)

    def write(wrong=0, refused=0):
        (tmp_path / "half.py").write_text(
            HALF.format(folder=str(KERNELS.parent.absolute()), wrong=wrong, refused=refused)
        )
        return f"python:{tmp_path / 'half.py'}:half"

    return write


@pytest.mark.parametrize(
    ("wrong", "refused", "code", "lines"),
    [
        (0, 0, 0, ["30 of 30 executions no longer show PY-SEED", "nothing else changed in its 15 cases", "FIXED"]),
        (
            12, 0, 1,
            [
                "28 of 30 executions no longer show PY-SEED; left: more:size-12 (indices) and 1 more",
                "nothing else changed in its 15 cases", "NOT FIXED",
            ],
        ),
        (
            0, 13, 1,
            [
                "30 of 30 executions no longer show PY-SEED",
                "2 executions wrong for another reason: more:size-13 (indices): refuses-valid and 1 more", "NOT FIXED",
            ],
        ),
    ],
)  # fmt: skip
def test_a_defect_that_is_named_is_fixed_or_not(cli, small, build, wrong, refused, code, lines):
    target = build(wrong, refused)
    *first, last = lines
    step = f"Next: maxpool-check gate {small} --base OLD --head {target}"
    check = ("defects", "check", "PY-SEED", "-t", target, "-p", small)
    assert cli(*check).check(code).out.splitlines() == [*first, f"{last}  PY-SEED on {target} (no version)", step]
    shown = cli(*check, "-v").check(code).out.splitlines()
    assert [line for line in shown if line.startswith(f"  more:size-{wrong or refused} (")] == [
        f"  more:size-{wrong or refused} ({variant}){': refuses-valid' * bool(refused)}"
        for variant in ("indices", "y-only") if wrong or refused
    ]  # fmt: skip


def test_a_defect_that_is_named_and_shown_as_expected_is_not_fixed(cli, small, build):
    build()
    check = ("defects", "check", "PY-SEED", "-p", small)
    still = "30 of 30 executions still show PY-SEED\nnothing else changed in its 15 cases\nNOT FIXED  PY-SEED on "
    assert cli(*check, "-t", SEED).check(1).out.startswith(still)
    # The runtime names what is described, not what is to be fixed.
    cli("defects", "check", "python", "-t", SEED, "-p", small).check(0, "PY-SEED  wrong-on-special  30 executions")
    # A defect of which nothing was compared is not fixed beside one that is.
    cli(*check, "PY-PADS", "-t", RIGHT).check(4, "FIXED  PY-SEED", "NOTHING COMPARED  no case of PY-PADS was compared")
    # A version of which nothing is expected is not fixed because of that.
    text = (small / "defects/python.yaml").read_text()
    (small / "defects/python.yaml").write_text(text.replace("cases: [", "versions: '>=1'\n        cases: [", 1))
    assert cli(*check, "-t", SEED).check(1).out.startswith(still)
    assert "30 of 30 executions do not show PY-SEED" in cli(*check, "-t", RIGHT).check(0).out


def test_an_environment_of_the_user_is_compared_with_a_release(cli):
    # Without optimization the variants of its cases are right, and were so before.
    target = f"onnxruntime?python={sys.executable}"
    done = cli("defects", "check", "ORT-QUANTIZE-MOVED", "-t", target)
    still = "5 of 5 executions still show ORT-QUANTIZE-MOVED\nnothing else changed in its 5 cases\nNOT FIXED  "
    done.check(1, still, f"\nNext: maxpool-check gate --base onnxruntime==1.32.0 --head '{target}'")
    assert "0 of 0" not in done.out


def test_a_build_that_runs_only_a_part_of_the_cases_is_not_fixed(cli, small, build, tmp_path):
    target = build(refused=13)
    (tmp_path / "half.py").write_text((tmp_path / "half.py").read_text().replace("ValueError", "NoSuchError"))
    done = cli("defects", "check", "PY-SEED", "-t", target, "-p", small)
    assert (done.code, "28 of 28 executions no longer show" in done.out, "FIXED" in done.out) == (3, True, False)


def test_what_is_stale_has_one_short_line_and_all_executions_with_v(cli, small, build):
    target = build()
    for words in (("run", small), ("defects", "check", "-p", small)):
        lines = cli(*words, "-t", target, COLUMNS="300").check(1).out.splitlines()
        (line,) = [each for each in lines if "PY-SEED" in each and "no longer" in each]
        assert (len(line) <= 100, line.endswith("no longer shown in 30 executions")) == (True, True)
        shown = cli(*words, "-t", target, "-v", COLUMNS="300").check(1).out.splitlines()
        assert sum(each.strip().startswith("more:size-") for each in shown) == 30


@pytest.mark.parametrize(
    ("defect", "words"),
    [
        ("ORT-SAME-DILATION", "ORT-SAME-DILATION -t 'onnxruntime?python=VENV/bin/python'"),
        ("XNNPACK-NAN", "-t 'litert@XNNPACK?python=VENV/bin/python'"),
        ("ONNXSLIM-PADS-BESIDE-AUTO-PAD", "-t 'transform:onnxslim?python=VENV/bin/python:on:onnxruntime'"),
    ],
)
def test_explain_ends_with_the_command_that_tests_a_build(cli, defect, words):
    assert cli("explain", defect).check(0).out.rstrip().endswith(words)


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


def test_a_record_of_a_part_says_nothing_of_what_it_lacks_in_a_version_that_was_tested(cli, catalogue, tmp_path):
    corpus, record = catalogue("cases: [small:neg-inf]", PADS), tmp_path / "part.jsonl"
    versions = corpus / "defects/versions.json"
    cli("run", corpus, "-t", SEED, "-k", "small:neg-inf", "-o", record, "-q")
    record.write_text(record.read_text().replace('"version":""', '"version":"2"', 1))
    tested = {"1": ["PY-PADS"], "2": ["PY-SEED"]}
    versions.write_text(json.dumps({"python": tested}))
    cli("defects", "accept", record).check(0)
    assert json.loads(versions.read_text())["python"] == tested
    # Of a version that was not tested, it is taken for granted that nothing has changed.
    versions.write_text(json.dumps({"python": {"1": ["PY-PADS"]}}))
    cli("defects", "accept", record).check(0, "not executed, and taken as in the version before: PY-PADS")
    assert json.loads(versions.read_text())["python"]["2"] == ["PY-PADS", "PY-SEED"]


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
    explained = cli("explain", "PY-SEED", "-p", small, "--json").json
    assert [each["cases"] for each in explained["expect"] if each["cases"]] == [["small:neg-inf"]] * 2
    # until it was seen; a copy of the case in a corpus of another has the same defect.
    assert cli("run", small, "-t", SEED).code == 0
    assert "added" not in cli("defects", "accept", record).check(0).out
    cli("run", small, "-t", RIGHT, "-o", record, "-q").check(1)
    cli("run", small, "-t", RIGHT).check(1, "STALE  PY-SEED on", "no longer shown in 2 executions")
    cli("defects", "accept", record).check(0, "PY-SEED: 2 executions no longer shown")
    assert cli("run", small, "-t", RIGHT).code == 0
    assert not observed.exists()


def test_what_another_release_shows_is_accepted_beside_what_was(cli, small, tmp_path):
    for number, kernel in enumerate((SEED, PLANE)):
        record = tmp_path / f"{number}.jsonl"
        cli("run", small, "-t", kernel, "-o", record, "-q")
        accept = ("defects", "accept", record, "--author", "Ada", "--reason", "Reviewed.")
        cli(*accept).check(0, f"known-divergences.yaml, until {date.today() + timedelta(days=365)}; review before")
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
    accept = ("defects", "accept", record, "--author", "Ada", "--reason")
    for words in (["x", "--kind", "crsh"], [" "], ["x", "--author", ""], ["x", "--expires", "2020-01-01"]):
        assert cli(*accept, *words).code == 2
    assert cli(*accept, "x", "--kind", "crash").out == "no unexpected divergences\n"
    assert not known.exists()
    reason = 'It keeps "its" seed: always # yes, https://example.org/1'
    kinds = "indices-sentinel, y-lowest-for-neg-inf of 1 case"
    cli(*accept, reason, "--expires", "2099-12-31").check(0, kinds, f"2 entries added to {known}")
    text = known.read_text()
    both, y = yaml.safe_load(text)["accepted"]
    assert (both["reason"], both["author"], both["expires"]) == (reason, "Ada", "2099-12-31")
    assert (both["variants"], both["kinds"]) == (["indices"], ["y-lowest-for-neg-inf", "indices-sentinel"])
    assert (y["variants"], y["kinds"]) == (["y-only"], ["y-lowest-for-neg-inf"])
    shown = cli("run", small, "-t", SEED, "-v", "-o", record).check(0)
    assert cli(*accept, "x").out == "no unexpected divergences\n"
    cli("defects", "lint", small, "--record", record).check(0)
    assert known.read_text() == text
    for text in (shown.out, *(cli("report", record, "--report", form).out for form in ("markdown", "html"))):
        assert "Expected until 2099-12-31" in text
        assert "https://example.org/1 (accepted by Ada)" in " ".join(text.split())


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
    change = "change: regressed, runtime: python, kinds: [crash], variants: [indices], cases: [small:padded], author: A"
    (small / "defects").mkdir()
    (small / "defects/gate.yaml").write_text(f"accepted:\n  - {{{change}, reason: R, expires: 2020-01-01}}\n")
    cli("defects", "lint", small).check(
        1, "gate.yaml:2:5: the acceptance expired on 2020-01-01", "5 entries, 3 problems"
    )
    (small / "defects/gate.yaml").unlink()
    done = cli("defects", "lint", small)
    done.check(1, "old expired on 2020-01-01", "'small:nothing' names no case: orphaned", "4 entries, 2 problems")
    cli("defects", "lint", small, "--record", record).check(1, "no record shows idle", "4 entries, 3 problems")
    # One of its cases is shown, so that no record shows nothing of the entry.
    known.write_text(known_defect("seed", ["small:neg-inf", "small:padded"], both))
    assert cli("run", small, "-t", SEED, "-o", record, "-q").code == 1
    lint = ("defects", "lint", small, "--record", record)
    stale = next(line for line in cli(*lint).check(1).out.splitlines() if line.startswith("STALE  seed on "))
    assert (stale.endswith(": no longer shown in 1 case"), len(stale) <= 100) == (True, True)
    assert "small:padded" in cli(*lint, "-v").check(1).out.splitlines()


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
    assert cli("defects", "accept", record, "--author", "Ada", "--reason", "Seen").code == 0
    assert "UNEXPECTED" not in cli(*run).check(0).out


def test_defects_that_come_with_the_tool_are_known_beside_those_of_a_corpus(cli, tmp_path):
    shipped = cli("explain", "ORT-PAD-FOLDED", "--json", cwd=tmp_path).json
    (tmp_path / "cases/defects").mkdir(parents=True)
    (tmp_path / "cases/defects/own.yaml").write_text("defects: []\n")
    (tmp_path / "cases/defects/versions.json").write_text('{"onnxruntime": {"1.31.1": []}}\n')
    assert cli("explain", "ORT-PAD-FOLDED", "--json", cwd=tmp_path).check(0).json == shipped
    assert "ORT-PAD-FOLDED" in cli("defects", "list", "onnxruntime", cwd=tmp_path).out
