"""Mistakes in files, with their places."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, order=True)
class Problem:
    """One mistake in a file. Lines and columns count from 1."""

    path: str
    line: int
    column: int
    message: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}:{self.column}: {self.message}"


class CorpusError(Exception):
    """Files that cannot be used, with all their problems, sorted and without duplicates."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = sorted(set(problems))
        super().__init__("\n".join(str(problem) for problem in self.problems))


class BadValue(ValueError):
    """A value that cannot be used. ``path`` leads to its wrong part, ``all`` are all mistakes in it."""

    def __init__(self, message: str, *path: str | int) -> None:
        super().__init__(message)
        self.path = path
        self.all: list[BadValue] = [self]

    def inside(self, *path: str | int) -> BadValue:
        """The same mistakes, of the value around this one, in which ``path`` leads to it."""
        return first_of([BadValue(str(mistake), *path, *mistake.path) for mistake in self.all])


def first_of(mistakes: list[BadValue]) -> BadValue:
    """The first of several mistakes in a value, to be raised for all of them."""
    mistakes[0].all = mistakes
    return mistakes[0]
