"""The documents side by side, and their errata, in Markdown."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import TextIO

import numpy as np

from maxpool_check.corpus.case import Case, disagreements
from maxpool_check.explaining.reference import policies_in_which_differ
from maxpool_check.judging.oracle import ALL_INTERPRETATIONS, Oracle
from maxpool_check.reference.pooling import Pooling
from maxpool_check.reporting.markup import bullets, code, escaped, joined, table

TAG = "documents"
"""The tag of the cases that are compared."""

_TOPICS = {
    "nan": ("A NaN in the window", "nan"),
    "padding": ("The value of the padding", ""),
    "tie": ("Several equal maxima", "tie"),
    "index-base": ("What Indices count", ""),
    "floor": ("Rounding down", ""),
    "ceil": ("Rounding up", ""),
    "ceil-in-padding": ("Rounding up, where the last window starts in the padding", "ceil_clip"),
    "ceil-torch": ("Rounding up as PyTorch does", ""),
    "valid-ceil": ("VALID, and rounding up", "valid_ceil"),
    "same-upper": ("SAME, the odd cell at the end", ""),
    "same-lower": ("SAME, the odd cell at the beginning", ""),
    "same-stride": ("SAME, with a stride that makes the padding negative", "same_clamp"),
    "large-pads": ("A padding as large as the kernel", "large_pads"),
    "empty-window": ("A window without a cell of X", ""),
    "window-larger": ("A window larger than the input", "zero_size"),
}
"""The headings of the page, in order, by the ids of their cases, each with the open point that it is about."""

_INTRODUCTION = (
    "Each table compares the documents on one point, each case in the document's own terms. The reference computes every "
    "cell from the case that is named; a document without the notion refuses it. `-` stands for what the document does not "
    "define: the index of a window without a cell of X, and its value where the padding has none."
)


def write(cases: Sequence[Case], file: TextIO) -> None:
    """Write the page. Tagged cases with the same id test the same point; cases with an erratum show a mistake."""
    blocks = ["# The documents side by side", _INTRODUCTION]
    topics: dict[str, list[Case]] = defaultdict(list)
    for case in cases:
        if TAG in case.tags:
            topics[case.id.rpartition(":")[2]].append(case)
    headings = ["document", "interpretation", "shape", "Y", "Indices", "case"]
    for name in [*(name for name in _TOPICS if name in topics), *(name for name in topics if name not in _TOPICS)]:
        heading, point = _TOPICS.get(name, (escaped(name), ""))
        rows = [[*row, code(case.id)] for case in topics[name] for row in _rows(case, point)]
        blocks += [f"## {heading}", table(headings, rows)]
    blocks += ["## Errata", "Mistakes in the documents, with the computation that shows each."]
    for case in cases:
        if case.erratum:
            blocks += [f"### {case.specification.title}: {code(case.id)}", escaped(" ".join(case.erratum.split()))]
            computed = (
                [f"D{number}: {axis}" for number, axis in enumerate(case.resolved.geometry, 1)]
                if isinstance(case.resolved, Pooling)
                else [f"refused as {case.resolved.reason.value}: {case.resolved}"]
            )
            blocks.append(bullets(map(escaped, [*computed, *disagreements(case)])))
    file.write(joined(blocks) + "\n")


def _rows(case: Case, point: str) -> Iterator[tuple[str, str, str, str, str]]:
    """Document, interpretation, shape, Y and Indices; interpretations with the same result share a row."""
    title, policies, pooling = case.specification.title, case.policies.names(), case.resolved
    if not isinstance(pooling, Pooling):
        yield title, "", "refused", escaped(f"{pooling.reason.value}: {pooling}"), ""
        return
    results: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    oracles = Oracle(case.X.tensor(), pooling).alternatives
    for oracle in oracles:
        # Without a NaN that matters there is a single result for all interpretations of NaN.
        several = len(oracle.interpretations) > 1
        for nan, pooled in zip(ALL_INTERPRETATIONS if several else (None,), oracle.interpretations, strict=True):
            arranged = pooled.arranged(pooling.layout)
            indices = arranged.Indices if pooling.indices else None
            outputs = (str(list(oracle.shape)), _text(arranged.Y, arranged.undefined), _text(indices, arranged.empty))
            label = f"nan: {nan.value}" if nan else policies_in_which_differ(oracle, oracles)
            results[outputs].append(label)
    fixed = f"{code(point)}: {policies[point]}" if point in policies else ""
    for (shape, Y, Indices), labels in results.items():
        yield title, _combined(labels) if len(results) > 1 else fixed, shape, Y, Indices


def _text(values: np.ndarray | None, empty: np.ndarray) -> str:
    pairs = [] if values is None else zip(values.reshape(-1), empty.reshape(-1), strict=True)
    return " ".join("-" if is_empty else str(value) for value, is_empty in pairs)


def _combined(labels: Sequence[str]) -> str:
    """``nan: ignored`` and ``nan: as-neg-inf`` as ```nan`: ignored, as-neg-inf``."""
    interpretations: dict[str, dict[str, None]] = defaultdict(dict)
    for part in ", ".join(labels).split(", "):
        point, _, interpretation = part.partition(": ")
        if point:
            interpretations[point][interpretation] = None
    return "; ".join(f"{code(point)}: {', '.join(names)}" for point, names in interpretations.items())
