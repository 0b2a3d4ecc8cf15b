"""Outputs of the wrong shape as text."""

from collections.abc import Mapping

from maxpool_check.results.details import WrongAxis, WrongShape

_LONGEST = 110
"""A longer line is two."""


def axis_lines(shapes: Mapping[str, WrongShape], document: str) -> list[str]:
    """A line or two for each axis that differs, with the formulas of both sizes; an axis of several outputs is shown once."""
    axes = dict.fromkeys(axis for wrong in shapes.values() for axis in wrong.axes)
    return [line for axis in axes for line in _lines(axis, document)]


def _lines(axis: WrongAxis, document: str) -> list[str]:
    start = f"axis {axis.axis}: "
    expected = f"{axis.formula} = {axis.expected}" if axis.formula else str(axis.expected)
    reason = f", as {axis.instead} gives" if axis.instead else ""
    # A formula of its own has other numbers, and the kind says why.
    kind = f" ({axis.mistake})" if "(" in axis.instead else ""
    halves = f"{start}{expected} by {document};", f"the target has {axis.got}{reason}{kind}"
    whole = " ".join(halves)
    return [whole] if len(whole) <= _LONGEST else [halves[0], f"{'':{len(start)}}{halves[1]}"]
