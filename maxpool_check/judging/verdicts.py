"""From what a target did to a verdict: the one place where it is decided."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum

import numpy as np

from maxpool_check.judging.comparison import Comparison, Expected, Wrong
from maxpool_check.judging.evidence import MOST, Cell, cells
from maxpool_check.judging.kinds import Kind
from maxpool_check.outcome import Answered, Crashed, Failed, NotAsked, Outcome, RefusedByTarget, TimedOut
from maxpool_check.question import Question
from maxpool_check.specifications.refused import Refused


class Verdict(str, Enum):
    """What an execution came to. A closed list."""

    CONFORMS = "conforms"
    """The answer is the document's, or the document excludes the graph and it was refused."""
    DIVERGES = "diverges"
    """The answer is wrong, or there should have been none."""
    REFUSES = "refuses"
    """A graph that the document allows was refused."""
    CRASHES = "crashes"
    """The target's process died."""
    TIMES_OUT = "times-out"
    """No answer came in time."""
    UNDEFINED = "undefined"
    """The document gives no result for some windows, and the rest is right: recorded, not judged."""
    NOT_EXPRESSIBLE = "not-expressible"
    """The target speaks nothing that means the same: not asked."""
    UNSTABLE = "unstable"
    """The same question was answered in two ways."""
    ERROR = "error"
    """The asking went wrong; nothing is known about the target."""


COMPARED = frozenset(
    {Verdict.CONFORMS, Verdict.DIVERGES, Verdict.REFUSES, Verdict.CRASHES, Verdict.TIMES_OUT, Verdict.UNSTABLE}
)
"""The verdicts that hold a target to a document. A run without any of them proves nothing."""

FAULTS = COMPARED - {Verdict.CONFORMS}
"""The verdicts that must be known to be expected."""


@dataclass(frozen=True)
class Judgement:
    """The verdict on one execution, with its proof.

    ``counts`` holds the number of cells of each kind that is about cells, ``cells`` the evidence on some of them.
    ``information`` names differences that the document allows. ``limit``: the refusal is one of a kind that runtimes
    declare or commonly have.
    """

    verdict: Verdict
    kinds: tuple[Kind, ...] = ()
    message: str = ""
    counts: Mapping[Kind, int] | None = None
    cells: tuple[Cell, ...] = ()
    information: tuple[Kind, ...] = ()
    limit: bool = False


Meaning = Expected | Refused
"""What a document makes of a case: an answer, or a refusal."""


def judge(meaning: Meaning, outcomes: Mapping[Question, Outcome]) -> dict[Question, Judgement]:
    """Judge one case on one target, however often it was asked."""
    judgements = {question: _judged(meaning, question, outcome) for question, outcome in outcomes.items()}
    with_indices, alone = outcomes.get(Question.INDICES), outcomes.get(Question.Y_ONLY)
    if isinstance(meaning, Expected) and isinstance(with_indices, Answered) and isinstance(alone, Answered):
        dependent = _dependent(meaning, with_indices.outputs.get("Y"), alone.outputs.get("Y"))
        if dependent is not None:
            judgements[Question.Y_ONLY] = _with(meaning, judgements[Question.Y_ONLY], dependent, with_indices, alone)
    return judgements


def _judged(meaning: Meaning, question: Question, outcome: Outcome) -> Judgement:
    match outcome:
        case Crashed(how, stderr):
            return Judgement(Verdict.CRASHES, (Kind.CRASH,), f"{how}{': ' if stderr else ''}{stderr}")
        case TimedOut(seconds):
            return Judgement(Verdict.TIMES_OUT, (Kind.TIMEOUT,), f"no answer within {seconds:g} s")
        case NotAsked(why):
            return Judgement(Verdict.NOT_EXPRESSIBLE, message=why)
        case Failed(why, _):
            return Judgement(Verdict.ERROR, message=why)
        case RefusedByTarget(status, message):
            return _refused(meaning, status, message)
        case Answered(outputs):
            return _answered(meaning, question, outputs)


def _refused(meaning: Meaning, status: str, message: str) -> Judgement:
    said = f"{status}: {message}"
    if isinstance(meaning, Refused):
        return Judgement(Verdict.CONFORMS, message=said)
    if meaning.pooling.refusable:
        return Judgement(Verdict.CONFORMS, message=f"{said} (allowed by {meaning.pooling.refusable})")
    if meaning.pooled.empty.any():
        return Judgement(Verdict.UNDEFINED, message=said)
    limit = status == "NOT_IMPLEMENTED" or meaning.pooling.has_large_pads
    return Judgement(Verdict.REFUSES, (Kind.REFUSES_VALID,), said, limit=limit)


def _answered(meaning: Meaning, question: Question, outputs: Mapping[str, np.ndarray]) -> Judgement:
    if isinstance(meaning, Refused):
        shapes = ", ".join(f"{name} {list(value.shape)}" for name, value in outputs.items())
        return Judgement(
            Verdict.DIVERGES,
            (Kind.ACCEPTS_INVALID,),
            f"answered {shapes}; the document excludes the graph ({meaning.reason.value}): {meaning}",
        )
    compared = meaning.compare(outputs, question.outputs)
    information = _kinds(compared.information)
    if compared.wrong:
        return replace(_diverges(meaning, compared, outputs), information=information)
    if Kind.SHAPE in information:
        # The other geometry that the document can be read to mean; its windows were compared in its own terms.
        return Judgement(Verdict.CONFORMS, information=information)
    if meaning.pooled.empty.any():
        count, size = int(meaning.pooled.empty.sum()), meaning.pooled.empty.size
        message = f"{count} of {size} windows hold no cell of X" + ("; the rest is right" if count < size else "")
        return Judgement(Verdict.UNDEFINED, message=message, information=information)
    return Judgement(Verdict.CONFORMS, information=information)


def _diverges(meaning: Expected, compared: Comparison, outputs: Mapping[str, np.ndarray]) -> Judgement:
    whole = [
        _whole_message(meaning, wrong, outputs.get(wrong.output)) for wrong in compared.wrong if wrong.cells is None
    ]
    evidence = cells(meaning, compared.wrong, outputs)
    message = "; ".join(whole) or str(evidence[0])
    return Judgement(Verdict.DIVERGES, _kinds(compared.wrong), message, _counts(compared.wrong), evidence)


def _whole_message(meaning: Expected, wrong: Wrong, got: np.ndarray | None) -> str:
    if got is None:
        return f"{wrong.output} did not come"
    if wrong.kind is Kind.DTYPE:
        expected = meaning.X.dtype.name if wrong.output == "Y" else "int64"
        return f"{wrong.output} is {got.dtype.name}, expected {expected}"
    return f"{wrong.output} has the shape {list(got.shape)}, expected {list(meaning.pooled.Y.shape)}"


def _dependent(meaning: Expected, asked: np.ndarray | None, alone: np.ndarray | None) -> Wrong | None:
    """How two answers differ that can both be defended: in their shape, or in some cells."""
    if asked is None or alone is None or asked.dtype != meaning.X.dtype or alone.dtype != meaning.X.dtype:
        return None
    geometries = {one.pooled.Y.shape: one for one in (meaning.other, meaning) if one is not None}
    if asked.shape not in geometries or alone.shape not in geometries:
        return None
    if asked.shape != alone.shape:
        return Wrong("Y", Kind.Y_DEPENDS_ON_INDICES, None)
    one = geometries[asked.shape]
    differ = ~one.same_values(asked, alone) & one.acceptable(asked) & one.acceptable(alone)
    return Wrong("Y", Kind.Y_DEPENDS_ON_INDICES, differ) if differ.any() else None


def _with(meaning: Expected, before: Judgement, dependent: Wrong, asked: Answered, alone: Answered) -> Judgement:
    instead = asked.outputs["Y"]
    one = meaning if meaning.other is None or instead.shape == meaning.pooled.Y.shape else meaning.other
    evidence = cells(one, (dependent,), alone.outputs, instead=instead)
    shapes = f"Y has the shape {list(alone.outputs['Y'].shape)} alone and {list(instead.shape)} with Indices"
    return replace(
        before,
        verdict=Verdict.DIVERGES,
        kinds=tuple(sorted({*before.kinds, Kind.Y_DEPENDS_ON_INDICES})),
        message=before.message or (str(evidence[0]) if evidence else shapes),
        counts={**(before.counts or {}), **_counts((dependent,))},
        # At least one cell of the new kind is shown.
        cells=(*(before.cells[: MOST - 1] if evidence else before.cells), *evidence)[:MOST],
    )


def _kinds(wrong: Sequence[Wrong]) -> tuple[Kind, ...]:
    return tuple(sorted({found.kind for found in wrong}))


def _counts(wrong: Sequence[Wrong]) -> dict[Kind, int]:
    return {found.kind: int(found.cells.sum()) for found in wrong if found.cells is not None}
