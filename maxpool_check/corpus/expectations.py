"""Holds what a case says it expects to what the reference says."""

from __future__ import annotations

from maxpool_check.corpus.case import Case, Refusal, Shape, Undefined, Values
from maxpool_check.corpus.problems import Problem
from maxpool_check.judging.comparison import compare
from maxpool_check.judging.evidence import wrong_cells
from maxpool_check.judging.oracle import Oracle
from maxpool_check.reference.pooling import Pooling

_OTHERS = (".onnx", ".json")
"""The suffixes of files that belong to other suites."""


def disagreements(case: Case) -> list[str]:
    """Where the reference does not reproduce the expectation of a case, in words; the erratum aside."""
    expect, meaning = case.expect, case.resolved
    if expect is None:
        return []
    if isinstance(expect, Refusal):
        if isinstance(meaning, Pooling):
            return [f"expects a refusal ({expect.reason.value}), but {case.specification.title} allows the graph"]
        if meaning.reason is not expect.reason:
            return [
                f"expects the refusal {expect.reason.value}, but it is refused as {meaning.reason.value}: {meaning}"
            ]
        return []
    if not isinstance(meaning, Pooling):
        return [f"expects an answer, but the graph is refused as {meaning.reason.value}: {meaning}"]
    answer = Oracle(case.X, meaning)
    if isinstance(expect, Undefined):
        return [] if answer.pooled.empty.any() else ["expects empty windows, but every window holds a cell of X"]
    if isinstance(expect, Shape):
        if expect.shape == answer.shape:
            return []
        return [f"expects the shape {list(expect.shape)}, the reference has {list(answer.shape)}"]
    return _values(answer, expect)


def _values(answer: Oracle, expect: Values) -> list[str]:
    printed = {name: value for name, value in (("Y", expect.Y), ("Indices", expect.Indices)) if value is not None}
    if expect.Indices is not None:
        # A document prints numbers; whether they are of 32 bits or 64 is said by its attributes.
        narrow = expect.Indices.astype(answer.dtype("Indices"))
        printed["Indices"] = narrow if (narrow == expect.Indices).all() else expect.Indices
    compared = compare(answer, printed, tuple(printed))
    found = [
        f"{one.output} has the shape {list(printed[one.output].shape)}, the reference has {list(compared.oracle.shape)}"
        for one in compared.wrong
        if one.cells is None
    ]
    return found + [
        f"{cell.output}{list(cell.at)} is printed as {cell.got}, the reference has {cell.expected}"
        + (f" (its window holds {' '.join(cell.values)})" if cell.values else "")
        for cell in wrong_cells(compared.oracle, compared.wrong, printed)
    ]


def contradictions(case: Case) -> list[Problem]:
    """The disagreements that no erratum explains, as problems of the case's file."""
    if case.erratum is not None:
        return []
    origin = case.origin
    # Others' files are not for us to correct.
    remedy = (
        "import it, which writes it down as an erratum"
        if origin.path.endswith(_OTHERS)
        else "correct it, or say why in 'erratum'"
    )
    return [
        Problem(origin.path, origin.line, origin.column, f"{case.id} {text}; {remedy}") for text in disagreements(case)
    ]
