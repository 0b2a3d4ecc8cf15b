"""Our own judging, wrong on purpose: each mutant replaces one public function of it by a wrong one.

``python -m tests.judging.mutants FILE`` runs the tests of the judging once as they are and once for each mutant, and writes
the first failure of each as JSON. Each mutant makes a wrong function of the right one: ``compare`` compares outputs with an
Oracle, ``judge`` makes verdicts of outcomes, ``same_values`` says where two Y agree, ``known`` finds what a known defect expects.
"""

import functools
import json
import os
import sys
import traceback
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from msgspec import structs

HERE = Path(__file__).parent
TESTS = [str(HERE / f"test_{name}.py") for name in ("examples", "ledger", "verdicts", "comparison")]
"""The quick ones first, and no more than notice every mutant. Those that draw many examples notice as well, but take longer."""

MUTANTS = {}


def mutant(target):
    """Register a function that makes a wrong one of the right one."""

    def register(make):
        MUTANTS[make.__name__] = (target, make)
        return make

    return register


def changing(change):
    """Register a compare that gets other outputs: ``change(name, value, right, oracle)`` gives each of them."""

    def make(compare):
        def compared(oracle, outputs, names):
            right = {"Y": oracle.pooled.Y, "Indices": oracle.pooled.Indices}
            # In the document's layout, as the outputs are.
            right = {name: oracle.pooling.layout.from_core(value) for name, value in right.items()}
            seen = {name: change(name, value, right[name], oracle) for name, value in outputs.items()}
            return compare(oracle, seen, names)

        return compared

    MUTANTS[change.__name__] = ("compare", functools.update_wrapper(make, change))
    return change


def excusing(*names):
    """Register a compare to which cells of the named outputs seem right where ``excused(value, right, oracle)`` says so.

    An output that cannot be compared with the right one cell by cell is left as it is.
    """

    def register(excused):
        @functools.wraps(excused)
        def change(name, value, right, oracle):
            if name not in names or value.shape != right.shape or value.dtype != right.dtype:
                return value
            with np.errstate(all="ignore"):
                return np.where(excused(value, right, oracle), right, value).astype(value.dtype)

        changing(change)
        return excused

    return register


@mutant("same_values")
def nan_equals_anything(same_values):
    """Takes NaN for equal to any value."""
    return lambda self, a, b: same_values(self, a, b) | (a != a) | (b != b)


@mutant("same_values")
def minus_zero_equals_zero(same_values):
    """Takes -0 for +0 whatever the policy."""
    return lambda self, a, b: same_values(self, a, b) | ((a == 0) & (b == 0))


@mutant("compare")
def indices_are_not_read(compare):
    """Looks at Y alone."""
    return lambda oracle, outputs, names: compare(oracle, outputs, ("Y",))


@excusing("Y")
def y_is_not_read(value, right, oracle):
    """Looks at Indices alone."""
    return True


@changing
def shapes_are_broadcast(name, value, right, oracle):
    """Accepts an output that can be broadcast to the right shape."""
    try:
        return np.broadcast_to(value, right.shape)
    except ValueError:
        return value


@changing
def types_of_one_size_are_equal(name, value, right, oracle):
    """Reads the bits, and not what they are of."""
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
    """Converts an output to the right dtype."""
    with np.errstate(all="ignore"):
        return value.astype(right.dtype)


@excusing("Y", "Indices")
def the_first_cells_only(value, right, oracle):
    """Compares the first plane of each output."""
    later = np.zeros(value.shape, bool)
    if oracle.pooling.layout.value == "channels-first":
        later.reshape(-1, max(1, int(np.prod(value.shape[2:]))))[1:] = True
    return later


@excusing("Y", "Indices")
def not_the_last_cell(value, right, oracle):
    """Compares all cells but the last, unless it is the only one."""
    return (np.arange(value.size) == max(1, value.size - 1)).reshape(value.shape)


@excusing("Y", "Indices")
def empty_windows_excuse_everything(value, right, oracle):
    """Takes all outputs for right if any window is empty."""
    return oracle.pooled.empty.any()


@excusing("Y")
def near_is_equal(value, right, oracle):
    """Allows a relative difference of a millionth."""
    return np.isclose(value.astype(np.float64), right.astype(np.float64), 1e-6, 0)


@excusing("Y")
def lowest_is_minus_infinity(value, right, oracle):
    """Takes the lowest finite value for -inf."""
    numbers, due = value.astype(np.float64), right.astype(np.float64)
    return (due == -np.inf) & (numbers < -6e4) & np.isfinite(numbers)


@excusing("Indices")
def negative_indices_are_ignored(value, right, oracle):
    """Takes a negative index for a missing one."""
    return value < 0


@mutant("compare")
def missing_outputs_are_ignored(compare):
    """Compares the outputs that are there, and nothing else."""
    return lambda oracle, outputs, names: compare(oracle, outputs, tuple(name for name in names if name in outputs))


def interpreting(compare, point, interpretation):
    """A compare with this interpretation of a point, whatever the policy."""

    def compared(oracle, outputs, names):
        policies = oracle.pooling.policies
        changed = replace(policies, **{point: type(getattr(policies, point))(interpretation)})
        return compare(type(oracle)(oracle.X, replace(oracle.pooling, policies=changed)), outputs, names)

    return compared


@mutant("compare")
def any_of_equal_maxima_always(compare):
    """Accepts any of several equal maxima whatever the policy."""
    return interpreting(compare, "tie", "any")


@mutant("compare")
def any_interpretation_of_nan_always(compare):
    """Accepts every interpretation of NaN whatever the policy."""
    return interpreting(compare, "nan", "unspecified")


def conforming(name, doc, fits):
    """Register a judge that takes an outcome for right where ``fits(oracle, verdict)``."""

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

    make.__doc__ = doc
    MUTANTS[name] = ("judge", make)


for name, verdict_taken, doc in (
    ("a_refusal_conforms", "refuses", "Counts the refusal of what the document allows as right."),
    ("a_crash_conforms", "crashes", "Counts a death as a refusal."),
    ("a_time_out_conforms", "times-out", "Counts silence as a refusal."),
    ("an_error_conforms", "error", "Counts a failed execution as right."),
    ("not_executed_conforms", "not-expressible", "Counts what was not executed as right."),
    ("undefined_conforms", "undefined", "Counts what no document defines as right."),
):
    conforming(name, doc, lambda oracle, verdict, taken=verdict_taken: verdict == taken)
conforming(
    "outputs_of_excluded_graphs_conform",
    "Counts outputs of a graph that the document excludes as right.",
    lambda oracle, verdict: verdict == "diverges" and not hasattr(oracle, "pooling"),
)


@mutant("judge")
def variants_are_judged_alone(judge):
    """Never compares two executions with each other."""

    def judged(oracle, outcomes):
        return {variant: judge(oracle, {variant: outcome})[variant] for variant, outcome in outcomes.items()}

    return judged


@mutant("known")
def known_in_any_kinds(known):
    """Lets an entry expect whatever kinds a case shows."""

    def wrong(self, execution):
        others = [entry for entry in self.entries if entry.binds(execution.case)]
        explanation = known(self, execution)
        return explanation if explanation.expected or not others else replace(explanation, expected=others[0])

    return wrong


@mutant("known")
def expired_entries_are_known(known):
    """Forgets the date of an entry."""

    def wrong(self, execution):
        late = [entry for entry in self.entries if entry.expects(execution, self.version)]
        explanation = known(self, execution)
        return explanation if explanation.expected or not late else replace(explanation, expected=late[0])


@mutant("known")
def windows_are_not_looked_at(known):
    """Lets an entry explain wrong cells in any window."""

    def wrong(self, execution):
        return known(self, structs.replace(execution, windows={}))

    return wrong


@mutant("known")
def outputs_are_not_looked_at(known):
    """Lets an entry that was reviewed with other outputs explain these."""

    def wrong(self, execution):
        entries, self.entries = self.entries, [replace(entry, outputs={}) for entry in self.entries]
        explanation = known(self, execution)
        self.entries = entries
        return explanation

    return wrong


def targets():
    """Where each function is: its holder and its name there. ``compare`` is a function or a method of Oracle."""
    from maxpool_check.judging import comparison, judge
    from maxpool_check.judging.ledger import Ledger

    holder = comparison if hasattr(comparison, "compare") else comparison.Oracle
    return {
        "compare": (holder, "compare"),
        "judge": (judge, "judge"),
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

    ``failures``: by mutant, the first failure, None where there was none; without a mutant under the name ``""``. The tests that
    were quick without a mutant come first.
    """

    def __init__(self):
        self.failures = {}
        self.failure, self.seconds = None, {}

    def pytest_configure(self):
        # After pytest has prepared its plugins, one of which this is.
        from hypothesis import Phase, settings

        # That a test fails is enough: the smallest example that makes it fail is not looked for.
        settings.register_profile("mutants", phases=[Phase.explicit, Phase.generate])
        settings.load_profile("mutants")

    def pytest_runtest_logreport(self, report):
        self.seconds[report.nodeid] = self.seconds.get(report.nodeid, 0) + report.duration
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
                self.failures[name], seconds = json.loads(pipe.read() or json.dumps([died, {}]))
            os.waitpid(process, 0)
            if not name:
                session.items.sort(key=lambda item: seconds.get(item.nodeid, 0))
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
            json.dump([self.failure, self.seconds], pipe)
        os._exit(0)


def main(path):
    """Write the first failure of each mutant as JSON. The exit code is pytest's."""
    forks = Forks()
    code = pytest.main([*TESTS, "-p", "no:cacheprovider", "--tb=line"], plugins=[forks])
    Path(path).write_text(json.dumps(forks.failures))
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
