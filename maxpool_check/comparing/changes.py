"""The changes of an execution from one target to another: a closed list."""

from enum import Enum


class Change(str, Enum):
    """The change of one execution, in the order of reports: the worst first."""

    REGRESSED = "regressed"
    """It, or a cell of it, was right, or it was refused or crashed, and is wrong."""
    NEWLY_REFUSED = "newly-refused"
    """It returned right outputs and is refused, though the document allows the graph."""
    CRASH_NEW = "crash-new"
    """The process crashes or times out; before, it returned outputs or refused."""
    CHANGED = "changed"
    """Wrong before and after, in other kinds or with other values."""
    WRONG_TO_REFUSED = "wrong-to-refused"
    """It was wrong and is refused: no value is better than a wrong one, and the graph no longer runs."""
    NEWLY_INCONSISTENT = "newly-inconsistent"
    """The document allows its outputs, but they now differ from those of another variant, which it allows as well."""
    IMPROVED = "improved"
    """Wrong before and after, but cells that were wrong are right, and of those that were right none is wrong, or none as bad."""
    MISSING = "missing"
    """It was executed and is no longer."""
    CRASH_GONE = "crash-gone"
    """The process crashed or timed out; now it returns outputs or refuses."""
    FIXED = "fixed"
    """It was wrong or inconsistent and is right."""
    NEWLY_ACCEPTED = "newly-accepted"
    """It was refused and is right."""
    CONFORMING_BUT_DIFFERENT = "conforming-but-different"
    """Right before and after, with different bits: the document leaves the point open, and production sees it."""
    ADDED = "added"
    """It was not executed and is now."""
    SAME = "same"
    """The same verdict, the same kinds, the same bits."""
    NOT_COMPARED = "not-compared"
    """Neither was judged: there is nothing to compare."""


UNOBSERVABLE = frozenset({Change.SAME, Change.NOT_COMPARED})
"""The changes that nobody can observe."""

BLOCKING = (Change.REGRESSED, Change.NEWLY_REFUSED, Change.CRASH_NEW)
"""The changes that block by default."""
