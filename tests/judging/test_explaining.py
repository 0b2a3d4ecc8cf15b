"""Known divergences: bound to targets, cases and exactly their kinds."""

from dataclasses import replace
from datetime import date

import pytest
from msgspec import structs

from maxpool_check.corpus.defect_file import read_defects, unmatched
from maxpool_check.corpus.problems import CorpusError
from maxpool_check.judging.audit import Audit
from maxpool_check.judging.defects import Conditions, Defect, Effect, Severity, fingerprint
from maxpool_check.judging.explaining import best, explains, unexplained
from maxpool_check.judging.kinds import DivergenceKind
from maxpool_check.judging.target_selector import TargetSelector
from maxpool_check.results.details import Cause
from maxpool_check.results.record import Execution, TargetDescription, Verdict
from maxpool_check.results.variants import WITH_INDICES, Y_ONLY, variant_named

TODAY, YESTERDAY = date(2026, 11, 21), date(2026, 11, 20)
LOWEST, SENTINEL = DivergenceKind.Y_LOWEST_FOR_NEG_INF, DivergenceKind.INDICES_SENTINEL
OUTSIDE, DEPENDS = DivergenceKind.INDICES_OUTSIDE_WINDOW, DivergenceKind.Y_DEPENDS_ON_INDICES
BOTH = frozenset({LOWEST, SENTINEL})


class ById:
    """A case of which the id alone is known."""

    def __init__(self, case):
        self.case = case

    def applies(self, defect, effect):
        return not effect.cases or effect.lists(self.case)

    def fits(self, defect, effect):
        return True

    def listed_as(self, effect):
        return self.case


def ort(version="1.28.0"):
    return TargetDescription(
        name="t", distribution="onnxruntime", version=version, provider="CPUExecutionProvider", providers=(),
        session_options={}, python="3.11", numpy="2", newest_opset=26, graphs=26,
    )  # fmt: skip


def effect(name="e", cases=("a:*",), kinds=BOTH, expires=None, variants=None, **fields):
    about, variants = TargetSelector.of("onnxruntime"), frozenset(variants) if variants else None
    return Effect(name, about, frozenset(kinds), tuple(cases), variants, expires=expires, **fields)


def defect(*effects, **fields):
    return Defect(effects[0].defect, "onnxruntime", "t", Severity.WRONG_ON_FINITE, "m", effects, **fields)


def execution(kinds, case="a:x", variant=WITH_INDICES, **fields):
    return Execution(
        target="t", case=case, variant=variant.name, verdict=Verdict.DIVERGES, title="", spec="sonnx", case_sha256="",
        origin="", kinds=tuple(kind.value for kind in kinds), **fields,
    )  # fmt: skip


def explanations(defects, actual, version="1.28.0"):
    """What effects of the defects make of an execution, as far as they explain something."""
    variant = variant_named(actual.variant)
    found = (explains(each, ort(version), ById(actual.case), variant, actual) for each in defects)
    return [each for each in found if each is not None and each.is_expected]


@pytest.mark.parametrize(
    ("expected", "actual", "is_known"),
    [
        # Exactly the kinds of an effect are expected,
        (effect(), execution(BOTH), True),
        (effect(), execution({LOWEST}), False),
        (effect(varies=True), execution({LOWEST}), True),
        (effect(), execution({*BOTH, DivergenceKind.SHAPE}), False),
        (effect(), execution(BOTH, "b:x"), False),
        # as far as a variant can show them,
        (effect(kinds={*BOTH, DEPENDS}), execution({LOWEST, DEPENDS}, variant=Y_ONLY), True),
        (effect(kinds={*BOTH, DEPENDS}), execution({LOWEST}, variant=Y_ONLY), False),
        # in the variants that it names.
        (effect(variants=[WITH_INDICES]), execution({LOWEST}, variant=Y_ONLY), False),
    ],
)
def test_an_execution_shows_an_effect(expected, actual, is_known):
    assert (best(explanations([defect(expected)], actual), actual) is not None) == is_known


TWO, VARIANTS = effect(cases=("a:x", "a:y")), effect(variants=[WITH_INDICES, Y_ONLY])
X, Y, Y_ALONE = execution(BOTH), execution(BOTH, "a:y"), execution({LOWEST}, "a:y", Y_ONLY)
REMOVE = "remove these from the defect, or bound the versions for which they are expected:"


@pytest.mark.parametrize(
    ("effects", "executed", "seen", "whole", "expected"),
    [
        # A case that no longer diverges must be removed, unless not all cases were executed.
        ([TWO], True, [X], True, {"e": ("stale", f"no longer shown in 1 case\n{REMOVE}\na:y")}),
        ([replace(TWO, varies=True)], True, [X], True, {"e": ("expected", "")}),
        ([TWO], True, [X], False, {"e": ("expected", "")}),
        ([effect()], True, [], False, {"e": ("not-executed", "none of its cases was compared")}),
        ([effect()], False, [], True, {"e": ("not-executed", "none of its cases was compared")}),
        # Every variant that an effect names must show it.
        ([VARIANTS], True, [X], True, {"e": ("stale", f"no longer shown in 1 execution\n{REMOVE}\na:* (y-only)")}),
        ([VARIANTS], True, [X, Y_ALONE], True, {"e": ("expected", "")}),
        ([effect(), effect("n", ("a:x",))], True, [X], True, {"e": ("expected", ""), "n": ("expected", "")}),
        (
            [effect(expires=YESTERDAY)],
            True,
            [X],
            False,
            {"e": ("expired", "since 2026-11-20; review it, then remove it or set a new date")},
        ),
        ([effect(expires=YESTERDAY)], True, [], False, {"e": ("not-executed", "none of its cases was compared")}),
    ],
)
def test_the_status_of_defects(effects, executed, seen, whole, expected):
    audits = []
    for architecture in ("x86_64", "aarch64"):
        audit = Audit(effects, TODAY, architecture)
        for each, of in ((each, of) for each in seen for of in effects if of.lists(each.case)):
            audit.shown(of, each.case, variant_named(each.variant))
        for case in ("a:x", "a:y") if executed else ():
            for of in (of for of in effects if of.lists(case)):
                audit.compared(of, case, WITH_INDICES)
                audit.compared(of, case, Y_ONLY)
        audits.append(audit.statuses(lambda *_: whole))
    assert audits[0] == expected
    # The effects name no processor: elsewhere what shows is expected, and nothing is stale.
    for name, (status, _) in expected.items():
        assert audits[1][name][0] == ("expected" if status == "stale" and seen else status)


FILE = """\
defects:
  - id: one
    runtime: onnxruntime
    title: It keeps its seed
    severity: wrong-on-special
    mechanism: Because.
    upstream: {issue: "https://example.org/1", state: open, seen: 2026-11-22}
    expect:
      - versions: "<1.29"
        cases: ["a:*", "b:x"]
        kinds: [y-lowest-for-neg-inf, indices-sentinel]
        expires: 2027-11-21
"""


@pytest.mark.parametrize(
    ("old", "new", "place", "words"),
    [
        ("    mechanism: Because.\n", "", "2:5", "missing 'mechanism'"),
        ("indices-sentinel", "indices-sentinels", "11:16", "did you mean 'indices-sentinel'?"),
        ("<1.29", "1.29", "9:19", "expected versions"),
        ("expires", "variants: [y]\n        expires", "12:20", "expected one of indices |"),
        (FILE, FILE + FILE.removeprefix("defects:\n"), "13:9", "duplicate id 'one', first on line 2"),
        (
            FILE,
            "known: []\n",
            "1:1",
            "the short form 'known' is no longer read; write each of its entries under 'defects'",
        ),
    ],
)
def test_a_file(tmp_path, old, new, place, words):
    path = tmp_path / "known-divergences.yaml"
    path.write_text(FILE)
    (defect,) = read_defects(path)
    (effect,) = defect.effects
    assert (defect.id, effect.cases, defect.kinds, defect.mechanism) == ("one", ("a:*", "b:x"), BOTH, "Because.")
    assert (defect.upstream.issue, effect.expires) == ("https://example.org/1", date(2027, 11, 21))
    assert (defect.runtime, str(effect.when)) == ("onnxruntime", "onnxruntime <1.29")
    assert [str(problem).partition(":")[2] for problem in unmatched(path, ["a:1", "b:y"])] == [
        "10:24: 'b:x' names no case"
    ]
    path.write_text(FILE.replace(old, new))
    with pytest.raises(CorpusError) as error:
        read_defects(path)
    assert any(f":{place}: " in str(problem) and words in str(problem) for problem in error.value.problems), error.value


def windows(sentinel=None, outside=None):
    counts = {"indices-sentinel": sentinel, "indices-outside-window": outside}
    return {kind: dict.fromkeys(holds, 1) for kind, holds in counts.items() if holds}


STARTS = defect(effect(kinds={SENTINEL}, windows=frozenset({"start"})))
ONE, OTHER = defect(effect("one", kinds={SENTINEL})), defect(effect("two", kinds={OUTSIDE}))
DILATION = defect(effect(kinds={OUTSIDE}, windows=frozenset({"dilation-ignored"})))
ORDINARY = execution({OUTSIDE}, windows=windows(outside=["ordinary"]), digests={"Y": "1", "Indices": "2"})
NAMED = structs.replace(ORDINARY, causes=(Cause(kind="dilation-ignored", output=None, cells=9),))
CHANGED = structs.replace(ORDINARY, digests={"Y": "1", "Indices": "3"})
REVIEWED = defect(effect(kinds={OUTSIDE}), outputs={"1.2": frozenset({fingerprint(ORDINARY, "a:x")})})
IN_BOTH = execution({SENTINEL, OUTSIDE}, windows=windows(["start"], ["padding"]))


@pytest.mark.parametrize(
    ("defects", "version", "actual", "left"),
    [
        # A wrong cell outside the windows of an effect is new, and the others stay known.
        ([STARTS], "1", execution({SENTINEL}, windows=windows(["infinity lowest start"])), None),
        ([STARTS], "1", execution({SENTINEL}, windows=windows(["lowest start", "ordinary"])), {"indices-sentinel"}),
        ([STARTS], "1", IN_BOTH, {"indices-outside-window"}),
        # An effect explains the cells of the mistake that it names.
        ([DILATION], "1", NAMED, None),
        ([DILATION], "1", ORDINARY, {"indices-outside-window"}),
        # Several defects explain together what none explains alone.
        ([ONE, OTHER], "1", IN_BOTH, None),
        ([ONE], "1", IN_BOTH, {"indices-outside-window"}),
        # Other outputs than those that were reviewed are not known; nobody has reviewed those of another version.
        ([REVIEWED], "1.2", ORDINARY, None),
        ([REVIEWED], "1.2", CHANGED, {"indices-outside-window"}),
        ([REVIEWED], "1.3", CHANGED, None),
    ],
)
def test_what_effects_explain(defects, version, actual, left):
    found = explanations(defects, actual, version)
    assert (best(found, actual) is None) == (left is not None)
    assert left is None or unexplained(found, actual) == left


SHOWN = execution({SENTINEL}, windows=windows(["lowest start"]))
LOWEST_CELLS, START = ({"kinds": {SENTINEL}, "windows": frozenset({name})} for name in ("lowest", "start"))
FLOAT, NARROW = Conditions(dtypes=("float32",)), Conditions(dtypes=("float32",), spatial=(2,))
SEEN, ELSEWHERE = effect(kinds={SENTINEL}, cases=("b:x",)), effect("n", kinds=BOTH, cases=("b:x",))


@pytest.mark.parametrize(
    ("first", "second"),
    [
        # An effect, before a mechanism that fits;
        (defect(effect(cases=(), **LOWEST_CELLS)), defect(ELSEWHERE, windows=START["windows"], conditions=NARROW)),
        # one that lists the case;
        (defect(effect(**LOWEST_CELLS)), defect(effect("n", (), **START), conditions=NARROW)),
        # one that says what comes out, and windows that explain all wrong cells;
        (defect(effect(cases=(), **START)), defect(effect("n", (), **LOWEST_CELLS), conditions=NARROW)),
        (defect(ELSEWHERE, windows=START["windows"], conditions=FLOAT), defect(SEEN, conditions=NARROW)),
        # exactly these kinds;
        (defect(SEEN, conditions=FLOAT), defect(ELSEWHERE, conditions=NARROW)),
        # more conditions;
        (defect(effect(cases=(), **START), conditions=NARROW), defect(effect("n", (), **START), conditions=FLOAT)),
    ],
)
def test_the_order_of_explanations(first, second):
    for defects in ([first, second], [second, first]):
        found = [explains(each, ort(), ById("a:x"), WITH_INDICES, SHOWN) for each in defects]
        assert best([each for each in found if each is not None], SHOWN).defect is first


def test_of_equal_explanations_the_first_is_taken():
    defects = [defect(effect(name, (), **START)) for name in ("e", "n")]
    for order in (defects, defects[::-1]):
        assert best(explanations(order, SHOWN), SHOWN).defect is order[0]


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
        (TargetSelector.of("onnxruntime"), {"old", "candidate", "new", "nightly"}),
        (TargetSelector.of("onnxruntime", "<1.29"), {"old"}),
        (TargetSelector.of("onnxruntime@CUDAExecutionProvider", "<2"), {"cuda"}),
        # A tool that rewrites models is selected by its name alone.
        (TargetSelector.of(BY_MODEL), {"by-model"}),
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
        *((TargetSelector.of, words, "expected") for words in (("onnxruntime", "1.29"), ("transform:", ""), ("< 1.29",))),
        (TargetSelector.of_any, [["onnxruntime", "openvino?opset=1"]], "without providers and options"),
    ],
)  # fmt: skip
def test_what_names_no_targets(select, arguments, words):
    with pytest.raises(ValueError, match=words):
        select(*arguments)
