"""Known divergences: bound to targets, cases and exactly their kinds."""

from datetime import date

import pytest

from maxpool_check.corpus.known_file import read_known, unmatched
from maxpool_check.corpus.problems import CorpusError
from maxpool_check.judging.kinds import DivergenceKind
from maxpool_check.judging.known import KnownDivergence, Ledger, Status
from maxpool_check.judging.target_selector import TargetSelector
from maxpool_check.results.variants import WITH_INDICES, Y_ONLY

TODAY = date(2026, 11, 21)
BOTH = frozenset({DivergenceKind.Y_LOWEST_FOR_NEG_INF, DivergenceKind.INDICES_SENTINEL})


ASKED, ALONE = WITH_INDICES, Y_ONLY


def entry(name="e", cases=("a:*",), kinds=BOTH, expires=None, variants=None):
    asked = frozenset(variants) if variants else None
    return KnownDivergence(
        name,
        TargetSelector.parse("onnxruntime"),
        tuple(cases),
        frozenset(kinds),
        "why",
        expires=expires,
        variants=asked,
    )


def test_only_exactly_the_kinds_of_an_entry_are_known():
    ledger = Ledger([entry()], TODAY)
    assert ledger.known("a:x", ASKED, BOTH) is not None
    assert ledger.known("a:x", ASKED, {DivergenceKind.Y_LOWEST_FOR_NEG_INF}) is None
    assert ledger.known("a:x", ASKED, {*BOTH, DivergenceKind.SHAPE}) is None
    assert ledger.known("b:x", ASKED, BOTH) is None
    assert ledger.others("a:x", ASKED)
    assert not ledger.others("b:x", ASKED)


def test_a_question_shows_the_kinds_it_can():
    ledger = Ledger([entry(kinds={*BOTH, DivergenceKind.Y_DEPENDS_ON_INDICES})], TODAY)
    assert ledger.known("a:x", ASKED, BOTH) is not None
    assert (
        ledger.known("a:x", ALONE, {DivergenceKind.Y_LOWEST_FOR_NEG_INF, DivergenceKind.Y_DEPENDS_ON_INDICES})
        is not None
    )
    assert ledger.known("a:x", ALONE, {DivergenceKind.Y_LOWEST_FOR_NEG_INF}) is None


def test_an_entry_can_be_about_one_question_only():
    ledger = Ledger([entry(variants=[ASKED])], TODAY)
    assert ledger.known("a:x", ASKED, BOTH) is not None
    assert ledger.known("a:x", ALONE, {DivergenceKind.Y_LOWEST_FOR_NEG_INF}) is None


def status(ledger, compared=("a:x", "a:y"), **whole):
    for case in compared:
        for variant in (ASKED, ALONE):
            ledger.compared(case, variant)
    return {entry.id: found.value for entry, found, _ in ledger.audit(whole)}


def test_a_pattern_that_no_longer_diverges_must_be_removed():
    ledger = Ledger([entry(cases=("a:x", "a:y"))], TODAY)
    asked = {"a:x": True, "a:y": True}
    assert status(ledger, **asked) == {"e": "stale"}
    ledger.known("a:x", ASKED, BOTH)
    assert status(ledger, **asked) == {"e": "stale"}
    ledger.known("a:y", ASKED, BOTH)
    assert status(ledger, **asked) == {"e": "expected"}


def test_every_question_that_an_entry_names_must_show_it():
    ledger = Ledger([entry(variants=[ASKED, ALONE])], TODAY)
    ledger.known("a:x", ASKED, BOTH)
    ledger.compared("a:y", ALONE)
    ((_, found, why),) = ledger.audit({"a:*": True})
    assert (found, why) == (Status.STALE, "a:* (y-only) no longer diverges so; remove it from the entry")
    ledger.known("a:y", ALONE, {DivergenceKind.Y_LOWEST_FOR_NEG_INF})
    assert status(ledger, **{"a:*": True}) == {"e": "expected"}


def test_what_was_never_compared_is_not_repaired():
    ledger = Ledger([entry()], TODAY)
    assert status(ledger, compared=(), **{"a:*": True}) == {"e": "not-executed"}


def test_two_entries_that_expect_the_same_are_both_seen():
    ledger = Ledger([entry("wide"), entry("narrow", cases=("a:x",))], TODAY)
    ledger.known("a:x", ASKED, BOTH)
    assert status(ledger, **{"a:*": True, "a:x": True}) == {"wide": "expected", "narrow": "expected"}


def test_an_entry_about_another_question_makes_no_change_of_a_new_divergence():
    ledger = Ledger([entry(variants=[ASKED])], TODAY)
    assert ledger.others("a:x", ASKED)
    assert not ledger.others("a:x", ALONE)


def test_a_pattern_whose_cases_were_not_all_asked_is_not_held_to_the_run():
    ledger = Ledger([entry(cases=("a:x", "a:y"))], TODAY)
    assert status(ledger, **{"a:x": False, "a:y": False}) == {"e": "not-executed"}
    ledger.known("a:x", ASKED, BOTH)
    assert status(ledger, **{"a:x": True, "a:y": False}) == {"e": "expected"}


def test_an_expired_entry_excuses_nothing():
    ledger = Ledger([entry(expires=date(2026, 11, 20))], TODAY)
    assert ledger.known("a:x", ASKED, BOTH) is None
    assert status(ledger, **{"a:*": False}) == {"e": "expired"}
    ledger = Ledger([entry(expires=TODAY)], TODAY)
    assert ledger.known("a:x", ASKED, BOTH) is not None


def test_an_expired_entry_that_nobody_asked_about_is_left_alone():
    ledger = Ledger([entry(expires=date(2026, 11, 20))], TODAY)
    assert status(ledger, **{"a:*": False}) == {"e": "not-executed"}


FILE = """\
known:
  - id: one
    when: onnxruntime < 1.29
    cases: ["a:*", "b:x"]
    kinds: [y-lowest-for-neg-inf, indices-sentinel]
    reason: Because.
    issue: https://example.org/1
    expires: 2027-11-21
"""


def write(tmp_path, text):
    path = tmp_path / "known-divergences.yaml"
    path.write_text(text)
    return path


def test_a_file(tmp_path):
    (found,) = read_known(write(tmp_path, FILE))
    assert (found.id, found.cases, found.kinds, found.reason) == ("one", ("a:*", "b:x"), BOTH, "Because.")
    assert (found.issue, found.expires) == ("https://example.org/1", date(2027, 11, 21))


@pytest.mark.parametrize(
    ("change", "place", "words"),
    [
        (("reason: Because.", "reason: ''"), "6:13", "the reason"),
        (("    reason: Because.\n", ""), "2:5", "missing 'reason'"),
        (("indices-sentinel", "indices-sentinels"), "5:12", "did you mean 'indices-sentinel'?"),
        (("onnxruntime < 1.29", "onnxruntime 1.29"), "3:11", "expected a distribution"),
        (("2027-11-21", "2027-13-21"), "8:14", "not a date"),
        (("2027-11-21", "soon"), "8:14", "a date, YYYY-MM-DD"),
        (("reason:", "reson:"), "6:5", "did you mean 'reason'?"),
        (('["a:*", "b:x"]', "[]"), "4:12", "at least 1 entry"),
        (("reason: Because.", "reason: Because.\n    variants: [y]"), "7:17", "expected one of indices |"),
        (("known:", "knwon:"), "1:1", "did you mean 'known'?"),
    ],
)
def test_broken_files(tmp_path, change, place, words):
    with pytest.raises(CorpusError) as error:
        read_known(write(tmp_path, FILE.replace(*change)))
    assert any(f":{place}: " in str(found) and words in str(found) for found in error.value.problems), error.value


def test_duplicate_ids(tmp_path):
    with pytest.raises(CorpusError, match="9:9: duplicate id 'one', first on line 2"):
        read_known(write(tmp_path, FILE + FILE.removeprefix("known:\n")))


def test_patterns_that_name_no_case(tmp_path):
    path = write(tmp_path, FILE)
    (found,) = unmatched(read_known(path), ["a:1", "b:y"], path)
    assert str(found).endswith("4:20: 'b:x' names no case")
