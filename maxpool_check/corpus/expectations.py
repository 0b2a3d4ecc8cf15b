"""Checks what a case expects against the reference."""

from __future__ import annotations

from dataclasses import astuple

from maxpool_check.corpus.case import Case, Refusal, Undefined, Values
from maxpool_check.corpus.problems import Problem
from maxpool_check.judging.comparison import compare
from maxpool_check.judging.evidence import wrong_cells
from maxpool_check.judging.oracle import Oracle
from maxpool_check.reference.pooling import Pooling

_FOREIGN_SUFFIXES = (".onnx", ".json")
"""Suffixes of files of other suites, which are imported and not corrected."""


def disagreements(case: Case) -> list[str]:
    """Differences between the expectation of a case and the reference, in words, whether or not it has an erratum."""
    expect, resolved = case.expect, case.resolved
    if expect is None:
        return []
    if not isinstance(resolved, Pooling):
        actual = f"refused as {resolved.reason.value}: {resolved}"
        if not isinstance(expect, Refusal):
            return [f"expects outputs, but the graph is {actual}"]
        same = resolved.reason is expect.reason
        return [] if same else [f"expects the refusal {expect.reason.value}, but it is {actual}"]
    if isinstance(expect, Refusal):
        return [f"expects a refusal ({expect.reason.value}), but {case.specification.title} allows the graph"]
    oracle = Oracle(case.X, resolved)
    if isinstance(expect, Undefined):
        return [] if oracle.pooled.empty.any() else ["expects empty windows, but every window holds a cell of X"]
    if isinstance(expect, Values):
        return _value_differences(oracle, expect)
    same = expect.shape == oracle.shape
    return [] if same else [f"expects the shape {list(expect.shape)}, the reference has {list(oracle.shape)}"]


def _value_differences(oracle: Oracle, expect: Values) -> list[str]:
    printed = {name: value for name, value in (("Y", expect.Y), ("Indices", expect.Indices)) if value is not None}
    if expect.Indices is not None:
        # A document prints numbers; its attributes define whether they have 32 or 64 bits.
        narrow = expect.Indices.astype(oracle.dtype("Indices"))
        printed["Indices"] = narrow if (narrow == expect.Indices).all() else expect.Indices
    compared = compare(oracle, printed, tuple(printed))
    shapes = [
        f"{wrong.output} has the shape {list(printed[wrong.output].shape)}, the reference has {list(compared.oracle.shape)}"
        for wrong in compared.wrong
        if wrong.cells is None
    ]
    return shapes + [
        f"{cell.output}{list(cell.at)} is printed as {cell.got}, the reference has {cell.expected}"
        + (f" (its window holds {' '.join(cell.values)})" if cell.values else "")
        for cell in wrong_cells(compared.oracle, compared.wrong, printed)
    ]


def contradictions(case: Case) -> list[Problem]:
    """The :func:`disagreements` of a case without an erratum, as problems of its file."""
    if case.erratum is not None:
        return []
    path, line, column = astuple(case.origin)
    is_foreign = path.endswith(_FOREIGN_SUFFIXES)
    remedy = "import it, which adds an erratum" if is_foreign else "correct it, or explain it in 'erratum'"
    return [Problem(path, line, column, f"{case.id} {text}; {remedy}") for text in disagreements(case)]
