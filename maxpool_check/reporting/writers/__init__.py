"""Writers of blocks, and how they show a report: on one screen, in as many characters as a service takes, or as a whole."""

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass

from maxpool_check.reporting.blocks import SCREEN, Document


@dataclass(frozen=True)
class Display:
    """How a writer shows a report.

    ``width`` is the width of a terminal in columns, ``color`` says whether it has colours. With ``everything``, no block is left out and
    nothing is folded.
    """

    width: int = 100
    color: bool = False
    everything: bool = False


def fitted(document: Document, below: int, write: Callable[[Document], str], fits: Callable[[str], bool]) -> str:
    """The text of the blocks with ranks below ``below``, without the highest ranks where all of them do not fit."""
    ranks = [SCREEN - 1, *(rank for rank in document.ranks if SCREEN <= rank < below)]
    text = write(document.limited(ranks[-1]))
    if fits(text):
        return text
    # Texts become longer with each rank.
    longer = bisect_right(ranks, False, hi=len(ranks) - 1, key=lambda rank: not fits(write(document.limited(rank))))
    return write(document.limited(ranks[max(longer - 1, 0)]))
