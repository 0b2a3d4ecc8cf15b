"""Our own judging, wrong on purpose: each mutant replaces one public function of it by a wrong one.

``python -m tests.judging.mutants FILE`` runs the tests of the judging once as they are and once for each mutant, and writes
the first failure of each as JSON. Each mutant makes a wrong function of the right one: ``compare`` compares outputs with an
Oracle, ``judge`` makes verdicts of outcomes, ``same_values`` says where two Y agree, ``known`` finds a known divergence.
"""

import json
import os
import sys
import traceback
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

HERE = Path(__file__).parent
TESTS = [
    str(HERE / f"test_{name}.py")
    for name in ("examples", "verdicts", "layouts", "known", "interpretations", "comparison")
]
"""The quick ones first. Those that draw many examples notice as well, but take longer for each mutant."""

MUTANTS = {}


def mutant(target):
    """Register a function that makes a wrong one of the right one."""

    def register(make):
        MUTANTS[make.__name__] = (target, make)
        return make

    return register


def changing(change):
    """A compare that gets other outputs: ``change(name, value, right, oracle)`` gives each of them."""

    def make(compare):
        def compared(oracle, outputs, names):
            right = {"Y": oracle.pooled.Y, "Indices": oracle.pooled.Indices}
            # In the document's layout, as the outputs are.
            right = {name: oracle.pooling.layout.from_core(value) for name, value in right.items()}
            seen = {name: change(name, value, right[name], oracle) for name, value in outputs.items()}
            return compare(oracle, seen, names)

        return compared

    return make


def alike(value, right):
    """Whether an output can be compared with the right one cell by cell."""
    return value.shape == right.shape and value.dtype == right.dtype


def where(value, right, excused):
    """The output, right where it is excused."""
    return np.where(excused, right, value).astype(value.dtype)


@mutant("same_values")
def nan_equals_anything(same_values):
    """Takes NaN for equal to any value."""

    def same(self, a, b):
        either = (a != a) | (b != b)
        return same_values(self, a, b) | either

    return same


@mutant("same_values")
def minus_zero_equals_zero(same_values):
    """Takes -0 for +0 whatever the policy."""
    return lambda self, a, b: same_values(self, a, b) | ((a == 0) & (b == 0))


@mutant("compare")
def indices_are_not_read(compare):
    """Looks at Y alone."""
    return lambda oracle, outputs, names: compare(oracle, outputs, ("Y",))


@mutant("compare")
def y_is_not_read(compare):
    """Looks at Indices alone."""

    def change(name, value, right, oracle):
        return right if name == "Y" and alike(value, right) else value

    return changing(change)(compare)


@mutant("compare")
def shapes_are_broadcast(compare):
    """Accepts an output that can be broadcast to the right shape."""

    def change(name, value, right, oracle):
        try:
            return np.broadcast_to(value, right.shape)
        except ValueError:
            return value

    return changing(change)(compare)


@mutant("compare")
def types_of_one_size_are_equal(compare):
    """Reads the bits, and not what they are of."""

    def change(name, value, right, oracle):
        same_size = value.dtype.itemsize == right.dtype.itemsize and not value.dtype.hasobject
        return value.view(right.dtype) if same_size and value.ndim else value

    return changing(change)(compare)


@mutant("compare")
def shapes_are_cut(compare):
    """Compares the part that both have."""

    def change(name, value, right, oracle):
        if value.ndim != right.ndim or value.shape == right.shape or value.dtype != right.dtype:
            return value
        filled = right.copy()
        part = tuple(slice(0, min(sizes)) for sizes in zip(value.shape, right.shape, strict=True))
        filled[part] = value[part]
        return filled

    return changing(change)(compare)


@mutant("compare")
def the_dtype_is_ignored(compare):
    """Converts an output to the right dtype."""

    def change(name, value, right, oracle):
        with np.errstate(all="ignore"):
            return value.astype(right.dtype)

    return changing(change)(compare)


@mutant("compare")
def the_first_cells_only(compare):
    """Compares the first plane of each output."""

    def change(name, value, right, oracle):
        if not alike(value, right) or oracle.pooling.layout.value != "channels-first":
            return value
        later = np.zeros(value.shape, bool)
        later.reshape(-1, max(1, int(np.prod(value.shape[2:]))))[1:] = True
        return where(value, right, later)

    return changing(change)(compare)


@mutant("compare")
def not_the_last_cell(compare):
    """Compares all cells but the last."""

    def change(name, value, right, oracle):
        if not alike(value, right) or value.size < 2:
            return value
        last = (np.arange(value.size) == value.size - 1).reshape(value.shape)
        return where(value, right, last)

    return changing(change)(compare)


@mutant("compare")
def empty_windows_excuse_everything(compare):
    """Takes all outputs for right if any window is empty."""

    def change(name, value, right, oracle):
        return right if oracle.pooled.empty.any() and alike(value, right) else value

    return changing(change)(compare)


@mutant("compare")
def near_is_equal(compare):
    """Allows a relative difference of a millionth."""

    def change(name, value, right, oracle):
        if name != "Y" or not alike(value, right):
            return value
        with np.errstate(all="ignore"):
            return where(value, right, np.isclose(value.astype(np.float64), right.astype(np.float64), 1e-6, 0))

    return changing(change)(compare)


@mutant("compare")
def lowest_is_minus_infinity(compare):
    """Takes the lowest finite value for -inf."""

    def change(name, value, right, oracle):
        if name != "Y" or not alike(value, right):
            return value
        numbers, due = value.astype(np.float64), right.astype(np.float64)
        return where(value, right, (due == -np.inf) & (numbers < -6e4) & np.isfinite(numbers))

    return changing(change)(compare)


@mutant("compare")
def negative_indices_are_ignored(compare):
    """Takes a negative index for a missing one."""

    def change(name, value, right, oracle):
        return where(value, right, value < 0) if name == "Indices" and alike(value, right) else value

    return changing(change)(compare)


@mutant("compare")
def missing_outputs_are_ignored(compare):
    """Compares the outputs that are there, and nothing else."""

    def compared(oracle, outputs, names):
        return compare(oracle, outputs, tuple(name for name in names if name in outputs))

    return compared


@mutant("compare")
def any_of_equal_maxima_always(compare):
    """Accepts any of several equal maxima whatever the policy."""

    def compared(oracle, outputs, names):
        policies = oracle.pooling.policies
        interpretations = replace(policies, tie=type(policies.tie)("any"))
        return compare(type(oracle)(oracle.X, replace(oracle.pooling, policies=interpretations)), outputs, names)

    return compared


@mutant("compare")
def any_interpretation_of_nan_always(compare):
    """Accepts every interpretation of NaN whatever the policy."""

    def compared(oracle, outputs, names):
        policies = oracle.pooling.policies
        interpretations = replace(policies, nan=type(policies.nan)("unspecified"))
        return compare(type(oracle)(oracle.X, replace(oracle.pooling, policies=interpretations)), outputs, names)

    return compared


def conforming(fits):
    """A judge that takes an outcome for right where ``fits(oracle, verdict)``."""

    def make(judge):
        def judged(oracle, outcomes):
            judgements = judge(oracle, outcomes)
            return {
                variant: replace(judgement, verdict=type(judgement.verdict)("conforms"), kinds=())
                if fits(oracle, judgement.verdict.value)
                else judgement
                for variant, judgement in judgements.items()
            }

        return judged

    return make


@mutant("judge")
def a_refusal_conforms(judge):
    """Counts the refusal of what the document allows as right."""
    return conforming(lambda oracle, verdict: verdict == "refuses")(judge)


@mutant("judge")
def a_crash_conforms(judge):
    """Counts a death as a refusal."""
    return conforming(lambda oracle, verdict: verdict == "crashes")(judge)


@mutant("judge")
def a_time_out_conforms(judge):
    """Counts silence as a refusal."""
    return conforming(lambda oracle, verdict: verdict == "times-out")(judge)


@mutant("judge")
def an_error_conforms(judge):
    """Counts a failed execution as right."""
    return conforming(lambda oracle, verdict: verdict == "error")(judge)


@mutant("judge")
def not_executed_conforms(judge):
    """Counts what was not executed as right."""
    return conforming(lambda oracle, verdict: verdict == "not-expressible")(judge)


@mutant("judge")
def undefined_conforms(judge):
    """Counts what no document defines as right."""
    return conforming(lambda oracle, verdict: verdict == "undefined")(judge)


@mutant("judge")
def outputs_of_excluded_graphs_conform(judge):
    """Counts outputs of a graph that the document excludes as right."""
    return conforming(lambda oracle, verdict: verdict == "diverges" and not hasattr(oracle, "pooling"))(judge)


@mutant("judge")
def variants_are_judged_alone(judge):
    """Never compares two executions with each other."""

    def judged(oracle, outcomes):
        return {variant: judge(oracle, {variant: outcome})[variant] for variant, outcome in outcomes.items()}

    return judged


@mutant("known")
def known_in_any_kinds(known):
    """Lets an entry expect whatever kinds a case shows."""

    def wrong(self, case, variant, kinds):
        others = [entry for entry in self.entries if entry.binds(case)]
        return known(self, case, variant, kinds) or (others[0] if others else None)

    return wrong


@mutant("known")
def expired_entries_are_known(known):
    """Forgets the date of an entry."""

    def wrong(self, case, variant, kinds):
        late = [entry for entry in self.entries if entry.expects(case, variant, frozenset(kinds))]
        return known(self, case, variant, kinds) or (late[0] if late else None)

    return wrong


def targets():
    """Where each function is: its holder and its name there. ``compare`` is a function or a method of Oracle."""
    from maxpool_check.judging import comparison, verdicts
    from maxpool_check.judging.known import Ledger

    holder = comparison if hasattr(comparison, "compare") else comparison.Oracle
    return {
        "compare": (holder, "compare"),
        "judge": (verdicts, "judge"),
        "same_values": (comparison.Oracle, "same_values"),
        "known": (Ledger, "known"),
    }


def apply(name):
    """Replace the right function by the wrong one, wherever it has been imported."""
    target, make = MUTANTS[name]
    holder, attribute = targets()[target]
    right = getattr(holder, attribute)
    wrong = make(right)
    setattr(holder, attribute, wrong)
    for module in [module for key, module in sys.modules.items() if key.startswith(("maxpool_check", "tests"))]:
        if getattr(module, attribute, None) is right:
            setattr(module, attribute, wrong)


class Forks:
    """A pytest plugin: runs the collected tests in a forked child for each mutant, up to the first that fails.

    ``failures``: by mutant, the first failure, None where there was none; without a mutant under the name ``""``.
    """

    def __init__(self):
        self.failures = {}
        self.failure = None

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
                self.failures[name] = json.loads(pipe.read() or '{"test": "", "error": "the process died"}')
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


def main(path):
    """Write the first failure of each mutant as JSON. The exit code is pytest's."""
    forks = Forks()
    code = pytest.main([*TESTS, "-p", "no:cacheprovider"], plugins=[forks])
    Path(path).write_text(json.dumps(forks.failures))
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
