"""Our own judging, wrong on purpose: each mutant replaces one public function of it, and its name says how it is wrong.

``python -m tests.judging.mutants FILE`` runs the tests of the judging as they are and for each mutant, and writes the
first failure of each as JSON. ``compare`` compares outputs with an Oracle, ``judge`` makes verdicts of outcomes,
``same_values`` says where two Y agree, ``explains`` says what a defect makes of an execution.
"""

import json
import os
import sys
import traceback
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from msgspec import structs

TESTS = [
    str(Path(__file__).parent / f"test_{name}.py") for name in ("examples", "explaining", "verdicts", "comparison")
]
"""The quick ones first, and no more than notice every mutant: those that draw many examples take longer."""

MUTANTS = {
    "nan_equals_anything": ("same_values", lambda same, self, a, b: same(self, a, b) | (a != a) | (b != b)),
    "minus_zero_equals_zero": ("same_values", lambda same, self, a, b: same(self, a, b) | ((a == 0) & (b == 0))),
    "indices_are_not_read": ("compare", lambda compare, oracle, outputs, names: compare(oracle, outputs, ("Y",))),
    "missing_outputs_are_ignored": (
        "compare",
        lambda compare, oracle, outputs, names: compare(oracle, outputs, tuple(n for n in names if n in outputs)),
    ),
    "variants_are_judged_alone": (
        "judge",
        lambda judge, oracle, outcomes: {name: judge(oracle, {name: each})[name] for name, each in outcomes.items()},
    ),
    "windows_are_not_looked_at": (
        "explains",
        lambda explains, *about: explains(*about[:-1], structs.replace(about[-1], windows={})),
    ),
    "outputs_are_not_looked_at": (
        "explains",
        lambda explains, defect, *about: explains(replace(defect, outputs={}), *about),
    ),
    "any_kinds_are_explained": ("explains", lambda explains, defect, *about: explains(defect, *about) or whole(defect)),
}
"""By name, the function that each replaces, and the wrong one, which gets the right one before its own arguments."""


def whole(defect):
    """An explanation of all of an execution by every effect of a defect."""
    # What is imported before the tests are collected cannot be rewritten by pytest.
    from maxpool_check.judging.explaining import Explanation

    return Explanation(defect, defect.effects, frozenset(), frozenset(), is_whole=True, rank=(1, 1, 1, 1, 0))


def changing(change):
    """Register a compare that gets other outputs: ``change(name, value, right, oracle)`` gives each of them."""

    def compared(compare, oracle, outputs, names):
        # In the document's layout, as the outputs are.
        right = oracle.outputs
        seen = {name: change(name, value, right[name], oracle) for name, value in outputs.items()}
        return compare(oracle, seen, names)

    MUTANTS[change.__name__] = "compare", compared
    return change


def excusing(mutant_name, names, excused):
    """Register a compare to which cells of some outputs seem right where ``excused(value, right, oracle)`` says so.

    An output that cannot be compared with the right one cell by cell is left as it is.
    """

    def change(name, value, right, oracle):
        if name not in names or value.shape != right.shape or value.dtype != right.dtype:
            return value
        with np.errstate(all="ignore"):
            return np.where(excused(value, right, oracle), right, value).astype(value.dtype)

    change.__name__ = mutant_name
    changing(change)


@changing
def shapes_are_broadcast(name, value, right, oracle):
    try:
        return np.broadcast_to(value, right.shape)
    except ValueError:
        return value


@changing
def types_of_one_size_are_equal(name, value, right, oracle):
    same_size = value.dtype.itemsize == right.dtype.itemsize and not value.dtype.hasobject
    return value.view(right.dtype) if same_size and value.ndim else value


@changing
def shapes_are_cut(name, value, right, oracle):
    """Compares the part that both have."""
    if value.ndim != right.ndim or value.shape == right.shape or value.dtype != right.dtype:
        return value
    filled = right.copy()
    part = tuple(slice(0, min(sizes)) for sizes in zip(value.shape, right.shape, strict=True))
    filled[part] = value[part]
    return filled


@changing
def the_dtype_is_ignored(name, value, right, oracle):
    with np.errstate(all="ignore"):
        return value.astype(right.dtype)


def is_in_a_later_plane(value, right, oracle):
    later = np.zeros(value.shape, bool)
    if oracle.pooling.layout.value == "channels-first":
        later.reshape(-1, max(1, int(np.prod(value.shape[2:]))))[1:] = True
    return later


def is_the_last_of_several(value, right, oracle):
    return (np.arange(value.size) == max(1, value.size - 1)).reshape(value.shape)


def is_near(value, right, oracle):
    return np.isclose(value.astype(np.float64), right.astype(np.float64), 1e-6, 0)


def is_low_for_minus_infinity(value, right, oracle):
    numbers, due = value.astype(np.float64), right.astype(np.float64)
    return (due == -np.inf) & (numbers < -6e4) & np.isfinite(numbers)


excusing("y_is_not_read", ("Y",), lambda value, right, oracle: True)
excusing("the_first_cells_only", ("Y", "Indices"), is_in_a_later_plane)
excusing("not_the_last_cell", ("Y", "Indices"), is_the_last_of_several)
excusing("empty_windows_excuse_everything", ("Y", "Indices"), lambda value, right, oracle: oracle.pooled.empty.any())
excusing("near_is_equal", ("Y",), is_near)
excusing("lowest_is_minus_infinity", ("Y",), is_low_for_minus_infinity)
excusing("negative_indices_are_ignored", ("Indices",), lambda value, right, oracle: value < 0)


def interpreting(name, point, interpretation):
    """Register a compare with this interpretation of a point, whatever the policy."""

    def compared(compare, oracle, outputs, names):
        policies = oracle.pooling.policies
        changed = replace(policies, **{point: type(getattr(policies, point))(interpretation)})
        return compare(type(oracle)(oracle.X, replace(oracle.pooling, policies=changed)), outputs, names)

    MUTANTS[name] = "compare", compared


interpreting("any_of_equal_maxima_always", "tie", "any")
interpreting("any_interpretation_of_nan_always", "nan", "unspecified")


def conforming(name, fits):
    """Register a judge that takes an outcome for right where ``fits(oracle, verdict)``."""

    def judged(judge, oracle, outcomes):
        return {
            variant: replace(judgement, verdict=type(judgement.verdict)("conforms"), kinds=())
            if fits(oracle, judgement.verdict.value)
            else judgement
            for variant, judgement in judge(oracle, outcomes).items()
        }

    MUTANTS[name] = "judge", judged


conforming("a_refusal_conforms", lambda oracle, verdict: verdict == "refuses")
conforming("a_crash_conforms", lambda oracle, verdict: verdict == "crashes")
conforming("a_time_out_conforms", lambda oracle, verdict: verdict == "times-out")
conforming("an_error_conforms", lambda oracle, verdict: verdict == "error")
conforming("not_executed_conforms", lambda oracle, verdict: verdict == "not-expressible")
conforming("undefined_conforms", lambda oracle, verdict: verdict == "undefined")
conforming(
    "outputs_of_excluded_graphs_conform",
    lambda oracle, verdict: verdict == "diverges" and not hasattr(oracle, "pooling"),
)


def apply(name):
    """Replace the right function by the wrong one, wherever it has been imported."""
    from maxpool_check.judging import comparison, explaining, judge

    attribute, change = MUTANTS[name]
    holders = {"compare": comparison, "judge": judge, "same_values": comparison.Oracle, "explains": explaining}
    right = getattr(holders[attribute], attribute)

    def wrong(*arguments, **options):
        return change(right, *arguments, **options)

    setattr(holders[attribute], attribute, wrong)
    for module in [module for key, module in sys.modules.items() if key.startswith(("maxpool_check", "tests"))]:
        if getattr(module, attribute, None) is right:
            setattr(module, attribute, wrong)


class Forks:
    """A pytest plugin: runs the collected tests in a forked child for each mutant, up to the first that fails.

    ``failures``: by mutant, the first failure, None where there was none; without a mutant under the name ``""``.
    """

    def __init__(self):
        self.failures, self.failure = {}, None

    def pytest_configure(self):
        # After pytest has prepared its plugins, one of which this is.
        from hypothesis import Phase, settings

        # That a test fails is enough: the smallest example that makes it fail is not looked for.
        settings.register_profile("mutants", phases=[Phase.explicit, Phase.generate])
        settings.load_profile("mutants")

    def pytest_runtest_logreport(self, report):
        if report.failed and self.failure is None:
            self.failure = {"test": report.nodeid, "error": str(report.longrepr)}

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session):
        if session.testsfailed:
            # Pytest's own loop says so.
            return None
        for name in ("", *MUTANTS):
            reader, writer = os.pipe()
            process = os.fork()
            if process == 0:
                self.in_child(session, name, writer)
            os.close(writer)
            with os.fdopen(reader) as pipe:
                died = {"test": "", "error": "the process died"}
                self.failures[name] = json.loads(pipe.read() or json.dumps(died))
            os.waitpid(process, 0)
        return True

    def in_child(self, session, name, writer):
        """Run the tests with a mutant, write the first failure, and end the process."""
        try:
            if name:
                apply(name)
            for item, following in zip(session.items, [*session.items[1:], None], strict=True):
                item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
                if self.failure:
                    break
        except BaseException:
            self.failure = {"test": "", "error": traceback.format_exc()}
        with os.fdopen(writer, "w") as pipe:
            json.dump(self.failure, pipe)
        os._exit(0)


if __name__ == "__main__":
    forks = Forks()
    code = pytest.main([*TESTS, "-p", "no:cacheprovider", "--tb=line"], plugins=[forks])
    Path(sys.argv[1]).write_text(json.dumps(forks.failures))
    sys.exit(code)
