"""Known divergences: bound to targets, cases and exactly their kinds."""

from dataclasses import replace
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
from maxpool_check.results.record import Execution, Verdict
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
    ("expected", "actual", "is_known"),
    [
        # Exactly the kinds of an entry are known,
        (entry(), execution(BOTH), True),
        (entry(), execution({LOWEST}), False),
        (entry(varies=True), execution({LOWEST}), True),
        (entry(), execution({*BOTH, DivergenceKind.SHAPE}), False),
        (entry(), execution(BOTH, "b:x"), False),
        # as far as a variant can show them,
        (entry(kinds={*BOTH, DEPENDS}), execution({LOWEST, DEPENDS}, variant=Y_ONLY), True),
        (entry(kinds={*BOTH, DEPENDS}), execution({LOWEST}, variant=Y_ONLY), False),
        # in the variants that it names, until it expires.
        (entry(variants=[WITH_INDICES]), execution({LOWEST}, variant=Y_ONLY), False),
        (entry(expires=TODAY), execution(BOTH), True),
        (entry(expires=YESTERDAY), execution(BOTH), False),
    ],
)
def test_what_is_known(expected, actual, is_known):
    assert (Ledger([expected], TODAY).known(actual).expected is not None) == is_known


TWO, VARIANTS = entry(cases=("a:x", "a:y")), entry(variants=[WITH_INDICES, Y_ONLY])
X, Y, Y_ALONE = execution(BOTH), execution(BOTH, "a:y"), execution({LOWEST}, "a:y", Y_ONLY)
REMOVE = "no longer diverges in these kinds; remove it from the defect, or bound the versions for which it is expected"


@pytest.mark.parametrize(
    ("entries", "executed", "seen", "whole", "expected"),
    [
        # A pattern that no longer diverges must be removed, unless its cases were not all executed.
        ([TWO], True, [X], True, {"e": ("stale", f"a:y {REMOVE}")}),
        ([replace(TWO, varies=True)], True, [X], True, {"e": ("expected", "")}),
        ([TWO], True, [X], False, {"e": ("expected", "")}),
        ([entry()], True, [], False, {"e": ("not-executed", "none of its cases was compared")}),
        ([entry()], False, [], True, {"e": ("not-executed", "none of its cases was compared")}),
        # Every variant that an entry names must show it.
        ([VARIANTS], True, [X], True, {"e": ("stale", f"a:* (y-only) {REMOVE}")}),
        ([VARIANTS], True, [X, Y_ALONE], True, {"e": ("expected", "")}),
        ([entry(), entry("n", ("a:x",))], True, [X], True, {"e": ("expected", ""), "n": ("expected", "")}),
        (
            [entry(expires=YESTERDAY)],
            True,
            [X],
            False,
            {"e": ("expired", "since 2026-11-20; review it, then remove it or set a new date")},
        ),
        ([entry(expires=YESTERDAY)], True, [], False, {"e": ("not-executed", "none of its cases was compared")}),
    ],
)
def test_the_status_of_entries(entries, executed, seen, whole, expected):
    audits = []
    for architecture in ("x86_64", "aarch64"):
        ledger = Ledger(entries, TODAY, architecture=architecture)
        for each in seen:
            ledger.known(each)
        for case in ("a:x", "a:y") if executed else ():
            ledger.compared(case, WITH_INDICES)
            ledger.compared(case, Y_ONLY)
        audits.append(ledger.audit(lambda *_: whole))
    assert audits[0] == expected
    # The entries name no processor: elsewhere what shows is expected, and nothing is stale.
    for name, (status, _) in expected.items():
        assert audits[1][name][0] == ("expected" if status == "stale" and seen else status)


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


@pytest.mark.parametrize(
    ("old", "new", "place", "words"),
    [
        ("    reason: Because.\n", "", "2:5", "missing 'reason'"),
        ("indices-sentinel", "indices-sentinels", "5:12", "did you mean 'indices-sentinel'?"),
        ("onnxruntime < 1.29", "onnxruntime 1.29", "3:11", "expected a distribution"),
        ("reason: Because.", "reason: Because.\n    variants: [y]", "7:16", "expected one of indices |"),
        (FILE, FILE + FILE.removeprefix("known:\n"), "9:9", "duplicate id 'one', first on line 2"),
    ],
)
def test_a_file(tmp_path, old, new, place, words):
    path = tmp_path / "known-divergences.yaml"
    path.write_text(FILE)
    (defect,) = read_defects(path)
    (expected,) = defect.expected
    assert (defect.id, expected.cases, defect.kinds, defect.mechanism) == ("one", ("a:*", "b:x"), BOTH, "Because.")
    assert (defect.upstream.issue, expected.expires) == ("https://example.org/1", date(2027, 11, 21))
    assert (defect.runtime, str(expected.when)) == ("onnxruntime", "onnxruntime <1.29")
    assert [str(problem).partition(":")[2] for problem in unmatched(path, ["a:1", "b:y"])] == [
        "4:20: 'b:x' names no case"
    ]
    path.write_text(FILE.replace(old, new))
    with pytest.raises(CorpusError) as error:
        read_defects(path)
    assert any(f":{place}: " in str(problem) and words in str(problem) for problem in error.value.problems), error.value


def windows(sentinel=None, outside=None):
    counts = {"indices-sentinel": sentinel, "indices-outside-window": outside}
    return {kind: dict.fromkeys(holds, 1) for kind, holds in counts.items() if holds}


STARTS = entry(kinds={SENTINEL}, windows=frozenset({"start"}))
ONE, OTHER = entry("one", kinds={SENTINEL}), entry("two", kinds={OUTSIDE})
DILATION = entry(kinds={OUTSIDE}, windows=frozenset({"dilation-ignored"}))
ORDINARY = execution({OUTSIDE}, windows=windows(outside=["ordinary"]), digests={"Y": "1", "Indices": "2"})
NAMED = structs.replace(ORDINARY, causes=(Cause(kind="dilation-ignored", output=None, cells=9),))
CHANGED = structs.replace(ORDINARY, digests={"Y": "1", "Indices": "3"})
REVIEWED = entry(kinds={OUTSIDE}, outputs={"1.2": frozenset({fingerprint(ORDINARY)})})
IN_BOTH = execution({SENTINEL, OUTSIDE}, windows=windows(["start"], ["padding"]))


@pytest.mark.parametrize(
    ("entries", "version", "actual", "left"),
    [
        # A wrong cell outside the windows of an entry is new, and the others stay known.
        ([STARTS], "", execution({SENTINEL}, windows=windows(["infinity lowest start"])), None),
        ([STARTS], "", execution({SENTINEL}, windows=windows(["lowest start", "ordinary"])), {"indices-sentinel"}),
        ([STARTS], "", IN_BOTH, {"indices-outside-window"}),
        # An entry explains the cells of the mistake that it names.
        ([DILATION], "", NAMED, None),
        ([DILATION], "", ORDINARY, {"indices-outside-window"}),
        # Several entries explain together what none explains alone.
        ([ONE, OTHER], "", IN_BOTH, None),
        ([ONE], "", IN_BOTH, {"indices-outside-window"}),
        # Other outputs than those that were reviewed are not known; nobody has reviewed those of another version.
        ([REVIEWED], "1.2", ORDINARY, None),
        ([REVIEWED], "1.2", CHANGED, {"indices-outside-window"}),
        ([REVIEWED], "1.3", CHANGED, None),
    ],
)
def test_what_entries_explain(entries, version, actual, left):
    explanation = Ledger(entries, TODAY, version).known(actual)
    assert explanation.kinds == (left or set())
    assert (explanation.expected is None) == (left is not None)


def test_of_several_entries_the_one_that_says_what_comes_out_comes_first_and_then_the_narrowest():
    vague = entry("vague", kinds={SENTINEL}, windows=frozenset({"lowest"}), narrowness=9)
    narrow = entry("narrow", kinds={SENTINEL}, windows=frozenset({"start"}), narrowness=2)
    shown = execution({SENTINEL}, windows=windows(["lowest start"]))
    for entries, best in (([vague, STARTS], STARTS), ([STARTS, narrow, vague], narrow), ([vague], vague)):
        assert Ledger(entries, TODAY).known(shown).expected is best
        assert Ledger(entries[::-1], TODAY).known(shown).expected is best


CPU, CUDA = "CPUExecutionProvider", "CUDAExecutionProvider"
BY_MODEL = "transform:onnxruntime==1.28.0:on:onnxruntime==1.31.1"
TARGETS = {
    "old": ("onnxruntime", "1.28.0", CPU, "onnxruntime==1.28.0"),
    "candidate": ("onnxruntime", "1.29.0rc1", CPU, "onnxruntime==1.29.0rc1"),
    "new": ("onnxruntime", "1.29.0", CPU, "onnxruntime==1.29.0"),
    "nightly": ("onnxruntime", "nightly", CPU, "onnxruntime==nightly"),
    "cuda": ("onnxruntime", "1.28.0", CUDA, f"onnxruntime==1.28.0@{CUDA}"),
    "node": ("onnxruntime-node", "1.28.0", CPU, "onnxruntime-node==1.28.0"),
    "openvino": ("openvino", "2026.4.1", "CPU", "openvino==2026.4.1?opset=14"),
    "reference": ("onnx", "1.23.2", "CPU", "onnx-reference==1.23.2"),
    "simplified": ("onnxsim", "0.4.36", CPU, "transform:onnxsim==0.4.36:on:onnxruntime==1.31.1"),
    "by-model": ("onnxruntime", "1.28.0", CPU, BY_MODEL),
    "kernel": ("python", "0", CPU, "python:kernel.py:maxpool"),
}


@pytest.mark.parametrize(
    ("selector", "covered"),
    [
        (TargetSelector.parse("onnxruntime"), {"old", "candidate", "new", "nightly"}),
        (TargetSelector.parse("onnxruntime < 1.29"), {"old"}),
        (TargetSelector.parse("onnxruntime <2 @CUDAExecutionProvider"), {"cuda"}),
        # A tool that rewrites models is selected by its name alone.
        (TargetSelector.parse(BY_MODEL), {"by-model"}),
        (TargetSelector.of("transform:onnxsim", "<0.5"), {"simplified"}),
        (TargetSelector.of("transform:onnxruntime?level=basic", ""), set()),
        (TargetSelector.of("openvino?opset=1", ""), set()),
        (TargetSelector.of("openvino", "<2026"), set()),
        (TargetSelector.of("onnx-reference", ""), {"reference"}),
        (TargetSelector.of("python:other.py:maxpool", ""), set()),
        # Several builds of one source.
        (TargetSelector.of_any(["onnxruntime", "onnxruntime-node"], "<1.29"), {"old", "node"}),
    ],
)
def test_which_targets_are_selected(selector, covered):
    assert {name for name, target in TARGETS.items() if selector.covers(*target)} == covered


@pytest.mark.parametrize(
    ("select", "arguments", "words"),
    [
        *((TargetSelector.parse, [text], "expected a distribution") for text in ("", "< 1.29", "onnxruntime << 1")),
        *((TargetSelector.of, words, "expected") for words in (("onnxruntime", "1.29"), ("transform:", ""))),
        (TargetSelector.of_any, [["onnxruntime", "openvino?opset=1"]], "without providers and options"),
    ],
)  # fmt: skip
def test_what_names_no_targets(select, arguments, words):
    with pytest.raises(ValueError, match=words):
        select(*arguments)
