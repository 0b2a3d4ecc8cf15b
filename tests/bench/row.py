"""A row of the benchmark, and how much is measured."""

from __future__ import annotations

from dataclasses import dataclass

from tests.bench.measuring import Figure


@dataclass(frozen=True)
class Size:
    """How much is measured."""

    cases: int = 1000
    growth: tuple[int, ...] = (1000, 10_000, 100_000)
    large: tuple[int, ...] = (1, 64, 112, 112)
    repetitions: int = 5
    calls: int = 2000
    installs: bool = True
    backend: bool = True
    tests: bool = True
    tiny: bool = False


TINY = Size(
    cases=4, growth=(4, 8), large=(1, 2, 12, 12), repetitions=1, calls=3, installs=False, tests=False, tiny=True
)
"""To see that everything can be measured."""


@dataclass(frozen=True)
class Row:
    """One figure; None where it could not be measured, and then the note says why.

    ``limit`` is what is wanted: at most, or at least if it is negative.
    """

    part: str
    what: str
    figure: Figure | None
    unit: str = "x"
    limit: float | None = None
    note: str = ""

    @property
    def wanted(self) -> str:
        """The limit in words."""
        if self.limit is None:
            return ""
        return f"{'at most' if self.limit > 0 else 'at least'} {abs(self.limit):g} {self.unit}"

    @property
    def met(self) -> str:
        """Whether the median is what is wanted; ``unclear``, where some of the repetitions say so and others do not."""
        if self.limit is None or self.figure is None:
            return ""
        limit = self.limit
        found = {value <= limit if limit > 0 else value >= -limit for value in self.figure.values}
        return "unclear" if len(found) > 1 else "yes" if found == {True} else "no"
