"""The refusal of a graph that a document excludes."""

from enum import Enum


class Reason(str, Enum):
    """Why a document excludes a graph, as written in case files."""

    INVALID_ATTRIBUTE = "invalid-attribute"
    INVALID_SHAPE = "invalid-shape"
    INVALID_TYPE = "invalid-type"
    OUTSIDE_PROFILE = "outside-profile"
    WINDOW_LARGER_THAN_INPUT = "window-larger-than-input"


class Refused(ValueError):
    """The document excludes a graph.

    ``clause`` is the place in the document that excludes it, ``attribute`` the attribute at fault, if any. ``axes`` are
    n, k, s, d, b, e of each spatial axis, if a window is larger than the padded input. ``is_open``: the document gives the
    graph no meaning, but does not exclude it either, so that outputs are not judged.
    """

    def __init__(
        self,
        reason: Reason,
        message: str,
        *,
        clause: str,
        attribute: str | None = None,
        axes: tuple[tuple[int, ...], ...] = (),
        is_open: bool = False,
    ) -> None:
        super().__init__(f"{message} [{clause}]")
        self.message = message
        self.reason = reason
        self.clause = clause
        self.attribute = attribute
        self.axes = axes
        self.is_open = is_open

    def by(self, title: str, origin: str) -> "Refused":
        """The same refusal by a document that takes the clause over from ``origin``, the title of another."""
        clause = self.clause.replace(origin, title)
        return type(self)(
            self.reason, self.message, clause=clause, attribute=self.attribute, axes=self.axes, is_open=self.is_open
        )


class IllTyped(Refused):
    """An unknown attribute, or a value of another type: a mistake in a case file unless the case expects it."""
