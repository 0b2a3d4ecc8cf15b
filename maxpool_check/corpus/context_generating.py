"""Cases of MaxPool in graphs: every possible pair of bins of :data:`~maxpool_check.corpus.context_space.FACTORS`.

Each template is in each operator set that has it, with the bins of the other factors that cover the most pairs. The same
seed gives the same text, byte for byte.
"""

from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import Any

import numpy as np

from maxpool_check.corpus.clauses import BY_BINS
from maxpool_check.corpus.context_space import FACTORS, drawn_case, possible_rows
from maxpool_check.corpus.generating import flow
from maxpool_check.corpus.random_tensors import stream

_NAMES = list(FACTORS)
_PAIRS = list(combinations(range(len(_NAMES)), 2))
_DTYPE, _BFLOAT16 = _NAMES.index("dtype"), FACTORS["dtype"].index("bfloat16")


def contexts_written(seed: int) -> str:
    """The cases as a case file."""
    head = [
        f"# maxpool-check generate --contexts --seed {seed}",
        "# Written by this command; not to be edited.",
        "spec: onnx-22",
        "about: Every possible pair of a graph around MaxPool, dtype, values, attributes and operator set, in some case.",
        f"defaults: {{covers: {BY_BINS}}}",
        "cases:",
    ]
    entries = [
        f"  - id: {name}\n    title: {title}\n"
        + "".join(f"    {key}: {_text(value)}\n" for key, value in fields.items())
        for name, title, fields in sorted(_cases(seed), key=lambda case: case[0])
    ]
    return "\n".join(head) + "\n" + "".join(entries)


def _text(value: Any) -> str:
    return flow(value) if isinstance(value, (dict, list)) else str(value)


def _cases(seed: int) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """The id, the title and the fields of each case."""
    possible = possible_rows().copy()
    usual = possible.copy()
    usual[:, _BFLOAT16] = False
    # What has bfloat16 alone is not uncovered, but for its pairs with bfloat16.
    uncovered = {axes: _projected(possible if _DTYPE in axes else usual, axes) for axes in _PAIRS}
    templates_and_opsets = np.argwhere(_projected(possible, (0, 4)))
    for template, opset in templates_and_opsets:
        fixed = np.zeros(possible.shape, bool)
        fixed[template, ..., opset] = True
        yield from _best(possible, uncovered, fixed, seed)
    for axes in _PAIRS:
        while (left := uncovered[axes] & _projected(possible, axes)).any():
            fixed = np.zeros(possible.shape, bool)
            at: list[Any] = [slice(None)] * len(_NAMES)
            for axis, position in zip(axes, np.argwhere(left)[0], strict=True):
                at[axis] = position
            fixed[tuple(at)] = True
            yield from _best(possible, uncovered, fixed, seed)


def _best(
    possible: np.ndarray, uncovered: Mapping[tuple[int, int], np.ndarray], fixed: np.ndarray, seed: int
) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """The case of the possible rows in ``fixed`` that covers the most pairs; rows without an exact result become impossible."""
    while (rows := np.argwhere(possible & fixed)).size:
        gains = sum(
            uncovered[axes][rows[:, axes[0]], rows[:, axes[1]]] & _counts(axes, rows[:, _DTYPE]) for axes in _PAIRS
        )
        best = rows[gains == np.max(gains)]
        at = best[int(stream(seed + int(fixed.argmax()), 1)[0] % np.uint64(len(best)))]
        row = {name: FACTORS[name][i] for name, i in zip(_NAMES, at, strict=True)}
        drawn = drawn_case(row, seed)
        if drawn is None:
            possible[tuple(at)] = False
            continue
        for axes in _PAIRS:
            uncovered[axes][at[axes[0]], at[axes[1]]] &= not _counts(axes, at[_DTYPE])
        title = "{template}: {dtype}, values {values}, attributes {geometry}, operator set {opset}".format(**row)
        yield drawn[0].id, f"'{title}'", drawn[1]
        return


def _counts(axes: tuple[int, int], dtypes: np.ndarray) -> np.ndarray:
    """Whether rows with these dtypes cover a pair: most runtimes have no bfloat16, which covers pairs with itself alone."""
    return np.asarray((dtypes != _BFLOAT16) | (_DTYPE in axes), int)


def _projected(possible: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
    """Which bins of some factors are in a possible row."""
    return np.asarray(possible.any(tuple(axis for axis in range(possible.ndim) if axis not in axes)))
