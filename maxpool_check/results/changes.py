"""The change of an execution from one target, or one record, to another: a closed list."""

from maxpool_check.words import Term


class Change(Term):
    """The change of one execution, in the order of reports: the worst first."""

    REGRESSED = "regressed", "it, or a cell of it, was right, or it was refused or crashed, and is wrong"
    NEWLY_REFUSED = "newly-refused", "it returned right outputs and is refused, though the document allows the graph"
    CRASH_NEW = "crash-new", "it ended before, and crashes or times out"
    CHANGED = "changed", "wrong before and after, in another way"
    WRONG_TO_REFUSED = "wrong-to-refused", "it was wrong and is refused, though the document allows the graph"
    NEWLY_INCONSISTENT = "newly-inconsistent", "its outputs are allowed, but differ from those of another variant"
    IMPROVED = "improved", "wrong before and after, in fewer cells; no cell that was right is wrong"
    MISSING = "missing", "it was executed and is no longer"
    CRASH_GONE = "crash-gone", "the process crashed or timed out, and no longer does"
    FIXED = "fixed", "it was wrong or inconsistent and is right"
    NEWLY_ACCEPTED = "newly-accepted", "it was refused and is right"
    CONFORMING_BUT_DIFFERENT = "conforming-but-different", "right before and after, with different bits"
    ADDED = "added", "it was not executed and is now"
    SAME = "same", "the same verdict, the same kinds, the same bits"
    NOT_COMPARED = "not-compared", "judged on neither target"


UNOBSERVABLE = frozenset({Change.SAME, Change.NOT_COMPARED})
"""The changes that nobody can observe."""

ONE_SIDED = frozenset({Change.MISSING, Change.ADDED, Change.NOT_COMPARED})
"""The changes of what was not judged on both targets."""

BLOCKING = (Change.REGRESSED, Change.NEWLY_REFUSED, Change.CRASH_NEW)
"""The changes that block by default."""

IMPROVEMENTS = frozenset({Change.IMPROVED, Change.CRASH_GONE, Change.FIXED, Change.NEWLY_ACCEPTED, Change.ADDED})
"""The changes for the better."""
