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

TODAY, YESTERDAY = date(2026, 11, 21), date(2026, 11, 20)
LOWEST, SENTINEL = DivergenceKind.Y_LOWEST_FOR_NEG_INF, DivergenceKind.INDICES_SENTINEL
OUTSIDE, DEPENDS = DivergenceKind.INDICES_OUTSIDE_WINDOW, DivergenceKind.Y_DEPENDS_ON_INDICES
BOTH = frozenset({LOWEST, SENTINEL})


def entry(name="e", cases=("a:*",), kinds=BOTH, expires=None, variants=None, **fields):
    about, variants = TargetSelector.parse("onnxruntime"), frozenset(variants) if variants else None
    return ExpectedDivergence(name, about, tuple(cases), frozenset(kinds), variants, expires, **fields)


def execution(kinds, case="a:x", variant=WITH_INDICES, **fields):
    return Execution(
        target="t", case=case, variant=variant.name, verdict=Verdict.DIVERGES, title="", spec="sonnx", case_sha256="",
        origin="", kinds=tuple(kind.value for kind in kinds), **fields,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("expected", "case", "variant", "kinds", "is_known"),
    [
        # Exactly the kinds of an entry are known,
        (entry(), "a:x", WITH_INDICES, BOTH, True),
        (entry(), "a:x", WITH_INDICES, {LOWEST}, False),
        (entry(), "a:x", WITH_INDICES, {*BOTH, DivergenceKind.SHAPE}, False),
        (entry(), "b:x", WITH_INDICES, BOTH, False),
        # as far as a variant can show them,
        (entry(kinds={*BOTH, DEPENDS}), "a:x", Y_ONLY, {LOWEST, DEPENDS}, True),
        (entry(kinds={*BOTH, DEPENDS}), "a:x", Y_ONLY, {LOWEST}, False),
        # in the variants that it names, until it expires.
        (entry(variants=[WITH_INDICES]), "a:x", WITH_INDICES, BOTH, True),
        (entry(variants=[WITH_INDICES]), "a:x", Y_ONLY, {LOWEST}, False),
        (entry(expires=TODAY), "a:x", WITH_INDICES, BOTH, True),
        (entry(expires=YESTERDAY), "a:x", WITH_INDICES, BOTH, False),
    ],
)
def test_what_is_known(expected, case, variant, kinds, is_known):
    ledger = Ledger([expected], TODAY)
    assert (ledger.known(execution(kinds, case, variant)).expected is not None) == is_known


TWO = entry(cases=("a:x", "a:y"))
X, Y = execution(BOTH), execution(BOTH, "a:y")
Y_ALONE = execution({LOWEST}, "a:y", Y_ONLY)
WHOLE, PART = {"a:*": True, "a:x": True, "a:y": True}, {"a:*": True, "a:x": True, "a:y": False}
NOTHING = dict.fromkeys(WHOLE, False)


@pytest.mark.parametrize(
    ("entries", "executed", "seen", "whole", "expected"),
    [
        # A pattern that no longer diverges must be removed, unless its cases were not all executed.
        ([TWO], True, [X], WHOLE, {"e": "stale"}),
        ([TWO], True, [X, Y], WHOLE, {"e": "expected"}),
        ([TWO], True, [X], PART, {"e": "expected"}),
        ([entry()], False, [], WHOLE, {"e": "not-executed"}),
        # Every variant that an entry names must show it.
        ([entry(variants=[WITH_INDICES, Y_ONLY])], True, [X], WHOLE, {"e": "stale"}),
        ([entry(variants=[WITH_INDICES, Y_ONLY])], True, [X, Y_ALONE], WHOLE, {"e": "expected"}),
        ([entry("wide"), entry("narrow", ("a:x",))], True, [X], WHOLE, {"wide": "expected", "narrow": "expected"}),
        ([entry(expires=YESTERDAY)], True, [X], NOTHING, {"e": "expired"}),
        ([entry(expires=YESTERDAY)], True, [], NOTHING, {"e": "not-executed"}),
    ],
)
def test_the_status_of_entries(entries, executed, seen, whole, expected):
    ledger = Ledger(entries, TODAY)
    for each in seen:
        ledger.known(each)
    for case in ("a:x", "a:y") if executed else ():
        ledger.compared(case, WITH_INDICES)
        ledger.compared(case, Y_ONLY)
    audit = ledger.audit(lambda entry: {pattern: whole[pattern] for pattern in entry.cases})
    assert {defect: status for defect, (status, _) in audit.items()} == expected


def test_a_stale_entry_says_what_to_do():
    ledger = Ledger([entry(variants=[WITH_INDICES, Y_ONLY])], TODAY)
    ledger.known(X)
    ledger.compared("a:y", Y_ONLY)
    assert ledger.audit(lambda _: {"a:*": True})["e"] == (
        KnownStatus.STALE,
        "a:* (y-only) no longer diverges in these kinds; remove it from the defect, or bound the versions for which it is expected",
    )


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


@pytest.fixture
def write(tmp_path):
    path = tmp_path / "known-divergences.yaml"
    return lambda text: path.write_text(text) and path


def test_a_file(write):
    path = write(FILE)
    (defect,) = read_defects(path)
    (expected,) = defect.expected
    assert (defect.id, expected.cases, defect.kinds, defect.mechanism) == ("one", ("a:*", "b:x"), BOTH, "Because.")
    assert (defect.upstream.issue, expected.expires) == ("https://example.org/1", date(2027, 11, 21))
    assert (defect.runtime, str(expected.when)) == ("onnxruntime", "onnxruntime <1.29")
    (problem,) = unmatched(path, ["a:1", "b:y"])
    assert str(problem).endswith("4:20: 'b:x' names no case")


@pytest.mark.parametrize(
    ("old", "new", "place", "words"),
    [
        ("    reason: Because.\n", "", "2:5", "missing 'reason'"),
        ("indices-sentinel", "indices-sentinels", "5:12", "did you mean 'indices-sentinel'?"),
        ("onnxruntime < 1.29", "onnxruntime 1.29", "3:11", "expected a distribution"),
        ("2027-11-21", "2027-13-21", "8:14", "not a date"),
        ('["a:*", "b:x"]', "[]", "4:12", "at least 1 entry"),
        ("reason: Because.", "reason: Because.\n    variants: [y]", "7:16", "expected one of indices |"),
        ("known:", "knwon:", "1:1", "did you mean 'known'?"),
        (FILE, FILE + FILE.removeprefix("known:\n"), "9:9", "duplicate id 'one', first on line 2"),
    ],
)
def test_broken_files(write, old, new, place, words):
    with pytest.raises(CorpusError) as error:
        read_defects(write(FILE.replace(old, new)))
    assert any(f":{place}: " in str(problem) and words in str(problem) for problem in error.value.problems), error.value


def windows(**by_kind):
    return {f"indices-{kind.replace('_', '-')}": counts for kind, counts in by_kind.items()}


STARTS = entry(kinds={SENTINEL}, windows=frozenset({"start"}))
BESIDE = windows(sentinel={"lowest start": 3, "ordinary": 1})
OF_NO_ENTRY = windows(sentinel={"start": 3}, outside_window={"padding": 1})


@pytest.mark.parametrize(
    ("kinds", "counts", "expected", "left"),
    [
        ({SENTINEL}, windows(sentinel={"infinity lowest start": 3, "lowest start": 1}), "e", set()),
        # The same kind, in a window that holds something greater.
        ({SENTINEL}, BESIDE, None, {"indices-sentinel"}),
        ({SENTINEL, OUTSIDE}, OF_NO_ENTRY, None, {"indices-outside-window"}),
    ],
)
def test_a_wrong_cell_outside_the_windows_of_an_entry_is_new_and_the_others_stay_known(kinds, counts, expected, left):
    explanation = Ledger([STARTS], TODAY).known(execution(kinds, windows=counts))
    assert (explanation.expected and explanation.expected.defect) == expected
    assert explanation.kinds == left
    assert [part.defect for part in explanation.parts] == ([] if expected else ["e"])


def test_an_entry_explains_the_cells_of_the_mistake_that_it_names():
    ledger = Ledger([entry(kinds={OUTSIDE}, windows=frozenset({"dilation-ignored"}))], TODAY)
    unnamed = execution({OUTSIDE}, windows=windows(outside_window={"ordinary": 2}))
    named = structs.replace(unnamed, causes=(Cause(kind="dilation-ignored", output=None, cells=9),))
    assert [ledger.known(each).expected is None for each in (unnamed, named)] == [True, False]


def test_several_entries_explain_together_what_none_explains_alone():
    entries = [entry("one", kinds={SENTINEL}), entry("two", kinds={OUTSIDE})]
    both = execution({SENTINEL, OUTSIDE}, windows=windows(sentinel={"lowest": 1}, outside_window={"nan": 1}))
    assert Ledger(entries[:1], TODAY).known(both).expected is None
    ledger = Ledger(entries, TODAY)
    assert ledger.known(both).expected is not None
    ledger.compared("a:x", WITH_INDICES)
    assert {status for status, _ in ledger.audit(lambda _: {"a:*": True}).values()} == {KnownStatus.EXPECTED}


def test_other_outputs_than_those_that_were_reviewed_are_not_known():
    seen = execution({OUTSIDE}, windows=windows(outside_window={"ordinary": 1}), digests={"Y": "1", "Indices": "2"})
    changed = structs.replace(seen, digests={"Y": "1", "Indices": "3"})
    reviewed = [entry(kinds={OUTSIDE}, outputs={"1.2": frozenset({fingerprint(seen)})})]
    assert Ledger(reviewed, TODAY, "1.2").known(seen).expected is not None
    assert Ledger(reviewed, TODAY, "1.2").known(changed).expected is None
    # Nobody has reviewed the outputs of another version.
    assert Ledger(reviewed, TODAY, "1.3").known(changed).expected is not None


def test_of_several_entries_the_one_that_says_what_comes_out_comes_first_and_then_the_narrowest():
    vague = entry("vague", kinds={SENTINEL}, windows=frozenset({"lowest"}), narrowness=9)
    exact = entry("exact", kinds={SENTINEL}, windows=frozenset({"start"}))
    narrow = entry("narrow", kinds={SENTINEL}, windows=frozenset({"start"}), narrowness=2)
    shown = execution({SENTINEL}, windows=windows(sentinel={"lowest start": 1}))
    for entries, best in (([vague, exact], exact), ([exact, narrow, vague], narrow), ([vague], vague)):
        assert Ledger(entries, TODAY).known(shown).expected is best
        assert Ledger(entries[::-1], TODAY).known(shown).expected is best


CPU, CUDA = "CPUExecutionProvider", "CUDAExecutionProvider"
TRANSFORM = "transform:onnxruntime==1.28.0:on:onnxruntime==1.31.1"


@pytest.mark.parametrize(
    ("when", "target", "is_covered"),
    [
        ("onnxruntime < 1.29", ("onnxruntime", "1.28.0", CPU), True),
        ("onnxruntime < 1.29", ("onnxruntime", "1.29.0", CPU), False),
        ("onnxruntime >=1.29.0rc1", ("onnxruntime", "1.29.0rc1", CPU), True),
        ("onnxruntime", ("openvino", "1.15.1", CPU), False),
        ("onnxruntime", ("onnxruntime", "1.31.1", CUDA), False),
        ("onnxruntime <2 @CUDAExecutionProvider", ("onnxruntime", "1.31.1", CUDA), True),
        ("onnxruntime <2", ("onnxruntime", "nightly", CPU), False),
        # A tool that rewrites models is selected by its name alone.
        ("onnxruntime < 1.29", ("onnxruntime", "1.28.0", CPU, TRANSFORM), False),
        (TRANSFORM, ("onnxruntime", "1.28.0", CPU, TRANSFORM), True),
        (TRANSFORM, ("onnxruntime", "1.28.0", CPU, "onnxruntime==1.28.0"), False),
    ],
)
def test_which_targets_an_entry_is_about(when, target, is_covered):
    assert TargetSelector.parse(when).covers(*target) is is_covered


OPENVINO = ("openvino", "2026.4.1", "CPU", "openvino==2026.4.1?opset=14")
REFERENCE = ("onnx", "1.23.2", "CPU", "onnx-reference==1.23.2")
QNN = (
    "onnxruntime-qnn",
    "2.7.0",
    "QNNExecutionProvider",
    "onnxruntime-qnn==2.7.0@QNNExecutionProvider?backend_type=htp",
)
ONNXSIM = ("onnxsim", "0.4.36", CPU, "transform:onnxsim==0.4.36:on:onnxruntime==1.31.1")
LEVEL_ALL = ("onnxruntime", "1.31.1", CPU, "transform:onnxruntime==1.31.1?level=all:on:onnxruntime==1.31.1")
KERNEL = ("python", "0", CPU, "python:kernel.py:maxpool")


@pytest.mark.parametrize(
    ("runtime", "versions", "target", "is_covered"),
    [
        ("openvino?opset=14", "", OPENVINO, True),
        ("openvino?opset=1", "", OPENVINO, False),
        ("openvino", "<2026", OPENVINO, False),
        ("onnx-reference", "", REFERENCE, True),
        ("onnxruntime-qnn@QNNExecutionProvider", "", QNN, True),
        ("transform:onnxsim", "<0.5", ONNXSIM, True),
        ("onnxsim", "", ONNXSIM, False),
        ("transform:onnxruntime?level=basic", "", LEVEL_ALL, False),
        ("python", "", KERNEL, True),
        ("python:other.py:maxpool", "", KERNEL, False),
    ],
)
def test_which_targets_a_runtime_of_a_defect_names(runtime, versions, target, is_covered):
    selector = TargetSelector.of(runtime, versions)
    assert (selector.covers(*target), selector.runtime) == (is_covered, runtime)


def test_several_builds_of_one_source_are_selected_by_their_distributions():
    selector = TargetSelector.of_any(["onnxruntime", "onnxruntime-node"], "<2")
    builds = [
        name
        for name in ("onnxruntime", "onnxruntime-node", "onnxruntime-web")
        if selector.covers(name, "1.30.0", CPU, f"{name}==1.30.0")
    ]
    assert (selector.runtime, builds) == ("onnxruntime", ["onnxruntime", "onnxruntime-node"])


@pytest.mark.parametrize(
    ("select", "arguments", "words"),
    [
        *((TargetSelector.parse, [text], "expected a distribution")
          for text in ("", "< 1.29", "onnxruntime << 1", "onnxruntime[x] <1", "a @b; c")),
        *((TargetSelector.of, words, "expected")
          for words in (("", ""), ("a b", ""), ("onnxruntime", "1.29"), ("transform:", ""))),
        (TargetSelector.of_any, [["onnxruntime", "openvino?opset=1"]], "without providers and options"),
    ],
)  # fmt: skip
def test_what_names_no_targets(select, arguments, words):
    with pytest.raises(ValueError, match=words):
        select(*arguments)
