"""Checks what a case expects against the reference."""

from __future__ import annotations

from maxpool_check.corpus.case import Case, Refusal, Shape, Undefined, Values
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
    if isinstance(expect, Refusal):
        if isinstance(resolved, Pooling):
            return [f"expects a refusal ({expect.reason.value}), but {case.specification.title} allows the graph"]
        if resolved.reason is not expect.reason:
            return [
                f"expects the refusal {expect.reason.value}, but it is refused as {resolved.reason.value}: {resolved}"
            ]
        return []
    if not isinstance(resolved, Pooling):
        return [f"expects outputs, but the graph is refused as {resolved.reason.value}: {resolved}"]
    oracle = Oracle(case.X, resolved)
    if isinstance(expect, Undefined):
        return [] if oracle.pooled.empty.any() else ["expects empty windows, but every window holds a cell of X"]
    if isinstance(expect, Shape):
        if expect.shape == oracle.shape:
            return []
        return [f"expects the shape {list(expect.shape)}, the reference has {list(oracle.shape)}"]
    return _value_differences(oracle, expect)


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
    origin = case.origin
    remedy = (
        "import it, which adds an erratum"
        if origin.path.endswith(_FOREIGN_SUFFIXES)
        else "correct it, or explain it in 'erratum'"
    )
    return [
        Problem(origin.path, origin.line, origin.column, f"{case.id} {text}; {remedy}") for text in disagreements(case)
    ]
