"""Annotations of GitHub: errors at the lines of cases."""

from collections.abc import Sequence
from dataclasses import dataclass

from maxpool_check import inert

MOST_ANNOTATIONS = 10
"""How many annotations GitHub takes from a step."""


@dataclass(frozen=True)
class Annotation:
    """An error with a title, and the place of it, ``FILE:LINE``, if it has one; line 0 is that of a model."""

    title: str
    lines: Sequence[str]
    origin: str = ""


def commands(annotations: Sequence[Annotation]) -> list[str]:
    """Workflow commands: those of the first annotations, and how many more there are."""
    more = len(annotations) - MOST_ANNOTATIONS + 1
    if more > 1:
        rest = Annotation("", [f"{more} more; see the step summary"])
        annotations = [*annotations[: MOST_ANNOTATIONS - 1], rest]
    lines = []
    for each in annotations:
        path, _, line = each.origin.rpartition(":")
        values = {"file": path, "line": line if line != "0" else "", "title": each.title}
        properties = ",".join(f"{name}={inert.property_value(value)}" for name, value in values.items() if value)
        lines.append(f"::error{' ' * bool(properties)}{properties}::{inert.data(chr(10).join(each.lines))}")
    return lines
