"""The cells of a matrix of targets: the worst that a target does with a group of executions, in a number and a word."""

from collections import Counter
from collections.abc import Callable, Mapping

from maxpool_check.judging.defects import Severity
from maxpool_check.judging.faults import Fault
from maxpool_check.results.record import Execution, Record, Verdict

FAULTS = ("wrong", "crashed", "refused", "not implemented", "inconsistent")
"""The words for what does not conform, the worst first."""

OTHERS = {
    Verdict.ERROR: "failed",
    Verdict.CONFORMS: "conform",
    Verdict.UNDEFINED: "undefined",
    Verdict.UNKNOWN: "unknown",
    Verdict.NOT_EXPRESSIBLE: "not expressible",
    Verdict.NOT_CLAIMED: "not claimed",
}
"""The words for all other executions, in the order in which they are looked for."""

WORDS = (*FAULTS, *OTHERS.values())


def fault_of(execution: Execution, fault: Fault) -> str:
    """The word for an execution of a fault: a defect may show itself in several ways."""
    match execution.verdict:
        case Verdict.REFUSES:
            return "not implemented" if fault.severity is Severity.LIMIT else "refused"
        case Verdict.CRASHES | Verdict.TIMES_OUT:
            return "crashed"
        case Verdict.INCONSISTENT:
            return "inconsistent"
    return "wrong"


def counts(
    record: Record, target: str, faults: list[Fault], key: Callable[[Execution], str]
) -> dict[str, Counter[str]]:
    """The number of executions of a target by key and word. ``faults`` are those of the record."""
    words = {
        (execution.case, execution.variant): fault_of(execution, fault)
        for fault in faults
        if fault.target == target
        for execution in fault.executions
    }
    result: dict[str, Counter[str]] = {}
    for execution in record.executions:
        if execution.target == target:
            word = words.get((execution.case, execution.variant)) or OTHERS[execution.verdict]
            result.setdefault(key(execution), Counter())[word] += 1
    return result


def worst(words: Mapping[str, int]) -> str:
    """The word for the worst of some executions; ``not run`` if there are none."""
    return next((word for word in WORDS if words.get(word)), "not run")


def cell(words: Mapping[str, int]) -> str:
    """The worst that a target does with some executions, with their number: ``57 wrong``, ``all conform``, ``not run``."""
    word, total = worst(words), sum(words.values())
    if total and (words[word] < total or word in FAULTS):
        return f"{words[word]} {word}"
    return "all conform" if word == "conform" else word
