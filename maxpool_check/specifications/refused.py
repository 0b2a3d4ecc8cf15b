"""What a document excludes, with the clause that excludes it."""

from __future__ import annotations

from enum import Enum


class Reason(str, Enum):
    """Why a document excludes a graph. A closed list; case files use the words."""

    INVALID_ATTRIBUTE = "invalid-attribute"
    INVALID_SHAPE = "invalid-shape"
    INVALID_TYPE = "invalid-type"
    OUTSIDE_PROFILE = "outside-profile"
    WINDOW_LARGER_THAN_INPUT = "window-larger-than-input"


class Refused(ValueError):
    """The document excludes this graph.

    ``reason`` is one of :class:`Reason`, ``clause`` the place in the document that excludes it, ``attribute`` the
    attribute at fault where there is one. ``axes`` are n, k, s, d, b, e of each spatial axis, where its reason is that
    some window is larger than the padded input.
    """

    def __init__(
        self,
        reason: Reason,
        message: str,
        *,
        clause: str,
        attribute: str | None = None,
        axes: tuple[tuple[int, ...], ...] = (),
    ) -> None:
        super().__init__(f"{message} [{clause}]")
        self.message = message
        self.reason = reason
        self.clause = clause
        self.attribute = attribute
        self.axes = axes


def restated(refused: Refused, document: str, original: str) -> Refused:
    """A refusal by the text of ``original``, with the clause of a document that repeats the text."""
    clause = refused.clause.replace(original, document)
    return Refused(refused.reason, refused.message, clause=clause, attribute=refused.attribute, axes=refused.axes)


class IllTyped(Refused):
    """An attribute the document does not know, or whose value is not of its type.

    In a case file this is a mistake unless the case says that it is the point.
    """
