"""The documents side by side, and their errata, in Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from maxpool_check.reporting.markdown import escaped, table

HEADINGS = {
    "nan": "A NaN in the window",
    "padding": "The value of the padding",
    "tie": "Several equal maxima",
    "index-base": "What Indices count",
    "floor": "Rounding down",
    "ceil": "Rounding up",
    "ceil-in-padding": "Rounding up, where the last window starts in the padding",
    "ceil-torch": "Rounding up as PyTorch does",
    "valid-ceil": "VALID, and rounding up",
    "same-upper": "SAME, the odd cell at the end",
    "same-lower": "SAME, the odd cell at the beginning",
    "same-stride": "SAME, with a stride that makes the padding negative",
    "large-pads": "A padding as large as the kernel",
    "empty-window": "A window without a cell",
    "window-larger": "A window larger than the input",
}
"""The variants of the page, in its order, by the ids of the cases that ask them."""


@dataclass(frozen=True)
class Answer:
    """What one document says to one variant: ``interpretation`` is the one it is under, empty where there is no choice.

    Everything is text, worked out by the reference; ``Indices`` is empty where the document has none, and ``refused`` is
    empty where there is an answer.
    """

    document: str
    case: str
    interpretation: str
    shape: str
    Y: str
    Indices: str
    refused: str


@dataclass(frozen=True)
class Erratum:
    """A place where a document is wrong, with what the reference computes on the case that shows it."""

    document: str
    case: str
    text: str
    computed: tuple[str, ...]


def render(variants: Sequence[tuple[str, Sequence[Answer]]], errata: Sequence[Erratum]) -> str:
    """The whole page. ``variants`` are an id that cases share and the answers of their documents."""
    lines = [
        "# The documents side by side",
        "",
        (
            "One variant each, asked of every document in its own words. Each cell is computed by the reference from the case "
            "that is named; a document that has no such notion refuses it. `-` stands for the result of a window without a "
            "cell, which no document defines."
        ),
    ]
    order = list(HEADINGS)
    for name, answers in sorted(variants, key=lambda one: order.index(one[0]) if one[0] in order else len(order)):
        rows = [
            [one.document, one.interpretation, one.shape, one.Y, one.Indices, f"`{one.case}`"]
            if not one.refused
            else [one.document, one.interpretation, "refused", escaped(one.refused), "", f"`{one.case}`"]
            for one in answers
        ]
        lines += ["", f"## {HEADINGS.get(name, name)}", ""]
        lines += table(["document", "interpretation", "shape", "Y", "Indices", "case"], rows)
    lines += ["", "## Errata", "", "Where the documents are wrong, and the computation that shows it."]
    for one in errata:
        lines += ["", f"### {one.document}: `{one.case}`", "", " ".join(one.text.split()), ""]
        lines += [f"- {escaped(text)}" for text in one.computed]
    return "\n".join(lines) + "\n"
