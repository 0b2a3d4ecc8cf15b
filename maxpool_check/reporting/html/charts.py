"""Bars over releases as inline SVG; the table of the same numbers stands beside each."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

_WIDE = 56
_HIGH = 180
_TOP = 18
_LEFT = 4


@dataclass(frozen=True)
class Segment:
    """A part of a bar: its series, the value, and its rectangle in pixels."""

    series: str
    value: int
    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True)
class BarChart:
    """Bars side by side, each the sum of its series, the first series at the bottom.

    ``labels`` name the bars, ``series`` has the values of each series by name, one for each bar.
    """

    labels: Sequence[str]
    series: Mapping[str, Sequence[int]]

    @property
    def width(self) -> int:
        """The width of the picture."""
        return 2 * _LEFT + _WIDE * len(self.labels)

    @property
    def height(self) -> int:
        """The height of the picture."""
        return _TOP + _HIGH + 20

    @cached_property
    def totals(self) -> list[int]:
        """The sums of the bars."""
        return [sum(values) for values in zip(*self.series.values(), strict=True)] or [0] * len(self.labels)

    @property
    def tops(self) -> list[tuple[str, int, float, float]]:
        """For each bar its label, its total, and where its total is written."""
        return [
            (label, total, self._middle(number), _TOP + _HIGH - self._high(total) - 5)
            for number, (label, total) in enumerate(zip(self.labels, self.totals, strict=True))
        ]

    @property
    def segments(self) -> list[Segment]:
        """The rectangles of all bars."""
        result = []
        for number in range(len(self.labels)):
            base = float(_TOP + _HIGH)
            for name, values in self.series.items():
                high = self._high(values[number])
                base -= high
                if values[number]:
                    left = self._middle(number) - _WIDE * 0.35
                    result.append(Segment(name, values[number], left, round(base, 1), _WIDE * 0.7, round(high, 1)))
        return result

    def _middle(self, number: int) -> float:
        return _LEFT + _WIDE * (number + 0.5)

    def _high(self, value: int) -> float:
        return _HIGH * value / (max(self.totals) or 1)


_SERIES = {
    "wrong": ("diverges", "unstable"),
    "crashed": ("crashes", "times-out"),
    "refused or not implemented": ("refuses",),
    "inconsistent": ("inconsistent",),
}


def by_verdict(labels: Sequence[str], verdicts: Sequence[Mapping[str, int]]) -> BarChart:
    """The executions that do not conform, by release: ``verdicts`` has their numbers by verdict for each label."""
    series = {
        word: [sum(numbers.get(name, 0) for name in names) for numbers in verdicts] for word, names in _SERIES.items()
    }
    return BarChart(labels, {word: values for word, values in series.items() if any(values)})
