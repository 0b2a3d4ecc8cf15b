"""The ways a case is asked."""

from __future__ import annotations

from enum import Enum


class Question(str, Enum):
    """One way to ask. Runtimes have other kernels for the one and the other, so each case is asked both.

    A document with an operator domain of its own is also asked about there, beside ONNX's.
    """

    INDICES = "indices"
    """For Y and Indices."""
    Y_ONLY = "y-only"
    """For Y alone."""
    INDICES_IN_DOMAIN = "indices-in-domain"
    """For Y and Indices, in the document's own operator domain."""
    Y_ONLY_IN_DOMAIN = "y-only-in-domain"
    """For Y alone, in the document's own operator domain."""

    @property
    def outputs(self) -> tuple[str, ...]:
        """The outputs asked for."""
        return ("Y", "Indices") if self in (Question.INDICES, Question.INDICES_IN_DOMAIN) else ("Y",)

    @property
    def in_domain(self) -> bool:
        """Whether it is asked in the document's own operator domain."""
        return self in (Question.INDICES_IN_DOMAIN, Question.Y_ONLY_IN_DOMAIN)


PAIRS = ((Question.INDICES, Question.Y_ONLY), (Question.INDICES_IN_DOMAIN, Question.Y_ONLY_IN_DOMAIN))
"""Questions that differ in nothing but Indices: their Y are held against each other."""


def questions(outputs: tuple[str, ...], domain: str | None = None) -> tuple[Question, ...]:
    """The questions that a case with these outputs is asked, in order; ``domain`` is its document's own, if any."""
    return tuple(
        question
        for question in Question
        if (domain or not question.in_domain) and ("Indices" in outputs or question.outputs == ("Y",))
    )
