"""Runs: kernels that are wrong on purpose, deaths, order, and what is known."""

from collections import Counter

import pytest

from maxpool_check.corpus.collection import collect
from maxpool_check.judging import judge, verdicts
from maxpool_check.judging.defects import Defect, ExpectedDivergence, Severity
from maxpool_check.judging.kinds import DivergenceKind
from maxpool_check.judging.target_selector import TargetSelector
from maxpool_check.results.storage import read
from maxpool_check.running.decisions import completeness
from tests.conftest import misbehaving, untimed
from tests.conftest import run_record as record


def faults(run):
    """What is wrong, by case and variant, without the corpus's name."""
    return {
        (execution.case.partition(":")[2], execution.variant): (execution.verdict, execution.kinds)
        for execution in run.executions
        if execution.verdict not in ("conforms", "undefined")
    }


def test_the_right_kernel_conforms_everywhere(small, kernel_target):
    run = record(small, kernel_target("right"))
    assert faults(run) == {}
    assert run.footer.summary == {kernel_target("right"): {"conforms": 10, "undefined": 2}}
    assert run.footer.exit_code == 0


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (
            "keeps_the_seed",
            {
                ("neg-inf", "indices"): ("diverges", ("indices-sentinel", "y-lowest-for-neg-inf")),
                ("neg-inf", "y-only"): ("diverges", ("y-lowest-for-neg-inf",)),
            },
        ),
        (
            "counts_in_the_plane",
            {
                ("ordinary", "indices"): ("diverges", ("indices-plane-relative",)),
                ("neg-inf", "indices"): ("diverges", ("indices-plane-relative",)),
            },
        ),
        (
            "pads_with_zero",
            {("padded", variant): ("diverges", ("y-pad-value-leak",)) for variant in ("indices", "y-only")},
        ),
        (
            "accepts_everything",
            {("stride-0", variant): ("diverges", ("accepts-invalid",)) for variant in ("indices", "y-only")},
        ),
        (
            "gives_no_indices",
            {
                (case, "indices"): ("diverges", ("missing-output",))
                for case in ("ordinary", "padded", "neg-inf", "one-column", "empty")
            },
        ),
        (
            "refuses_everything",
            {
                (case, variant): ("refuses", ("refuses-valid",))
                for case in ("ordinary", "padded", "neg-inf", "one-column")
                for variant in ("indices", "y-only")
            },
        ),
        (
            "dies_of_a_signal",
            {("stride-0", variant): ("crashes", ("crash",)) for variant in ("indices", "y-only")},
        ),
        ("hangs", {("one-column", variant): ("times-out", ("timeout",)) for variant in ("indices", "y-only")}),
        (
            "y_alone",
            {(case, "indices"): ("not-expressible", ()) for case in ("ordinary", "padded", "neg-inf", "one-column", "empty")},
        ),
        ("talks", {}),
        ("changes_its_input", {}),
    ],
)  # fmt: skip
def test_a_kernel_that_is_wrong_on_purpose(small, kernel_target, name, expected):
    assert faults(record(small, kernel_target(name), seconds=6 if name == "hangs" else 20)) == expected


def test_outputs_of_another_shape_and_dtype(small, kernel_target):
    kinds = Counter(kinds for _, kinds in faults(record(small, kernel_target("forgets_its_shape"))).values())
    assert kinds == {("dtype", "shape"): 5, ("shape",): 5}


def test_a_death_costs_one_request_and_no_more(small, kernel_target):
    run = record(small, kernel_target("dies_of_a_signal"))
    verdicts = Counter(execution.verdict for execution in run.executions)
    assert verdicts == {"conforms": 8, "crashes": 2, "undefined": 2}
    (crash, _) = [execution for execution in run.executions if execution.verdict == "crashes"]
    assert crash.message == "killed by SIGFPE: about to divide"


def many(tmp_path, count):
    folder = tmp_path / "many"
    folder.mkdir()
    (folder / "x.yaml").write_text(
        f"cases:\n  - matrix: {{n: {[*range(count)]}}}\n    id: case-$n\n    outputs: [Y]\n"
        "    input: {dtype: float32, shape: [1, 1, 4], fill: $n}\n    attributes: {kernel_shape: [2]}\n"
    )
    return folder


def test_twenty_deaths_in_a_row_end_the_target_and_not_the_others(tmp_path, kernel_target):
    dying = misbehaving("dies")
    run = record(many(tmp_path, 25), dying, kernel_target("right"))
    counts = {target: Counter(e.verdict for e in run.executions if e.target == target) for target in run.footer.summary}
    assert counts[dying] == {"crashes": 20, "error": 5}
    assert counts[kernel_target("right")] == {"conforms": 25}
    assert run.footer.exit_code == 3
    assert "20 deaths in a row" in run.footer.errors[0]


def test_twenty_deaths_that_are_not_in_a_row_end_nothing(tmp_path):
    dying = misbehaving("dies_every_other_time")
    run = record(many(tmp_path, 45), dying)
    assert run.footer.summary == {dying: {"crashes": 23, "conforms": 22}}
    assert run.footer.errors == ()


@pytest.mark.network
def test_one_target_held_to_nothing_is_not_made_green_by_another(tmp_path, kernel_target):
    # 1.20.1 loads no operator set that has bfloat16.
    (tmp_path / "x.yaml").write_text(
        "cases:\n  - id: a\n    input: {dtype: bfloat16, shape: [1, 1, 2], fill: 5}\n    attributes: {kernel_shape: [2]}\n"
    )
    known = entry(["refuses-valid"], ("x:a",), "onnxruntime")
    run = record(tmp_path, kernel_target("right"), "onnxruntime==1.20.1", known=[known])
    assert run.footer.exit_code == 4
    assert run.footer.summary["onnxruntime==1.20.1"] == {"not-expressible": 2}
    # What was never compared is not repaired either.
    assert [entry.status for entry in run.footer.known] == ["not-executed"]


@pytest.mark.parametrize("name", ["right", None, "keeps_the_seed"])
def test_the_number_of_workers_changes_nothing(tmp_path, kernel_target, name):
    folder, target = many(tmp_path, 25), kernel_target(name) if name else misbehaving("dies")
    serial, parallel = (record(folder, target, kernel_target("y_alone"), jobs=jobs) for jobs in (1, 4))
    assert untimed(serial.executions) == untimed(parallel.executions)
    assert [execution.case for execution in serial.executions[:4:2]] == ["x:case-0", "x:case-1"]


@pytest.mark.parametrize("jobs", [1, 2])
def test_an_execution_has_the_seconds_of_its_requests(tmp_path, kernel_target, jobs):
    (tmp_path / "x.yaml").write_text(
        "cases:\n  - matrix: {s: [1, 4]}\n    id: stride-$s\n    outputs: [Y]\n"
        "    input: {dtype: float32, shape: [1, 1, 4], fill: 1}\n    attributes: {kernel_shape: [1], strides: [$s]}\n"
    )
    run = record(tmp_path, kernel_target("takes_its_time"), jobs=jobs)
    seconds = {(each.case, each.variant): each.seconds for each in run.executions}
    assert seconds["x:stride-1", "y-only"] > 0.05
    assert seconds["x:stride-4", "y-only"] > 0.35
    assert all(each == round(each, 3) for each in seconds.values())


@pytest.mark.network
@pytest.mark.long
def test_the_number_of_workers_changes_nothing_where_a_real_runtime_is_given_up(tmp_path):
    # 1.23.2 divides by a stride of 0. What was under way when it was given up depends on time; the record must not.
    (tmp_path / "x.yaml").write_text(
        f"cases:\n  - matrix: {{n: {[*range(14)]}}}\n    id: case-$n\n    input: {{dtype: float32, shape: [1, 1, 4], fill: $n}}\n"
        "    attributes: {kernel_shape: [2], strides: [0]}\n"
    )
    serial, parallel = (record(tmp_path, "onnxruntime==1.23.2", jobs=jobs) for jobs in (1, 4))
    assert untimed(serial.executions) == untimed(parallel.executions)
    assert Counter(execution.verdict for execution in serial.executions) == {"crashes": 20, "error": 8}


def test_a_target_that_cannot_be_started_is_told_and_the_others_are_asked(small, kernel_target):
    run = record(small, kernel_target("absent"), kernel_target("right"))
    assert run.footer.exit_code == 3
    assert "no function 'absent'" in run.footer.errors[0]
    assert run.footer.summary == {kernel_target("right"): {"conforms": 10, "undefined": 2}}


def test_nothing_compared(tmp_path, kernel_target):
    folder = tmp_path / "corpus"
    folder.mkdir()
    (folder / "x.yaml").write_text(
        "cases:\n  - id: a\n    input: {dtype: float32, shape: [1, 1, 1], fill: 5}\n"
        "    attributes: {kernel_shape: [2], dilations: [2], pads: [1, 1]}\n"
    )
    assert record(folder, kernel_target("right")).footer.exit_code == 4


def entry(kinds, cases=("small:neg-inf",), when="python"):
    expected = ExpectedDivergence("e", TargetSelector.parse(when), cases, frozenset(map(DivergenceKind, kinds)))
    return Defect("e", when, "MaxPool is wrong", Severity.WRONG_ON_SPECIAL, "why", (expected,))


SEED = ["indices-sentinel", "y-lowest-for-neg-inf"]


def test_a_known_divergence_is_expected(small, kernel_target):
    run = record(small, kernel_target("keeps_the_seed"), known=[entry(SEED)])
    assert run.footer.exit_code == 0
    faults = [execution for execution in run.executions if execution.kinds]
    assert {(execution.known, execution.status, execution.unexpected) for execution in faults} == {
        ("e", "expected", False)
    }
    assert [known.status for known in run.footer.known] == ["expected"]


def test_each_question_is_held_to_the_kinds_it_can_show(small, kernel_target):
    run = record(small, kernel_target("keeps_the_seed"), known=[entry(["y-lowest-for-neg-inf"])])
    statuses = {execution.variant: execution.status for execution in run.executions if execution.kinds}
    assert statuses == {"indices": "new", "y-only": "expected"}
    (execution,) = (each for each in run.executions if each.status == "new")
    assert (execution.explained_by, execution.unexplained) == (("e",), ("indices-sentinel",))
    assert run.footer.exit_code == 1


@pytest.mark.parametrize("kinds", [["y-not-in-input"], [*SEED, "shape"]])
def test_other_kinds_than_the_known_ones_are_a_change(small, kernel_target, kinds):
    run = record(small, kernel_target("keeps_the_seed"), known=[entry(kinds)])
    assert run.footer.exit_code == 1
    assert {execution.status for execution in run.executions if execution.kinds} == {"changed"}
    assert [known.status for known in run.footer.known] == ["stale"]


def test_a_repaired_divergence_must_be_removed(small, kernel_target):
    run = record(small, kernel_target("right"), known=[entry(SEED)])
    assert run.footer.exit_code == 1
    (known,) = run.footer.known
    assert (known.status, known.id) == ("stale", "e")
    assert "small:neg-inf" in known.message


def test_a_divergence_of_another_case_is_new(small, kernel_target):
    run = record(small, kernel_target("pads_with_zero"), known=[entry(SEED)])
    assert {execution.status for execution in run.executions if execution.kinds} == {"new"}


def test_an_entry_about_another_target_does_not_apply_to_this_target(small, kernel_target):
    run = record(small, kernel_target("right"), known=[entry(SEED, when="onnxruntime")])
    assert (run.footer.exit_code, run.footer.known) == (0, ())


def test_the_first_unexpected_verdict_can_end_the_run(small, kernel_target):
    run = record(small, kernel_target("keeps_the_seed"), exit_first=True, known=[entry(SEED, ("small:one-column",))])
    assert run.executions[-1].case == "small:neg-inf"
    assert run.footer.exit_code == 1
    assert [known.status for known in run.footer.known] == ["not-executed"]


def test_which_patterns_a_part_of_a_corpus_can_be_held_to(small):
    cases = collect([small]).cases
    everything = completeness(cases, cases, is_whole=True)
    assert everything("small:*")
    assert everything("*:neg-inf")
    assert not everything("other:*")
    part = completeness(cases, cases, is_whole=False)
    assert part("small:neg-*")
    assert not part("*:neg-inf")
    selected = completeness(cases, cases[:2], is_whole=True)
    assert selected("small:ordinary")
    assert not selected("small:*")


def test_strict_counts_what_the_document_allows(tmp_path, kernel_target):
    (tmp_path / "x.yaml").write_text(
        "cases:\n  - id: tie\n    input: {dtype: float32, data: [[[7, 7]]]}\n    attributes: {kernel_shape: [2]}\n"
    )
    assert record(tmp_path, kernel_target("names_the_last_tie")).footer.exit_code == 0
    assert record(tmp_path, kernel_target("names_the_last_tie"), strict=True).footer.exit_code == 1


GRAPHS = """\
defaults: {attributes: {kernel_shape: [1, 2]}, input: {dtype: float32, data: [[[[-1, 2, 3, 4]]]]}}
cases:
  - {id: function-before, title: T, graph: [{op: Relu}, {op: MaxPool}]}
  - {id: function-behind, title: T, graph: [{op: MaxPool}, {op: Relu}]}
  - {id: moved, title: T, graph: [{op: MaxPool}, {op: Transpose, perm: [0, 1, 3, 2]}]}
  - {id: alone, title: T}
"""


def test_outputs_that_a_graph_lacks_are_missing(tmp_path):
    (tmp_path / "graphs.yaml").write_text(GRAPHS)
    run = record(tmp_path, misbehaving("leaves_out_the_outputs_of_graphs"))
    names, variants = ("function-before", "function-behind", "moved", "alone"), ("indices", "y-only")
    missing = {(name, variant): ("diverges", ("missing-output",)) for name in names for variant in variants}
    assert missing.items() <= faults(run).items()
    assert set(faults(run).values()) == {("diverges", ("missing-output",))}
    assert run.footer.executions == len(run.executions)


def test_an_exception_about_a_graph_is_an_error_of_one_execution(tmp_path, monkeypatch):
    rewrite_kinds = judge.rewrite_kinds

    def stumbles(oracle, outputs, names):
        if "Indices" in names:
            raise IndexError("out of range")
        return rewrite_kinds(oracle, outputs, names)

    monkeypatch.setattr(judge, "rewrite_kinds", stumbles)
    (tmp_path / "graphs.yaml").write_text(GRAPHS)
    run = record(tmp_path, misbehaving("leaves_out_the_outputs_of_graphs"))
    assert run.footer.executions == len(run.executions)
    errors = [each for each in run.executions if each.verdict == "error"]
    names = ("function-before", "function-behind", "moved")
    assert {(each.case.partition(":")[2], each.variant) for each in errors} == {(name, "indices") for name in names}
    assert all(each.message.startswith("internal error: IndexError: out of range") for each in errors)


def test_an_exception_of_the_judge_is_an_error_of_one_execution(cli, small, kernel_target, monkeypatch, tmp_path):
    compare = verdicts.compare

    def stumbles(oracle, outputs, names):
        if oracle.X.shape == (1, 2, 3, 4) and "Indices" in names:
            raise IndexError("out of range")
        return compare(oracle, outputs, names)

    monkeypatch.setattr(verdicts, "compare", stumbles)
    arguments = ("run", small, "-t", kernel_target("right"), "--known", "none", "-o", tmp_path / "record.jsonl")
    done = cli(*arguments, "-vv")
    assert done.code == 3
    (error,) = [each for each in read(tmp_path / "record.jsonl").executions if each.verdict == "error"]
    assert (error.case, error.variant) == ("small:ordinary", "indices")
    assert error.message.startswith("internal error: IndexError: out of range")
    assert "in stumbles" in error.traceback
    assert "in stumbles" in done.out
    assert "conforms" in done.out
    # A traceback has paths of this machine: it is recorded on request.
    assert cli(*arguments).code == 3
    assert not any(each.traceback for each in read(tmp_path / "record.jsonl").executions)
