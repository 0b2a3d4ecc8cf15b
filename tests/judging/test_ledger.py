"""Known divergences: bound to targets, cases and exactly their kinds."""

from datetime import date

import pytest
from msgspec import structs

from maxpool_check.corpus.defect_file import read_defects, unmatched
from maxpool_check.corpus.problems import CorpusError
from maxpool_check.judging.defects import ExpectedDivergence, fingerprint
from maxpool_check.judging.kinds import DivergenceKind
from maxpool_check.judging.ledger import Ledger
from maxpool_check.judging.target_selector import TargetSelector
from maxpool_check.results.details import Cause
from maxpool_check.results.record import Execution, KnownStatus, Verdict
from maxpool_check.results.variants import WITH_INDICES, Y_ONLY

TODAY = date(2026, 11, 21)
BOTH = frozenset({DivergenceKind.Y_LOWEST_FOR_NEG_INF, DivergenceKind.INDICES_SENTINEL})


def entry(name="e", cases=("a:*",), kinds=BOTH, expires=None, variants=None, **fields):
    about, variants = TargetSelector.parse("onnxruntime"), frozenset(variants) if variants else None
    return ExpectedDivergence(name, about, tuple(cases), frozenset(kinds), variants, expires, **fields)


def execution(kinds, case="a:x", variant=WITH_INDICES, **fields):
    return Execution(
        target="t", case=case, variant=variant.name, verdict=Verdict.DIVERGES, title="", spec="sonnx", case_sha256="",
        origin="", kinds=tuple(kind.value for kind in kinds), **fields,
    )  # fmt: skip


def known(ledger, case, variant, kinds):
    return ledger.known(execution(kinds, case, variant)).expected


def test_only_exactly_the_kinds_of_an_entry_are_known():
    ledger = Ledger([entry()], TODAY)
    assert known(ledger, "a:x", WITH_INDICES, BOTH) is not None
    assert known(ledger, "a:x", WITH_INDICES, {DivergenceKind.Y_LOWEST_FOR_NEG_INF}) is None
    assert known(ledger, "a:x", WITH_INDICES, {*BOTH, DivergenceKind.SHAPE}) is None
    assert known(ledger, "b:x", WITH_INDICES, BOTH) is None
    assert ledger.others("a:x", WITH_INDICES)
    assert not ledger.others("b:x", WITH_INDICES)


def test_a_variant_shows_the_kinds_it_can():
    ledger = Ledger([entry(kinds={*BOTH, DivergenceKind.Y_DEPENDS_ON_INDICES})], TODAY)
    assert known(ledger, "a:x", WITH_INDICES, BOTH) is not None
    assert (
        known(ledger, "a:x", Y_ONLY, {DivergenceKind.Y_LOWEST_FOR_NEG_INF, DivergenceKind.Y_DEPENDS_ON_INDICES})
        is not None
    )
    assert known(ledger, "a:x", Y_ONLY, {DivergenceKind.Y_LOWEST_FOR_NEG_INF}) is None


def test_an_entry_can_be_about_one_variant_only():
    ledger = Ledger([entry(variants=[WITH_INDICES])], TODAY)
    assert known(ledger, "a:x", WITH_INDICES, BOTH) is not None
    assert known(ledger, "a:x", Y_ONLY, {DivergenceKind.Y_LOWEST_FOR_NEG_INF}) is None


def status(ledger, compared=("a:x", "a:y"), **whole):
    for case in compared:
        for variant in (WITH_INDICES, Y_ONLY):
            ledger.compared(case, variant)
    audit = ledger.audit(lambda entry: {pattern: whole[pattern] for pattern in entry.cases})
    return {defect: status.value for defect, (status, _) in audit.items()}


def test_a_pattern_that_no_longer_diverges_must_be_removed():
    ledger = Ledger([entry(cases=("a:x", "a:y"))], TODAY)
    complete = {"a:x": True, "a:y": True}
    assert status(ledger, **complete) == {"e": "stale"}
    known(ledger, "a:x", WITH_INDICES, BOTH)
    assert status(ledger, **complete) == {"e": "stale"}
    known(ledger, "a:y", WITH_INDICES, BOTH)
    assert status(ledger, **complete) == {"e": "expected"}


def test_every_variant_that_an_entry_names_must_show_it():
    ledger = Ledger([entry(variants=[WITH_INDICES, Y_ONLY])], TODAY)
    known(ledger, "a:x", WITH_INDICES, BOTH)
    ledger.compared("a:y", Y_ONLY)
    assert ledger.audit(lambda _: {"a:*": True})["e"] == (
        KnownStatus.STALE,
        "a:* (y-only) no longer diverges in these kinds; remove it from the defect, or bound the versions for which it is expected",
    )
    known(ledger, "a:y", Y_ONLY, {DivergenceKind.Y_LOWEST_FOR_NEG_INF})
    assert status(ledger, **{"a:*": True}) == {"e": "expected"}


def test_what_was_never_compared_is_not_stale():
    ledger = Ledger([entry()], TODAY)
    assert status(ledger, compared=(), **{"a:*": True}) == {"e": "not-executed"}


def test_two_entries_that_expect_the_same_are_both_seen():
    ledger = Ledger([entry("wide"), entry("narrow", cases=("a:x",))], TODAY)
    known(ledger, "a:x", WITH_INDICES, BOTH)
    assert status(ledger, **{"a:*": True, "a:x": True}) == {"wide": "expected", "narrow": "expected"}


def test_an_entry_about_another_variant_is_not_among_the_others():
    ledger = Ledger([entry(variants=[WITH_INDICES])], TODAY)
    assert ledger.others("a:x", WITH_INDICES)
    assert not ledger.others("a:x", Y_ONLY)


def test_a_pattern_whose_cases_were_not_all_executed_is_not_stale():
    ledger = Ledger([entry(cases=("a:x", "a:y"))], TODAY)
    assert status(ledger, **{"a:x": False, "a:y": False}) == {"e": "not-executed"}
    known(ledger, "a:x", WITH_INDICES, BOTH)
    assert status(ledger, **{"a:x": True, "a:y": False}) == {"e": "expected"}


def test_an_expired_entry_excuses_nothing():
    ledger = Ledger([entry(expires=date(2026, 11, 20))], TODAY)
    assert known(ledger, "a:x", WITH_INDICES, BOTH) is None
    assert status(ledger, **{"a:*": False}) == {"e": "expired"}
    ledger = Ledger([entry(expires=TODAY)], TODAY)
    assert known(ledger, "a:x", WITH_INDICES, BOTH) is not None


def test_an_expired_entry_without_executions_is_not_executed():
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
    (defect,) = read_defects(write(tmp_path, FILE))
    (expected,) = defect.expected
    assert (defect.id, expected.cases, defect.kinds, defect.mechanism) == ("one", ("a:*", "b:x"), BOTH, "Because.")
    assert (defect.upstream.issue, expected.expires) == ("https://example.org/1", date(2027, 11, 21))
    assert (defect.runtime, str(expected.when)) == ("onnxruntime", "onnxruntime <1.29")


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
        (("reason: Because.", "reason: Because.\n    variants: [y]"), "7:16", "expected one of indices |"),
        (("known:", "knwon:"), "1:1", "did you mean 'known'?"),
    ],
)
def test_broken_files(tmp_path, change, place, words):
    with pytest.raises(CorpusError) as error:
        read_defects(write(tmp_path, FILE.replace(*change)))
    assert any(f":{place}: " in str(problem) and words in str(problem) for problem in error.value.problems), error.value


def test_duplicate_ids(tmp_path):
    with pytest.raises(CorpusError, match="9:9: duplicate id 'one', first on line 2"):
        read_defects(write(tmp_path, FILE + FILE.removeprefix("known:\n")))


def test_patterns_that_name_no_case(tmp_path):
    path = write(tmp_path, FILE)
    (problem,) = unmatched(path, ["a:1", "b:y"])
    assert str(problem).endswith("4:20: 'b:x' names no case")


OUTSIDE, SENTINEL = DivergenceKind.INDICES_OUTSIDE_WINDOW, DivergenceKind.INDICES_SENTINEL


def windows(**by_kind):
    return {f"indices-{kind.replace('_', '-')}": counts for kind, counts in by_kind.items()}


def test_a_wrong_cell_outside_the_windows_of_an_entry_is_new_and_the_others_stay_known():
    ledger = Ledger([entry(kinds={SENTINEL}, windows=frozenset({"start"}))], TODAY)
    of_windows = execution({SENTINEL}, windows=windows(sentinel={"infinity lowest start": 3, "lowest start": 1}))
    assert ledger.known(of_windows).expected.defect == "e"
    # The same kind, in a window that holds something greater.
    beside = execution({SENTINEL}, windows=windows(sentinel={"lowest start": 3, "ordinary": 1}))
    explanation = ledger.known(beside)
    assert explanation.expected is None
    assert [part.defect for part in explanation.parts] == ["e"]
    assert explanation.kinds == {"indices-sentinel"}
    other = execution({SENTINEL, OUTSIDE}, windows=windows(sentinel={"start": 3}, outside_window={"padding": 1}))
    assert ledger.known(other).kinds == {"indices-outside-window"}


def test_an_entry_explains_the_cells_of_the_mistake_that_it_names():
    ledger = Ledger([entry(kinds={OUTSIDE}, windows=frozenset({"dilation-ignored"}))], TODAY)
    cells = windows(outside_window={"ordinary": 2})
    (cause,) = (Cause(kind="dilation-ignored", output=None, cells=9),)
    assert ledger.known(execution({OUTSIDE}, windows=cells, causes=(cause,))).expected is not None
    assert ledger.known(execution({OUTSIDE}, windows=cells)).expected is None


def test_several_entries_explain_together_what_none_explains_alone():
    entries = [entry("one", kinds={SENTINEL}), entry("two", kinds={OUTSIDE})]
    both = execution({SENTINEL, OUTSIDE}, windows=windows(sentinel={"lowest": 1}, outside_window={"nan": 1}))
    assert Ledger(entries, TODAY).known(both).expected is not None
    assert Ledger(entries[:1], TODAY).known(both).expected is None
    complete = {"a:*": True}
    ledger = Ledger(entries, TODAY)
    ledger.known(both)
    ledger.compared("a:x", WITH_INDICES)
    assert {status for status, _ in ledger.audit(lambda _: complete).values()} == {KnownStatus.EXPECTED}


def test_other_outputs_than_those_that_were_reviewed_are_not_known():
    seen = execution({OUTSIDE}, windows=windows(outside_window={"ordinary": 1}), digests={"Y": "1", "Indices": "2"})
    reviewed = entry(kinds={OUTSIDE}, outputs={"1.2": frozenset({fingerprint(seen)})})
    changed = structs.replace(seen, digests={"Y": "1", "Indices": "3"})
    assert Ledger([reviewed], TODAY, "1.2").known(seen).expected is not None
    assert Ledger([reviewed], TODAY, "1.2").known(changed).expected is None
    # Nobody has reviewed the outputs of another version.
    assert Ledger([reviewed], TODAY, "1.3").known(changed).expected is not None


def test_of_several_entries_the_one_that_says_what_comes_out_comes_first_and_then_the_narrowest():
    vague = entry("vague", kinds={SENTINEL}, windows=frozenset({"lowest"}), narrowness=9)
    exact = entry("exact", kinds={SENTINEL}, windows=frozenset({"start"}))
    narrow = entry("narrow", kinds={SENTINEL}, windows=frozenset({"start"}), narrowness=2)
    shown = execution({SENTINEL}, windows=windows(sentinel={"lowest start": 1}))
    for entries, best in (([vague, exact], "exact"), ([exact, narrow, vague], "narrow"), ([vague], "vague")):
        assert Ledger(entries, TODAY).known(shown).expected.defect == best
        assert Ledger(entries[::-1], TODAY).known(shown).expected.defect == best
