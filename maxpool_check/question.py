"""The ways a case is asked."""

from __future__ import annotations

from enum import Enum


class Question(str, Enum):
    """One way to ask. Runtimes have other kernels for the one and the other, so each case is asked both."""

    INDICES = "indices"
    """For Y and Indices."""
    Y_ONLY = "y-only"
    """For Y alone."""

    @property
    def outputs(self) -> tuple[str, ...]:
        """The outputs asked for."""
        return ("Y", "Indices") if self is Question.INDICES else ("Y",)


def questions(outputs: tuple[str, ...]) -> tuple[Question, ...]:
    """The questions that a case with these outputs is asked, in order."""
    return (Question.INDICES, Question.Y_ONLY) if "Indices" in outputs else (Question.Y_ONLY,)
